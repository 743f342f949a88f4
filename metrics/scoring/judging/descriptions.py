"""Scores of free-text descriptions, given by a judge that compares them with golden descriptions.

Protocols: Q-Bench, Sec. 2.3.2, Table 3 and Appendix A.2.2 (https://arxiv.org/abs/2309.14181): completeness, preciseness
and relevance, each 0, 1 or 2, averaged over the rounds of an image, then over images, and their sum. AesBench, Sec. 3.4
and Table 5 (https://arxiv.org/abs/2401.08276): relevance, precision and completeness in [0, 2] and their mean; its
judge prompts are not published; `aesbench` is our own wording. Departures: intervals are an addition; an empty
description gets 0 in every dimension; a row without a golden description is left out. A description that was cut off or
refused is judged as it is; the result contains the shares of such descriptions.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.metrics.scoring.choices.replies import ENDS, REFUSED, UNPARSEABLE, unread_shares
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import ItemColumns, Items
from eyechart.metrics.scoring.judging.replies import (
    Judge,
    JudgeSettings,
    ask_scores,
    mean_of_frequencies,
    mean_score,
    mean_scores,
    score_frequencies,
    score_interval,
    scores_by_group,
    summed_score,
)
from eyechart.metrics.scoring.reasoning import REASONING, split_reasoning
from eyechart.metrics.scoring.statistics.intervals import listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters

SCALE = (0, 1, 2)
DIMENSIONS = {
    "q_bench": ("completeness", "preciseness", "relevance"),
    "aesbench": ("relevance", "precision", "completeness"),
}


def read_descriptions(
    predictions: Sequence[str],
    references: Sequence[str],
    judge: Judge,
    rounds: int = 5,
    template: str = "q_bench",
    finish_reasons: Sequence[str | None] | None = None,
) -> Items:
    """Ask a judge about n descriptions, without their reasoning.

    "" is a failed or empty description, or a private reference, whose row is left out: its values are None except
    `finish_reason`. `finish_reasons` are from `reasoning.FINISH_REASONS`, or None if they are not known; the returned
    one is "reasoning" if the text consists only of unfinished reasoning. `rounds` has a list for each dimension. The
    metric's card explains the columns.

    Examples:
        >>> items = read_descriptions(["It is dark."], ["It is dark."], lambda messages, n: ["Score: 1"] * n, rounds=2)
        >>> items["completeness"], items["rounds"], items["empty_prediction"]
        ([1.0], [[[1, 1], [1, 1], [1, 1]]], [False])
    """
    ended = [None] * len(predictions) if finish_reasons is None else finish_reasons
    parts = [split_reasoning(text) for text in predictions]
    texts = [part.answer for part in parts]
    # The templates that need no reference ignore it.
    fields = {"description": texts, "reference": references}
    scores = {name: ask_scores(f"{template}_{name}", fields, SCALE, judge, rounds) for name in DIMENSIONS[template]}
    return {name: list(map(mean_score, of_name)) for name, of_name in scores.items()} | {
        "rounds": [None if None in row else list(row) for row in zip(*scores.values(), strict=True)],
        "empty_prediction": [
            not text.strip() if reference.strip() else None for text, reference in zip(texts, references, strict=True)
        ],
        "finish_reason": [
            reason if part.is_finished or part.answer.strip() or ENDS.get(reason or "") == REFUSED else REASONING
            for part, reason in zip(parts, ended, strict=True)
        ],
    }


def text_outcome(finish_reason: str | None, is_empty: bool) -> str | None:
    """Why a text is incomplete, one of `choices.replies.UNREAD`; None if it is complete or its end is not known.

    As for choices, an empty text that ended by itself is "unparseable".
    """
    return ENDS.get(finish_reason or "", UNPARSEABLE if is_empty else None)


def description_scores(
    items: ItemColumns,
    groups: Mapping[str, Sequence[str]] | None,
    settings: JudgeSettings,
    template: str = "q_bench",
    clusters: Sequence[str | None] | None = None,
) -> dict[str, Any]:
    """Everything that `judge_description` returns, overall and by group, from what `read_descriptions` returned.

    `clusters` names what each row shares with others, such as its image; None if rows are independent.
    """
    reasons = zip(items["finish_reason"], items["rounds"], strict=True)
    has_outcomes = any(reason is not None and rounds is not None for reason, rounds in reasons)

    def compute(where: str, part: ItemColumns, of: Clusters) -> dict[str, Any]:
        found = _scores(where, part, DIMENSIONS[template], of)
        outcomes = map(text_outcome, part["finish_reason"], part["empty_prediction"])
        return found | ({"outcomes": unread_shares(list(outcomes))} if has_outcomes else {})

    # The three templates of one wording have the same version. Only those of Q-Bench are published.
    wording = "published" if template == "q_bench" else "eyechart"
    applying = settings.applying(template, f"{template}_relevance", wording)
    return scores_by_group(items, groups, clusters, compute) | applying


def _scores(where: str, items: ItemColumns, names: Sequence[str], clusters: Clusters) -> dict[str, Any]:
    columns = dict(zip(names, zip(*items["rounds"], strict=True), strict=True))
    means = mean_scores(list(columns.values()))
    limits = SCALE[0], SCALE[-1]
    found: dict[str, Any] = {}
    intervals = {}
    for place, (name, judged) in enumerate(columns.items()):
        frequencies = score_frequencies(judged, SCALE)
        interval = score_interval(means[[place]], limits, clusters)
        intervals[f"{name}.score"] = interval.described()
        found[name] = {
            "score": mean_of_frequencies(frequencies),
            "score_ci95": [interval.low, interval.high],
            **{f"p{score}": share for score, share in frequencies.items()},
            "n": int(np.count_nonzero(~np.isnan(means[place]))),
            "failed_rounds": sum(rounds.count(None) for rounds in judged),
        }
    if undefined := [name for name in names if np.isnan(found[name]["score"])]:
        message = f"{where}: nan for {', '.join(undefined)}, sum and mean: the judge gave no score in any round"
        warnings.warn(message, UndefinedScoreWarning, stacklevel=8)
    total = float("nan") if undefined else summed_score(means)
    summed = score_interval(means, limits, clusters)
    listed = listed_intervals({"sum": summed, "mean": summed.scaled(1 / len(names))})
    listed["intervals"] |= intervals
    return found | {
        "sum": total,
        "mean": total / len(names),
        **listed,
        "n": len(items["rounds"]),
        "failed_rounds": sum(found[name]["failed_rounds"] for name in names),
        "unscored": int(np.count_nonzero(np.isnan(means).any(axis=0))),
        "empty_predictions": sum(items["empty_prediction"]),
    }
