"""Self-awareness: questions that are answered right, or rightly refused, where "I don't know" is one of the options.

Protocol: QL-Bench, Sec. III-A and III-C (https://arxiv.org/abs/2409.09748). Every question is asked with the refusal
option; a refused one is asked again without it, and is unknown to the model if it then answers wrong. What the paper
leaves open:

- A reply that names no option, or matches none as a judge finds (X), is neither right nor a refusal, so the answer
  rate counts it as an answer.
- A refused question whose forced reply names no option is not known to be unknown: it is counted apart and does not
  enter score_rc, unless `unreadable_forced` is "wrong", which is Eq. 3 to the letter.
- The forced pass shows the options in the same order, without the refusal. Its letters are those of the shorter list.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.scoring.choices.accuracy import choice_distribution, random_guess
from eyechart.metrics.scoring.choices.decisions import (
    Decisions,
    Extraction,
    check_rows,
    decide_checked,
    extraction_shares,
)
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import check_lengths, check_letter, check_member, map_groups
from eyechart.metrics.scoring.statistics.intervals import wilson_interval

UNREADABLE_FORCED = ("apart", "wrong")


@dataclass(frozen=True)
class Passes:
    """What became of n questions.

    Attributes:
        first: Of the replies given with the refusal option.
        refused: Whether each of them is the refusal, shape (n,).
        forced: Of the replies given without it, to the refused questions alone; their letters are those of the lists
            without the refusal.
        silent: Whether each of these is "", as of a request that failed, shape (n refused,).
    """

    first: Decisions
    refused: NDArray[np.bool_]
    forced: Decisions
    silent: NDArray[np.bool_]


def without_refusal(options: Sequence[str], refusal: str) -> list[str]:
    """The options that the forced pass shows.

    Args:
        options: Option texts with the refusal, in the order shown.
        refusal: The refusal's letter among them.

    Examples:
        >>> without_refusal(["Bright", "I don't know", "Dark"], "B")
        ['Bright', 'Dark']
    """
    place = ascii_uppercase.index(refusal)
    return [*options[:place], *options[place + 1 :]]


def forced_letter(letter: str, refusal: str) -> str:
    """The letter that an option has once the refusal is left out.

    Examples:
        >>> forced_letter("A", "B"), forced_letter("C", "B")
        ('A', 'B')
    """
    return ascii_uppercase[ascii_uppercase.index(letter) - (letter > refusal)]


def decide_passes(
    predictions: Sequence[str],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    refusals: Sequence[str],
    forced_predictions: Sequence[str | None],
    extraction: Extraction,
) -> Passes:
    """Decide every question, and the forced reply to every refused one.

    Args:
        predictions: Raw replies to the questions with the refusal option; "" is a failed or empty response.
        references: Letters of the correct options.
        choices: Option texts of each question, the refusal among them.
        refusals: Letters of the refusal options.
        forced_predictions: Raw replies to the same questions shown `without_refusal`; None where not asked. Only those
            to refused questions are read. Where the refusal itself was drawn at random, a missing one is "".
        extraction: How replies become choices.

    Raises:
        InputError: An argument is malformed; the message names it and the first offending row.

    Examples:
        >>> options = [["Bright", "I don't know", "Dark"]] * 3
        >>> replies, forced = ["Bright", "I don't know", "B"], [None, "B", "Bright"]
        >>> found = decide_passes(replies, ["A", "C", "C"], options, ["B"] * 3, forced, Extraction())
        >>> found.refused.tolist(), found.forced.letters, found.forced.correct.tolist()
        ([False, True, True], ['B', 'A'], [True, False])
    """
    check_rows(predictions, references, choices, extraction)
    _check_refusals(predictions, references, choices, refusals, forced_predictions)
    if extraction.judge is not None:
        # What can be refused is refused before the judge is asked, whose replies may cost money.
        by_rule = decide_checked(predictions, references, choices, replace(extraction, judge=None, fallback="wrong"))
        _refused_rows(by_rule, refusals, forced_predictions)
    first = decide_checked(predictions, references, choices, extraction)
    rows = _refused_rows(first, refusals, forced_predictions)
    shown = [without_refusal(choices[row], refusals[row]) for row in rows]
    replies = [forced_predictions[row] or "" for row in rows]
    forced = decide_checked(
        replies,
        [forced_letter(references[row], refusals[row]) for row in rows],
        shown,
        replace(
            extraction,
            questions=None if extraction.questions is None else [extraction.questions[row] for row in rows],
            # A random choice depends on its row, not on how many were refused before it.
            question_ids=[str(row) for row in rows],
        ),
    )
    refused = np.zeros(len(predictions), dtype=bool)
    refused[rows] = True
    return Passes(first, refused, forced, np.array([not reply for reply in replies], dtype=bool))


def self_awareness_scores(
    passes: Passes,
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    groups: Mapping[str, Sequence[str]],
    unreadable_forced: str = "apart",
) -> dict[str, Any]:
    """All scores of `self_awareness`, overall and by group.

    Args:
        passes: What became of the n questions.
        references: Letters of the correct options.
        choices: Option texts of each question, the refusal among them.
        groups: Group name to one value per question.
        unreadable_forced: What a forced reply that names no option is: "apart", counted and not in score_rc, or
            "wrong", as in Eq. 3, by which all that is not the right answer is wrong. "", which stands for a request
            that failed, stays apart.

    Returns:
        The scores as plain Python, with `by_<group name>` for each group. `forced_extraction` is there where a question
        was refused.

    Warns:
        UndefinedScoreWarning: `answer_accuracy` is nan, because every question was refused.
    """
    check_member("unreadable_forced", unreadable_forced, UNREADABLE_FORCED)
    forced_row = np.cumsum(passes.refused) - 1
    open_first, open_forced = _names_no_option(passes.first), _names_no_option(passes.forced)
    apart = open_forced if unreadable_forced == "apart" else open_forced & passes.silent

    def part(where: str, rows: Sequence[int]) -> dict[str, Any]:
        of_part = np.asarray(rows, dtype=np.int64)
        again = forced_row[of_part[passes.refused[of_part]]]
        if len(again) == len(of_part):
            message = f"{where}: answer_accuracy and answer_accuracy_ci95 are nan, as every question was refused"
            warnings.warn(message, UndefinedScoreWarning, stacklevel=4)
        unknown = ~passes.forced.correct[again] & ~apart[again]
        shares = awareness_shares(
            n=len(of_part),
            n_refused=len(again),
            right=int(passes.first.correct[of_part].sum()),
            rightly_refused=int(unknown.sum()),
        )
        steps = {"forced_extraction": extraction_shares([passes.forced.steps[row] for row in again])}
        return {
            **shares,
            "random_guess": random_guess([len(choices[row]) - 1 for row in rows]),
            "n": len(of_part),
            "n_refused": len(again),
            "unmatched": int(open_first[of_part].sum()),
            "forced_unmatched": int(open_forced[again].sum()),
            "extraction": extraction_shares([passes.first.steps[row] for row in rows]),
            **(steps if len(again) else {}),
            "choice_distribution": choice_distribution(
                [passes.first.letters[row] for row in rows],
                [references[row] for row in rows],
                max(len(choices[row]) for row in rows),
            ),
        }

    return part("overall", range(len(references))) | map_groups(groups, part)


def awareness_shares(n: int, n_refused: int, right: int, rightly_refused: int) -> dict[str, float | list[float]]:
    """Self-awareness of n questions, with 95 % Wilson intervals.

    Args:
        n: Number of questions, at least 1.
        n_refused: Number of those that were refused.
        right: Number of those whose first reply is right, at most n - n_refused.
        rightly_refused: Number of the refused ones whose forced reply is wrong.

    Returns:
        In percent, 100 is best: `score_cc`, the right answers (Eq. 1), `score_rc`, the questions that were rightly
        refused (Eq. 2), and `score_sa`, their sum (Eq. 4). In [0, 1]: `answer_accuracy`, the right answers as a share
        of the questions not refused (Eq. 5; 1 is best, nan where all were refused), and `answer_rate`, the share of
        the questions not refused (Eq. 6; a high one is no merit by itself). Each with its interval, `<name>_ci95`.

    Raises:
        InputError: The counts do not fit together.

    Examples:
        >>> found = awareness_shares(n=8, n_refused=4, right=3, rightly_refused=1)
        >>> found["score_cc"], found["score_rc"], found["score_sa"], found["answer_rate"], found["answer_accuracy"]
        (37.5, 12.5, 50.0, 0.5, 0.75)
    """
    answered = n - n_refused
    if n < 1 or not (0 <= right <= answered and 0 <= rightly_refused <= n_refused):
        raise InputError(
            f"n={n}, n_refused={n_refused}, right={right}, rightly_refused={rightly_refused}; needed: n >= 1, "
            "0 <= right <= n - n_refused and 0 <= rightly_refused <= n_refused"
        )
    counted = {"score_cc": right, "score_rc": rightly_refused, "score_sa": right + rightly_refused}
    percent = {name: 100 * count / n for name, count in counted.items()}
    ends = {name: [100 * end for end in wilson_interval(count, n)] for name, count in counted.items()}
    return {
        **percent,
        "answer_rate": answered / n,
        "answer_accuracy": right / answered if answered else float("nan"),
        **{f"{name}_ci95": interval for name, interval in ends.items()},
        "answer_rate_ci95": list(wilson_interval(answered, n)),
        "answer_accuracy_ci95": list(wilson_interval(right, answered)) if answered else [float("nan")] * 2,
    }


def _names_no_option(decisions: Decisions) -> NDArray[np.bool_]:
    """Rows without a letter, unless a judge's vote found them wrong without naming one."""
    undecided = [
        letter is None and step != "judge" for letter, step in zip(decisions.letters, decisions.steps, strict=True)
    ]
    return np.array(undecided, dtype=bool) | decisions.matches_none


