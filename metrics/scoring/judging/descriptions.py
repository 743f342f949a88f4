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
from eyechart.metrics.scoring.errors import UndefinedScoreError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import check_lengths, check_member, map_groups
from eyechart.metrics.scoring.items import ItemColumns, Items
from eyechart.metrics.scoring.judging.prompts import template_version
from eyechart.metrics.scoring.judging.replies import Judge
from eyechart.metrics.scoring.judging.rounds import (
    JudgeSettings,
    Rounds,
    ask_scores,
    count_failed,
    is_scored,
    mean_of_frequencies,
    mean_score,
    score_frequencies,
    score_interval,
    summed_score,
)
from eyechart.metrics.scoring.judging.texts import check_texts, kept_rows
from eyechart.metrics.scoring.reasoning import REASONING, split_reasoning
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters

SCALE = (0, 1, 2)
DIMENSIONS = {
    "q_bench": ("completeness", "preciseness", "relevance"),
    "aesbench": ("relevance", "precision", "completeness"),
}
# Whether the judge prompts are published or our own.
WORDING = {"q_bench": "published", "aesbench": "eyechart"}


def read_descriptions(
    predictions: Sequence[str],
    references: Sequence[str],
    judge: Judge,
    rounds: int = 5,
    template: str = "q_bench",
    finish_reasons: Sequence[str | None] | None = None,
) -> Items:
    """Ask a judge about n descriptions.

    Args:
        predictions: Descriptions of n images; "" for a failed or empty response. Reasoning is removed before judging.
        references: Golden descriptions; "" if the description is private. Such rows are left out.
        judge: `judge(messages, n)`, which returns n replies.
        rounds: Number of judge replies per image and dimension.
        template: "q_bench" or "aesbench".
        finish_reasons: How each description ended, one of `reasoning.FINISH_REASONS`; None if that is not known.

    Returns:
        For each of the template's `DIMENSIONS`, the mean over usable rounds in [0, 2], higher is better; None without a
        usable round. `rounds`: for each dimension, in this order, the score of each round, None for a failed round.
        `empty_prediction`: whether there was no text to judge. All these values are None for a row that is left out.
        `finish_reason`, for every row: "reasoning" if the text consists only of unfinished reasoning.

    Raises:
        InputError: An argument is invalid.

    Examples:
        >>> items = read_descriptions(["It is dark."], ["It is dark."], lambda messages, n: ["Score: 1"] * n, rounds=2)
        >>> items["completeness"], items["rounds"], items["empty_prediction"]
        ([1.0], [[[1, 1], [1, 1], [1, 1]]], [False])
    """
    check_texts(predictions=predictions, references=references)
    ended = [None] * len(predictions) if finish_reasons is None else finish_reasons
    check_lengths(predictions=predictions, finish_reasons=ended)
    check_member("template", template, list(DIMENSIONS))
    rows = [row for row, reference in enumerate(references) if reference.strip()]
    parts = [split_reasoning(text) for text in predictions]
    texts = [part.answer for part in parts]
    # The templates that need no reference ignore it.
    fields = [{"description": texts[row], "reference": references[row]} if texts[row].strip() else None for row in rows]
    names = DIMENSIONS[template]
    items: Items = {name: [None] * len(references) for name in (*names, "rounds", "empty_prediction")}
    judged = [ask_scores(f"{template}_{name}", fields, SCALE, judge, rounds) for name in names]
    for row, of_item, *scores in zip(rows, fields, *judged, strict=True):
        items["rounds"][row], items["empty_prediction"][row] = [list(one) for one in scores], of_item is None
        for name, one in zip(names, scores, strict=True):
            items[name][row] = mean_score(one)
    items["finish_reason"] = [
        reason if part.is_finished or part.answer.strip() or ENDS.get(reason or "") == REFUSED else REASONING
        for part, reason in zip(parts, ended, strict=True)
    ]
    return items


def text_outcome(finish_reason: str | None, is_empty: bool) -> str | None:
    """Why a text is incomplete: one of `choices.replies.UNREAD`; None if it is complete.

    A text with an unknown finish reason counts as complete. As for choices, an empty text that ended by itself is
    "unparseable".

    Args:
        finish_reason: How the text ended, from `read_descriptions`.
        is_empty: Whether there is no text to judge.

    Examples:
        >>> text_outcome("length", False), text_outcome("stop", True), text_outcome("stop", False)
        ('cut_off', 'unparseable', None)
    """
    return ENDS.get(finish_reason or "", UNPARSEABLE if is_empty else None)


