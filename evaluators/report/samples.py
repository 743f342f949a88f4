"""Single answers, as the report shows them: what was read from each stands in the predictions."""

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
    LOWEST_LOSS: "option of the lowest loss",
    SCORED: "scored as a number",
    TEXT: "judged as a text",
    UNSCORED: "not judged: the reference is private",
}
"""How the report says by which step an answer was read."""
RULE = "wrong and unparsed ones first, then the others, each in the order of the data"
RULE_OF_SEVERAL = f"those on which the runs disagree first, then {RULE}"
_LONGEST = 4_000
"""Letters of a text that are shown; fewer where there are very many texts."""
_SHORTER = (1_000, 400, 200, 100, 50)
_TEXT_BUDGET = 3_000_000
"""Bytes of all samples, so that a page of 10,000 samples stays below 5 MB."""
_SHARED = ("question", "options", "answer", "reference", "images")
"""What a run's sample leaves out where the first run's sample of the same question has the same."""


@dataclass(frozen=True)
class Samples:
    """What the table of samples shows."""

    rows: list[dict[str, Any]]
    """One JSON object each; absent keys are unknown."""
    keys: list[TaskKey]
    """Tasks, to whose places the rows refer."""
    images: list[str]
    """`data:` addresses, likewise."""
    notes: list[str]
    """What is not shown, and why."""


def collect_samples(runs: Sequence[Run], limit: int) -> Samples:
    """Choose samples and find their images.

    Args:
        runs: The runs. A question is shown with the answers of all that have it.
        limit: The most questions for each task.
    """
    album, notes, rows = Album(), [], []
    keys = merged_keys(runs)
    rule = RULE_OF_SEVERAL if len(runs) > 1 else RULE
    for number, key in enumerate(keys):
        by_question = _by_question(key, runs) if limit else {}
        chosen = sorted(by_question.values(), key=_rank)[:limit]
        if len(chosen) < len(by_question):
            notes.append(f"{heading(key)}: {len(chosen):,} of {len(by_question):,} answers are shown, {rule}.")
        # Each task has its share, and what those before it left.
        album.room += BUDGET // len(keys)
        images, reason = _images(album, key, runs, list(dict.fromkeys(of_run[0][1]["id"] for of_run in chosen)))
        if reason and chosen:
            notes.append(f"{heading(key)}: no images, as {reason}.")
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
            f"{album.left_out:,} images are left out to keep the page small; each task's first samples have theirs."
        )
    longest = _shorten(rows)
    if longest < _LONGEST:
        notes.append(f"Texts are cut after {longest} characters to keep the page small; predictions.parquet has all.")
    notes += [
        f"{run.label}: no samples, as there are no predictions in {run.folder.name or run.folder}."
        for run in runs
        if run.predictions is None
    ]
    return Samples(rows, keys, album.uris, notes)


def _by_question(key: TaskKey, runs: Sequence[Run]) -> dict[tuple[str, str], list[tuple[int, dict[str, Any]]]]:
    """The samples of each question and pass, each with the place of its run."""
    found: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = {}
    for place, run in enumerate(runs):
        answers = run.answers(key) if key in run.tasks else None
        for sample in [] if answers is None else read_samples(answers.rows(range(len(answers)))):
            found.setdefault((sample["id"], sample["pass"]), []).append((place, sample))
    return found


def _rank(of_run: Sequence[tuple[int, Mapping[str, Any]]]) -> tuple[bool, bool]:
    return not _disagree(of_run), not any(_comes_first(sample) for _, sample in of_run)


def _disagree(of_run: Sequence[tuple[int, Mapping[str, Any]]]) -> bool:
    """Whether runs chose other options, whatever letters these had, or one is right and another wrong."""
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
    """Cut texts until all fit the page; returns the letters that are left of each."""
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
    """One JSON object for each response, without what is not known.

    Args:
        rows: Of `predictions.parquet`, all of one task.
    """
    first = {row["id"]: row for row in rows if row["pass"] == "main"}
    return [_sample(row, first.get(row["id"], {})) for row in rows]


def _sample(row: Mapping[str, Any], main: Mapping[str, Any]) -> dict[str, Any]:
    # What was read from a pair's second reply, or a refused question's, stands in the row of the first.
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
    return f"{text[:_LONGEST]}\N{HORIZONTAL ELLIPSIS} ({len(text):,} characters in all)"
