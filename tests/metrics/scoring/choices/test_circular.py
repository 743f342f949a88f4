import json
import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eyechart.metrics
from eyechart.metrics.scoring.choices.circular import circular_scores, find_questions, read_circular
from eyechart.metrics.scoring.choices.reading import Replies
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreWarning
from eyechart.metrics.scoring.statistics.intervals import wilson_interval
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval

# A pass: question, rotation, and whether it is answered right.
Pass = tuple[str, int, bool]
OPTIONS = {"p": ["x", "y"], "q": ["x", "y", "z"], "r": ["u", "v", "w", "t"], "s": ["only"]}
XYZ = ["x", "y", "z"]
ROWS: dict[str, list] = {
    "predictions": ["A", "The answer is B.", "Cat", "A. Dog"],
    "references": ["A", "B", "A", "B"],
    "choices": [["Red", "Blue"], ["Blue", "Red"], ["Cat", "Dog"], ["Dog", "Cat"]],
    "question_ids": ["q1", "q1", "q2", "q2"],
    "rotations": [0, 1, 0, 1],
}


def _asked(question_ids: list, rotations: list[int], choices: list[list[str]], **columns: Any) -> Replies:
    references = columns.pop("references", ["A"] * len(choices))
    return Replies(None, references, choices, question_ids=question_ids, rotations=rotations, **columns)


def _scores(passes: list[Pass], missing: str = "error", groups: dict[str, list[str]] | None = None) -> dict:
    """Scores of passes whose correct option is the unrotated first one; a wrong reply says nothing."""
    choices = [OPTIONS[question][place:] + OPTIONS[question][:place] for question, place, _ in passes]
    references = ["ABCD"[-place % len(shown)] for (_, place, _), shown in zip(passes, choices, strict=True)]
    predictions = [reference if right else "" for (_, _, right), reference in zip(passes, references, strict=True)]
    ids, rotations = [row[0] for row in passes], [row[1] for row in passes]
    replies = Replies(predictions, references, choices, question_ids=ids, rotations=rotations, groups=groups)
    return circular_scores(read_circular(replies, missing), replies, missing)


def _brute_force(passes: list[Pass]) -> dict[str, float | int]:
    """The scores by looking at one question at a time, with missing="drop"."""
    right = wrong = dropped = 0
    guesses = []
    for question in {row[0] for row in passes}:
        n = len(OPTIONS[question])
        answers = {place: correct for asked, place, correct in passes if asked == question}
        if False in answers.values():
            wrong += 1
        elif all(place in answers for place in range(n)):
            right += 1
        else:
            dropped += 1
            continue
        guesses.append((1 / n) ** n)
    first = [correct for _, place, correct in passes if place == 0]
    return {
        "circular_accuracy": right / (right + wrong) if guesses else math.nan,
        "vanilla_accuracy": sum(first) / len(first) if first else math.nan,
        "random_guess": sum(guesses) / len(guesses) if guesses else math.nan,
        "n_questions": right + wrong,
        "n_vanilla": len(first),
        "n_passes": len(passes),
        "dropped": dropped,
    }


PASSES = [(question, place) for question, options in OPTIONS.items() for place in range(len(options))]


@st.composite
def _passes(draw: st.DrawFn) -> list[Pass]:
    asked = draw(st.lists(st.sampled_from(PASSES), min_size=1, unique=True))
    return [(*row, draw(st.booleans())) for row in asked]


def test_official_passes_need_not_be_rotations_nor_as_many_as_options() -> None:
    """MMBench's question 34: three passes, the last option never moves. And one asked in a single pass."""
    options = ["w", "x", "y", "none of these"]
    choices = [options, ["y", "w", "x", options[3]], ["x", "y", "w", options[3]], ["u", "v"]]
    references = ["A", "B", "C", "B"]
    for counts, n_passes in ((None, [3, 2]), ([3, 3, 3, 1], [3, 1])):
        asked = {"question_ids": ["34", "34", "34", "8"], "rotations": [0, 1, 2, 0], "pass_counts": counts}
        replies = Replies(["A", "B", "C", "A"], references, choices, **asked)
        assert find_questions(replies).n_passes.tolist() == n_passes
        scores = circular_scores(read_circular(replies), replies)
        assert scores["circular_accuracy"] == 0.5 and scores["n_passes"] == 4
        assert scores["random_guess"] == pytest.approx((4**-3 + 2.0 ** -n_passes[1]) / 2)
        assert scores["distribution_over"] == ("rotation 0" if counts is None else "all passes")


