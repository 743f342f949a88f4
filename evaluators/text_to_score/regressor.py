"""A regressor from descriptions to scores: trained with transformers' `Trainer`, applied, saved, cross-validated."""

import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tqdm import tqdm

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.backends.local.loading import model_fingerprint
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.text_to_score import TrainingSettings
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

RECORD_FILE = "text_to_score.json"
_PACKAGES = ("eyechart", "accelerate", "numpy", "tokenizers", "torch", "transformers")


class Record(BaseModel):
    """The contents of `text_to_score.json`: what the weights do not contain."""

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal[1] = Field(default=1, alias="schema")
    mean: float
    standard_deviation: float = Field(gt=0)
    """Both of the training scores, in their unit; the model outputs standard deviations from the mean."""
    settings: dict[str, Any]
    base_model: dict[str, Any]
    """Name, architecture and fingerprint of the encoder that was fine-tuned."""
    versions: dict[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class TextToScore:
    """Predicts a score from a description with a sequence classifier of one output; `train` and `load` make it."""

    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"
    record: Record

    @classmethod
    def load(cls, folder: str | Path, *, cpu_only: bool = False) -> "TextToScore":
        """Load what `save` wrote; `cpu_only` leaves an accelerator unused."""
        import torch

        try:
            record = Record.model_validate_json((Path(folder) / RECORD_FILE).read_bytes())
        except (OSError, ValidationError) as error:
            reason = f"'{folder}' is not a regressor, because its {RECORD_FILE} cannot be read: {error}"
            raise ModelError(f"{reason}. Train one with `eyechart text-to-score train`.") from error
        model, tokenizer = _load("regressor", str(folder), None, use_safetensors=True)
        if not cpu_only and torch.accelerator.is_available():
            model.to(torch.accelerator.current_accelerator())
        return cls(model, tokenizer, record)

    def save(self, folder: str | Path) -> None:
        """Write weights (safetensors), tokenizer and `text_to_score.json`, which comes last, to an empty folder."""
        target = _make_empty_folder(folder)
        self.model.save_pretrained(target)
        self.tokenizer.save_pretrained(target)
        write_whole(target / RECORD_FILE, self.record.model_dump_json(by_alias=True, indent=2) + "\n")

    def predict(self, texts: Sequence[str], *, batch_size: int = 32) -> FloatArray:
        """Predict the scores of n texts, none of them blank, shape (n,), in the unit of the training scores."""
        from transformers import TextClassificationPipeline

        max_length = int(self.record.settings["max_length"])
        _check_texts("texts", texts)
        _warn_of_truncation(self.tokenizer, texts, max_length)
        pipe = TextClassificationPipeline(model=self.model, tokenizer=self.tokenizer, device=self.model.device)
        options = {"truncation": True, "max_length": max_length, "function_to_apply": "none"}
        results = pipe((text for text in texts), batch_size=batch_size, **options)
        # tqdm is silent where the output is not a terminal.
        outputs = np.array([result["score"] for result in tqdm(results, "predicting", len(texts), disable=None)])
        return self.record.mean + self.record.standard_deviation * outputs


def train(
    descriptions: Sequence[str],
    scores: Sequence[float],
    settings: TrainingSettings,
    out: str | Path | None = None,
) -> TextToScore:
    """Fine-tune an encoder on descriptions and scores, in any unit, and save it in the empty folder `out`, if given.

    The loss is the mean squared error of the scores, standardised by their mean and standard deviation. As by every
    `Trainer`, the generators of the process are seeded.
    """
    from transformers import set_seed

    targets = check_pairs(descriptions, scores)
    if out is not None:
        _make_empty_folder(out)
    mean, deviation = float(targets.mean()), float(targets.std())
    # The weights of the new head are drawn before the Trainer exists.
    set_seed(settings.seed)
    model, tokenizer = _load_encoder(settings)
    fingerprint = model_fingerprint(settings.model, model.config)
    _warn_of_truncation(tokenizer, descriptions, settings.max_length)
    rows = [
        {**tokenizer(text, truncation=True, max_length=settings.max_length), "labels": target}
        for text, target in zip(descriptions, ((targets - mean) / deviation).tolist(), strict=True)
    ]
    _fit(model, tokenizer, rows, settings)
    record = Record(
        mean=mean,
        standard_deviation=deviation,
        settings=asdict(settings),
        base_model={"name": settings.model, "architecture": type(model).__name__, "fingerprint": fingerprint},
        versions=package_versions(),
    )
    regressor = TextToScore(model, tokenizer, record)
    if out is not None:
        regressor.save(out)
    return regressor


class CrossValidation(NamedTuple):
    """The prediction for each description, by the regressor that was not trained on its image, and the metric's scores.

    `scores` are those of `softmax_iqa` (configuration "scores") for all predictions, and in `by_fold` for each fold.
    Each fold has a different regressor, so the overall correlations can be lower than those of every fold.
    """

    scores: dict[str, Any]
    predictions: FloatArray
    """Shape (n,), in the unit of the scores."""
    folds: NDArray[np.int64]
    """The fold of each description, shape (n,), counted from 1."""
    settings: dict[str, Any]
    """The training settings, and the numbers of folds and images."""


def cross_validate(
    descriptions: Sequence[str],
    scores: Sequence[float],
    settings: TrainingSettings,
    *,
    folds: int,
    image_ids: Sequence[str],
) -> CrossValidation:
    """Train one regressor for each fold on the other folds, predict the fold, and correlate predictions with scores.

    All descriptions of an image are in the same fold; otherwise a regressor would know the score of an image that it is
    tested on.
    """
    targets = check_pairs(descriptions, scores)
    if len(image_ids) != len(targets):
        raise UsageError(f"image_ids has {len(image_ids)} items; expected one for each of {len(targets)} descriptions.")
    fold_of = assign_folds(image_ids, folds, settings.seed)
    predictions = np.zeros(len(descriptions))
    for fold in range(1, folds + 1):
        others, in_fold = np.flatnonzero(fold_of != fold).tolist(), np.flatnonzero(fold_of == fold).tolist()
        regressor = train([descriptions[row] for row in others], targets[others].tolist(), settings)
        predictions[in_fold] = regressor.predict([descriptions[row] for row in in_fold])
    correlations = metrics.load("softmax_iqa", "scores").compute(
        predictions=predictions,
        references=targets,
        groups={"fold": [str(fold) for fold in fold_of]},
        seed=settings.seed,
    )
    assert correlations is not None, "only the first process of several gets the scores, and this is the only one"
    used = {**asdict(settings), "folds": folds, "images": len(set(image_ids))}
    return CrossValidation(correlations, predictions, fold_of, used)


def assign_folds(image_ids: Sequence[str], folds: int, seed: int) -> NDArray[np.int64]:
    """Assign images to folds of nearly equal size, whatever their order; returns the fold of each description, from 1.

    Examples:
        >>> assign_folds(["a", "b", "b", "c"], folds=3, seed=0).tolist()
        [2, 3, 3, 1]
    """
    images, indices = np.unique(image_ids, return_inverse=True)
    if not 2 <= folds <= len(images):
        raise UsageError(f"folds={folds} is not allowed; expected 2 to {len(images)}, the number of images.")
    fold_of = np.empty(len(images), dtype=np.int64)
    fold_of[np.random.default_rng(seed).permutation(len(images))] = np.arange(len(images)) % folds + 1
    return fold_of[indices]


def check_pairs(descriptions: Sequence[str], scores: Sequence[float]) -> FloatArray:
    """The scores as an array; refuses blank texts, another number of scores, and scores not finite or all equal."""
    _check_texts("descriptions", descriptions)
    try:
        check_lengths(scores=scores, descriptions=descriptions)
        values = check_numbers("scores", scores)
    except InputError as error:
        raise UsageError(str(error)) from error
    if (values == values[0]).all():
        raise UsageError(f"scores are all {values[0]}; expected at least two different scores to learn from.")
    return values


def package_versions() -> dict[str, str]:
    """Versions of the packages that affect training."""
    return {package: metadata.version(package) for package in _PACKAGES}


def _check_texts(name: str, texts: Sequence[str]) -> None:
    for index, text in enumerate(texts):
        if isinstance(texts, str) or not isinstance(text, str) or not text.strip():
            raise UsageError(f"{name}[{index}] is {text!r}; expected a list of non-empty strings.")


def _warn_of_truncation(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], max_length: int) -> None:
    longer = sum(len(tokenizer(text, verbose=False)["input_ids"]) > max_length for text in texts)
    if longer:
        message = f"{longer} of {len(texts)} texts have more than max_length={max_length} tokens; the ends are not read"
        warnings.warn(message, stacklevel=3)


