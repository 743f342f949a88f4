"""Charts from known numbers: what is drawn, said and tabulated. The paths in the SVG are read back into values."""

import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from eyechart import evaluators
from eyechart.evaluators.published.rendering import Cell, Row
from eyechart.evaluators.report.charts import Chart
from eyechart.evaluators.report.drawing import draw, inline_svg
from eyechart.evaluators.results.finished_runs import read_runs
from tests.evaluators.finished_runs import dimension, evaluated, write
from tests.evaluators.report.conftest import PERCEPTION, answers, replaced, run_mmbench, scored, task_charts

SVG = "{http://www.w3.org/2000/svg}"
CSS = Path(evaluators.__file__).parent / "report" / "templates" / "report.css"


@pytest.fixture
def charts(make_run):
    def make(*evaluations, **others):
        folders = [make_run(*evaluations)] + [make_run(one, name=name) for name, one in others.items()]
        return list(task_charts(read_runs(folders)))

    return make


def by_title(charts):
    return {chart.title: chart for chart in charts}


def values(chart, row=0):
    return tuple(cell.value for cell in chart.rows[row].cells)


def ends(chart, row=0):
    return [cell.ends for cell in chart.rows[row].cells]


def names(chart):
    return [row.labels[0] for row in chart.rows]


def test_a1_is_a_dot_plot_of_accuracy_with_whiskers_and_chance_levels(charts):
    chart, _ = charts(PERCEPTION)
    assert (chart.kind, chart.title, chart.unit) == ("dot plot", "accuracy by group", "accuracy, in %")
    assert chart.labels == ("all items", "yes-or-no", "what", "how", "distortion", "other", "in-context distortion")
    assert values(chart) == pytest.approx((75, 90, 20, 50, 60, 70, 50))
    assert ends(chart)[2] == pytest.approx((10, 30))
    assert names(chart) == ["some/model", "chance level"]
    assert values(chart, 1) == pytest.approx((50, 50, 25, 33.33, 50, 50, 50))
    assert chart.breaks == (1, 4) and not chart.is_extra
    assert chart.table.columns == ["", "some/model", "chance level"]
    assert chart.table.texts[2] == ["what", "20.00", "25.00"]


def test_the_paper_s_radar_is_accuracy_minus_chance_level_in_points(charts):
    _, chart = charts(PERCEPTION)
    assert chart.kind == "radar chart" and chart.is_extra
    assert chart.labels == ("yes-or-no", "what", "how", "distortion", "other", "in-context distortion")
    assert values(chart) == pytest.approx((40, -5, 16.67, 10, 20, 0))
    assert chart.note.startswith("As in Q-Bench, Fig. 9 and 14.")


def test_a_group_that_one_of_two_runs_lacks_is_undefined(charts):
    other = replaced(PERCEPTION, model="other/model", scores=PERCEPTION.scores | {"by_concern": {}})
    dots, chart = charts(PERCEPTION, other=other)
    assert names(chart) == ["some/model", "other/model"]
    assert values(chart, 1)[:3] == pytest.approx((40, -5, 16.67))
    assert all(map(math.isnan, values(chart, 1)[3:]))
    assert ends(dots, 1)[4:] == [None, None, None]


def test_dimensions_of_descriptions_are_dots_with_intervals(charts):
    dimensions = (("completeness", 0.9), ("preciseness", 1.13), ("relevance", 1.18))
    scores = {name: dimension(value, score_ci95=[value - 0.1, value + 0.1]) for name, value in dimensions}
    (chart,) = charts(scored("q_bench/description", "lldescribe", {**scores, "sum": 3.21, "n": 9, "judge": "gpt"}))
    assert (chart.kind, chart.unit, chart.limits) == ("dot plot", "score", (0, 2))
    assert chart.labels == ("completeness", "preciseness", "relevance")
    assert values(chart) == (0.9, 1.13, 1.18) and ends(chart)[0] == pytest.approx((0.8, 1.0))