def test_scores_by_hand() -> None:
    scores = _scores(
        [("p", 0, True), ("p", 1, True), ("q", 0, True), ("q", 1, True), ("q", 2, False), ("s", 0, False)],
        groups={"size": ["2", "2", "3", "3", "3", "1"]},
    )
    assert scores["circular_accuracy"] == 1 / 3 and scores["vanilla_accuracy"] == 2 / 3
    assert scores["circular_accuracy_ci95"] == list(wilson_interval(1, 3))
    assert scores["vanilla_accuracy_ci95"] == list(wilson_interval(2, 3))
    assert scores["random_guess"] == pytest.approx((1 / 4 + 1 / 27 + 1) / 3)
    assert (scores["n_questions"], scores["n_vanilla"], scores["n_passes"], scores["dropped"]) == (3, 3, 6, 0)
    shares = {name: share for name, share in scores["extraction"].items() if share}
    assert shares == {"exact": 4 / 6, "unmatched": 2 / 6, "unparseable": 2 / 6}
    # Correct letters: A, B; A, C, B; A.
    assert scores["choice_distribution"]["correct"] == {"A": 3 / 6, "B": 2 / 6, "C": 1 / 6}
    assert scores["choice_distribution"]["predicted"] == {"A": 2 / 6, "B": 1 / 6, "C": 1 / 6, "none": 2 / 6}
    assert scores["distribution_over"] == "all passes"
    part = scores["by_size"]["3"]
    assert (part["circular_accuracy"], part["vanilla_accuracy"], part["n"], part["n_passes"]) == (0.0, 1.0, 1, 3)
    assert json.loads(json.dumps(scores)) == scores


def test_a_wrong_pass_decides_whatever_else_is_missing() -> None:
    scores = _scores([("q", 0, True), ("q", 2, False), ("p", 0, True), ("p", 1, True)])
    assert scores["circular_accuracy"] == 0.5 and scores["dropped"] == 0
    assert scores["distribution_over"] == "rotation 0" and "flip_rate" not in scores
    assert scores["choice_distribution"]["correct"] == {"A": 1.0, "B": 0.0, "C": 0.0}
    assert scores["extraction"]["exact"] == 1.0


def test_missing_rotations_are_an_error_where_the_others_are_right() -> None:
    passes = [("p", 0, True), ("p", 1, True), ("r", 0, True), ("r", 2, True)]
    message = "rotations: question 'r' has no rotation 1, 3, and its other passes are correct"
    with pytest.raises(InputError, match=message):
        _scores(passes)
    scores = _scores(passes, missing="drop")
    assert scores["circular_accuracy"] == 1.0 and scores["dropped"] == 1
    assert (scores["n_questions"], scores["n_vanilla"], scores["n_passes"]) == (1, 2, 4)


def test_nothing_left_is_nan_and_warns() -> None:
    with pytest.warns(UndefinedScoreWarning, match="overall: circular_accuracy and circular_accuracy_ci95 are nan"):
        scores = _scores([("p", 0, True)], missing="drop")
    assert math.isnan(scores["circular_accuracy"]) and scores["vanilla_accuracy"] == 1.0
    message = "vanilla_accuracy and vanilla_accuracy_ci95 are nan because no question has its"
    with pytest.warns(UndefinedScoreWarning, match=message):
        scores = _scores([("p", 1, False)])
    assert scores["circular_accuracy"] == 0.0 and math.isnan(scores["vanilla_accuracy"])
    assert all(math.isnan(share) for share in scores["extraction"].values())


@given(_passes())
def test_scores_equal_a_look_at_one_question_at_a_time(passes: list[Pass]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedScoreWarning)
        scores = _scores(passes, missing="drop", groups={"question": [row[0] for row in passes]})
        parts = {question: [row for row in passes if row[0] == question] for question in {row[0] for row in passes}}
    expected = _brute_force(passes)
    assert {key: scores[key] for key in expected} == pytest.approx(expected, nan_ok=True)
    for question, part in parts.items():
        found, expected = scores["by_question"][question], _brute_force(part)
        assert {key: found[key] for key in expected} == pytest.approx(expected, nan_ok=True)
        assert found["n"] == found["n_questions"]


@given(st.lists(st.booleans(), min_size=len(PASSES), max_size=len(PASSES)), st.randoms(use_true_random=False))
def test_stopping_after_a_wrong_pass_changes_no_accuracy(right: list[bool], rng) -> None:
    every = [(*row, correct) for row, correct in zip(PASSES, right, strict=True)]
    stopped: list[Pass] = []
    for question, place, correct in every:
        if all(earlier[2] for earlier in stopped if earlier[0] == question):
            stopped.append((question, place, correct))
    rng.shuffle(stopped)
    full, early = _scores(every), _scores(stopped)
    for key in ("circular_accuracy", "circular_accuracy_ci95", "vanilla_accuracy", "random_guess", "n_questions"):
        assert early[key] == pytest.approx(full[key])
    assert early["n_passes"] == len(stopped) and early["dropped"] == 0
    assert full["circular_accuracy"] <= full["vanilla_accuracy"]


