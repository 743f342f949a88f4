"""The loop of an evaluation: rows become requests, a backend answers them, the protocol scores the answers."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, UsageError, missing_column
from eyechart.evaluators.evaluation.caveats import (
    count_unscored,
    cut_caveat,
    failed_caveat,
    few_decide_caveat,
    private_caveat,
    published_caveat,
    reasoning_caveat,
    repeated_caveat,
    thinking_caveat,
    unjudged_caveat,
    unmatched_caveat,
    unusable_caveat,
)
from eyechart.evaluators.evaluation.clusters import add_clusters
from eyechart.evaluators.evaluation.data import LoadedData, undecoded_rows
from eyechart.evaluators.evaluation.preview import rendered
from eyechart.evaluators.evaluation.repeats import check_repeats, compare_repeats, sampling_caveat
from eyechart.evaluators.evaluation.response_metadata import model_settings
from eyechart.evaluators.evaluation.sampling import (
    SAMPLE,
    Sample,
    draw_sample,
    finite_diagnostics,
    finite_scores,
    sample_caveat,
)
from eyechart.evaluators.evaluation.waves import Progress, ask_rows, explain_item, left_out_item
from eyechart.evaluators.protocols.protocol import CLUSTER, Protocol, Scored
from eyechart.evaluators.protocols.scorer import score_answers
from eyechart.evaluators.protocols.validation import check_image_list, check_images
from eyechart.evaluators.requests.types import Backend, Row, RowResponses
from eyechart.evaluators.results.evaluation import PRIVATE, Evaluation
from eyechart.evaluators.results.served import judge_served_caveat, served_caveat
from eyechart.evaluators.tasks.as_published import published_settings
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.judging.replies import judge_name


def evaluate_rows(
    task: Task,
    protocol: Protocol,
    backend: Backend,
    loaded: LoadedData,
    *,
    as_published: bool = False,
    skip_bad: bool = False,
    limit: int | None = None,
    sample: int | None = None,
    repeats: int = 1,
    progress: Progress | None = None,
) -> tuple[Evaluation, list[RowResponses]]:
    """Ask a backend about the rows of some data and score its answers.

    Args:
        task: The task.
        protocol: Its protocol with the settings, seed and judge of this run.
        backend: What answers the requests.
        loaded: The data.
        as_published: Whether the settings are the paper's; the result then lists them.
        skip_bad: Leave out items that cannot be asked, each listed in `left_out`.
        limit: Ask only the first N rows.
        sample: Ask a random sample of N rows, drawn with the protocol's seed.
        repeats: How many times to ask everything; the scores are those of the first repeat.
        progress: Called with (done, total) after each response.

    Returns:
        The evaluation, and the answered rows with the responses of the first repeat.

    Raises:
        DataError: A row cannot be asked, or there are no rows.
        UsageError: The data lacks a column or was loaded with options other than the paper's, or all repeats would be
            equal.
    """
    # Data with options other than the paper's is refused before a model is asked.
    published = published_settings(task, protocol, loaded.name, loaded.options) if as_published else None
    check_repeats(repeats, task.name, protocol.output_type, backend)
    backend.check(protocol.output_type)
    backend = backend.for_data(loaded.name)
    protocol = _for_run(task, protocol, backend, loaded, skip_bad, repeats)
    _check_columns(task, protocol, loaded)
    drawn = None if sample is None else draw_sample(loaded.dataset, task.groups, sample, protocol.seed)
    whole = loaded
    if drawn is not None:
        loaded = loaded.with_dataset(loaded.dataset.select(drawn.rows))
    rows, malformed = _usable_rows(task, protocol, undecoded_rows(loaded.dataset, limit), backend.needs_images)
    if not rows:
        raise DataError("no rows to evaluate", path=loaded.source)
    rows = add_clusters(rows, task)
    start = time.perf_counter()
    planned = protocol
    protocol, by_repeat, failed = ask_rows(protocol, backend, rows, skip_bad, progress, repeats)
    # Caveats about the replies count all repeats; those about the scores use the first.
    answered, of_all = by_repeat[0], [one for part in by_repeat for one in part]
    asked = time.perf_counter()
    try:
        scored_by_repeat = [_of_sample(score_answers(protocol, part), drawn) for part in by_repeat]
    except ScoringError as error:
        raise DataError(f"the answers cannot be scored: {error}", path=loaded.source) from error
    scored = scored_by_repeat[0]
    model_seconds, metric_seconds = asked - start, time.perf_counter() - asked
    settings = _settings(protocol, backend, whole, limit, drawn, repeats, of_all, scored, published)
    unusable = [left_out_item(one.row, why) for one in answered if (why := scored.left_out.get(one.row["id"]))]
    private = [left_out_item(one.row, PRIVATE) for one in answered if protocol.is_private(one.row)]
    scores, judge = scored.scores, settings.get("judge", {})
    cut = cut_caveat(of_all, protocol, backend)
    incomplete = [
        unusable_caveat(unusable, len(answered) - len(private)),
        unjudged_caveat(judge),
        f"Incomplete: {cut}" if cut and protocol.needs_whole_texts else "",
    ]
    caveats = (
        published_caveat(settings.get("as_published")),
        reasoning_caveat(planned, protocol),
        thinking_caveat(of_all, settings["model"]),
        sampling_caveat(protocol, settings),
        sample_caveat(settings) if scores is not None else "",
        *incomplete,
        "" if protocol.needs_whole_texts else cut,
        failed_caveat([one.scores or {} for one in scored_by_repeat], judge),
        private_caveat(loaded, len(answered)) if len(private) == len(answered) else "",
        task.note if scores is not None else "",
        unmatched_caveat(scores or {}),
        few_decide_caveat(scores or {}),
        *scored.caveats,
        repeated_caveat(settings["model"]),
        served_caveat(settings),
        judge_served_caveat(judge),
    )
    evaluation = Evaluation(
        task=task.name,
        dataset=loaded.name,
        split=loaded.split,
        model=backend.name,
        scores=scores,
        settings=settings,
        left_out=[*loaded.left_out, *malformed, *failed, *unusable, *(private if scores is not None else [])],
        predictions=[
            record
            for part, one in zip(by_repeat, scored_by_repeat, strict=True)
            for record in _records(protocol, backend, part, one)
        ],
        variants=scored.variants,
        diagnostics=_diagnostics_of_sample(
            {**scored.diagnostics, **compare_repeats(protocol, by_repeat, scored_by_repeat)}, drawn
        ),
        files=scored.files,
        timings={
            "model_seconds": model_seconds,
            "metric_seconds": metric_seconds,
            **getattr(protocol.judge, "timings", dict)(),
            "items_per_second": len(of_all) / model_seconds if model_seconds else 0.0,
            "answers_from_store": float(sum(response.stored for one in of_all for response in one.responses)),
        },
        caveats=[line for line in caveats if line],
        complete=scored.complete and not any(incomplete) and not count_unscored(scores or {}),
    )
    return evaluation, answered


def _settings(
    protocol: Protocol,
    backend: Backend,
    loaded: LoadedData,
    limit: int | None,
    sample: Sample | None,
    repeats: int,
    answered: Sequence[RowResponses],
    scored: Scored,
    published: dict[str, Any] | None,
) -> dict[str, Any]:
    """Every setting that defines the scores."""
    settings = {**protocol.settings(), **scored.settings, "limit": limit, "data": loaded.describe()}
    if published is not None:
        # A setting may have no effect on these answers, such as pooling on precomputed scores.
        in_force = {name: one for name, one in published.items() if settings.get(name, one) is not None}
        settings["as_published"] = in_force
    if sample is not None:
        settings[SAMPLE] = sample.settings()
    if repeats > 1:
        settings["repeats"] = repeats
    return {
        **settings,
        **_judge_settings(protocol, scored.scores or {}),
        "model": {**backend.settings(), **model_settings(answered)},
    }


def _of_sample(scored: Scored, sample: Sample | None) -> Scored:
    """The scores of a sample, with intervals for the score on all items."""
    if sample is None or scored.scores is None:
        return scored
    about = sample.settings()
    variants = {name: finite_scores(one, about) for name, one in scored.variants.items()}
    return replace(scored, scores=finite_scores(scored.scores, about), variants=variants)


def _diagnostics_of_sample(diagnostics: dict[str, Any], sample: Sample | None) -> dict[str, Any]:
    return diagnostics if sample is None else finite_diagnostics(diagnostics, sample.settings())


def _judge_settings(protocol: Protocol, scores: Mapping[str, Any]) -> dict[str, Any]:
    if protocol.judge is None or not protocol.is_judged:
        return {}
    describe = getattr(protocol.judge, "settings", None)
    if describe is None:
        return {"judge": {"name": judge_name(protocol.judge)}}
    judge, unscored = describe(), count_unscored(scores)
    # The judge counts rounds without a reply; the metric counts texts without a reply that can be parsed.
    if unscored:
        reason = judge["reason"] or f"no usable reply in any round for {unscored} of the texts put to the judge"
        judge = {**judge, "incomplete": True, "reason": reason}
    return {"judge": judge}


def _for_run(
    task: Task, protocol: Protocol, backend: Backend, loaded: LoadedData, skip_bad: bool, repeats: int
) -> Protocol:
    """The protocol with the settings that depend on the backend, the data and the run."""
    decided: dict[str, Any] = {"skip_bad": skip_bad}
    # The authors of a benchmark accept only answers to their own questions.
    decided["answer_file"] = task.answer_file if loaded.name in task.data.datasets else None
    names = {one.name for one in fields(protocol)}
    if "split" in names:
        decided["split"] = loaded.split
    if "early_stop" in names and protocol.settings()["early_stop"] is None:
        # Repeats take a majority vote in every pass.
        decided["early_stop"] = backend.billed_per_request and repeats == 1
    return _with_blind_runs(replace(protocol, **decided), task, loaded)


def _with_blind_runs(protocol: Protocol, task: Task, loaded: LoadedData) -> Protocol:
    """The protocol with the parts of the user's blind runs that are about these data."""
    names = [name for name in ("blind_run", "exclude_blind_solved") if getattr(protocol, name, None) is not None]
    return replace(protocol, **{name: getattr(protocol, name).of_task(task.name, loaded.split) for name in names})


