"""Samples as the report shows them; what was parsed from each reply is in the predictions."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.report.scores import heading
from eyechart.evaluators.report.thumbnails import BUDGET, Album, add_images
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys
from eyechart.evaluators.results.predictions import JUDGED_DIMENSIONS
from eyechart.metrics.scoring.choices.replies import (
    CUT_OFF,
    REFUSED,
    UNFINISHED_REASONING,
    UNPARSEABLE,
    UNREAD,
    why_unread,
)
from eyechart.metrics.scoring.judging.descriptions import text_outcome

EXACT = "exact"
LOWEST_LOSS, SCORED, TEXT, UNSCORED = "lowest loss", "scored", "text", "unscored"
STEPS = {
    EXACT: "exact matching",
    "declared": "declared answer",
    "judge": "judge",
    "random": "random choice",
    CUT_OFF: "cut off",
    UNFINISHED_REASONING: "unfinished reasoning",
    REFUSED: "refused",
    UNPARSEABLE: "unparseable",
    LOWEST_LOSS: "option with the lowest loss",
    SCORED: "numeric score",
    TEXT: "scored as text",
    UNSCORED: "not scored: the reference is private",
}
"""How the report names the step that parsed a reply."""
RULE = "incorrect and unparsed replies first, then the rest, in dataset order"
RULE_OF_SEVERAL = "disagreements first, then incorrect and unparsed replies, then the rest, in dataset order"
_LONGEST = 4_000
"""Characters shown of a text; fewer if there are very many texts."""
_SHORTER = (1_000, 400, 200, 100, 50)
_TEXT_BUDGET = 3_000_000
"""Bytes of all samples, so that a page of 10,000 samples stays below 5 MB."""
_SHARED = ("question", "options", "answer", "reference", "images", "prompt")
"""Keys that a run's sample omits if the first run's sample of the same question has the same value."""
_IN_ORDER = {"first": "image 1", "second": "image 2"}
_SWAPPED = {"first": "image 2", "second": "image 1"}


@dataclass(frozen=True)
class Samples:
    """What the table of samples shows."""

    rows: list[dict[str, Any]]
    """One JSON object per sample; a missing key means unknown."""
    keys: list[TaskKey]
    """Tasks; rows refer to them by index."""
    images: list[str]
    """`data:` addresses; rows refer to them by index."""
    notes: list[str]
    """What is not shown, and why."""
    part: str = ""
    """How many samples are shown, and which; "" if all are."""
    prompts: Sequence[Sequence[str | int]] = ()
    """Prompts in parts: texts, 0 for the question, and numbers of options; rows refer to them by index."""
    judged: str = ""
    """Who parsed or scored replies as a judge does, such as "scored by lexical"; "" if nobody did."""


def collect_samples(runs: Sequence[Run], limit: int) -> Samples:
    """Choose samples and find their images.

    Args:
        runs: The runs. A question is shown with the replies of all runs that have it.
        limit: Maximum number of questions per task.
    """
    album, notes, rows = Album(), [], []
    prompts: dict[tuple[str | int, ...], int] = {}
    shown_count, count = 0, 0
    keys = merged_keys(runs)
    rule = RULE_OF_SEVERAL if len(runs) > 1 else RULE
    for number, key in enumerate(keys):
        by_question = _by_question(key, runs) if limit else {}
        chosen = sorted(by_question.values(), key=_rank)[:limit]
        shown_count, count = shown_count + len(chosen), count + len(by_question)
        if len(chosen) < len(by_question):
            notes.append(f"{heading(key)}: {len(chosen):,} of {len(by_question):,} samples shown: {rule}.")
        # Each task has an equal share of the room, plus what earlier tasks left.
        album.room += BUDGET // len(keys)
        images, reason = _images(album, key, runs, list(dict.fromkeys(of_run[0][1]["id"] for of_run in chosen)))
        if reason and chosen:
            notes.append(f"{heading(key)}: no images: {reason}.")
        for of_run in chosen:
            disagree = {"disagree": True} if _disagree(of_run) else {}
            first: dict[str, Any] = {}
            for place, sample in of_run:
                shown = images.get(sample["id"])
                row = {**sample, **({"images": shown} if shown else {})}
                if "prompt" in row:
                    row["prompt"] = prompts.setdefault(_parts(row), len(prompts))
                own = {name: value for name, value in row.items() if name not in _SHARED or first.get(name) != value}
                rows.append({"run": place, "task": number, **own, **disagree})
                first = first or row
    if album.left_out:
        notes.append(
            f"{album.left_out:,} images are left out to keep the page small; each task's first samples have images."
        )
    of_prompts = [list(parts) for parts in prompts]
    longest = _shorten(rows, of_prompts)
    if longest < _LONGEST:
        notes.append(
            f"Texts are cut after {longest} characters to keep the page small; predictions.parquet has the full texts."
        )
    notes += [
        f"{run.label}: no samples: {run.folder.name or run.folder} has no predictions."
        for run in runs
        if run.predictions is None
    ]
    what = "questions are here, disagreements" if len(runs) > 1 else "samples are here, incorrect ones"
    part = f"{shown_count:,} of {count:,} {what} first." if shown_count < count else ""
    return Samples(rows, keys, album.uris, notes, part, of_prompts, _judged(runs, rows))


def _judged(runs: Sequence[Run], rows: Sequence[Mapping[str, Any]]) -> str:
    parsed = any(row["step"] == "judge" for row in rows)
    scored = any(row["step"] == TEXT or "judge_scores" in row for row in rows)
    names = [(task.scores or {}).get("judge") for run in runs for task in run.tasks.values()]
    by = " and ".join(dict.fromkeys(name for name in names if isinstance(name, str))) or "a judge"
    what = " or ".join(name for name, is_there in (("parsed", parsed), ("scored", scored)) if is_there)
    return what and f"{what} by {by}"


def _parts(sample: Mapping[str, Any]) -> tuple[str | int, ...]:
    """A prompt in parts, so that samples that differ only in question and options share it."""
    texts = [sample.get("question", ""), *sample.get("options", ())]
    known = "|".join(re.escape(text) for text in sorted(filter(None, texts), key=len, reverse=True))
    parts = re.split(f"({known})", sample["prompt"]) if known else [sample["prompt"]]
    return tuple(texts.index(part) if place % 2 else part for place, part in enumerate(parts))


def _by_question(key: TaskKey, runs: Sequence[Run]) -> dict[tuple[str, str], list[tuple[int, dict[str, Any]]]]:
    """The samples of each question and pass (both passes of a pair are one), each with the index of its run."""
    found: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = {}
    for place, run in enumerate(runs):
        answers = run.answers(key) if key in run.tasks else None
        for sample in [] if answers is None else read_samples(answers.rows(range(len(answers)))):
            found.setdefault((sample["id"], sample["pass"]), []).append((place, sample))
    return found


def _rank(of_run: Sequence[tuple[int, Mapping[str, Any]]]) -> tuple[bool, bool]:
    return not _disagree(of_run), not any(_comes_first(sample) for _, sample in of_run)


def _disagree(of_run: Sequence[tuple[int, Mapping[str, Any]]]) -> bool:
    """Whether runs chose different options (whatever their letters), or one is correct and another incorrect."""
    chosen = {(_chosen(one), one.get("swapped", {}).get("choice"), one.get("correct")) for _, one in of_run}
    return len(chosen) > 1


def _chosen(sample: Mapping[str, Any]) -> str | None:
    choice, options = sample.get("choice"), sample.get("options") or []
    place = ord(choice) - ord("A") if choice and len(choice) == 1 else -1
    return str(options[place]) if 0 <= place < len(options) else choice


def _images(
    album: Album, key: TaskKey, runs: Sequence[Run], ids: Sequence[str]
) -> tuple[dict[str, list[int | None]], str]:
    """The images of some items, from the data of the first run that still has them."""
    reason = ""
    for run in runs:
        if key in run.tasks:
            images, reason = add_images(album, key, run.tasks[key], ids)
            if images:
                return images, ""
    return {}, reason


def _shorten(rows: Sequence[dict[str, Any]], prompts: Sequence[list[str | int]]) -> int:
    """Cut texts until all fit the page; return the characters kept of each."""
    longest = _LONGEST
    for shorter in _SHORTER:
        if len(json.dumps([rows, prompts], ensure_ascii=False).encode(errors="replace")) <= _TEXT_BUDGET:
            break
        longest = shorter
        for row in (*rows, *(row["swapped"] for row in rows if "swapped" in row)):
            for name in ("question", "text", "reasoning", "reference", "error"):
                if len(row.get(name, "")) > longest:
                    row[name] = _cut(row[name], longest)
        for parts in prompts:
            parts[:] = [part if isinstance(part, int) else _cut(part, longest) for part in parts]
    return longest


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}\N{HORIZONTAL ELLIPSIS}"


def read_samples(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One JSON object per response, or per pair, without unknown values.

    Args:
        rows: Of `predictions.parquet`, all of one task.
    """
    rows = [defaultdict(lambda: None, row) for row in rows]
    first = {row["id"]: row for row in rows if row["pass"] == "main"}
    swapped = {row["id"]: row for row in rows if row["pass"] == "reversed"}
    found = []
    for row in rows:
        if row["pass"] != "reversed":
            sample = _sample(row, first.get(row["id"], {}))
            found.append(sample if row["id"] not in swapped else _pair(sample, row, swapped[row["id"]]))
    return found


