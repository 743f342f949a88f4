"""Marks from 1 to 5 for open answers, by a judge that sees question and correct answer.

Protocol: MMBench, Appendix D.2 and Table 4 (https://arxiv.org/abs/2307.06281): a judge marks the agreement of answer
and ground truth with an integer from 1 (completely wrong) to 5 (completely correct); the average is reported beside the
share of answers that equal the ground truth. The judge's wording is not published, so that of `mmbench_marking` is our
own. Departures: "equal" ignores case, blanks and Markdown around the text, and final punctuation; several rounds are
mean pooled, where the paper asks once; an empty answer gets 1; a row without a ground truth is left out.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.metrics.scoring.choices.text import comparison_key
from eyechart.metrics.scoring.errors import UndefinedScoreError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import map_groups
from eyechart.metrics.scoring.judging.rounds import (
    Judging,
    Rounds,
    ask_scores,
    bootstrap_scores,
    count_failed,
    is_scored,
    mean_of_frequencies,
    score_frequencies,
)
from eyechart.metrics.scoring.judging.texts import check_texts, rows_with_reference
from eyechart.metrics.scoring.statistics.intervals import interval_or_nan, part_generator, wilson_interval

TEMPLATE = "mmbench_marking"
SCALE = (1, 2, 3, 4, 5)


def matches_exactly(answer: str, reference: str) -> bool:
    """Whether an answer is the ground truth, up to case, blanks and Markdown around it, and final punctuation.

    Examples:
        >>> matches_exactly("**Right.**", "right"), matches_exactly("on the right side", "right")
        (True, False)
    """
    return comparison_key(answer) == comparison_key(reference)


def answer_scores(
    predictions: Sequence[str],
    references: Sequence[str],
    questions: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    judging: Judging,
) -> dict[str, Any]:
    """Marks of answers, overall and by group.

    Args:
        predictions: Answers to n questions; "" for a failed or empty response.
        references: Correct answers; "" where it is private, and the row is left out.
        questions: The questions.
        groups: Group name to one value per question.
        judging: The judge, its rounds and the bootstrap.

    Returns:
        `mean_score` in [1, 5], higher is better, `mean_score_ci95`, `score_distribution` (score to share),
        `exact_match` in [0, 1], `exact_match_ci95`, `n`, `n_scored`, `failed_rounds`, `empty_predictions`,
        `without_reference`; and `by_<group name>` for each group.

    Raises:
        InputError: An argument is malformed, or no row has a reference.

    Warns:
        UndefinedScoreWarning: The mean score is nan because every round failed.
        LeftOutWarning: Rows have no reference.

    Examples:
        >>> judging = Judging(lambda messages, n: ["Score: 4"] * n, rounds=1)
        >>> scores = answer_scores(["bicycle"], ["bike"], ["What does he ride?"], {}, judging)
        >>> scores["mean_score"], scores["exact_match"]
        (4.0, 0.0)
    """
    check_texts(predictions=predictions, references=references, questions=questions)
    rows = rows_with_reference(references)
    items = [
        {"question": questions[row], "reference": references[row], "answer": predictions[row]}
        if predictions[row].strip()
        else None
        for row in rows
    ]
    judged = ask_scores(TEMPLATE, items, SCALE, judging)
    exact = [matches_exactly(predictions[row], references[row]) for row in rows]
    empty = [item is None for item in items]

    def part(where: str, of: Sequence[int]) -> dict[str, Any]:
        return _part(where, judged, exact, empty, of, judging)

    kept = {name: [values[row] for row in rows] for name, values in groups.items()}
    whole = part("overall", range(len(rows))) | {"without_reference": len(references) - len(rows)}
    return whole | map_groups(kept, part)


def _part(
    where: str,
    judged: Sequence[Rounds],
    exact: Sequence[bool],
    empty: Sequence[bool],
    rows: Sequence[int],
    judging: Judging,
) -> dict[str, Any]:
    """Marks of the answers in `rows`; `where` names them in warnings."""
    items, matched = [judged[row] for row in rows], [exact[row] for row in rows]
    try:
        frequencies = score_frequencies(items, SCALE)
    except UndefinedScoreError as error:
        warnings.warn(f"{where}: nan for mean_score: {error}", UndefinedScoreWarning, stacklevel=6)
        frequencies = dict.fromkeys(SCALE, float("nan"))
    replicates = bootstrap_scores([items], judging, part_generator(judging.seed, where))
    return {
        "mean_score": mean_of_frequencies(frequencies),
        "mean_score_ci95": interval_or_nan(replicates[:, 0]),
        "score_distribution": {str(score): share for score, share in frequencies.items()},
        "exact_match": float(np.mean(matched)),
        "exact_match_ci95": list(wilson_interval(sum(matched), len(matched))),
        "n": len(rows),
        "n_scored": sum(map(is_scored, items)),
        "failed_rounds": count_failed(items),
        "empty_predictions": sum(empty[row] for row in rows),
    }
