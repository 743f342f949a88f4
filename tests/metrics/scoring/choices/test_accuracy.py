"""Accuracy of choices, yes/no accuracy and position bias, by hand, by SciPy and by Q-Bench's tables."""

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import eyechart.metrics
from eyechart.metrics.scoring.choices.accuracy import choice_distribution, choice_scores
from eyechart.metrics.scoring.choices.circular import circular_scores, read_circular
from eyechart.metrics.scoring.choices.positions import position_bias
from eyechart.metrics.scoring.choices.reading import Replies, read_choices
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from eyechart.metrics.scoring.statistics.intervals import student, wilson_of_share
from eyechart.metrics.scoring.statistics.shares import Clusters


def _scores(predictions: list[str], references: list[str], choices: list[list[str]], **columns: Any) -> dict[str, Any]:
    replies = Replies(predictions, references, choices, **columns)
    return choice_scores(read_choices(replies), replies)


def test_random_guess_of_llvisionqa(reference: Path) -> None:
    rows = json.loads((reference / "llvisionqa" / "llvisionqa_dev.json").read_text())
    scores = eyechart.metrics.load("choice_accuracy").compute(
        predictions=["A"] * len(rows),
        references=["ABCD"[row["candidates"].index(row["correct_ans"])] for row in rows],
        choices=[row["candidates"] for row in rows],
        groups={"type": [row["type"] for row in rows], "concern": [row["concern"] for row in rows]},
    )
    # Table 7 of Q-Bench, which truncates.
    printed = {"type": [50.00, 27.86, 33.31], "concern": [37.89, 38.48, 38.28, 35.82]}
    assert 100 * scores["random_guess"] == pytest.approx(37.80, abs=0.02)
    for name, values in printed.items():
        for value, percent in enumerate(values):
            assert 100 * scores[f"by_{name}"][str(value)]["random_guess"] == pytest.approx(percent, abs=0.02)
    assert scores["by_type"]["0"]["n"] == 550
    # Yes and no by the answer's text: 546 of type 0 and three of type 1.
    assert scores["yes_no"]["n_yes"] + scores["yes_no"]["n_no"] == 549


def test_yes_no_is_read_from_the_answer_text() -> None:
    choices = [["Yes", "-"], ["yes.", "-"], ["NO", "-"], ["Clear", "-"], ["Good", "-"]]
    found = _scores(list("AABAB"), ["A"] * 5, choices)["yes_no"]
    assert found.pop("mean_ci95")[0] < 0.5
    assert found == {"yes": 1.0, "no": 0.0, "all": pytest.approx(2 / 3), "mean": 0.5, "n_yes": 2, "n_no": 1}
    assert "yes_no" not in _scores(["A"], ["A"], [["Clear", "-"]])


def test_one_sided_yes_no_is_nan_and_warns() -> None:
    with pytest.warns(UndefinedScoreWarning, match="only one of the answers yes and no occurs"):
        found = _scores(["Yes"], ["A"], [["Yes", "No"]])
    assert found["yes_no"]["yes"] == found["yes_no"]["all"] == 1.0
    assert found["yes_no"]["no"] != found["yes_no"]["no"]


@given(st.lists(st.tuples(st.sampled_from(["A", "B", "C", None]), st.sampled_from("ABC")), min_size=1))
def test_distribution_sums_to_one(pairs: list[tuple[str | None, str]]) -> None:
    predicted, correct = zip(*pairs, strict=True)
    found = choice_distribution(predicted, correct, 3)
    assert sum(found["predicted"].values()) == pytest.approx(1)
    assert sum(found["correct"].values()) == pytest.approx(1)
    assert found["predicted"]["A"] * len(pairs) == pytest.approx(predicted.count("A"))


