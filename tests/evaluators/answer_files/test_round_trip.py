"""A run on private questions, its answer file, and `eyechart score` with a release that holds the right answers."""

import csv
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from eyechart.datasets_scripts import mini
from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.results.results_file import TaskResult, read_results
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import seal, write

# The mini release's file with answers, and that of the private split, which is made of it.
FILES = {
    "llvisionqa": ("llvisionqa_dev.json", "llvisionqa_test.json"),
    "llvisionqa_pairs": ("q-bench2-a1-dev.jsonl", "q-bench2-a1-test.jsonl"),
    "lldescribe": ("descriptions.json",) * 2,
    "aesbench": ("AesBench_evaluation.json",) * 2,
}
ANSWERS = ("correct_ans", "correct_choice", "Answer", "answer")
TASKS = ["q_bench/perception", "q_bench/perception_pairs", "q_bench/description"]
TASKS += [f"aes_bench/{part}" for part in ("perception", "empathy", "assessment", "interpretation")]
TASKS += ["mmbench/en", "mmbench/cn", "mmbench/en_v11"]
Releases = tuple[Path, Path]


@pytest.fixture
def releases(tmp_path: Path) -> Callable[[str], Releases]:
    """Makes a release whose private split has answers, and the same without them, of a task's mini release."""

    def make(task: str) -> Releases:
        dataset = get_task(task).data.datasets[0]
        config = task.partition("/")[2].upper()
        from_file, name = FILES.get(dataset, (f"MMBench_DEV_{config}.tsv", f"MMBench_TEST_{config}.tsv"))
        # A copy is in the layout of the real release, and not in the folder of mini releases.
        held = shutil.copytree(mini.release(dataset), tmp_path / "held")
        if from_file != name:
            shutil.copyfile(held / from_file, held / name)
        private = shutil.copytree(held, tmp_path / "private")
        _hide_answers(private / name)
        return held, private

    return make


def _hide_answers(path: Path) -> None:
    if path.suffix == ".tsv":
        csv.field_size_limit(10**8)
        with path.open(encoding="utf-8", newline="") as file:
            rows = [without_answers(row) for row in csv.DictReader(file, delimiter="\t")]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
            writer.writeheader()
            writer.writerows(rows)
        return
    text = path.read_text(encoding="utf-8")
    parts = text.splitlines() if path.suffix == ".jsonl" else [text]
    path.write_text("\n".join(json.dumps(without_answers(json.loads(part))) for part in parts), encoding="utf-8")


def without_answers(value: Any) -> Any:
    if isinstance(value, dict):
        value = {key: without_answers(entry) for key, entry in value.items() if key not in ANSWERS}
        return value | {"description": ""} if "description" in value else value
    return [without_answers(entry) for entry in value] if isinstance(value, list) else value


def without_intervals(value: Any) -> Any:
    """Scores, overall and by group, without what depends on which questions share an image: intervals, and chance."""
    if isinstance(value, dict):
        dependent = ("intervals", "spread_by_chance")
        independent = {key: entry for key, entry in value.items() if key not in dependent and not key.endswith("_ci95")}
        return {key: without_intervals(entry) for key, entry in independent.items()}
    return value


def reply(messages: list[dict[str, Any]]) -> str:
    """Replies that name an option or not, the same whenever the same is asked."""
    number = hashlib.sha256(json.dumps(messages, default=lambda _: "image").encode()).digest()[0]
    known = ("A", "B", "The answer is A.", "C", "I cannot tell: Ü", "", "=It is dark and blurry, of poor quality.")
    return known[number % len(known)]


def evaluated(task: str, release: Path, limit: int | None = None, **settings: Any) -> TaskResult:
    bound = evaluator(task, settings=settings)
    loaded = load_data(bound.definition, DataRequest(split="test", data_dir=release, limit=limit))
    return bound.run(bound.prepare_pipeline(reply), loaded)


def call(*arguments: Any, code: int = 0) -> str:
    return " ".join(invoke(*arguments, code=code).output.split())


def score(task: str, release: Path, out: Path, file: Path) -> TaskResult:
    """The result of a file of answers."""
    options = ("--split", "test", "--data-dir", release, "--out", out, "--no-store")
    call("score", task, "--predictions", file, *options)
    return read_results(out).tasks[0]


def write_file(result: TaskResult, folder: Path) -> Path:
    """The answer file of a run."""
    ((name, content),) = result.contents.items()
    (folder / name).write_bytes(content)
    return folder / name


def assert_same_scores(scored: TaskResult, run: TaskResult, folder: Path) -> None:
    expected = read_results(write(folder / "expected", [run])).tasks[0]
    assert without_intervals(scored.scores) == without_intervals(expected.scores)
    assert [item.id for item in scored.left_out] == [item.id for item in expected.left_out]


