import math

import pytest

import eyechart.metrics
from eyechart.metrics.scoring.errors import LeftOutWarning, LostRoundsWarning, UndefinedScoreWarning

ROWS = {
    "predictions": ["The image is dark and noisy.", "A sharp picture of a dog."],
    "references": ["It is dark, noisy and blurry.", "The dog is sharp, the colors are vivid."],
}
SETTINGS = {
    "judge": "lexical",
    "template": "q_bench",
    "template_version": 1,
    "wording": "published",
    "rounds": 5,
    "resamples": 1000,
    "seed": 0,
}
COUNTS = {"n", "failed_rounds", "unscored", "empty_predictions", "without_reference"}
TOTALS = {"sum", "sum_ci95", "mean", "mean_ci95"}


@pytest.fixture
def metric():
    return eyechart.metrics.load("judge_description")


@pytest.mark.parametrize(
    ("template", "dimensions", "wording"),
    [
        ("q_bench", ["completeness", "preciseness", "relevance"], "published"),
        ("aesbench", ["relevance", "precision", "completeness"], "eyechart"),
    ],
)
def test_keys_and_settings(metric, template: str, dimensions: list[str], wording: str) -> None:
    scores = metric.compute(**ROWS, template=template)
    assert list(scores)[:3] == dimensions
    assert set(scores) == set(dimensions) | TOTALS | COUNTS | set(SETTINGS)
    settings = SETTINGS | {"template": template, "wording": wording}
    assert {name: scores[name] for name in settings} == settings
    assert set(scores["relevance"]) == {"score", "score_ci95", "p0", "p1", "p2", "n", "failed_rounds"}


def test_the_default_judge_is_named_and_deterministic(metric) -> None:
    first, again = (metric.compute(**ROWS) for _ in range(2))
    assert first == again and first["judge"] == "lexical"
    assert first["completeness"]["p1"] == 1.0 and first["failed_rounds"] == 0


def test_a_judge_of_ones_own(metric) -> None:
    asked = []

    def strict(messages, n):
        asked.append(messages)
        return ["Score: 0"] * n

    scores = metric.compute(**ROWS, judge=strict, rounds=3)
    assert scores["sum"] == 0.0 and scores["judge"] == "strict" and scores["rounds"] == 3
    assert len(asked) == 6


def test_private_golden_descriptions(metric) -> None:
    with pytest.warns(LeftOutWarning, match="1 of 2 rows are left out"):
        scores = metric.compute(predictions=ROWS["predictions"], references=["", ROWS["references"][1]])
    assert scores["n"] == 1 and scores["without_reference"] == 1
    with pytest.raises(ValueError, match="all 2 references are empty; without one there is nothing to judge by"):
        metric.compute(predictions=ROWS["predictions"], references=["", ""])


def test_a_broken_judge_gives_nan_and_no_score(metric) -> None:
    def broken(messages, n):
        raise ConnectionError("down")

    undefined = "overall: nan for completeness, preciseness, relevance, sum and mean"
    with pytest.warns(UndefinedScoreWarning, match=undefined), pytest.warns(LostRoundsWarning, match="'down'"):
        scores = metric.compute(**ROWS, judge=broken)
    assert math.isnan(scores["sum"]) and scores["failed_rounds"] == 30 and scores["unscored"] == 2


def test_one_image(metric) -> None:
    scores = metric.compute(predictions=["It is dark."], references=["It is dark."])
    assert scores["sum"] == 6.0 and scores["sum_ci95"] == [6.0, 6.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"judge": "gpt-4"}, "judge is 'gpt-4'; it must be a callable"),
        ({"rounds": 0}, "rounds is 0"),
        ({"template": "q_bench_relevance"}, "template is 'q_bench_relevance'; allowed: 'q_bench', 'aesbench'"),
        ({"seed": -1}, "seed is -1"),
        ({"groups": {"kind": ["a"]}}, r"groups\['kind'\] has 1 rows"),
        ({"predictions": ["a", None]}, r"predictions\[1\] is None"),
        ({"references": ["a"]}, "references has 1 rows and predictions has 2; row 1 is the first"),
    ],
)
def test_bad_input(metric, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(**(ROWS | arguments))
