import json

import pytest

import eyechart.metrics

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
}


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
def test_dimensions_and_settings(metric, template: str, dimensions: list[str], wording: str) -> None:
    scores = metric.compute(**ROWS, template=template)
    assert list(scores)[:3] == dimensions
    settings = SETTINGS | {"template": template, "wording": wording}
    assert {name: scores[name] for name in settings} == settings


def test_how_texts_ended_changes_no_score_of_the_judge(metric) -> None:
    unknown, cut = metric.compute(**ROWS), metric.compute(**ROWS, finish_reasons=["stop", "length"])
    assert cut.pop("outcomes") == {"cut_off": 0.5, "unfinished_reasoning": 0.0, "refused": 0.0, "unparseable": 0.0}
    # As text, because nan differs from itself.
    assert json.dumps(cut) == json.dumps(unknown)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"judge": "gpt-4"}, "judge is 'gpt-4'; it must be a callable"),
        ({"rounds": 0}, "rounds is 0"),
        ({"groups": {"kind": ["a"]}}, r"groups\['kind'\] has 1 rows"),
        ({"predictions": ["a", None]}, r"predictions\[1\] is None"),
        ({"finish_reasons": ["stop"]}, "finish_reasons has 1 rows and predictions has 2; row 1 is the first"),
        ({"references": ["a"]}, "references has 1 rows and predictions has 2; row 1 is the first"),
    ],
)
def test_bad_input(metric, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(**(ROWS | arguments))
