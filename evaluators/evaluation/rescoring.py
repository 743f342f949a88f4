"""The scores of a finished run, computed again from its `predictions.parquet`."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from typing import Any

from eyechart.datasets_scripts.common.choice.passes import MAIN
from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.evaluation.sampling import SAMPLE, finite_scores
from eyechart.evaluators.protocols.paired_comparison import TIE
from eyechart.evaluators.protocols.protocol import CLUSTER, Protocol, setting_fields
from eyechart.evaluators.protocols.quality.assessment import NUMERICAL, PRECOMPUTED, READ_NUMBER
from eyechart.evaluators.protocols.scorer import score_answers
from eyechart.evaluators.requests.types import Loss, Request, Response, Row, RowResponses
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_ROTATION = "rotation:"


@dataclass(frozen=True)
class Rescored:
    """Scores that were computed again from predictions."""

    scores: dict[str, Any] | None
    """What the metric returns; None if no answer is public."""
    items: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]
    """Each prediction, with the columns that were parsed from its reply."""


def rescore(
    task: Task, result: TaskResult, predictions: Sequence[Mapping[str, Any]], *, read_again: bool = True
) -> dict[str, Any] | None:
    """Compute a result's scores again; see `rescored`."""
    return rescored(task, result, predictions, read_again=read_again).scores


def rescored(
    task: Task, result: TaskResult, predictions: Sequence[Mapping[str, Any]], *, read_again: bool = True
) -> Rescored:
    """Compute a result's scores and the columns of its items again.

    Args:
        task: The task of the result.
        result: The result, for its settings.
        predictions: Its rows of `predictions.parquet`.
        read_again: Whether to parse the replies again. Otherwise, and if a judge other than `lexical` read them, the
            parsed values are taken from the columns.

    Raises:
        DataError: The scores cannot be computed from the predictions.
    """
    judge = result.settings.get("judge")
    judge_name = str(judge.get("name")) if isinstance(judge, dict) else LEXICAL
    try:
        protocol = _protocol(task, result)
        # A scoring function may need columns that predictions do not have.
        read_again = read_again and protocol.scorer is None
        if judge_name != LEXICAL:
            protocol, read_again = replace(protocol, judge=_NamedJudge(judge_name)), False
        by_item = _by_item(predictions)
        answered = [_rebuilt(rows, result) for rows in by_item]
        if read_again:
            answered = _read_again(answered, protocol)
        made, sample = score_answers(protocol, answered), result.settings.get(SAMPLE)
        scores = made.scores
        if scores is not None and sample is not None:
            scores = finite_scores(scores, sample)
        return Rescored(scores, tuple(zip(chain.from_iterable(by_item), made.items, strict=True)))
    except (ScoringError, KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(f"the scores of {result.task} cannot be computed from its predictions: {error}") from error


class _NamedJudge:
    """A judge of which only the name is known; it cannot be asked."""

    def __init__(self, name: str) -> None:
        """Keep the name."""
        self.name = name

    def __call__(self, messages: Any, n: int) -> list[str]:
        """Raise: the judge's scores should be in the predictions."""
        raise DataError(f"the predictions lack the scores of the judge {self.name}")


def _protocol(task: Task, result: TaskResult) -> Protocol:
    """The task's protocol with those settings of the result that affect scores."""
    found = result.settings
    known = {
        name: found[name]
        for name in setting_fields(type(task.protocol))
        if isinstance(found.get(name), str | int | float) and name != "prompt"
    }
    if found.get("prediction") == READ_NUMBER:
        known["prompt"] = NUMERICAL
    is_skipping = found.get("missing", "drop") == "drop"
    seed = found.get("seed", 0)
    return replace(task.bound(seed=seed), **known, skip_bad=is_skipping)


def _by_item(predictions: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    rows: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in predictions:
        rows[row["id"]].append(row)
    return list(rows.values())


def _rebuilt(rows: Sequence[Mapping[str, Any]], result: TaskResult) -> RowResponses:
    """A row with the columns that any protocol needs, and its responses."""
    first = rows[0]
    row: dict[str, Any] = {
        "id": first["id"],
        "question": first["question"] or "",
        "images": [],
        "image": None,
        **dict(first["groups"] or {}),
        **{name: first[name] for name in ("options", "answer", "refusal", "quality") if name in first},
        "description": first["reference"],
        "passes": _passes(rows),
        CLUSTER: first.get("cluster"),
    }
    for name in ("first_id", "second_id", "first_quality", "second_quality", "pool"):
        if first[name] is not None:
            row[name] = first[name]
    if first["first_id"] is not None and first["first_quality"] is None:
        row |= {"first_quality": None, "second_quality": None, "winner": first["answer"] or TIE}
    is_score = result.settings.get("prediction") == PRECOMPUTED
    return RowResponses(row, tuple(_response(one, is_score) for one in rows))


def _passes(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The passes that were asked, and a placeholder for each pass that was not."""
    found = [
        {
            "rotation": int(one["pass"].removeprefix(_ROTATION)) if one["pass"] != MAIN else 0,
            "question": one["question"],
            "hint": "",
            "options": one["options"],
            "answer": one["answer"],
            "index": -1,
        }
        for one in rows
        if one["pass"] == MAIN or one["pass"].startswith(_ROTATION)
    ]
    numbers = {one["rotation"] for one in found}
    others = (number for number in count() if number not in numbers)
    missing = max(0, (rows[0]["pass_count"] or 0) - len(found))
    return found + [{**found[0], "rotation": number} for number in islice(others, missing)]


def _response(row: Mapping[str, Any], is_score: bool) -> Response:
    options = tuple(row["options"] or ())
    return Response(
        Request(row["id"], (), (), options=options, pass_name=row["pass"]),
        text=row["text"],
        reasoning=row["reasoning"],
        finish_reason=row["finish_reason"],
        logits=None if row["logits"] is None else dict(row["logits"]),
        score=row["quality_score"] if is_score else None,
        losses=None if row["losses"] is None else tuple(map(Loss, row["losses"], row["loss_tokens"])),
        options=options,
        error=None if row["error"] is None else DataError(row["error"]),
        item={name: value for name, value in row.items() if value is not None},
    )


def _read_again(answered: Sequence[RowResponses], protocol: Protocol) -> list[RowResponses]:
    rows: list[Row] = [one.row for one in answered for _ in one.responses]
    responses = [response for one in answered for response in one.responses]
    items = iter(protocol.read(rows, responses))
    return [
        RowResponses(one.row, tuple(replace(response, item=next(items)) for response in one.responses))
        for one in answered
    ]
