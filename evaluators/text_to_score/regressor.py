"""A trained regressor: applied to texts, saved and loaded."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tqdm import tqdm

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.metrics.scoring.inputs import FloatArray

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

RECORD_FILE = "text_to_score.json"


class TruncatedTextWarning(UserWarning):
    """Only the beginning of a text was read."""


class Record(BaseModel):
    """The contents of `text_to_score.json`: what the weights do not contain."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    mean: float
    """Mean of the training scores, in their unit."""
    standard_deviation: float = Field(gt=0)
    """Standard deviation of the training scores, in their unit; the model outputs standard deviations from the mean."""
    descriptions: int
    """Number of descriptions that the regressor was trained on."""
    settings: dict[str, Any]
    """The training settings, as in `TrainingSettings`."""
    base_model: dict[str, Any]
    """Name, architecture and fingerprint of the encoder that was fine-tuned."""
    versions: dict[str, str]
    """Versions of the packages used for training."""


class TextToScore:
    """Predicts a score from a description.

    Args:
        model: A sequence classifier with one output, in standard deviations of the training scores.
        tokenizer: Its tokenizer.
        record: Where it comes from and how to scale its output.
    """

    def __init__(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", record: Record) -> None:
        """Keep the parts; `train` and `TextToScore.load` make them."""
        self._model = model
        self._tokenizer = tokenizer
        self.record = record

    @classmethod
    def load(cls, folder: str | Path, *, cpu_only: bool = False) -> "TextToScore":
        """Load what `save` wrote; `cpu_only` leaves an accelerator unused.

        Raises:
            ModelError: The folder does not contain a regressor, or it is damaged.
        """
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        file = Path(folder) / RECORD_FILE
        if not file.is_file():
            raise ModelError(
                f"'{folder}' is not a regressor: missing {RECORD_FILE}. Train one with `eyechart text-to-score train`."
            )
        try:
            record = Record.model_validate_json(file.read_bytes())
        except ValidationError as error:
            raise ModelError(f"'{file}' cannot be read: {error}") from error
        try:
            model = AutoModelForSequenceClassification.from_pretrained(folder, use_safetensors=True)
            tokenizer = AutoTokenizer.from_pretrained(folder)
        # Loading runs code of many libraries; whatever it raises, the user needs the folder's name with it.
        except Exception as error:
            raise ModelError(f"regressor '{folder}' cannot be loaded: {type(error).__name__}: {error}") from error
        if not cpu_only and torch.accelerator.is_available():
            model.to(torch.accelerator.current_accelerator())
        return cls(model, tokenizer, record)

    def save(self, folder: str | Path) -> None:
        """Write weights (safetensors), tokenizer and `text_to_score.json`, which comes last.

        Raises:
            UsageError: The folder is not empty.
        """
        target = make_empty_folder(folder)
        self._model.save_pretrained(target)
        self._tokenizer.save_pretrained(target)
        write_whole(target / RECORD_FILE, self.record.model_dump_json(by_alias=True, indent=2) + "\n")

    def predict(self, texts: Sequence[str], *, batch_size: int = 32) -> FloatArray:
        """Predict the scores of texts.

        Args:
            texts: Descriptions, none of them blank.
            batch_size: Texts per forward pass. It changes scores only by rounding errors.

        Returns:
            Shape (n,), in the unit of the training scores.

        Raises:
            UsageError: A text is blank, or the batch size is not a whole number of at least 1.

        Warns:
            TruncatedTextWarning: Texts are longer than the `max_length` of the training.
        """
        from transformers import TextClassificationPipeline

        if batch_size < 1:
            raise UsageError(f"batch_size={batch_size} is not allowed; expected a whole number, at least 1.")
        max_length = int(self.record.settings["max_length"])
        check_texts("texts", texts)
        warn_of_truncation(self._tokenizer, texts, max_length)
        pipe = TextClassificationPipeline(model=self._model, tokenizer=self._tokenizer, device=self._model.device)
        options = {"truncation": True, "max_length": max_length, "function_to_apply": "none"}
        # Texts of similar length share a batch, so that there is little padding.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        results = pipe((texts[index] for index in order), batch_size=batch_size, **options)
        outputs = np.zeros(len(texts))
        # tqdm is silent where the output is not a terminal.
        for index, result in zip(order, tqdm(results, "predicting", len(texts), disable=None), strict=True):
            outputs[index] = result["score"]
        return self.record.mean + self.record.standard_deviation * outputs


def check_texts(name: str, texts: Sequence[str]) -> None:
    """Refuse a single text in place of a list, and items that are blank or not text.

    Raises:
        UsageError: As above; the message names the argument `name` and the item.
    """
    for index, text in enumerate(texts):
        if isinstance(texts, str) or not isinstance(text, str) or not text.strip():
            raise UsageError(f"{name}[{index}] is {text!r}; expected a list of non-empty strings.")


def warn_of_truncation(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], max_length: int) -> None:
    """Warn with `TruncatedTextWarning` if only the beginning of a text is read."""
    longer = sum(len(tokenizer(text, verbose=False)["input_ids"]) > max_length for text in texts)
    if longer:
        message = f"{longer} of {len(texts)} texts have more than max_length={max_length} tokens; the ends are not read"
        warnings.warn(message, TruncatedTextWarning, stacklevel=3)


def make_empty_folder(folder: str | Path) -> Path:
    """Create a folder, or accept an empty one, so that nothing is overwritten.

    Raises:
        UsageError: It is not empty.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise UsageError(f"the folder {folder} is not empty; name a new or an empty folder.")
    return path