def test_groups_hold_the_same_scores() -> None:
    choices = [["Yes", "No"], ["Yes", "No"], ["a", "b", "c"], ["a", "b", "c"]]
    found = _scores(["Yes", "Yes", "C", "?"], ["A", "B", "C", "A"], choices, groups={"kind": ["x", "x", "y", "y"]})
    assert found["accuracy"] == 0.5 and found["n"] == 4
    # Of one of one, only the lower end is away from the share; of none of one, only the upper one; the mean halves it.
    reach = (1 - binomtest(1, 1).proportion_ci(method="wilson").low) / 2
    assert found["by_kind"]["x"]["yes_no"] == {
        "yes": 1.0,
        "no": 0.0,
        "all": 0.5,
        "mean": 0.5,
        "mean_ci95": pytest.approx([0.5 - reach, 0.5 + reach]),
        "n_yes": 1,
        "n_no": 1,
    }
    assert set(found) - set(found["by_kind"]["x"]) == {"by_kind", "extraction_mode", "fallback"}
    assert "yes_no" not in found["by_kind"]["y"]
    alone = _scores(["C", "?"], ["C", "A"], choices[2:])
    assert found["by_kind"]["y"] | {"extraction_mode": "declared", "fallback": "wrong"} == alone


def test_questions_about_one_image() -> None:
    """60 images with a question whose answer is yes and one whose answer is no; the model says yes to all."""
    n = 120
    given = ["Yes"] * n, ["A", "B"] * 60, [["Yes", "No"]] * n
    kinds = {"kind": ["odd one", *["other"] * (n - 1)]}
    found = _scores(*given, groups=kinds, clusters=[f"{number // 2}.jpg" for number in range(n)])
    assert (found["accuracy"], found["yes_no"]["mean"]) == (0.5, 0.5)
    # Half of each image is right, so images do not differ; the interval is not narrower than for independent answers.
    assert found["intervals"]["accuracy"] == {"kind": "wilson-clustered", "units": 60}
    assert found["accuracy_ci95"] == pytest.approx(list(wilson_of_share(0.5, 120, student(60))))
    assert found["intervals"]["yes_no.mean"] == {"kind": "mean", "units": 60}
    # A group of one is a share of one, however many others have its image.
    one = found["by_kind"]["odd one"]
    assert one["intervals"] == {"accuracy": {"kind": "wilson", "units": 1}}
    assert one["accuracy_ci95"] == pytest.approx([binomtest(1, 1).proportion_ci(method="wilson").low, 1.0])
    assert found["by_kind"]["other"]["intervals"]["accuracy"]["units"] == 60
    assert _scores(*given)["intervals"]["accuracy"] == {"kind": "wilson", "units": n}


def test_several_accepted_options() -> None:
    found = _scores(["A", "C", "B", "B"], ["AC", "AC", "AC", "A"], [["x", "y", "z"]] * 4)
    assert found["accuracy"] == 0.5 and found["random_guess"] == pytest.approx((3 * 2 / 3 + 1 / 3) / 4)
    assert found["choice_distribution"]["correct"] == {"A": 2.5 / 4, "B": 0.0, "C": 1.5 / 4}


Answer = Callable[[int, int, list[str], str], str]
"""From question, rotation, options as shown and right letter to the reply."""


def scored_choices(letters: list[str], references: list[str], sizes: list[int]) -> dict[str, Any]:
    return _scores(letters, references, [[f"option {place}" for place in range(size)] for size in sizes])


def circular(answer: Answer, sizes: list[int], dropped: int = 0) -> dict[str, Any]:
    """Scores of questions with rotated options, the first of which is right; the last rows are not asked."""
    ids, rotations, choices, references, replies = [], [], [], [], []
    for question, size in enumerate(sizes):
        options = [f"{question}-{place}" for place in range(size)]
        for rotation in range(size):
            shown = options[-rotation:] + options[:-rotation] if rotation else options
            ids.append(question)
            rotations.append(rotation)
            choices.append(shown)
            references.append(ascii_uppercase[rotation])
            replies.append(answer(question, rotation, shown, references[-1]))
    kept = slice(0, len(ids) - dropped)
    given = Replies(
        replies[kept],
        references[kept],
        choices[kept],
        question_ids=ids[kept],
        rotations=rotations[kept],
        pass_counts=[sizes[number] for number in ids][kept] if dropped else None,
    )
    return circular_scores(read_circular(given, "drop"), given, "drop")


