"""A task of one's own, which is in no table of ours: its page, figures and tables."""

import dataclasses

import pytest

from eyechart.evaluators.report import write_report
from eyechart.evaluators.report.latex import to_latex
from eyechart.evaluators.report.task_charts import task_charts
from eyechart.evaluators.results.finished_runs import read_runs
from tests.evaluators.report.conftest import choice, scored


def part(accuracy, n=8):
    return {"circular_accuracy": accuracy, "circular_ci95": [0.0, 1.0], "random_guess": 0.1, "n_questions": n}


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
    assert whole.whole_title == "Scores (mmstar, val)"
    assert whole.columns == ("Model", "CircularEval", "95 % interval", "VanillaEval", "95 % interval")
    assert [row[1:] for row in whole.rows] == [("50.00 %", "0.00 % to 100.00 %", "62.50 %", "")] * 2
    assert groups.columns == ("Model", "maths", "logic")
    assert groups.rows[0] == ("LLaVA-v1.5", "75.00 %", "25.00 %")
    assert r"LLaVA-v1.5 & \textbf{75.00\,\%} & \textbf{25.00\,\%} \\" in to_latex(groups)


def test_those_of_pairs_and_of_quality(tables):
    pairs, quality, places = tables(PAIRS, QUALITY)
    row = dict(zip(pairs.columns[:-1], pairs.rows[0], strict=False))
    assert (row["accuracy, all pairs"], row["SRCC"]) == ("25.00 %", "undefined")
    assert quality.rows[0][1:5] == ("0.500", "0.250 to 0.750", "-0.500", "")
    assert (places.title[:13], places.rows[0][1]) == ("SRCC by place", "-1.000")


def test_its_figure_is_the_headline_by_group(make_run):
    (chart,) = task_charts(read_runs([make_run(MMSTAR)]))
    assert (chart.title, chart.labels) == ("CircularEval by group", ("all items", "maths", "logic"))
    assert chart.series[0].values == (50, 75, 25)


@pytest.mark.parametrize("run", [MMSTAR, PAIRS, QUALITY], ids=lambda run: run.task)
def test_its_page(make_run, read_page, run):
    page = read_page(write_report([make_run(run)]))
    assert page.holds(run.task)
    assert len(page.samples["samples"]) == len(run.predictions)
    assert not run.predictions or page.holds("no images: the data are no longer at ")
