"""Samples as the report shows them; what was parsed from each reply is in the predictions."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.report.reported_task import ReportedTask
from eyechart.evaluators.report.thumbnails import BUDGET, Album, add_images
from eyechart.evaluators.results.finished_runs import Run
from eyechart.metrics.scores import DIMENSIONS
from eyechart.metrics.scoring.choices.replies import UNPARSEABLE, UNREAD, why_unread
from eyechart.metrics.scoring.judging.descriptions import text_outcome

_EXACT, _LOWEST_LOSS, _SCORED, _TEXT, _UNSCORED = "exact", "lowest loss", "scored", "text", "private"
STEPS = {
    _EXACT: "exact matching",
    "declared": "declared answer",
    "judge": "judge",
    "random": "random choice",
    **{step: step.replace("_", " ") for step in UNREAD},
    _LOWEST_LOSS: "option with the lowest loss",
    _SCORED: "numeric score",
    _TEXT: "scored as text",
    _UNSCORED: "not scored: the reference is private",
}
"""How the report names the step that parsed a reply."""
_LONGEST = 4_000
"""Characters shown of a text; fewer if there are very many texts."""
_TEXTS = ("question", "text", "reasoning", "reference", "error")
_SHORTER = (1_000, 400, 200, 100, 50)
_TEXT_BUDGET = 3_000_000
"""Bytes of all samples, so that a page of 10,000 samples stays below 5 MB."""
_SHARED = ("question", "options", "answer", "reference", "images", "prompt")
"""Keys that a run's sample omits if the first run's sample of the same question has the same value."""
_IN_ORDER = {"first": "image 1", "second": "image 2"}
_SWAPPED = {"first": "image 2", "second": "image 1"}

_Replies = list[tuple[int, dict[str, Any]]]
"""The samples of one question, each with the index of its run."""


@dataclass(frozen=True)
class Samples:
    """What the table of samples shows."""

    rows: list[dict[str, Any]]
    """One JSON object per sample; a missing key means unknown."""
    images: list[str]
    """`data:` addresses; rows refer to them by index."""
    notes: list[str]
    """What is not shown, and why."""
    part: str = ""
    """How many samples are shown, and which; "" if all are."""
    prompts: Sequence[Sequence[str | int]] = ()
    """Prompts in parts: texts, 0 for the question, and numbers of options; rows refer to them by index."""
    judged: bool = False
    """Whether a judge parsed or scored any reply."""


def collect_samples(runs: Sequence[Run], tasks: Sequence[ReportedTask], limit: int) -> Samples:
    """Choose at most `limit` questions per task, each with the replies of all runs that have it, and their images."""
    album, notes, rows = Album(), list[str](), list[dict[str, Any]]()
    prompts: dict[tuple[str | int, ...], int] = {}
    shown, total = 0, 0
    for number, task in enumerate(tasks):
        questions = _questions(task, runs) if limit else []
        chosen = sorted(questions, key=_rank)[:limit]
        shown, total = shown + len(chosen), total + len(questions)
        # Each task has an equal share of the room, plus what earlier tasks left.
        album.room += BUDGET // len(tasks)
        images, reason, ids = dict[str, list[int | None]](), "", list({replies[0][1]["id"]: None for replies in chosen})
        for result in task.results.values():
            # From the first run whose data are still there.
            if not images:
                images, reason = add_images(album, task.key, result, ids)
        if reason and not images and chosen:
            notes.append(f"{task.heading}: no images: {reason}.")
        for replies in chosen:
            shared: dict[str, Any] = {}
            for run, sample in replies:
                row = {**sample, "images": images.get(sample["id"]) or None}
                if "prompt" in row:
                    row["prompt"] = prompts.setdefault(_parts(row), len(prompts))
                row["disagree"] = _disagree(replies) or None
                new = {name: value for name, value in row.items() if value is not None and shared.get(name) != value}
                rows.append({"run": run, "task": number, **new})
                shared = shared or {name: row[name] for name in _SHARED if name in row}
    if album.left_out:
        notes.append(
            f"{album.left_out:,} images are left out to keep the page small; each task's first samples have images."
        )
    prompt_parts = [list(parts) for parts in prompts]
    longest = _shorten(rows, prompt_parts)
    if longest < _LONGEST:
        notes.append(
            f"Texts are cut after {longest} characters to keep the page small; predictions.parquet has the full texts."
        )
    without = [run for run in runs if run.predictions is None]
    notes += [f"{run.label}: no samples: {run.folder.name or run.folder} has no predictions." for run in without]
    first = "disagreements, then incorrect and unparsed replies" if len(runs) > 1 else "incorrect and unparsed replies"
    part = f"{shown:,} of {total:,} samples shown, at most {limit:,} per task: {first} first." if shown < total else ""
    judged = any(row["step"] in ("judge", _TEXT) or "judge_scores" in row for row in rows)
    return Samples(rows, album.uris, notes, part, prompt_parts, judged)


def _parts(sample: Mapping[str, Any]) -> tuple[str | int, ...]:
    """A prompt in parts, so that samples that differ only in question and options share it."""
    texts = [sample.get("question", ""), *sample.get("options", ())]
    known = "|".join(re.escape(text) for text in sorted(filter(None, texts), key=len, reverse=True))
    parts = re.split(f"({known})", sample["prompt"]) if known else [sample["prompt"]]
    return tuple(texts.index(part) if index % 2 else part for index, part in enumerate(parts))


def _questions(task: ReportedTask, runs: Sequence[Run]) -> list[_Replies]:
    """The samples of each question and pass (both passes of a pair are one)."""
    questions: dict[tuple[str, str], _Replies] = {}
    for index, run in enumerate(runs):
        answers = run.answers(task.key) if run.label in task.results else None
        if answers is None:
            continue
        protocol = PROTOCOLS.get(str(task.results[run.label].settings.get("protocol")))
        # Without its protocol, a result's columns are as they are in the file.
        items = None if protocol is None else [item.record() for item in answers.items(protocol.item_type)]
        for sample in read_samples(answers.rows() if items is None else items):
            questions.setdefault((sample["id"], sample["pass"]), []).append((index, sample))
    return list(questions.values())


def _rank(replies: _Replies) -> tuple[bool, bool]:
    verdicts = {sample.get(name) for _, sample in replies for name in ("correct", "consistent")}
    steps = {reply["step"] for _, sample in replies for reply in (sample, sample.get("swapped", sample))}
    return not _disagree(replies), False not in verdicts and steps.isdisjoint(UNREAD)


def _disagree(replies: _Replies) -> bool:
    """Whether runs chose different options (whatever their letters), or one is correct and another incorrect."""
    return len({(_chosen(s), s.get("swapped", {}).get("choice"), s.get("correct")) for _, s in replies}) > 1


def _chosen(sample: Mapping[str, Any]) -> str | None:
    choice, options = sample.get("choice"), sample.get("options") or []
    index = ord(choice) - ord("A") if choice and len(choice) == 1 else -1
    return str(options[index]) if 0 <= index < len(options) else choice


def _shorten(rows: Sequence[dict[str, Any]], prompts: Sequence[list[str | int]]) -> int:
    """Cut texts until all fit the page; return the characters that each may have."""
    for longest in (_LONGEST, *_SHORTER):
        for row in (*rows, *(row["swapped"] for row in rows if "swapped" in row)) if longest < _LONGEST else ():
            row |= {name: _cut(row[name], longest) for name in _TEXTS if name in row}
        for parts in prompts if longest < _LONGEST else ():
            parts[:] = [part if isinstance(part, int) else _cut(part, longest) for part in parts]
        if len(json.dumps([rows, prompts], ensure_ascii=False).encode(errors="replace")) <= _TEXT_BUDGET:
            break
    return longest


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}\N{HORIZONTAL ELLIPSIS}"


def read_samples(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One JSON object per response, or per pair, in the predictions of a task, without unknown values."""
    by_pass = {(row["id"], row["pass"]): defaultdict(lambda: None, row) for row in rows}
    samples = []
    for (id, name), row in by_pass.items():
        if name != "reversed":
            sample, main = _sample(row), by_pass.get((id, "main"))
            if main is not None and main["outcome"]:
                sample["outcome"] = main["outcome"]
            swapped = by_pass.get((id, "reversed"))
            samples.append(sample if swapped is None else _pair(sample, row, swapped))
    return samples


