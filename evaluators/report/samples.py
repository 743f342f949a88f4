"""Single answers, as the report shows them.

How a letter was found is the answer's `step`, where the run recorded it. Where it did not, it follows from what it did
record: exact matching comes first and its letter stands, and without a judge and a random choice nothing follows it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.report.quality import predicted_quality
from eyechart.evaluators.report.runs import Answers, Run, TaskKey, merged_keys
from eyechart.evaluators.report.thumbnails import Album, add_images
from eyechart.evaluators.results.results_file import TaskResult

EXACT, JUDGE, RANDOM, UNMATCHED = "exact", "judge", "random", "unmatched"
LOWEST_LOSS, SCORED, TEXT, UNKNOWN = "lowest loss", "scored", "text", "not recorded"
STEPS = {
    EXACT: "exact matching",
    JUDGE: "judge",
    RANDOM: "random choice",
    UNMATCHED: "unmatched",
    LOWEST_LOSS: "option of the lowest loss",
    SCORED: "scored as a number",
    TEXT: "judged as a text",
    UNKNOWN: "no match; what followed is not recorded",
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


@dataclass(frozen=True)
class Verdict:
    """How one answer was read, and what came of it."""

    step: str
    correct: bool | None
    """None where nothing tells: private answers, scores, texts."""

    @property
    def comes_first(self) -> bool:
        """Whether it is shown before others."""
        return self.correct is False or self.step == UNMATCHED


def collect_samples(runs: Sequence[Run], limit: int) -> Samples:
    """Choose samples and find their images.

    Args:
        runs: The runs.
        limit: At most so many of each task of each run; wrong and unmatched ones first.
    """
    album, notes, rows = Album(), [], []
    keys = merged_keys(runs)
    for number, key in enumerate(keys):
        reasons: dict[str, None] = {}
        for place, run in enumerate(runs):
            result, answers = run.tasks.get(key), run.answers(key)
            if result is None or answers is None or not limit:
                continue
            verdicts = judge_answers(result, answers)
            chosen = _choose(verdicts, limit)
            if len(chosen) < len(verdicts):
                label = f" of {run.label}" if len(runs) > 1 else ""
                notes.append(f"{key.title}: {len(chosen):,} of {len(verdicts):,} answers{label} are shown, {RULE}.")
            found = answers.rows(chosen)
            images, reason = add_images(album, key, result, [row["id"] for row in found])
            if reason:
                reasons[reason] = None
            quality = predicted_quality(result, answers)
            for index, row in zip(chosen, found, strict=True):
                sample = _sample(row, verdicts[index], quality[index], _as_shown(row, images.get(row["id"], [])))
                rows.append({"run": place, "task": number, **sample})
        notes += [f"{key.title}: no images, as {reason}." for reason in reasons]
    notes += [
        f"{run.label}: no samples, as there are no predictions in {run.folder.name or run.folder}."
        for run in runs
        if run.predictions is None
    ]
    return Samples(rows, keys, album.uris, notes)


def judge_answers(result: TaskResult, answers: Answers) -> list[Verdict]:
    """How each answer was read, as far as the run tells."""
    columns = (answers.column(name) for name in ("step", "correct", "extracted", "answer", "losses", "reference"))
    scored = [value is not None for value in predicted_quality(result, answers)]
    has_options = [options is not None for options in answers.column("options")]
    first_ids = [name is not None for name in answers.column("first_id")]
    errors = answers.column("error")
    has_choice = [a or b for a, b in zip(has_options, first_ids, strict=True)]
    return [_verdict(result, *values) for values in zip(*columns, scored, has_choice, errors, strict=True)]


def _verdict(
    result: TaskResult,
    step: str | None,
    correct: bool | None,
    extracted: str | None,
    answer: str | None,
    losses: list[float] | None,
    reference: str | None,
    scored: bool,
    has_choice: bool,
    error: str | None,
) -> Verdict:
    if step is not None:
        return Verdict(step, correct)
    if not has_choice:
        return Verdict(SCORED if scored else UNMATCHED if reference is None or error else TEXT, None)
    if extracted is None and _may_follow(result):
        return Verdict(UNKNOWN, None)
    own = EXACT if extracted else UNMATCHED
    # Without a right answer, nothing is right or wrong: private ones, and pairs of equal quality.
    return Verdict(LOWEST_LOSS if losses else own, extracted == answer if answer else None)


def _may_follow(result: TaskResult) -> bool:
    """Whether a judge or a random choice decides what exact matching does not."""
    return "judge" in result.settings or result.settings.get("fallback") == RANDOM


def _choose(verdicts: Sequence[Verdict], limit: int) -> list[int]:
    order = sorted(range(len(verdicts)), key=lambda place: not verdicts[place].comes_first)
    return order[:limit]


def _sample(
    row: Mapping[str, Any], verdict: Verdict, quality: float | None, images: Sequence[int | None]
) -> dict[str, Any]:
    sample = {
        "id": row["id"],
        "pass": row["pass"],
        "question": _shortened(row.get("question")),
        "options": [_shortened(option) for option in row.get("options") or ()],
        "answer": row.get("answer"),
        "text": _shortened(row.get("text")),
        "error": _shortened(row.get("error")),
        "extracted": row.get("extracted"),
        "step": verdict.step,
        "correct": verdict.correct,
        "reference": _shortened(row.get("reference")),
        "marks": dict(row.get("marks") or ()) or None,
        "predicted": quality,
        "human": row.get("quality"),
        "images": list(images),
    }
    return {name: value for name, value in sample.items() if value is not None and value != []}


def _as_shown(row: Mapping[str, Any], images: list[int | None]) -> list[int | None]:
    """An item's images in the order in which the pass showed them."""
    return images[::-1] if row["pass"] == "reversed" else images


def _shortened(text: str | None) -> str | None:
    if text is None or len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\N{HORIZONTAL ELLIPSIS} ({len(text):,} characters in all)"
