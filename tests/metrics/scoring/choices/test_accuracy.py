import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eyechart.metrics.scoring.choices.accuracy import choice_distribution, choice_scores, random_guess, yes_no_scores
from eyechart.metrics.scoring.choices.reading import read_choices
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreWarning
from eyechart.metrics.scoring.statistics.intervals import student, wilson_of_share


def test_random_guess_by_hand() -> None:
    assert random_guess([2, 4, 3]) == pytest.approx((1 / 2 + 1 / 4 + 1 / 3) / 3)


def test_nothing_to_score() -> None:
    with pytest.raises(InputError, match="is empty"):
        random_guess([])


def test_yes_no_is_read_from_the_answer_text() -> None:
    scores = yes_no_scores([True, True, False, True, False], ["Yes", "yes.", "NO", "Clear", "Good"])
    assert scores == {"yes": 1.0, "no": 0.0, "all": pytest.approx(2 / 3), "mean": 0.5, "n_yes": 2, "n_no": 1}
    assert yes_no_scores([True], ["Clear"]) is None


def test_always_yes_is_half_right_without_bias() -> None:
    answers = ["Yes"] * 9 + ["No"]
    scores = yes_no_scores([answer == "Yes" for answer in answers], answers)
    assert scores is not None and (scores["mean"], scores["all"]) == (0.5, 0.9)


@given(st.lists(st.tuples(st.sampled_from(["A", "B", "C", None]), st.sampled_from("ABC")), min_size=1))
def test_distribution_sums_to_one(pairs: list[tuple[str | None, str]]) -> None:
    predicted, correct = zip(*pairs, strict=True)
    found = choice_distribution(predicted, correct, 3)
    assert sum(found["predicted"].values()) == pytest.approx(1)
    assert sum(found["correct"].values()) == pytest.approx(1)
    assert found["predicted"]["A"] * len(pairs) == pytest.approx(predicted.count("A"))


def _scores(predictions, references, choices, groups):
    return choice_scores(read_choices(predictions, references, choices), references, choices, groups)


def test_groups_hold_the_same_scores() -> None:
    choices = [["Yes", "No"], ["Yes", "No"], ["a", "b", "c"], ["a", "b", "c"]]
    found = _scores(["Yes", "Yes", "C", "?"], ["A", "B", "C", "A"], choices, {"kind": ["x", "x", "y", "y"]})
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
    assert found["by_kind"]["y"]["extraction"]["unmatched"] == 0.5
    alone = _scores(["C", "?"], ["C", "A"], choices[2:], {})
    assert found["by_kind"]["y"] | {"extraction_mode": "declared", "fallback": "wrong"} == alone


def test_questions_about_one_image() -> None:
    """60 images with a question whose answer is yes and one whose answer is no; the model says yes to all."""
    n = 120
    references, choices = ["A", "B"] * 60, [["Yes", "No"]] * n
    kinds = {"kind": ["odd one", *["other"] * (n - 1)]}
    items = read_choices(["Yes"] * n, references, choices)
    images = [f"{number // 2}.jpg" for number in range(n)]
    found = choice_scores(items, references, choices, kinds, clusters=images)
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
    alone = choice_scores(items, references, choices, kinds)
    assert alone["intervals"]["accuracy"] == {"kind": "wilson", "units": n}


def test_one_sided_yes_no_is_nan_and_warns() -> None:
    with pytest.warns(UndefinedScoreWarning, match="only one of the answers yes and no occurs"):
        found = _scores(["Yes"], ["A"], [["Yes", "No"]], {})
    assert found["yes_no"]["yes"] == found["yes_no"]["all"] == 1.0
    assert found["yes_no"]["no"] != found["yes_no"]["no"]
