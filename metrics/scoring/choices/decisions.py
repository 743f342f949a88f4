"""From replies to right and wrong: exact matching, then a judge, then an optional random choice.

Protocol: the three steps of MMBench, Sec. 3.2, and the 5-round vote of Q-Bench, Appendix A.2.1. A judge that names X,
no option, has decided: the row is wrong, and nothing is drawn for it. Options may repeat: letters are compared as
letters, and a reply by a text that stands several times is right if one of its places is. Departures: the judge is
asked only where exact matching finds no choice, unless `judge_reads` is "all"; with several rounds its most frequent
letter or X counts; the random choice is off unless asked for. A row that no step decides counts as wrong.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.scoring.choices.extraction import check_options, named_letters
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_count, check_lengths, check_letter, check_member
from eyechart.metrics.scoring.judging.prompts import render, template_version
from eyechart.metrics.scoring.judging.replies import (
    NO_OPTION,
    Judge,
    ask_all,
    check_judge,
    judge_name,
    majority,
    parse_letter,
    parse_score,
)
from eyechart.metrics.scoring.judging.texts import check_texts
from eyechart.metrics.scoring.statistics.intervals import check_seed

STEPS = ("exact", "judge", "random", "unmatched")
TEMPLATES = ("mmbench_choice", "q_bench_vote")
FALLBACKS = ("wrong", "random")
JUDGE_READS = ("unmatched", "all")

_LETTERS_OF = {n: frozenset(ascii_uppercase[:n]) for n in range(len(ascii_uppercase) + 1)}


@dataclass(frozen=True)
class Extraction:
    """How replies become choices.

    Attributes:
        questions: The question of each row; needed with a judge.
        judge: `judge(messages, n)` returning n replies, or None.
        judge_template: "mmbench_choice" (the judge names a letter) or "q_bench_vote" (it votes right or wrong).
        judge_reads: Which replies the judge reads: "unmatched", those in which exact matching finds no choice, or
            "all", as in Q-Bench, Appendix A.2.1; exact matching then decides none.
        rounds: Replies asked for per row.
        fallback: What an undecided row becomes: "wrong", or "random", a choice among the options and X.
        seed: Seed of the random choice.
        question_ids: Question of each row, from which, with `seed` and rotation, the random choice is drawn; the row
            number where None.
        rotations: Rotation of each row, for the same; 0 where None.
    """

    questions: Sequence[str] | None = None
    judge: Judge | None = None
    judge_template: str = "mmbench_choice"
    rounds: int = 5
    fallback: str = "wrong"
    seed: int = 0
    question_ids: Sequence[str] | None = None
    rotations: Sequence[int] | None = None
    judge_reads: str = "unmatched"


@dataclass(frozen=True)
class Decisions:
    """What became of n rows.

    Attributes:
        letters: The chosen letter of each row; None where there is none, where the judge named X, or where a vote found
            the reply wrong without naming a letter.
        correct: Whether each row is right, shape (n,).
        matches_none: Whether the judge named X for the row, which then matches no option, shape (n,).
        steps: The step that decided each row, one of `STEPS`.
        asked: Number of rows the judge was asked about.
        failed_rounds: Number of rounds without a usable reply.
        unscored: Number of rows the judge was asked about and gave no usable reply to in any round.
    """

    letters: list[str | None]
    correct: NDArray[np.bool_]
    matches_none: NDArray[np.bool_]
    steps: list[str]
    asked: int
    failed_rounds: int
    unscored: int


def decide(
    predictions: Sequence[str], references: Sequence[str], choices: Sequence[Sequence[str]], extraction: Extraction
) -> Decisions:
    """Decide every row.

    Args:
        predictions: Raw replies; "" is a failed or empty response, which no judge is asked about.
        references: Letters of the correct options.
        choices: Option texts of each row.
        extraction: How replies become choices.

    Raises:
        InputError: An argument is malformed; the message names it and the first offending row.

    Examples:
        >>> found = decide(["B", "dunno"], ["B", "A"], [["Yes", "No"]] * 2, Extraction())
        >>> found.letters, found.correct.tolist(), found.steps
        (['B', None], [True, False], ['exact', 'unmatched'])
    """
    check_rows(predictions, references, choices, extraction)
    return decide_checked(predictions, references, choices, extraction)


def decide_checked(
    predictions: Sequence[str], references: Sequence[str], choices: Sequence[Sequence[str]], extraction: Extraction
) -> Decisions:
    """`decide` for arguments that `check_rows` has passed."""
    letters: list[str | None] = [None] * len(predictions)
    for row in _visiting_order(len(predictions), extraction.question_ids):
        named = named_letters(predictions[row], choices[row])
        # A text that stands several times is right if one of its places is.
        letters[row] = references[row] if references[row] in named else named[:1] or None
    steps = ["unmatched" if letter is None else "exact" for letter in letters]
    correct = np.array([letter == reference for letter, reference in zip(letters, references, strict=True)], dtype=bool)
    verdicts = _judged(predictions, references, choices, steps, extraction)
    for row, step in enumerate(steps):
        if step == "exact" and row not in verdicts:
            continue
        verdict = verdicts[row].verdict if row in verdicts else None
        if verdict is not None:
            letters[row], correct[row], steps[row] = *verdict, "judge"
        elif extraction.fallback == "random":
            letters[row] = _drawn(row, len(choices[row]), extraction)
            correct[row], steps[row] = letters[row] == references[row], "random"
        else:
            letters[row], correct[row], steps[row] = None, False, "unmatched"
    failed = [judged.failed_rounds for judged in verdicts.values()]
    matches_none = np.zeros(len(predictions), dtype=bool)
    matches_none[[row for row, judged in verdicts.items() if judged.matches_none]] = True
    unscored = failed.count(extraction.rounds)
    return Decisions(letters, correct, matches_none, steps, len(failed), sum(failed), unscored)


def _visiting_order(n: int, question_ids: Sequence[str] | None) -> Iterable[int]:
    """Rows, those of one question together: they share their options, of which extraction keeps the latest at hand."""
    if question_ids is None:
        return range(n)
    numbers = dict(zip(dict.fromkeys(question_ids), count(), strict=False))
    return np.argsort([numbers[question] for question in question_ids], kind="stable").tolist()


@dataclass(frozen=True)
class _Judged:
    """What the judge made of a row.

    Attributes:
        verdict: Its letter (None for X, or where a vote found the reply wrong) and whether the row is right; None where
            it reached none.
        failed_rounds: Number of rounds without a usable reply.
        matches_none: Whether it named X.
    """

    verdict: tuple[str | None, bool] | None
    failed_rounds: int
    matches_none: bool = False


def _judged(
    predictions: Sequence[str],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    steps: Sequence[str],
    extraction: Extraction,
) -> dict[int, _Judged]:
    """What the judge makes of the rows that it reads, by row: all with a reply, or those that are still open."""
    if extraction.judge is None:
        return {}
    assert extraction.questions is not None
    reads_all = extraction.judge_reads == "all"
    rows = [row for row, step in enumerate(steps) if (reads_all or step != "exact") and predictions[row].strip()]
    conversations = []
    for row in rows:
        options = choices[row]
        listed = " ".join(f"{letter}. {option}" for letter, option in zip(ascii_uppercase, options, strict=False))
        fields = {
            "question": extraction.questions[row].rstrip(" ?"),
            "options": listed if extraction.judge_template == "mmbench_choice" else repr(list(options)),
            "answer": predictions[row],
            "correct": options[ascii_uppercase.index(references[row])],
        }
        conversations.append(render(extraction.judge_template, fields))
    read = _read_votes if extraction.judge_template == "q_bench_vote" else _read_letters
    replies = ask_all(extraction.judge, conversations, extraction.rounds)
    return {row: read(given, references[row], len(choices[row])) for row, given in zip(rows, replies, strict=True)}


def _read_votes(replies: Sequence[str | None], reference: str, n_options: int) -> _Judged:
    """A vote on right or wrong, which names the letter of a right reply only."""
    scores = [parse_score(reply) for reply in replies]
    vote = majority(scores)
    return _Judged(None if vote is None else (reference if vote else None, bool(vote)), scores.count(None))


def _read_letters(replies: Sequence[str | None], reference: str, n_options: int) -> _Judged:
    """A vote on the letter, or X for none."""
    named = [parse_letter(reply, n_options) for reply in replies]
    letter, failed = majority(named), named.count(None)
    if letter == NO_OPTION:
        return _Judged((None, False), failed, matches_none=True)
    return _Judged(None if letter is None else (str(letter), letter == reference), failed)


def _drawn(row: int, n_options: int, extraction: Extraction) -> str | None:
    question = row if extraction.question_ids is None else extraction.question_ids[row]
    rotation = 0 if extraction.rotations is None else extraction.rotations[row]
    return random_choice(n_options, extraction.seed, question, rotation)


def random_choice(n_options: int, seed: int, question_id: object, rotation: int = 0) -> str | None:
    """A letter among the options, or None for X, as step 3 of MMBench draws it.

    The draw is a hash of (seed, question, rotation), so it depends on neither the order nor the number of rows.

    Examples:
        >>> random_choice(4, seed=0, question_id=17)
        'D'
    """
    digest = hashlib.sha256(f"{seed}/{question_id}/{rotation}".encode()).digest()
    index = int.from_bytes(digest[:8], "big") % (n_options + 1)
    return ascii_uppercase[index] if index < n_options else None


def extraction_shares(steps: Sequence[str]) -> dict[str, float]:
    """Share of rows that each step decided; nan without rows.

    Examples:
        >>> extraction_shares(["exact", "exact", "judge", "unmatched"])
        {'exact': 0.5, 'judge': 0.25, 'random': 0.0, 'unmatched': 0.25}
    """
    counts = Counter(steps)
    return {step: counts[step] / len(steps) if steps else float("nan") for step in STEPS}


def extraction_settings(extraction: Extraction, *decisions: Decisions) -> dict[str, Any]:
    """The settings of a result that say how replies became choices, and what the judge was asked.

    Args:
        extraction: How replies became choices.
        decisions: What became of them.

    Examples:
        >>> extraction_settings(Extraction(fallback="random", seed=3))
        {'fallback': 'random', 'seed': 3}
    """
    settings: dict[str, Any] = {"fallback": extraction.fallback}
    if extraction.fallback == "random":
        settings["seed"] = extraction.seed
    if extraction.judge is not None:
        settings |= {"judge": judge_name(extraction.judge), "judge_template": extraction.judge_template}
        settings["judge_template_version"] = template_version(extraction.judge_template)
        settings |= {"rounds": extraction.rounds, "judge_asked": sum(part.asked for part in decisions)}
        settings["judge_failed_rounds"] = sum(part.failed_rounds for part in decisions)
        settings["judge_unscored"] = sum(part.unscored for part in decisions)
        if extraction.judge_reads != JUDGE_READS[0]:
            settings["judge_reads"] = extraction.judge_reads
    return settings


def check_rows(
    predictions: Sequence[str], references: Sequence[str], choices: Sequence[Sequence[str]], extraction: Extraction
) -> None:
    """Refuse what `decide` cannot decide.

    Raises:
        InputError: An argument is malformed; the message names it and the first offending row.
    """
    check_lengths(predictions=predictions, references=references, choices=choices)
    check_member("judge_template", extraction.judge_template, TEMPLATES)
    check_member("fallback", extraction.fallback, FALLBACKS)
    check_member("judge_reads", extraction.judge_reads, JUDGE_READS)
    check_count("rounds", extraction.rounds)
    check_seed(extraction.seed)
    if extraction.judge is not None:
        check_judge(extraction.judge)
        if extraction.questions is None:
            raise InputError("questions is missing; a judge has to see the question of each row")
        check_texts(predictions=predictions, questions=extraction.questions)
    if not _plainly_sound(predictions, references, choices):
        for row, (text, options, reference) in enumerate(zip(predictions, choices, references, strict=True)):
            _check_row(row, text, options, reference)


def _plainly_sound(
    predictions: Sequence[object], references: Sequence[object], choices: Sequence[Sequence[object]]
) -> bool:
    """A quick test of all rows at once, which nearly every run passes; `_check_row` finds what is wrong in others."""
    return (
        {str}.issuperset(map(type, chain(predictions, references)))
        and {list}.issuperset(map(type, choices))
        and {str}.issuperset(map(type, chain.from_iterable(choices)))
        and all(letter in _LETTERS_OF.get(n, ()) for letter, n in set(zip(references, map(len, choices), strict=True)))
    )


def _check_row(row: int, text: object, options: Sequence[str], reference: object) -> None:
    if not isinstance(text, str):
        raise InputError(f'predictions[{row}] is {text!r}; it must be a string ("" if there is none)')
    listed = isinstance(options, Sequence) and not isinstance(options, str)
    if not listed or not all(isinstance(option, str) for option in options):
        raise InputError(f"choices[{row}] is {options!r}; it must be a list of strings")
    check_options(options, row)
    check_letter("references", row, reference, len(options))
