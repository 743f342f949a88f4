"""The reader is measured on replies to which it was not tuned: see `held_out/SOURCE.md`.

The tests read totals only. Whoever looks at the replies behind them to improve the reader spends the set.
"""

from pathlib import Path

import pytest

from eyechart.metrics.scoring.choices.replies import Extraction, read_reply
from tests.labelled_replies import Agreement, LabelledReply, agreement, read_set

SET = Path(__file__).parent / "held_out" / "replies.jsonl"
# The fewest letters found, as a share of the 312 letters; the most wrong ones, as a share of the 401 replies.
LEAST_FOUND: dict[Extraction, float] = {"declared": 0.91, "strict": 0.65}
MOST_WRONG: dict[Extraction, float] = {"declared": 0.0125, "strict": 0.005}


def measured(extraction: Extraction) -> Agreement:
    replies = read_set(SET)
    read = (read_reply(reply.text, reply.options, extraction, reply.finish_reason)[0] for reply in replies)
    return agreement(replies, read)


@pytest.mark.parametrize("extraction", LEAST_FOUND)
def test_letters_found_and_wrong_on_the_held_out_set(extraction: Extraction) -> None:
    counts = measured(extraction)
    assert (counts.replies, counts.letters) == (401, 312)
    assert counts.found / counts.letters >= LEAST_FOUND[extraction], counts
    assert counts.wrong / counts.replies <= MOST_WRONG[extraction], counts


def test_labels_that_are_not_letters_are_the_options(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    row = '{"reply": "2", "options": {"1": "cousin", "2": "uncle"}, "label": "2", "kind": "bare"}\n'
    path.write_text(row + row.replace('"label": "2"', '"letter": null'), encoding="utf-8")
    expected = LabelledReply("2", ("1", "2"), "B", "bare")
    first, second = read_set(path)
    assert first == expected and second.letter is None


def test_agreement_counts_each_reply_once() -> None:
    labels = ["A", "A", "A", "A", None, None]
    replies = [LabelledReply("", ("x", "y", "x"), label, "bare") for label in labels]
    assert agreement(replies, ["A", "AC", "B", "", "", "B"]) == Agreement(6, 4, found=2, missed=1, wrong=2)
