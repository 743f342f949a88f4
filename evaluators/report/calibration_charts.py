"""Charts of how well a model's option probabilities are calibrated."""

import math
from typing import Any

import numpy as np

from eyechart.evaluators.protocols.choice.calibration import CALIBRATION, abstention_line, calibration_line
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
        title="reliability",
        labels=tuple(f"{centre:.0f}" for centre in centres),
        series=(*series, Series(_PERFECT, centres, is_bound=True)),
        unit="accuracy, in %",
        note=f"{_lines(found)} Empty bins have no point. Labels are bin centres.",
        label_axis="confidence, in %",
        is_extra=True,
    )


def risk_coverage(key: TaskKey, scored: Scored) -> Chart | None:
    """Error rate by the share of items that are answered: Geifman and El-Yaniv, arXiv 1705.08500, Fig. 1."""
    found = _calibrated(scored)
    if not found:
        return None
    # Every second point, to leave room for labels, and the answer rate of each run.
    grid = {point["coverage"] for point in found[0][1]["risk_coverage"][1::2]}
    own = {label: of_run["abstention"] for label, of_run in found if _has_answers(of_run)}
    places = sorted(grid | {one["answer_rate"] for one in own.values()})
    series = [Series(label, tuple(100 * _risk(of_run, place) for place in places)) for label, of_run in found]
    series += [
        Series(
            f"{label}: own refusals",
            tuple(100 * (1 - one["own_accuracy"]) if place == one["answer_rate"] else math.nan for place in places),
        )
        for label, one in own.items()
    ]
    return Chart(
        key=key.file_name("risk_coverage"),
        kind="lines",
        title="risk and coverage",
        labels=tuple(f"{100 * place:.0f}" for place in places),
        series=tuple(series),
        unit="error rate, in %",
        note=" ".join(
            (
                "Error rate if only the most confident items are answered. AURC: mean error rate over all coverages.",
                *(f"{label}: {abstention_line(one)}." for label, one in own.items()),
            )
        ),
        label_axis="items answered, in %",
        is_extra=True,
    )


def _has_answers(found: dict[str, Any]) -> bool:
    abstention = found.get("abstention") or {}
    return all(abstention.get(name) is not None for name in ("own_accuracy", "by_probability", "difference"))


def _risk(found: dict[str, Any], coverage: float) -> float:
    """The error rate at a coverage: exact at the model's own answer rate, interpolated elsewhere."""
    if _has_answers(found) and coverage == found["abstention"]["answer_rate"]:
        return 1 - float(found["abstention"]["by_probability"])
    shares, risks = ([point[name] for point in found["risk_coverage"]] for name in ("coverage", "risk"))
    return float(np.interp(coverage, shares, risks))


def _calibrated(scored: Scored) -> list[tuple[str, dict[str, Any]]]:
    return [(label, found) for label, result in scored if (found := result.diagnostics.get(CALIBRATION))]


def _lines(found: list[tuple[str, dict[str, Any]]]) -> str:
    lines = [(label, calibration_line(of_run)) for label, of_run in found]
    if len(lines) == 1:
        return f"{lines[0][1]}."
    return " ".join(f"{label}: {line}." for label, line in lines)
