"""Charts from known numbers: what is drawn, said and tabulated. The paths in the SVG are read back into values."""

import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from eyechart import evaluators
from eyechart.evaluators.report.charts import Chart, Series
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


def test_a1_is_a_dot_plot_of_accuracy_with_whiskers_and_chance_levels(charts):
    chart, _ = charts(PERCEPTION)
    assert (chart.kind, chart.title, chart.unit) == ("dots", "accuracy by group", "accuracy, in %")
    assert chart.labels == ("all items", "yes-or-no", "what", "how", "distortion", "other", "in-context distortion")
    assert chart.series[0].values == pytest.approx((75, 90, 20, 50, 60, 70, 50))
    assert chart.series[0].intervals[2] == pytest.approx((10, 30))
    assert chart.chance == pytest.approx((50, 50, 25, 33.33, 50, 50, 50))
    assert chart.breaks == (1, 4) and not chart.is_extra
    assert chart.rows[2] == ["what", "20 (10 to 30)", "25"] and chart.columns[-1] == "chance level"


def test_the_paper_s_radar_is_accuracy_minus_chance_level_in_points(charts):
    _, chart = charts(PERCEPTION)
    assert chart.kind == "radar" and chart.is_extra
    assert chart.labels == ("yes-or-no", "what", "how", "distortion", "other", "in-context distortion")
    assert chart.series[0].values == pytest.approx((40, -5, 16.67, 10, 20, 0))
    assert "some/model: yes-or-no 40, what -5, how 16.67, distortion 10, other 20, in-context distortion 0." in (
        chart.description
    )
    assert chart.note == "As in Q-Bench, Fig. 9 and 14. The bold ring marks the chance level."


def test_two_runs_are_two_series_and_a_group_that_one_lacks_is_undefined(charts):
    scores = PERCEPTION.scores | {"by_concern": {}}
    other = replaced(PERCEPTION, model="other/model", scores=scores)
    dots, chart = charts(PERCEPTION, other=other)
    assert [series.name for series in chart.series] == ["some/model", "other/model"]
    assert chart.series[1].values[:3] == pytest.approx((40, -5, 16.67))
    assert all(map(math.isnan, chart.series[1].values[3:]))
    assert "distortion undefined" in chart.description
    assert chart.rows[3] == ["distortion", "10", "undefined"]
    assert dots.series[1].intervals[4:] == (None, None, None)


def test_dimensions_of_descriptions_are_dots_with_intervals(charts):
    dimensions = (("completeness", 0.9), ("preciseness", 1.13), ("relevance", 1.18))
    scores = {name: dimension(value, score_ci95=[value - 0.1, value + 0.1]) for name, value in dimensions}
    (chart,) = charts(scored("q_bench/description", "lldescribe", {**scores, "sum": 3.21, "n": 9, "judge": "gpt"}))
    assert (chart.kind, chart.labels, chart.limits) == ("dots", ("completeness", "preciseness", "relevance"), (0, 2))
    assert chart.series[0].values == (0.9, 1.13, 1.18)
    assert chart.rows[0] == ["completeness", "0.9 (0.8 to 1)"]


def test_a3_has_srcc_by_database_as_dots_and_as_the_paper_s_radar(charts):
    values = {"koniq10k": (0.448, 0.460), "spaq": (0.563, 0.584), "live_fb": (-0.1, -0.3), "x": (None, 0.5)}
    parts = {name: {"srcc": srcc, "plcc": plcc, "n": 9} for name, (srcc, plcc) in values.items()}
    average = scored("q_bench/assessment", "average", {"srcc": 0.3, "n": 9, "by_database": parts})
    spaq = scored("q_bench/assessment", "spaq", {**parts["spaq"], "srcc_ci95": [0.5, 0.6]})
    dots, radar = charts(average, spaq)
    assert (radar.kind, radar.labels) == ("radar", ("KonIQ-10k", "SPAQ", "LIVE-FB", "x"))
    assert radar.series[0].values == pytest.approx((0.448, 0.563, -0.1, math.nan), nan_ok=True)
    assert (radar.title, radar.unit) == ("SRCC over databases", "SRCC")
    assert radar.note == "As in Q-Bench, Fig. 9 and 14. The bold ring marks zero."
    assert (dots.title, dots.labels) == ("SRCC by database", ("average", *radar.labels))
    assert dots.series[0].values == pytest.approx((0.3, *radar.series[0].values), nan_ok=True)
    # An average has no intervals of its databases; these have.
    assert dots.series[0].intervals == (None, None, (0.5, 0.6), None, None)


def test_groups_with_too_many_values_are_in_tables_only(charts):
    def part(accuracy):
        return {"circular_accuracy": accuracy, "random_guess": 0.1, "n_questions": 9}

    scores = {
        **part(0.3),
        "by_l2_category": {"attribute reasoning": part(0.5), "coarse perception": part(0.25)},
        "by_category": {f"ability {i}": part(0.5) for i in range(30)},
    }
    (dots,) = charts(scored("mmbench/en", "mmbench", scores))
    assert dots.labels == ("all items", "attribute reasoning", "coarse perception")
    assert dots.series[0].values == (30, 50, 25) and dots.chance[0] == 10


