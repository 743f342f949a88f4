"""The table that a run prints: one row per score, with interval, random-guess level and n."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

from eyechart.datasets_scripts.official import in_official_terms
from eyechart.evaluators.protocols.choice.circular_eval import GRADES, WITHOUT_BLIND
from eyechart.evaluators.results.evaluation import Evaluation
from eyechart.evaluators.results.official import official_items, scored_items
from eyechart.evaluators.results.results_file import FailedTask, task_folder
from eyechart.evaluators.results.sources import MINI
from eyechart.evaluators.runs.console import printable
from eyechart.metrics.scoring.judging.lexical import LEXICAL


@dataclass(frozen=True)
class _Score:
    """How one key of a metric's result is shown."""

    key: str
    label: str
    interval: str = ""
    """Key of its 95 % interval."""
    random_guess: str | float = ""
    """Key of its level for random answers, or that level itself."""
    scale: float | None = None
    """What makes a percentage of it; None for a plain number."""
    n: str = "n"
    """Key of the number of items behind it."""
    beside: str = ""
    """Shown only where this key is there too."""
    inner: str = ""
    """Key within what `key` names, where that is a mapping; interval and n are then found there too. Shown for the
    whole of the data only."""
    n_parts: tuple[str, ...] = ()
    """Keys of the numbers of items that make up `n`, where no key has it."""


_SCORES = (
    _Score("accuracy", "accuracy", "accuracy_ci95", "random_guess", 100),
    _Score("yes_no", "  yes/no, unbiased mean", "", 0.5, 100, inner="mean", n_parts=("n_yes", "n_no")),
    _Score("circular_accuracy", "CircularEval", "circular_ci95", "random_guess", 100, "n_questions"),
    _Score("vanilla_accuracy", "VanillaEval", "vanilla_ci95", "", 100, "n_vanilla"),
    _Score("score_sa", "self-awareness", "score_sa_ci95", "", 1),
    _Score("score_cc", "  right answers", "score_cc_ci95", "", 1),
    _Score("score_rc", "  right refusals", "score_rc_ci95", "", 1),
    _Score("answer_rate", "answer rate", "answer_rate_ci95", "", 100),
    _Score("answer_accuracy", "answer accuracy", "answer_accuracy_ci95", "random_guess", 100),
    _Score("sum", "sum of three (0 to 6)", "sum_ci95"),
    _Score("mean", "mean of three (0 to 2)", "mean_ci95"),
    *(
        _Score(dimension, f"  {dimension}", "score_ci95", inner="score")
        for dimension in ("completeness", "preciseness", "precision", "relevance")
    ),
    _Score("mean_score", "mean mark (1 to 5)", "mean_score_ci95"),
    _Score("exact_match", "exact match", "exact_match_ci95", "", 100),
    _Score("consistency", "consistency", "consistency_ci95", "", 100, "n_pairs"),
    _Score("accuracy_all", "accuracy, all pairs", "accuracy_all_ci95", 0.25, 100, "n_pairs"),
    _Score("accuracy_consistent", "accuracy, consistent pairs", "accuracy_consistent_ci95", 0.5, 100, "n_consistent"),
    _Score("first_rate", "prefers the image shown first", "", 0.5, 100, "n_pairs"),
    _Score("plcc_fitted", "PLCC, fitted", n="n_images", beside="n_pairs"),
    _Score("srcc", "SRCC", "srcc_ci95", 0.0),
    _Score("plcc", "PLCC", "plcc_ci95", 0.0),
)
_WITH_BREAKDOWN = 3
"""Up to so many results are shown with their groups."""
_ASKED_FOR = (WITHOUT_BLIND, GRADES)
"""Variants that are there because an option asks for them, and shown beside the scores."""


