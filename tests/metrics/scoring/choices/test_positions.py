"""Position bias: closed forms by hand of models that always answer A, know all answers, guess, or repeat a text."""

import itertools
import math
from collections.abc import Callable
from string import ascii_uppercase
from typing import Any

import numpy as np
import pytest

from eyechart.metrics.scoring.choices.accuracy import choice_scores
from eyechart.metrics.scoring.choices.circular import circular_scores, read_circular
from eyechart.metrics.scoring.choices.positions import position_bias
from eyechart.metrics.scoring.choices.reading import Replies, read_choices
from eyechart.metrics.scoring.statistics.shares import Clusters

Answer = Callable[[int, int, list[str], str], str]
"""From question, rotation, options as shown and right letter to the reply."""


def scored_choices(letters: list[str], references: list[str], sizes: list[int]) -> dict[str, Any]:
    choices = [[f"option {place}" for place in range(size)] for size in sizes]
    replies = Replies(letters, references, choices)
    return choice_scores(read_choices(replies), replies)


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


def _bias(right: Any, letters: list[str], size: int, clusters: Any = None) -> dict[str, Any]:
    own = Clusters(np.arange(len(letters)) if clusters is None else clusters)
    return position_bias(right, letters, [size] * len(letters), own)["position_bias"]


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


def test_the_spread_of_guesses_is_that_of_chance() -> None:
    rng = np.random.default_rng(1)
    references = [ascii_uppercase[place % 4] for place in range(100)]
    found = [_bias(rng.random(100) < 0.6, references, 4) for _ in range(2000)]
    squares, expected = (np.mean([one[name] ** 2 for one in found]) for name in ("spread", "spread_by_chance"))
    assert squares == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("at", ["different positions", "the same position", "any position"])
def test_the_spread_by_chance_of_questions_about_one_image(at: str) -> None:
    """Four questions about each of 100 images, right or wrong together more often than not."""
    rng = np.random.default_rng(2)
    images = np.repeat(np.arange(100), 4)
    found = []
    for _ in range(1000):
        places = {
            "different positions": np.tile(np.arange(4), 100),
            "the same position": np.repeat(np.arange(100) % 4, 4),
            "any position": rng.integers(0, 4, 400),
        }[at]
        right = rng.random(400) < rng.beta(0.6, 0.4, 100)[images]
        letters = [ascii_uppercase[place] for place in places]
        found.append(_bias(right, letters, 4, images))
    squares, expected = (np.mean([one[name] ** 2 for one in found]) for name in ("spread", "spread_by_chance"))
    assert squares == pytest.approx(expected, rel=0.08)
    independent = 0.6 * 0.4 * 3 / 4 / 100
    # Half of the variance is between images.
    factor = {"different positions": 0.5, "the same position": 2.5, "any position": 1.0}[at]
    assert expected == pytest.approx(factor * independent, rel=0.1)


def test_the_passes_over_a_question_belong_together() -> None:
    """Questions that are all right or all wrong leave nothing to chance, whatever position they show."""
    found = circular(lambda question, rotation, shown, right: right if question % 2 else f"{question}-1", [4] * 60)
    assert found["position_bias"]["spread_by_chance"] < found["position_bias"]["spread"] + 1e-12 < 1e-9


def test_few_clusters_never_make_the_spread_by_chance_smaller() -> None:
    right, letters = [True, True, False, False] * 4, list("ABAB") * 4
    alone = _bias(right, letters, 2)
    assert _bias(right, letters, 2, np.arange(16) // 2) == alone
    one = _bias(right, letters, 2, np.zeros(16, dtype=np.int64))
    assert one["spread_by_chance"] >= alone["spread_by_chance"]


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