def _bias(right: Any, letters: list[str], clusters: Any) -> dict[str, Any]:
    return position_bias(right, letters, [4] * len(letters), Clusters(clusters))["position_bias"]


def test_a_model_that_always_answers_a() -> None:
    found = scored_choices(["A"] * 8, list("ABCDABCD"), [4] * 8)["position_bias"]
    assert found["recall"] == {"A": 1.0, "B": 0.0, "C": 0.0, "D": 0.0}
    # The standard deviation of 1, 0, 0, 0: sqrt(1/4 - 1/16).
    assert found["spread"] == pytest.approx(math.sqrt(3) / 4)
    # (1/4)(3/4) of each answer, two answers a position: (3/16) (3/16) (4 / 2).
    assert found["spread_by_chance"] == pytest.approx(math.sqrt(9 / 128))
    found = circular(lambda *_: "A", [4, 4])
    # Each content has one vote, so that the right one is a quarter of the majority.
    assert (found["flip_rate"], found["position_free_accuracy"], found["circular_accuracy"]) == (1.0, 0.25, 0.0)
    assert found["position_bias"]["recall"] == {"A": 1.0, "B": 0.0, "C": 0.0, "D": 0.0}


def test_a_model_that_knows_all_answers() -> None:
    found = scored_choices(list("ABCA"), list("ABCA"), [3] * 4)["position_bias"]
    assert found == {"recall": {"A": 1.0, "B": 1.0, "C": 1.0}, "spread": 0.0, "spread_by_chance": 0.0}
    found = circular(lambda question, rotation, shown, right: right, [2, 3, 4])
    assert (found["flip_rate"], found["position_free_accuracy"], found["circular_accuracy"]) == (0.0, 1.0, 1.0)
    assert found["position_bias"]["spread"] == 0.0


def test_a_model_that_guesses_uniformly() -> None:
    """Every way to answer three passes of three options once: 27 questions."""
    ways = list(itertools.product("ABC", repeat=3))
    found = circular(lambda question, rotation, *_: ways[question][rotation], [3] * 27)
    assert found["circular_accuracy"] == pytest.approx(1 / 27)
    assert found["vanilla_accuracy"] == found["position_free_accuracy"] == pytest.approx(1 / 3)
    # Three of the 27 ways name one content alone.
    assert found["flip_rate"] == pytest.approx(1 - 3 / 27)
    assert found["position_bias"]["recall"] == pytest.approx({"A": 1 / 3, "B": 1 / 3, "C": 1 / 3})
    assert found["position_bias"]["spread"] == pytest.approx(0.0, abs=1e-12)


def test_a_model_that_ignores_the_image_and_repeats_a_text() -> None:
    found = circular(lambda question, rotation, shown, right: f"{question}-1", [3, 3])
    assert (found["flip_rate"], found["position_free_accuracy"]) == (0.0, 0.0)
    found = circular(lambda question, rotation, shown, right: f"{question}-{question}", [3, 3])
    assert (found["flip_rate"], found["position_free_accuracy"], found["circular_accuracy"]) == (0.0, 0.5, 0.5)


def test_questions_with_few_options_do_not_spread_recall() -> None:
    """Guesses of each letter once: recall at C is that of three options, at A of two and three."""
    letters, references, sizes = [], [], []
    for size in (2, 3):
        for right, said in itertools.product(ascii_uppercase[:size], repeat=2):
            letters.append(said)
            references.append(right)
            sizes.append(size)
    found = scored_choices(letters, references, sizes)["position_bias"]
    assert found["recall"] == pytest.approx({"A": 2 / 5, "B": 2 / 5, "C": 1 / 3})
    assert found["spread"] == pytest.approx(0.0, abs=1e-12)
    # 4 rows of two options always answered A, 9 of three always right.
    letters = ["A"] * 4 + references[4:]
    found = scored_choices(letters, references, sizes)["position_bias"]
    assert found["spread"] == pytest.approx(4 / 13 * 0.5)


