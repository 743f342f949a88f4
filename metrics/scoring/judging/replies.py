"""A judge: asking it in several rounds, reading its replies, and the scores that follow from them.

A reply that is not in the expected form is a failed round, never a score. A closed block of reasoning before the reply
is ignored. If the block is never closed, for example because the maximum length was reached, there is no reply.

Protocol: Q-Bench, Sec. 2.3.2, Table 3 and Appendix A.2.2 (https://arxiv.org/abs/2309.14181): an item's score is the
mean over its rounds, and the score is the mean over items. P_i is the frequency of score i, averaged in the same way,
so the score is the sum of i * P_i. Failed rounds do not count, so an item is not scored if all its rounds failed.
Departure: an empty text is not sent to the judge; it gets the lowest score.
"""

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import multimode
from string import ascii_uppercase
from typing import Any

import numpy as np

from eyechart.metrics.scoring.errors import InputError, LeftOutWarning, LostRoundsWarning, UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, ItemColumns, check_count, map_groups, select_rows
from eyechart.metrics.scoring.judging.prompts import Messages, render, template_version
from eyechart.metrics.scoring.reasoning import split_reasoning
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_ratios
from eyechart.metrics.scoring.statistics.intervals import Interval
from eyechart.metrics.scoring.statistics.shares import Clusters, bounded_mean_interval

Judge = Callable[[Messages, int], Sequence[str | None]]
"""`judge(messages, n)`, which returns n replies, None for a lost reply.

A judge may also have a method `ask_all(conversations, n)`, which returns one such list for each conversation. It is
then asked about all conversations at once.
"""
Rounds = Sequence[float | None]
"""Scores of one item in each round; None for a failed round."""
NO_OPTION = "X"
"""The judge's answer if a reply matches no option (MMBench, Appendix D)."""

_DECORATION = re.compile(r"[*_`]+")
_SCORE = re.compile(r"(?:(?:score|result)\s{0,8}[:=]?\s{0,8})?(\d)\s{0,8}\.?", re.IGNORECASE)
_LETTER = re.compile(r"(?i:(?:your output|output|answer)\s{0,8}:\s{0,8})?[(\[\"']?([A-Z])[)\]\"']?[.:)]?")
# Maximum length of a reply in one of the expected forms, without reasoning.
_LONGEST = 64


@dataclass(frozen=True)
class JudgeSettings:
    """The judge's name, and its number of replies per item."""

    judge: str
    rounds: int = 5

    def __post_init__(self) -> None:
        """Check the settings before a judge is asked, which may cost money."""
        check_count("rounds", self.rounds)

    def applying(self, name: str, template: str, wording: str) -> dict[str, Any]:
        """The settings that a result depends on; `name` stands for templates like this one."""
        version = template_version(template)
        named = {"judge": self.judge, "template": name, "template_version": version, "wording": wording}
        return named | {"rounds": self.rounds}


def judge_name(judge: Judge) -> str:
    """The judge's name in results: its attribute `name`, or else the name of its function or class."""
    if not callable(judge):
        raise InputError(f"judge is {judge!r}; it must be a callable judge(messages, n) or None")
    name = getattr(judge, "name", None) or getattr(judge, "__name__", None)
    return name if isinstance(name, str) else type(judge).__name__


def name_or_none(judge: Judge | None) -> str | None:
    """`judge_name`, or None without a judge."""
    return None if judge is None else judge_name(judge)


