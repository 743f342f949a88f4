"""Training a regressor with transformers' `Trainer`."""

import contextlib
import dataclasses
import math
import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.evaluators.backends.local.loading import model_fingerprint
from eyechart.evaluators.text_to_score.inputs import check_scores, check_texts, encode
from eyechart.evaluators.text_to_score.regressor import Progress, Record, TextToScore, make_empty_folder
from eyechart.evaluators.text_to_score.settings import TrainingSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback, TrainingArguments

_PACKAGES = ("eyechart", "accelerate", "numpy", "tokenizers", "torch", "transformers")


def train(
    descriptions: Sequence[str],
    scores: Sequence[float],
    settings: TrainingSettings | None = None,
    out: str | Path | None = None,
    *,
    progress: Progress | None = None,
) -> TextToScore:
    """Fine-tune an encoder on (description, score) pairs.

    The scores are standardised by their mean and standard deviation, and the loss is the mean squared error. No files
    other than `out` are left behind.

    Args:
        descriptions: n texts, none of them blank.
        scores: n finite numbers in any unit, not all equal.
        settings: How to train; None is the defaults.
        out: New or empty folder to save the regressor in; None saves nothing.
        progress: Called after each step with (done, total).

    Raises:
        UsageError: Texts, scores or settings are unusable, or `out` cannot be written.
        ModelError: The encoder cannot be loaded, or training produced non-finite weights.

    Warns:
        TruncatedTextWarning: Descriptions are longer than `settings.max_length`.
    """
    settings = settings or TrainingSettings()
    texts = check_texts("descriptions", descriptions)
    targets = check_scores(scores, len(texts))
    if out is not None:
        make_empty_folder(out)
    mean, deviation = float(targets.mean()), float(targets.std())
    with _own_randomness(settings.seed):
        model, tokenizer, base = _load_encoder(settings)
        encoded = encode(tokenizer, texts, settings.max_length)
        rows = [
            {**{name: values[row] for name, values in encoded.items()}, "labels": target}
            for row, target in enumerate(((targets - mean) / deviation).tolist())
        ]
        _fit(model, tokenizer, rows, settings, progress)
    record = Record(
        mean=mean,
        standard_deviation=deviation,
        descriptions=len(texts),
        settings=dataclasses.asdict(settings),
        base_model=base,
        versions=package_versions(),
    )
    regressor = TextToScore(model, tokenizer, record)
    if out is not None:
        regressor.save(out)
    return regressor


def package_versions() -> dict[str, str]:
    """Versions of the packages that affect training."""
    return {package: metadata.version(package) for package in _PACKAGES}


def _load_encoder(settings: TrainingSettings) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase, dict[str, Any]]":
    """The encoder with a new one-output head, its tokenizer, and its description for the record."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    name = settings.model
    if name.startswith((".", os.path.sep)) and not os.path.isdir(name):
        raise ModelError(f"model folder '{name}' does not exist.")
    origin = {"revision": settings.revision, "trust_remote_code": False}
    try:
        with _errors_only():
            # Training needs float32, in whatever format the weights are stored.
            model = AutoModelForSequenceClassification.from_pretrained(
                name, num_labels=1, problem_type="regression", dtype="float32", **origin
            )
            tokenizer = AutoTokenizer.from_pretrained(name, **origin)
    # Loading runs code of many libraries; whatever it raises, the user needs the model's name with it.
    except Exception as error:
        raise ModelError(f"encoder '{name}' cannot be loaded: {type(error).__name__}: {error}") from error
    _check_length(model, tokenizer, settings)
    fingerprint = model_fingerprint(name, model)
    return model, tokenizer, {"name": name, "architecture": type(model).__name__, "fingerprint": fingerprint}


def _check_length(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", settings: TrainingSettings) -> None:
    """Refuse a `max_length` that the encoder cannot read, before any training."""
    import torch

    known = min(getattr(model.config, "max_position_embeddings", math.inf), tokenizer.model_max_length)
    if settings.max_length > known:
        raise UsageError(
            f"max_length={settings.max_length} is not allowed; encoder '{settings.model}' reads at most {known} tokens."
        )
    # RoBERTa and similar encoders reserve some of the positions in their configuration, so a text is tried.
    longest = tokenizer(
        "a " * settings.max_length, truncation=True, max_length=settings.max_length, return_tensors="pt"
    )
    try:
        with torch.inference_mode():
            # Without dropout, which a trial does not need.
            model.eval()(**longest)
    except (IndexError, RuntimeError) as error:
        raise UsageError(
            f"max_length={settings.max_length} is not allowed; encoder '{settings.model}' cannot read that many tokens "
            f"({error}). Try a smaller value, such as {settings.max_length - 2}."
        ) from error


def _fit(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    rows: list[dict[str, Any]],
    settings: TrainingSettings,
    progress: Progress | None,
) -> None:
    import torch
    from transformers import DataCollatorWithPadding, PrinterCallback, Trainer

    # The Trainer requires a folder even if it writes nothing.
    with tempfile.TemporaryDirectory(prefix="eyechart-") as folder:
        trainer = Trainer(
            model=model,
            args=_arguments(settings, len(rows), folder),
            train_dataset=rows,
            data_collator=DataCollatorWithPadding(tokenizer),
            callbacks=[_progress_callback(progress)] if progress else None,
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    if not all(bool(torch.isfinite(values).all()) for values in model.parameters()):
        raise ModelError(f"training diverged with learning_rate={settings.learning_rate}; try a smaller value.")


def _arguments(settings: TrainingSettings, n_rows: int, folder: str) -> "TrainingArguments":
    import torch
    from transformers import TrainingArguments

    steps = settings.epochs * math.ceil(n_rows / settings.batch_size)
    return TrainingArguments(
        output_dir=folder,
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        warmup_steps=int(settings.warmup * steps),
        weight_decay=settings.weight_decay,
        per_device_train_batch_size=settings.batch_size,
        seed=settings.seed,
        use_cpu=settings.cpu_only,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        # Without an accelerator there is nothing to pin memory for, and torch warns.
        dataloader_pin_memory=not settings.cpu_only and torch.accelerator.is_available(),
    )


def _progress_callback(progress: Progress) -> "TrainerCallback":
    from transformers import TrainerCallback

    class Steps(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            progress(state.global_step, state.max_steps)

    return Steps()


@contextlib.contextmanager
def _own_randomness(seed: int) -> Iterator[None]:
    """Seed the process-wide generators, which the Trainer and new heads use, and restore them afterwards."""
    import torch
    from transformers import set_seed

    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        set_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)


@contextlib.contextmanager
def _errors_only() -> Iterator[None]:
    """Keep transformers from warning that the head is new, which is intended."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
