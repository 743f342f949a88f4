"""Whether the scores that a run states agree with each other and with its predictions, as far as columns show it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.evaluators.requests.values import brief, is_number
from eyechart.evaluators.results.items import MAIN, PREDICTIONS_FILE, RESULT_COLUMNS, UNKNOWN, arrow_type, check_types
from eyechart.evaluators.results.results_file import AVERAGE, RESULTS_FILE, bad_results
from eyechart.metrics.database_averages import mean_scores
from eyechart.metrics.score_check import contradictions
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import EQUAL_QUALITY, FIT_PARAMETERS, specs_in
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.inputs import rows_by_value
from eyechart.metrics.scoring.quality.correlation import plcc, srcc

if TYPE_CHECKING:
    from pyarrow import Table

    from eyechart.evaluators.results.finished_runs import Answers, Run, TaskKey

TOLERANCE = 1e-6
"""Absolute and relative tolerance for scores: more than processors differ, less than any column shows."""
_OTHER_GROUPS = ("by_pool", "by_database", "by_response")
"""Parts of scores that are not groups of the task."""


def check_agreement(run: "Run") -> None:
    """Raise `BadResultsError` if scores contradict each other or the predictions, or if predictions are missing."""
    if run.predictions is None and run.results.predictions_sha256:
        reason = f"is missing, but {RESULTS_FILE} names it; restore it, or repeat the run (stored answers are reused)"
        raise BadResultsError(reason, path=run.folder / PREDICTIONS_FILE)
    problems = [_unstated(run), *(disagreements(run, key) for key in run.tasks)]
    if problem := next(chain(*problems), ""):
        raise bad_results(run.folder / RESULTS_FILE, problem)


def disagreements(run: "Run", key: "TaskKey") -> Iterator[str]:
    """How the scores of a result contradict each other and the predictions."""
    result, answers, where = run.tasks[key], run.answers(key), f"key tasks[{list(run.tasks).index(key)}].scores"
    yield from contradictions(result.scores or {}, where)
    for name, scores in result.variants.items():
        yield from contradictions(scores, f"{where} ({brief(name)})")
    if result.scores is not None and key.dataset == AVERAGE:
        yield from average_differences(run, key, map(str, result.settings.get("databases") or [""]))
    elif answers is not None:
        yield from _row_problems(answers, is_judged=bool(result.settings.get("judge")))
        scores = result.scores or {}
        needed = {"groups", *(name for spec in specs_in(scores) for name in (*spec.of, spec.against))}
        firsts = answers.select(needed).where([name == MAIN for name in answers.column("pass")])
        yield from _score_problems(scores, firsts, where)
    elif result.scores is not None and run.predictions is not None:
        yield f"{where} are of {key.title}, of which there are no predictions"


def _unstated(run: "Run") -> Iterator[str]:
    """Predictions that belong to no result."""
    stated = {tuple(getattr(result, name) for name in RESULT_COLUMNS) for result in run.results.tasks}
    for row in [] if run.predictions is None else _distinct(run.predictions, RESULT_COLUMNS).to_pylist():
        if (names := tuple(row[name] for name in RESULT_COLUMNS)) not in stated:
            yield f"no result is of {', '.join(map(str, names))}, of which there are predictions"


def _distinct(table: "Table", names: Sequence[str]) -> "Table":
    """The different values of some columns; without threads, as in `read_predictions`."""
    return table.group_by([*names], use_threads=False).aggregate([])


def average_differences(run: "Run", key: "TaskKey", databases: Iterable[str]) -> Iterator[str]:
    """How an average differs from the mean of the results on its databases."""
    try:
        expected = mean_scores({name: run.tasks[key._replace(dataset=name)].scores or {} for name in databases})
    except KeyError as error:
        yield f"the average lacks a result or score of a database: {error}"
    else:
        yield from differences("scores", run.tasks[key].scores, expected)


def _row_problems(answers: "Answers", *, is_judged: bool) -> Iterator[str]:
    """How rows of predictions contradict each other, or themselves."""
    requests = _distinct(answers.table, ("id", "pass")).num_rows
    if requests < len(answers):
        yield f"of the predictions of {requests:,} requests there are {len(answers):,}"
    names = {"id": str, "choice": str, "answer": str, "step": str, "correct": bool, "consistent": bool}
    check_types(answers.table, {name: arrow_type(kind) for name, kind in names.items()}, answers.path)
    for row in answers.select(names).iterate():
        choice, right, correct = row.get("choice"), row.get("answer"), row.get("correct")
        expected = choice is not None and choice in (right or "") and row.get("consistent") is not False
        # A judge can vote that a reply is right without naming a letter.
        is_vote = is_judged and choice is None and row.get("step") == "judge"
        if correct not in (None, expected) and not is_vote:
            words = f"choice={choice!r:.20} and answer={right!r:.20}"
            yield f"the prediction {brief(row['id'])} has correct={correct}, which contradicts its {words}"


def _score_problems(scores: Mapping[str, Any], answers: "Answers", where: str) -> Iterator[str]:
    """How scores differ from the items that they are of, overall and by group."""
    for spec in (spec for spec in specs_in(scores) if len(spec.of) == 1):
        values = answers.column(spec.of[0], bool if spec.is_percentage else float)
        if spec.against:
            pairs = zip(values, answers.column(spec.against, float), strict=True)
            items = [pair for pair in pairs if None not in pair]
        else:
            items = [value for value in values if value is not None]
        # Pairs of equal quality have no right answer, but count.
        n = len(items) + ((scores.get(EQUAL_QUALITY) or 0) if spec.headline else 0)
        yield from differences(f"{where}: the number of items of {spec.key}", spec.n(scores), n)
        if items and not (spec.correlation and scores.get("average_over")):
            yield from differences(f"{where}.{spec.key}", spec.value(scores), _score(spec, items))
    for name, parts in scores.items():
        if name.startswith("by_") and name not in _OTHER_GROUPS:
            rows = rows_by_value(_group(answers, name.removeprefix("by_")))
            if missing := [part for part in parts if part not in rows]:
                yield f"{where}.{name} has {brief(missing[0])}; its predictions have {brief(sorted(rows))}"
            for part, of_part in parts.items():
                yield from _score_problems(of_part, answers.take(rows[part]), f"{where}.{name}.{part}")


def _group(answers: "Answers", name: str) -> list[str]:
    """The value of a group, or of two crossed groups, of each item."""
    import pyarrow.compute

    def values(group: str) -> list[str | None]:
        return pyarrow.compute.map_lookup(answers.table["groups"], pyarrow.scalar(group), "first").to_pylist()

    if "groups" not in answers.table.column_names:
        return []
    groups = [values(name)]
    if None in groups[0]:
        groups = list(map(values, name.split("_by_")))
    return [", ".join(value or UNKNOWN for value in parts) for parts in zip(*groups, strict=True)]


def _score(spec: ScoreSpec, items: Sequence[Any]) -> float:
    """A score of items: the mean of values, or the correlation of pairs of values and human judgements."""
    if not spec.correlation:
        return (spec.high if spec.is_percentage else 1) * float(sum(items)) / len(items)
    try:
        return {"spearman": srcc, "pearson": plcc}[spec.correlation](*zip(*items, strict=True))
    except ScoringError:
        return math.nan


def differences(name: str, stored: Any, expected: Any) -> Iterator[str]:
    """Every value that differs from the expected one."""
    if isinstance(stored, Mapping) and isinstance(expected, Mapping):
        for key in dict.fromkeys([*expected, *stored]):
            # Different parameters can describe the same curve; its PLCC and RMSE are compared instead.
            if key != FIT_PARAMETERS:
                yield from differences(f"{name}.{brief(key)[1:-1]}", stored.get(key), expected.get(key))
    elif isinstance(stored, list) and isinstance(expected, list) and len(stored) == len(expected):
        for index, (value, again) in enumerate(zip(stored, expected, strict=True)):
            yield from differences(f"{name}[{index}]", value, again)
    elif not _are_equal(stored, expected):
        yield f"{name} is {brief(stored)}; its predictions give {brief(expected)}"


def _are_equal(stored: Any, expected: Any) -> bool:
    if is_number(stored) and is_number(expected):
        return abs(stored - expected) <= TOLERANCE * max(1.0, abs(expected))
    return bool(stored == expected) or (stored != stored and expected != expected)
