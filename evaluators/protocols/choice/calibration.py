"""Calibration of the probabilities that a run computes from the losses of options or the logits of their letters."""

import math
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from eyechart.evaluators.protocols.choice.closed_set import loss_value
from eyechart.evaluators.protocols.choice.questions import right_letter, shown_options
from eyechart.evaluators.protocols.protocol import clusters_of
from eyechart.evaluators.requests.types import Response, Row, RowResponses
from eyechart.metrics.scoring.choices.calibration import calibration_scores, option_probabilities
from eyechart.metrics.scoring.choices.risk_coverage import abstention_scores
from eyechart.metrics.scoring.choices.self_awareness import OUTCOMES
from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.shares import Clusters

CALIBRATION = "calibration"
"""Key of the diagnostics."""
LETTERS = "letters"
"""The pass that asks for the logits of the option letters, without the refusal option."""
_OF_LOSSES = {
    "mean": "softmax of minus the options' losses per token",
    "sum": "softmax of minus the options' losses",
}


def loss_calibration(answered: Sequence[RowResponses], loss: str, seed: int) -> dict[str, Any]:
    """Calibration of closed-set inference, for the diagnostics of a result.

    Args:
        answered: At least one row with a public answer and the losses of its options.
        loss: Kind of loss that chose the answers, one of `closed_set.LOSSES`.
        seed: Seed of the bootstrap.

    Returns:
        The scores from `calibration_scores`, and how the `probabilities` are defined. Options with the same text count
        once.
    """
    confidences = []
    for response in (one.responses[0] for one in answered):
        by_text = dict(zip(shown_options(response), response.losses or (), strict=True))
        confidences.append(option_probabilities([-loss_value(one, loss) for one in by_text.values()]).max())
    right = [one.responses[0].item["correct"] for one in answered]
    found = calibration_scores(confidences, right, clusters_of(one.row for one in answered), seed)
    return {"probabilities": _OF_LOSSES[loss], **found}


def letter_calibration(
    answered: Sequence[RowResponses], columns: Mapping[str, Sequence[Any]], seed: int
) -> dict[str, Any]:
    """Calibration of the option letters, and how abstention by letter probability compares with the model's refusals.

    Args:
        answered: Rows with a public answer.
        columns: The columns from `read_forced`, for the same rows.
        seed: Seed of the bootstrap.

    Returns:
        The scores from `calibration_scores`, how the `probabilities` are defined, `abstention` (see
        `abstention_scores`), the number of rows without letter logits (`missing`), and the number of rows in which a
        letter logit is only an upper bound (`upper_bounds`). Empty if no row has letter logits.
    """
    found = [(place, one, one.of_pass(LETTERS)) for place, one in enumerate(answered)]
    known = [(place, one, response) for place, one, response in found if response is not None and response.logits]
    if not known:
        return {}
    places, rows, responses = zip(*known, strict=True)
    confidences, right = zip(*(_by_letters(one.row, of) for one, of in zip(rows, responses, strict=True)), strict=True)
    names = clusters_of(one.row for one in rows)
    return {
        "probabilities": "softmax of the next-token logits of the options' letters, without the refusal",
        **calibration_scores(confidences, right, names, seed),
        "missing": len(answered) - len(known),
        "upper_bounds": sum(bool(response.upper_bound_words) for response in responses),
        "abstention": abstention_scores(
            [columns["forced_step"][place] is None for place in places],
            [columns["outcome"][place] == OUTCOMES[0] for place in places],
            confidences,
            right,
            Clusters.of(names, len(known)),
            part_generator(seed, "abstention"),
        ),
    }


def _by_letters(row: Row, response: Response) -> tuple[float, bool]:
    """The highest probability of an option's text, and whether that option is correct."""
    shown, by_text = shown_options(response), dict[str, float]()
    logits = [(response.logits or {})[letter] for letter in ascii_uppercase[: len(shown)]]
    for text, probability in zip(shown, option_probabilities(logits), strict=True):
        by_text[text] = by_text.get(text, 0.0) + float(probability)
    chosen = max(by_text, key=lambda text: by_text[text])
    return min(by_text[chosen], 1.0), chosen == shown[ascii_uppercase.index(right_letter(row, shown))]


def abstention_line(found: Mapping[str, Any]) -> str:
    """The result of abstention by letter probability, in words.

    Args:
        found: `abstention` from the diagnostics; undefined values are nan or None.

    Examples:
        >>> shares = {"answer_rate": 0.8, "own_accuracy": 0.7, "by_probability": 0.75, "difference": 0.05}
        >>> more = {"difference_ci95": [0.01, 0.09], "intervals": {"difference": {"kind": "bootstrap", "units": 9}}}
        >>> abstention_line(shares | more).partition(": ")[2]
        'accuracy 75.0 %, with its own refusals 70.0 %, difference 5.0 (1.0 to 9.0)'
    """
    rate = 100 * found["answer_rate"]
    if not rate:
        return "the model refused every question, so there are no answers to compare"
    other, own, difference = (100 * found[key] for key in ("by_probability", "own_accuracy", "difference"))
    about = found["intervals"]["difference"]
    ends = _interval([end and 100 * end for end in found["difference_ci95"] or ()], 1, about, "independent unit")
    return (
        f"if the model answered as many questions ({rate:.1f} %) but chose them by letter probability: accuracy "
        f"{other:.1f} %, with its own refusals {own:.1f} %, difference {difference:z.1f} ({ends})"
    )


def calibration_line(found: Mapping[str, Any]) -> str:
    """Calibration in words, for the lines below a table and the captions of charts.

    Args:
        found: The diagnostics; undefined values are nan or None.

    Examples:
        >>> about = {"ece": {"kind": "calibration", "units": 40}, "aurc": {"kind": "none", "units": 5}}
        >>> ends = {"ece_ci95": [0.031, 0.059], "aurc_ci95": None}
        >>> calibration_line({"ece": 0.042, "aurc": 0.012, "n": 40, "intervals": about, **ends})
        'ECE 4.2 % (3.1 to 5.9), AURC 0.012 (no interval: only 5 incorrect answers), 40 items'
    """
    ece, aurc, about = 100 * found["ece"], found["aurc"], found["intervals"]
    of_ece = _interval([end and 100 * end for end in found["ece_ci95"] or ()], 1, about["ece"], "independent unit")
    of_aurc = _interval(found["aurc_ci95"] or (), 3, about["aurc"], "incorrect answer")
    return f"ECE {ece:.1f} % ({of_ece}), AURC {aurc:.3f} ({of_aurc}), {found['n']:,} items"


def _interval(ends: Sequence[float | None], digits: int, about: Mapping[str, Any], unit: str) -> str:
    """The ends of an interval, or the reason why it is missing."""
    if not ends or any(end is None or math.isnan(end) for end in ends):
        few = f"only {about['units']} {unit}{'' if about['units'] == 1 else 's'}"
        return f"no interval: {few if about['kind'] == 'none' else 'all resamples are equal'}"
    return " to ".join(f"{end:z.{digits}f}" for end in ends)
