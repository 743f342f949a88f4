"""Self-awareness: questions answered correctly or rightly refused, if "I don't know" is one of the options.

Protocol: QL-Bench, Sec. III-A and III-C (https://arxiv.org/abs/2409.09748). Every question is asked with the refusal
option. A refused question is asked again without it (the forced pass); if the model then answers incorrectly, the
refusal was right. Choices that the paper leaves open:

- A first reply that names no option, according to the rules or the judge (X), is neither correct nor a refusal. The
  answer rate counts it as an answer.
- If the forced reply names no option, it is not known whether the refusal was right. The question is counted separately
  and not in score_rc, unless `unreadable_forced` is "wrong", which follows Eq. 3 literally.
- The forced pass shows the other options in the same order. Its letters are those of the shorter list.
"""

import warnings
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.choices.accuracy import random_guess, reply_shares
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies, extraction_shares, read_choices
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import ItemColumns, Items, check_member, map_groups
from eyechart.metrics.scoring.judging.replies import Judge
from eyechart.metrics.scoring.statistics.intervals import listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval

OUTCOMES = ("right answer", "wrong answer", "right refusal", "wrong refusal", "unreadable")


def without_refusal(options: Sequence[str], refusal: str) -> list[str]:
    """The options that the forced pass shows: all but the refusal."""
    place = ascii_uppercase.index(refusal)
    return [*options[:place], *options[place + 1 :]]


def forced_letter(letter: str, refusal: str) -> str:
    """The letter of an option after the refusal is left out."""
    return ascii_uppercase[ascii_uppercase.index(letter) - (letter > refusal)]


def answer_outcome(correct: bool, is_unreadable: bool) -> str:
    """The outcome of a question that was not refused."""
    return OUTCOMES[0] if correct else OUTCOMES[4] if is_unreadable else OUTCOMES[1]


def refusal_outcome(forced_correct: bool, is_apart: bool) -> str:
    """The outcome of a refused question; `is_apart`: the forced reply counts as neither correct nor incorrect."""
    return OUTCOMES[3] if forced_correct else OUTCOMES[4] if is_apart else OUTCOMES[2]


def read_self_awareness(
    replies: Replies,
    settings: ExtractionSettings | None = None,
    judge: Judge | None = None,
    unreadable_forced: str = "apart",
) -> Items:
    """Read the replies to questions with a refusal option, and the forced replies to refused questions.

    If the refusal was drawn at random, a missing forced reply counts as "". A forced reply that names no option counts
    as neither correct nor incorrect ("apart"), or as "wrong", as in Eq. 3, where everything except the correct answer
    is incorrect. "", a failed request, always counts as "apart". The metric's card has the columns.

    Examples:
        >>> first, forced = ["Bright", "I don't know", "B"], [None, "B", "Bright"]
        >>> given = {"choices": [["Bright", "I don't know", "Dark"]] * 3, "refusals": ["B"] * 3}
        >>> items = read_self_awareness(Replies(first, ["A", "C", "C"], forced_predictions=forced, **given))
        >>> items["forced_choice"], items["outcome"]
        ([None, 'C', 'A'], ['right answer', 'wrong refusal', 'right refusal'])
    """
    settings = settings or ExtractionSettings()
    check_member("unreadable_forced", unreadable_forced, ("apart", "wrong"))
    if judge is not None:
        # A judge may cost money, so a missing reply that the rules can find is reported before it is asked.
        _refused(read_choices(replies, ExtractionSettings(extraction=settings.extraction)), replies)
    items = read_choices(replies, settings, judge)
    rows = _refused(items, replies)
    found: Items = {f"forced_{name}": [None] * len(items["step"]) for name in ("choice", "step", "judge_failed_rounds")}
    found["outcome"] = [
        answer_outcome(correct, settings.is_unreadable(choice, step))
        for choice, step, correct in zip(items["choice"], items["step"], items["correct"], strict=True)
    ]
    forced = read_choices(_forced(replies, rows), settings, judge) if rows else items
    for place, row in enumerate(rows):
        choice, step, refusal = forced["choice"][place], forced["step"][place], (replies.refusals or ())[row]
        # Letters after the refusal are one further among all options.
        moved = choice and ascii_uppercase[ascii_uppercase.index(choice) + (choice >= refusal)]
        found["forced_choice"][row], found["forced_step"][row] = moved, step
        found["forced_judge_failed_rounds"][row] = forced["judge_failed_rounds"][place]
        has_failed = not (replies.forced_predictions or ())[row]
        is_apart = settings.is_unreadable(choice, step) and (unreadable_forced == "apart" or has_failed)
        found["outcome"][row] = refusal_outcome(forced["correct"][place], is_apart)
    return {**items, **found}


