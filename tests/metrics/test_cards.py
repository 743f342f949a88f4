"""What the metrics' cards promise: sections, examples, arguments, results, and numbers of papers."""

import inspect
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import eyechart.metrics
from eyechart.metrics import cards, space
from eyechart.metrics.scoring.errors import ScoringWarning

NAMES = eyechart.metrics.list_metrics()
TABLES = Path(__file__).parents[2] / "evaluators" / "published" / "tables"
HEADINGS = ("Metric description", "Inputs", "Output values", "Values from the paper", "Limitations", "Citation")


def _section(name: str, heading: str) -> str:
    return re.split("^## ", cards.card(name).partition(f"## {heading}")[2], flags=re.MULTILINE)[0]


def _first_column(name: str, heading: str) -> list[str]:
    """What a table of a card names in its first column."""
    cells = [line.split("|")[1] for line in _section(name, heading).splitlines() if line.startswith("|")]
    return [key for cell in cells for key in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize("name", NAMES)
def test_sections(name: str) -> None:
    front = (Path(eyechart.metrics.__file__).parent / name / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert all(entry in front for entry in ("title:", "sdk: gradio", "app_file: app.py", "- evaluate", "- metric"))
    assert all(_section(name, heading) for heading in HEADINGS)


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_card(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", cards.card(name), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    printed = [
        line.partition("  # ")[2] for block in blocks for line in block.splitlines() if line.startswith("print(")
    ]
    assert printed and capsys.readouterr().out.splitlines() == printed


@pytest.mark.parametrize("name", NAMES)
def test_arguments(name: str) -> None:
    metric = eyechart.metrics.load(name)
    parameters = inspect.signature(metric._compute).parameters
    assert _first_column(name, "Inputs") == list(parameters)
    required = {key for key, value in parameters.items() if value.default is value.empty}
    assert set(metric._feature_names()) >= required
    described = metric.inputs_description
    assert all(re.search(rf"^    (.*, )?{key}(, .*)? \(.+\): ", described, re.MULTILINE) for key in parameters)
    assert metric.description and metric.citation.startswith("@") and "metric.compute(" in described


@pytest.mark.parametrize("name", NAMES)
def test_results(name: str) -> None:
    for configuration, example in zip(space.CONFIGURATIONS.get(name, (None,)), cards.examples(name), strict=True):
        with warnings.catch_warnings():
            # An example may be too small for an interval or a fit.
            warnings.simplefilter("ignore", ScoringWarning)
            keys = set(eyechart.metrics.load(name, configuration).compute(**example))
        groups = {f"by_{group}" for group in example.get("groups", {})}
        assert keys <= {*_first_column(name, "Output values"), *groups}
        assert not groups or "by_<group>" in _first_column(name, "Output values")


@pytest.fixture(scope="module")
def published() -> dict[str, set[float]]:
    """All values of a model in the papers' tables, under its name in small letters."""
    values: dict[str, set[float]] = {}
    for file in sorted(TABLES.glob("*.json")):
        for row in json.loads(file.read_text(encoding="utf-8"))["rows"]:
            values.setdefault(row["model"].lower(), set()).update(row["values"])
    return values


# MMBench's Table 4 belongs to no board.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "judge_answer"])
def test_values_from_the_papers(name: str, published: dict[str, set[float]]) -> None:
    lines = [line for line in _section(name, "Values from the paper").splitlines() if re.search(r"^\|.*\d", line)]
    rows = [line.strip("| ").split("|") for line in lines if not line.startswith("| model ")]
    assert len(rows) > 3
    for model, *cells in rows:
        # Papers write "GPT-4V (Closed-Source Model)" in one table and "GPT-4V" in the next.
        start = model.partition(" (")[0].strip(" *").lower()
        known = set().union(*(values for full, values in published.items() if full.startswith(start)))
        # What stands in brackets is no figure of a paper.
        quoted = [float(number) for cell in cells for number in re.findall(r"\d*\.\d+", re.sub(r"\(.*?\)", "", cell))]
        assert quoted and set(quoted) <= known, (model, set(quoted) - known)


def test_means_that_cards_print() -> None:
    # Q-Bench, Table 8, and guessing among four options in every rotation.
    assert "61.25 %" in cards.card("choice_accuracy")
    assert abs((95.82 + 26.67) / 2 - 61.25) < 0.0051
    assert f"4^-4 = {100 * 4**-4:.2f} %" in cards.card("circular_eval")
