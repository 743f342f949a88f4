"""Text to score: a regressor turns the description of an image into a quality score.

AesBench, Sec. 3.3 (https://arxiv.org/abs/2401.08276), compares models that give descriptions instead of scores with
expert scores "via a BERT-based regressor". The paper's settings are not public; the defaults here are the fine-tuning
settings of the BERT paper (https://arxiv.org/abs/1810.04805, Appendix A.3), and every result records them. Any encoder
that transformers supports for sequence classification can be trained, with its `Trainer`, on (description, score)
pairs.

`train` returns a `TextToScore`, which can be saved, loaded and applied to other descriptions; `cross_validate` measures
how well it predicts the scores of unseen images. They are loaded on first use, because they import NumPy and pydantic.

The question of `aes_bench/interpretation` states the true aesthetic level. Scores predicted from its answers measure
how closely the model follows the stated level, not what it sees in the image.
"""

import importlib
from typing import TYPE_CHECKING, Any

from eyechart.evaluators.text_to_score.settings import TrainingSettings

if TYPE_CHECKING:
    from eyechart.evaluators.text_to_score.regressor import TextToScore
    from eyechart.evaluators.text_to_score.training import train
    from eyechart.evaluators.text_to_score.validation import CrossValidation, cross_validate

__all__ = ["CrossValidation", "TextToScore", "TrainingSettings", "cross_validate", "train"]

_HOMES = {
    "CrossValidation": "validation",
    "TextToScore": "regressor",
    "cross_validate": "validation",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
