"""Samples as the report shows them, with thumbnails; what was parsed from each reply is in the predictions."""

import base64
import hashlib
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from huggingface_hub import constants
from PIL.Image import Image

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.images import open_image
from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.report.reported_task import ReportedTask
from eyechart.evaluators.requests.values import is_number
from eyechart.evaluators.results.finished_runs import MINI, OFFICIAL, Answers, Run, TaskKey
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks.task import ON_HUB
from eyechart.metrics.scores import DIMENSIONS
from eyechart.metrics.scoring.choices.replies import UNPARSEABLE, UNREAD, why_unread
from eyechart.metrics.scoring.judging.descriptions import text_outcome

if TYPE_CHECKING:
    from pyarrow import Table

_LONGEST = 4_000
"""Characters shown of a text; fewer if there are very many texts."""
_TEXTS = ("question", "prompt", "text", "reasoning", "reference", "error")
_TEXT_BUDGET = 3_000_000
"""Bytes of all samples, so that a page of 10,000 samples stays below 5 MB."""
_QUESTIONS_PER_PART = 10_000
_SIDES = (512, 360, 256, 180, 112)
"""Longest sides of thumbnails, in pixels; each has about half as many pixels as the one before."""
IMAGE_BUDGET = 1_200_000
"""Characters of all thumbnails together, for the same reason."""
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


@dataclass
class Album:
    """Thumbnails, each stored once even if several samples show it."""

    uris: list[str] = field(default_factory=list)
    """`data:` addresses, in order of first use."""
    room: int = 0
    """Characters that may still be added."""
    left_out: int = 0
    """Images for which there was no room."""
    _indices: dict[str, int] = field(default_factory=dict)

    def add(self, encoded: Mapping[str, Any], share: int) -> int | None:
        """The index of the thumbnail of `{"bytes", "path"}`; None if it cannot be read or the album is full.

        A thumbnail of more than `share` characters is made smaller, down to the smallest side.
        """
        content = encoded["bytes"]
        key = encoded["path"] if content is None else hashlib.sha256(content).hexdigest()
        if key in self._indices:
            return self._indices[key]
        if self.room <= 0:
            self.left_out += 1
            return None
        try:
            image = open_image(encoded)
        except DataError:
            return None
        for side in _SIDES:
            uri = thumbnail(image, side)
            if len(uri) <= share:
                break
        self._indices[key] = len(self.uris)
        self.uris.append(uri)
        self.room -= len(uri)
        return self._indices[key]


def collect_samples(runs: Sequence[Run], tasks: Sequence[ReportedTask], limit: int) -> Samples:
    """Choose at most `limit` questions per task, each with the replies of all runs that have it, and their images."""
    album, notes, rows = Album(), list[str](), list[dict[str, Any]]()
    shown, total = 0, 0
    for number, task in enumerate(tasks):
        chosen, count = _choose(task, runs, limit) if limit else ([], 0)
        shown, total = shown + len(chosen), total + count
        # Each task has an equal share of the room, plus what earlier tasks left.
        album.room += IMAGE_BUDGET // len(tasks)
        images, reason, ids = dict[str, list[int | None]](), "", list({replies[0][1]["id"]: None for replies in chosen})
        for result in task.results.values():
            # From the first run whose data are still there.
            if not images:
                images, reason = _add_images(album, task.key, result, ids)
        if reason and not images and chosen:
            notes.append(f"{task.heading}: no images: {reason}.")
        for replies in chosen:
            about = {"images": images.get(replies[0][1]["id"]) or None, "disagree": _disagree(replies)}
            rows += [{"run": run, "task": number, **sample, **about} for run, sample in replies]
    if album.left_out:
        notes.append(f"{album.left_out:,} images are left out to keep the page small.")
    longest = _LONGEST
    while len(json.dumps(rows, ensure_ascii=False).encode(errors="replace")) > _TEXT_BUDGET and longest > 50:
        longest //= 2
        for row in (*rows, *(row["swapped"] for row in rows if "swapped" in row)):
            row |= {name: _cut(row[name], longest) for name in _TEXTS if name in row}
    if longest < _LONGEST:
        notes.append(f"Texts are cut after {longest} characters; predictions.parquet has the full texts.")
    without = [run for run in runs if run.predictions is None]
    notes += [f"{run.label}: no samples: {run.folder.name or run.folder} has no predictions." for run in without]
    first = "disagreements, then incorrect and unparsed replies" if len(runs) > 1 else "incorrect and unparsed replies"
    part = f"{shown:,} of {total:,} samples shown, at most {limit:,} per task: {first} first." if shown < total else ""
    return Samples(rows, album.uris, notes, part)


def _add_images(
    album: Album, key: TaskKey, result: TaskResult, ids: Sequence[str]
) -> tuple[dict[str, list[int | None]], str]:
    """Put items' images into an album; return what `Album.add` gave for each item, and why there are none, else ""."""
    from eyechart.evaluators.evaluation.data import data_of_run, undecoded_rows, without_progress_bars

    try:
        data = result.settings["data"]
        if not _is_here(data["source"]):
            return {}, f"the data are no longer at {data['source']!r}"
        with without_progress_bars():
            dataset = data_of_run(key, data)
        wanted = set(ids)
        rows = undecoded_rows(dataset.select([i for i, id in enumerate(dataset["id"]) if id in wanted]))
        of_id = {row["id"]: row["images"] if "images" in row else filter(None, [row["image"]]) for row in rows}
        # In the order of the samples, because the album may become full.
        images = {id: list(of_id[id]) for id in ids if id in of_id}
        share = album.room // max(1, sum(map(len, images.values())))
        return {id: [album.add(image.read(), share) for image in of_row] for id, of_row in images.items()}, ""
    # The files or the dataset may have changed since the run; the report is then written without images.
    except Exception as error:
        return {}, f"the data can no longer be read: {type(error).__name__}: {str(error).splitlines()[0][:200]}"


