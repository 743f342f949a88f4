"""The two doors by which a user meets a task, a run of a model and the scoring of predictions; data of one's own."""

import base64
import csv
import io
import json
from pathlib import Path

import datasets
import numpy as np
from PIL import Image
from pyarrow import parquet

from eyechart.datasets_scripts.common.choice.passes import STRIDE
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke


class Judge:
    """Gives every conversation the same replies, and remembers each with the number of replies."""

    def __init__(self, reply):
        self.reply, self.asked = reply, []

    def __call__(self, messages, n):
        self.asked.append((messages, n))
        return [self.reply] * n


def ran(out, *arguments):
    """Run tasks on the bundled model; returns their results and what was printed."""
    done = invoke("run", *arguments, "--out", out, code=0)
    return read_results(out).tasks, done.output


def rows_of(folder):
    """The rows of a run's predictions.parquet."""
    return parquet.read_table(folder / "predictions.parquet").to_pylist()


def write_lines(path, lines):
    """Write a JSON Lines file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def scored(folder, task, lines, *arguments):
    """Score precomputed predictions; returns the result and what was printed."""
    predictions = write_lines(folder / "predictions.jsonl", lines)
    done = invoke("score", task, "--predictions", predictions, *arguments, "--out", folder / "scored", code=0)
    (result,) = read_results(folder / "scored").tasks
    return result, done.output


N_PHOTOS, N_QUESTIONS = 40, 12


def png(level: int) -> bytes:
    """A noisy picture, whose noise grows with the level."""
    rng = np.random.default_rng(level)
    noise = rng.integers(-60, 61, (32, 32, 3)) * level // 10
    content = io.BytesIO()
    Image.fromarray((128 + noise).astype(np.uint8)).save(content, "PNG")
    return content.getvalue()


def write_questions(folder: Path) -> None:
    """`my_questions.tsv`: questions of three and four options, images as base64 (VLMEvalKit's columns)."""
    with (folder / "my_questions.tsv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter="\t")
        rows.writerow(["index", "image", "question", "A", "B", "C", "D", "answer", "category"])
        for i in range(N_QUESTIONS):
            image = base64.b64encode(png(i % 10)).decode()
            options = ["red", "green", "blue", "" if i % 3 == 0 else "grey"]
            rows.writerow([i, image, f"Which colour is {i}?", *options, "ABC"[i % 3], ("hue", "tone")[i % 2]])


def write_photos(folder: Path) -> None:
    """`my_photos.csv`: files with opinion scores, of two cameras."""
    (folder / "photos").mkdir()
    with (folder / "my_photos.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "mos", "camera"])
        for i in range(N_PHOTOS):
            (folder / "photos" / f"{i}.png").write_bytes(png(i % 10))
            rows.writerow([f"photos/{i}.png", 5 - i % 10 / 2 + i / 100, ("old", "new")[i % 2]])


def write_pairs(folder: Path) -> None:
    """`my_pairs.jsonl`: pairs of the photos with the scores of both."""
    scores = [5 - i % 10 / 2 + i / 100 for i in range(N_PHOTOS)]
    pairs = [(i, (7 * i + 3) % N_PHOTOS) for i in range(N_PHOTOS) if i != (7 * i + 3) % N_PHOTOS]
    lines = [
        {"left": f"photos/{i}.png", "right": f"photos/{j}.png", "left_score": scores[i], "right_score": scores[j]}
        for i, j in pairs
    ]
    write_lines(folder / "my_pairs.jsonl", lines)


OPTIONS = {7: ["빨강", "초록", "파랑", "회색"], 9: ["예", "아니요"], 12: ["하나", "둘", "셋"]}
"""Options of three questions by index; the first one of each is right."""


def write_release(path, rows):
    """A table in Parquet with embedded images, as the Hub has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    table = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())
    table.to_parquet(path)
    return path


def mmbench_rows(left_out=()):
    """The rows of three questions, one for each pass, with the columns of K-MMBench and MMBench-ru."""
    rows = []
    for place, (question, options) in enumerate(OPTIONS.items()):
        for turn in range(len(options)):
            shown = [*options[-turn:], *options[:-turn]] if turn else options
            if (index := question + turn * STRIDE) in left_out:
                continue
            rows.append(
                {
                    "index": index,
                    "question": f"질문 {question}?",
                    "hint": "사진을 보세요." if question == 7 else "nan",
                    **{letter: text for letter, text in zip("ABCD", [*shown, None, None], strict=False)},
                    "answer": "ABCD"[turn],
                    "category": ["image_scene", "ocr", "ocr"][place],
                    "image": {"bytes": png(place), "path": None},
                    "source": "test",
                    "l2-category": ["coarse_perception", "finegrained_perception", "finegrained_perception"][place],
                    "comment": None,
                    "split": "dev",
                }
            )
    # The passes of a release are not next to each other.
    return sorted(rows, key=lambda row: row["index"])