def _pair(sample: dict[str, Any], main: Mapping[str, Any], swapped: Mapping[str, Any]) -> dict[str, Any]:
    """A pair with its replies in both orders, which name the images as the first order numbers them."""
    choice, other = swapped["choice"], _sample(swapped, {})
    own = {name: other[name] for name in ("text", "reasoning", "error", "choice", "step") if name in other}
    own |= {"choice": _SWAPPED.get(choice, choice)} if choice else {}
    sample |= {name: _IN_ORDER.get(sample[name], sample[name]) for name in ("choice", "answer") if sample.get(name)}
    # A reply that could not be parsed does not show that the order matters.
    consistent = {"consistent": main["consistent"]} if choice and main["choice"] else {}
    return {**sample, **consistent, "swapped": own}


def _sample(row: Mapping[str, Any], main: Mapping[str, Any]) -> dict[str, Any]:
    choice, correct = row["choice"], row["correct"]
    # Of other items, the label is shown as an option, an image or a score.
    is_text = not row["options"] and not row["first_id"] and row["quality"] is None
    sample = {
        "id": row["id"],
        "pass": row["pass"],
        "prompt": _shortened(row["prompt"]),
        "question": _shortened(row["question"]),
        "options": [_shortened(option) for option in row["options"] or ()],
        "answer": row["answer"],
        "text": _shortened(row["text"]),
        "reasoning": _shortened(row["reasoning"]),
        "error": _shortened(row["error"]),
        "choice": choice,
        "step": _step(row, row["step"], choice),
        "correct": correct if row["own_score"] is None else None,
        "outcome": main.get("outcome"),
        "reference": _shortened(row["label"]) if is_text else None,
        "judge_scores": {name: row[name] for name in (*JUDGED_DIMENSIONS, "judge_score") if row[name] is not None},
        "own_score": row["own_score"],
        "predicted": row["quality_score"],
        "human": row["quality"],
    }
    return {name: value for name, value in sample.items() if value not in (None, [], {})}


def _step(row: Mapping[str, Any], step: str | None, choice: str | None) -> str:
    if row["error"]:
        return UNPARSEABLE
    if row["losses"]:
        return LOWEST_LOSS
    if row["options"] or row["first_id"]:
        # Private questions have no step of their own.
        return step or (EXACT if choice else why_unread(row["text"] or "", row["finish_reason"]))
    if row["own_score"] is not None:
        return SCORED
    if row["rounds"] is not None:
        return text_outcome(row["finish_reason"], row["empty_prediction"]) or TEXT
    if row["quality_score"] is not None or row["logits"]:
        return SCORED
    return why_unread(row["text"] or "", row["finish_reason"]) if row["quality"] is not None else UNSCORED


def _comes_first(sample: Mapping[str, Any]) -> bool:
    steps = {sample["step"], sample.get("swapped", sample)["step"]}
    return sample.get("correct") is False or sample.get("consistent") is False or not steps.isdisjoint(UNREAD)


def _shortened(text: str | None) -> str | None:
    if text is None or len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\N{HORIZONTAL ELLIPSIS} ({len(text):,} characters in total)"