def _refused(items: Items, replies: Replies) -> list[int]:
    """Rows that are refused; each must have a forced reply unless the refusal was drawn at random."""
    rows = []
    columns = replies.references, replies.refusals or (), replies.forced_predictions or ()
    for row, (reference, refusal, forced) in enumerate(zip(*columns, strict=True)):
        if len(reference + refusal) > 2 or refusal == reference:
            raise InputError(
                f"references[{row}] is {reference!r} and refusals[{row}] is {refusal!r}; they must be two letters"
            )
        if items["choice"][row] != refusal:
            continue
        if forced is None and items["step"][row] != "random":
            raise InputError(
                f"forced_predictions[{row}] is None, but predictions[{row}] chooses the refusal {refusal!r}; "
                "ask that question again without the refusal option"
            )
        rows.append(row)
    return rows


def _forced(replies: Replies, rows: Sequence[int]) -> Replies:
    """The forced replies to some questions."""
    refusals, texts, ends = replies.refusals or (), replies.forced_predictions or (), replies.forced_finish_reasons
    return Replies(
        [texts[row] or "" for row in rows],
        [forced_letter(replies.references[row], refusals[row]) for row in rows],
        [without_refusal(replies.choices[row], refusals[row]) for row in rows],
        None if ends is None else [ends[row] for row in rows],
        None if replies.questions is None else [replies.questions[row] for row in rows],
        # A random choice depends on its row, not on the number of refusals before it.
        question_ids=rows,
    )


def self_awareness_scores(
    items: ItemColumns,
    replies: Replies,
    settings: ExtractionSettings | None = None,
    unreadable_forced: str = "apart",
) -> dict[str, Any]:
    """Everything that `self_awareness` returns, overall and by group, from the items of `read_self_awareness`.

    The texts of the replies are not needed. `settings` and `unreadable_forced` are those with which they were read.
    `answer_accuracy` is nan, with a warning, if every question was refused.
    """
    settings = settings or ExtractionSettings()

    def part(where: str, rows: Sequence[int]) -> dict[str, Any]:
        sizes, clusters = [replies.sizes[row] for row in rows], replies.together
        is_refused = [items["forced_step"][row] is not None for row in rows]
        refused = [row for row, flag in zip(rows, is_refused, strict=True) if flag]
        if all(is_refused):
            message = f"{where}: answer_accuracy and answer_accuracy_ci95 are nan because every question was refused"
            warnings.warn(message, UndefinedScoreWarning, stacklevel=4)
        steps = {"forced_extraction": extraction_shares([items["forced_step"][row] for row in refused])}

        def unreadable(kind: str, among: Sequence[int]) -> int:
            columns = items[f"{kind}choice"], items[f"{kind}step"]
            return sum(settings.is_unreadable(*(column[row] for column in columns)) for row in among)

        return {
            **awareness_shares(is_refused, [items["outcome"][row] for row in rows], clusters.select(rows)),
            "random_guess": random_guess([size - 1 for size in sizes]),
            "n": len(rows),
            "n_refused": len(refused),
            "unmatched": unreadable("", rows),
            "forced_unmatched": unreadable("forced_", refused),
            **(steps if refused else {}),
            **reply_shares(items, replies, rows, clusters, max(sizes)),
        }

    failed_rounds = [*items["judge_failed_rounds"], *items["forced_judge_failed_rounds"]]
    applying = settings.applying(failed_rounds, [*items["step"], *items["forced_step"]])
    if unreadable_forced == "wrong":
        applying["unreadable_forced"] = "wrong"
    return part("overall", range(len(replies.references))) | map_groups(replies.groups or {}, part) | applying


def awareness_shares(refused: ArrayLike, outcomes: Sequence[str], clusters: Clusters) -> dict[str, Any]:
    """Self-awareness of n questions, with 95 % intervals.

    In percent (100 is best): `score_cc`, the questions answered correctly (Eq. 1); `score_rc`, those rightly refused
    (Eq. 2); and `score_sa`, their sum (Eq. 4). In [0, 1]: `answer_accuracy`, the share of correct answers among the
    questions not refused (Eq. 5; 1 is best, nan if all were refused); and `answer_rate`, the share of questions not
    refused (Eq. 6; neither end is better).
    """
    answered, found = ~np.asarray(refused, dtype=bool), np.array(outcomes)
    n = len(found)
    right, rightly_refused = found == OUTCOMES[0], found == OUTCOMES[2]
    counted = {"score_cc": right, "score_rc": rightly_refused, "score_sa": right | rightly_refused}
    shares = {**counted, "answer_rate": answered, "answer_accuracy": right[answered]}
    intervals = {
        name: share_interval(flags, clusters.select(answered) if name == "answer_accuracy" else clusters).scaled(
            100 if name in counted else 1
        )
        for name, flags in shares.items()
    }
    return {
        **{name: 100 * int(flags.sum()) / n for name, flags in counted.items()},
        "answer_rate": int(answered.sum()) / n,
        "answer_accuracy": int(right[answered].sum()) / int(answered.sum()) if answered.any() else float("nan"),
        **listed_intervals(intervals),
    }
