"""Leaderboard: scores that an entry's predictions contradict."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts import mini
from tests.evaluators.finished_runs import write
from tests.faults.fault import row
from tests.hub_cards.test_recomputing import PERCEPTION, WHOLE, changed, checks, evaluated, put, swap_answer

pytestmark = pytest.mark.filterwarnings("ignore")
KINDS = [one for one in WHOLE if one[1] in ("llvisionqa", "lldescribe", "spaq", "two_afc")]
NAMED = "the reason names the score and the recomputed value"
UNSCORED = "the result is rejected because its predictions cannot be scored"
MARKED = "the reason names the item and the recomputed value"
COMPARED = "with the release, the reason names the item"


def mark_right(rows: list[dict[str, Any]]) -> None:
    next(row for row in rows if row["correct"] is False)["correct"] = True


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one task for each kind of data."""
    return write(tmp_path_factory.mktemp("whole") / "run", [evaluated(*one) for one in KINDS])


@pytest.mark.parametrize(
    ("results", "rows", "reason"),
    [
        row(
            "the score that ranks is raised",
            NAMED,
            lambda task: task["scores"].update(accuracy=0.99),
            None,
            "scores.accuracy is 0.99; its predictions give 0.",
        ),
        row(
            "an interval is widened",
            NAMED,
            lambda task: task["scores"].update(accuracy_ci95=[0.2, 0.9]),
            None,
            "scores.accuracy_ci95[0] is 0.2; its pr",
        ),
        row(
            "some items are left out of the scores",
            NAMED,
            lambda task: task["scores"]["by_question_type"].pop("what"),
            None,
            "scores.by_question_type.what is None; ",
        ),
        row(
            "a score is added",
            NAMED,
            lambda task: task["scores"].update(bonus=1.0),
            None,
            "scores.bonus is 1.0; its predictions give None",
        ),
        row(
            "a setting is text instead of a number",
            UNSCORED,
            lambda task: task["settings"].update(max_new_tokens="x"),
            None,
            "the scores of q_bench/perception cannot be computed from its predictions",
        ),
        row("a reply is changed", NAMED, None, put("text", "I would rather not say."), "scores.accuracy is 0."),
        row("a wrong reply is marked as right", MARKED, None, mark_right, "item 'dev-mini"),
        row("a right answer is changed", NAMED, None, lambda rows: swap_answer(rows), "scores.accuracy is 0."),
        row(
            "a right answer is a letter without an option",
            UNSCORED,
            None,
            put("answer", "Z"),
            "the scores of q_bench/perception cannot be computed from its predictions",
        ),
        row("a question has no options", UNSCORED, None, put("options", None), "the scores of q_bench"),
        row(
            "a prediction is removed",
            NAMED,
            None,
            lambda rows: rows.pop(0),
            "scores.intervals.accuracy.units is 180; its predictions give 179",
        ),
    ],
)
def test_changed(whole: Path, tmp_path: Path, results: Any, rows: Any, reason: str) -> None:
    (check,) = checks(changed(whole, tmp_path / "run", results, rows), task=PERCEPTION).values()
    discrepancies = check.discrepancies
    assert any(one.startswith(reason) for one in discrepancies), discrepancies
    assert all(len(one) < 400 for one in discrepancies) and len(discrepancies) <= 6


@pytest.mark.parametrize(
    ("task", "column", "value", "reason"),
    [
        row(
            "changed options", COMPARED, PERCEPTION, "options", list("abcd"), "has options that are not in the release"
        ),
        row("an easier right answer", COMPARED, PERCEPTION, "answer", "D", "has a correct answer that differs"),
        row("an item from another release", COMPARED, PERCEPTION, "id", "another", "is not in the release"),
        row("a missing item", COMPARED, PERCEPTION, "id", "another", "of the release has no prediction"),
        row(
            "a changed opinion score",
            COMPARED,
            "q_bench/assessment",
            "quality",
            1.0,
            "has an opinion score that differs from the release",
        ),
        row(
            "a changed reference",
            COMPARED,
            "q_bench/description",
            "reference",
            "x",
            "has a reference that differs from the release",
        ),
        row(
            "changed images of a pair",
            COMPARED,
            "two_afc/fine_mos",
            "first_id",
            "x",
            "has images or opinion scores that differ from the release",
        ),
    ],
)
def test_other_items(whole: Path, tmp_path: Path, task: str, column: str, value: Any, reason: str) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["task"] == task)[column] = value

    folders = {name: str(mini.release(name)) for _, name in KINDS}
    (check,) = checks(changed(whole, tmp_path / "run", None, change), folders, task).values()
    assert any(reason in one for one in check.discrepancies), check
