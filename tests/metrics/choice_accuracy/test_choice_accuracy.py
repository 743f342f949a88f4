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
KEYS = {"accuracy", "accuracy_ci95", "random_guess", "n", "extraction", "choice_distribution"}


@pytest.fixture
def metric():
    return eyechart.metrics.load("choice_accuracy")


def test_scores(metric) -> None:
    scores = metric.compute(**ROWS)
    assert set(scores) >= KEYS and "yes_no" not in scores
    assert scores["accuracy"] == 0.5 and scores["n"] == 4
    assert scores["extraction"] == {"exact": 0.75, "judge": 0.0, "random": 0.0, "unmatched": 0.25}
    assert scores["choice_distribution"]["predicted"] == {"A": 0.25, "B": 0.5, "C": 0.0, "none": 0.25}
    assert scores["fallback"] == "wrong" and "seed" not in scores
    assert json.loads(json.dumps(scores)) == scores


@pytest.mark.parametrize("argument", [{"groups": {"kind": ["a"] * 4}}, {"questions": ["?"] * 4}])
def test_arguments_that_two_processes_cannot_gather(metric, argument: dict) -> None:
    metric.num_process = 2
    with pytest.raises(ValueError, match=f"{next(iter(argument))} cannot be used with num_process > 1"):
        metric._compute(**ROWS, **argument)


def test_judge(metric) -> None:
    scores = metric.compute(
        **ROWS,
        questions=["How is the light?"] * 4,
        judge=lambda messages, n: ["A"] * n,
        judge_template="mmbench_choice",
    )
    assert scores["accuracy"] == 0.75 and scores["extraction"]["judge"] == 0.25
    assert scores["judge_asked"] == 1 and scores["judge_failed_rounds"] == 0
    assert scores["judge_template"] == "mmbench_choice" and scores["rounds"] == 5


def test_random_fallback_is_seeded(metric) -> None:
    first, again = (metric.compute(**ROWS, fallback="random", seed=3) for _ in range(2))
    assert first == again
    assert first["extraction"]["random"] == 0.25 and first["seed"] == 3


def test_failed_response_counts_as_unmatched(metric) -> None:
    scores = metric.compute(predictions=["", "B"], references=["A", "B"], choices=[OPTIONS] * 2)
    assert scores["accuracy"] == 0.5 and scores["extraction"]["unmatched"] == 0.5


def test_one_item(metric) -> None:
    scores = metric.compute(predictions=["B"], references=["B"], choices=[OPTIONS])
    assert scores["accuracy"] == 1.0 and scores["accuracy_ci95"][0] == pytest.approx(0.2065, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"references": ["B", "C", "A"]}, "references has 3 rows and predictions has 4; row 3 is the first"),
        ({"references": ["B", "Z", "A", "A"]}, r"references\[1\] is 'Z'; allowed: A to C"),
        ({"groups": {"kind": ["a"]}}, r"groups\['kind'\] has 1 rows"),
        ({"predictions": ["B", None, "A", "A"]}, r"predictions\[1\] is None"),
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
