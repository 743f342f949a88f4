"""Which samples are shown, and how each is said to have been read."""

import pytest

from eyechart.evaluators.report.reported_task import reported_tasks
from eyechart.evaluators.report.samples import collect_samples
from eyechart.evaluators.results.finished_runs import read_runs
from tests.evaluators.finished_runs import item
from tests.evaluators.report.conftest import PERCEPTION, choice, replaced


@pytest.fixture
def samples(make_run):
    def make(evaluation, limit=100):
        runs = read_runs([make_run(evaluation)])
        return collect_samples(runs, reported_tasks(runs), limit)

    return make


def verdicts(samples):
    return {row["id"]: (row["step"], row.get("correct")) for row in samples.rows}


def changed(*predictions, **settings):
    return replaced(PERCEPTION, items=list(predictions), settings=settings)


def test_wrong_and_unmatched_ones_come_first_each_in_the_order_of_the_data(samples):
    shown = samples(PERCEPTION)
    assert list(verdicts(shown)) == ["wrong", "unmatched", "right", "judged"]
    assert [*verdicts(shown).values()] == [("exact", False), ("unparseable", False), ("exact", True), ("judge", True)]
    assert shown.part == "" and [note.rpartition(":")[2] for note in shown.notes] == [
        " the data are no longer at 'given'."
    ]
    assert shown.rows[0] == {
        **{"run": 0, "task": 0, "id": "wrong", "pass": "main", "answer": "A", "choice": "B", "step": "exact"},
        **{"question": "Is wrong sharp?", "text": "B", "options": ["Yes", "No"], "correct": False},
        **{"images": None, "disagree": False},
    }


def test_the_cap_is_for_each_task_and_noted(samples):
    shown = samples(PERCEPTION, limit=3)
    assert [row["id"] for row in shown.rows] == ["wrong", "unmatched", "right"]
    assert shown.part == "3 of 4 samples shown, at most 3 per task: incorrect and unparsed replies first."
    none = samples(PERCEPTION, limit=0)
    assert none.rows == none.notes == [] and none.part == ""


@pytest.mark.parametrize(
    ("sample", "verdict"),
    [
        (choice("a", "?", answer=""), ("unparseable", None)),
        (choice("a", "", finish_reason="reasoning", step=None, correct=None), ("unfinished_reasoning", None)),
        (choice("a", None, choice="B", losses=[2.0, 1.0], loss_tokens=[1, 1]), ("option with the lowest loss", False)),
    ],
)
def test_private_answers_have_no_verdict_and_losses_are_named(samples, sample, verdict):
    assert verdicts(samples(changed(sample))) == {"a": verdict}


def plain(id="a", **fields):
    return item(id, **{"text": "Sharp.", "question": None} | fields)


@pytest.mark.parametrize(
    ("columns", "step"),
    [
        ({"label": "Blurry.", "rounds": [[2, 1], [1, 1]], "completeness": 1.5}, "scored as text"),
        ({"label": "Blurry.", "rounds": [[2]], "completeness": 2.0, "finish_reason": "length"}, "cut_off"),
        ({"label": "Blurry.", "rounds": [[0]], "finish_reason": "refusal"}, "refused"),
        ({"label": "Blurry.", "rounds": [[0]], "finish_reason": "reasoning"}, "unfinished_reasoning"),
        ({"label": ""}, "not scored: the reference is private"),
        ({"label": "2", "own_score": 0.5, "correct": True}, "numeric score"),
        ({"quality": 3.0, "quality_score": 4.0, "label": "3"}, "numeric score"),
        ({"logits": {"good": 1.0, "poor": 0.0}}, "numeric score"),
        ({"quality": 3.0, "text": "<think>It is"}, "unfinished_reasoning"),
    ],
)
def test_texts_are_judged_and_numbers_are_scores(samples, columns, step):
    (row,) = samples(changed(plain(**columns))).rows
    assert row["step"] == step and "correct" not in row
    assert row.get("reference") == (None if "quality" in columns else columns.get("label", "Good"))
    assert row.get("judge_scores", {}) == {name: columns[name] for name in ("completeness",) if name in columns}
    assert (row.get("predicted"), row.get("human")) == (columns.get("quality_score"), columns.get("quality"))


def test_a_pair_is_one_sample_with_both_orders(samples):
    """The choices name the images as the first order shows them."""

    def pair(id, choice, other, **fields):
        step = "unparseable" if other is None else "exact"
        first = plain(id=id, first_id="x", second_id="y", answer="first", choice=choice, step="exact", **fields)
        second = {"first_id": "y", "second_id": "x", "answer": "second", "choice": other, "step": step, "text": "Both."}
        return [first, plain(id=id, pass_name="reversed", **second)]

    pairs = [
        *pair("same", "first", "second", correct=True, consistent=True),
        *pair("unread", "first", None, correct=False, consistent=False),
        *pair("flipped", "second", "second", correct=False, consistent=False),
        *pair("equal", "first", "first", consistent=False),
    ]
    rows = samples(changed(*pairs)).rows
    found = {row["id"]: (row["choice"], row["swapped"].get("choice"), row.get("consistent")) for row in rows}
    # Incorrect, inconsistent and unparsed ones come first.
    assert list(found.items()) == [
        *[("unread", ("image 1", None, None)), ("flipped", ("image 2", "image 1", False))],
        *[("equal", ("image 1", "image 2", False)), ("same", ("image 1", "image 1", True))],
    ]
    assert {(row["text"], row["swapped"]["text"], row["answer"]) for row in rows} == {("Sharp.", "Both.", "image 1")}


def test_a_refused_question_says_what_came_of_it(samples):
    first = choice("a", "C", choice="C", outcome="right refusal")
    forced = choice("a", "Perhaps.", pass_name="forced", step="judge", correct=None)
    rows = samples(changed(first, forced, choice("a", "C", choice="C", pass_name="rotation:1", correct=None))).rows
    assert {row["pass"]: row["step"] for row in rows} == {"main": "exact", "forced": "judge", "rotation:1": "exact"}
    assert {row["outcome"] for row in rows} == {"right refusal"}
