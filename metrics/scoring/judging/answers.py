"""Scores from 1 to 5 for open answers, given by a judge that sees the question and the correct answer.

Protocol: MMBench, Appendix D.2 and Table 4 (https://arxiv.org/abs/2307.06281): a judge scores the agreement of answer
and ground truth with an integer from 1 (completely wrong) to 5 (completely correct); the average is reported with the
share of answers that equal the ground truth. The judge prompt is not published; `mmbench_marking` is our own wording.
Departures: "equal" ignores case, surrounding blanks and Markdown, and final punctuation; several rounds are averaged
(the paper asks once); an empty answer gets 1; a row without a ground truth is left out.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.metrics.scoring.choices.text import comparison_key
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
)
from eyechart.metrics.scoring.reasoning import split_reasoning
from eyechart.metrics.scoring.statistics.intervals import listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval

TEMPLATE = "mmbench_marking"
SCALE = (1, 2, 3, 4, 5)


def read_answers(
    predictions: Sequence[str], references: Sequence[str], questions: Sequence[str], judge: Judge, rounds: int = 1
) -> Items:
    """Ask a judge about n answers, without their reasoning; the metric's card has the columns.

    "" is a failed or empty answer, or a private reference, whose row is left out: all its values are None. `rounds`
    contains one list with the score of each round, None for a failed round.

    Examples:
        >>> items = read_answers(["bicycle"], ["bike"], ["What does he ride?"], lambda messages, n: ["Score: 4"])
        >>> items["judge_score"], items["rounds"], items["exact_match"]
        ([4.0], [[[4]]], [False])
    """
    texts = [split_reasoning(text).answer for text in predictions]
    fields = {"answer": texts, "question": questions, "reference": references}
    scores = ask_scores(TEMPLATE, fields, SCALE, judge, rounds)
    pairs = [pair if pair[1].strip() else None for pair in zip(texts, references, strict=True)]
    return {
        "judge_score": list(map(mean_score, scores)),
        "rounds": [one and [one] for one in scores],
        "exact_match": [pair and comparison_key(pair[0]) == comparison_key(pair[1]) for pair in pairs],
        "empty_prediction": [pair and not pair[0].strip() for pair in pairs],
    }


def answer_scores(
    items: ItemColumns,
    groups: Mapping[str, Sequence[str]] | None,
    settings: JudgeSettings,
    clusters: Sequence[str | None] | None = None,
) -> dict[str, Any]:
    """Everything that `judge_answer` returns, overall and by group, from what `read_answers` returned.

    `clusters` names what each row shares with others, such as its image; None if rows are independent.
    """
    return scores_by_group(items, groups, clusters, _scores) | settings.applying(TEMPLATE, TEMPLATE, "eyechart")


def _scores(where: str, items: ItemColumns, clusters: Clusters) -> dict[str, Any]:
    judged = [rounds for (rounds,) in items["rounds"]]
    means, frequencies = mean_scores([judged]), score_frequencies(judged, SCALE)
    if np.isnan(means).all():
        message = f"{where}: nan for mean_score: the judge gave no score in any round"
        warnings.warn(message, UndefinedScoreWarning, stacklevel=7)
    intervals = {
        "mean_score": score_interval(means, (SCALE[0], SCALE[-1]), clusters),
        "exact_match": share_interval(items["exact_match"], clusters),
    }
    return {
        "mean_score": mean_of_frequencies(frequencies),
        **listed_intervals(intervals),
        "score_distribution": {str(score): share for score, share in frequencies.items()},
        "exact_match": float(np.mean(items["exact_match"])),
        "n": len(judged),
        "n_scored": int(np.count_nonzero(~np.isnan(means))),
        "failed_rounds": sum(rounds.count(None) for rounds in judged),
        "empty_predictions": sum(items["empty_prediction"]),
    }