def test_scores_of_one_scale_share_a_dot_plot_with_their_chance_levels(charts):
    scores = {"consistency": 0.8, "accuracy_all": 0.6, "first_rate": 0.7, "accuracy_consistent": 0.9, "srcc": 0.5}
    counts = {"n_pairs": 9, "n_consistent": 7, "n_images": 5}
    (chart,) = charts(scored("two_afc/coarse", "two_afc", scores | counts))
    assert (chart.unit, chart.limits) == ("score, in %", (0, 100))
    drawn = dict(zip(chart.labels, values(chart), strict=True))
    assert drawn.pop("first-position preference") == 70
    assert drawn == {"consistency": 80, "pair accuracy": 60, "accuracy, consistent pairs": 90}
    assert values(chart, 1)[chart.labels.index("pair accuracy")] == 25


def test_a3_has_srcc_by_database_as_dots_and_as_the_paper_s_radar(charts):
    correlations = {"koniq10k": (0.448, 0.460), "spaq": (0.563, 0.584), "live_fb": (-0.1, -0.3), "x": (None, 0.5)}
    parts = {name: {"srcc": srcc, "plcc": plcc, "n": 9} for name, (srcc, plcc) in correlations.items()}
    average = scored("q_bench/assessment", "average", {"srcc": 0.3, "n": 9, "by_database": parts})
    spaq = scored("q_bench/assessment", "spaq", {**parts["spaq"], "srcc_ci95": [0.5, 0.6]})
    dots, radar = charts(average, spaq)
    assert (radar.kind, radar.labels) == ("radar chart", ("KonIQ-10k", "SPAQ", "LIVE-FB", "x"))
    assert values(radar) == pytest.approx((0.448, 0.563, -0.1, math.nan), nan_ok=True)
    assert (radar.title, radar.unit) == ("SRCC over databases", "SRCC minus chance level")
    assert (dots.title, dots.labels) == ("SRCC by database", ("average", *radar.labels))
    assert values(dots) == pytest.approx((0.3, *values(radar)), nan_ok=True)
    # An average has no intervals of its databases; these have.
    assert ends(dots) == [None, None, (0.5, 0.6), None, None]


def test_groups_with_too_many_values_are_in_tables_only(charts):
    def part(accuracy):
        return {"circular_accuracy": accuracy, "random_guess": 0.1, "n_questions": 9}

    groups = {"attribute reasoning": part(0.5), "coarse perception": part(0.25)}
    many = {f"ability {i}": part(0.5) for i in range(30)}
    (dots,) = charts(scored("mmbench/en", "mmbench", {**part(0.3), "by_l2_category": groups, "by_category": many}))
    assert dots.labels == ("all items", "attribute reasoning", "coarse perception")
    assert values(dots) == (30, 50, 25) and values(dots, 1) == (10, 10, 10)


def test_figure_4_has_the_letters_of_replies_and_of_right_answers(charts, judged, three_questions):
    unread = run_mmbench(answers, three_questions)
    chart = by_title(charts(judged, unread=replaced(unread, model="unread")))["choice distribution"]
    assert chart.labels == ("A", "B", "C", "D", "none") and names(chart)[0] == "right answers"
    # Right, in order of the passes: q2 B, A; q3 A, C, B; q4 C, B, A, D.
    assert values(chart) == pytest.approx([100 / 3, 100 / 3, 200 / 9, 100 / 9, 0])
    # q2 is right, q3 is read as B three times or not at all, q4 is A four times.
    assert values(chart, 1) == pytest.approx([500 / 9, 400 / 9, 0, 0, 0])
    assert values(chart, 2) == pytest.approx([500 / 9, 100 / 9, 0, 0, 300 / 9])
    assert chart.note == "As in MMBench, Fig. 4. Computed over all passes."


