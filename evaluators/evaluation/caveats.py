"""The caveats of a result: what readers of its scores have to know."""

from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.requests.types import Backend, RowResponses
from eyechart.evaluators.results.score_rows import unparsed_replies
from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS
from eyechart.metrics.scoring.reasoning import LENGTH, REASONING

_FEW = 0.01
"""Up to this share of cut-off replies there is no caveat."""
_WIDE = 0.1
"""Width of the interval of a PLCC above which a few images may decide what it means."""
_MANY = 0.1
"""From this share of replies without an option there is a caveat."""


def published_caveat(published: Mapping[str, Mapping[str, Any]] | None) -> str:
    """The settings of the paper that replaced the defaults; "" for runs that are not as published.

    Args:
        published: The setting `as_published` of a result.
    """
    if published is None:
        return ""
    changed = ", ".join(f"{name}={one['published']} (default {one['default']})" for name, one in published.items())
    return f"As published: {changed}." if changed else "As published: no setting differs from the defaults."


def unjudged_caveat(judge: Mapping[str, Any]) -> str:
    """Why a judge's part in the scores is incomplete; "" if it is not.

    Args:
        judge: The judge's settings.
    """
    if not judge.get("lost_rounds"):
        return ""
    return (
        f"Incomplete: the judge {judge['name']} gave no reply in {judge['lost_rounds']} rounds, which count as failed; "
        f"the first reason: {judge['reason']}."
    )


def count_unscored(scores: Mapping[str, Any]) -> int:
    """Number of replies or texts for which a judge gave no usable reply in any round.

    Args:
        scores: What a metric returned.
    """
    return int(scores.get("judge_unscored", scores.get("unscored", 0)))


def is_judge_useless(scores: Mapping[str, Any]) -> bool:
    """Whether a judge was asked and gave no usable reply in any round.

    Args:
        scores: What a metric returned.
    """
    failed = count_failed(scores)
    return bool(failed) and failed == _count_rounds(scores)


def why_failed(failed: int, judge: Mapping[str, Any]) -> str:
    """Why rounds of a judge failed, in brackets; "" if this is unknown or all of them were lost.

    Args:
        failed: Number of rounds in which it gave no usable reply.
        judge: The judge's settings.

    Examples:
        >>> why_failed(6, {"lost_rounds": 1, "cut_off_rounds": 3, "refused_rounds": 0})
        ' (3 cut off, 2 not in the expected form)'
    """
    if "cut_off_rounds" not in judge:
        return ""
    cut, refused = judge["cut_off_rounds"], judge["refused_rounds"]
    # Rounds without any reply have a caveat of their own.
    other = failed - judge["lost_rounds"] - cut - refused
    counts = {"cut off": cut, "refused": refused, "not in the expected form": max(0, other)}
    reasons = [f"{count} {reason}" for reason, count in counts.items() if count]
    return f" ({', '.join(reasons)})" if reasons else ""


def failed_caveat(by_repeat: Sequence[Mapping[str, Any]], judge: Mapping[str, Any]) -> str:
    """In how many rounds a judge gave no usable reply and why, and what is unscored as a result; "" if in none.

    Args:
        by_repeat: What a metric returned for each repeat; the first says what is unscored.
        judge: The judge's settings, which count all repeats.
    """
    failed, scores = sum(map(count_failed, by_repeat)), by_repeat[0]
    if not failed:
        return ""
    rounds = sum(map(_count_rounds, by_repeat))
    failures = (
        f"The judge {scores['judge']} gave no usable reply in {failed} of {rounds} rounds{why_failed(failed, judge)}."
    )
    if judge.get("cut_off_rounds"):
        failures += f" A judge that reasons first needs --judge-max-tokens above {judge['max_tokens']}."
    unscored = count_unscored(scores)
    return f"{failures} Incomplete: {_unscored(unscored, scores)}." if unscored else failures


def reasoning_caveat(protocol: Protocol, asked: Protocol) -> str:
    """That replies may be longer than usual because the model reasons; "" if they may not.

    Args:
        protocol: The protocol as the run set it.
        asked: The protocol with the reply length that was used.
    """
    if protocol.max_new_tokens == asked.max_new_tokens:
        return ""
    return (
        f"The model reasons before it answers, so its replies may be {asked.reply_length:,} tokens long instead of "
        f"{protocol.reply_length}; --max-new-tokens changes this limit."
    )


def thinking_caveat(answered: Sequence[RowResponses], model: Mapping[str, Any]) -> str:
    """That the model reasons although reasoning was switched off; "" if it does not.

    Args:
        answered: The rows with their responses.
        model: The backend's settings.
    """
    if model.get("thinking") is not False:
        return ""
    responses = [response for one in answered for response in one.responses]
    count = sum(response.reasoning is not None for response in responses)
    if not count:
        return ""
    return f"{count:,} of {len(responses):,} replies contain reasoning: the setting thinking=False had no effect."


