"""Scores of multiple-choice answers: accuracy, chance level, yes/no bias and the distribution of letters.

Protocol: Q-Bench, Tables 2, 7 and 8; MMBench, Fig. 4. Departure: the text of its correct answer, not its `type` column,
says whether a row is a yes or no question (in LLVisionQA dev, the correct answer of four rows of type 0 is Clear or
Good).
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np

from eyechart.metrics.scoring.choices.options import right_text
from eyechart.metrics.scoring.choices.positions import position_bias
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies, extraction_shares
from eyechart.metrics.scoring.choices.text import comparison_key
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import ItemColumns, map_groups
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters, balanced_interval, share_interval


def random_guess(n_options: Sequence[float]) -> float:
    """Accuracy expected from guessing: the mean of 1 / number of options per accepted option."""
    return float(np.mean(1.0 / np.asarray(n_options, dtype=np.float64)))


def choice_distribution(
    predicted: Sequence[str | None], correct: Sequence[str], n_letters: int
) -> dict[str, dict[str, float]]:
    """Shares of each letter among the predicted and among the correct choices (MMBench, Fig. 4).

    The shares sum to 1; those of `predicted` include "none". Several accepted options share their row equally. Without
    rows, the shares are nan.
    """
    n = len(correct) or float("nan")
    letters = ascii_uppercase[:n_letters]
    said = Counter(predicted)
    return {
        "predicted": {letter: said[letter] / n for letter in letters} | {"none": said[None] / n},
        "correct": {letter: sum((letter in one) / len(one) for one in correct) / n for letter in letters},
    }


def reply_shares(
    items: ItemColumns, replies: Replies, rows: Sequence[int], clusters: Clusters, n_letters: int
) -> dict[str, Any]:
    """How some rows were read, which letters they name, and whether the position of the right option matters."""
    # Several accepted options have no single position.
    single = [row for row in rows if len(replies.references[row]) == 1]
    return {
        "extraction": extraction_shares([items["step"][row] for row in rows]),
        "choice_distribution": choice_distribution(
            [items["choice"][row] for row in rows], [replies.references[row] for row in rows], n_letters
        ),
        **position_bias(
            [items["correct"][row] for row in single],
            [replies.references[row] for row in single],
            [replies.sizes[row] for row in single],
            clusters.select(single),
        ),
    }


def choice_scores(items: ItemColumns, replies: Replies, settings: ExtractionSettings | None = None) -> dict[str, Any]:
    """Everything that `choice_accuracy` returns, overall and by group, from the items of `read_choices`.

    The texts of the replies are not needed. `settings` are those with which they were read. In a group, `yes_no` is
    present only if both answers occur. A mean without one of them is nan, with a warning.
    """
    settings, clusters, sizes = settings or ExtractionSettings(), replies.together, replies.sizes
    answers = [comparison_key(right_text(*row)) for row in zip(replies.references, replies.choices, strict=True)]

    def part(where: str, rows: Sequence[int]) -> dict[str, Any]:
        right = [items["correct"][row] for row in rows]
        scores: dict[str, Any] = {
            "accuracy": sum(right) / len(rows),
            **listed_intervals({"accuracy": share_interval(right, clusters.select(rows))}),
            "random_guess": random_guess([sizes[row] / len(replies.references[row]) for row in rows]),
            "n": len(rows),
        }
        yes, no = ([row for row in rows if answers[row] == answer] for answer in ("yes", "no"))
        if (yes and no) or (where == "overall" and (yes or no)):
            scores["yes_no"], interval = _yes_no(items["correct"], yes, no, clusters)
            scores["intervals"]["yes_no.mean"] = interval.described()
        return scores | reply_shares(items, replies, rows, clusters, max(sizes[row] for row in rows))

    scores = part("overall", range(len(answers)))
    by_group = map_groups(replies.groups or {}, part)
    return scores | by_group | settings.applying(items["judge_failed_rounds"], items["step"])


def _yes_no(
    correct: Sequence[bool], yes: Sequence[int], no: Sequence[int], clusters: Clusters
) -> tuple[dict[str, Any], Interval]:
    """Accuracy on rows with the answer yes, with the answer no, on all of them, and the mean of the former two.

    A bias to one answer does not raise the mean. Without rows of one answer, its accuracy and the mean are nan.
    """
    if not yes or not no:
        message = "only one of the answers yes and no occurs, so the accuracy of the other one and the mean are nan"
        warnings.warn(f"yes_no: {message}", UndefinedScoreWarning, stacklevel=4)
    sides = [np.array([correct[row] for row in rows], dtype=bool) for rows in (yes, no)]
    shares = [float(side.mean()) if len(side) else float("nan") for side in sides]
    interval = balanced_interval(sides[0], sides[1], clusters.select(yes), clusters.select(no))
    scores = {"yes": shares[0], "no": shares[1], "all": float(np.concatenate(sides).mean()), "mean": sum(shares) / 2}
    counts = {"n_yes": len(yes), "n_no": len(no)}
    return {**scores, **counts, "mean_ci95": [interval.low, interval.high]}, interval