def _make_empty_folder(folder: str | Path) -> Path:
    """Create a folder, or accept an empty one, so that nothing is overwritten."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise UsageError(f"the folder {folder} is not empty; name a new or an empty folder.")
    return path


def _load(
    kind: str, name: str, revision: str | None, **options: Any
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """A sequence classifier with one output, and its tokenizer."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    try:
        model = AutoModelForSequenceClassification.from_pretrained(name, revision=revision, **options)
        return model, AutoTokenizer.from_pretrained(name, revision=revision)
    # Loading runs code of many libraries; whatever it raises, the user needs the name with it.
    except Exception as error:
        raise ModelError(f"{kind} '{name}' cannot be loaded: {type(error).__name__}: {error}") from error


def _load_encoder(settings: TrainingSettings) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """The encoder with a new one-output head, and its tokenizer."""
    import torch

    name, length = settings.model, settings.max_length
    # Training needs float32, in whatever format the weights are stored.
    options = {"num_labels": 1, "problem_type": "regression", "dtype": "float32"}
    model, tokenizer = _load("encoder", name, settings.revision, **options)
    # Encoders differ in how many of their configuration's positions are for tokens, so a text is tried.
    longest = tokenizer("a " * length, truncation=True, max_length=length, return_tensors="pt", verbose=False)
    try:
        with torch.inference_mode():
            model.eval()(**longest)
    except (IndexError, RuntimeError) as error:
        raise UsageError(
            f"max_length={length} is not allowed; encoder '{name}' cannot read that many tokens ({error})."
        ) from error
    return model, tokenizer


def _fit(model: Any, tokenizer: Any, rows: list[dict[str, Any]], settings: TrainingSettings) -> None:
    import torch
    from transformers import PrinterCallback, Trainer, TrainingArguments

    # The Trainer requires a folder even if it writes nothing.
    with tempfile.TemporaryDirectory(prefix="eyechart-") as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            warmup_steps=settings.warmup,
            weight_decay=settings.weight_decay,
            per_device_train_batch_size=settings.batch_size,
            seed=settings.seed,
            use_cpu=settings.cpu_only,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=not sys.stderr.isatty(),
            # Without an accelerator, torch would warn.
            dataloader_pin_memory=False,
        )
        trainer = Trainer(model, arguments, train_dataset=rows, processing_class=tokenizer)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    # Switches off dropout.
    model.eval()
    if not all(bool(torch.isfinite(values).all()) for values in model.parameters()):
        raise ModelError(f"training diverged with learning_rate={settings.learning_rate}; try a smaller value.")
