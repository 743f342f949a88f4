"""From the answers to private questions to the file for MMBench's evaluation server."""

from collections.abc import Sequence

from eyechart.evaluators.answer_files.mmbench import AnsweredPass, cell_text, mmbench_submission
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.protocols.choice.multiple_choice import shown_options
from eyechart.evaluators.protocols.choice.passes import asked_pass, observed, passes_of
from eyechart.evaluators.requests.types import RowResponses
from eyechart.metrics.scoring.choices.extraction import moved_reply

_SUBSET = "mmbench"


def submission_files(answered: Sequence[RowResponses], loaded: LoadedData) -> dict[str, bytes]:
    """The file for the evaluation server; none for data that are not MMBench's.

    Args:
        answered: All rows of the split.
        loaded: Where they came from.
    """
    if loaded.subset != _SUBSET or loaded.config is None:
        return {}
    return dict(mmbench_submission(_passes(answered), loaded.config, loaded.split))


def submission_facts(answered: Sequence[RowResponses]) -> dict[str, int]:
    """What a result says about the file: its passes, those without an answer, and replies that no cell can hold."""
    passes = _passes(answered)
    asked = sum(len(passes_of(item.row)) for item in answered)
    changed = sum(cell_text(item.reply) != item.reply for item in passes)
    return {"passes": len(passes), "missing": asked - len(passes), "changed": changed}


def _passes(answered: Sequence[RowResponses]) -> list[AnsweredPass]:
    """Each pass as its release shows it, and the reply in its letters."""
    found = []
    for row, response in observed(answered):
        one = asked_pass(row, response)
        reply = moved_reply(response.text or "", shown_options(response), one.options)
        found.append(AnsweredPass(row, one, reply))
    return found
