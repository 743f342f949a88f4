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
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.choices.accuracy import choice_distribution, random_guess
from eyechart.metrics.scoring.choices.positions import position_bias
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, extraction_shares, read_choices
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import check_lengths, check_letter, check_member, map_groups
from eyechart.metrics.scoring.items import ItemColumns, Items
from eyechart.metrics.scoring.judging.replies import Judge
from eyechart.metrics.scoring.statistics.intervals import listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval

UNREADABLE_FORCED = ("apart", "wrong")
OUTCOMES = ("right answer", "wrong answer", "right refusal", "wrong refusal", "unreadable")


def without_refusal(options: Sequence[str], refusal: str) -> list[str]:
    """The options that the forced pass shows.

    Args:
        options: Option texts including the refusal, in the order shown.
        refusal: The refusal's letter.

    Examples:
        >>> without_refusal(["Bright", "I don't know", "Dark"], "B")
        ['Bright', 'Dark']
    """
    place = ascii_uppercase.index(refusal)
    return [*options[:place], *options[place + 1 :]]


def forced_letter(letter: str, refusal: str) -> str:
    """The letter of an option after the refusal is left out.

    Examples:
        >>> forced_letter("A", "B"), forced_letter("C", "B")
        ('A', 'B')
    """
    return ascii_uppercase[ascii_uppercase.index(letter) - (letter > refusal)]


def answer_outcome(correct: bool, is_unreadable: bool) -> str:
    """The outcome of a question that was not refused."""
    return OUTCOMES[0] if correct else OUTCOMES[4] if is_unreadable else OUTCOMES[1]


def refusal_outcome(forced_correct: bool, is_apart: bool) -> str:
    """The outcome of a refused question.

    Args:
        forced_correct: Whether the forced reply is correct.
        is_apart: Whether the forced reply names no option, and counts as neither correct nor incorrect.
    """
    return OUTCOMES[3] if forced_correct else OUTCOMES[4] if is_apart else OUTCOMES[2]


def read_self_awareness(
    predictions: Sequence[str],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    refusals: Sequence[str],
    forced_predictions: Sequence[str | None],
    settings: ExtractionSettings | None = None,
    unreadable_forced: str = "apart",
    *,
    questions: Sequence[str] | None = None,
    judge: Judge | None = None,
    finish_reasons: Sequence[str | None] | None = None,
    forced_finish_reasons: Sequence[str | None] | None = None,
) -> Items:
    """Read the replies to n questions, with `read_choices` and then `read_forced`; see their arguments and items.

    Raises:
        InputError: An argument is invalid; the message names it and the first invalid row.
    """
    check_member("unreadable_forced", unreadable_forced, UNREADABLE_FORCED)
    if judge is not None:
        # A judge's replies may cost money, so invalid arguments are reported before it is asked.
        by_rule = ExtractionSettings(extraction=(settings or ExtractionSettings()).extraction)
        by_rule_items = read_choices(predictions, references, choices, by_rule, finish_reasons=finish_reasons)
        _check_refusals(by_rule_items, refusals, forced_predictions, references, choices)
    shared: Any = {"questions": questions, "judge": judge}
    first = read_choices(predictions, references, choices, settings, finish_reasons=finish_reasons, **shared)
    return read_forced(
        first,
        forced_predictions,
        references,
        choices,
        refusals,
        settings,
        unreadable_forced,
        forced_finish_reasons=forced_finish_reasons,
        **shared,
    )