def test_self_awareness_is_split_into_right_answers_and_refusals(charts):
    scores = {"score_cc": 60.0, "score_rc": 2.0, "score_sa": 62.0, "answer_rate": 0.9, "n": 9}
    (chart,) = charts(scored("ql_bench/single", "llsavisionqa", scores))
    assert chart.labels == ("self-awareness", "right answers", "right refusals", "answer rate")
    assert (chart.series[0].values, chart.unit) == ((62.0, 60.0, 2.0, 90.0), "score, in %")


def test_2afc_has_the_shares_of_pairs(charts):
    shares = {"consistency": 0.8, "consistency_ci95": [0.7, 0.9], "accuracy_all": 0.6, "first_rate": 0.7}
    scores = {**shares, "accuracy_consistent": 0.9, "srcc": 0.5, "n_pairs": 9, "n_consistent": 7, "n_images": 5}
    (chart,) = charts(scored("two_afc/coarse", "two_afc", scores))
    assert (chart.kind, chart.unit, chart.limits) == ("dots", "score, in %", (0, 100))
    values = dict(zip(chart.labels, chart.series[0].values, strict=True))
    assert values == {
        "consistency": 80,
        "pair accuracy": 60,
        "accuracy, consistent pairs": 90,
        "first-position preference": 70,
    }
    assert chart.series[0].intervals[chart.labels.index("consistency")] == pytest.approx((70, 90))
    assert chart.chance[chart.labels.index("pair accuracy")] == 25


def test_figure_4_has_the_letters_of_replies_and_of_right_answers(charts, judged, three_questions):
    unread = run_mmbench(answers, three_questions)
    chart = by_title(charts(judged, unread=replaced(unread, model="unread")))["choice distribution"]
    assert chart.labels == ("A", "B", "C", "D", "none")
    truth, first, second = chart.series
    # Right, in order of the passes: q2 B, A; q3 A, C, B; q4 C, B, A, D.
    assert (truth.name, truth.values) == ("right answers", pytest.approx([100 / 3, 100 / 3, 200 / 9, 100 / 9, 0]))
    # q2 is right, q3 is read as B three times or not at all, q4 is A four times.
    assert first.values == pytest.approx([500 / 9, 400 / 9, 0, 0, 0])
    assert second.values == pytest.approx([500 / 9, 100 / 9, 0, 0, 300 / 9])
    assert chart.note == "As in MMBench, Fig. 4. Computed over all passes."


def test_figure_4_of_other_questions_has_right_answers_for_each_run(charts, judged):
    shares = {"predicted": {"A": 0.5, "B": 0.5, "none": 0.0}, "correct": {"A": 0.25, "B": 0.75}}
    other = scored(
        "mmbench/en", "mmbench", {"circular_accuracy": 0.5, "choice_distribution": shares}, split="dev", model="other"
    )
    chart = by_title(charts(replaced(judged, model="judged"), other=other))["choice distribution"]
    assert [series.name for series in chart.series] == [
        *("judged: right answers", "other: right answers"),
        *("judged", "other"),
    ]
    assert chart.labels == ("A", "B", "C", "D")
    assert chart.series[1].values == (25, 75, 0, 0)


def test_figure_5_is_the_agreement_with_people(charts, judged):
    chart = by_title(charts(judged))["agreement with human annotators"]
    assert chart.labels == ("not parsed by exact matching", "all replies")
    (series,) = chart.series
    assert series.values == pytest.approx((50, 200 / 3))
    assert series.name.startswith("judge on ")
    assert series.intervals[1] == pytest.approx(
        [100 * end for end in judged.diagnostics["extractor_agreement"]["all"]["agreement_ci95"]]
    )
    assert "MMBench, Fig. 5" in chart.note and "2 and 3 replies were labelled by human annotators." in chart.note


def test_figure_5_without_replies_that_exact_matching_leaves_open(charts, three_questions, tmp_path):
    (tmp_path / "letters.jsonl").write_text(json.dumps({"id": "q2", "letter": "A"}), encoding="utf-8")
    chart = by_title(charts(run_mmbench(answers, three_questions, human_labels=str(tmp_path / "letters.jsonl"))))[
        "agreement with human annotators"
    ]
    assert chart.series[0].name.startswith("no judge on ")
    assert chart.rows[0][1] == "undefined" and chart.rows[1][1].startswith("0 (")
    assert "0 and 1 replies were labelled by human annotators." in chart.note


def curve(*values, bound=(0.9, 0.95)):
    def points(numbers):
        return [{"rounds": i + 1, "plcc_fitted": value, "srcc": 0.1} for i, value in enumerate(numbers)]

    return {"convergence": {"curve": points(values), "upper_bound": points(bound), "limit": {"plcc_fitted": 0.85}}}


