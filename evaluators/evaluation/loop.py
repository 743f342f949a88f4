"""The loop of an evaluation: rows become requests, a backend answers them, a metric scores the answers."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import evaluate

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.evaluation.caveats import (
    count_unscored,
    failed_note,
    private_note,
    published_note,
    repeated_note,
    unjudged_note,
    unmatched_note,
    unusable_note,
)
from eyechart.evaluators.evaluation.data import LoadedData, undecoded_rows
from eyechart.evaluators.evaluation.response_metadata import told_by
from eyechart.evaluators.evaluation.waves import PRIVATE, Progress, ask_rows, left_out_item
from eyechart.evaluators.requests.types import Backend, Response, RowResponses
from eyechart.evaluators.results.evaluation import Evaluation
from eyechart.metrics.scoring.judging.replies import judge_name

if TYPE_CHECKING:
    from eyechart.evaluators.evaluation.base import Evaluator


def evaluate_rows(
    asker: "Evaluator",
    backend: Backend,
    loaded: LoadedData,
    *,
    metric: str | evaluate.EvaluationModule | None,
    skip_bad: bool,
    limit: int | None,
    progress: Progress | None,
) -> Evaluation:
    """Ask a backend about the rows of some data and score its answers.

    Args:
        asker: What asks and scores; it knows the data and the backend already.
        backend: What answers the requests.
        loaded: The data.
        metric: The task's own by default.
        skip_bad: Leave out items that cannot be asked, each listed in `left_out`.
        limit: Ask only the first so many rows.
        progress: Called with (done, total) after each response.

    Raises:
        DataError: A row cannot be asked, or there are none.
    """
    rows, malformed = asker.usable_rows(undecoded_rows(loaded.dataset, limit), skip_bad)
    if not rows:
        raise DataError("there are no rows to evaluate", path=loaded.source)
    start = time.perf_counter()
    answered, failed = ask_rows(asker, backend, rows, skip_bad, progress)
    model_seconds = time.perf_counter() - start
    public = [item for item in answered if not asker.is_private(item.row)]
    private = [left_out_item(item.row, PRIVATE) for item in answered if asker.is_private(item.row)]
    reasons = [asker.unusable(item) for item in public]
    unusable = [left_out_item(item.row, why) for item, why in zip(public, reasons, strict=True) if why]
    scored = [item for item, why in zip(public, reasons, strict=True) if not why]
    why = asker.why_unscored(answered) or ("" if public else private_note(loaded, len(answered)))
    scores, variants, marks = None, {}, {}
    if scored and not why:
        module = asker.prepare_metric(metric, asker.metric_config(scored))
        scores, variants = module.compute(**asker.metric_inputs(scored)), asker.variants(scored)
        marks = asker.marks(scored, scores)
        why = asker.definition.note
    seconds = {"model_seconds": model_seconds, "metric_seconds": time.perf_counter() - start - model_seconds}
    settings = _settings(asker, backend, loaded, limit, answered)
    judge = settings.get("judge", {})
    unjudged = unjudged_note(judge)
    lacking = asker.lacking(scored, scores or {})
    published = published_note(settings.get("as_published"))
    told = (published, unusable_note(unusable, len(public)), lacking, unjudged, failed_note(scores or {}, judge), why)
    caveats = (unmatched_note(scores or {}), asker.caveat(answered), repeated_note(settings["model"]))
    return Evaluation(
        task=asker.definition.name,
        subset=loaded.subset,
        split=loaded.split,
        model=backend.name,
        scores=scores,
        settings=settings,
        left_out=[*loaded.left_out, *malformed, *failed, *unusable, *(private if scores is not None else [])],
        predictions=[_record(asker, item, response, marks) for item in answered for response in item.responses],
        variants=variants,
        extras=asker.extras(answered),
        files=asker.files(answered, loaded),
        timings={
            **seconds,
            **getattr(asker.judge, "timings", dict)(),
            "items_per_second": len(answered) / model_seconds if model_seconds else 0.0,
            "answers_from_store": float(sum(response.stored for item in answered for response in item.responses)),
        },
        note=" ".join(line for line in (*told, *caveats) if line),
        complete=not (unusable or lacking or unjudged or count_unscored(scores or {})),
    )


def _settings(
    asker: "Evaluator", backend: Backend, loaded: LoadedData, limit: int | None, answered: Sequence[RowResponses]
) -> dict[str, Any]:
    own = {**asker.settings(), **asker.published(loaded), **asker.answer_settings(answered)}
    settings = {**own, "limit": limit, "data": loaded.describe()}
    if asker.judge is not None:
        describe = getattr(asker.judge, "settings", None)
        settings["judge"] = describe() if describe else {"name": judge_name(asker.judge)}
    return {**settings, "model": {**backend.settings(), **told_by(answered)}}


def _record(
    asker: "Evaluator", answered: RowResponses, response: Response, marks: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    request = response.request
    return {
        "id": request.id,
        "pass": request.pass_name,
        "question": answered.row.get("question"),
        "text": response.text,
        "error": None if response.error is None else str(response.error),
        "score": response.score,
        "logits": None if response.logits is None else dict(response.logits),
        "upper_bound_words": list(response.upper_bound_words) or None,
        "marks": marks.get(answered.row["id"]),
        **asker.record(answered, response),
    }
