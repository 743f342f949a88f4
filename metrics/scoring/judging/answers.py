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
from eyechart.metrics.scoring.errors import UndefinedScoreError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import map_groups
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
)
from eyechart.metrics.scoring.judging.texts import check_texts, kept_rows
from eyechart.metrics.scoring.reasoning import split_reasoning
from eyechart.metrics.scoring.statistics.intervals import listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval

TEMPLATE = "mmbench_marking"
SCALE = (1, 2, 3, 4, 5)


def matches_exactly(answer: str, reference: str) -> bool:
    """Whether an answer equals the ground truth, ignoring case, surrounding blanks and Markdown, and final punctuation.

    Examples:
        >>> matches_exactly("**Right.**", "right"), matches_exactly("on the right side", "right")
        (True, False)
    """
    return comparison_key(answer) == comparison_key(reference)


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

    Raises:
        InputError: An argument is invalid.

    Examples:
        >>> items = read_answers(["bicycle"], ["bike"], ["What does he ride?"], lambda messages, n: ["Score: 4"])
        >>> items["judge_score"], items["rounds"], items["exact_match"]
        ([4.0], [[[4]]], [False])
    """
    check_texts(predictions=predictions, references=references, questions=questions)
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
        items["exact_match"][row] = matches_exactly(texts[row], references[row])
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

    Returns:
        `mean_score` in [1, 5], higher is better, `mean_score_ci95`, `score_distribution` (score to share),
        `exact_match` in [0, 1], `exact_match_ci95`, `n`, `n_scored`, `failed_rounds`, `empty_predictions`,
        `without_reference`; `by_<group name>` for each group; and the settings.

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
    rows = kept_rows(items["rounds"])
    judged = [items["rounds"][row][0] for row in rows]
    exact, empty = ([items[name][row] for row in rows] for name in ("exact_match", "empty_prediction"))

    shared = Clusters.of(clusters, len(items["rounds"])).select(rows)

    def part(where: str, of: Sequence[int]) -> dict[str, Any]:
        return _part(where, judged, exact, empty, of, settings, shared.select(of))

    kept = {name: [values[row] for row in rows] for name, values in (groups or {}).items()}
    whole = part("overall", range(len(rows))) | {"without_reference": len(items["rounds"]) - len(rows)}
    return (
        whole
        | map_groups(kept, part)
        | {"judge": settings.judge, "template": TEMPLATE, "template_version": template_version(TEMPLATE)}
        | {"wording": "eyechart", "rounds": settings.rounds}
    )


def _part(
    where: str,
    judged: Sequence[Rounds],
    exact: Sequence[bool],
    empty: Sequence[bool],
    rows: Sequence[int],
    settings: JudgeSettings,
    clusters: Clusters,
) -> dict[str, Any]:
    """Scores of the answers in `rows`; `where` names them in warnings."""
    items, matched = [judged[row] for row in rows], [exact[row] for row in rows]
    try:
        frequencies = score_frequencies(items, SCALE)
    except UndefinedScoreError as error:
        warnings.warn(f"{where}: nan for mean_score: {error}", UndefinedScoreWarning, stacklevel=6)
        frequencies = dict.fromkeys(SCALE, float("nan"))
    intervals = {
        "mean_score": score_interval([items], (SCALE[0], SCALE[-1]), clusters),
        "exact_match": share_interval(matched, clusters),
    }
    return {
        "mean_score": mean_of_frequencies(frequencies),
        **listed_intervals(intervals),
        "score_distribution": {str(score): share for score, share in frequencies.items()},
        "exact_match": float(np.mean(matched)),
        "n": len(rows),
        "n_scored": sum(map(is_scored, items)),
        "failed_rounds": count_failed(items),
        "empty_predictions": sum(empty[row] for row in rows),
    }