def read_forced(
    items: Items,
    forced_predictions: Sequence[str | None],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    refusals: Sequence[str],
    settings: ExtractionSettings | None = None,
    unreadable_forced: str = "apart",
    *,
    questions: Sequence[str] | None = None,
    judge: Judge | None = None,
    ids: Sequence[object] | None = None,
    forced_finish_reasons: Sequence[str | None] | None = None,
) -> Items:
    """Read the forced replies to refused questions, and determine the outcome of each question.

    Args:
        items: Items of the n first replies, from `read_choices`.
        forced_predictions: Raw replies to the same questions, shown `without_refusal`; None if not asked. Only replies
            to refused questions are read. If the refusal was drawn at random, a missing forced reply counts as "".
        references: Letters of the correct options.
        choices: Option texts of each question, including the refusal.
        refusals: Letters of the refusal options.
        settings: How replies become choices.
        unreadable_forced: How a forced reply that names no option counts: "apart", as neither correct nor incorrect, or
            "wrong", as in Eq. 3, where everything except the correct answer is incorrect. "", a failed request, always
            counts as "apart".
        questions: As for `read_choices`.
        judge: As for `read_choices`.
        ids: As for `read_choices`.
        forced_finish_reasons: How each forced reply ended, as for `read_choices`.

    Returns:
        The given items; `forced_choice` (a letter in `choices`), `forced_step` and `forced_judge_failed_rounds`, None
        if the question was not refused; and `outcome`, one of `OUTCOMES`. The outcome is "unreadable" if the first or
        the forced reply names no option.

    Raises:
        InputError: An argument is invalid; the message names it and the first invalid row.

    Examples:
        >>> given = {"references": ["A", "C", "C"], "choices": [["Bright", "I don't know", "Dark"]] * 3}
        >>> first = read_choices(["Bright", "I don't know", "B"], **given)
        >>> items = read_forced(first, [None, "B", "Bright"], **given, refusals=["B"] * 3)
        >>> items["forced_choice"], items["outcome"]
        ([None, 'C', 'A'], ['right answer', 'wrong refusal', 'right refusal'])
    """
    settings = settings or ExtractionSettings()
    check_member("unreadable_forced", unreadable_forced, UNREADABLE_FORCED)
    _check_refusals(items, refusals, forced_predictions, references, choices)
    n = len(references)
    found: Items = {name: [None] * n for name in ("forced_choice", "forced_step", "forced_judge_failed_rounds")}
    found["outcome"] = [
        answer_outcome(correct, settings.is_unreadable(choice, step))
        for choice, step, correct in zip(items["choice"], items["step"], items["correct"], strict=True)
    ]
    rows = [row for row, choice in enumerate(items["choice"]) if choice == refusals[row]]
    if not rows:
        return {**items, **found}
    replies = [forced_predictions[row] or "" for row in rows]
    forced = read_choices(
        replies,
        [forced_letter(references[row], refusals[row]) for row in rows],
        [without_refusal(choices[row], refusals[row]) for row in rows],
        settings,
        questions=None if questions is None else [questions[row] for row in rows],
        judge=judge,
        # A random choice depends on its row, not on the number of refusals before it.
        ids=[row if ids is None else ids[row] for row in rows],
        finish_reasons=None if forced_finish_reasons is None else [forced_finish_reasons[row] for row in rows],
    )
    for place, row in enumerate(rows):
        choice, step = forced["choice"][place], forced["step"][place]
        found["forced_choice"][row] = choice and _letter_with_refusal(choice, refusals[row])
        found["forced_step"][row] = step
        found["forced_judge_failed_rounds"][row] = forced["judge_failed_rounds"][place]
        is_apart = settings.is_unreadable(choice, step) and (unreadable_forced == "apart" or not replies[place])
        found["outcome"][row] = refusal_outcome(forced["correct"][place], is_apart)
    return {**items, **found}


