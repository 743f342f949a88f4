"""CircularEval: a question counts only if it is correct in every pass, with its options in another order each time.

Protocol: MMBench, Sec. 3.1 and Table 2 (https://arxiv.org/abs/2307.06281). VanillaEval uses only the first pass,
rotation 0. The paper has N passes of N options, rotated one place each time. The released files differ: 53 questions of
the dev files have three passes of four options, the last of which never moves, and four questions list an option twice.
The authors' evaluation only groups rows by question, and so does this one. Choices that the paper leaves open:

- A question with an incorrect pass is incorrect, even if other passes are missing: the paper skips the passes after an
  incorrect one. A question counts as incomplete only if all its given passes are correct. Incomplete questions are an
  error, or are left out.
- VanillaEval is the share of correct answers among the questions whose rotation 0 was asked, complete or not.
- Early stopping keeps more passes of the questions that are answered correctly. So if passes are missing, the shares of
  letters and extraction steps and the recall by position come from rotation 0, which is always asked. Flip rate and
  position-free accuracy need all passes and are present only if all were given.

Position-free accuracy follows the permutation-based debiasing of Zheng et al. (ICLR 2024,
https://arxiv.org/abs/2309.03882), which averages the model's prediction for each option's content over the orders and
takes the highest. For replies in text form, each pass has one vote, and the content with the most votes wins. If m
contents have equally many votes, a correct one among them counts 1/m, the average result of a random draw.
"""

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.scoring.choices.accuracy import reply_shares
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies, read_choices
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import ItemColumns, Items, check_count, check_member, map_groups
from eyechart.metrics.scoring.judging.replies import Judge
from eyechart.metrics.scoring.statistics.intervals import listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval

_UNDEFINED = {
    "circular_accuracy": "every question was dropped",
    "vanilla_accuracy": "no question has its rotation 0",
}


@dataclass(frozen=True)
class Questions:
    """The questions that rows ask, in order of first appearance."""

    ids: list[str]
    first_rows: NDArray[np.int64]
    n_passes: NDArray[np.int64]
    """Total number of passes of each question, given or missing."""
    of_row: NDArray[np.int64]
    """Number of each row's question."""
    chance: NDArray[np.float64]
    """Probability of guessing correctly in every pass, for each question."""


def find_questions(replies: Replies) -> Questions:
    """Group rows by question.

    Without `pass_counts`, a question has as many passes as options that change position between its rows, or as options
    if only one row is given; but at least as many as rows.
    """
    ids, rotations, counts = replies.question_ids or (), replies.rotations or (), replies.pass_counts
    rows_of: dict[str, list[int]] = {}
    seen: dict[tuple[str, int], int] = {}
    for row, (raw, rotation, reference) in enumerate(zip(ids, rotations, replies.references, strict=True)):
        name = str(raw)
        if raw is None:
            raise InputError(f"question_ids[{row}] is None; it must be a string or a whole number")
        if rotation < 0:
            raise InputError(f"rotations[{row}] is {rotation}; it must be a whole number of at least 0")
        if len(reference) > 1:
            raise InputError(f"references[{row}] is {reference!r}; a question with passes has one correct option")
        if (earlier := seen.setdefault((name, int(rotation)), row)) != row:
            again = f"with rotation {rotation}, as in row {earlier}; each pass may be given only once"
            raise InputError(f"question_ids[{row}] is {name!r} {again}")
        rows_of.setdefault(name, []).append(row)
    shared = {f"groups[{name!r}]": column for name, column in (replies.groups or {}).items()}
    for argument, column in {**shared, **({} if counts is None else {"pass_counts": counts})}.items():
        for name, (first, *others) in rows_of.items():
            for row in others:
                if column[row] != column[first]:
                    other = f"row {first} of the same question {name!r} has {column[first]!r}"
                    raise InputError(f"{argument}[{row}] is {column[row]!r}, but {other}")
    of_row = np.zeros(len(ids), dtype=np.int64)
    n_passes, chance = [], []
    for number, rows in enumerate(rows_of.values()):
        of_row[rows] = number
        if counts is None:
            n_passes.append(_moving([replies.choices[row] for row in rows]))
        else:
            n_passes.append(counts[rows[0]])
            check_count(f"pass_counts[{rows[0]}]", n_passes[-1])
            if n_passes[-1] < len(rows):
                given = f"{len(rows)} passes of its question are given"
                raise InputError(f"pass_counts[{rows[0]}] is {n_passes[-1]}, but {given}")
        # A missing pass has as many options as the first row.
        sizes = [replies.sizes[row] for row in rows]
        chance.append(1 / (math.prod(sizes) * sizes[0] ** (n_passes[-1] - len(rows))))
    first_rows = np.array([rows[0] for rows in rows_of.values()], dtype=np.int64)
    return Questions(list(rows_of), first_rows, np.array(n_passes, dtype=np.int64), of_row, np.array(chance))


