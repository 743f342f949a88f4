"""Single answers, as the report shows them: what was read from each stands in the predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.report.thumbnails import Album, add_images
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
RULE = "wrong and unmatched ones first, then the others, each in the order of the data"
_LONGEST = 4_000


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
        runs: The runs.
        limit: The most for each task of each run; wrong and unmatched ones first.
    """
    album, notes, rows = Album(), [], []
    keys = merged_keys(runs)
    for number, key in enumerate(keys):
        reasons: dict[str, None] = {}
        for place, run in enumerate(runs):
            result, answers = run.tasks.get(key), run.answers(key)
            if result is None or answers is None or not limit:
                continue
            samples = read_samples(answers.rows(range(len(answers))))
            chosen = sorted(samples, key=lambda sample: not _comes_first(sample))[:limit]
            if len(chosen) < len(samples):
                label = f" of {run.label}" if len(runs) > 1 else ""
                notes.append(f"{key.title}: {len(chosen):,} of {len(samples):,} answers{label} are shown, {RULE}.")
            images, reason = add_images(album, key, result, [sample["id"] for sample in chosen])
            if reason:
                reasons[reason] = None
            for sample in chosen:
                places = images.get(sample["id"], [])
                # Images in the order in which the pass showed them.
                shown = places[::-1] if sample["pass"] == "reversed" else places
                rows.append({"run": place, "task": number, **sample, **({"images": shown} if shown else {})})
        notes += [f"{key.title}: no images, as {reason}." for reason in reasons]
    notes += [
        f"{run.label}: no samples, as there are no predictions in {run.folder.name or run.folder}."
        for run in runs
        if run.predictions is None
    ]
    return Samples(rows, keys, album.uris, notes)


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
