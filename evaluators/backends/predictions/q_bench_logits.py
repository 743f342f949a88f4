"""Logits as the authors of Q-Bench release them (https://github.com/Q-Future/Q-Bench, `leaderboards/IQA_outputs`).

An object has `img_path`, `gt_score` (the opinion score, which is read from the data instead) and `logit_<word>` for
each word: good and poor, for some models high and low or excellent as well. Objects follow one another without anything
in between, or are a list. The files of InstructBLIP-Vicuna have their first object twice, which the published numbers
count twice: 0.629 for SRCC on AGIQA-3K is 0.628 here, all others of that model are the same to three decimals.
"""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.backends.predictions.cells import name_of, number_of
from eyechart.evaluators.backends.predictions.prediction import Prediction

_PREFIX = "logit_"
LOGITS = (f"{_PREFIX}good", f"{_PREFIX}high")
"""Keys of which an object has one at least."""


def parse(row: Mapping[str, Any]) -> Prediction:
    """Read one object; a malformed one is a ValueError."""
    logits = {
        key.removeprefix(_PREFIX): number_of(value, f"'{key}'") for key, value in row.items() if key.startswith(_PREFIX)
    }
    return Prediction(names=(name_of(row, "img_path"),), logits=logits)
