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
from eyechart.metrics.scoring.items import ItemColumns, Items
from eyechart.metrics.scoring.judging.prompts import template_version
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
    """Ask a judge about n answers.

    Args:
        predictions: Answers to n questions; "" for a failed or empty response. Reasoning is removed before judging.
        references: Correct answers; "" if the answer is private. Such rows are left out.
        questions: The questions.
        judge: `judge(messages, n)`, which returns n replies.
        rounds: Number of judge replies per answer.

    Returns:
        `judge_score`: the mean over usable rounds in [1, 5], higher is better; None without a usable round. `rounds`: a
        list that contains one list with the score of each round, None for a failed round. `exact_match`.
        `empty_prediction`: whether there was no text to judge. All values are None for a row that is left out.

    Examples:
        >>> items = read_answers(["bicycle"], ["bike"], ["What does he ride?"], lambda messages, n: ["Score: 4"])
        >>> items["judge_score"], items["rounds"], items["exact_match"]
        ([4.0], [[[4]]], [False])
    """
    rows = [row for row, reference in enumerate(references) if reference.strip()]
    texts = [split_reasoning(text).answer for text in predictions]
    fields = [
        {"question": questions[row], "reference": references[row], "answer": texts[row]} if texts[row].strip() else None
        for row in rows
    ]
    names = ("judge_score", "rounds", "exact_match", "empty_prediction")
    items: Items = {name: [None] * len(references) for name in names}
    for row, of_item, scores in zip(rows, fields, ask_scores(TEMPLATE, fields, SCALE, judge, rounds), strict=True):
        items["judge_score"][row] = mean_score(scores)
        items["rounds"][row] = [list(scores)]
        items["exact_match"][row] = comparison_key(texts[row]) == comparison_key(references[row])
        items["empty_prediction"][row] = of_item is None
    return items


def answer_scores(
    items: ItemColumns,
    groups: Mapping[str, Sequence[str]] | None,
    settings: JudgeSettings,
    clusters: Sequence[str | None] | None = None,
) -> dict[str, Any]:
    """Everything that `judge_answer` returns, overall and by group.

    Args:
        items: Items of n answers, from `read_answers`.
        groups: Group name to one value per question.
        settings: The judge's name and its rounds.
        clusters: Cluster of each question, such as its image; None if questions are independent.

    Raises:
        InputError: No row has a reference.

    Warns:
        UndefinedScoreWarning: The mean score is nan because every round failed.
        LeftOutWarning: Rows have no reference.

    Examples:
        >>> items = {"rounds": [[[4]]], "exact_match": [False], "empty_prediction": [False]}
        >>> scores = answer_scores(items, None, JudgeSettings("me", rounds=1))
        >>> scores["mean_score"], scores["exact_match"]
        (4.0, 0.0)
    """
    return scores_by_group(items, groups, clusters, _scores) | {
        "judge": settings.judge,
        "template": TEMPLATE,
        "template_version": template_version(TEMPLATE),
        "wording": "eyechart",
        "rounds": settings.rounds,
    }


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
