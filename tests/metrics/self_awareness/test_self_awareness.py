import json
import math

import pytest

import eyechart.metrics
from eyechart.datasets_scripts import load_dataset, mini
from eyechart.metrics.scoring.choices.self_awareness import without_refusal
from eyechart.metrics.scoring.errors import LostRoundsWarning, UndefinedScoreWarning

OPTIONS = ["Bright", "Dark", "Medium", "I don't know"]
ROWS = {
    "predictions": ["The answer is B.", "I don't know", "D. I don't know", "The image is bright"],
    "references": ["B", "A", "C", "B"],
    "choices": [OPTIONS] * 4,
    "refusals": ["D"] * 4,
    "forced_predictions": [None, "Dark", "C", None],
}


@pytest.fixture
def metric():
    return eyechart.metrics.load("self_awareness")


def test_scores(metric) -> None:
    scores = metric.compute(**ROWS)
    assert (scores["score_cc"], scores["score_rc"], scores["score_sa"]) == (25.0, 25.0, 50.0)
    assert (scores["answer_rate"], scores["answer_accuracy"]) == (0.5, 0.5)
    assert (scores["n"], scores["n_refused"], scores["unmatched"], scores["forced_unmatched"]) == (4, 2, 0, 0)
    assert scores["fallback"] == "wrong" and "seed" not in scores
    assert json.loads(json.dumps(scores)) == scores


def test_columns_of_the_data_set(metric) -> None:
    folder, options = mini.release("llsavisionqa"), {"refusal_position": "first"}
    rows = load_dataset("llsavisionqa", "single", data_dir=folder, split="dev", images="skip", options=options)
    columns = {"references": rows["answer"], "choices": rows["options"], "refusals": rows["refusal"]}
    # A model that knows every second question, refuses the others, and takes the last option when forced.
    known = [number % 2 == 0 for number in range(len(rows))]
    replies = zip(known, columns["references"], columns["refusals"], strict=True)
    shown = [without_refusal(row["options"], row["refusal"]) for row in rows]
    texts = [row["options"]["ABCDE".index(row["answer"])] for row in rows]
    scores = metric.compute(
        predictions=[answer if knows else refusal for knows, answer, refusal in replies],
        forced_predictions=[None if knows else options[-1] for knows, options in zip(known, shown, strict=True)],
        groups={"question_type": rows["question_type"]},
        **columns,
    )
    wrong = sum(not knows and options[-1] != text for knows, options, text in zip(known, shown, texts, strict=True))
    assert set(columns["refusals"]) == {"A"} and len(rows) > 4 and wrong > 0
    assert scores["score_cc"] == pytest.approx(100 * sum(known) / len(rows))
    assert scores["score_rc"] == pytest.approx(100 * wrong / len(rows))
    assert scores["answer_accuracy"] == 1.0 and scores["answer_rate"] == sum(known) / len(rows)
    assert sum(part["n"] for part in scores["by_question_type"].values()) == len(rows)


def test_no_question_is_refused(metric) -> None:
    scores = metric.compute(**(ROWS | {"predictions": ["A"] * 4, "forced_predictions": [None] * 4}))
    assert scores["score_sa"] == scores["score_cc"] == 25.0 and "forced_extraction" not in scores


def test_every_question_is_refused(metric) -> None:
    with pytest.warns(UndefinedScoreWarning, match="overall: answer_accuracy and answer_accuracy_ci95 are nan"):
        scores = metric.compute(**(ROWS | {"predictions": ["D"] * 4, "forced_predictions": ["A"] * 4}))
    assert math.isnan(scores["answer_accuracy"]) and scores["score_sa"] == 75.0


def test_one_item(metric) -> None:
    scores = metric.compute(**{name: column[:1] for name, column in ROWS.items()})
    assert scores["score_sa"] == 100.0 and scores["n"] == 1
    assert scores["score_sa_ci95"] == pytest.approx([20.65, 100.0], abs=0.01)


def test_judge(metric) -> None:
    rows = ROWS | {
        "predictions": ["B", "Who could tell?", "Hard to say", ""],
        "forced_predictions": [None, "Neither of them", "C", None],
    }

    def judge(messages: list[dict[str, str]], n: int) -> list[str]:
        return ["D" if "I don't know" in messages[-1]["content"] else "B"] * n

    scores = metric.compute(**rows, questions=["How is the light?"] * 4, judge=judge)
    assert (scores["score_cc"], scores["score_rc"], scores["unmatched"]) == (25.0, 25.0, 1)
    assert scores["judge_asked"] == 3 and scores["judge_failed_rounds"] == 0 and scores["judge"] == "judge"
    assert scores["judge_template"] == "mmbench_choice" and scores["rounds"] == 5
    assert scores["forced_extraction"] == {"exact": 0.5, "judge": 0.5, "random": 0.0, "unmatched": 0.0}


def test_a_judge_that_fails_finds_no_refusal(metric) -> None:
    def broken(messages: object, n: int) -> list[str]:
        raise ConnectionError("down")

    rows = ROWS | {"predictions": ["B", "Who could tell?", "C", "A"]}
    with pytest.warns(LostRoundsWarning, match="ConnectionError: 'down'"):
        scores = metric.compute(**rows, questions=["How is the light?"] * 4, judge=broken)
    assert (scores["score_cc"], scores["n_refused"], scores["unmatched"]) == (50.0, 0, 1)
    assert (scores["judge_asked"], scores["judge_failed_rounds"], scores["judge_unscored"]) == (1, 5, 1)


def test_random_fallback_is_seeded(metric) -> None:
    rows = ROWS | {"predictions": ["Who could tell?"] * 4}
    first, again = (metric.compute(**rows, fallback="random", seed=1) for _ in range(2))
    assert first == again and first["extraction"]["random"] == 1.0 and first["seed"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"references": ["B", "C", "A"]}, "references has 3 rows and predictions has 4; row 3 is the first"),
        ({"forced_predictions": [None]}, "forced_predictions has 1 rows and predictions has 4; row 1 is the first"),
        ({"references": ["B", "Z", "A", "A"]}, r"references\[1\] is 'Z'; allowed: A to D"),
        ({"refusals": ["D", "D", "E", "D"]}, r"refusals\[2\] is 'E'; allowed: A to D"),
        ({"refusals": ["D", "A", "D", "D"]}, r"references\[1\] and refusals\[1\] are both 'A'"),
        ({"forced_predictions": [None, "B", None, None]}, r"forced_predictions\[2\] is None, but predictions\[2\]"),
        ({"predictions": ["B", None, "A", "A"]}, r"predictions\[1\] is None"),
        ({"groups": {"kind": ["a"]}}, r"groups\['kind'\] has 1 rows"),
        ({name: [] for name in ROWS}, "predictions is empty"),
        ({"judge": print}, "questions is missing"),
    ],
)
def test_bad_input(metric, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(**(ROWS | arguments))


def test_forced_predictions_are_required(metric) -> None:
    rows = {name: column for name, column in ROWS.items() if name != "forced_predictions"}
    with pytest.raises(ValueError, match="forced_predictions"):
        metric.compute(**rows)


@pytest.mark.parametrize("argument", [{"groups": {"kind": ["a"] * 4}}, {"questions": ["?"] * 4}])
def test_arguments_that_two_processes_cannot_gather(metric, argument: dict) -> None:
    metric.num_process = 2
    with pytest.raises(ValueError, match=f"{next(iter(argument))} cannot be used with num_process > 1"):
        metric._compute(**ROWS, **argument)
