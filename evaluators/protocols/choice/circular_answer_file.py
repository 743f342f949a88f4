"""From the answers to private questions to the file for MMBench's evaluation server."""

from collections.abc import Sequence

from eyechart.evaluators.answer_files.mmbench import cell_text, mmbench_answer_file
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.protocols.choice.multiple_choice import shown_options
from eyechart.evaluators.protocols.choice.passes import asked_pass, observed, passes_of
from eyechart.evaluators.requests.types import Row, RowResponses
from eyechart.metrics.scoring.choices.extraction import moved_reply

_SUBSET = "mmbench"


def answer_files(answered: Sequence[RowResponses], loaded: LoadedData) -> dict[str, bytes]:
    """The file for the evaluation server; none for data that are not MMBench's.

    Args:
        answered: All rows of the split.
        loaded: Where they came from.
    """
    if loaded.subset != _SUBSET or loaded.config is None:
        return {}
    passes, replies = _passes(answered)
    return dict(mmbench_answer_file(passes, replies, loaded.config, loaded.split))


def answer_file_facts(answered: Sequence[RowResponses]) -> dict[str, int]:
    """What a result says about the file: its passes, those without an answer, and replies that no cell can hold."""
    _, replies = _passes(answered)
    asked = sum(len(passes_of(item.row)) for item in answered)
    changed = sum(cell_text(reply) != reply for reply in replies)
    return {"passes": len(replies), "missing": asked - len(replies), "changed": changed}


def _passes(answered: Sequence[RowResponses]) -> tuple[list[Row], list[str]]:
    """Each pass as its release shows it, and the reply in its letters."""
    passes: list[Row] = []
    replies = []
    for row, response in observed(answered):
        one = asked_pass(row, response)
        passes.append({**row, "index": one.index, "question": one.question, "hint": one.hint, "options": one.options})
        replies.append(moved_reply(response.text or "", shown_options(response), one.options))
    return passes, replies
