"""Scores of multiple-choice answers: accuracy, chance level, yes/no bias and the distribution of letters.

Protocol: Q-Bench, Tables 2, 7 and 8; MMBench, Fig. 4. Departure: the text of its correct answer, not its `type` column,
says whether a row is a yes or no question (in LLVisionQA dev, the correct answer of four rows of type 0 is Clear or
Good).
"""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring.choices.options import right_text
from eyechart.metrics.scoring.choices.positions import position_bias
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, extraction_shares
from eyechart.metrics.scoring.choices.text import comparison_key
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import check_lengths, map_groups
from eyechart.metrics.scoring.items import ItemColumns
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters, balanced_interval, share_interval

NO_LETTER = "none"


def random_guess(n_options: Sequence[float]) -> float:
    """Accuracy expected from guessing: the mean of 1 / number of options per accepted option.

    Examples:
        >>> random_guess([2, 4])
        0.375
    """
    check_lengths(n_options=n_options)
    return float(np.mean(1.0 / np.asarray(n_options, dtype=np.float64)))


def yes_no_scores(correct: ArrayLike, answers: Sequence[str]) -> dict[str, Any] | None:
    """Accuracy on rows with the answer yes, on rows with the answer no, on all of them, and the mean of the first two.

    Protocol: Q-Bench, Table 8.

    Args:
        correct: Whether each row is correct, shape (n,).
        answers: Text of each row's correct option.

    Returns:
        `yes`, `no`, `all` and `mean`, in [0, 1]; a bias to one answer does not raise `mean`. Also `n_yes` and `n_no`.
        If only one of the two answers occurs, the other one and the mean are nan. None if no answer is yes or no.

    Examples:
        >>> yes_no_scores([True, False, False, True], ["Yes", "No", "No", "Red"])
        {'yes': 1.0, 'no': 0.0, 'all': 0.3333333333333333, 'mean': 0.5, 'n_yes': 1, 'n_no': 2}
    """
    flags = np.asarray(correct, dtype=bool)
    yes, no = (flags[rows] for rows in _yes_and_no(answers))
    if not len(yes) and not len(no):
        return None
    scores = [float(side.mean()) if len(side) else float("nan") for side in (yes, no)]
    both = float(np.concatenate([yes, no]).mean())
    counts = {"n_yes": len(yes), "n_no": len(no)}
    return {"yes": scores[0], "no": scores[1], "all": both, "mean": sum(scores) / 2, **counts}


def choice_distribution(
    predicted: Sequence[str | None], correct: Sequence[str], n_letters: int
) -> dict[str, dict[str, float]]:
    """Shares of each letter among the predicted and among the correct choices (MMBench, Fig. 4).

    Args:
        predicted: Letters, None for a row without a choice.
        correct: Letters of the correct options; several accepted options share their row equally.
        n_letters: Number of letters to list.

    Returns:
        `predicted` and `correct`, each a dict from letter to share. The shares sum to 1; those of `predicted` include
        "none". Without rows, the shares are nan.

    Examples:
        >>> choice_distribution(["A", None], ["A", "B"], 2)
        {'predicted': {'A': 0.5, 'B': 0.0, 'none': 0.5}, 'correct': {'A': 0.5, 'B': 0.5}}
    """
    # Without rows, dividing by nan makes every share nan.
    n = check_lengths(predicted=predicted, correct=correct) if predicted or correct else float("nan")
    letters = ascii_uppercase[:n_letters]
    said = Counter(predicted)
    return {
        "predicted": {letter: said[letter] / n for letter in letters} | {NO_LETTER: said[None] / n},
        "correct": {letter: sum((letter in one) / len(one) for one in correct) / n for letter in letters},
    }


