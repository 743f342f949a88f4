"""Text to score: a regressor turns the description of an image into a quality score.

AesBench, Sec. 3.3 (https://arxiv.org/abs/2401.08276), does this "via a BERT-based regressor" without public settings;
the defaults are those of the BERT paper for fine-tuning (https://arxiv.org/abs/1810.04805, Appendix A.3).
"""

import math
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from eyechart.datasets_scripts.common.errors import check_ranges


@dataclass(frozen=True)
class TrainingSettings:
    """How a regressor is trained; the fields are also options of the commands."""

    model: Annotated[str, Option(help="Model id or folder of the encoder to fine-tune, with its tokenizer.")] = (
        "google-bert/bert-base-uncased"
    )
    revision: Annotated[str | None, Option(help="Branch, tag or commit of a model on the Hub.")] = None
    epochs: Annotated[int, Option(help="Number of passes over the descriptions.")] = 4
    learning_rate: Annotated[float, Option(help="Peak rate of AdamW, after the warm-up; then it decays to 0.")] = 3e-5
    warmup: Annotated[float, Option(help="Share of the steps, below 1, in which the learning rate warms up.")] = 0.1
    weight_decay: Annotated[float, Option(help="Weight decay of AdamW.")] = 0.01
    batch_size: Annotated[int, Option(help="Descriptions per step on each device.")] = 16
    max_length: Annotated[int, Option(help="Maximum tokens read of a description, special tokens included.")] = 256
    seed: Annotated[int, Option(help="Seed of the new head, dropout, training order and folds.")] = 0
    cpu_only: Annotated[bool, Option("--cpu-only", help="Use the CPU even if there is an accelerator.")] = False

    def __post_init__(self) -> None:
        """Check every setting that has a range."""
        check_ranges(self, epochs=1, batch_size=1, max_length=3, seed=(0, math.inf))
        check_ranges(self, learning_rate=(1e-12, math.inf), warmup=(0, 0.99), weight_decay=0)
