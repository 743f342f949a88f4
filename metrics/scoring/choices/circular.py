"""CircularEval: a question counts only if it is correct in every pass, with its options in another order each time.

Protocol: MMBench, Sec. 3.1 and Table 2 (https://arxiv.org/abs/2307.06281). The passes are those of the release, see
`circular_passes`; VanillaEval uses only the first pass, rotation 0. Choices that the paper leaves open:

- A question with an incorrect pass is incorrect, even if other passes are missing: the paper skips the passes after an
  incorrect one. A question counts as incomplete only if all its given passes are correct. Incomplete questions are an
  error, or are left out.
- VanillaEval is the share of correct answers among the questions whose rotation 0 was asked, complete or not.
- Early stopping keeps more passes of the questions that are answered correctly. So if passes are missing, the shares of
  letters and extraction steps and the recall by position come from rotation 0, which is always asked. Flip rate and
  position-free accuracy need all passes and are present only if all were given.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.scoring.choices.accuracy import choice_distribution
from eyechart.metrics.scoring.choices.circular_passes import Questions
from eyechart.metrics.scoring.choices.positions import answers_over_passes, position_bias
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, extraction_shares, read_choices
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import check_lengths, check_member, map_groups
from eyechart.metrics.scoring.items import ItemColumns, Items
from eyechart.metrics.scoring.judging.replies import Judge
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval

MISSING = ("error", "drop")


def circular_outcomes(correct: NDArray[np.bool_], questions: Questions, missing: str = "error") -> NDArray[np.float64]:
    """Whether each question is answered correctly in all its passes.

    Args:
        correct: Whether each row is correct, shape (n,).
        questions: The questions that the rows ask.
        missing: What happens to a question with missing passes whose given passes are all correct: "error" or "drop".

    Returns:
        1.0 (correct), 0.0 (incorrect) or nan (dropped) for each question.

    Raises:
        InputError: `missing` is not allowed, or it is "error" and a question is incomplete; the message names the first
            incomplete question and its missing rotations.

    Examples:
        >>> from eyechart.metrics.scoring.choices.circular_passes import find_questions
        >>> options = [["x", "y"], ["y", "x"], ["x", "y"]]
        >>> passes = find_questions(["p", "p", "q"], [0, 1, 0], options)
        >>> circular_outcomes(np.array([True, True, False]), passes).tolist()
        [1.0, 0.0]
        >>> circular_outcomes(np.array([True, False, True]), passes, missing="drop").tolist()
        [0.0, nan]
    """
    check_member("missing", missing, MISSING)
    n = len(questions.ids)
    wrong = np.bincount(questions.of_row, weights=~correct, minlength=n) > 0
    complete = np.bincount(questions.of_row, minlength=n) == questions.n_passes
    incomplete = ~wrong & ~complete
    if missing == "error" and incomplete.any():
        raise InputError(_incomplete(int(np.argmax(incomplete)), questions))
    return np.where(incomplete, np.nan, ~wrong)


def _incomplete(question: int, questions: Questions) -> str:
    asked = set(questions.rotations[questions.of_row == question].tolist())
    missing = [str(place) for place in range(questions.n_passes[question]) if place not in asked]
    return (
        f"rotations: question {questions.ids[question]!r} has no rotation {', '.join(missing)}, "
        f"and its other passes are correct; "
        f"ask the missing passes, or leave out incomplete questions with missing='drop' (in a run, --skip-bad)"
    )


def read_circular(
    predictions: Sequence[str],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    passes: Questions,
    missing: str = "error",
    settings: ExtractionSettings | None = None,
    *,
    questions: Sequence[str] | None = None,
    judge: Judge | None = None,
    finish_reasons: Sequence[str | None] | None = None,
) -> Items:
    """Read the replies to n passes.

    Args:
        predictions: As for `read_choices`.
        references: Letters of the correct options, as shown.
        choices: Option texts of each pass, as shown.
        passes: The questions that the rows ask. A random choice depends on question and rotation.
        missing: As for `circular_outcomes`.
        settings: How replies become choices.
        questions: As for `read_choices`.
        judge: As for `read_choices`.
        finish_reasons: As for `read_choices`.

    Returns:
        The items of `read_choices`, and those of `add_circular`.

    Raises:
        InputError: As for `read_choices` and `circular_outcomes`.
    """
    if judge is not None:
        # A judge may cost money, so incomplete questions that the rules can find are reported before it is asked.
        by_rule = ExtractionSettings(extraction=(settings or ExtractionSettings()).extraction)
        found = read_choices(predictions, references, choices, by_rule, finish_reasons=finish_reasons)
        add_circular(found, passes, missing)
    items = read_choices(
        predictions,
        references,
        choices,
        settings,
        questions=questions,
        judge=judge,
        ids=[passes.ids[number] for number in passes.of_row.tolist()],
        rotations=passes.rotations.tolist(),
        finish_reasons=finish_reasons,
    )
    return add_circular(items, passes, missing)


def add_circular(items: Items, passes: Questions, missing: str = "error") -> Items:
    """The items with the column `circular_correct`.

    Args:
        items: Items of n passes, from `read_choices`.
        passes: The questions that the passes ask.
        missing: As for `circular_outcomes`.

    Returns:
        The items, and whether the question of each row is answered correctly in every pass; None if it is dropped.

    Raises:
        InputError: As for `circular_outcomes`.
    """
    outcomes = circular_outcomes(np.array(items["correct"], dtype=bool), passes, missing).tolist()
    found = [None if math.isnan(outcome) else bool(outcome) for outcome in outcomes]
    return {**items, "circular_correct": [found[number] for number in passes.of_row.tolist()]}


def circular_scores(
    items: ItemColumns,
    passes: Questions,
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    groups: Mapping[str, Sequence[str]] | None = None,
    missing: str = "error",
    settings: ExtractionSettings | None = None,
    clusters: Sequence[str | None] | None = None,
) -> dict[str, Any]:
    """Everything that `circular_eval` returns, overall and by group.

    Args:
        items: Items of n passes, from `read_circular`.
        passes: The questions that the rows ask.
        references: Letters of the correct options, as shown.
        choices: Option texts of each row, as shown.
        groups: Group name to one value per row, checked by `check_question_groups`.
        missing: How incomplete questions were treated, "error" or "drop"; it is copied into the result.
        settings: The settings with which the items were read.
        clusters: Cluster of each row's question, such as its image; None if questions are independent. The passes of a
            question count as one item.

    Returns:
        The scores as plain Python objects, with `by_<group name>` for each group, and the settings. `flip_rate` and
        `position_free_accuracy` are present if no pass is missing.

    Raises:
        InputError: The lengths differ.

    Warns:
        UndefinedScoreWarning: A score is nan because every question was dropped or no question has its rotation 0.
    """
    check_lengths(references=references, choices=choices, circular_correct=items["circular_correct"])
    right = np.array(items["correct"], dtype=bool)
    # None becomes nan.
    outcomes = np.array(items["circular_correct"], dtype=np.float64)[passes.first_rows]
    first = np.zeros(len(passes.of_row), dtype=bool)
    first[passes.first_rows] = True
    complete = bool(passes.n_passes.sum() == len(passes.of_row))
    shared = Clusters.of(clusters, len(references)) if clusters is not None else Clusters(passes.of_row)
    letters, steps, correct = (
        np.array(column, dtype=object) for column in (items["choice"], items["step"], references)
    )
    over_passes = answers_over_passes(items["choice"], references, choices, passes.of_row) if complete else {}

    def part(where: str, rows: Sequence[int]) -> dict[str, Any]:
        of_part = np.asarray(rows, dtype=np.int64)
        unrotated = of_part[passes.rotations[of_part] == 0]
        # All rows of a question are in the same part.
        numbers = passes.of_row[of_part[first[of_part]]]
        scored = numbers[~np.isnan(outcomes[numbers])]
        of_scored = shared.select(passes.first_rows[scored])
        listed = of_part if complete else unrotated
        right_letters = correct[listed].tolist()
        shares = _shares(where, (outcomes[scored], right[unrotated]), (of_scored, shared.select(unrotated)))
        if complete:
            together = {name: values[numbers] for name, values in over_passes.items()}
            shares = _joined(shares, together, shared.select(passes.first_rows[numbers]))
        scores = {
            **shares,
            "random_guess": float(np.mean(passes.chance[scored])) if len(scored) else float("nan"),
            "n_questions": len(scored),
            "n_vanilla": len(unrotated),
            "n_passes": len(of_part),
            "dropped": len(numbers) - len(scored),
            "extraction": extraction_shares(steps[listed].tolist()),
            "choice_distribution": choice_distribution(
                letters[listed].tolist(), right_letters, int(passes.n_options[numbers].max())
            ),
            **position_bias(
                right[listed],
                right_letters,
                [len(choices[row]) for row in listed],
                # The passes of a question always belong together, even if no other question shares its image.
                shared.select(passes.first_rows[passes.of_row[listed]]),
            ),
        }
        return scores if where == "overall" else scores | {"n": len(scored)}

    whole = part("overall", range(len(passes.of_row)))
    whole["distribution_over"] = "all passes" if complete else "rotation 0"
    settings = settings or ExtractionSettings()
    applying = settings.applying(items["judge_failed_rounds"], items["step"])
    return whole | map_groups(groups or {}, part) | {"missing": missing} | applying


def _shares(
    where: str, right: tuple[NDArray[Any], NDArray[Any]], clusters: tuple[Clusters, Clusters]
) -> dict[str, Any]:
    """The scores of CircularEval and VanillaEval with their intervals; nan, with a warning, without questions."""
    scores: dict[str, float] = {}
    intervals: dict[str, Interval] = {}
    nothing = "every question was dropped", "no question has its rotation 0"
    names = "circular_accuracy", "vanilla_accuracy"
    for name, flags, shared, why in zip(names, right, clusters, nothing, strict=True):
        if not len(flags):
            warnings.warn(f"{where}: {name} and {name}_ci95 are nan because {why}", UndefinedScoreWarning, stacklevel=5)
        scores[name] = float(flags.mean()) if len(flags) else float("nan")
        intervals[name] = share_interval(flags, shared)
    return scores | listed_intervals(intervals)


def _joined(scores: dict[str, Any], values: Mapping[str, NDArray[Any]], clusters: Clusters) -> dict[str, Any]:
    """Add the means of further values of the questions, with their intervals, to the scores."""
    more = listed_intervals({name: share_interval(of_questions, clusters) for name, of_questions in values.items()})
    means = {name: float(of_questions.mean()) for name, of_questions in values.items()}
    return {**scores, **means, **more, "intervals": scores["intervals"] | more["intervals"]}
