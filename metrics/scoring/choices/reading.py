"""From replies to choices, right or wrong: exact matching, declared answers, a judge, an optional random choice.

Protocol: the three steps of MMBench, Sec. 3.2, and the 5-round vote of Q-Bench, Appendix A.2.1. A judge that names X,
no option, has decided: the row is wrong, and nothing is drawn for it. Options may repeat: letters are compared as
letters, and a reply by a text that stands several times is right if one of its places is. Departures: where exact
matching finds no choice, an answer that the reply declares counts, unless `extraction` is "strict"; the judge is asked
only where both find none, unless `judge_reads` is "all"; with several rounds its most frequent letter or X counts; the
random choice is off unless asked for. A row that no step decides counts as wrong.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from string import ascii_uppercase
from typing import Any

import numpy as np

from eyechart.metrics.scoring.choices.extraction import check_options
from eyechart.metrics.scoring.choices.replies import EXTRACTIONS, UNPARSEABLE, UNREAD, Extraction, read_reply
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_count, check_lengths, check_letter, check_member
from eyechart.metrics.scoring.items import Items
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
from eyechart.metrics.scoring.reasoning import split_reasoning
from eyechart.metrics.scoring.statistics.bootstrap import check_seed

STEPS = ("exact", "declared", "judge", "random")
"""What decides a row; where nothing does, its step is one of `UNREAD`."""
TEMPLATES = ("mmbench_choice", "q_bench_vote")
FALLBACKS = ("wrong", "random")
JUDGE_READS = ("unmatched", "all")

_LETTERS_OF = {n: frozenset(ascii_uppercase[:n]) for n in range(len(ascii_uppercase) + 1)}


@dataclass(frozen=True)
class ExtractionSettings:
    """How replies become choices.

    Attributes:
        judge: The judge's name, or None where no judge is asked.
        judge_template: "mmbench_choice" (the judge names a letter) or "q_bench_vote" (it votes right or wrong).
        judge_reads: Which replies the judge reads: "unmatched", those in which neither exact matching nor a declaration
            gives a choice, or "all", as in Q-Bench, Appendix A.2.1; the judge alone then decides.
        rounds: Replies asked for per row.
        fallback: What an undecided row becomes: "wrong", or "random", a choice among the options and X.
        seed: Seed of the random choice.
        extraction: What follows exact matching: "declared", reading declared answers, or "strict", nothing.

    Raises:
        InputError: A setting is not allowed.
    """

    judge: str | None = None
    judge_template: str = "mmbench_choice"
    judge_reads: str = "unmatched"
    rounds: int = 5
    fallback: str = "wrong"
    seed: int = 0
    extraction: Extraction = "declared"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_member("judge_template", self.judge_template, TEMPLATES)
        check_member("fallback", self.fallback, FALLBACKS)
        check_member("judge_reads", self.judge_reads, JUDGE_READS)
        check_member("extraction", self.extraction, EXTRACTIONS)
        check_count("rounds", self.rounds)
        check_seed(self.seed)

    def is_unreadable(self, choice: str | None, step: str | None) -> bool:
        """Whether a reply names no option, as the rules, a judge (X) or the random choice found.

        A judge's vote may find a reply wrong without naming a letter; that is an answer.
        """
        return choice is None and not (step == "judge" and self.judge_template == "q_bench_vote")

    def applying(self, failed_rounds: Iterable[int | None]) -> dict[str, Any]:
        """The settings that a result depends on, and what the judge was asked.

        Args:
            failed_rounds: The column `judge_failed_rounds` of the items; None where the judge was not asked.

        Examples:
            >>> ExtractionSettings(fallback="random", seed=3).applying([])
            {'extraction_mode': 'declared', 'fallback': 'random', 'seed': 3}
        """
        # "extraction" names the shares of the steps.
        settings: dict[str, Any] = {"extraction_mode": self.extraction, "fallback": self.fallback}
        if self.fallback == "random":
            settings["seed"] = self.seed
        if self.judge is not None:
            failed = [rounds for rounds in failed_rounds if rounds is not None]
            settings |= {
                "judge": self.judge,
                "judge_template": self.judge_template,
                "judge_template_version": template_version(self.judge_template),
                "rounds": self.rounds,
                "judge_asked": len(failed),
                "judge_failed_rounds": sum(failed),
                "judge_unscored": failed.count(self.rounds),
            }
            if self.judge_reads != JUDGE_READS[0]:
                settings["judge_reads"] = self.judge_reads
        return settings


def read_choices(
    predictions: Sequence[str],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    settings: ExtractionSettings | None = None,
    *,
    questions: Sequence[str] | None = None,
    judge: Judge | None = None,
    ids: Sequence[object] | None = None,
    rotations: Sequence[int] | None = None,
    finish_reasons: Sequence[str | None] | None = None,
) -> Items:
    """Read n replies.

    Args:
        predictions: Raw replies; "" is a failed or empty response, which no judge is asked about.
        references: Letters of the correct options.
        choices: Option texts of each row.
        settings: How replies become choices.
        questions: The question of each row; needed with a judge.
        judge: `judge(messages, n)` returning n replies, named in the settings.
        ids: What, with `seed` and rotation, the random choice of each row is drawn from; the row number by default.
        rotations: Rotation of each row, for the same; 0 by default.
        finish_reasons: How each reply ended, one of `reasoning.FINISH_REASONS`; None where that is not known.

    Returns:
        `choice`: letter of the chosen option; None where there is none, where the judge named X, or where a vote found
        the reply wrong without naming a letter. `step`: what decided the row, one of `STEPS`, or of
        `UNREAD`. `correct`. `judge_failed_rounds`: rounds without a usable reply; None where the judge was not asked.

    Raises:
        InputError: An argument is malformed; the message names it and the first offending row.

    Examples:
        >>> read_choices(["B", "dunno"], ["B", "A"], [["Yes", "No"]] * 2)["choice"]
        ['B', None]
    """
    settings = settings or ExtractionSettings()
    check_replies(predictions, references, choices)
    _check_judge(predictions, settings, questions, judge)
    letters: list[str | None] = [None] * len(predictions)
    steps = [""] * len(predictions)
    ended = [None] * len(predictions) if finish_reasons is None else finish_reasons
    check_lengths(predictions=predictions, finish_reasons=ended)
    for row in _visiting_order(len(predictions), ids):
        named, steps[row] = read_reply(predictions[row], choices[row], settings.extraction, ended[row])
        # A text that stands several times is right if one of its places is.
        letters[row] = references[row] if references[row] in named else named[:1] or None
    correct = [letter == reference for letter, reference in zip(letters, references, strict=True)]
    verdicts: dict[int, _Judged] = {}
    if judge is not None and questions is not None:
        answers = [split_reasoning(text).answer for text in predictions]
        asked = [settings.judge_reads == "all" or letter is None for letter in letters]
        rows = [row for row, text in enumerate(answers) if asked[row] and text.strip()]
        verdicts = _judged(rows, answers, references, choices, questions, judge, settings)
    for row, step in enumerate(steps):
        if letters[row] is not None and row not in verdicts:
            continue
        verdict = verdicts[row].verdict if row in verdicts else None
        if verdict is not None:
            letters[row], correct[row], steps[row] = *verdict, "judge"
        elif settings.fallback == "random":
            source = row if ids is None else ids[row]
            rotation = 0 if rotations is None else rotations[row]
            letters[row] = random_choice(len(choices[row]), settings.seed, source, rotation)
            correct[row], steps[row] = letters[row] == references[row], "random"
        else:
            letters[row], correct[row], steps[row] = None, False, step if step in UNREAD else UNPARSEABLE
    failed = [verdicts[row].failed_rounds if row in verdicts else None for row in range(len(predictions))]
    return {"choice": letters, "step": steps, "correct": correct, "judge_failed_rounds": failed}


def _visiting_order(n: int, ids: Sequence[object] | None) -> Iterable[int]:
    """Rows, those of one id together: they share their options, of which extraction keeps the latest at hand."""
    if ids is None:
        return range(n)
    numbers = dict(zip(dict.fromkeys(ids), count(), strict=False))
    return np.argsort([numbers[question] for question in ids], kind="stable").tolist()


@dataclass(frozen=True)
class _Judged:
    """What the judge made of a row.

    Attributes:
        verdict: Its letter (None for X, or where a vote found the reply wrong) and whether the row is right; None where
            it reached none.
        failed_rounds: Number of rounds without a usable reply.
    """

    verdict: tuple[str | None, bool] | None
    failed_rounds: int


def _judged(
    rows: Sequence[int],
    predictions: Sequence[str],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    questions: Sequence[str],
    judge: Judge,
    settings: ExtractionSettings,
) -> dict[int, _Judged]:
    """What the judge makes of some rows, by row."""
    conversations = []
    for row in rows:
        options = choices[row]
        listed = " ".join(f"{letter}. {option}" for letter, option in zip(ascii_uppercase, options, strict=False))
        fields = {
            "question": questions[row].rstrip(" ?"),
            "options": listed if settings.judge_template == "mmbench_choice" else repr(list(options)),
            "answer": predictions[row],
            "correct": options[ascii_uppercase.index(references[row])],
        }
        conversations.append(render(settings.judge_template, fields))
    read = _read_votes if settings.judge_template == "q_bench_vote" else _read_letters
    replies = ask_all(judge, conversations, settings.rounds)
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
        return _Judged((None, False), failed)
    return _Judged(None if letter is None else (str(letter), letter == reference), failed)


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
    """Share of rows that each step decided, of those that none did (`unmatched`), and of each reason for that.

    nan without rows.

    Examples:
        >>> shares = extraction_shares(["exact", "exact", "judge", "cut_off"])
        >>> {name: share for name, share in shares.items() if share}
        {'exact': 0.5, 'judge': 0.25, 'unmatched': 0.25, 'cut_off': 0.25}
    """
    counts = Counter(steps)
    counts["unmatched"] = sum(counts[reason] for reason in UNREAD)
    return {name: counts[name] / len(steps) if steps else float("nan") for name in (*STEPS, "unmatched", *UNREAD)}


def check_replies(predictions: Sequence[str], references: Sequence[str], choices: Sequence[Sequence[str]]) -> None:
    """Refuse what `read_choices` cannot read.

    Raises:
        InputError: An argument is malformed; the message names it and the first offending row.
    """
    check_lengths(predictions=predictions, references=references, choices=choices)
    if not _plainly_sound(predictions, references, choices):
        for row, (text, options, reference) in enumerate(zip(predictions, choices, references, strict=True)):
            _check_row(row, text, options, reference)


def _check_judge(
    predictions: Sequence[str], settings: ExtractionSettings, questions: Sequence[str] | None, judge: Judge | None
) -> None:
    if judge is None:
        if settings.judge is not None:
            raise InputError(f"judge is None, but the settings name {settings.judge!r}; give that judge, or name none")
        return
    check_judge(judge)
    if settings.judge != judge_name(judge):
        raise InputError(f"judge is {judge_name(judge)!r}, but the settings name {settings.judge!r}; name the same one")
    if questions is None:
        raise InputError("questions is missing; a judge has to see the question of each row")
    check_texts(predictions=predictions, questions=questions)


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
        raise InputError(f'predictions[{row}] is {text!r}; it must be a string (use "" for an empty text)')
    listed = isinstance(options, Sequence) and not isinstance(options, str)
    if not listed or not all(isinstance(option, str) for option in options):
        raise InputError(f"choices[{row}] is {options!r}; it must be a list of strings")
    check_options(options, row)
    check_letter("references", row, reference, len(options))
