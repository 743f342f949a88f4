"""Calibration of what a run compares: the losses of options, or the logits of their letters."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.evaluators.protocols.choice.closed_set import loss_value
from eyechart.evaluators.protocols.choice.questions import shown_options
from eyechart.evaluators.protocols.protocol import clusters_of
from eyechart.evaluators.requests.types import RowResponses
from eyechart.metrics.scoring.choices.calibration import calibration_scores, option_probabilities

CALIBRATION = "calibration"
"""Key of the diagnostics."""
_OF_LOSSES = {
    "mean": "softmax of minus the options' losses per token",
    "sum": "softmax of minus the options' losses",
}


def loss_calibration(answered: Sequence[RowResponses], loss: str, seed: int) -> dict[str, Any]:
    """Calibration of closed-set inference, for the diagnostics of a result.

    Args:
        answered: At least one row with a public answer, and the losses of its options.
        loss: Kind of loss that chose the answers, one of `closed_set.LOSSES`.
        seed: Of the bootstrap.

    Returns:
        What `calibration_scores` gives, and what the `probabilities` are. Options with the same text count once.
    """
    confidences = []
    for response in (one.responses[0] for one in answered):
        by_text = dict(zip(shown_options(response), response.losses or (), strict=True))
        confidences.append(option_probabilities([-loss_value(one, loss) for one in by_text.values()]).max())
    right = [one.responses[0].item["correct"] for one in answered]
    found = calibration_scores(confidences, right, clusters_of(one.row for one in answered), seed)
    return {"probabilities": _OF_LOSSES[loss], **found}


def calibration_line(found: Mapping[str, Any]) -> str:
    """Calibration in words, for the lines below a table and the notes of charts.

    Args:
        found: The diagnostics; undefined values are nan or None.

    Examples:
        >>> calibration_line({"ece": 0.042, "ece_ci95": [0.031, 0.059], "aurc": 0.12, "aurc_ci95": None, "n": 40})
        'ECE 4.2 % (3.1 to 5.9), AURC 0.120 (no interval), of 40 items'
    """
    ece, aurc = 100 * found["ece"], found["aurc"]
    of_ece = _interval([end and 100 * end for end in found["ece_ci95"] or ()], 1)
    of_aurc = _interval(found["aurc_ci95"] or (), 3)
    return f"ECE {ece:.1f} % ({of_ece}), AURC {aurc:.3f} ({of_aurc}), of {found['n']:,} items"


def _interval(ends: Sequence[float | None], digits: int) -> str:
    if not ends or any(end is None or math.isnan(end) for end in ends):
        return "no interval"
    return " to ".join(f"{end:.{digits}f}" for end in ends)
