"""The numbers that cards quote from papers are those of the papers' tables, typed in a second time."""

import json
import re
from pathlib import Path

import pytest

import eyechart.metrics
from eyechart.metrics import space

BASELINES = Path(__file__).parents[2] / "evaluators" / "published" / "tables"
# MMBench's Table 4 belongs to no board.
NAMES = [name for name in eyechart.metrics.list_metrics() if name != "judge_answer"]


@pytest.fixture(scope="module")
def published() -> dict[str, set[float]]:
    """All values of a model in the papers' tables, under its name in small letters."""
    values: dict[str, set[float]] = {}
    for file in sorted(BASELINES.glob("*.json")):
        for row in json.loads(file.read_text(encoding="utf-8"))["rows"]:
            values.setdefault(row["model"].lower(), set()).update(row["values"])
    return values


@pytest.mark.parametrize("name", NAMES)
def test_values_from_the_papers(name: str, published: dict[str, set[float]]) -> None:
    section = re.split("^## ", space.card(name).partition("## Values from the paper")[2], flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if re.search(r"^\|.*\d", line)]
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
    assert "61.25 %" in space.card("choice_accuracy")
    assert abs((95.82 + 26.67) / 2 - 61.25) < 0.0051
    assert f"4^-4 = {100 * 4**-4:.2f} %" in space.card("circular_eval")
