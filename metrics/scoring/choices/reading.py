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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import Any

from eyechart.metrics.scoring.choices.options import MOST_OPTIONS, right_text
from eyechart.metrics.scoring.choices.replies import EXTRACTIONS, UNREAD, Extraction, read_reply
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import Items, check_count, check_groups, check_lengths, check_member
from eyechart.metrics.scoring.judging.prompts import render, template_version
from eyechart.metrics.scoring.judging.replies import NO_OPTION, Judge, ask_all, majority, parse_letter, parse_score
from eyechart.metrics.scoring.reasoning import split_reasoning
from eyechart.metrics.scoring.statistics.bootstrap import check_seed
from eyechart.metrics.scoring.statistics.shares import Clusters

STEPS = ("exact", "declared", "judge", "random")
"""The steps that can decide a row. The step of an undecided row is one of `UNREAD`."""


@dataclass(frozen=True)
class Replies:
    """Replies to multiple-choice questions as columns, one value per row; checked once, when the record is made."""

    predictions: Sequence[str] | None
    """Raw replies; "" for a failed or empty response, which is not sent to the judge. None if they are read already."""
    references: Sequence[str]
    """Letters of the correct options; "AC" if A and C are both accepted."""
    choices: Sequence[Sequence[str]]
    """Option texts in the order shown."""
    finish_reasons: Sequence[str | None] | None = None
    """How each reply ended, one of `reasoning.FINISH_REASONS`; None if that is not known."""
    questions: Sequence[str] | None = None
    """Needed with a judge."""
    question_ids: Sequence[Any] | None = None
    """Which question each row asks; by default, each its own. A random choice depends on it."""
    rotations: Sequence[int] | None = None
    """Number of each row's pass over its question, from 0. A random choice depends on it."""
    pass_counts: Sequence[int] | None = None
    """Total number of passes of each row's question."""
    refusals: Sequence[str] | None = None
    """Letters of the refusal options."""
    forced_predictions: Sequence[str | None] | None = None
    """Raw replies to the same questions, shown without the refusal; None if not asked, "" for a failed request."""
    forced_finish_reasons: Sequence[str | None] | None = None
    """How each of these ended."""
    groups: Mapping[str, Sequence[Any]] | None = None
    """Group name to one value per row."""
    clusters: Sequence[str | float | None] | None = None
    """Cluster of each row, such as its image; by default, rows are independent."""

    def __post_init__(self) -> None:
        """Check the columns."""
        columns = {name: column for name, column in vars(self).items() if column is not None and name != "groups"}
        object.__setattr__(self, "groups", check_groups(self.groups, check_lengths(**columns)))
        for row, question in enumerate(self.questions or ()):
            if not isinstance(question, str):
                raise InputError(f"questions[{row}] is {question!r}; it must be a string")
        _check_letters("references", self.references, self.sizes)
        if self.refusals is not None:
            _check_letters("refusals", self.refusals, self.sizes)
        # Bad names are found before a judge is asked.
        _ = self.together

    @cached_property
    def sizes(self) -> list[int]:
        """Number of options of each row."""
        return list(map(len, self.choices))

    @cached_property
    def together(self) -> Clusters:
        """Which rows belong together."""
        return Clusters.of(self.clusters, len(self.references))


def _check_letters(argument: str, values: Sequence[str], sizes: Sequence[int]) -> None:
    """Check that each value consists of one or several letters of the options of its row."""
    good = {(value, size) for value, size in set(zip(values, sizes, strict=True)) if _are_letters(value, size)}
    for row, (value, size) in enumerate(zip(values, sizes, strict=True)):
        if (value, size) in good:
            continue
        if size > MOST_OPTIONS:
            raise InputError(f"choices[{row}] contains {size} options; at most {MOST_OPTIONS} are allowed")
        allowed = f"A to {ascii_uppercase[size - 1]}" if size else "none, because the row has no options"
        raise InputError(f"{argument}[{row}] is {value!r}; allowed: {allowed}")


def _are_letters(value: str, size: int) -> bool:
    return size <= MOST_OPTIONS and len(value) == len(set(value)) > 0 and set(value) <= set(ascii_uppercase[:size])


@dataclass(frozen=True)
class ExtractionSettings:
    """How replies become choices."""

    judge: str | None = None
    """The judge's name, or None without a judge."""
    judge_template: str = "mmbench_choice"
    """"mmbench_choice" (the judge names a letter) or "q_bench_vote" (it votes correct or incorrect)."""
    judge_reads: str = "unmatched"
    """"unmatched" (replies in which neither exact matching nor a declaration gives a choice) or "all" (Q-Bench, A.2.1):
    the judge then decides every row for which it gives a verdict, and the others are read as without a judge."""
    rounds: int = 5
    """Number of judge replies per row."""
    fallback: str = "wrong"
    """What an undecided row counts as: "wrong", or "random", a random choice among the options and X."""
    seed: int = 0
    """Seed of the random choice."""
    extraction: Extraction = "declared"
    """The step after exact matching: "declared", reading declared answers, or "strict", none."""

    def __post_init__(self) -> None:
        """Check the settings."""
        check_member("judge_template", self.judge_template, ("mmbench_choice", "q_bench_vote"))
        check_member("fallback", self.fallback, ("wrong", "random"))
        check_member("judge_reads", self.judge_reads, ("unmatched", "all"))
        check_member("extraction", self.extraction, EXTRACTIONS)
        check_count("rounds", self.rounds)
        check_seed(self.seed)

    @property
    def are_votes(self) -> bool:
        """Whether the judge votes correct or incorrect."""
        return self.judge_template == "q_bench_vote"

    def is_unreadable(self, choice: str | None, step: str | None) -> bool:
        """Whether a reply names no option, according to the rules, a judge (X) or the random choice.

        If a judge votes that a reply is incorrect, the reply counts as an answer, although no letter is known.
        """
        return choice is None and not (step == "judge" and self.are_votes)

    def applying(self, failed_rounds: Iterable[int | None], steps: Iterable[str | None]) -> dict[str, Any]:
        """The settings that a result depends on, and how often the judge was asked and decided nothing."""
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
            if self.judge_reads == "all":
                settings["judge_reads"] = self.judge_reads
        return settings


