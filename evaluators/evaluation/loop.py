"""The loop of an evaluation: rows become requests, a backend answers them, and the items give the scores."""

import hashlib
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from datasets import Dataset

from eyechart.datasets_scripts.common.errors import BadImageError, DataError, UsageError, missing_column
from eyechart.evaluators.evaluation.data import LoadedData, Rows, read_rows
from eyechart.evaluators.evaluation.findings import result_notes
from eyechart.evaluators.evaluation.options import RunOptions
from eyechart.evaluators.evaluation.scoring import summarize_repeats
from eyechart.evaluators.evaluation.waves import Progress, RowAnswers, Watch, ask_rows, explain_item, left_out
from eyechart.evaluators.protocols.protocol import Protocol, check_images
from eyechart.evaluators.requests.keys import image_digest
from eyechart.evaluators.requests.types import Backend, OutputType, Row
from eyechart.evaluators.results.items import PackedItems
from eyechart.evaluators.results.results_file import SAMPLE, LeftOut, TaskResult
from eyechart.evaluators.tasks import headline_of
from eyechart.evaluators.tasks.task import Task, judge_needed, published_settings
from eyechart.metrics.reply_counts import judge_counts
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.judging.replies import judge_name


def evaluate_rows(
    task: Task,
    options: RunOptions,
    backend: Backend,
    loaded: LoadedData,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> TaskResult:
    """Ask a backend about the rows of some data and score its answers; raises as `Evaluator.run`."""
    initial = protocol_for(task, options, loaded, is_billed=backend.billed_per_request)
    published = _check_published(task, initial, loaded) if options.as_published else None
    check_repeats(options.repeats, task.name, initial.output_type, backend)
    backend.check(initial.output_type)
    backend = backend.for_data(loaded.name)
    drawn, sample = draw_sample(loaded.dataset, task.groups, loaded.request.sample, options.seed)
    rows, malformed = usable_rows(task, initial, drawn, loaded.request.limit, needs_images=backend.needs_images)
    if not len(rows):
        raise DataError("no rows to evaluate", path=loaded.source)
    rows = replace(rows, cluster_of=loaded.cluster_of or rows.cluster_of)

    start = time.perf_counter()
    answers = ask_rows(initial, backend, rows, options.repeats, progress, watch)
    asked = time.perf_counter()
    protocol = answers.protocol
    try:
        by_repeat = [protocol.score(items) for items in answers.repeats]
    except (DataError, ScoringError) as error:
        raise DataError(f"the answers cannot be scored: {error}", path=loaded.source) from error
    scored = time.perf_counter()

    result = by_repeat[0]
    result.task, result.dataset, result.split, result.model = task.name, loaded.name, loaded.split, backend.name
    result.settings = _settings(answers, rows, backend, loaded, sample, result, published)
    result.diagnostics |= summarize_repeats(by_repeat)
    result.notes = list(result_notes(task, initial, backend, loaded, answers, by_repeat))
    result.complete = not any(note.is_incomplete for note in result.notes)
    result.left_out = [
        *(LeftOut(**item) for item in loaded.left_out),
        *malformed,
        *answers.failed,
        *result.left_out,
        # Without scores, a note says that all answers are private.
        *(answers.private if result.scores is not None else ()),
    ]
    if len(by_repeat) > 1:
        result.items = PackedItems(item for of_repeat in by_repeat for item in of_repeat.items)
    result.contents = _answer_files(task, loaded, rows, answers)
    result.files = list(result.contents)
    result.timings = _timings(answers, asked - start, scored - asked)
    result.headline = headline_of(task).key
    return result


def protocol_for(task: Task, options: RunOptions, loaded: LoadedData, *, is_billed: bool = False) -> Protocol:
    """The protocol of a task for some data; `is_billed`: whether the backend bills each request."""
    protocol = replace(options.protocol(task), skip_bad=loaded.request.skip_bad)
    bound: Protocol = protocol.for_data(task.name, loaded.name, loaded.split, is_billed=is_billed)
    return bound


def systematic_rows(strata: Sequence[tuple[str, ...]], n: int, rng: np.random.Generator) -> list[int]:
    """Indices of n rows with equal chances, spread over the strata (Madow, Annals of Mathematical Statistics, 1949).

    Examples:
        >>> rows = systematic_rows([("what",)] * 60 + [("how",)] * 30, 9, np.random.default_rng(0))
        >>> len(rows), sum(row < 60 for row in rows)
        (9, 6)
    """
    shuffled = rng.permutation(len(strata)).tolist()
    # The order of the strata is random too; otherwise the same neighbours would always share a step.
    different = sorted(set(strata))
    order = dict(zip(different, rng.permutation(len(different)).tolist(), strict=True))
    ordered = sorted(shuffled, key=lambda row: order[strata[row]])
    step = len(strata) / n
    start = rng.random() * step
    return sorted(ordered[min(int(start + index * step), len(strata) - 1)] for index in range(n))


def draw_sample(dataset: Dataset, groups: Sequence[str], n: int | None, seed: int) -> tuple[Dataset, dict[str, Any]]:
    """A random sample of n rows, stratified by the groups' columns that exist, and what a result records about it.

    All rows and an empty dict if n is None, or if there are no more than n.
    """
    if n is None or n >= len(dataset):
        return dataset, {}
    strata = [name for name in groups if name in dataset.column_names]
    columns = dataset.select_columns(strata).to_dict() if strata else {}
    names = list(zip(*(map(str, columns[name]) for name in strata), strict=True)) or [()] * len(dataset)
    rows = systematic_rows(names, n, np.random.default_rng(seed))
    return dataset.select(rows), {"n": n, "of": len(dataset), "seed": seed, "strata": strata}


def check_repeats(repeats: int, task: str, output_type: OutputType, backend: Backend | None = None) -> None:
    """Raise `UsageError` for a number below 1, or repeats that would be equal; the backend is None while unknown."""
    if repeats < 1:
        raise UsageError(f"repeats={repeats} is not allowed; it must be at least 1.")
    if repeats == 1:
        return
    if output_type is not OutputType.TEXT:
        reason = f"it asks for {output_type.value}, which are not sampled"
    elif backend is not None and not backend.writes_replies:
        reason = f"the answers of {backend.name} are precomputed"
    elif backend is not None and not backend.samples:
        reason = f"{backend.name} replies at temperature 0 and always takes the most likely token"
    else:
        return
    raise UsageError(f"repeats={repeats} is not allowed for {task}: {reason}, so all repeats would be equal.")


def _check_published(task: Task, protocol: Protocol, loaded: LoadedData) -> dict[str, Any]:
    """The paper's settings; refuses data with other options, and a run that lacks the paper's judge."""
    published = published_settings(task, protocol, loaded.name, loaded.options)
    lacks_judge = task.published_judge and protocol.is_judged and protocol.judge is None
    # Private rows need no judge.
    if lacks_judge and not all(map(protocol.is_private, read_rows(loaded.dataset, loaded.request.limit))):
        raise judge_needed(task)
    return published


def _settings(
    answers: RowAnswers,
    rows: Rows,
    backend: Backend,
    loaded: LoadedData,
    sample: dict[str, Any],
    result: TaskResult,
    published: dict[str, Any] | None,
) -> dict[str, Any]:
    """Every setting that defines the scores."""
    protocol = answers.protocol
    settings = {**protocol.settings(rows.texts()), **result.settings}
    settings |= {"limit": loaded.request.limit, "data": loaded.describe()}
    if published is not None:
        # A setting may have no effect on these answers, such as pooling on precomputed scores.
        settings["as_published"] = {
            name: values for name, values in published.items() if settings.get(name, values) is not None
        }
    if sample:
        settings[SAMPLE] = sample
    if len(answers.repeats) > 1:
        settings["repeats"] = len(answers.repeats)
    if protocol.judge is not None and protocol.is_judged:
        settings["judge"] = _judge_settings(protocol, result.scores or {})
    return {**settings, "model": {**backend.settings(), **answers.tally.settings()}}


def _judge_settings(protocol: Protocol, scores: Mapping[str, Any]) -> dict[str, Any]:
    describe = getattr(protocol.judge, "settings", None)
    if describe is None:
        return {"name": judge_name(protocol.judge)}
    judge: dict[str, Any] = describe()
    # The judge counts rounds without a reply; the metric counts texts without a reply that can be parsed.
    if unscored := judge_counts(scores).unscored:
        reason = judge["reason"] or f"no usable reply in any round for {unscored} of the texts put to the judge"
        judge = {**judge, "incomplete": True, "reason": reason}
    return judge


def _answer_files(task: Task, loaded: LoadedData, rows: Rows, answers: RowAnswers) -> dict[str, bytes]:
    """The benchmark's answer file by name, if all labels are private; it is only for the authors' own questions."""
    is_private = len(answers.private) == answers.count
    if task.answer_file is None or loaded.name not in task.data.datasets or not is_private:
        return {}
    failed = {item.id for item in answers.failed}
    asked = [{**row, "split": loaded.split} for row in read_rows(rows.dataset) if row["id"] not in failed]
    released = answers.protocol.released(asked, answers.repeats[0])
    return dict(task.answer_file([row for row, _ in released], [reply for _, reply in released]))


def _timings(answers: RowAnswers, model_seconds: float, metric_seconds: float) -> dict[str, float]:
    asked = answers.count * len(answers.repeats)
    return {
        "model_seconds": model_seconds,
        "metric_seconds": metric_seconds,
        **getattr(answers.protocol.judge, "timings", dict)(),
        "items_per_second": asked / model_seconds if model_seconds else 0.0,
        "answers_from_store": float(answers.tally.stored),
    }


def usable_rows(
    task: Task, protocol: Protocol, dataset: Dataset, limit: int | None, *, needs_images: bool
) -> tuple[Rows, list[LeftOut]]:
    """Of the first `limit` rows, those that can be asked, and the left-out ones; no later step then refuses a row.

    Raises `UsageError` for data without a needed column, `DataError` for a row that cannot be asked.
    """
    for column in protocol.columns:
        if column not in dataset.column_names:
            raise UsageError(missing_column(column, dataset.column_names, f" (needed by {task.name})"))
    ids = set[str]()
    usable = array("q")
    unusable = []
    for index, row in enumerate(read_rows(dataset, limit)):
        try:
            if row["id"] in ids:
                raise DataError("duplicate id")
            protocol.check(row)
            if task.check is not None:
                task.check(row)
            if needs_images:
                check_images(protocol, row)
        except DataError as error:
            if not protocol.skip_bad:
                raise explain_item(row["id"], error) from error
            unusable.append(left_out(row, str(error)))
        else:
            ids.add(row["id"])
            usable.append(index)
    indices = usable if unusable else range(len(usable))
    return Rows(dataset.select(indices), partial(cluster_of, task)), unusable


def cluster_of(task: Task, row: Row) -> str | None:
    """What rows may share: the value of the task's column, or a digest of the images; None if that is not known."""
    if not task.protocol.shares_images:
        return None
    if task.cluster:
        return None if row[task.cluster] in (None, "") else str(row[task.cluster])
    sources = row["images"] if "images" in row else [row.get("image")]
    if not sources or None in sources:
        return None
    try:
        return hashlib.sha256("\n".join(map(image_digest, sources)).encode()).hexdigest()[:16]
    except BadImageError:
        return None
