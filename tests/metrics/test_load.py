from pathlib import Path

import pytest

import eyechart.metrics


def test_list() -> None:
    assert {"choice_accuracy", "softmax_iqa"} <= set(eyechart.metrics.list_metrics())
    assert "scoring" not in eyechart.metrics.list_metrics()


def test_unknown_name() -> None:
    with pytest.raises(
        ValueError, match=r"'choise_accuracy'; available: choice_accuracy.*Did you mean 'choice_accuracy'"
    ):
        eyechart.metrics.load("choise_accuracy")


@pytest.mark.parametrize("name", eyechart.metrics.list_metrics())
def test_every_metric_has_a_card(name: str) -> None:
    card = (Path(eyechart.metrics.__file__).parent / name / "README.md").read_text(encoding="utf-8")
    front, body = card.removeprefix("---\n").split("\n---\n", 1)
    for entry in ("title:", "sdk: gradio", "app_file: app.py", "- evaluate", "- metric"):
        assert entry in front
    for heading in (
        "Metric description",
        "Inputs",
        "Output values",
        "Values from the paper",
        "Limitations",
        "Citation",
    ):
        assert f"## {heading}" in body