def description_scores(
    items: ItemColumns,
    groups: Mapping[str, Sequence[str]] | None,
    settings: JudgeSettings,
    template: str = "q_bench",
    clusters: Sequence[str | None] | None = None,
) -> dict[str, Any]:
    """Everything that `judge_description` returns, overall and by group.

    Args:
        items: Items of n descriptions, from `read_descriptions`.
        groups: Group name to one value per image.
        settings: The judge's name and its rounds.
        template: "q_bench" or "aesbench".
        clusters: Cluster of each row, such as its image; None if rows are independent.

    Returns:
        For each dimension `score` in [0, 2], higher is better, `score_ci95`, `p0`, `p1`, `p2` in [0, 1], `n` and
        `failed_rounds`; the `sum` of the scores in [0, 6] and their `mean`, with intervals; `n`, `failed_rounds`,
        `unscored`, `empty_predictions`, `without_reference`; `outcomes`, the shares in [0, 1] of texts by
        `text_outcome`, only if a finish reason is known; `by_<group name>` for each group; and the settings.

    Raises:
        InputError: No row has a reference.

    Warns:
        UndefinedScoreWarning: A score is nan because every round failed.
        LeftOutWarning: Rows have no reference.

    Examples:
        >>> items = {"completeness": [1.0], "preciseness": [2.0], "relevance": [0.0], "empty_prediction": [False]}
        >>> scores = description_scores({**items, "rounds": [[[1], [2], [0]]]}, None, JudgeSettings("me", rounds=1))
        >>> scores["completeness"]["score"], scores["sum"], scores["n"], scores["judge"]
        (1.0, 3.0, 1, 'me')
    """
    rows = kept_rows(items["rounds"])
    names = DIMENSIONS[template]
    judged = {name: [items["rounds"][row][place] for row in rows] for place, name in enumerate(names)}
    empty = [items["empty_prediction"][row] for row in rows]
    # Earlier versions kept no finish reasons.
    ended = [items["finish_reason"][row] for row in rows] if "finish_reason" in items else []
    is_known = any(reason is not None for reason in ended)
    outcomes = list(map(text_outcome, ended, empty)) if is_known else None
    shared = Clusters.of(clusters, len(items["rounds"])).select(rows)

    def part(where: str, of: Sequence[int]) -> dict[str, Any]:
        found = _part(where, judged, empty, of, settings, shared.select(of))
        return found if outcomes is None else found | {"outcomes": unread_shares([outcomes[row] for row in of])}

    kept = {name: [values[row] for row in rows] for name, values in (groups or {}).items()}
    whole = part("overall", range(len(rows))) | {"without_reference": len(items["rounds"]) - len(rows)}
    return (
        whole
        | map_groups(kept, part)
        | {"judge": settings.judge}
        | wording_settings(template)
        | {"rounds": settings.rounds}
    )


def wording_settings(template: str) -> dict[str, Any]:
    """The template of the judge prompt, its version, and whether its wording is published.

    Examples:
        >>> wording_settings("aesbench")
        {'template': 'aesbench', 'template_version': 1, 'wording': 'eyechart'}
    """
    # The three templates of one wording have the same version.
    version = template_version(f"{template}_relevance")
    return {"template": template, "template_version": version, "wording": WORDING[template]}


def _part(
    where: str,
    judged: Mapping[str, Sequence[Rounds]],
    empty: Sequence[bool],
    rows: Sequence[int],
    settings: JudgeSettings,
    clusters: Clusters,
) -> dict[str, Any]:
    """Scores of the images in `rows`; `where` names them in warnings."""
    columns = {dimension: [scores[row] for row in rows] for dimension, scores in judged.items()}
    limits = SCALE[0], SCALE[-1]
    intervals = {dimension: score_interval([items], limits, clusters) for dimension, items in columns.items()}
    found: dict[str, Any] = {dimension: _dimension(items, intervals[dimension]) for dimension, items in columns.items()}
    undefined = [dimension for dimension in columns if np.isnan(found[dimension]["score"])]
    if undefined:
        message = f"{where}: nan for {', '.join(undefined)}, sum and mean: the judge gave no score in any round"
        warnings.warn(message, UndefinedScoreWarning, stacklevel=6)
    total = float("nan") if undefined else summed_score(list(columns.values()))
    summed = score_interval(list(columns.values()), limits, clusters)
    listed = listed_intervals({"sum": summed, "mean": summed.scaled(1 / len(columns))})
    listed["intervals"] |= {f"{dimension}.score": interval.described() for dimension, interval in intervals.items()}
    return found | {
        "sum": total,
        "mean": total / len(columns),
        **listed,
        "n": len(rows),
        "failed_rounds": sum(map(count_failed, columns.values())),
        "unscored": sum(not all(map(is_scored, of_row)) for of_row in zip(*columns.values(), strict=True)),
        "empty_predictions": sum(empty[row] for row in rows),
    }


def _dimension(items: Sequence[Rounds], interval: Interval) -> dict[str, Any]:
    """Scores of one dimension."""
    try:
        frequencies = score_frequencies(items, SCALE)
    except UndefinedScoreError:
        frequencies = dict.fromkeys(SCALE, float("nan"))
    return {
        "score": mean_of_frequencies(frequencies),
        "score_ci95": [interval.low, interval.high],
        **{f"p{score}": share for score, share in frequencies.items()},
        "n": sum(map(is_scored, items)),
        "failed_rounds": count_failed(items),
    }