def test_the_passes_of_a_question_are_one_item_and_its_image_a_cluster() -> None:
    """90 questions about 45 images, both in every order of their two options; all questions of a third are wrong."""
    n = 90
    ids = [question for question in range(n) for _ in range(2)]
    rotations, choices = [0, 1] * n, [["x", "y"], ["y", "x"]] * n
    references = ["A", "B"] * n
    right = [question // 2 % 3 > 0 for question in ids]
    predictions = [reference if fine else "" for reference, fine in zip(references, right, strict=True)]
    images = [f"{question // 2}.jpg" for question in ids]
    given = Replies(predictions, references, choices, question_ids=ids, rotations=rotations, clusters=images)
    found = circular_scores(read_circular(given), given)
    expected = share_interval([question // 2 % 3 > 0 for question in range(n)], Clusters(np.arange(n) // 2))
    for name in ("circular_accuracy", "vanilla_accuracy"):
        assert found[f"{name}_ci95"] == [expected.low, expected.high]
        assert found["intervals"][name] == {"kind": expected.kind, "units": 45}
    given = Replies(predictions, references, choices, question_ids=ids, rotations=rotations)
    alone = circular_scores(read_circular(given), given)
    assert alone["intervals"]["circular_accuracy"] == {"kind": "wilson", "units": n}
    assert alone["circular_accuracy_ci95"] == list(wilson_interval(60, n))


@pytest.mark.parametrize(
    ("choices", "n_passes"),
    [
        ([["x", "y", "z"], ["z", "x", "y"]], 3),
        ([["x", "y", "z"], ["y", "x", "z"]], 2),
        ([["x", "y", "z"], ["y", "x", "z"], ["x", "y", "z"]], 3),
        ([["x", "y", "y"], ["y", "x", "y"], ["y", "y", "x"]], 3),
        # MMBench 1211 with two of its three passes, and 855 with two of its four.
        ([["left", "crash", "left", "both"], ["left", "left", "crash", "both"]], 3),
        ([["officer", "athlete", "fireman", "athlete"], ["fireman", "athlete", "officer", "athlete"]], 4),
        ([["only"]], 1),
    ],
)
def test_a_question_has_as_many_passes_as_options_that_move(choices: list[list[str]], n_passes: int) -> None:
    found = find_questions(_asked(["q"] * len(choices), list(range(len(choices))), choices))
    assert found.n_passes.tolist() == [n_passes]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rotations": [0, 1, 1, 0]}, r"question_ids\[2\] is 'p' with rotation 1, as in row 1; each pass may be given"),
        ({"rotations": [0, 1, -1, 0]}, r"rotations\[2\] is -1; it must be a whole number of at least 0"),
        ({"question_ids": ["p", "p", None, "q"]}, r"question_ids\[2\] is None; it must be a string or a whole number"),
        ({"references": ["A", "A", "AB", "A"]}, r"references\[2\] is 'AB'; a question with passes has one correct"),
        ({"pass_counts": [0, 0, 0, 1]}, r"pass_counts\[0\] is 0; it must be a whole number of at least 1"),
        ({"pass_counts": [3, 3, 4, 1]}, r"pass_counts\[2\] is 4, but row 0 of the same question 'p' has 3"),
        ({"pass_counts": [2, 2, 2, 1]}, r"pass_counts\[0\] is 2, but 3 passes of its question are given"),
        (
            {"groups": {"kind": ["a", "a", "b", "b"]}},
            r"groups\['kind'\]\[2\] is 'b', but row 0 of the same question 'p'",
        ),
    ],
)
def test_no_passes(changes: dict[str, Any], message: str) -> None:
    rows: dict[str, Any] = {"question_ids": ["p", "p", "p", "q"], "rotations": [0, 1, 2, 0]}
    rows["choices"] = [XYZ, ["y", "z", "x"], ["z", "x", "y"], ["Yes", "No"]]
    with pytest.raises(InputError, match=message):
        find_questions(_asked(**rows | changes))


def test_no_judge_is_asked_about_malformed_rows() -> None:
    def judge(messages, n: int) -> list[str]:
        raise AssertionError("asked")

    rows = ROWS | {"predictions": ["Hard to tell"] * 4}
    for changes in ({"rotations": [0, 1, 0, 0]}, {"clusters": [[]] * 4}, {"missing": "never"}):
        with pytest.raises(InputError):
            eyechart.metrics.load("circular_eval").compute(**rows | changes, questions=["?"] * 4, judge=judge)
