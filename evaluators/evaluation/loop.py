"""The loop of an evaluation: rows become requests, a backend answers them, and the items give the scores."""

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from eyechart.datasets_scripts.common.errors import BadImageError, DataError, UsageError, missing_column
from eyechart.evaluators.backends.endpoint.refused_parameters import DROPPED, dropped_settings
from eyechart.evaluators.evaluation.data import LoadedData, undecoded_rows
from eyechart.evaluators.evaluation.findings import (
    INCOMPLETE,
    cut_note,
    judge_notes,
    private_note,
    reply_notes,
    score_notes,
    setting_notes,
)
from eyechart.evaluators.evaluation.options import RunOptions
from eyechart.evaluators.evaluation.repeats import check_repeats, summarize_repeats
from eyechart.evaluators.evaluation.sampling import SAMPLE, Sample, draw_sample
from eyechart.evaluators.evaluation.scoring import score_items
from eyechart.evaluators.evaluation.waves import Progress, RowAnswers, ask_rows, explain_item, left_out
from eyechart.evaluators.protocols.protocol import CLUSTER, Protocol
from eyechart.evaluators.protocols.validation import check_image_list, check_images
from eyechart.evaluators.requests.keys import image_digest
from eyechart.evaluators.requests.types import Backend, Response, Row
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import PRIVATE, LeftOut, TaskResult
from eyechart.evaluators.tasks import headline_of
from eyechart.evaluators.tasks.as_published import judge_needed, published_settings
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.reply_counts import judge_counts
from eyechart.metrics.scoring.judging.replies import judge_name


def evaluate_rows(
    task: Task, options: RunOptions, backend: Backend, loaded: LoadedData, progress: Progress | None = None
) -> TaskResult:
    """Ask a backend about the rows of some data and score its answers.

    Args:
        task: The task.
        options: How to run it.
        backend: What answers the requests.
        loaded: The data, with what its loader left out, and how many of its rows to ask.
        progress: Called with (done, total) after each response.

    Raises:
        DataError: A row cannot be asked, or there are no rows.
        UsageError: The data lacks a column; the run is as published but lacks its judge or the paper's data options; or
            all repeats would be equal.
    """
    planned = options.protocol(task)
    # Data with options other than the paper's is refused before a model is asked.
    published = published_settings(task, planned, loaded.name, loaded.options) if options.as_published else None
    if options.as_published:
        _check_judge(task, planned, loaded)
    check_repeats(options.repeats, task.name, planned.output_type, backend)
    backend.check(planned.output_type)
    backend = backend.for_data(loaded.name)
    planned = _for_run(task, planned, backend, loaded, options)
    _check_columns(task, planned, loaded)
    sample = None if loaded.sample is None else draw_sample(loaded.dataset, task.groups, loaded.sample, options.seed)
    drawn = loaded.dataset if sample is None else loaded.dataset.select(sample.rows)
    rows, malformed = _usable_rows(task, planned, undecoded_rows(drawn, loaded.limit), backend.needs_images)
    if not rows:
        raise DataError("no rows to evaluate", path=loaded.source)
    start = time.perf_counter()
    answers = ask_rows(planned, backend, _with_clusters(rows, task), options.repeats, progress)
    asked = time.perf_counter()
    protocol, about = answers.protocol, None if sample is None else sample.settings()
    try:
        by_repeat = [score_items(protocol, items, about) for items in answers.repeats]
    except DataError as error:
        raise DataError(error.reason, path=loaded.source) from error
    found, end = by_repeat[0], time.perf_counter()
    settings = _settings(answers, backend, loaded, sample, found, published)
    found.diagnostics |= summarize_repeats(protocol, by_repeat, about)
    private = [left_out(row, PRIVATE) for row in answers.rows if protocol.is_private(row)]
    public = len(answers.rows) - len(private)
    scored = answers.responses
    if public:
        ids = {row["id"] for row in answers.rows if not protocol.is_private(row)}
        scored = [response for response in scored if response.request.id in ids]
    cut = cut_note(scored, protocol, backend)
    unusable = found.left_out
    notes = [
        *setting_notes(protocol, settings, found.scores is not None),
        *reply_notes(planned, protocol, answers.responses, settings["model"].get("thinking")),
        *([note("unusable", unusable=len(unusable), of=public, **_first(unusable))] if unusable else []),
        *judge_notes(by_repeat, settings.get("judge", {})),
        *([] if cut is None else [cut]),
        *([] if public else [private_note(loaded, len(answers.rows))]),
        *([note("task", note=task.note)] if task.note and found.scores is not None else []),
        *score_notes(found.scores or {}),
        *found.notes,
    ]
    is_incomplete = any(one.code in INCOMPLETE or one.values.get("incomplete") for one in notes)
    private = private if found.scores is not None else []
    files = protocol.answer_files(answers.rows, answers.repeats[0])
    return found.model_copy(
        update={
            "task": task.name,
            "dataset": loaded.name,
            "split": loaded.split,
            "model": backend.name,
            "settings": settings,
            "left_out": [*map(_loaded, loaded.left_out), *malformed, *answers.failed, *unusable, *private],
            "items": [item for result in by_repeat for item in result.items],
            "files": list(files),
            "contents": files,
            "timings": _timings(protocol, answers, asked - start, end - asked),
            "notes": notes,
            "headline": headline_of(task).key,
            "complete": found.complete and not is_incomplete and not judge_counts(found.scores or {}).unscored,
        }
    )


