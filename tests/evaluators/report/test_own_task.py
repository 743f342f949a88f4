"""A task of one's own, which is in no table of ours: its page, figures and tables."""

import dataclasses
import re

import pytest

from eyechart.evaluators.report import write_report
from eyechart.evaluators.report.latex import to_latex
from eyechart.evaluators.results.finished_runs import read_runs
from tests.evaluators.report.all_charts import task_charts
from tests.evaluators.report.conftest import NONE, choice, scored


def part(accuracy, n=8):
    return {"circular_accuracy": accuracy, "circular_accuracy_ci95": [0.0, 1.0], "random_guess": 0.1, "n_questions": n}


MMSTAR = scored(
    "mmstar",
    "mmstar",
    {**part(0.5), "vanilla_accuracy": 0.625, "n_vanilla": 8, "by_category": {"maths": part(0.75), "logic": part(0.25)}},
    split="val",
    settings={"protocol": "circular_eval", "data": {"source": "mmstar.tsv", "is_mini": False}},
    predictions=[choice("a", "A", choice="A", circular_correct=True)],
)
PAIRS = scored(
    "own/pairs",
    "own/pairs",
    {
        "consistency": 0.5,
        "accuracy_all": 0.25,
        "accuracy_all_ci95": [0.125, 0.5],
        "srcc": None,
        "n_pairs": 4,
        "n_images": 4,
    },
    settings={"protocol": "paired_comparison"},
)
QUALITY = scored(
    "photos",
    "photos",
    {"srcc": 0.5, "srcc_ci95": [0.25, 0.75], "plcc": -0.5, "n": 9, "by_place": {"in": {"srcc": -1.0, "n": 4}}},
    settings={"protocol": "quality_assessment"},
)


def test_its_tables_have_all_scores_and_the_headline_by_group(tables):
    whole, groups = tables(MMSTAR, other=dataclasses.replace(MMSTAR, model="other"))
    assert whole.whole_title == "Scores (val)"
    assert whole.columns == ("Model", "CircularEval (%)", "VanillaEval (%)")
    assert [row[1:] for row in whole.rows] == [("50.00", "62.50")] * 2
    assert groups.columns == ("Model", "maths (%)", "logic (%)")
    assert groups.rows[0] == ("LLaVA-v1.5", "75.00", "25.00")
    assert r"LLaVA-v1.5 & \textbf{75.00} & \textbf{25.00} \\" in to_latex(groups)
    assert whole.columns[whole.headline] == "CircularEval (%)"


def test_those_of_pairs_and_of_quality(tables):
    pairs, quality, places = tables(PAIRS, QUALITY)
    row = dict(zip(pairs.columns, pairs.rows[0], strict=True))
    assert (row["pair accuracy (%)"], row["SRCC"]) == ("25.00", NONE)
    assert quality.rows[0][1:] == ("0.500", "-0.500")
    assert (places.title[:13], places.rows[0][1]) == ("SRCC by place", "-1.000")


def test_its_figure_is_the_headline_by_group(make_run):
    (chart,) = task_charts(read_runs([make_run(MMSTAR)]))
    assert (chart.title, chart.labels) == ("CircularEval by group", ("all items", "maths", "logic"))
    assert chart.series[0].values == (50, 75, 25)


@pytest.mark.parametrize("run", [MMSTAR, PAIRS, QUALITY], ids=lambda run: run.task)
def test_its_page(make_run, read_page, run):
    path = write_report([make_run(run)])
    page = read_page(path)
    headings = re.findall(r"<h[1-6][^>]*>(.*?)</h[1-6]>", path.read_text(encoding="utf-8"))
    # Once on its card and once above its figures; a part of a benchmark also has a heading with its full name.
    benchmark, _, part = run.task.partition("/")
    assert sum(benchmark in heading for heading in headings) == (3 if part else 2)
    assert len(page.samples["samples"]) == len(run.predictions)
    assert not run.predictions or page.holds("no images: the data are no longer at ")
