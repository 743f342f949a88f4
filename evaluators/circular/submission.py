"""From the answers to private questions to the file for MMBench's evaluation server."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.loading import load_builder
from eyechart.evaluators.asking import Answered
from eyechart.evaluators.circular.passes import observed
from eyechart.evaluators.data import LoadedData
from eyechart.evaluators.multiple_choice import shown_options
from eyechart.evaluators.submissions.mmbench import OFFICIAL_DIRECTION
from eyechart.evaluators.submissions.mmbench import AnsweredPass
from eyechart.evaluators.submissions.mmbench import cell_text
from eyechart.evaluators.submissions.mmbench import mmbench_submission
from eyechart.evaluators.types import MINI

_SUBSET = "mmbench"


def submission_files(answered: Sequence[Answered], loaded: LoadedData) -> dict[str, bytes]:
    """The file for the evaluation server; none for data that are not MMBench's.

    Args:
        answered: All rows of the split.
        loaded: Where they came from, for the way in which the release turns its options.
    """
    if loaded.subset != _SUBSET or loaded.config is None:
        return {}
    folder = mini.release(_SUBSET) if loaded.source == MINI else Path(loaded.source)
    builder: Any = load_builder(_SUBSET, loaded.config, data_dir=folder, images="skip", skip_bad=True)
    direction = builder.direction(loaded.split) or OFFICIAL_DIRECTION
    return dict(mmbench_submission(_passes(answered), loaded.config, loaded.split, direction))


def submission_facts(answered: Sequence[Answered]) -> dict[str, int]:
    """What a result says about the file: its passes, those without an answer, and replies that no cell can hold."""
    passes = _passes(answered)
    asked = sum(len(item.row["options"]) for item in answered)
    changed = sum(cell_text(item.reply) != item.reply for item in passes)
    return {"passes": len(passes), "missing": asked - len(passes), "changed": changed}


def _passes(answered: Sequence[Answered]) -> list[AnsweredPass]:
    return [AnsweredPass(row, shown_options(response), response.text or "") for row, response in observed(answered)]