def _first(left: Sequence[LeftOut]) -> dict[str, str]:
    return {"id": left[0].id, "reason": left[0].reason}


def _loaded(item: Mapping[str, Any]) -> LeftOut:
    return LeftOut(**item)


def _check_judge(task: Task, protocol: Protocol, loaded: LoadedData) -> None:
    """Refuse a run as published without the judge that the paper used; private rows need none."""
    lacks_judge = task.published_judge and protocol.is_judged and protocol.judge is None
    if lacks_judge and not all(map(protocol.is_private, undecoded_rows(loaded.dataset, loaded.limit))):
        raise judge_needed(task)


def _settings(
    answers: RowAnswers,
    backend: Backend,
    loaded: LoadedData,
    sample: Sample | None,
    found: TaskResult,
    published: dict[str, Any] | None,
) -> dict[str, Any]:
    """Every setting that defines the scores."""
    protocol = answers.protocol
    settings = {**protocol.settings(), **protocol.data_settings(answers.rows), **found.settings}
    settings |= {"limit": loaded.limit, "data": loaded.describe()}
    if published is not None:
        # A setting may have no effect on these answers, such as pooling on precomputed scores.
        in_force = {name: one for name, one in published.items() if settings.get(name, one) is not None}
        settings["as_published"] = in_force
    if sample is not None:
        settings[SAMPLE] = sample.settings()
    if len(answers.repeats) > 1:
        settings["repeats"] = len(answers.repeats)
    if protocol.judge is not None and protocol.is_judged:
        settings["judge"] = _judge_settings(protocol, found.scores or {})
    return {**settings, "model": {**backend.settings(), **response_settings(answers.responses)}}


def response_settings(responses: Sequence[Response]) -> dict[str, Any]:
    """Settings of a model that are known only from its responses; stored responses give the same as new ones."""
    names = sorted({name for response in responses for name in response.response_metadata})
    found: dict[str, Any] = {
        name: sorted({response.response_metadata[name] for response in responses if name in response.response_metadata})
        for name in names
    }
    found |= dropped_settings(found.get(DROPPED, ()))
    if responses[0].rendered_prompt is not None:
        found["rendered_prompt"] = responses[0].rendered_prompt
    downscaled = [count for response in responses if (count := response.images_downscaled) is not None]
    images = sum(len(response.request.images) for response in responses)
    if images and len(downscaled) == len(responses):
        found["downscaled_share"] = sum(downscaled) / images
    upper_bound_words = Counter(word for response in responses for word in response.upper_bound_words)
    if upper_bound_words:
        found["upper_bound_words"] = dict(upper_bound_words)
    usage = Counter[str]()
    for response in responses:
        usage.update(response.usage)
    return found | ({"usage": dict(usage)} if usage else {})


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