def score_table(evaluations: Sequence[Evaluation], failed: Sequence[FailedTask]) -> Table:
    """Lay out a run.

    Args:
        evaluations: The tasks that finished.
        failed: Those that did not.
    """
    table = Table(title=_shown(_title(evaluations)), title_justify="left")
    table.add_column("task", no_wrap=True)
    table.add_column("data")
    table.add_column("score")
    for name in ("value", "95 % interval", "random guess", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    groups = len(evaluations) <= _WITH_BREAKDOWN
    for evaluation in evaluations:
        data = f"{evaluation.dataset} ({', '.join([evaluation.split, *_extent(evaluation)])})"
        name = evaluation.task
        for cells in _rows(evaluation, groups):
            table.add_row(name, *map(_shown, (data, *cells)))
            name = data = ""
        table.add_section()
    for failure in failed:
        reason = next(iter(failure.error.splitlines()), "")
        table.add_row(failure.task, failure.dataset, f"[red]failed:[/red] {_shown(reason)}")
    return table


def _extent(evaluation: Evaluation) -> Iterator[str]:
    """Whether the data are synthetic, else how many of the official items they are; nothing where that is not known."""
    if evaluation.settings["data"]["is_mini"]:
        yield "mini"
        return
    count = _asked(evaluation) if evaluation.scores is None else scored_items(evaluation.scores)
    official = in_official_terms(count or 0, official_items(evaluation))
    if official:
        yield official


def _asked(evaluation: Evaluation) -> int:
    return len({answer["id"] for answer in evaluation.predictions})


def notes(evaluations: Sequence[Evaluation]) -> list[str]:
    """What the reader of the table has to know: private answers, items left out, mini data."""
    lines = [f"{e.task}: {caveat}" for e in evaluations for caveat in e.caveats]
    if len(evaluations) > _WITH_BREAKDOWN:
        lines.append("Breakdowns by group are in the results, and shown where at most three tasks are run.")
    elif any(_is_crossed(key) for e in evaluations for key in e.scores or {}):
        lines.append("Breakdowns by two groups at once are in the results.")
    lines += _other_ways(evaluations)
    lexical = [e.task for e in evaluations if _is_lexical(e)]
    if lexical:
        lines.append(
            f"{', '.join(lexical)}: judged by `{LEXICAL}`, which compares words and stands in where no judge is given; "
            "such scores are not comparable with published ones."
        )
    for evaluation in evaluations:
        lines += _own_notes(evaluation)
    if any(e.settings["data"]["is_mini"] for e in evaluations):
        lines.append(
            f"A {MINI} holds synthetic items, so these scores are not comparable with published ones. A run that names "
            "a --model without --mini uses the real data."
        )
    return lines


def _own_notes(evaluation: Evaluation) -> list[str]:
    """What there is to know of one task: what has no part in its scores, what people read, where its files are."""
    lines = []
    agreement = evaluation.diagnostics.get("extractor_agreement", {}).get("all")
    if agreement:
        share = _number(agreement["agreement"], 100)
        lines.append(
            f"{evaluation.task}: the letters found are those that people read in {share} of {agreement['n']} replies."
        )
    for name in evaluation.files:
        place = task_folder(evaluation) / name
        lines.append(f"{evaluation.task}: the answer file is {place}{_not_to_be_submitted(evaluation)}")
    count = len(evaluation.left_out)
    if count:
        first = evaluation.left_out[0]
        lines.append(
            f"{evaluation.task}: {count} item{'s' if count > 1 else ''} left out, listed in the results; "
            f"the first: '{first['id']}': {first['reason']}"
        )
    return lines


def _not_to_be_submitted(evaluation: Evaluation) -> str:
    """Why a file of answers is not for the benchmark's authors; "" where it is."""
    data, limit = evaluation.settings["data"], evaluation.settings.get("limit")
    if data["is_mini"]:
        return "; do not submit it, as its items are made up"
    if limit is not None:
        return f"; do not submit it, as it is of the first {limit:,} of {data['rows']:,} items alone"
    if evaluation.left_out:
        return "; do not submit it, as it lacks the items left out"
    return ""


def _other_ways(evaluations: Sequence[Evaluation]) -> list[str]:
    """Names of the variants that the table does not show, for each task."""
    names: dict[str, dict[str, None]] = {}
    for evaluation in evaluations:
        others = [name for name in evaluation.variants if name not in _ASKED_FOR]
        names.setdefault(evaluation.task, {}).update(dict.fromkeys(others))
    return [
        f"{task}: alternative scorings ({', '.join(others)}): see results.json."
        for task, others in names.items()
        if others
    ]


def _is_lexical(evaluation: Evaluation) -> bool:
    return any(scores.get("judge") == LEXICAL for scores in (evaluation.scores or {}, *evaluation.variants.values()))


def _title(evaluations: Sequence[Evaluation]) -> str:
    models = sorted({e.model for e in evaluations})
    return f"model: {', '.join(models)}" if models else ""


def _rows(evaluation: Evaluation, groups: bool) -> Iterator[tuple[str, str, str, str, str]]:
    scores = evaluation.scores
    if scores is None:
        items = _asked(evaluation)
        yield ("no score, see below", "", "", "", f"{items:,}" if items else "")
        return
    yield from score_rows(scores)
    for name in _ASKED_FOR:
        yield from score_rows(evaluation.variants.get(name, {}), name)
    if groups:
        for name, part in _parts(evaluation, scores):
            yield from score_rows(part, name)


def _parts(evaluation: Evaluation, scores: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Parts of the data with their scores: those of the benchmark's own table where it has one, else all groups."""
    if "table" in evaluation.diagnostics:
        yield from evaluation.diagnostics["table"].items()
        for average in evaluation.diagnostics["averages"]:
            first, *_, last = average["over"]
            yield f"average of {len(average['over'])}, {first} to {last}", average
        return
    for key, values in scores.items():
        if key.startswith("by_") and not _is_crossed(key) and isinstance(values, Mapping):
            yield from ((f"{value}", part) for value, part in values.items())


def _is_crossed(key: str) -> bool:
    """Whether a key holds a breakdown by two groups at once, which would fill the table."""
    return key.startswith("by_") and "_by_" in key


def score_rows(scores: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, str, str, str, str]]:
    """What a metric returned as cells: score, value, 95 % interval, random guess, n.

    Args:
        scores: Undefined values are nan.
        group: The group that they are of; "" for all items.
    """
    for score in _SCORES:
        if score.key in scores and (not score.beside or score.beside in scores) and not (group and score.inner):
            guess = score.random_guess
            level = scores.get(guess) if isinstance(guess, str) else guess
            found = scores[score.key] if score.inner else scores
            n = found.get(score.n, found.get("n_images", found.get("n")))
            n = sum(found[part] for part in score.n_parts) if score.n_parts else n
            yield (
                f"  {group}: {score.label}" if group else score.label,
                _number(found[score.inner or score.key], score.scale),
                _interval(found.get(score.interval), score.scale),
                _number(level, score.scale),
                "" if n is None else "undefined" if math.isnan(n) else f"{n:,}",
            )


def _number(value: float | None, scale: float | None) -> str:
    if value is None:
        return ""
    if not math.isfinite(value):
        return "undefined"
    return f"{value:.3f}" if scale is None else f"{scale * value:.2f} %"


def _interval(value: Sequence[float] | None, scale: float | None) -> str:
    if not value or not all(math.isfinite(v) for v in value):
        return ""
    low, high = value
    return f"{low:.3f} to {high:.3f}" if scale is None else f"{scale * low:.2f} to {scale * high:.2f}"


def _shown(text: str) -> str:
    """A text of unknown origin for a cell: neither the table's markup nor the terminal takes a part of it."""
    return escape(printable(text))
