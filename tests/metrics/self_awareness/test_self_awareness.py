import pytest

import eyechart.metrics
from eyechart.datasets_scripts import load_dataset, mini
from eyechart.metrics.scoring.choices.self_awareness import without_refusal

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
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


def test_an_unreadable_forced_reply_is_wrong_by_equation_3(metric) -> None:
    rows: dict[str, list] = {
        "predictions": list("CCCA"),
        "references": ["A"] * 4,
        "choices": [["High", "Low", "I don't know"]] * 4,
        "refusals": ["C"] * 4,
        "forced_predictions": ["B", "neither of them", "", None],
    }
    apart, wrong = metric.compute(**rows), metric.compute(**rows, unreadable_forced="wrong")
    # A missing reply counts as neither.
    assert (apart["score_rc"], wrong["score_rc"]) == (25.0, 50.0)
    assert wrong["score_sa"] == 75.0 and wrong["forced_unmatched"] == apart["forced_unmatched"] == 2
    assert wrong["unreadable_forced"] == "wrong" and "unreadable_forced" not in apart
    # An empty reply of a model is one, and no option.
    rows["forced_predictions"][2] = " "
    assert metric.compute(**rows, unreadable_forced="wrong")["score_rc"] == 75.0
    assert metric.compute(**rows)["score_rc"] == 25.0
