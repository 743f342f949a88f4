"""Repeats: the same requests asked several times; each repeat is scored on its own, and all are summarized."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint.refused_parameters import PROVIDER
from eyechart.evaluators.protocols.protocol import CLUSTER, Protocol, Scored
from eyechart.evaluators.requests.types import Backend, OutputType, RowResponses
from eyechart.metrics.scores import specs_in
from eyechart.metrics.scoring.choices.repeats import majority_vote, repeat_scores
from eyechart.metrics.scoring.choices.self_awareness import OUTCOMES

_CHOICES = "multiple choice"
_RIGHT = (OUTCOMES[0], OUTCOMES[2])
"""The outcomes that count as correct: a correct answer and a correct refusal."""

_Item = Mapping[str, Any]


def check_repeats(repeats: int, task: str, output_type: OutputType, backend: Backend | None = None) -> None:
    """Refuse repeats that would all be equal.

    Args:
        repeats: How many times each request is asked.
        task: Name of the task.
        output_type: What the task asks for.
        backend: What answers; None if it is not known yet.

    Raises:
        UsageError: `repeats` is below 1, or above 1 although nothing is sampled.
    """
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


def sampling_caveat(protocol: Protocol, settings: Mapping[str, Any]) -> str:
    """How replies were decoded, and from which repeat the scores are; "" for one repeat of greedy replies.

    Args:
        protocol: What was asked.
        settings: The settings of the result.
    """
    sampling, repeats = settings["model"].get("sampling"), settings.get("repeats", 1)
    lines = []
    if settings["model"].get("decoding") == PROVIDER:
        lines.append("The provider chose the decoding: no temperature was sent. Asking again may give other replies.")
    if sampling is not None and protocol.output_type is OutputType.TEXT:
        values = ", ".join(f"{name}={value}" for name, value in sampling.items())
        lines.append(f"Replies were sampled ({values}); the default is greedy decoding.")
    if repeats > 1:
        lines.append(f"The scores are from the first of {repeats} repeats; mean and spread are over all of them.")
    return " ".join(lines)


def compare_repeats(
    protocol: Protocol, answered: Sequence[Sequence[RowResponses]], scored: Sequence[Scored]
) -> dict[str, Any]:
    """Summarize several repeats for the diagnostics of a result.

    Args:
        protocol: What was asked.
        answered: The answered rows of each repeat; the same rows in the same order.
        scored: The scores of each repeat.

    Returns:
        Under `repeats`: their `count`; `mean` and `standard_deviation` (sample standard deviation over the repeats) of
        each score in the table, by its key; for multiple choice `choices`, from `repeat_scores`. Scores that are
        undefined in a repeat are nan. Empty if there is only one repeat, or no score.
    """
    by_repeat = [one.scores for one in scored if one.scores is not None]
    if len(scored) == 1 or len(by_repeat) < len(scored):
        return {}
    specs = [spec for spec in specs_in(by_repeat[0]) if spec.in_table]
    values = {spec.key: [spec.value(scores) for scores in by_repeat] for spec in specs}
    # A score such as balanced accuracy may exist in only some of the repeats.
    values = {key: numbers for key, numbers in values.items() if None not in numbers}
    found: dict[str, Any] = {
        "count": len(scored),
        "mean": {key: statistics.fmean(numbers) for key, numbers in values.items()},
        "standard_deviation": {key: _deviation(numbers) for key, numbers in values.items()},
    }
    if protocol.kind == _CHOICES and (counted := list(_counted(protocol, answered, scored))):
        right, voted, clusters = zip(*counted, strict=True)
        found["choices"] = repeat_scores(right, voted, len(scored), clusters)
    return {"repeats": found}


def _deviation(numbers: Sequence[float]) -> float:
    # Not `statistics.stdev`, which refuses nan.
    mean = statistics.fmean(numbers)
    return float((sum((number - mean) ** 2 for number in numbers) / (len(numbers) - 1)) ** 0.5)


def _counted(
    protocol: Protocol, answered: Sequence[Sequence[RowResponses]], scored: Sequence[Scored]
) -> Iterator[tuple[int, bool, str | None]]:
    """For each item that every repeat scores: in how many it is correct, whether the vote is correct, its cluster."""
    by_repeat = [_by_row(rows, one.items) for rows, one in zip(answered, scored, strict=True)]
    for number, one in enumerate(answered[0]):
        repeats = [items[number] for items in by_repeat]
        flags = [_is_right(items) for items in repeats]
        if not protocol.is_private(one.row) and None not in flags:
            yield sum(map(bool, flags)), _is_vote_right(repeats), one.row.get(CLUSTER)


def _by_row(rows: Sequence[RowResponses], items: Sequence[_Item]) -> list[dict[str, _Item]]:
    """The items of each row in which a choice was read, by pass."""
    left = iter(items)
    found = [{response.request.pass_name: next(left) for response in one.responses} for one in rows]
    return [{name: item for name, item in passes.items() if "choice" in item} for passes in found]


def _is_right(passes: Mapping[str, _Item]) -> bool | None:
    """Whether an item is correct in one repeat; None if unknown."""
    first = next(iter(passes.values()), {})
    known = first["circular_correct"] if "circular_correct" in first else _is_pass_right(first)
    return None if known is None else bool(known)


def _is_pass_right(item: _Item) -> bool | None:
    return item["outcome"] in _RIGHT if "outcome" in item else item.get("correct")


def _is_vote_right(repeats: Sequence[Mapping[str, _Item]]) -> bool:
    """Whether the majority's answer is correct in every pass of the item."""
    for name in dict.fromkeys(chain.from_iterable(repeats)):
        items = [passes[name] for passes in repeats if name in passes]
        # A refusal is counted together with the forced answer that follows it.
        answers = [item["choice"] and (item["choice"], item.get("forced_choice")) for item in items]
        vote = majority_vote(answers)
        if vote is None or not _is_pass_right(items[answers.index(vote)]):
            return False
    return True