@pytest.mark.parametrize("task", TASKS)
def test_a_file_gives_the_scores_of_the_run(releases: Any, task: str, tmp_path: Path) -> None:
    held, private = releases(task)
    hidden = evaluated(task, private)
    assert hidden.scores is None
    call("submit", write(tmp_path / "run", [hidden]), "--out", tmp_path / "files")
    (file,) = (path for path in (tmp_path / "files").rglob("*") if path.is_file())
    scored = score(task, held, tmp_path / "out", file)
    assert_same_scores(scored, evaluated(task, held), tmp_path)
    headline = scored.headline_spec()
    assert headline is not None and scored.scores is not None
    # A file has no images, so nothing says which questions share one.
    kinds = ("wilson-unread", "none")
    assert scored.scores["intervals"][headline.key]["kind"] in kinds
    assert scored.settings["model"]["predictions_unused"] == 0


@pytest.mark.parametrize("task", ["q_bench/perception", "q_bench/perception_pairs"])
def test_letters_are_those_of_the_releases_order(releases: Any, task: str, tmp_path: Path) -> None:
    held, private = releases(task)
    scored = score(task, held, tmp_path / "out", write_file(evaluated(task, private, shuffle_seed=5), tmp_path))
    expected = evaluated(task, held, shuffle_seed=5).scores
    assert scored.scores is not None and expected is not None
    assert scored.scores["accuracy"] == expected["accuracy"]


def test_the_parts_of_aesbench_are_told_apart(releases: Any, tmp_path: Path) -> None:
    held, private = releases("aes_bench/perception")
    file = write_file(evaluated("aes_bench/perception", private), tmp_path)
    options = ("--predictions", file, "--split", "test", "--data-dir", held, "--out", tmp_path / "out")
    shown = call("score", "aes_bench/empathy", *options, code=2)
    assert "has predictions for the configuration 'perception', not for that of aes_bench/empathy" in shown


def test_a_second_question_about_an_image_is_another_one(releases: Any, tmp_path: Path) -> None:
    held, private = releases("q_bench/perception")
    for folder in (held, private):
        path = folder / "llvisionqa_test.json"
        rows = json.loads(path.read_text())
        # The same question is asked of several images, so that neither name nor question tells alone.
        for number in range(1, len(rows), 3):
            if rows[number]["question"] != rows[number - 1]["question"]:
                rows[number]["img_path"] = rows[number - 1]["img_path"]
        path.write_text(json.dumps(rows))
    file = write_file(evaluated("q_bench/perception", private), tmp_path)
    scored = score("q_bench/perception", held, tmp_path / "out", file)
    assert_same_scores(scored, evaluated("q_bench/perception", held), tmp_path)


def test_what_is_not_submitted(releases: Any, tmp_path: Path) -> None:
    held, private = releases("q_bench/perception")

    def refused(*options: Any) -> str:
        return call("submit", run, *options, code=2)

    run = write(tmp_path / "run", [evaluated("q_bench/perception", private, limit=3)])
    assert "--limit 3 of 180 items" in refused() and "unknown task 'mmbench/en'" in refused("--task", "mmbench/en")
    run = write(tmp_path / "run", [evaluated("q_bench/perception", private)])
    assert f"180 answers in {run / 'answer_files' / 'q_bench'}" in call("submit", run)
    path = run / "predictions.parquet"
    table = parquet.read_table(path)
    parquet.write_table(table.slice(2), path)
    seal(run)
    assert "contains 180 answers, but the run has 178 for 180 items" in refused()
    failed = table.set_column(table.column_names.index("error"), "error", [["lost", *[None] * 179]])
    parquet.write_table(failed, path)
    seal(run)
    assert "1 answers are missing" in refused()
    parquet.write_table(table, path)
    seal(run)
    results = run / "results.json"
    results.write_text(results.read_text().replace('"is_mini": false', '"is_mini": true'))
    assert "the run used synthetic demo data" in refused()
    run = write(tmp_path / "public", [evaluated("q_bench/perception", held)])
    assert "answers are public" in refused() and "answers are public" in refused("--task", "q_bench/perception")


def test_an_mmbench_file_needs_every_pass(releases: Any, tmp_path: Path) -> None:
    _, private = releases("mmbench/en")
    run = write(tmp_path / "run", [evaluated("mmbench/en", private)])
    shown = call("submit", run)
    assert "submission server closed on 31 March 2026" in shown and "version 1.1 (en_v11, cn_v11) are public" in shown
    next((run / "mmbench").rglob("*.xlsx")).unlink()
    assert "missing answer file" in call("submit", run, code=1)
