import json
from pathlib import Path

import pytest

import eyechart.metrics

OPTIONS = ["Bright", "Dark", "Medium"]
ROWS = {
    "predictions": ["The answer is B.", "The image is bright", "I cannot tell", "Dark"],
    "references": ["B", "C", "A", "B"],
    "choices": [OPTIONS] * 4,
}


@pytest.fixture
def metric():
    return eyechart.metrics.load("choice_accuracy")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": {"kind": ["a"]}}, r"groups\['kind'\] has 1 rows"),
        ({"predictions": [], "references": [], "choices": []}, "predictions is empty"),
        ({"judge": print}, "questions is missing"),
    ],
)
def test_bad_input(metric, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(**(ROWS | arguments))


def test_random_guess_of_llvisionqa(metric, reference: Path) -> None:
    rows = json.loads((reference / "llvisionqa" / "llvisionqa_dev.json").read_text())
    scores = metric.compute(
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


@pytest.mark.parametrize(("votes", "ties", "lost"), [("1100?", 3, 0), ("?????", 0, 3)])
def test_ties_and_lost_rounds_of_a_judge_change_no_score_and_are_counted(metric, votes, ties, lost) -> None:
    rows = {name: values[:3] for name, values in ROWS.items()} | {"questions": ["How bright?"] * 3}
    judged = {"judge": lambda messages, n: list(votes), "judge_template": "q_bench_vote", "judge_reads": "all"}
    scores, alone = metric.compute(**rows, **judged), metric.compute(**rows)
    assert {name: scores[name] for name in ("accuracy", "extraction", "choice_distribution")} == {
        name: alone[name] for name in ("accuracy", "extraction", "choice_distribution")
    }
    assert (scores["judge_asked"], scores["judge_ties"], scores["judge_unscored"]) == (3, ties, lost)