def test_convergence_has_the_curve_its_upper_bound_and_its_limit(charts):
    scores = {"consistency": 0.8}
    (chart,) = charts(scored("two_afc/coarse", "two_afc", scores, diagnostics=curve(0.5, 0.75)))
    assert (chart.kind, chart.labels, chart.label_axis) == ("lines", ("1", "2"), "rounds")
    assert chart.note.startswith("As in 2AFC, Fig. 3. ")
    assert [(series.name, series.values) for series in chart.series] == [
        ("LLaVA-v1.5", (0.5, 0.75)),
        ("upper bound", (0.9, 0.95)),
        ("limit of the scores", (0.85, 0.85)),
    ]
    assert [series.is_bound for series in chart.series] == [False, True, True]


def test_one_upper_bound_stands_for_runs_that_have_the_same(charts):
    scores = {"consistency": 0.8}
    one = scored("two_afc/coarse", "two_afc", scores, diagnostics=curve(0.5, 0.75))
    other = replaced(one, model="other", diagnostics=curve(0.4, 0.5, 0.6, bound=(0.8, 0.9, 0.9)))
    (chart,) = charts(one, other=other)
    assert [series.name for series in chart.series][2:4] == ["LLaVA-v1.5: upper bound", "other: upper bound"]
    assert math.isnan(chart.series[0].values[2])
    same = replaced(one, model="other")
    assert [series.name for series in charts(one, same=same)[0].series][2:] == ["upper bound", "limit of the scores"]


def test_undefined_correlations_after_the_fit_give_way_to_srcc(charts):
    extras = curve(None, None, bound=(None, None))
    chart = charts(scored("two_afc/coarse", "two_afc", {"consistency": 0.8}, diagnostics=extras))[0]
    assert (chart.unit, chart.series[0].values) == ("SRCC", (0.1, 0.1))


CHARTS = [
    Chart("k", kind, "T", ("a", "b", "c"), (Series("m", (1.0, math.nan, -2.0), (None, None, (-3.0, -1.0))),), "u")
    for kind in ("radar", "lines", "dots")
]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.kind)
def test_every_kind_is_drawn_with_undefined_and_negative_values(chart):
    drawing = draw(chart, files=True)
    assert drawing.png.startswith(b"\x89PNG")
    texts = [element.text for element in ElementTree.fromstring(drawing.svg).iter(f"{SVG}text")]
    assert {"a", "b", "c", "m"} <= set(texts)


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
    series = replaced(chart.series[0], name=name)
    svg = draw(replaced(chart, labels=(name, "b", "c"), series=(series,)), files=True).svg
    texts = [element.text.strip("\u200b") for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    # As the first label of its axis, and in the legend.
    first = texts.index("b") - 1
    assert [re.sub("x{4,}", "xxx", texts[place]) for place in (first, -1)] == [drawn, drawn]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.kind)
def test_texts_are_12_pixels_high_where_a_page_shows_the_figure(chart):
    svg = draw(chart, files=False).svg
    sizes = {float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)}
    (width,) = re.findall(r'viewBox="0 0 ([\d.]+) ', svg)
    (shown,) = re.findall(r"figure svg \{[^}]*min-width: (\d+)px", CSS.read_text())
    assert min(sizes) * float(shown) / float(width) >= 12


def test_chance_levels_are_drawn_where_they_are_known():
    chart = replaced(CHARTS[2], chance=(0.5, math.nan, 1.0))
    assert [row[-1] for row in chart.rows] == ["0.5", "", "1"]
    root = ElementTree.fromstring(draw(chart, files=False).svg)
    (levels,) = [group for group in root.iter(f"{SVG}g") if group.get("id", "").startswith("LineCollection")]
    assert len([path for path in levels.iter(f"{SVG}path") if path.get("d")]) == 2
    assert "chance level" in [text.text for text in root.iter(f"{SVG}text")]


def test_the_same_chart_is_the_same_drawing():
    assert draw(CHARTS[0], files=True) == draw(CHARTS[0], files=True)


def test_series_differ_in_more_than_colour():
    values = tuple(Series(f"m{place}", (1.0, 2.0, 3.0)) for place in range(8))
    lines = draw(replaced(CHARTS[1], series=values), files=False).svg
    assert len(set(re.findall(r"stroke-dasharray: ([^;]*);", lines))) >= 7


def test_an_inline_svg_has_its_own_ids_and_the_page_s_colour():
    svg = inline_svg(draw(CHARTS[0], files=False).svg, "figure-3", "Title <1>", "Words & numbers")
    ids = re.findall(r'id="([^"]*)"', svg)
    assert ids and all(id.startswith("figure-3-") for id in ids) and len(set(ids)) == len(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", svg)) <= set(ids)
    assert '<title id="figure-3-title">Title &lt;1&gt;</title>' in svg
    assert '<desc id="figure-3-description">Words &amp; numbers</desc>' in svg
    assert "currentColor" in svg and "#010203" not in svg
    assert "<metadata" not in svg and "xlink" not in svg
    assert len(svg) < 40_000


@pytest.mark.slow
def test_a_backend_that_the_environment_names_and_lacks_is_not_looked_for(tmp_path):
    """As in a process that a notebook starts in another environment."""
    run = write(tmp_path / "run", [evaluated()])
    command = [sys.executable, "-m", "eyechart.evaluators", "report", str(run)]
    env = {**os.environ, "MPLBACKEND": "module://a_notebooks_own.backend"}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert (run / "report.html").exists()
