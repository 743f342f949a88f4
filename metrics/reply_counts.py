"""How many replies a metric's result could not read, and how many rounds of a judge failed."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from eyechart.metrics.scores import DIMENSIONS


def are_texts(scores: Mapping[str, Any]) -> bool:
    """Whether the replies are scored as texts, so that only incomplete ones count as not parsed."""
    return "outcomes" in scores


def unparsed_replies(scores: Mapping[str, Any], diagnostics: Mapping[str, Any] | None = None) -> tuple[int, int]:
    """How many replies could not be parsed, or are incomplete texts, and of how many.

    Only replies with a number are items of ratings; the diagnostics of their result count all of them.
    """
    counted = diagnostics or {}
    if {"unread", "replies"} <= counted.keys() and scores.keys().isdisjoint(("extraction", "outcomes")):
        return counted["unread"], counted["replies"]
    if "extraction" in scores:
        share = scores["extraction"].get("unmatched")
        of_circular = "n_passes" if scores.get("distribution_over") == "all passes" else "n_vanilla"
        total = 2 * scores["n_pairs"] if "n_pairs" in scores else scores.get(of_circular, scores.get("n", 0))
    elif "unread" in scores:
        # Only replies with a number are items of the score.
        share = sum(scores["unread"].values())
        total = round(scores["n"] / (1 - share)) if share < 1 else 0
    else:
        # A refusal is a complete text.
        outcomes = {**scores.get("outcomes", {}), "refused": 0}
        share, total = sum(outcomes.values()), scores.get("n", 0)
    return (round(share * total), total) if share and math.isfinite(share * total) else (0, total)


def cut_replies(scores: Mapping[str, Any]) -> int:
    """How many of the replies that could not be parsed were cut off."""
    shares = scores.get("extraction", {})
    share = shares.get("cut_off", 0) + shares.get("unfinished_reasoning", 0)
    return round(unparsed_replies(scores)[1] * share) if share else 0


class JudgeCounts(NamedTuple):
    """What a judge did in a result."""

    rounds: int
    """Rounds in which it was asked; it is not asked about empty texts."""
    failed: int
    """Rounds in which it gave no usable reply."""
    unscored: int
    """Replies or texts for which it gave no usable reply in any round."""
    asked: int | None
    """Replies that were put to it; None if it scores all texts."""


def judge_counts(scores: Mapping[str, Any]) -> JudgeCounts:
    """What a judge did in a metric's result; zeros without a judge."""
    asked = scores.get("judge_asked")
    if asked is not None:
        return JudgeCounts(
            int(asked * scores["rounds"]), int(scores["judge_failed_rounds"]), int(scores["judge_unscored"]), int(asked)
        )
    failed, unscored = int(scores.get("failed_rounds", 0)), int(scores.get("unscored", 0))
    dimensions = max(1, sum(name in scores for name in DIMENSIONS))
    texts = scores.get("n", 0) - scores.get("empty_predictions", 0) if "rounds" in scores else 0
    return JudgeCounts(int(texts * dimensions * scores.get("rounds", 0)), failed, unscored, None)
