"""A trained regressor: applied to texts, saved and loaded."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.datasets_scripts.common.whole import unwritable, write_whole
from eyechart.evaluators.text_to_score.inputs import check_texts, encode
from eyechart.metrics.scoring.inputs import FloatArray

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

RECORD_FILE = "text_to_score.json"

Progress = Callable[[int, int], None]
"""Called with (done, total) steps or texts."""


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

    @property
    def max_length(self) -> int:
        """Maximum number of tokens read of each text."""
        return int(self.settings["max_length"])


class TextToScore:
    """Predicts a score from a description.

    Args:
        model: A sequence classifier with one output, in standard deviations of the training scores.
        tokenizer: Its tokenizer.
        record: Where it comes from and how to scale its output.
    """

    def __init__(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", record: Record) -> None:
        """Keep the parts; `train` and `TextToScore.load` make them."""
        # Switches off dropout, which is on after training.
        self._model = model.eval()
        self._tokenizer = tokenizer
        self.record = record

    @classmethod
    def load(cls, folder: str | Path, *, cpu_only: bool = False) -> "TextToScore":
        """Load what `save` wrote.

        Args:
            folder: The folder.
            cpu_only: Run on the CPU even if there is an accelerator.

        Raises:
            ModelError: The folder does not contain a regressor, or it is damaged.
        """
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        record = _read_record(Path(folder))
        try:
            model, found = AutoModelForSequenceClassification.from_pretrained(
                folder, use_safetensors=True, trust_remote_code=False, output_loading_info=True
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        # Loading runs code of many libraries; whatever it raises, the user needs the folder's name with it.
        except Exception as error:
            raise ModelError(f"regressor '{folder}' cannot be loaded: {type(error).__name__}: {error}") from error
        if found["missing_keys"]:
            raise ModelError(f"regressor '{folder}' lacks the weights {', '.join(sorted(found['missing_keys']))}.")
        if not cpu_only and torch.accelerator.is_available():
            model.to(torch.accelerator.current_accelerator())
        return cls(model, tokenizer, record)

    def save(self, folder: str | Path) -> None:
        """Write weights (safetensors), tokenizer and `text_to_score.json`, which comes last.

        Args:
            folder: Created if absent; must be empty.

        Raises:
            UsageError: The folder is not empty or cannot be written.
        """
        target = make_empty_folder(folder)
        try:
            self._model.save_pretrained(target)
            self._tokenizer.save_pretrained(target)
            text = self.record.model_dump_json(by_alias=True, indent=2) + "\n"
            write_whole(target / RECORD_FILE, text)
        except OSError as error:
            raise unwritable(f"the folder {folder}", error) from error

    def predict(self, texts: Sequence[str], *, batch_size: int = 32, progress: Progress | None = None) -> FloatArray:
        """Predict the scores of texts.

        Args:
            texts: Descriptions, none of them blank.
            batch_size: Texts per forward pass. It changes scores only by rounding errors.
            progress: Called after each pass with texts (done, total).

        Returns:
            Shape (n,), in the unit of the training scores.

        Raises:
            UsageError: A text is blank, or the batch size is not a whole number of at least 1.

        Warns:
            TruncatedTextWarning: Texts are longer than the `max_length` of the training.
        """
        import torch
        from transformers import DataCollatorWithPadding

        if batch_size < 1:
            raise UsageError(f"batch_size={batch_size} is not allowed; expected a whole number, at least 1.")
        if not check_texts("texts", texts):
            return np.zeros(0)
        encoded = encode(self._tokenizer, texts, self.record.max_length)
        pad = DataCollatorWithPadding(self._tokenizer)
        # Texts of similar length share a batch, so that there is little padding.
        order = np.argsort([len(ids) for ids in encoded["input_ids"]], kind="stable")
        outputs = np.zeros(len(texts))
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            batch = pad([{name: values[row] for name, values in encoded.items()} for row in rows])
            with torch.inference_mode():
                logits = self._model(**batch.to(self._model.device)).logits
            outputs[rows] = logits[:, 0].cpu().double().numpy()
            if progress:
                progress(min(start + batch_size, len(order)), len(order))
        return self.record.mean + self.record.standard_deviation * outputs


def make_empty_folder(folder: str | Path) -> Path:
    """Create a folder, or accept an empty one, so that nothing is overwritten.

    Raises:
        UsageError: It is not empty or cannot be created.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise UsageError(f"the folder {folder} is not empty; name a new or an empty folder.")
    except OSError as error:
        raise unwritable(f"the folder {folder}", error) from error
    return path


def _read_record(folder: Path) -> Record:
    try:
        return Record.model_validate_json((folder / RECORD_FILE).read_bytes())
    except FileNotFoundError as error:
        reason = f"'{folder}' is not a regressor: missing {RECORD_FILE}. Train one with `eyechart text-to-score train`."
        raise ModelError(reason) from error
    except (OSError, ValidationError) as error:
        raise ModelError(f"'{folder / RECORD_FILE}' cannot be read: {error}") from error
