"""What large inputs take: images, predictions, entries of the board, answers in the store, and a run that is resumed.

`python -m tests.benchmarks.scale assessment predictions board store resume paper` runs all parts; name those you need.
`--share 0.1` makes everything smaller. Each part is measured at a third of its size too, to show how it grows.

- assessment: A3 on tiny photographs of one's own, by a model that costs nothing, with all that a run writes: the first
  run, which prepares the data, and the next. The aim is 0.25 ms of processor time an image and 1 GB for 100,000.
- predictions: `eyechart score` on a file with logits, one row an image, then the report and the check of its results.
  The aim is memory of which docs/topics/scale.md says how much a row takes.
- board: entries of one model each on 1,495 questions, whose release is at hand. The aim is 60 s for 500, linear.
- store: ten million answers of ten models: size, storing, look-up, contents, removal. Above one million, the answers
  are inserted by SQLite alone, as the store would write them.
- resume: the run of `assessment` with the store, then the same again. The aim of the second is 10 s for 100,000.
- paper: measures nothing; prints what the five benchmarks need on 1, 8 and 64 GPUs, for docs/topics/scale.md.

Every figure is of a process of its own: processor time of all threads and the largest resident set, after its imports.
"""

import argparse
import hashlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.official import official_counts
from eyechart.evaluators.tasks.q_bench import DATABASES

TASK, DATA = "q_bench/assessment", "kadis700k"
QUESTIONS, OPTIONS = 1_495, ("Good", "Fair", "Poor", "Bad")
POSITIVE = ("good", "fine", "high")
SIZES = {"assessment": 100_000, "predictions": 1_000_000, "board": 500, "store": 10_000_000, "resume": 100_000}
WORK = {
    "Q-Bench A1": ((("llvisionqa", "dev"), ("llvisionqa", "test")), 1, 1, 8),
    "Q-Bench2 A1": ((("llvisionqa_pairs", "dev"), ("llvisionqa_pairs", "test")), 1, 2, 8),
    "Q-Bench A2": ((("lldescribe", "test"),), 1, 1, 200),
    "Q-Bench A3": (tuple((name, "test") for name in DATABASES), 1, 1, 0),
    "MMBench en": ((("mmbench/en", "dev"), ("mmbench/en", "test")), 4, 1, 8),
    "QL-Bench": ((("llsavisionqa/single", "dev"), ("llsavisionqa/pair", "dev")), 2, 1.4, 8),
    "AesBench": (tuple((f"aesbench/{part}", "test") for part in DATASETS["aesbench"].configs), 1, 1, 8),
    "2AFC": (tuple((f"two_afc/{part}", "test") for part in DATASETS["two_afc"].configs if part != "mixed"), 2, 2, 8),
}
"""Splits; then, at most: requests an item, images a request, tokens of a reply."""
IMAGE_TOKENS, TEXT_TOKENS = {"256": 256, "576": 576, "1,000": 1_000}, 80
FLOPS, USED, BANDWIDTH, BATCH = 989e12, 0.4, 3.35e12, 32
"""Of one H100 in bfloat16: operations and bytes of memory a second; the share used; replies written together."""
BY_STORE = 1_000_000
"""Answers that are stored by the store itself."""
LOOKUPS = 20_000


def write_photos(folder: Path, n: int, files: bool = True) -> None:
    """A release of n tiny photographs, each with bytes of its own, and their opinion scores."""
    from PIL import Image

    folder.mkdir(parents=True)
    lines = [f"{number:07}.jpg,{opinion_of(number):.2f}" for number in range(n)]
    (folder / "mos.csv").write_text("\n".join(["image,mos", *lines]), encoding="utf-8")
    for number in range(n) if files else ():
        if not number:
            Image.new("RGB", (8, 8), (90, 120, 60)).save(stream := io.BytesIO(), "JPEG")
        # Decoders ignore what follows the end of a JPEG.
        (folder / f"{number:07}.jpg").write_bytes(stream.getvalue() + b"%d" % number)


def opinion_of(number: int) -> float:
    """The opinion score of a photograph, 0 to 100."""
    return number * 7_919 % 10_007 / 100.07


def logits_of(id: str, words: Sequence[str]) -> dict[str, float]:
    """Logits that agree in part with the opinion score."""
    number = int(Path(id).stem)
    noise = [number * factor % 1_009 / 150 for factor in (31, 57, 101, 211, 307, 401)]
    agrees = {word: opinion_of(number) / (25 if word in POSITIVE else 100) for word in words}
    return {word: round(10 + agrees[word] + of_word, 4) for word, of_word in zip(words, noise, strict=True)}


