"""Text to score: a regressor turns the description of an image into a quality score.

AesBench, Sec. 3.3 (https://arxiv.org/abs/2401.08276), compares models that give descriptions instead of scores with
expert scores "via a BERT-based regressor". The paper's settings are not public; the defaults here are the fine-tuning
settings of the BERT paper (https://arxiv.org/abs/1810.04805, Appendix A.3), and every result records them. Any encoder
that transformers supports for sequence classification can be trained, with its `Trainer`, on (description, score)
pairs.

`regressor.train` returns a `regressor.TextToScore`, which can be saved, loaded and applied to other descriptions;
`validation.cross_validate` measures how well it predicts the scores of unseen images.

The question of `aes_bench/interpretation` states the true aesthetic level. Scores predicted from its answers measure
how closely the model follows the stated level, not what it sees in the image.
"""

import math
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from eyechart.datasets_scripts.common.errors import UsageError

DEFAULT_FOLDS = 5
"""Number of folds of a cross-validation."""


@dataclass(frozen=True)
class TrainingSettings:
    """How a regressor is trained; the fields are also options of the commands.

    Raises:
        UsageError: A setting is out of its range.
    """

    model: Annotated[str, Option(help="Model id or folder of the encoder to fine-tune, with its tokenizer.")] = (
        "google-bert/bert-base-uncased"
    )
    revision: Annotated[str | None, Option(help="Branch, tag or commit of a model on the Hub.")] = None
    epochs: Annotated[int, Option(help="Number of passes over the descriptions.")] = 4
    learning_rate: Annotated[float, Option(help="Peak rate of AdamW, after the warm-up; then it decays to 0.")] = 3e-5
    warmup: Annotated[float, Option(help="Share of the steps, from 0 to 1, in which the learning rate warms up.")] = 0.1
    weight_decay: Annotated[float, Option(help="Weight decay of AdamW.")] = 0.01
    batch_size: Annotated[int, Option(help="Descriptions per step on each device.")] = 16
    max_length: Annotated[int, Option(help="Maximum tokens read of a description, special tokens included.")] = 256
    seed: Annotated[int, Option(help="Seed of the new head, dropout, training order and folds.")] = 0
    cpu_only: Annotated[bool, Option("--cpu-only", help="Use the CPU even if there is an accelerator.")] = False

    def __post_init__(self) -> None:
        """Check every setting that has a range."""
        for name, least in (("epochs", 1), ("batch_size", 1), ("max_length", 3), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise UsageError(f"{name}={value!r} is not allowed; expected a whole number, at least {least}.")
        for name, is_allowed, expected in (
            ("learning_rate", 0 < self.learning_rate < math.inf, "a number above 0"),
            ("warmup", 0 <= self.warmup <= 1, "a share of the steps, from 0 to 1"),
            ("weight_decay", 0 <= self.weight_decay < math.inf, "a number, at least 0"),
        ):
            if not is_allowed:
                raise UsageError(f"{name}={getattr(self, name)!r} is not allowed; expected {expected}.")
