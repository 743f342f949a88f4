"""Files of answers made of finished runs: as the run made them, complete, and as their readers read them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators import evaluator
from eyechart.evaluators.answer_files.bundle import make_bundles
from eyechart.evaluators.answer_files.reading import read_submission
from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.results.results_file import collect
from eyechart.evaluators.runs.folder import write_run
from eyechart.evaluators.tasks import get_task

SUBSETS = {"q_bench/perception": "llvisionqa", "q_bench/perception_pairs": "llvisionqa_pairs", "mmbench/en": "mmbench"}


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Path]:
    """A run on a private split of a release, whose model is a Python function."""

    def make(task: str, *, limit: int | None = None, options: TaskOptions | None = None, split: str = "test") -> Path:
        subset = SUBSETS[task]
        # A copy is in the layout of the real release, and not in the folder of mini releases.
        release = shutil.copytree(mini.release(subset), tmp_path / subset, dirs_exist_ok=True)
        loaded = load_data(get_task(task), subset=subset, split=split, data_dir=release)
        bound = evaluator(task, options=options)
        made = bound.run(bound.prepare_pipeline(_answer), loaded, limit=limit)
        write_run(tmp_path / "run", collect([made], [], "2026-11-21T10:00:00+00:00"), [made])
        return tmp_path / "run"

    return make


def _answer(messages: list[dict[str, Any]]) -> str:
    """Different replies, which name an option or not."""
    text = json.dumps(messages, default=lambda _: "image")
    return ("B", "The answer is A.", "I cannot tell: Ü", "")[len(text) % 4]


def submit(*arguments: Any, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["submit", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.parametrize("options", [None, TaskOptions(shuffle_seed=5)])
@pytest.mark.parametrize("task", ["q_bench/perception", "q_bench/perception_pairs"])
def test_the_files_are_those_that_the_run_made(run: Any, task: str, options: TaskOptions | None) -> None:
    folder = run(task, options=options)
    shown = submit(folder)
    (made,) = (folder / task / SUBSETS[task]).iterdir()
    written = folder / "submission" / task / SUBSETS[task] / made.name
    assert written.read_bytes() == made.read_bytes() and str(written) in shown
    replies = [one.reply for one in read_submission(made.name, made.read_bytes())]
    assert len(replies) == parquet.read_table(folder / "predictions.parquet").num_rows
    if options is None:
        assert replies == parquet.read_table(folder / "predictions.parquet")["text"].to_pylist()


def test_a_workbook_holds_every_pass(run: Any, tmp_path: Path) -> None:
    folder = run("mmbench/en")
    shown = submit(folder, "--out", tmp_path / "out", "--data-dir", f"mmbench={tmp_path / 'mmbench'}")
    assert "submission server closed on 31 March 2026" in shown and "version 1.1 (en_v11, cn_v11) are public" in shown
    (path,) = (tmp_path / "out").rglob("*.xlsx")
    found = read_submission(path.name, path.read_bytes())
    records = parquet.read_table(folder / "predictions.parquet").to_pylist()
    assert sorted(one.reply for one in found) == sorted(record["text"] for record in records)
    asked = {(one.question["question"], one.question["A"], one.reply) for one in found}
    assert asked == {(record["question"], record["options"][0], record["text"]) for record in records}
    assert found == read_submission("x.xlsx", next((folder / "mmbench").rglob("*.xlsx")).read_bytes())


def test_what_is_refused(run: Any, tmp_path: Path) -> None:
    folder = run("q_bench/perception", limit=3)
    assert "it is of the first 3 of 72 items alone; run it without --limit" in submit(folder, code=2)
    folder = run("q_bench/perception")
    shutil.move(tmp_path / "llvisionqa", tmp_path / "elsewhere")
    assert "name its folder with --data-dir" in submit(folder, code=1)
    submit(folder, "--data-dir", tmp_path / "elsewhere")
    assert "unknown task in this run" in submit(folder, "--task", "mmbench/en", code=2)
    path = folder / "predictions.parquet"
    table = parquet.read_table(path)
    parquet.write_table(table.slice(2), path)
    shown = submit(folder, "--data-dir", tmp_path / "elsewhere", code=2)
    assert "2 of 72 items lack an answer, " in shown and "which asks only what is missing" in shown
    renamed = ["x", *table["id"].to_pylist()[1:]]
    parquet.write_table(table.set_column(table.column_names.index("id"), "id", [renamed]), path)
    shown = submit(folder, "--data-dir", tmp_path / "elsewhere", code=2)
    assert "1 answers, 'x' first, are to no question of the release" in shown


def test_of_a_question_every_pass_is_needed(run: Any) -> None:
    folder = run("mmbench/en")
    path = folder / "predictions.parquet"
    table = parquet.read_table(path)
    parquet.write_table(table.slice(0, table.num_rows - 1), path)
    assert "1 of 20 items lack an answer" in submit(folder, code=2)


def test_public_answers_and_made_up_data_are_not_submitted(run: Any) -> None:
    folder = run("q_bench/perception", split="dev")
    assert "has no answers to private questions" in submit(folder, code=2)
    assert "the answers in this release are not private" in submit(folder, "--task", "q_bench/perception", code=2)
    results = folder / "results.json"
    results.write_text(results.read_text().replace('"is_mini": false', '"is_mini": true'))
    assert "of a mini release" in submit(folder, "--task", "q_bench/perception", code=2)


def test_a_file_is_read_again(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = run("q_bench/perception")
    monkeypatch.setattr("eyechart.evaluators.answer_files.bundle.read_submission", lambda *_: [])
    with pytest.raises(DataError, match="holds 0 answers where 72 were put in"):
        make_bundles(folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.json", b"[", "cannot be read as .json"),
        ("x.json", b"3", "expected a list or an object"),
        ("x.json", b'[{"response": 3}]', "row 1: expected an object with the text 'response'"),
        ("x.json", b'{"a": {"b": "c"}}', "row a: expected an object with one text '<part>_response'"),
        ("x.jsonl", b'{"response": "A"}\n{', "cannot be read as .jsonl"),
        ("x.xlsx", b"PK", "^x.xlsx: cannot be read as XLSX"),
        ("x", b"\xff", "a file without an ending"),
    ],
)
def test_other_files_are_refused(name: str, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_submission(name, content)
