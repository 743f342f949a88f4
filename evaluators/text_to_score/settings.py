"""What defines a training of a regressor, besides its data."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError


def _setting(default: Any, meaning: str) -> Any:
    """A field with its meaning, which is also the help of the command's option."""
    return dataclasses.field(default=default, metadata={"help": meaning})


@dataclass(frozen=True)
class TrainingSettings:
    """How a regressor is trained and validated.

    Raises:
        UsageError: A setting is out of its range.
    """

    model: str = _setting(
        "google-bert/bert-base-uncased", "Model id or folder of the encoder to begin with, with its tokenizer."
    )
    revision: str | None = _setting(None, "Branch, tag or commit of a model on the Hub.")
    epochs: int = _setting(4, "How often training sees every description.")
    learning_rate: float = _setting(3e-5, "Highest learning rate of AdamW, after the warm-up; then it falls to 0.")
    warmup: float = _setting(0.1, "Share of the steps, from 0 to 1, in which the learning rate rises from 0.")
    weight_decay: float = _setting(0.01, "Weight decay of AdamW.")
    batch_size: int = _setting(16, "Descriptions per step on each device.")
    max_length: int = _setting(256, "Tokens read of each description, special tokens included.")
    folds: int = _setting(5, "Parts, each predicted by a regressor trained on the others.")
    seed: int = _setting(0, "Seed of the new head, dropout, the order of training and the folds.")
    cpu_only: bool = _setting(False, "Use the CPU even where there is an accelerator.")

    def __post_init__(self) -> None:
        """Check every setting that has a range."""
        for name, least in (("epochs", 1), ("batch_size", 1), ("max_length", 3), ("folds", 2), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"{name}={value!r} is not allowed; expected a whole number, at least {least}.")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise UsageError(f"learning_rate={self.learning_rate!r} is not allowed; expected a number above 0.")
        if not 0 <= self.warmup <= 1:
            raise UsageError(f"warmup={self.warmup!r} is not allowed; expected a share of the steps, from 0 to 1.")
        if not (math.isfinite(self.weight_decay) and self.weight_decay >= 0):
            raise UsageError(f"weight_decay={self.weight_decay!r} is not allowed; expected a number, at least 0.")
