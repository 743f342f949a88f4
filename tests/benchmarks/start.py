"""Seconds of small runs as whole programs: the default run, new and from the store, its first line, and `score`.

    python -m tests.benchmarks.start [--repeats 3] [--questions 12000]

The aims, on the machine where the default run took 29 s: 15 s for it, 6 s from the store, 1 s to the first line in a
terminal, 8 s from a file of 44,000 CircularEval replies to the report. Elapsed and processor time of all processes.
"""

import argparse
import json
import os
import pty
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from tests.benchmarks.circular_eval import run as circular_run

_EYECHART = [sys.executable, "-m", "eyechart.evaluators"]
_TASK = """name: big
protocol: circular_eval
data: {path: data.jsonl}
columns: {images: image, question: question, options: options, answer: answer}
prompt: "{images}\\n{question}\\n{options}\\nAnswer with the letter."
"""


def timed(command: list[str], home: Path) -> tuple[float, float]:
    """Seconds elapsed and of processor time."""
    env = {**os.environ, "EYECHART_HOME": str(home / "eyechart"), "HF_HOME": str(home / "hf")}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*_EYECHART, *command], check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_line(home: Path) -> tuple[float, float]:
    """Seconds until the default run writes to a terminal, twice."""
    ours, theirs = pty.openpty()
    start = time.perf_counter()
    child = subprocess.Popen([*_EYECHART, "run", "--out", str(home / "out")], stderr=theirs, stdout=theirs, cwd=home)
    os.read(ours, 1)
    elapsed = time.perf_counter() - start
    child.kill()
    child.wait()
    os.close(theirs)
    os.close(ours)
    return elapsed, elapsed


def write_replies(folder: Path, questions: int) -> None:
    """A task file, its data and replies to it, 11 passes for every 3 questions."""
    made = circular_run(questions)
    Image.new("RGB", (32, 32)).save(folder / "image.png")
    names = ("predictions", "references", "choices", "question_ids", "rotations")
    with (folder / "data.jsonl").open("w") as data, (folder / "replies.jsonl").open("w") as replies:
        for text, answer, options, question, rotation in zip(*(made[name] for name in names), strict=True):
            row = {"id": f"q{question}", "options": options}
            if rotation == 0:
                asked = {"question": f"What is in picture {question}?", "answer": answer, "image": "image.png"}
                data.write(json.dumps(row | asked) + "\n")
            place = f"rotation:{rotation}" if rotation else "main"
            replies.write(json.dumps(row | {"pass": place, "text": text}) + "\n")
    (folder / "big.yaml").write_text(_TASK)


def main() -> None:
    """Print the medians and the spread."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--questions", type=int, default=12_000)
    arguments = parser.parse_args()
    print(f"load average over one minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    times: dict[str, list[tuple[float, float]]] = {}
    for _ in range(arguments.repeats):
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            write_replies(home, arguments.questions)
            score = ["score", f"{home}/big.yaml", "--predictions", f"{home}/replies.jsonl", "--out", f"{home}/scored"]
            steps: dict[str, Callable[[], tuple[float, float]]] = {
                "first line": lambda home=home: first_line(home),
                "default run": lambda home=home: timed(["run", "--out", f"{home}/new"], home),
                "from the store": lambda home=home: timed(["run", "--out", f"{home}/again"], home),
                f"score of {arguments.questions:,} questions": lambda home=home, score=score: timed(score, home),
            }
            for title, step in steps.items():
                times.setdefault(title, []).append(step())
    for title, values in times.items():
        elapsed, processor = zip(*values, strict=True)
        spread = f"{min(elapsed):.1f} to {max(elapsed):.1f}"
        processors = statistics.median(processor)
        print(f"{title:28} {statistics.median(elapsed):6.1f} s ({spread}), {processors:6.1f} s of processors")


if __name__ == "__main__":
    main()