def check_first_row(task: Task, protocol: Protocol, loaded: LoadedData, *, needs_images: bool) -> None:
    """Refuse data that lacks a column of the protocol or of its prompt, or whose first row cannot be asked.

    Raises:
        UsageError: A column is missing; the message names the columns found.
        DataError: The first row cannot be asked, and bad rows are not skipped.
    """
    _check_columns(task, protocol, loaded)
    _usable_rows(task, _with_blind_runs(protocol, task, loaded), undecoded_rows(loaded.dataset, 1), needs_images)


def _check_columns(task: Task, protocol: Protocol, loaded: LoadedData) -> None:
    """Refuse data that lacks a column.

    Raises:
        UsageError: A column that the protocol needs is missing; the message names the columns found.
    """
    for column in protocol.columns:
        if column not in loaded.dataset.column_names:
            raise UsageError(missing_column(column, loaded.dataset.column_names, f" (needed by {task.name})"))


def _usable_rows(
    task: Task, protocol: Protocol, rows: Sequence[Row], needs_images: bool
) -> tuple[list[Row], list[dict[str, Any]]]:
    """The rows that can be asked, and the left-out ones; checked first, so that no long run ends in an error.

    Raises:
        DataError: A row cannot be asked, and bad rows are not skipped.
    """
    usable: dict[str, Row] = {}
    left_out = []
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
            left_out.append(left_out_item(row, str(error)))
        else:
            usable[row["id"]] = row
    return list(usable.values()), left_out


def _records(
    protocol: Protocol, backend: Backend, answered: Sequence[RowResponses], scored: Scored
) -> list[dict[str, Any]]:
    """One record for each response: the columns of `predictions.parquet`."""
    responses = [(one.row, response) for one in answered for response in one.responses]
    return [
        {
            "id": row["id"],
            "pass": response.request.pass_name,
            "repeat": response.request.repeat,
            "question": row.get("question"),
            # Nobody knows what the model of precomputed predictions was asked.
            "prompt": (response.rendered_prompt or rendered(response.request)) if backend.writes_replies else None,
            "text": response.text,
            "reasoning": response.reasoning,
            "finish_reason": response.finish_reason,
            "error": None if response.error is None else str(response.error),
            "logits": None if response.logits is None else dict(response.logits),
            "upper_bound_words": list(response.upper_bound_words) or None,
            "groups": {name: str(row[name] or "") for name in protocol.groups if name in row},
            "cluster": row.get(CLUSTER),
            **item,
        }
        for (row, response), item in zip(responses, scored.items, strict=True)
    ]