def _refused_rows(decisions: Decisions, refusals: Sequence[str], forced_predictions: Sequence[str | None]) -> list[int]:
    """Rows that choose the refusal; all but those drawn at random need a forced reply."""
    rows = [row for row, letter in enumerate(decisions.letters) if letter == refusals[row]]
    for row in rows:
        if forced_predictions[row] is None and decisions.steps[row] != "random":
            raise InputError(
                f"forced_predictions[{row}] is None, but predictions[{row}] chooses the refusal {refusals[row]!r}; "
                "ask that question again without the refusal option"
            )
    return rows


def _check_refusals(
    predictions: Sequence[str],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    refusals: Sequence[str],
    forced_predictions: Sequence[str | None],
) -> None:
    check_lengths(predictions=predictions, refusals=refusals, forced_predictions=forced_predictions)
    for row, (refusal, forced) in enumerate(zip(refusals, forced_predictions, strict=True)):
        check_letter("refusals", row, refusal, len(choices[row]))
        if refusal == references[row]:
            raise InputError(
                f"references[{row}] and refusals[{row}] are both {refusal!r}; the refusal is never the correct option"
            )
        if forced is not None and not isinstance(forced, str):
            raise InputError(f"forced_predictions[{row}] is {forced!r}; it must be a string, or None where not asked")