def cut_caveat(answered: Sequence[RowResponses], protocol: Protocol, backend: Backend) -> str:
    """How many replies were cut off; "" if there are few, or none if the protocol needs complete texts.

    They are counted among all replies that can be scored, as in the scores, where a reply with an unknown finish reason
    counts as complete. If no row can be scored, all replies are counted.

    Args:
        answered: The rows with their responses.
        protocol: The protocol as they were asked.
        backend: What answered.
    """
    # A reply that was limited to one token is not cut off.
    responses = [
        response
        for one in [one for one in answered if not protocol.is_private(one.row)] or answered
        for response in one.responses
        if response.text is not None and response.request.max_new_tokens > 1
    ]
    cut = [response for response in responses if response.finish_reason in (LENGTH, REASONING)]
    if len(cut) <= (0 if protocol.needs_whole_texts else _FEW * len(responses)):
        return ""
    reasoning = sum(response.finish_reason == REASONING for response in cut)
    within = f", {reasoning:,} of them during reasoning" if reasoning else ""
    unknown = sum(response.finish_reason is None for response in responses)
    others = f"; it is unknown how {unknown:,} other{'s' if unknown > 1 else ''} ended" if unknown else ""
    found = f"{len(cut):,} of {len(responses):,} replies were cut off{within}{others}."
    if not backend.writes_replies:
        return f"{found} Generate these predictions again with a higher token limit."
    longest = max(response.request.max_new_tokens for response in cut)
    written = max(response.usage.get("completion_tokens", 0) for response in cut)
    if written and written < longest:
        return f"{found} The server allowed {written:,} tokens instead of {longest:,}: its context may be too small."
    return f"{found} Use --max-new-tokens above {longest:,} to let them end."


def unmatched_caveat(scores: Mapping[str, Any]) -> str:
    """How many replies could not be parsed; "" if there are few.

    Args:
        scores: What a metric returned.
    """
    count, total = unparsed_replies(scores)
    if "extraction" not in scores or not count or count < _MANY * total:
        return ""
    consequence = ", so their pairs are not consistent" if "n_pairs" in scores else " and count as incorrect"
    reasons = scores["extraction"]
    cut = round(total * (reasons.get("cut_off", 0) + reasons.get("unfinished_reasoning", 0)))
    return f"{count:,} of {total:,} replies could not be parsed{f' ({cut:,} cut off)' if cut else ''}{consequence}."


def few_decide_caveat(scores: Mapping[str, Any]) -> str:
    """That a few images decide a PLCC with a wide interval; "" if they do not.

    Args:
        scores: What a metric returned.
    """
    low, high = scores.get("plcc_ci95", (0.0, 0.0))
    if not high - low > _WIDE:
        return ""
    parts = [part for key, parts in scores.items() if key.startswith("by_") for part in parts.values()]
    kinds = [one.get("intervals", {}).get("plcc", {}).get("kind") for one in (scores, *parts)]
    # An average is decided by a few images if one of its parts is.
    if kinds[0] != "jackknife-few" and not (kinds[0] == "mean" and "jackknife-few" in kinds):
        return ""
    return "A few images, such as outliers, decide the PLCC: look at them before you rely on it."


def repeated_caveat(model: Mapping[str, Any]) -> str:
    """How many rows of a predictions file repeat others; "" if none does.

    Args:
        model: The backend's settings.
    """
    repeated = model.get("predictions_repeated", 0)
    if not repeated:
        return ""
    rows, others = ("1 row", "repeats another") if repeated == 1 else (f"{repeated} rows", "repeat others")
    return f"{rows} of {model['file']} {others}; equal rows count once."


def count_failed(scores: Mapping[str, Any]) -> int:
    """Number of rounds in which a judge gave no usable reply."""
    return int(scores.get("judge_failed_rounds", scores.get("failed_rounds", 0)))


def _count_rounds(scores: Mapping[str, Any]) -> int:
    """Number of rounds in which a judge was asked; it is not asked about empty texts."""
    if "judge_asked" in scores:
        return int(scores["judge_asked"] * scores["rounds"])
    dimensions = len(DIMENSIONS[scores["template"]])
    return int((scores["n"] - scores["empty_predictions"]) * dimensions * scores["rounds"])


def _unscored(count: int, scores: Mapping[str, Any]) -> str:
    """How the replies or texts without a usable round are scored."""
    if "judge_asked" not in scores:
        texts = f"{count} text{'s' if count > 1 else ''}"
        return f"no usable judge reply for {texts} in a dimension, which is scored from the other texts only"
    if scores.get("judge_reads") == "all":
        become = "scored as without a judge"
    else:
        become = "replaced by a random choice" if scores["fallback"] == "random" else "counted as incorrect"
    return f"{count} of the {scores['judge_asked']} replies put to it have no usable round and are {become}"


def unusable_caveat(unusable: Sequence[Mapping[str, Any]], count: int) -> str:
    """How many answers could not be scored; "" if all could.

    Args:
        unusable: {"id", "reason"} of each answer that could not.
        count: Number of answers to items whose label is public.
    """
    if not unusable:
        return ""
    rest = "so there is no score" if len(unusable) == count else "and the scores are computed from the others"
    first = unusable[0]
    return (
        f"{len(unusable)} of {count} answers cannot be scored, {rest}; the first: '{first['id']}': {first['reason']}."
    )


def private_caveat(loaded: LoadedData, count: int) -> str:
    """Why a split without answers has no score.

    Args:
        loaded: The data.
        count: Number of items whose predictions were kept.
    """
    entry, name = DATASETS.get(loaded.name), f"{loaded.name} ({loaded.split})"
    is_private = entry is None or loaded.split in entry.private_splits(loaded.config or entry.configs[0])
    why = f"The answers of {name} are private" if is_private else f"This copy of {name} contains no answers"
    kept = f"{why}, so there is no score; the predictions of {count} items were kept."
    return f"{kept} {entry.answers_note}" if entry is not None and entry.answers_note else kept