def free_model(device: str | None) -> Any:
    """A model that knows every answer at once."""
    from eyechart.evaluators.requests.types import Backend, Request, Response

    class FreeModel(Backend):
        name = "benchmark/free"

        def identity(self) -> dict[str, Any]:
            return {"backend": "benchmark", **{f"setting {number}": number for number in range(20)}}

        def settings(self) -> dict[str, Any]:
            return {"backend": "benchmark"}

        def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
            for request in requests:
                if request.words:
                    yield Response(request, logits=logits_of(request.id, request.all_words))
                else:
                    yield Response(request, text="BAB"[int(request.id[-1], 36) % 3] + ".")

    return FreeModel()


def run_photos(folder: Path, store: Path | None = None) -> None:
    """Run A3 on the photographs, as `eyechart run` does."""
    from eyechart.evaluators.evaluation.options import DataRequest
    from eyechart.evaluators.requests.store import ResponseStore
    from eyechart.evaluators.runs.run import ModelRun, execute
    from eyechart.evaluators.runs.task_runs import make_task_runs

    task_runs = make_task_runs([TASK], DataRequest(), data_dirs=[f"{DATA}={folder / 'photos'}"])
    opened = None if store is None else ResponseStore.open(store)
    assert execute(task_runs, ModelRun(free_model, folder / "run", "benchmark/free"), opened)


def run_stored(folder: Path) -> None:
    """The same with the store."""
    run_photos(folder, folder / "responses.sqlite")


def score_file(folder: Path) -> None:
    """Score a file of predictions, as a user does, without the report."""
    from eyechart.evaluators.cli import app

    arguments = [TASK, "--predictions", f"{folder}/logits.jsonl", "--data-dir", f"{DATA}={folder}/photos"]
    app(["score", *arguments, "--out", f"{folder}/run"], standalone_mode=False)


def write_again(folder: Path) -> None:
    """The report from the files of a run."""
    from eyechart.evaluators.report import write_report

    write_report([folder / "run"], files=False)


def read_again(folder: Path) -> None:
    """Read a run and check that its scores agree with its predictions, as `compare` and `publish` do first."""
    from eyechart.evaluators.results.finished_runs import read_runs

    read_runs([folder / "run"])


def build_board(folder: Path) -> None:
    """Build the Space."""
    import datetime

    from eyechart.hub_cards.leaderboard.build import build

    now = datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)
    outcome = build(folder / "entries", folder / "space", now, {"llvisionqa": str(folder / "release")})
    assert not outcome.rejected, outcome.rejected[:2]
    assert not any(row.stated for row in outcome.accepted)


def _imports() -> None:
    """What all these load first."""
    import datasets
    import transformers.utils.logging

    import eyechart.evaluators.backends.predictions.backend
    import eyechart.evaluators.cli
    import eyechart.evaluators.commands.run
    import eyechart.evaluators.report.page
    import eyechart.hub_cards.leaderboard.build  # noqa: F401

    datasets.disable_progress_bars()
    transformers.utils.logging.disable_progress_bar()


MEASURED: dict[str, Callable[[Path], None]] = {
    work.__name__: work for work in (run_photos, run_stored, score_file, write_again, read_again, build_board)
}


def measure_here(name: str, folder: str) -> None:
    """Run one piece of work in this process, and print what it took as JSON."""
    _imports()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    starts = _processor(), time.perf_counter()
    try:
        MEASURED[name](Path(folder))
    except SystemExit as end:
        assert not end.code, end.code
    took = {"processor": _processor() - starts[0], "elapsed": time.perf_counter() - starts[1]}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**took, "before": before / 1e3, "peak": peak / 1e3}))


