"""What a reader of a result must know about its replies, its judge and its data, as notes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.evaluation.tally import Endings
from eyechart.evaluators.evaluation.waves import RowAnswers
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.requests.types import PROVIDER, Backend, OutputType
from eyechart.evaluators.results.finished_runs import served_notes
from eyechart.evaluators.results.notes import Note, note
from eyechart.evaluators.results.results_file import SAMPLE, TaskResult
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.reply_counts import cut_replies, judge_counts, unparsed_replies
from eyechart.metrics.scores import INTERVALS, specs_in


def result_notes(
    task: Task,
    initial: Protocol,
    backend: Backend,
    loaded: LoadedData,
    answers: RowAnswers,
    by_repeat: Sequence[TaskResult],
) -> Iterator[Note]:
    """What a reader of a result must know; `initial` is the protocol before its reply length was adapted."""
    result, protocol = by_repeat[0], answers.protocol
    yield from _setting_notes(protocol, result)
    if initial.max_new_tokens != protocol.max_new_tokens:
        yield note("reasons", limit=protocol.reply_length, usual=initial.reply_length)
    tally, public = answers.tally, answers.count - len(answers.private)
    if tally.with_reasoning and result.settings["model"].get("thinking") is False:
        yield note("still_reasons", reasoning=tally.with_reasoning, of=tally.responses)
    if unusable := result.left_out:
        first = unusable[0]
        yield note("unusable", unusable=len(unusable), of=public, id=first.id, reason=first.reason)
    yield from judge_notes(by_repeat, result.settings.get("judge", {}))
    # As in the scores, only rows that can be scored count; all if no row can.
    yield from _cut_notes(tally.public if public else tally.private, protocol, backend)
    if not public:
        yield _private_note(loaded, answers.count)
    if task.note and result.scores is not None:
        yield note("task", note=task.note)
    yield from score_notes(result.scores or {})
    yield from result.notes


def _setting_notes(protocol: Protocol, result: TaskResult) -> Iterator[Note]:
    settings, model = result.settings, result.settings["model"]
    if "as_published" in settings:
        yield note("as_published", changed=settings["as_published"])
    if model.get("decoding") == PROVIDER:
        yield note("provider_decoding")
    if model.get("sampling") is not None and protocol.output_type is OutputType.TEXT:
        yield note("sampled", sampling=model["sampling"])
    if settings.get("repeats", 1) > 1:
        yield note("repeats", repeats=settings["repeats"])
    if result.scores is not None and SAMPLE in settings:
        yield note("sample", **settings[SAMPLE])
    if repeated := model.get("predictions_repeated", 0):
        yield note("repeated_rows", rows=repeated, file=model["file"])
    if unused := model.get("predictions_unused", 0):
        yield note("unused_rows", unused=unused, of=model["predictions"] - repeated, file=model["file"])
    yield from served_notes(settings)
    if settings.get("blind"):
        yield note("blind")
    if settings.get("mm21_quality") == "bitrate":
        yield note("bitrates")


def _cut_notes(endings: Endings, protocol: Protocol, backend: Backend) -> Iterator[Note]:
    """How many replies were cut off, if over 1 % were; none may be if the protocol needs complete texts."""
    if endings.cut <= (0 if protocol.needs_whole_texts else 0.01 * endings.replies):
        return
    yield note(
        "cut_off",
        cut=endings.cut,
        of=endings.replies,
        reasoning=endings.cut_in_reasoning,
        unknown=endings.unknown,
        limit=endings.limit if backend.writes_replies else None,
        allowed=endings.written if 0 < endings.written < endings.limit else 0,
        incomplete=protocol.needs_whole_texts,
    )


def judge_notes(by_repeat: Sequence[TaskResult], judge: Mapping[str, Any]) -> Iterator[Note]:
    """Rounds of all repeats in which a judge with these settings gave no reply, or no usable one."""
    if judge.get("lost_rounds"):
        yield note("judge_lost", judge=judge["name"], rounds=judge["lost_rounds"], reason=judge["reason"])
    counts, first = [judge_counts(result.scores or {}) for result in by_repeat], by_repeat[0].scores or {}
    if failed := sum(count.failed for count in counts):
        cut, refused = judge.get("cut_off_rounds", 0), judge.get("refused_rounds", 0)
        become = "replaced by a random choice" if first.get("fallback") == "random" else "counted as incorrect"
        yield note(
            "judge_failed",
            judge=first["judge"],
            failed=failed,
            rounds=sum(count.rounds for count in counts),
            cut_off=cut,
            refused=refused,
            malformed=max(0, failed - judge["lost_rounds"] - cut - refused) if "cut_off_rounds" in judge else 0,
            max_tokens=judge.get("max_tokens"),
            without_score=counts[0].unscored,
            asked=counts[0].asked,
            become="scored as without a judge" if first.get("judge_reads") == "all" else become,
        )


def score_notes(scores: Mapping[str, Any]) -> Iterator[Note]:
    """Notes about scores: 10 % or more of the replies could not be parsed; a few images decide a correlation."""
    unparsed, total = unparsed_replies(scores)
    if "extraction" in scores and unparsed and unparsed >= 0.1 * total:
        specs = specs_in(scores)
        are_pairs = any(spec.correlation and spec.images for spec in specs)
        yield note("unparsed", unparsed=unparsed, of=total, cut=cut_replies(scores), pairs=are_pairs)
    parts = [part for key, parts in scores.items() if key.startswith("by_") for part in parts.values()]
    for spec in specs_in(scores):
        low, high = spec.bounds(scores) or (0.0, 0.0)
        kinds = [part.get(INTERVALS, {}).get(spec.key, {}).get("kind") for part in (scores, *parts)]
        # An average is decided by a few images if one of its parts is.
        few = kinds[0] == "jackknife-few" or (kinds[0] == "mean" and "jackknife-few" in kinds)
        if high - low > 0.1 and few:
            yield note("few_decide")


def _private_note(loaded: LoadedData, items: int) -> Note:
    """Why a split without public labels has no score."""
    entry = DATASETS.get(loaded.name)
    is_private = entry is None or loaded.split in entry.private_splits(loaded.config or "")
    advice = "" if entry is None else entry.answers_note or ""
    return note("private", dataset=loaded.name, split=loaded.split, items=items, is_private=is_private, advice=advice)
