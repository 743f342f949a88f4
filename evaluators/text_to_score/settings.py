"""What defines a training of a regressor beside its data."""

import math
from dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import UsageError

DEFAULT_MODEL = "google-bert/bert-base-uncased"
"""The encoder of the BERT paper."""


@dataclass(frozen=True)
class TrainingSettings:
    """How a regressor is trained and validated.

    Attributes:
        model: Model id or folder of the encoder to begin with, with its tokenizer.
        revision: Branch, tag or commit of a model on the Hub; None is its main branch.
        epochs: How often training sees every description.
        learning_rate: Of AdamW at its highest, after the warm-up; it then falls linearly to 0.
        warmup: Share of the steps, from 0 to 1, in which the learning rate rises from 0.
        weight_decay: Of AdamW.
        batch_size: Descriptions per step on each device.
        max_length: Longest description in tokens, its special tokens included; of longer ones the beginning is read.
        folds: Parts of a cross-validation, each predicted by a regressor that was trained on the others.
        seed: Of the new head, dropout, the order of training and the folds. Equal seeds give equal regressors on a CPU.
        cpu_only: Train on the CPU even where there is an accelerator.

    Raises:
        UsageError: A setting is out of its range.
    """

    model: str = DEFAULT_MODEL
    revision: str | None = None
    epochs: int = 4
    learning_rate: float = 3e-5
    warmup: float = 0.1
    weight_decay: float = 0.01
    batch_size: int = 16
    max_length: int = 256
    folds: int = 5
    seed: int = 0
    cpu_only: bool = False

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
