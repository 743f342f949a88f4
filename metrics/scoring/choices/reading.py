"""From replies to choices and their correctness: exact matching, declared answers, a judge, an optional random choice.

Protocol: the three steps of MMBench, Sec. 3.2, and the 5-round vote of Q-Bench, Appendix A.2.1. If the judge names X
(no option), the row is incorrect and no random choice is drawn. Option texts may repeat: letters are compared as
letters, and a reply that gives a repeated text is correct if one of the options with this text is correct. A row that
no step decides counts as incorrect.

Departures: if exact matching finds no choice, an answer that the reply declares counts, unless `extraction` is
"strict". The judge is asked only if neither finds a choice, unless `judge_reads` is "all". With several rounds, the
judge's most frequent letter or X counts; a tie is no verdict. The random choice is off by default.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from string import ascii_uppercase
from typing import Any

import numpy as np

from eyechart.metrics.scoring.choices.options import check_options, right_text
from eyechart.metrics.scoring.choices.replies import EXTRACTIONS, UNREAD, Extraction, read_reply
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_count, check_lengths, check_letter, check_member
from eyechart.metrics.scoring.items import Items
from eyechart.metrics.scoring.judging.prompts import render, template_version
from eyechart.metrics.scoring.judging.replies import (
    NO_OPTION,
    Judge,
    ask_all,
    judge_name,
    majority,
    parse_letter,
    parse_score,
)
from eyechart.metrics.scoring.reasoning import split_reasoning
from eyechart.metrics.scoring.statistics.bootstrap import check_seed

STEPS = ("exact", "declared", "judge", "random")
"""The steps that can decide a row. The step of an undecided row is one of `UNREAD`."""
TEMPLATES = ("mmbench_choice", "q_bench_vote")
FALLBACKS = ("wrong", "random")
JUDGE_READS = ("unmatched", "all")

_LETTERS_OF = {n: frozenset(ascii_uppercase[:n]) for n in range(len(ascii_uppercase) + 1)}


@dataclass(frozen=True)
class ExtractionSettings:
    """How replies become choices.

    Attributes:
        judge: The judge's name, or None without a judge.
        judge_template: "mmbench_choice" (the judge names a letter) or "q_bench_vote" (it votes correct or incorrect).
        judge_reads: Which replies the judge reads: "unmatched", those in which neither exact matching nor a declaration
            gives a choice, or "all", as in Q-Bench, Appendix A.2.1. With "all", the judge decides every row for which
            it gives a verdict; the other rows are read as without a judge.
        rounds: Number of judge replies per row.
        fallback: What an undecided row counts as: "wrong", or "random", a random choice among the options and X.
        seed: Seed of the random choice.
        extraction: The step after exact matching: "declared", reading declared answers, or "strict", none.

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
        """Whether a reply names no option, according to the rules, a judge (X) or the random choice.

        If a judge votes that a reply is incorrect, the reply counts as an answer, although no letter is known.
        """
        return choice is None and not (step == "judge" and self.judge_template == "q_bench_vote")

    def applying(self, failed_rounds: Iterable[int | None], steps: Iterable[str | None]) -> dict[str, Any]:
        """The settings that a result depends on, and how often the judge was asked and decided nothing.

        Args:
            failed_rounds: The column `judge_failed_rounds` of the items; None for rows without a judge.
            steps: The column `step` of the items.

        Examples:
            >>> ExtractionSettings(fallback="random", seed=3).applying([], [])
            {'extraction_mode': 'declared', 'fallback': 'random', 'seed': 3}
        """
        # The key "extraction" already has the shares of the steps.
        settings: dict[str, Any] = {"extraction_mode": self.extraction, "fallback": self.fallback}
        if self.fallback == "random":
            settings["seed"] = self.seed
        if self.judge is not None:
            asked = [(lost, step) for lost, step in zip(failed_rounds, steps, strict=True) if lost is not None]
            failed = [lost for lost, _ in asked]
            settings |= {
                "judge": self.judge,
                "judge_template": self.judge_template,
                "judge_template_version": template_version(self.judge_template),
                "rounds": self.rounds,
                "judge_asked": len(failed),
                "judge_failed_rounds": sum(failed),
                "judge_unscored": failed.count(self.rounds),
                "judge_ties": sum(lost < self.rounds and step != "judge" for lost, step in asked),
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
    several: bool = False,
) -> Items:
    """Read n replies.

    Args:
        predictions: Raw replies; "" for a failed or empty response, which is not sent to the judge.
        references: Letters of the correct options.
        choices: Option texts of each row.
        settings: How replies become choices.
        questions: The question of each row; required with a judge.
        judge: `judge(messages, n)`, which returns n replies; its name must be in the settings.
        ids: Identifier of each row, on which its random choice depends (with `seed` and rotation); by default, the row
            number.
        rotations: Rotation of each row, on which its random choice depends; by default, 0.
        finish_reasons: How each reply ended, one of `reasoning.FINISH_REASONS`; None if that is not known.
        several: Whether a reference may be several letters, such as "AC", each of which is accepted.

    Returns:
        `choice`: the letter of the chosen option; None if there is no choice, if the judge named X, or if it voted that
        the reply is incorrect. `step`: the step that decided the row, one of `STEPS`; or the reason why no step did,
        one of `UNREAD`. `correct`. `judge_failed_rounds`: number of rounds without a usable judge reply; None if the
        judge was not asked.

    Raises:
        InputError: An argument is invalid; the message names it and the first invalid row.

    Examples:
        >>> read_choices(["B", "dunno"], ["B", "A"], [["Yes", "No"]] * 2)["choice"]
        ['B', None]
    """
    settings = settings or ExtractionSettings()
    check_replies(predictions, references, choices, several)
    _check_judge(predictions, settings, questions, judge)
    letters: list[str | None] = [None] * len(predictions)
    steps = [""] * len(predictions)
    ended = [None] * len(predictions) if finish_reasons is None else finish_reasons
    check_lengths(predictions=predictions, finish_reasons=ended)
    for row in _visiting_order(len(predictions), ids):
        named, steps[row] = read_reply(predictions[row], choices[row], settings.extraction, ended[row])
        # A repeated text is correct if one of its places is.
        accepted = [letter for letter in named if letter in references[row]]
        letters[row] = "".join([*accepted, *named])[:1] or None
    correct = [
        letter is not None and letter in reference for letter, reference in zip(letters, references, strict=True)
    ]
    verdicts: dict[int, _Judged] = {}
    if judge is not None and questions is not None:
        answers = [split_reasoning(text).answer for text in predictions]
        asked = [settings.judge_reads == "all" or letter is None for letter in letters]
        rows = [row for row, text in enumerate(answers) if asked[row] and text.strip()]
        verdicts = _judged(rows, answers, references, choices, questions, judge, settings)
    for row in range(len(predictions)):
        verdict = verdicts[row].verdict if row in verdicts else None
        if verdict is not None:
            letters[row], correct[row], steps[row] = *verdict, "judge"
        elif letters[row] is None and settings.fallback == "random":
            source = row if ids is None else ids[row]
            rotation = 0 if rotations is None else rotations[row]
            letters[row] = random_choice(len(choices[row]), settings.seed, source, rotation)
            correct[row], steps[row] = (letters[row] or "X") in references[row], "random"
    failed = [verdicts[row].failed_rounds if row in verdicts else None for row in range(len(predictions))]
    return {"choice": letters, "step": steps, "correct": correct, "judge_failed_rounds": failed}