@pytest.mark.parametrize("at", ["different positions", "the same position"])
def test_the_spread_by_chance_of_questions_about_one_image(at: str) -> None:
    """Four questions about each of 100 images, right or wrong together more often than not."""
    rng = np.random.default_rng(2)
    images = np.repeat(np.arange(100), 4)
    found = []
    for _ in range(500):
        places = {
            "different positions": np.tile(np.arange(4), 100),
            "the same position": np.repeat(np.arange(100) % 4, 4),
        }[at]
        right = rng.random(400) < rng.beta(0.6, 0.4, 100)[images]
        letters = [ascii_uppercase[place] for place in places]
        found.append(_bias(right, letters, images))
    squares, expected = (np.mean([one[name] ** 2 for one in found]) for name in ("spread", "spread_by_chance"))
    assert squares == pytest.approx(expected, rel=0.08)
    independent = 0.6 * 0.4 * 3 / 4 / 100
    # Half of the variance is between images.
    factor = {"different positions": 0.5, "the same position": 2.5}[at]
    assert expected == pytest.approx(factor * independent, rel=0.1)


def test_few_images_do_not_make_the_spread_by_chance_smaller() -> None:
    """All four questions about an image are right or wrong together; four images are too few to rely on that."""
    found = _bias(np.repeat([True, True, False, False], 4), list("ABCD") * 4, np.repeat(np.arange(4), 4))
    assert found["spread_by_chance"] == pytest.approx(math.sqrt(0.5 * 0.5 * 3 / 4 / 4))


def test_right_options_at_one_position_say_nothing() -> None:
    assert "position_bias" not in scored_choices(["A", "B"], ["A", "A"], [2, 2])
    # One of two options, and one of three: no two positions of the same number of options.
    assert "position_bias" not in scored_choices(["A", "B"], ["A", "B"], [2, 3])
    assert position_bias([], [], [], Clusters.of(None, 0)) == {}


@pytest.mark.parametrize(
    ("shown", "replies", "flip_rate", "accuracy"),
    [
        # Unreadable replies have no vote and are answers of their own.
        ([["x", "y"], ["y", "x"]], ["A", ""], 1.0, 1.0),
        ([["x", "y"], ["y", "x"]], ["", "A"], 1.0, 0.0),
        ([["x", "y"], ["y", "x"]], ["", ""], 0.0, 0.0),
        # Options of the same text are one content.
        ([["x", "x", "y"], ["y", "x", "x"]], ["B", "B"], 0.0, 1.0),
    ],
)
def test_answers_over_passes(shown: list[list[str]], replies: list[str], flip_rate: float, accuracy: float) -> None:
    given = Replies(replies, ["A", "B"], shown, question_ids=["q"] * 2, rotations=[0, 1], pass_counts=[2] * 2)
    found = circular_scores(read_circular(given), given)
    assert (found["flip_rate"], found["position_free_accuracy"]) == (flip_rate, accuracy)


def test_intervals_are_over_questions() -> None:
    found = circular(lambda question, rotation, shown, right: right if question < 30 else "A", [2] * 40)
    assert found["flip_rate"] == 0.25 and found["position_free_accuracy"] == pytest.approx(35 / 40)
    assert found["intervals"]["flip_rate"] == {"kind": "wilson", "units": 40}
    low, high = found["position_free_accuracy_ci95"]
    # Wilson's at 35 of 40.
    assert (round(low, 4), round(high, 4)) == (0.7389, 0.9454)