def test_figure_5_is_the_agreement_with_people(charts, judged):
    chart = by_title(charts(judged))["agreement with human annotators"]
    assert chart.labels == ("not parsed by exact matching", "all replies")
    assert values(chart) == pytest.approx((50, 200 / 3)) and names(chart)[0].startswith("judge on ")
    of_all = judged.diagnostics["extractor_agreement"]["all"]["agreement_ci95"]
    assert ends(chart)[1] == pytest.approx([100 * end for end in of_all])
    assert "MMBench, Fig. 5" in chart.note and "2 and 3 replies were labelled by human annotators." in chart.note


def convergence(*values, bound=(0.9, 0.95), **changes):
    """A run whose correlation after each round is known."""

    def points(numbers):
        return [{"rounds": i + 1, "plcc_fitted": value, "srcc": 0.1} for i, value in enumerate(numbers)]

    curve = {"curve": points(values), "upper_bound": points(bound), "limit": {"plcc_fitted": 0.85}}
    return scored("two_afc/coarse", "two_afc", {"consistency": 0.8}, diagnostics={"convergence": curve}, **changes)


def test_convergence_has_the_curve_its_upper_bound_and_its_limit(charts):
    (chart,) = charts(convergence(0.5, 0.75))
    assert (chart.kind, chart.title, chart.labels) == ("line chart", "convergence", ("1", "2"))
    assert chart.note.startswith("As in 2AFC, Fig. 3. ")
    assert [(row.labels[0], values(chart, i), row.is_model) for i, row in enumerate(chart.rows)] == [
        ("LLaVA-v1.5", (0.5, 0.75), True),
        ("upper bound", (0.9, 0.95), False),
        ("limit of the scores", (0.85, 0.85), False),
    ]
    # Without correlations after the fit.
    (chart,) = charts(convergence(None, None, bound=(None, None)))
    assert (chart.unit, values(chart)) == ("SRCC", (0.1, 0.1))


def test_one_upper_bound_stands_for_runs_that_have_the_same(charts):
    other = convergence(0.4, 0.5, 0.6, bound=(0.8, 0.9, 0.9), model="other")
    (chart,) = charts(convergence(0.5, 0.75), other=other)
    assert names(chart)[2:4] == ["LLaVA-v1.5: upper bound", "other: upper bound"]
    assert math.isnan(values(chart)[2])
    (chart,) = charts(convergence(0.5, 0.75), same=convergence(0.5, 0.75, model="other"))
    assert names(chart)[2:] == ["upper bound", "limit of the scores"]


CELLS = (Cell(1.0, 2), Cell(math.nan, 2), Cell(-2.0, 2, ends=(-3.0, -1.0)))
CHARTS = [
    Chart("k", kind, "T", ("a", "b", "c"), (Row(("m",), CELLS),), "u")
    for kind in ("radar chart", "line chart", "dot plot")
]


def svg_of(chart):
    return draw(chart, files=False)["svg"].decode()


def texts_in(chart):
    return [element.text.strip("\u200b") for element in ElementTree.fromstring(svg_of(chart)).iter(f"{SVG}text")]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.kind)
def test_every_kind_is_drawn_alike_each_time_with_undefined_and_negative_values(chart):
    files = draw(chart, files=True)
    assert list(files) == ["svg", "pdf", "png"] and files["png"].startswith(b"\x89PNG")
    assert files == draw(chart, files=True)
    texts = set(texts_in(chart))
    assert {"a", "b", "c", "m"} <= texts and any(re.fullmatch(r"\d+(\.\d+)?", text) for text in texts)


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("_x", "_x"),
        ("$a_b$", "$a_b$"),
        ("a\x00b\nc", "a b c"),
        ("<b>&", "<b>&"),
        ("模型", "模型"),
        ("", "\u2013"),
        ("x" * 300 + "-9", "xxx…xxx-9"),
    ],
)
@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.kind)
def test_any_name_is_drawn_as_text(chart, name, drawn):
    texts = texts_in(replaced(chart, labels=(name, "b", "c"), rows=(Row((name,), CELLS),)))
    # As the first label of its axis, and in the legend.
    first = texts.index("b") - 1
    assert [re.sub("x{4,}", "xxx", texts[index]) for index in (first, -1)] == [drawn, drawn]