def choice_scores(
    items: ItemColumns,
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    groups: Mapping[str, Sequence[str]] | None = None,
    settings: ExtractionSettings | None = None,
    clusters: Sequence[str | None] | None = None,
) -> dict[str, Any]:
    """Everything that `choice_accuracy` returns, overall and by group.

    Args:
        items: `choice`, `step`, `correct` and `judge_failed_rounds` of n rows, from `read_choices`.
        references: Letters of the correct options; "AC" if A and C are both accepted.
        choices: Option texts of each row.
        groups: Group name to one value per row.
        settings: The settings with which the items were read.
        clusters: Cluster of each row, such as its image; None if rows are independent.

    Returns:
        The scores as plain Python objects, with `by_<group name>` for each group, and the settings. `yes_no` is present
        if a correct answer is yes or no; in a group, only if both occur. `position_bias` is present if the correct
        options have at least two positions.

    Raises:
        InputError: The lengths differ, or there are no rows.

    Warns:
        UndefinedScoreWarning: All yes/no rows have the same answer.
    """
    check_lengths(references=references, choices=choices, correct=items["correct"])
    settings = settings or ExtractionSettings()
    shared = Clusters.of(clusters, len(references))

    def part(_: str, rows: Sequence[int]) -> dict[str, Any]:
        return _scores_of(rows, items, references, choices, shared)

    scores = part("overall", range(len(references)))
    if "yes_no" in scores and not (scores["yes_no"]["n_yes"] and scores["yes_no"]["n_no"]):
        warnings.warn(
            "yes_no: only one of the answers yes and no occurs, so the accuracy of the other one and the mean are nan",
            UndefinedScoreWarning,
            stacklevel=2,
        )
    by_group = map_groups(groups or {}, part)
    for values in by_group.values():
        for found in values.values():
            if "yes_no" in found and not (found["yes_no"]["n_yes"] and found["yes_no"]["n_no"]):
                del found["yes_no"], found["intervals"]["yes_no.mean"]
    return scores | by_group | settings.applying(items["judge_failed_rounds"], items["step"])


def _scores_of(
    rows: Sequence[int],
    items: ItemColumns,
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    clusters: Clusters,
) -> dict[str, Any]:
    n, flags = len(rows), [items["correct"][row] for row in rows]
    right_letters, answers, sizes = [references[row] for row in rows], list[str](), list[int]()
    # The options of a million rows may be unpacked as they are read.
    for letters, options in zip(right_letters, map(choices.__getitem__, rows), strict=True):
        answers.append(right_text(letters, options))
        sizes.append(len(options))
    # Several accepted options have no single position.
    single = [place for place, right in enumerate(right_letters) if len(right) == 1]
    shared = clusters.select(rows)
    found = listed_intervals({"accuracy": share_interval(flags, shared)})
    yes_no = yes_no_scores(flags, answers)
    if yes_no is not None:
        interval = _balanced(np.array(flags, dtype=bool), answers, shared)
        yes_no["mean_ci95"] = [interval.low, interval.high]
        found["intervals"]["yes_no.mean"] = interval.described()
    return {
        "accuracy": sum(flags) / n,
        **found,
        "random_guess": random_guess([size / len(right) for size, right in zip(sizes, right_letters, strict=True)]),
        "n": n,
        **({} if yes_no is None else {"yes_no": yes_no}),
        "extraction": extraction_shares([items["step"][row] for row in rows]),
        "choice_distribution": choice_distribution([items["choice"][row] for row in rows], right_letters, max(sizes)),
        **position_bias(
            [flags[row] for row in single],
            [right_letters[row] for row in single],
            [sizes[row] for row in single],
            shared.select(single),
        ),
    }


def _yes_and_no(answers: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows where the answer is yes, and where it is no."""
    keys = [comparison_key(answer) for answer in answers]
    yes, no = (np.flatnonzero([key == answer for key in keys]) for answer in ("yes", "no"))
    return yes, no


def _balanced(flags: NDArray[np.bool_], answers: Sequence[str], clusters: Clusters) -> Interval:
    """Interval of the mean of the accuracies where the answer is yes and where it is no."""
    yes, no = _yes_and_no(answers)
    return balanced_interval(flags[yes], flags[no], clusters.select(yes), clusters.select(no))