def _visiting_order(n: int, ids: Sequence[object] | None) -> Iterable[int]:
    """Row numbers, grouped by id: rows of one id share their options, which extraction caches."""
    if ids is None:
        return range(n)
    numbers = dict(zip(dict.fromkeys(ids), count(), strict=False))
    return np.argsort([numbers[question] for question in ids], kind="stable").tolist()


@dataclass(frozen=True)
class _Judged:
    """The judge's result for a row.

    Attributes:
        verdict: The judge's letter (None for X, or for a vote that the reply is incorrect) and whether the row is
            correct. None without a verdict.
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
    """The judge's results, by row number."""
    conversations = []
    for row in rows:
        options = choices[row]
        listed = " ".join(f"{letter}. {option}" for letter, option in zip(ascii_uppercase, options, strict=False))
        fields = {
            "question": questions[row].rstrip(" ?"),
            "options": listed if settings.judge_template == "mmbench_choice" else repr(list(options)),
            "answer": predictions[row],
            "correct": right_text(references[row], options),
        }
        conversations.append(render(settings.judge_template, fields))
    read = _read_votes if settings.judge_template == "q_bench_vote" else _read_letters
    replies = ask_all(judge, conversations, settings.rounds)
    return {row: read(given, references[row], len(choices[row])) for row, given in zip(rows, replies, strict=True)}