def ask_all(judge: Judge, conversations: Sequence[Messages], rounds: int) -> list[list[str | None]]:
    """Replies of a judge to several conversations, `rounds` for each; None for a reply that is lost or no string.

    A judge without a method `ask_all` is called once for each conversation, in order. If it raises an error, with a
    `LostRoundsWarning`, or returns a wrong number of replies, the rounds of this conversation are lost. A judge with
    `ask_all` must handle lost rounds itself, so its errors are fatal.
    """
    replies: list[list[str | None]]
    if together := getattr(judge, "ask_all", None):
        replies = together(conversations, rounds) if conversations else []
        if (n := len(replies)) != len(conversations):
            raise InputError(f"judge {judge_name(judge)!r} replied to {n} of {len(conversations)} conversations")
        return [_checked(given, rounds) for given in replies]
    replies, errors = [], []
    for messages in conversations:
        try:
            replies.append(_checked(judge(messages, rounds), rounds))
        except Exception as error:
            # A judge can be any function. Whatever its error, the rounds are lost, and never become a score.
            replies.append([None] * rounds)
            errors.append(error)
    if errors:
        # Without a count, so that a judge that always fails in the same way warns once, not with each wave of
        # questions; and on one line.
        first = f"{type(errors[0]).__name__}: {str(errors[0])[:200]!r}"
        lost = f"the judge {judge_name(judge)!r} raised an error; the affected rounds are lost; first error: {first}"
        warnings.warn(lost, LostRoundsWarning, stacklevel=2)
    return replies


def _checked(replies: Sequence[str | None], rounds: int) -> list[str | None]:
    if isinstance(replies, str) or len(replies) != rounds:
        return [None] * rounds
    return [reply if isinstance(reply, str) else None for reply in replies]


def parse_score(reply: str | None, allowed: Sequence[int] = (0, 1)) -> int | None:
    """The score in a reply such as `Score: 1`, `Result:1`, `1` or `**Score:** 2`; None for any other reply.

    Examples:
        >>> parse_score("**Score:** 1"), parse_score("Score: 1 because the answer is close")
        (1, None)
    """
    match = _SCORE.fullmatch(_bare(reply))
    score = int(match[1]) if match else None
    return score if score in allowed else None


def parse_letter(reply: str | None, n_options: int) -> str | None:
    """The letter in a reply such as `B`, `(B)` or `Your output: B`; "X" for no option; None for any other reply."""
    match = _LETTER.fullmatch(_bare(reply))
    return match[1] if match and match[1] in (NO_OPTION, *ascii_uppercase[:n_options]) else None


def majority(votes: Sequence[str | int | None]) -> str | int | None:
    """The most frequent vote; None without a vote, or with a tie. None, a failed round, is not a vote."""
    most = multimode(vote for vote in votes if vote is not None)
    return most[0] if len(most) == 1 else None


def _bare(reply: str | None) -> str:
    """The reply without reasoning, decoration and surrounding blanks; "" if it is lost, unfinished or too long."""
    found = split_reasoning(reply or "")
    if not found.is_finished or not (reply or "").endswith(found.answer) or len(found.answer) > _LONGEST:
        return ""
    return _DECORATION.sub("", found.answer).strip()


def ask_scores(
    template: str, fields: Mapping[str, Sequence[str]], scale: Sequence[int], judge: Judge, rounds: int
) -> list[Rounds | None]:
    """Scores of n texts in every round, None for a failed round; None for a text without a reference.

    `fields` are the template's placeholders, with n texts each: the judged texts first, `reference` among the others.
    An empty text gets the first score of the scale.
    """
    scores: list[Rounds | None] = [None if not text.strip() else [scale[0]] * rounds for text in fields["reference"]]
    texts = next(iter(fields.values()))
    asked = [row for row, known in enumerate(scores) if known is not None and texts[row].strip()]
    conversations = [render(template, {name: column[row] for name, column in fields.items()}) for row in asked]
    for row, replies in zip(asked, ask_all(judge, conversations, rounds), strict=True):
        scores[row] = [parse_score(reply, scale) for reply in replies]
    return scores


def mean_score(rounds: Rounds | None) -> float | None:
    """Mean over the rounds with a score; None without one."""
    given = [score for score in rounds or () if score is not None]
    return sum(given) / len(given) if given else None


def score_frequencies(items: Sequence[Rounds], scale: Sequence[float]) -> dict[float, float]:
    """Frequency of each score: the mean over items of its share of the item's rounds that did not fail.

    The shares are in [0, 1] and sum to 1; they are nan if every round failed.

    Examples:
        >>> score_frequencies([[2, 2], [1, None], [0, 2], [0, 0]], (0, 1, 2))
        {0: 0.375, 1: 0.25, 2: 0.375}
    """
    scored = [given for rounds in items if (given := [score for score in rounds if score is not None])]
    sums = {score: math.fsum(given.count(score) / len(given) for given in scored) for score in scale}
    return {score: total / len(scored) if scored else math.nan for score, total in sums.items()}


