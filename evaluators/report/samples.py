"""Samples as the report shows them; what was parsed from each reply is in the predictions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.report.names import heading
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
    TEXT: "judged as text",
    UNSCORED: "not judged: the reference is private",
}
"""How the report names the step that parsed a reply."""
RULE = "incorrect and unparsed replies first, then the rest, in dataset order"
RULE_OF_SEVERAL = "disagreements first, then incorrect and unparsed replies, then the rest, in dataset order"
_LONGEST = 4_000
"""Characters shown of a text; fewer if there are very many texts."""
_SHORTER = (1_000, 400, 200, 100, 50)
_TEXT_BUDGET = 3_000_000
"""Bytes of all samples, so that a page of 10,000 samples stays below 5 MB."""
_SHARED = ("question", "options", "answer", "reference", "images")
"""Keys that a run's sample omits if the first run's sample of the same question has the same value."""


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


def collect_samples(runs: Sequence[Run], limit: int) -> Samples:
    """Choose samples and find their images.

    Args:
        runs: The runs. A question is shown with the replies of all runs that have it.
        limit: Maximum number of questions per task.
    """
    album, notes, rows = Album(), [], []
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
                places = images.get(sample["id"], [])
                # Images in the order in which the pass showed them.
                shown = places[::-1] if sample["pass"] == "reversed" else places
                row = {**sample, **({"images": shown} if shown else {})}
                own = {name: value for name, value in row.items() if name not in _SHARED or first.get(name) != value}
                rows.append({"run": place, "task": number, **own, **disagree})
                first = first or row
    if album.left_out:
        notes.append(
            f"{album.left_out:,} images are left out to keep the page small; each task's first samples have images."
        )
    longest = _shorten(rows)
    if longest < _LONGEST:
        notes.append(
            f"Texts are cut after {longest} characters to keep the page small; predictions.parquet has the full texts."
        )
    notes += [
        f"{run.label}: no samples: {run.folder.name or run.folder} has no predictions."
        for run in runs
        if run.predictions is None
    ]
    what = "questions are here, disagreements" if len(runs) > 1 else "replies are here, incorrect ones"
    part = f"{shown_count:,} of {count:,} {what} first." if shown_count < count else ""
    return Samples(rows, keys, album.uris, notes, part)


def _by_question(key: TaskKey, runs: Sequence[Run]) -> dict[tuple[str, str], list[tuple[int, dict[str, Any]]]]:
    """The samples of each question and pass, each with the index of its run."""
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
    return len({(_chosen(sample), sample.get("correct")) for _, sample in of_run}) > 1


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


def _shorten(rows: Sequence[dict[str, Any]]) -> int:
    """Cut texts until all fit the page; return the characters kept of each."""
    longest = _LONGEST
    for shorter in _SHORTER:
        if len(json.dumps(rows, ensure_ascii=False).encode(errors="replace")) <= _TEXT_BUDGET:
            break
        longest = shorter
        for row in rows:
            for name in ("question", "text", "reasoning", "reference", "error"):
                if len(row.get(name, "")) > longest:
                    row[name] = f"{row[name][:longest]}\N{HORIZONTAL ELLIPSIS}"
    return longest


def read_samples(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One JSON object per response, without unknown values.

    Args:
        rows: Of `predictions.parquet`, all of one task.
    """
    first = {row["id"]: row for row in rows if row["pass"] == "main"}
    return [_sample(row, first.get(row["id"], {})) for row in rows]


def _sample(row: Mapping[str, Any], main: Mapping[str, Any]) -> dict[str, Any]:
    # What was parsed from the second reply to a pair, or to a refused question, is in the row of the first.
    choice, correct, step = row["choice"], row["correct"], row["step"]
    if row["pass"] == "reversed":
        choice, correct, step = (main.get(name) for name in ("reversed_choice", "correct", "reversed_step"))
    elif row["pass"] == "forced":
        step = main.get("forced_step")
    sample = {
        "id": row["id"],
        "pass": row["pass"],
        "question": _shortened(row["question"]),
        "options": [_shortened(option) for option in row["options"] or ()],
        "answer": row["answer"],
        "text": _shortened(row["text"]),
        "reasoning": _shortened(row["reasoning"]),
        "error": _shortened(row["error"]),
        "choice": choice,
        "step": _step(row, step, choice),
        "correct": correct,
        "outcome": main.get("outcome"),
        "reference": _shortened(row["reference"]),
        "judge_scores": {name: row[name] for name in (*JUDGED_DIMENSIONS, "judge_score") if row[name] is not None},
        "predicted": row["quality_score"],
        "human": row["quality"],
    }
    return {name: value for name, value in sample.items() if value not in (None, [], {})}


def _step(row: Mapping[str, Any], step: str | None, choice: str | None) -> str:
    if row["error"]:
        return UNPARSEABLE
    if row["losses"]:
        return LOWEST_LOSS
    if row["options"] and row["logits"]:
        return SCORED
    if row["options"] or row["first_id"]:
        # Private questions have no step of their own.
        return step or (EXACT if choice else why_unread(row["text"] or "", row["finish_reason"]))
    if row["rounds"] is not None:
        return text_outcome(row["finish_reason"], row["empty_prediction"]) or TEXT
    if row["quality_score"] is not None or row["logits"]:
        return SCORED
    return why_unread(row["text"] or "", row["finish_reason"]) if row["reference"] is None else UNSCORED


def _comes_first(sample: Mapping[str, Any]) -> bool:
    return sample.get("correct") is False or sample["step"] in UNREAD


def _shortened(text: str | None) -> str | None:
    if text is None or len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\N{HORIZONTAL ELLIPSIS} ({len(text):,} characters in total)"