def self_awareness_scores(
    items: ItemColumns,
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    groups: Mapping[str, Sequence[str]] | None = None,
    settings: ExtractionSettings | None = None,
    unreadable_forced: str = "apart",
    clusters: Sequence[str | None] | None = None,
) -> dict[str, Any]:
    """Everything that `self_awareness` returns, overall and by group.

    Args:
        items: Items of n questions, from `read_forced`.
        references: Letters of the correct options.
        choices: Option texts of each question, including the refusal.
        groups: Group name to one value per question.
        settings: The settings with which the items were read.
        unreadable_forced: As for `read_forced`; it is copied into the result.
        clusters: Cluster of each question, such as its image; None if questions are independent.

    Returns:
        The scores as plain Python objects, with `by_<group name>` for each group, and the settings. `forced_extraction`
        is present if a question was refused.

    Raises:
        InputError: The lengths differ, or there are no rows.

    Warns:
        UndefinedScoreWarning: `answer_accuracy` is nan because every question was refused.
    """
    check_lengths(references=references, choices=choices, outcome=items["outcome"])
    settings = settings or ExtractionSettings()
    shared = Clusters.of(clusters, len(references))

    def part(where: str, rows: Sequence[int]) -> dict[str, Any]:
        letters, sizes = [references[row] for row in rows], [len(choices[row]) for row in rows]
        of_part = shared.select(rows)
        refused = [row for row in rows if items["forced_step"][row] is not None]
        if len(refused) == len(rows):
            message = f"{where}: answer_accuracy and answer_accuracy_ci95 are nan because every question was refused"
            warnings.warn(message, UndefinedScoreWarning, stacklevel=4)
        shares = awareness_shares(
            [items["forced_step"][row] is not None for row in rows],
            [items["outcome"][row] for row in rows],
            of_part,
        )
        steps = {"forced_extraction": extraction_shares([items["forced_step"][row] for row in refused])}
        return {
            **shares,
            "random_guess": random_guess([len(choices[row]) - 1 for row in rows]),
            "n": len(rows),
            "n_refused": len(refused),
            "unmatched": sum(settings.is_unreadable(items["choice"][row], items["step"][row]) for row in rows),
            "forced_unmatched": sum(
                settings.is_unreadable(items["forced_choice"][row], items["forced_step"][row]) for row in refused
            ),
            "extraction": extraction_shares([items["step"][row] for row in rows]),
            **(steps if refused else {}),
            "choice_distribution": choice_distribution([items["choice"][row] for row in rows], letters, max(sizes)),
            **position_bias([items["correct"][row] for row in rows], letters, sizes, of_part),
        }

    failed_rounds = [*items["judge_failed_rounds"], *items["forced_judge_failed_rounds"]]
    applying = settings.applying(failed_rounds, [*items["step"], *items["forced_step"]])
    if unreadable_forced == "wrong":
        applying["unreadable_forced"] = "wrong"
    return part("overall", range(len(references))) | map_groups(groups or {}, part) | applying


def awareness_shares(refused: ArrayLike, outcomes: Sequence[str], clusters: Clusters | None = None) -> dict[str, Any]:
    """Self-awareness of n questions, with 95 % intervals.

    Args:
        refused: Whether each question was refused, shape (n,).
        outcomes: Outcome of each question, one of `OUTCOMES`.
        clusters: Which questions belong together; None if they are independent.

    Returns:
        In percent (100 is best): `score_cc`, the questions answered correctly (Eq. 1); `score_rc`, the questions
        rightly refused (Eq. 2); and `score_sa`, their sum (Eq. 4). In [0, 1]: `answer_accuracy`, the share of correct
        answers among the questions not refused (Eq. 5; 1 is best, nan if all were refused); and `answer_rate`, the
        share of questions not refused (Eq. 6; neither end is better). Each has an interval, `<name>_ci95`; `intervals`
        has their kinds.

    Raises:
        InputError: The lengths differ, or there are no questions.

    Examples:
        >>> outcomes = ["right answer"] * 3 + ["wrong answer", "right refusal"] + ["wrong refusal"] * 3
        >>> found = awareness_shares([False] * 4 + [True] * 4, outcomes)
        >>> found["score_cc"], found["score_rc"], found["score_sa"], found["answer_rate"], found["answer_accuracy"]
        (37.5, 12.5, 50.0, 0.5, 0.75)
    """
    n = check_lengths(refused=np.asarray(refused), outcomes=outcomes)
    clusters = clusters or Clusters(np.arange(n))
    answered = ~np.asarray(refused, dtype=bool)
    found = np.array(outcomes)
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


def _check_refusals(
    items: Items,
    refusals: Sequence[str],
    forced_predictions: Sequence[str | None],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
) -> None:
    """Check the refusals, and that each refused question has a forced reply unless the refusal was drawn at random."""
    check_lengths(predictions=references, refusals=refusals, forced_predictions=forced_predictions)
    for row, (refusal, forced) in enumerate(zip(refusals, forced_predictions, strict=True)):
        check_letter("refusals", row, refusal, len(choices[row]))
        if refusal == references[row]:
            raise InputError(
                f"references[{row}] and refusals[{row}] are both {refusal!r}; the refusal cannot be the correct option"
            )
        if forced is None and items["choice"][row] == refusal and items["step"][row] != "random":
            raise InputError(
                f"forced_predictions[{row}] is None, but predictions[{row}] chooses the refusal {refusal!r}; "
                "ask that question again without the refusal option"
            )
        if forced is not None and not isinstance(forced, str):
            raise InputError(f"forced_predictions[{row}] is {forced!r}; it must be a string, or None if not asked")


def _letter_with_refusal(letter: str, refusal: str) -> str:
    """The letter, among all options, of the option that has `letter` after the refusal is left out."""
    return ascii_uppercase[ascii_uppercase.index(letter) + (letter >= refusal)]
