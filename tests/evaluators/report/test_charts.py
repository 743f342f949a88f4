"""Charts from known numbers: what is drawn, said and tabulated. The paths in the SVG are read back into values."""

import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from eyechart.evaluators.published.rendering import Cell, Row
from eyechart.evaluators.report.charts import Chart
from eyechart.evaluators.report.drawing import draw
from tests.evaluators.report.conftest import PERCEPTION, answers, replaced, run_mmbench, scored

SVG = "{http://www.w3.org/2000/svg}"


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
    assert [(row.labels[0], row.is_model) for row in chart.rows] == [("some/model", True), ("chance level", False)]
    assert values(chart, 1) == pytest.approx((50, 50, 25, 33.33, 50, 50, 50))
    assert chart.table.columns == ["", "some/model", "chance level"]
    assert chart.table.texts[2] == ["what", "20.00", "25.00"]


def test_the_paper_s_radar_is_accuracy_minus_chance_level_in_points(charts):
    _, chart = charts(PERCEPTION)
    assert chart.kind == "radar chart" and chart.is_extra
    assert chart.labels == ("yes-or-no", "what", "how", "distortion", "other", "in-context distortion")
    assert values(chart) == pytest.approx((40, -5, 16.67, 10, 20, 0))
    assert chart.note.startswith("As in Q-Bench, Fig. 9 and 14.") and chart.unit.endswith(", in percentage points")


def test_a_group_that_one_of_two_runs_lacks_is_undefined(charts):
    unknown = {f"by_{group}": PERCEPTION.scores["by_concern"] for group in ("a", "z")}
    other = replaced(PERCEPTION, model="other/model", scores=PERCEPTION.scores | {"by_concern": {}} | unknown)
    dots, chart = charts(PERCEPTION, other=other)
    assert names(chart) == ["some/model", "other/model"]
    assert values(chart, 1)[:3] == pytest.approx((40, -5, 16.67))
    assert all(map(math.isnan, values(chart, 1)[3:]))
    assert ends(dots, 1)[4:] == [None, None, None]  # Groups that the task does not have are not shown.


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
    correlations = {"agiqa3k": (-0.1, -0.3), "spaq": (0.563, 0.584), "x": (None, 0.5)}
    parts = {name: {"srcc": srcc, "plcc": plcc, "n": 9} for name, (srcc, plcc) in correlations.items()}
    average = scored(
        "q_bench/assessment", "average", {"srcc": 0.3, "plcc": 0.3, "plcc_fitted": 0.2, "n": 9, "by_database": parts}
    )
    of_each = {name: {**parts[name], "srcc_ci95": [0.5, 0.6]} for name in ("agiqa3k", "spaq")} | {"koniq10k": None}
    dots, radar = charts(average, *(scored("q_bench/assessment", name, scores) for name, scores in of_each.items()))
    assert (radar.kind, radar.labels) == ("radar chart", ("AGIQA-3K", "SPAQ", "x"))
    assert values(radar) == pytest.approx((-0.1, 0.563, math.nan), nan_ok=True)
    assert (radar.title, radar.unit) == ("SRCC over databases", "SRCC minus chance level")
    assert (dots.title, dots.labels, dots.limits) == ("SRCC by database", ("average", *radar.labels), (0, 1))
    assert values(dots) == pytest.approx((0.3, *values(radar)), nan_ok=True)
    # An average has no intervals of its databases; these have.
    assert ends(dots) == [None, (0.5, 0.6), (0.5, 0.6), None]


def test_figure_4_has_the_letters_of_replies_and_of_right_answers(charts, judged, three_questions):
    unread = run_mmbench(answers, three_questions)
    *_, chart, _ = charts(judged, unread=replaced(unread, model="unread"))
    assert chart.labels == ("A", "B", "C", "D", "none") and names(chart)[0] == "right answers"
    # Right, in order of the passes: q2 B, A; q3 A, C, B; q4 C, B, A, D.
    assert values(chart) == pytest.approx([100 / 3, 100 / 3, 200 / 9, 100 / 9, 0])
    # q2 is right, q3 is read as B three times or not at all, q4 is A four times.
    assert values(chart, 1) == pytest.approx([500 / 9, 400 / 9, 0, 0, 0])
    assert values(chart, 2) == pytest.approx([500 / 9, 100 / 9, 0, 0, 300 / 9])
    assert chart.note == "As in MMBench, Fig. 4. Computed over all passes."
    assert chart.table.texts[2:4] == [["C", "22.22", "0.00", "0.00"], ["D", "11.11", "0.00", "0.00"]]


