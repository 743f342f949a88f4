"""Charts of how far a model's probabilities of the options can be trusted."""

from typing import Any

from eyechart.evaluators.protocols.choice.calibration import CALIBRATION, calibration_line
from eyechart.evaluators.report.charts import Chart, Series
from eyechart.evaluators.report.scores import Scored, number
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.metrics.scoring.choices.calibration import BINS

_PERFECT = "perfect calibration"


def reliability(key: TaskKey, scored: Scored) -> Chart | None:
    """Accuracy by confidence: the reliability diagram of Guo et al., Fig. 1."""
    found = _calibrated(scored)
    if not found:
        return None
    centres = tuple(100 * (place + 0.5) / BINS for place in range(BINS))
    series = [Series(label, tuple(100 * number(one, "accuracy") for one in of_run["bins"])) for label, of_run in found]
    return Chart(
        key=key.file_name("reliability"),
        kind="lines",
        title=f"{key.title}: reliability",
        labels=tuple(f"{centre:.0f}" for centre in centres),
        series=(*series, Series(_PERFECT, centres, is_bound=True)),
        unit="accuracy, in %",
        note=f"{_lines(found)} Bins without items have no point. Each label is the middle of a bin.",
        label_axis="confidence, in %",
    )


def risk_coverage(key: TaskKey, scored: Scored) -> Chart | None:
    """Error rate by the share of items that are answered: Geifman and El-Yaniv, arXiv 1705.08500, Fig. 1."""
    found = _calibrated(scored)
    if not found:
        return None
    # Every second point, so that there is room for the labels.
    points = [point["coverage"] for point in found[0][1]["risk_coverage"]][1::2]
    series = [
        Series(label, tuple(100 * number(point, "risk") for point in of_run["risk_coverage"][1::2]))
        for label, of_run in found
    ]
    return Chart(
        key=key.file_name("risk_coverage"),
        kind="lines",
        title=f"{key.title}: risk and coverage",
        labels=tuple(f"{100 * coverage:.0f}" for coverage in points),
        series=tuple(series),
        unit="error rate, in %",
        note="Where only the most confident items are answered. AURC is the mean error rate over all coverages.",
        label_axis="items answered, in %",
    )


def _calibrated(scored: Scored) -> list[tuple[str, dict[str, Any]]]:
    return [(label, result.diagnostics[CALIBRATION]) for label, result in scored if CALIBRATION in result.diagnostics]


def _lines(found: list[tuple[str, dict[str, Any]]]) -> str:
    lines = [(label, calibration_line(of_run)) for label, of_run in found]
    if len(lines) == 1:
        return f"{lines[0][1]}."
    return " ".join(f"{label}: {line}." for label, line in lines)