def _processor() -> float:
    """Processor time of this process and of those that it has waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measure(work: Callable[[Path], None], folder: Path, label: str, n: int) -> None:
    """Run one piece of work in a process of its own, and print a line."""
    home = {"EYECHART_HOME": f"{folder}/home", "HF_DATASETS_CACHE": f"{folder}/cache"}
    command = [sys.executable, "-m", "tests.benchmarks.scale", "measure", work.__name__, str(folder)]
    done = subprocess.run(command, env=os.environ | home, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    took = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{label:36} {n:10,} {took['processor']:8.1f} s {1e3 * took['processor'] / n:8.3f} ms each "
        f"{took['elapsed']:8.1f} s elapsed {took['peak']:7,.0f} MB, of which imports {took['before']:,.0f} MB",
        flush=True,
    )


def on_photos(*works: tuple[Callable[[Path], object], str]) -> Callable[[int], None]:
    """Measures each work on the same n photographs."""

    def part(n: int) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            write_photos(Path(temporary, "photos"), n)
            for work, label in works:
                measure(work, Path(temporary), label, n)

    return part


def predictions(n: int) -> None:
    """Score n rows of a file, and read what was written."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_photos(folder / "photos", n, files=False)
        words = ("good", "poor", "fine", "bad", "high", "low")
        with (folder / "logits.jsonl").open("w", encoding="utf-8") as file:
            for number in range(n):
                id = f"{number:07}.jpg"
                file.write(json.dumps({"id": id, "logits": logits_of(id, words)}) + "\n")
        measure(score_file, folder, "score, with report", n)
        measure(write_again, folder, "report alone", n)
        measure(read_again, folder, "read and check", n)
        sizes = [
            f"{(folder / name).stat().st_size / 1e6:,.0f} MB" for name in ("logits.jsonl", "run/predictions.parquet")
        ]
        print(f"  file {sizes[0]}, predictions.parquet {sizes[1]}")


