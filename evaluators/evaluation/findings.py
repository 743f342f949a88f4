"""What a reader of a result must know about its replies, its judge and its data, as notes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.evaluators.backends.endpoint.refused_parameters import PROVIDER
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.evaluation.sampling import SAMPLE
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.requests.types import Backend, OutputType, Response
from eyechart.evaluators.results.notes import Note, note
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.sources import served_notes
from eyechart.metrics.reply_counts import cut_replies, judge_counts, unparsed_replies
from eyechart.metrics.scores import INTERVALS, specs_in
from eyechart.metrics.scoring.reasoning import LENGTH, REASONING

_FEW = 0.01
"""Up to this share of cut-off replies there is no note."""
_WIDE = 0.1
"""Width of the interval of a PLCC above which a few images may decide what it means."""
_MANY = 0.1
"""From this share of replies without an option there is a note."""
INCOMPLETE = ("unusable", "judge_lost")
"""Notes of results that are incomplete."""


def setting_notes(protocol: Protocol, settings: Mapping[str, Any], has_scores: bool) -> Iterator[Note]:
    """Notes that follow from the settings of a result."""
    if "as_published" in settings:
        yield note("as_published", changed=settings["as_published"])
    model = settings["model"]
    if model.get("decoding") == PROVIDER:
        yield note("provider_decoding")
    if model.get("sampling") is not None and protocol.output_type is OutputType.TEXT:
        yield note("sampled", sampling=model["sampling"])
    if settings.get("repeats", 1) > 1:
        yield note("repeats", repeats=settings["repeats"])
    if has_scores and SAMPLE in settings:
        yield note("sample", **settings[SAMPLE])
    if repeated := model.get("predictions_repeated", 0):
        yield note("repeated_rows", rows=repeated, file=model["file"])
    yield from served_notes(settings)
    yield from protocol.notes(settings)


def reply_notes(planned: Protocol, asked: Protocol, responses: Sequence[Response], thinking: object) -> Iterator[Note]:
    """Notes about reasoning.

    Args:
        planned: The protocol as the run set it.
        asked: The protocol with the reply length that was used.
        responses: All responses.
        thinking: The model's setting of that name.
    """
    if planned.max_new_tokens != asked.max_new_tokens:
        yield note("reasons", limit=asked.reply_length, usual=planned.reply_length)
    reasoning = sum(response.reasoning is not None for response in responses)
    if thinking is False and reasoning:
        yield note("still_reasons", reasoning=reasoning, of=len(responses))


def cut_note(responses: Sequence[Response], protocol: Protocol, backend: Backend) -> Note | None:
    """How many replies were cut off; None if there are few, or none if the protocol needs complete texts.

    Args:
        responses: Those of rows that can be scored, as in the scores; all if no row can.
        protocol: The protocol as they were asked.
        backend: What answered.
    """
    # A reply that was limited to one token is not cut off.
    replies = [one for one in responses if one.text is not None and one.request.max_new_tokens > 1]
    cut = [reply for reply in replies if reply.finish_reason in (LENGTH, REASONING)]
    if len(cut) <= (0 if protocol.needs_whole_texts else _FEW * len(replies)):
        return None
    longest = max(reply.request.max_new_tokens for reply in cut)
    written = max(reply.usage.get("completion_tokens", 0) for reply in cut)
    return note(
        "cut_off",
        cut=len(cut),
        of=len(replies),
        reasoning=sum(reply.finish_reason == REASONING for reply in cut),
        unknown=sum(reply.finish_reason is None for reply in replies),
        limit=longest if backend.writes_replies else None,
        allowed=written if 0 < written < longest else 0,
        incomplete=protocol.needs_whole_texts,
    )


def judge_notes(by_repeat: Sequence[TaskResult], judge: Mapping[str, Any]) -> Iterator[Note]:
    """Rounds in which a judge gave no reply, or no usable one.

    Args:
        by_repeat: The scores of each repeat; the first says what is unscored.
        judge: The judge's settings, which count all repeats.
    """
    if judge.get("lost_rounds"):
        yield note("judge_lost", judge=judge["name"], rounds=judge["lost_rounds"], reason=judge["reason"])
    counts, first = [judge_counts(result.scores or {}) for result in by_repeat], by_repeat[0].scores or {}
    if failed := sum(count.failed for count in counts):
        become = "replaced by a random choice" if first.get("fallback") == "random" else "counted as incorrect"
        yield note(
            "judge_failed",
            judge=first["judge"],
            failed=failed,
            rounds=sum(count.rounds for count in counts),
            **why_failed(failed, judge),
            max_tokens=judge.get("max_tokens"),
            without_score=counts[0].unscored,
            asked=counts[0].asked,
            become="scored as without a judge" if first.get("judge_reads") == "all" else become,
        )


def why_failed(failed: int, judge: Mapping[str, Any]) -> dict[str, int]:
    """How many rounds without a usable reply were cut off, refused or malformed; those without a reply are not counted.

    Examples:
        >>> why_failed(6, {"lost_rounds": 1, "cut_off_rounds": 3, "refused_rounds": 0})
        {'cut_off': 3, 'refused': 0, 'malformed': 2}
    """
    if "cut_off_rounds" not in judge:
        return {"cut_off": 0, "refused": 0, "malformed": 0}
    cut, refused = judge["cut_off_rounds"], judge["refused_rounds"]
    return {"cut_off": cut, "refused": refused, "malformed": max(0, failed - judge["lost_rounds"] - cut - refused)}


def is_judge_useless(scores: Mapping[str, Any]) -> bool:
    """Whether a judge was asked and gave no usable reply in any round."""
    counts = judge_counts(scores)
    return 0 < counts.rounds == counts.failed


def score_notes(scores: Mapping[str, Any]) -> Iterator[Note]:
    """Notes about scores: many replies that could not be parsed, and a few images that decide a correlation."""
    unparsed, total = unparsed_replies(scores)
    if "extraction" in scores and unparsed and unparsed >= _MANY * total:
        specs = specs_in(scores)
        are_pairs = any(spec.correlation and spec.images for spec in specs)
        yield note("unparsed", unparsed=unparsed, of=total, cut=cut_replies(scores), pairs=are_pairs)
    parts = [part for key, parts in scores.items() if key.startswith("by_") for part in parts.values()]
    for spec in specs_in(scores):
        low, high = spec.bounds(scores) or (0.0, 0.0)
        kinds = [part.get(INTERVALS, {}).get(spec.key, {}).get("kind") for part in (scores, *parts)]
        # An average is decided by a few images if one of its parts is.
        few = kinds[0] == "jackknife-few" or (kinds[0] == "mean" and "jackknife-few" in kinds)
        if high - low > _WIDE and few:
            yield note("few_decide")


def private_note(loaded: LoadedData, items: int) -> Note:
    """Why a split without public labels has no score."""
    entry = DATASETS.get(loaded.name)
    is_private = entry is None or loaded.split in entry.private_splits(loaded.config or entry.configs[0])
    advice = "" if entry is None else entry.answers_note
    return note(
        "private", dataset=loaded.name, split=loaded.split, items=items, is_private=is_private, advice=advice or ""
    )