def _is_here(source: str) -> bool:
    """Whether data can be read again without a large download."""
    if source in (OFFICIAL, MINI) or Path(source).exists():
        return True
    repo = "--".join(source.removeprefix(ON_HUB).split("/")[:2])
    return Path(constants.HF_HUB_CACHE, f"datasets--{repo}").exists()


def thumbnail(image: Image, side: int) -> str:
    """The image as a `data:` address, with at most this side."""
    image.thumbnail((side, side))
    buffer = io.BytesIO()
    image.save(buffer, format="WEBP", quality=60, method=0)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def _choose(task: ReportedTask, runs: Sequence[Run], limit: int) -> tuple[list[_Replies], int]:
    """The first questions by rank, each with its samples, and the number of all; both passes of a pair are one."""
    from pyarrow import array, compute, concat_tables

    given = {index: run.answers(task.key) for index, run in enumerate(runs) if run.label in task.results}
    tables = {index: answers for index, answers in given.items() if answers is not None}
    if not tables:
        return [], 0
    asked = concat_tables([answers.table.select(["id", "pass"]) for answers in tables.values()])
    questions_asked = asked.group_by(["id", "pass"], use_threads=False).aggregate([])
    total = compute.sum(compute.not_equal(questions_asked["pass"], "reversed")).as_py()
    ids = asked["id"].unique().to_pylist()
    # Of questions that cannot come first by rank, only the first ones can be chosen.
    wanted = set(ids[:limit]).union(*(_may_come_first(answers.table) for answers in tables.values()))
    ids = [id for id in ids if id in wanted]
    best, chosen = (len(tables) == 1, False), list[_Replies]()
    # In parts, because the samples of all questions may not fit into memory, and the first part is often enough.
    start, size = 0, max(limit, 500)
    while start < len(ids):
        part = array(ids[start : start + size])
        start, size = start + size, min(2 * size, _QUESTIONS_PER_PART)
        questions: dict[tuple[str, str], _Replies] = {}
        for index, answers in tables.items():
            mask = compute.is_in(answers.table["id"], value_set=part)
            for sample in _samples(replace(answers, table=answers.table.filter(mask)), task.results[runs[index].label]):
                questions.setdefault((sample["id"], sample["pass"]), []).append((index, sample))
        chosen = sorted([*chosen, *questions.values()], key=_rank)[:limit]
        if len(chosen) == limit and _rank(chosen[-1]) == best:
            break
    return chosen, total


def _may_come_first(table: "Table") -> set[str]:
    """The questions with a reply that may be incorrect, unparsed or unlike another; those with only a score are not."""
    from pyarrow import compute

    def have(*names: str) -> Any:
        columns = [compute.is_valid(table[name]) for name in names if name in table.column_names]
        return reduce(compute.or_, columns, compute.is_null(table["id"]))

    scored = compute.and_not(
        have("logits", "quality_score"), have("choice", "correct", "consistent", "options", "first_id", "error")
    )
    return set(table["id"].filter(compute.invert(scored)).to_pylist())


def _samples(answers: Answers, result: TaskResult) -> list[dict[str, Any]]:
    protocol = PROTOCOLS.get(str(result.settings.get("protocol")))
    # Without its protocol, a result's columns are as they are in the file.
    items = None if protocol is None else [item.record() for item in answers.items(protocol.item_type)]
    return read_samples(answers.rows() if items is None else items)


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
    numbers = {"own_score": row["own_score"], "predicted": row["quality_score"], "human": row["quality"]}
    texts = {name: row[name] for name in ("prompt", "question", "text", "reasoning", "error")}
    texts["reference"] = row["label"] if is_text else None
    sample = {
        **{name: row[name] for name in ("id", "pass", "answer", "choice")},
        **{name: _shortened(text) for name, text in texts.items() if text is not None},
        **{name: number for name, number in numbers.items() if is_number(number)},
        "options": [_shortened(option) for option in row["options"] or ()],
        "step": _step(row),
        "correct": row["correct"] if row["own_score"] is None else None,
        "judge_scores": {name: row[name] for name in (*DIMENSIONS, "judge_score") if is_number(row[name])},
    }
    return {name: value for name, value in sample.items() if value not in (None, [], {})}


def _step(row: Mapping[str, Any]) -> str:
    if row["error"]:
        return UNPARSEABLE
    if row["losses"]:
        return "option with the lowest loss"
    unread = why_unread(row["text"] or "", row["finish_reason"])
    if row["options"] or row["first_id"]:
        # Private questions have no step of their own.
        return row["step"] or ("exact" if row["choice"] else unread)
    if row["rounds"] is not None:
        return text_outcome(row["finish_reason"], row["empty_prediction"]) or "scored as text"
    if row["own_score"] is not None or row["quality_score"] is not None or row["logits"]:
        return "numeric score"
    return unread if row["quality"] is not None else "not scored: the reference is private"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{_cut(text, _LONGEST)} ({len(text):,} characters in total)"