def _moving(shown: Sequence[Sequence[str]]) -> int:
    """Number of passes of a question, from the options in each of its rows."""
    first = list(shown[0])
    if len(shown) == 1:
        return len(first)
    # A repeated text may have moved without a visible change.
    fixed = sum(len(set(texts)) == 1 and first.count(texts[0]) == 1 for texts in zip(*map(list, shown), strict=False))
    return max(len(first) - fixed, len(shown))


def read_circular(
    replies: Replies, missing: str = "error", settings: ExtractionSettings | None = None, judge: Judge | None = None
) -> Items:
    """The items of `read_choices` and those of `add_circular`, whose arguments these are."""
    if judge is not None:
        # A judge may cost money, so questions that are incomplete without its help are reported before it is asked.
        by_rule = ExtractionSettings(extraction=(settings or ExtractionSettings()).extraction)
        add_circular(read_choices(replies, by_rule), replies, missing)
    return add_circular(read_choices(replies, settings, judge), replies, missing)


def add_circular(items: Items, replies: Replies, missing: str = "error") -> Items:
    """The items, and `circular_correct`: whether the question of each row is answered correctly in every pass.

    A question with missing passes whose given passes are all correct is an error, or is None with "drop". The texts of
    the replies are not needed.

    Examples:
        >>> asked = {"question_ids": ["p", "p", "q"], "rotations": [0, 1, 0]}
        >>> replies = Replies(None, ["A", "B", "A"], [["x", "y"], ["y", "x"], ["x", "y"]], **asked)
        >>> add_circular({"correct": [True, False, True]}, replies, missing="drop")["circular_correct"]
        [False, False, None]
    """
    check_member("missing", missing, ("error", "drop"))
    questions = find_questions(replies)
    n = len(questions.ids)
    wrong = np.bincount(questions.of_row, weights=~np.array(items["correct"], dtype=bool), minlength=n) > 0
    incomplete = ~wrong & (np.bincount(questions.of_row, minlength=n) < questions.n_passes)
    if missing == "error" and incomplete.any():
        number = int(np.argmax(incomplete))
        asked = np.array(replies.rotations)[questions.of_row == number].tolist()
        unasked = [str(place) for place in range(questions.n_passes[number]) if place not in asked]
        raise InputError(
            f"rotations: question {questions.ids[number]!r} has no rotation {', '.join(unasked)}, and its other passes "
            f"are correct; ask the missing passes, or leave out incomplete questions with missing='drop' (in a run, "
            f"--skip-bad)"
        )
    outcomes = [None if left_out else not bad for left_out, bad in zip(incomplete, wrong.tolist(), strict=True)]
    return {**items, "circular_correct": [outcomes[number] for number in questions.of_row]}