def mean_of_frequencies(frequencies: Mapping[float, float]) -> float:
    """The mean score from frequencies: P_1 + 2 P_2 on the scale 0, 1, 2 (Q-Bench, Table 3)."""
    return math.fsum(score * share for score, share in frequencies.items())


def mean_scores(columns: Sequence[Sequence[Rounds]]) -> FloatArray:
    """Each item's mean score for k questions to the judge, shape (k, n); nan if all its rounds failed."""
    return np.array([[mean_score(rounds) for rounds in items] for items in columns], dtype=np.float64)


def summed_score(means: FloatArray) -> float:
    """The sum over k questions of the mean over items; `means` as `mean_scores` returns them."""
    given = [column[~np.isnan(column)] for column in means]
    if not all(map(len, given)):
        raise UndefinedScoreError("the judge gave no score in any round")
    return sum(math.fsum(column) / len(column) for column in given)


def bootstrap_scores(
    means: FloatArray, resamples: int, rng: np.random.Generator, clusters: Clusters
) -> tuple[FloatArray, list[int]]:
    """Bootstrap replicates of mean scores, shape (resamples, k), nan for a resample without a score.

    Items are resampled, because the rounds of one item are not independent; those of a cluster are resampled together.
    Also returns the number of items or clusters with a score for each question. `means` are from `mean_scores`.
    """
    numbers = np.unique(clusters.numbers, return_inverse=True)[1]
    sides = np.nan_to_num(means), ~np.isnan(means)
    above, below = (np.array([np.bincount(numbers, of) for of in side]).T for side in sides)
    return bootstrap_ratios(above, below, rng, resamples), np.count_nonzero(below, axis=0).tolist()


def score_interval(means: FloatArray, limits: tuple[float, float], clusters: Clusters) -> Interval:
    """Interval of the sum of the mean scores for k questions to the judge; the limits are those of one question.

    It is of kind "none" if all items have the same score for one of several questions.
    """
    known = ~np.isnan(means)
    rows = known.any(axis=0)
    clusters = clusters.select(rows)
    if not known.any(axis=1).all():
        return Interval.undefined(clusters.n_clusters)
    averages = np.nanmean(means, axis=1, keepdims=True)
    # What each item adds to the mean of each question.
    added = np.where(known, means - averages, 0) * rows.sum() / known.sum(axis=1, keepdims=True)
    low, high = (len(means) * limit for limit in limits)
    values = np.clip(averages.sum() + added.sum(axis=0)[rows], low, high)
    found = bounded_mean_interval(values, (low, high), clusters)
    is_constant = np.nanmax(means, axis=1) == np.nanmin(means, axis=1)
    if len(means) > 1 and not math.isnan(found.low) and is_constant.any():
        # The constant question would count as certain.
        return Interval.undefined(found.units)
    return found


def scores_by_group(
    items: ItemColumns,
    groups: Mapping[str, Sequence[str]] | None,
    clusters: Sequence[str | None] | None,
    compute: Callable[[str, ItemColumns, Clusters], dict[str, Any]],
) -> dict[str, Any]:
    """Scores of the items with a reference, overall and for each group.

    `compute` is a function of a part's name in warnings, its items and their clusters. The value of `rounds` is None
    for an item without a reference.
    """
    n = len(items["rounds"])
    rows = [row for row in range(n) if items["rounds"][row] is not None]
    together = Clusters.of(clusters, n)
    if not rows:
        raise InputError(f"all {n} references are empty; a judge needs at least one reference")
    if len(rows) < n:
        what = f"{n - len(rows)} of {n} rows are left out because their reference is empty"
        warnings.warn(f"{what}; the first is references[{min({*range(n)} - {*rows})}]", LeftOutWarning, stacklevel=5)

    def part(where: str, places: Sequence[int]) -> dict[str, Any]:
        of = [rows[place] for place in places]
        return compute(where, select_rows(items, of), together.select(of))

    kept = select_rows(groups or {}, rows)
    return part("overall", range(len(rows))) | {"without_reference": n - len(rows)} | map_groups(kept, part)
