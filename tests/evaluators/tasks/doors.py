"""The two doors by which a user meets a task: a run of a model, and the scoring of precomputed predictions."""

import json

from pyarrow import parquet

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