def circular_scores(
    items: ItemColumns, replies: Replies, missing: str = "error", settings: ExtractionSettings | None = None
) -> dict[str, Any]:
    """Everything that `circular_eval` returns, overall and by group, from the items of `read_circular`.

    The texts of the replies are not needed. `missing` and `settings` are those with which they were read. The passes of
    a question count as one item. A score without questions is nan, with a warning.
    """
    settings, questions = settings or ExtractionSettings(), find_questions(replies)
    right, rotations = np.array(items["correct"], dtype=bool), np.array(replies.rotations)
    # None becomes nan.
    outcomes = np.array(items["circular_correct"], dtype=np.float64)[questions.first_rows]
    is_first = np.zeros(len(right), dtype=bool)
    is_first[questions.first_rows] = True
    complete = bool(questions.n_passes.sum() == len(right))
    # The passes of a question always belong together, even if no other question shares its image.
    clusters = Clusters(questions.of_row)
    if replies.clusters is not None:
        clusters = replies.together.select(questions.first_rows[questions.of_row])
    over_passes = _over_passes(items["choice"], replies, questions) if complete else {}

    def part(where: str, rows: Sequence[int]) -> dict[str, Any]:
        of_part = np.asarray(rows, dtype=np.int64)
        unrotated = of_part[rotations[of_part] == 0]
        # All rows of a question are in the same part.
        numbers = questions.of_row[of_part[is_first[of_part]]]
        scored = numbers[~np.isnan(outcomes[numbers])]
        listed = (of_part if complete else unrotated).tolist()
        shares = {
            "circular_accuracy": (outcomes[scored], questions.first_rows[scored]),
            "vanilla_accuracy": (right[unrotated], unrotated),
            **{name: (values[numbers], questions.first_rows[numbers]) for name, values in over_passes.items()},
        }
        for name, (flags, _) in shares.items():
            if not len(flags):
                message = f"{where}: {name} and {name}_ci95 are nan because {_UNDEFINED[name]}"
                warnings.warn(message, UndefinedScoreWarning, stacklevel=4)
        scores = {
            **{name: float(flags.mean()) if len(flags) else float("nan") for name, (flags, _) in shares.items()},
            **listed_intervals(
                {name: share_interval(flags, clusters.select(of)) for name, (flags, of) in shares.items()}
            ),
            "random_guess": float(np.mean(questions.chance[scored])) if len(scored) else float("nan"),
            "n_questions": len(scored),
            "n_vanilla": len(unrotated),
            "n_passes": len(of_part),
            "dropped": len(numbers) - len(scored),
            **reply_shares(items, replies, listed, clusters, max(replies.sizes[row] for row in rows)),
        }
        return scores if where == "overall" else scores | {"n": len(scored)}

    whole = part("overall", range(len(right)))
    whole["distribution_over"] = "all passes" if complete else "rotation 0"
    applying = settings.applying(items["judge_failed_rounds"], items["step"])
    return whole | map_groups(replies.groups or {}, part) | {"missing": missing} | applying


def _over_passes(
    letters: Sequence[str | None], replies: Replies, questions: Questions
) -> dict[str, NDArray[np.float64]]:
    """Flip rate and position-free accuracy of each question, from the letter chosen in each pass.

    A reply that names no option is an answer of its own for flips, and no vote for the majority.
    """
    votes: list[Counter[str | None]] = [Counter() for _ in questions.ids]
    right = [""] * len(votes)
    rows = zip(questions.of_row.tolist(), letters, replies.references, replies.choices, strict=True)
    for question, letter, reference, options in rows:
        votes[question][None if letter is None else options[ascii_uppercase.index(letter)]] += 1
        right[question] = options[ascii_uppercase.index(reference)]
    return {
        "position_free_accuracy": np.array([_by_majority(found, own) for found, own in zip(votes, right, strict=True)]),
        "flip_rate": np.array([float(len(found) > 1) for found in votes]),
    }


def _by_majority(votes: Counter[str | None], right: str) -> float:
    named = {content: count for content, count in votes.items() if content is not None}
    most = max(named.values(), default=0)
    return 1 / list(named.values()).count(most) if named.get(right, 0) == most > 0 else 0.0
