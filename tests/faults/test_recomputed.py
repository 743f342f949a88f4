"""Leaderboard: scores that an entry's predictions contradict."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts import mini
from tests.evaluators.finished_runs import write
from tests.faults.fault import rows
from tests.hub_cards.test_recomputing import PERCEPTION, WHOLE, changed, checks, evaluated, put, swap_answer

pytestmark = pytest.mark.filterwarnings("ignore")
KINDS = [text for text in WHOLE if text[1] in ("llvisionqa", "lldescribe", "spaq", "two_afc")]
NAMED = "the reason names the score and the recomputed value"
UNSCORED = "the result is rejected because its predictions cannot be scored"
MARKED = "the reason names the item and the recomputed value"
COMPARED = "with the release, the reason names the item"


def scored(**scores: Any) -> Any:
    return lambda task: task["scores"].update(scores)


def without_a_group(task: dict[str, Any]) -> None:
    del task["scores"]["by_question_type"]["what"]


def with_text(task: dict[str, Any]) -> None:
    task["settings"]["max_new_tokens"] = "x"


def mark_right(rows: list[dict[str, Any]]) -> None:
    next(row for row in rows if row["correct"] is False)["correct"] = True


@pytest.fixture(scope="module")
def four_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one task for each kind of data."""
    return write(tmp_path_factory.mktemp("whole") / "run", [evaluated(*text) for text in KINDS])


@pytest.mark.parametrize(
    ("results", "rows", "reason"),
    [
        *rows(
            NAMED,
            ("a score is raised", scored(accuracy=0.99), None, "scores.accuracy is 0.99; "),
            ("an interval is widened", scored(accuracy_ci95=[0.2, 0.9]), None, "scores.accuracy_ci95[0] is 0.2; its p"),
            ("some items are left out of the scores", without_a_group, None, "scores.by_question_type.what is None; "),
            ("a score is added", scored(bonus=1.0), None, "scores.bonus is 1.0; its predictions give None"),
            ("a reply is changed", None, put("text", "I would rather not say."), "scores.accuracy is 0."),
            ("a right answer is changed", None, lambda rows: swap_answer(rows), "scores.accuracy is 0."),
            ("a prediction is removed", None, lambda rows: rows.pop(0), "units is 180; its predictions"),
        ),
        *rows(
            UNSCORED,
            ("a setting is text instead of a number", with_text, None, "cannot be computed"),
            ("a right answer is a letter without an option", None, put("answer", "Z"), "cannot be computed"),
            ("a question has no options", None, put("options", None), "the scores of q_bench"),
        ),
        *rows(MARKED, ("a wrong reply is marked as right", None, mark_right, "item 'dev-mini")),
    ],
)
def test_changed(four_tasks: Path, tmp_path: Path, results: Any, rows: Any, reason: str) -> None:
    (check,) = checks(changed(four_tasks, tmp_path / "run", results, rows), task=PERCEPTION).values()
    discrepancies = check.discrepancies
    assert any(reason in text for text in discrepancies), discrepancies
    assert all(len(text) < 400 for text in discrepancies) and len(discrepancies) <= 6


@pytest.mark.parametrize(
    ("task", "column", "value", "reason"),
    rows(
        COMPARED,
        ("changed options", PERCEPTION, "options", list("abcd"), "has options that are not in the release"),
        ("an easier right answer", PERCEPTION, "answer", "D", "has a correct answer that differs"),
        ("an item from another release", PERCEPTION, "id", "another", "is not in the release"),
        ("a missing item", PERCEPTION, "id", "another", "of the release has no prediction"),
        ("a changed opinion score", "q_bench/assessment", "quality", 1.0, "an opinion score that differs"),
        ("a changed reference", "q_bench/description", "label", "x", "a golden description that differs"),
        ("changed images of a pair", "two_afc/fine_mos", "first_id", "x", "has images or opinion scores"),
    ),
)
def test_other_items(four_tasks: Path, tmp_path: Path, task: str, column: str, value: Any, reason: str) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["task"] == task)[column] = value

    folders = {name: str(mini.release(name)) for _, name in KINDS}
    (check,) = checks(changed(four_tasks, tmp_path / "run", None, change), folders, task).values()
    assert any(reason in text for text in check.discrepancies), check