def _pair(sample: dict[str, Any], main: Mapping[str, Any], swapped: Mapping[str, Any]) -> dict[str, Any]:
    """A pair with its replies in both orders, which name the images as the first order numbers them."""
    choice, other = swapped["choice"], _sample(swapped)
    reply = {name: other[name] for name in ("text", "reasoning", "error", "choice", "step") if name in other}
    reply |= {"choice": _SWAPPED.get(choice, choice)} if choice else {}
    sample |= {name: _IN_ORDER.get(sample[name], sample[name]) for name in ("choice", "answer") if sample.get(name)}
    # A reply that could not be parsed does not show that the order matters.
    consistent = {"consistent": main["consistent"]} if choice and main["choice"] else {}
    return {**sample, **consistent, "swapped": reply}


def _sample(row: Mapping[str, Any]) -> dict[str, Any]:
    # Of other items, the label is shown as an option, an image or a score.
    is_text = not row["options"] and not row["first_id"] and row["quality"] is None
    sample = {
        **{name: row[name] for name in ("id", "pass", "answer", "choice", "own_score")},
        **{name: row[name] and _shortened(row[name]) for name in ("prompt", "question", "text", "reasoning", "error")},
        "options": [_shortened(option) for option in row["options"] or ()],
        "step": _step(row),
        "correct": row["correct"] if row["own_score"] is None else None,
        "reference": _shortened(row["label"]) if is_text and row["label"] is not None else None,
        "judge_scores": {name: row[name] for name in (*DIMENSIONS, "judge_score") if row[name] is not None},
        "predicted": row["quality_score"],
        "human": row["quality"],
    }
    return {name: value for name, value in sample.items() if value not in (None, [], {})}


def _step(row: Mapping[str, Any]) -> str:
    if row["error"]:
        return UNPARSEABLE
    if row["losses"]:
        return _LOWEST_LOSS
    unread = why_unread(row["text"] or "", row["finish_reason"])
    if row["options"] or row["first_id"]:
        # Private questions have no step of their own.
        return row["step"] or (_EXACT if row["choice"] else unread)
    if row["rounds"] is not None:
        return text_outcome(row["finish_reason"], row["empty_prediction"]) or _TEXT
    if row["own_score"] is not None or row["quality_score"] is not None or row["logits"]:
        return _SCORED
    return unread if row["quality"] is not None else _UNSCORED


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{_cut(text, _LONGEST)} ({len(text):,} characters in total)"