def _timings(protocol: Protocol, answers: RowAnswers, model_seconds: float, metric_seconds: float) -> dict[str, float]:
    asked = len(answers.rows) * len(answers.repeats)
    return {
        "model_seconds": model_seconds,
        "metric_seconds": metric_seconds,
        **getattr(protocol.judge, "timings", dict)(),
        "items_per_second": asked / model_seconds if model_seconds else 0.0,
        "answers_from_store": float(sum(response.stored for response in answers.responses)),
    }


def _for_run(task: Task, protocol: Protocol, backend: Backend, loaded: LoadedData, options: RunOptions) -> Protocol:
    """The protocol with the settings that depend on the backend, the data and the run."""
    decided: dict[str, Any] = {"skip_bad": options.skip_bad}
    # The authors of a benchmark accept only answers to their own questions.
    decided["answer_file"] = task.answer_file if loaded.name in task.data.datasets else None
    names = {one.name for one in fields(protocol)}
    if "split" in names:
        decided["split"] = loaded.split
    if "early_stop" in names and protocol.settings()["early_stop"] is None:
        # Repeats take a majority vote in every pass.
        decided["early_stop"] = backend.billed_per_request and options.repeats == 1
    return replace(protocol, **decided).for_data(task.name, loaded.split)


def check_first_row(task: Task, protocol: Protocol, loaded: LoadedData, *, needs_images: bool) -> None:
    """Refuse data that lacks a column of the protocol or of its prompt, or whose first row cannot be asked.

    Raises:
        UsageError: A column is missing; the message names the columns found.
        DataError: The first row cannot be asked, and bad rows are not skipped.
    """
    _check_columns(task, protocol, loaded)
    first = undecoded_rows(loaded.dataset, 1)
    _usable_rows(task, protocol.for_data(task.name, loaded.split), first, needs_images)


def _check_columns(task: Task, protocol: Protocol, loaded: LoadedData) -> None:
    for column in protocol.columns:
        if column not in loaded.dataset.column_names:
            raise UsageError(missing_column(column, loaded.dataset.column_names, f" (needed by {task.name})"))


def _usable_rows(
    task: Task, protocol: Protocol, rows: Sequence[Row], needs_images: bool
) -> tuple[list[Row], list[LeftOut]]:
    """The rows that can be asked, and the left-out ones; checked first, so that no long run ends in an error.

    Raises:
        DataError: A row cannot be asked, and bad rows are not skipped.
    """
    usable: dict[str, Row] = {}
    unusable = []
    for row in rows:
        try:
            if row["id"] in usable:
                raise DataError("duplicate id")
            protocol.check(row)
            if task.check is not None:
                task.check(row)
            if needs_images and protocol.shows_images:
                check_image_list(row)
                check_images(protocol.requests(row))
        except DataError as error:
            if not protocol.skip_bad:
                raise explain_item(row["id"], error) from error
            unusable.append(left_out(row, str(error)))
        else:
            usable[row["id"]] = row
    return list(usable.values()), unusable


def _with_clusters(rows: Sequence[Row], task: Task) -> list[Row]:
    """The rows with the key `CLUSTER`: the task's column, or a digest of the images; None if that is not known."""
    if not task.protocol.shares_images:
        return list(rows)
    if task.cluster:
        return [{**row, CLUSTER: None if row[task.cluster] in (None, "") else str(row[task.cluster])} for row in rows]
    return [{**row, CLUSTER: _images_digest(row)} for row in rows]


def _images_digest(row: Row) -> str | None:
    sources = row["images"] if "images" in row else [row.get("image")]
    if not sources or None in sources:
        return None
    try:
        return hashlib.sha256("\n".join(map(image_digest, sources)).encode()).hexdigest()[:16]
    except BadImageError:
        return None