def read_choices(replies: Replies, settings: ExtractionSettings | None = None, judge: Judge | None = None) -> Items:
    """Read replies; with a judge, whose name the settings hold, also by asking it. The metrics' cards have the columns.

    Examples:
        >>> read_choices(Replies(["B", "dunno"], ["B", "A"], [["Yes", "No"]] * 2))["choice"]
        ['B', None]
    """
    settings = settings or ExtractionSettings()
    texts, references, choices = replies.predictions or (), replies.references, replies.choices
    ends = [None] * len(texts) if replies.finish_reasons is None else replies.finish_reasons
    letters: list[str | None] = [None] * len(texts)
    steps = [""] * len(texts)
    ids = replies.question_ids or [""] * len(texts)
    # Rows of a question follow each other, because what is derived from their option texts is cached.
    for row in sorted(range(len(texts)), key=lambda row: str(ids[row])):
        named, steps[row] = read_reply(texts[row], choices[row], settings.extraction, ends[row])
        # A repeated text is correct if one of its places is.
        accepted = [letter for letter in named if letter in references[row]]
        letters[row] = "".join([*accepted, *named])[:1] or None
    correct = [
        letter is not None and letter in reference for letter, reference in zip(letters, references, strict=True)
    ]
    failed: list[int | None] = [None] * len(texts)
    if judge is not None:
        asked = [settings.judge_reads == "all" or letter is None for letter in letters]
        for row, (verdict, lost) in _judged(asked, replies, settings, judge):
            failed[row] = lost
            if verdict is not None:
                (letters[row], correct[row]), steps[row] = verdict, "judge"
    if settings.fallback == "random":
        for row, step in enumerate(steps):
            if step in UNREAD:
                source = row if replies.question_ids is None else replies.question_ids[row]
                rotation = 0 if replies.rotations is None else replies.rotations[row]
                letter = random_choice(len(choices[row]), settings.seed, source, rotation)
                letters[row], steps[row] = letter, "random"
                correct[row] = letter is not None and letter in references[row]
    return {"choice": letters, "step": steps, "correct": correct, "judge_failed_rounds": failed}


Verdict = tuple[str | None, bool] | None
"""A judge's letter (None for X, or for a vote that the reply is incorrect), and whether the row is correct; None for a
tie, and without a usable reply."""


def _judged(
    asked: Sequence[bool], replies: Replies, settings: ExtractionSettings, judge: Judge
) -> Iterable[tuple[int, tuple[Verdict, int]]]:
    """The verdict and the number of failed rounds of each row that has a text and is asked about."""
    questions = replies.questions
    if questions is None:
        raise InputError("questions is missing; the judge needs the question of each row")
    conversations = {}
    for row, text in enumerate(replies.predictions or ()):
        answer = split_reasoning(text).answer
        if not asked[row] or not answer.strip():
            continue
        options = replies.choices[row]
        listed = " ".join(f"{letter}. {option}" for letter, option in zip(ascii_uppercase, options, strict=False))
        fields = {
            "question": questions[row].rstrip(" ?"),
            "options": repr(list(options)) if settings.are_votes else listed,
            "answer": answer,
            "correct": right_text(replies.references[row], options),
        }
        conversations[row] = render(settings.judge_template, fields)
    given = ask_all(judge, list(conversations.values()), settings.rounds)
    for row, rounds in zip(conversations, given, strict=True):
        yield row, _verdict(rounds, replies.references[row], replies.sizes[row], settings.are_votes)


def _verdict(rounds: Sequence[str | None], reference: str, n_options: int, are_votes: bool) -> tuple[Verdict, int]:
    """The majority of votes on correct or incorrect, or of letters and X; and the number of failed rounds."""
    given = [parse_score(reply) if are_votes else parse_letter(reply, n_options) for reply in rounds]
    winner, failed = majority(given), given.count(None)
    if winner is None:
        return None, failed
    if are_votes:
        # The letter is known only if the reply is correct.
        return (reference if winner and len(reference) == 1 else None, bool(winner)), failed
    letter = None if winner == NO_OPTION else str(winner)
    return (letter, letter is not None and letter in reference), failed


def random_choice(n_options: int, seed: int, question_id: object, rotation: int = 0) -> str | None:
    """Draw a letter of the options, or None for X, as in step 3 of MMBench.

    The draw is a hash of seed, question and rotation, so it does not depend on the order or number of rows.
    """
    digest = hashlib.sha256(f"{seed}/{question_id}/{rotation}".encode()).digest()
    index = int.from_bytes(digest[:8], "big") % (n_options + 1)
    return ascii_uppercase[index] if index < n_options else None


def extraction_shares(steps: Sequence[str]) -> dict[str, float]:
    """Shares of rows by step, of undecided rows (`unmatched`), and of each reason for those; nan without rows."""
    counts = Counter(steps)
    counts["unmatched"] = sum(counts[reason] for reason in UNREAD)
    return {name: counts[name] / len(steps) if steps else float("nan") for name in (*STEPS, "unmatched", *UNREAD)}