def test_figure_5_is_the_agreement_with_people(charts, judged):
    *_, chart = charts(judged)
    assert chart.labels == ("not parsed by exact matching", "all replies")
    assert values(chart) == pytest.approx((50, 200 / 3)) and names(chart)[0].startswith("judge on ")
    of_all = judged.diagnostics["extractor_agreement"]["all"]["agreement_ci95"]
    assert ends(chart)[1] == pytest.approx([100 * end for end in of_all])
    assert "MMBench, Fig. 5" in chart.note


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
        *[("upper bound", (0.9, 0.95), False), ("limit of the scores", (0.85, 0.85), False)],
    ]
    assert chart.table.texts[0] == ["1", "0.500", "0.900", "0.850"]
    other = convergence(0.4, 0.5, 0.6, bound=(0.8, 0.9, 0.9), model="other")
    (chart,) = charts(convergence(0.5, 0.75), other=other)
    assert names(chart)[2:4] == ["LLaVA-v1.5: upper bound", "other: upper bound"]
    assert math.isnan(values(chart)[2])


CELLS = (Cell(1.0, 2), Cell(math.nan, 2), Cell(-2.0, 2, ends=(-3.0, -1.0)))
CHARTS = [
    Chart("k", kind, "T", ("a", "b", "c"), (Row(("m",), CELLS),), "u")
    for kind in ("radar chart", "line chart", "dot plot")
]


def svg_of(chart):
    return draw(chart, files=False)["svg"].decode()


def texts_in(chart):
    return [
        element.text.strip("\u200b").replace("\N{MINUS SIGN}", "-")
        for element in ElementTree.fromstring(svg_of(chart)).iter(f"{SVG}text")
    ]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.kind)
def test_every_kind_is_drawn_alike_each_time_with_undefined_and_negative_values(chart):
    files = draw(chart, files=True)
    assert list(files) == ["svg", "pdf", "png"] and files["png"].startswith(b"\x89PNG")
    assert files == draw(chart, files=True)
    texts = set(texts_in(chart))
    assert {"a", "b", "c", "m"} <= texts and any(re.fullmatch(r"\d+(\.\d+)?", text) for text in texts)


NAMES = {name: name for name in ("$a_b$", "<b>&", "模型")}
NAMES |= {"a\x00b\nc": "a b c", "": "\u2013", "x" * 300 + "-9": "xxx…xxx-9"}


@pytest.mark.parametrize(("place", "name"), list(enumerate(NAMES)))
def test_any_name_is_drawn_as_text(place, name):
    texts = texts_in(replaced(CHARTS[place % 3], labels=(name, "b", "c"), rows=(Row((name,), CELLS),)))
    # As the first label of its axis, and in the legend.
    first = texts.index("b") - 1
    assert [re.sub("x{4,}", "xxx", texts[index]) for index in (first, -1)] == [NAMES[name]] * 2


def drawn_in(chart):
    """The paths in the axes by the ids of their groups, and the dots: points of the axes' frame, from 0 to 1."""
    axes = ElementTree.fromstring(svg_of(chart)).find(f".//{SVG}g[@id='axes_1']")
    drawn = {
        group.get("id"): [re.findall(r"[-\d.]+", path.get("d", "")) for path in group.iter(f"{SVG}path")]
        for group in axes.iter(f"{SVG}g")
    }
    drawn["dots"] = [[dot.get(axis) for dot in axes.iter(f"{SVG}use") for axis in "xy"]]
    points = {name: [np.array(path, float).reshape(-1, 2) for path in paths] for name, paths in drawn.items()}
    low, high = points["patch_2"][0].min(axis=0), points["patch_2"][0].max(axis=0)
    return {name: [(path - low) / (high - low) for path in paths] for name, paths in points.items()}


def test_dots_lie_around_the_middle_of_their_label_with_whiskers():
    rows = [Row((name,), tuple(Cell(value, 2, "", (-0.5, 1.0)) for value in (0.0, 0.5, 1.0))) for name in "xy"]
    chart = replaced(CHARTS[2], rows=tuple(rows), limits=(-1.0, 1.0), breaks=(2,))
    # The frame is 2.08 wide; labels are 0.38 inches apart, with a gap of 0.12 before the third, and models 0.13.
    drawn = {name: [path * (2.08, 1.26) - (1.04, 0) for path in paths] for name, paths in drawn_in(chart).items()}
    middles = (0.19, 0.57, 1.07)
    dots = [(0.5 * i, middle + side) for side in (-0.065, 0.065) for i, middle in enumerate(middles)]
    assert drawn["dots"][0][-6:] == pytest.approx(np.array(dots), abs=0.001)
    whisker = np.array([(-0.5, 1.005), (1, 1.005)])
    assert drawn["LineCollection_1"][2] == pytest.approx(whisker, abs=0.001)
    assert texts_in(chart) == ["-1.0", "-0.5", "0.0", "0.5", "1.0", "u", "a", "b", "c", "x", "y"]


@pytest.mark.slow
def test_a_backend_that_the_environment_names_and_lacks_is_not_looked_for():
    """As in a process that a notebook starts in another environment."""
    code = """from eyechart.evaluators.published.rendering import Cell, Row
from eyechart.evaluators.report.charts import Chart
from eyechart.evaluators.report.drawing import draw
draw(Chart("k", "dot plot", "T", ("a",), (Row(("m",), (Cell(1.0, 2),)),), "u"), files=True)"""
    env = {**os.environ, "MPLBACKEND": "a_notebooks_own_backend"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
