"""Logits as released by the authors of Q-Bench (https://github.com/Q-Future/Q-Bench, `leaderboards/IQA_outputs`).

An object has `img_path`, `gt_score` (the opinion score; eyechart reads it from the data instead) and `logit_<word>` for
each word: good and poor, for some models also high and low or excellent. The file is a list of objects, or objects
without separators. The files of InstructBLIP-Vicuna have their first object twice, and the published numbers count it
twice: the published SRCC of 0.629 on AGIQA-3K is 0.628 here; all other scores of that model agree to three decimals.
"""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.backends.predictions.cells import name_of, number_of
from eyechart.evaluators.backends.predictions.prediction import Prediction

_PREFIX = "logit_"
LOGITS = (f"{_PREFIX}good", f"{_PREFIX}high")
"""Keys of logits; an object has at least one of them."""


def parse(row: Mapping[str, Any]) -> Prediction:
    """Parse one object; raises ValueError if it is malformed."""
    logits = {
        key.removeprefix(_PREFIX): number_of(value, f"'{key}'") for key, value in row.items() if key.startswith(_PREFIX)
    }
    return Prediction(names=(name_of(row, "img_path"),), logits=logits)