def _read_votes(replies: Sequence[str | None], reference: str, n_options: int) -> _Judged:
    """The majority vote on correct or incorrect; the letter is known only if the reply is correct."""
    scores = [parse_score(reply) for reply in replies]
    vote = majority(scores)
    letter = reference if vote and len(reference) == 1 else None
    return _Judged(None if vote is None else (letter, bool(vote)), scores.count(None))


def _read_letters(replies: Sequence[str | None], reference: str, n_options: int) -> _Judged:
    """The majority vote on the letter, or on X for none."""
    named = [parse_letter(reply, n_options) for reply in replies]
    letter, failed = majority(named), named.count(None)
    if letter == NO_OPTION:
        return _Judged((None, False), failed)
    return _Judged(None if letter is None else (str(letter), str(letter) in reference), failed)


def random_choice(n_options: int, seed: int, question_id: object, rotation: int = 0) -> str | None:
    """Draw a letter of the options, or None for X, as in step 3 of MMBench.

    The draw is a hash of seed, question and rotation, so it does not depend on the order or number of rows.

    Examples:
        >>> random_choice(4, seed=0, question_id=17)
        'D'
    """
    digest = hashlib.sha256(f"{seed}/{question_id}/{rotation}".encode()).digest()
    index = int.from_bytes(digest[:8], "big") % (n_options + 1)
    return ascii_uppercase[index] if index < n_options else None


def extraction_shares(steps: Sequence[str]) -> dict[str, float]:
    """Shares of rows by the step that decided them, of undecided rows (`unmatched`), and of each reason for those.

    nan without rows.

    Examples:
        >>> shares = extraction_shares(["exact", "exact", "judge", "cut_off"])
        >>> {name: share for name, share in shares.items() if share}
        {'exact': 0.5, 'judge': 0.25, 'unmatched': 0.25, 'cut_off': 0.25}
    """
    counts = Counter(steps)
    counts["unmatched"] = sum(counts[reason] for reason in UNREAD)
    return {name: counts[name] / len(steps) if steps else float("nan") for name in (*STEPS, "unmatched", *UNREAD)}


def check_replies(
    predictions: Sequence[str], references: Sequence[str], choices: Sequence[Sequence[str]], several: bool = False
) -> None:
    """Check the arguments of `read_choices`.

    Raises:
        InputError: An argument is invalid; the message names it and the first invalid row.
    """
    check_lengths(predictions=predictions, references=references, choices=choices)
    if not _plainly_sound(predictions, references, choices):
        for row, (text, options, reference) in enumerate(zip(predictions, choices, references, strict=True)):
            letters = list(reference) if several and isinstance(reference, str) else []
            for letter in letters or [reference]:
                _check_row(row, text, options, letter)


def _check_judge(
    predictions: Sequence[str], settings: ExtractionSettings, questions: Sequence[str] | None, judge: Judge | None
) -> None:
    if judge is None:
        if settings.judge is not None:
            raise InputError(
                f"judge is None, but the settings name the judge {settings.judge!r}; pass that judge, or set judge=None"
            )
        return
    if settings.judge != judge_name(judge):
        raise InputError(f"judge is {judge_name(judge)!r}, but the settings name {settings.judge!r}; use the same one")
    if questions is None:
        raise InputError("questions is missing; the judge needs the question of each row")
    check_lengths(predictions=predictions, questions=questions)
    for row, question in enumerate(questions):
        if not isinstance(question, str):
            raise InputError(f'questions[{row}] is {question!r}; it must be a string (use "" for an empty text)')


def _plainly_sound(
    predictions: Sequence[object], references: Sequence[object], choices: Sequence[Sequence[object]]
) -> bool:
    """A quick test of all rows at once, which almost every run passes; if not, `_check_row` finds the error."""
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
