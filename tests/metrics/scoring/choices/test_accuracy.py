import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import eyechart.metrics
from eyechart.metrics.scoring.choices.accuracy import choice_distribution, choice_scores, random_guess
from eyechart.metrics.scoring.choices.reading import Replies, read_choices
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from eyechart.metrics.scoring.statistics.intervals import student, wilson_of_share


def _scores(predictions: list[str], references: list[str], choices: list[list[str]], **columns: Any) -> dict[str, Any]:
    replies = Replies(predictions, references, choices, **columns)
    return choice_scores(read_choices(replies), replies)


def test_random_guess_by_hand() -> None:
    assert random_guess([2, 4, 3]) == pytest.approx((1 / 2 + 1 / 4 + 1 / 3) / 3)


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


def test_always_yes_is_half_right_without_bias() -> None:
    found = _scores(["Yes"] * 10, ["A"] * 9 + ["B"], [["Yes", "No"]] * 10)["yes_no"]
    assert (found["mean"], found["all"]) == (0.5, 0.9)


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


@pytest.mark.parametrize(("votes", "ties", "lost"), [("1100?", 3, 0), ("?????", 0, 3)])
def test_ties_and_lost_rounds_of_a_judge_change_no_score_and_are_counted(votes: str, ties: int, lost: int) -> None:
    metric = eyechart.metrics.load("choice_accuracy")
    rows = {
        "predictions": ["The answer is B.", "The image is bright", "I cannot tell"],
        "references": ["B", "C", "A"],
        "choices": [["Bright", "Dark", "Medium"]] * 3,
        "questions": ["How bright?"] * 3,
    }
    judged = {"judge": lambda messages, n: list(votes), "judge_template": "q_bench_vote", "judge_reads": "all"}
    scores, alone = metric.compute(**rows, **judged), metric.compute(**rows)
    names = ("accuracy", "extraction", "choice_distribution")
    assert [scores[name] for name in names] == [alone[name] for name in names]
    assert (scores["judge_asked"], scores["judge_ties"], scores["judge_unscored"]) == (3, ties, lost)