def test_long_labels_are_wrapped_or_cut():
    labels = ("in-context distortion of the whole picture", "b", "c")
    radar, line, dots = (texts_in(replaced(chart, labels=labels)) for chart in CHARTS)
    assert radar[:5] == ["in-context", "distortion", "of the", "whole", "picture"]
    assert line[0] == "in-context…e picture"
    assert {"in-context", "distortion of the", "whole picture"} <= set(dots)


def test_chance_levels_are_drawn_where_they_are_known():
    levels = Row(("chance level",), (Cell(0.5, 2), Cell(math.nan, 2), Cell(1.0, 2)), is_model=False)
    chart = replaced(CHARTS[2], rows=(*CHARTS[2].rows, levels))
    root = ElementTree.fromstring(svg_of(chart))
    *_, drawn = [group for group in root.iter(f"{SVG}g") if group.get("id", "").startswith("LineCollection")]
    assert len([path for path in drawn.iter(f"{SVG}path") if path.get("d")]) == 2
    assert "chance level" in texts_in(chart)


def test_dots_of_all_models_lie_around_the_middle_of_their_label():
    rows = tuple(Row((name,), tuple(Cell(value, 2) for value in (0.0, 0.5, 1.0))) for name in "xy")
    svg = svg_of(replaced(CHARTS[2], rows=rows, limits=(0.0, 1.0)))
    axes = ElementTree.fromstring(svg).find(f".//{SVG}g[@id='axes_1']")
    frame = axes.find(f"{SVG}g[@id='patch_2']/{SVG}path").get("d")
    left, bottom, right, _, _, top, *_ = map(float, re.findall(r"[\d.]+", frame))
    dots = [[float(dot.get(axis)) for axis in "xy"] for dot in axes.iter(f"{SVG}use")][-6:]
    # Of the width of 1.04; labels are 0.38 inches apart, models 0.13.
    drawn = [(1.04 * (x - left) / (right - left) - 0.02, 1.14 * (y - top) / (bottom - top)) for x, y in dots]
    expected = [(0.5 * i, 0.19 + 0.38 * i + side) for side in (-0.065, 0.065) for i in range(3)]
    assert np.array(drawn) == pytest.approx(np.array(expected), abs=0.001)


def test_series_differ_in_more_than_colour():
    lines = svg_of(replaced(CHARTS[1], rows=tuple(Row((f"m{i}",), CELLS) for i in range(8))))
    assert len(set(re.findall(r"stroke-dasharray: ([^;]*);", lines))) >= 7


def test_an_inline_svg_has_its_own_ids_and_the_page_s_colour():
    svg = inline_svg(svg_of(CHARTS[0]), "figure-3", "Title <1>")
    ids = re.findall(r'id="([^"]*)"', svg)
    assert ids and all(id.startswith("figure-3-") for id in ids) and len(set(ids)) == len(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", svg)) <= set(ids)
    assert '<title id="figure-3-title">Title &lt;1&gt;</title>' in svg
    assert "currentColor" in svg and "#010203" not in svg
    assert "<metadata" not in svg and "xlink" not in svg
    assert len(svg) < 40_000


@pytest.mark.slow
def test_a_backend_that_the_environment_names_and_lacks_is_not_looked_for(tmp_path):
    """As in a process that a notebook starts in another environment."""
    run = write(tmp_path / "run", [evaluated()])
    command = [sys.executable, "-m", "eyechart.evaluators", "report", str(run)]
    env = {**os.environ, "MPLBACKEND": "a_notebooks_own_backend"}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert (run / "report.html").exists()