def write_entries(folder: Path, n: int) -> None:
    """A release of LLVisionQA's size, and n entries on it, each a run by a model of its own skill."""
    import pyarrow
    from PIL import Image
    from pyarrow import parquet

    from eyechart.evaluators import evaluator
    from eyechart.evaluators.evaluation.data import load_data
    from eyechart.evaluators.evaluation.options import DataRequest
    from eyechart.evaluators.results.results_file import collect
    from eyechart.evaluators.runs.run import write_run

    release = folder / "release"
    (release / "images_llvisionqa").mkdir(parents=True)
    rows = []
    for number in range(QUESTIONS):
        # Some photographs have several questions, as in the release.
        name = f"{number * 0.98:.0f}.png"
        Image.new("RGB", (8, 8), (number % 256, number // 256, 9)).save(release / "images_llvisionqa" / name)
        asked = {"question": f"How good is photograph {number}?", "img_path": name, "candidates": OPTIONS}
        rows.append({"type": number % 3, "concern": number % 4, **asked, "correct_ans": OPTIONS[number % 4]})
    (release / "llvisionqa_dev.json").write_text(json.dumps(rows), encoding="utf-8")
    task = evaluator("q_bench/perception")
    data = load_data(task.definition, DataRequest(None, "llvisionqa", "dev", release))
    result = task.run(free_model(None), data)
    started = "2026-05-01T12:00:00+00:00"
    write_run(folder / "run", collect([result], [], started))
    table = parquet.read_table(folder / "run/predictions.parquet")
    values = json.loads((folder / "run/results.json").read_text(encoding="utf-8"))
    right = np.arange(QUESTIONS) % 4
    for number in range(n):
        rng = np.random.default_rng(number)
        is_right = rng.random(QUESTIONS) < 0.3 + 0.6 * number / n
        letters = ["ABCD"[letter] + "." for letter in np.where(is_right, right, rng.integers(0, 4, QUESTIONS))]
        entry, model = folder / "entries" / f"{number:03}", f"organisation/model-{number:03}"
        entry.mkdir(parents=True)
        for name, column in (("text", letters), ("model", [model] * QUESTIONS)):
            place = table.schema.get_field_index(name)
            table = table.set_column(place, table.schema.field(name), pyarrow.array(column))
        parquet.write_table(table, entry / "predictions.parquet")
        sha256 = hashlib.sha256((entry / "predictions.parquet").read_bytes()).hexdigest()
        values["tasks"][0]["model"], values["predictions_sha256"] = model, sha256
        (entry / "results.json").write_text(json.dumps(values), encoding="utf-8")
        (entry / "entry.json").write_text(json.dumps({"owner": "organisation"}), encoding="utf-8")


def board(n: int) -> None:
    """Build the board of n entries."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_entries(folder, n)
        measure(build_board, folder, "board, release at hand", n)


def key_of(number: int) -> bytes:
    """The key of an answer."""
    return hashlib.sha256(b"%d" % number).digest()


def store(n: int) -> None:
    """Fill a store, look answers up, list and remove them."""
    from eyechart.evaluators.requests.store import ResponseStore
    from eyechart.evaluators.requests.types import Answer

    def took(label: str, count: int, start: tuple[float, float]) -> None:
        processor, elapsed = time.process_time() - start[0], time.perf_counter() - start[1]
        each = f"{1e6 * processor / count:.1f} us each, {elapsed:.2f} s elapsed"
        print(f"store of {n:,}: {label:28} {processor:7.2f} s ({each})", flush=True)

    def now() -> tuple[float, float]:
        return time.process_time(), time.perf_counter()

    answers = [
        Answer(text=f"The answer is {letter}.", rendered_prompt="What degrades it most?" * 8) for letter in "ABCD"
    ]
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "responses.sqlite"
        with ResponseStore.open(path) as opened:
            start = now()
            by_store = min(n, BY_STORE)
            for first in range(0, by_store, 256):
                part = range(first, min(first + 256, by_store))
                opened.put(f"model {first // 256 % 10}", {key_of(number): answers[number % 4] for number in part})
            took("storing, 256 at once", by_store, start)
            connection = opened._connection
            (value,) = connection.execute("SELECT value FROM responses LIMIT 1").fetchone()
            for first in range(by_store, n, BY_STORE):
                part = range(first, min(first + BY_STORE, n))
                rows = sorted((key_of(number), f"model {number % 10}", 1.0, value) for number in part)
                connection.execute("BEGIN")
                connection.executemany("INSERT INTO responses VALUES (?, ?, ?, ?)", rows)
                connection.execute("COMMIT")
        with ResponseStore.open(path) as opened:
            print(f"store of {n:,}: {opened.size() / 1e6:,.0f} MB, {opened.size() / n:.0f} bytes an answer")
            keys = [key_of(number) for number in np.random.default_rng(0).permutation(n)[:LOOKUPS].tolist()]
            start = now()
            counts = [len(opened.get(keys[first : first + 256])) for first in range(0, LOOKUPS, 256)]
            took("look-up, at random", LOOKUPS, start)
            assert sum(counts) == len(keys)
            start = now()
            assert sum(model.answers for model in opened.models()) == n
            took("contents (store info)", n, start)
            start = now()
            opened.check()
            took("check of all answers", n, start)
            start = now()
            removed = opened.prune(model="model 3")
            took(f"prune of {sum(removed.values()):,}", sum(removed.values()), start)
            start = now()
            opened.compact()
            took("compact", n, start)
            print(f"store of {n:,}: {opened.size() / 1e6:,.0f} MB after that")


def paper(n: int) -> None:
    """Print requests and tokens of each benchmark, and seconds of all by model size and number of GPUs."""
    totals = np.zeros(4)
    print("| benchmark | requests | images | tokens of images at 576 | tokens of text | tokens of replies |")
    for name, (splits, per_item, images, reply) in WORK.items():
        named = [(*dataset.partition("/")[::2], split) for dataset, split in splits]
        requests = per_item * sum(official_counts(*part)[0] for part in named)
        work = np.array([requests * images, requests * TEXT_TOKENS, requests * reply, requests])
        totals += work
        cells = [requests, work[0], 576 * work[0] / 1e6, work[1] / 1e6, work[2] / 1e6]
        print(f"| {name} | {cells[0]:,} | {cells[1]:,.0f} | {cells[2]:.1f} M | {cells[3]:.2f} M | {cells[4]:.2f} M |")
    images, text, replies, asked = totals
    print(f"| all | {asked:,.0f} | {images:,.0f} | {576 * images / 1e6:.0f} M", end="")
    print(f" | {text / 1e6:.1f} M | {replies / 1e6:.1f} M |")
    print("| billion parameters | tokens an image | 1 GPU | 8 GPUs | 64 GPUs |")
    for billions in (2, 8, 32, 72):
        for label, of_image in IMAGE_TOKENS.items():
            reading = 2e9 * billions * (images * of_image + text) / (FLOPS * USED)
            writing = 2e9 * billions / BANDWIDTH * replies / BATCH
            times = " | ".join(f"{(reading + writing) / gpus / 60:,.1f} min" for gpus in (1, 8, 64))
            print(f"| {billions} | {label} | {times} |")


def main() -> None:
    """Run the parts that are named."""
    if sys.argv[1:2] == ["measure"]:
        measure_here(*sys.argv[2:])
        return
    parts = {part.__name__: part for part in (predictions, board, store, paper)}
    parts["assessment"] = on_photos(
        (run_photos, "A3, first run"), (run_photos, "A3, data prepared"), (write_again, "its report alone")
    )
    parts["resume"] = on_photos((run_stored, "A3, empty store"), (run_stored, "A3, resumed"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=parts)
    parser.add_argument("--share", type=float, default=1.0, help="Share of the full sizes.")
    options = parser.parse_args()
    print(f"load average over one minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; Python {sys.version[:6]}")
    for part in options.parts:
        full = round(SIZES.get(part, 0) * options.share)
        for n in (full // 3, full) if full else (0,):
            parts[part](n)


if __name__ == "__main__":
    main()
