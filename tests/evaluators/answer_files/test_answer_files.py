"""Answer files, read again as their receivers read them."""

import csv
import hashlib
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.datasets_scripts.common.choice.passes import passes_of
from eyechart.datasets_scripts.common.files.spreadsheets import CELL_LIMIT, read_xlsx_rows
from eyechart.evaluators import evaluator
from eyechart.evaluators.answer_files import (
    COLUMNS,
    aes_bench_answer_file,
    description_answer_file,
    mmbench_answer_file,
    pair_answer_file,
    perception_answer_file,
)
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.results.results_file import TaskResult, read_results
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import seal, write

JSON = [perception_answer_file, pair_answer_file, description_answer_file, partial(aes_bench_answer_file, "AesP")]


def read_rows(files):
    (content,) = files.values()
    text = content.decode("utf-8")
    return [json.loads(line) for line in text.splitlines()] if text.startswith('{"') else json.loads(text)


@pytest.mark.parametrize(
    ("dataset", "file", "write"),
    [
        ("llvisionqa", "llvisionqa_test.json", perception_answer_file),
        ("llvisionqa_pairs", "q-bench2-a1-test.jsonl", pair_answer_file),
        ("real", "llvisionqa_test.json", perception_answer_file),
    ],
)
def test_q_bench_has_the_rows_of_the_releases_test_file(dataset, file, write, reference):
    name = "llvisionqa" if dataset == "real" else dataset
    folder = reference / name if dataset == "real" else mini.release(dataset)
    rows = load_dataset(name, split="test", data_dir=folder, images="skip")
    replies = [f"reply {number}: Ü" for number in range(len(rows))]
    released = read_rows({file: (folder / file).read_bytes()})
    answered = [{**row, "response": reply} for row, reply in zip(released, replies, strict=True)]
    assert read_rows(write(list(rows), replies)) == answered


@pytest.mark.parametrize(
    ("write", "id", "img_path"),
    [
        (perception_answer_file, "test-10.jpg-2", "10.jpg"),
        (perception_answer_file, "test-dev-2.bmp-13", "dev-2.bmp"),
        (perception_answer_file, "mine", "mine"),
        (pair_answer_file, "test-1.png_cat_2.jpg-2", r"llvisionqa_compare_test\1.png_cat_2.jpg.jpg"),
    ],
)
def test_further_questions_about_an_image_or_pair_name_the_same_one(write, id, img_path):
    row = {"id": id, "question": "Is it?", "options": ["Yes", "No"]}
    fields = {"question": "Is it?", "img_path": img_path, "candidates": ["Yes", "No"], "response": "Yes"}
    # Rows of one's own data have no codes.
    assert read_rows(write([row | {"concern": "taste"}], ["Yes"])) == [fields]
    row |= {"question_type": "yes-or-no", "concern": "distortion"}
    assert read_rows(write([row], ["Yes"])) == [{"type": 0, "concern": 0, **fields}]


@pytest.mark.parametrize("reply", ["", "多云 {}", "\x00\x1b[2J \ud800", "two\u2028lines\x85and\nthree" * 10_000])
@pytest.mark.parametrize("write", JSON)
def test_every_reply_in_json_is_read_back_as_it_was(write, reply):
    row = {"id": "test-1.png", "question": "?", "options": ["Yes"], "question_type": "how", "concern": "distortion"}
    (content,) = write([row], [reply]).values()
    answers = json.loads(content.decode("utf-8"))
    answer = answers[0] if isinstance(answers, list) else answers.get("test-1.png", answers)
    assert reply in answer.values()
    assert content.startswith((b'[\n {\n  "', b'{\n    "test-1.png": {\n        "AesP_response"', b'{"type": '))
    # AesBench's scripts write Unicode, the others ASCII.
    assert ("多云".encode() in content) == ("多云" in reply and isinstance(write, partial))


ROW = {
    "id": "test-7",
    "question_id": "7",
    "question": "Which?",
    "hint": "Look.",
    "options": ["Red", "Green", "Blue"],
    "answer": "",
    "split": "test",
    "category": "OCR",
    "l2_category": "fine-grained perception (single-instance)",
}
PASSES = passes_of(ROW)


def rows_of(row, passes):
    return [row | {name: getattr(each, name) for name in ("index", "question", "hint", "options")} for each in passes]


def mmbench_rows(passes, replies, folder):
    ((name, content),) = mmbench_answer_file(passes, replies, "en").items()
    assert name == "mmbench_en_test.xlsx"
    (folder / name).write_bytes(content)
    return [row for _, row in read_xlsx_rows(str(folder / name), COLUMNS, formulas=True)]


def test_each_pass_of_mmbench_is_a_row_in_the_documented_columns(tmp_path):
    rows = mmbench_rows(rows_of(ROW, [PASSES[number] for number in (2, 0, 1)]), "CAB", tmp_path)
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == {
        "index": 1_000_007,
        "question": "Which?",
        "hint": "Look.",
        **{"A": "Blue", "B": "Red", "C": "Green", "D": None},
        "prediction": "B",
        "category": "ocr",
        "l2-category": "finegrained_perception (instance-level)",
        "split": "test",
    }
    assert [(row["index"], row["prediction"]) for row in rows] == [(7, "A"), (1_000_007, "B"), (2_000_007, "C")]


def test_a_releases_own_passes_keep_their_index_words_and_options(tmp_path):
    shown = {"rotation": 1, "question": "What?", "hint": "", "options": ["Red", "Red"], "answer": ""}
    row = {**ROW, "passes": [{**shown, "index": 7, "rotation": 0}, {**shown, "index": 5_000_123}]}
    (_, second) = mmbench_rows(rows_of(row, passes_of(row)), "BB", tmp_path)
    assert (second["index"], second["question"], second["hint"]) == (5_000_123, "What?", None)
    assert [second[name] for name in "ABCD"] == ["Red", "Red", None, None]


CELLS = {
    **dict.fromkeys(["=1+1", '=HYPERLINK("http://x")', "@SUM(A1)", "#N/A", "12", "答案是C。<b>&amp;", " A "]),
    "A\x00\x1b[31m": "A  [31m",
    "half \ud800 of one": "half   of one",
    "A\r\nB\rC": "A\nB\nC",
    "x" * 40_000 + " so C": "x" * (CELL_LIMIT - 5) + " so C",
}
"""Replies with their cells; None if they are the same."""


def test_replies_in_cells_are_read_back_as_text(tmp_path):
    passes = [ROW | {"index": number} for number in range(len(CELLS) + 1)]
    rows = mmbench_rows(passes, [*CELLS, ""], tmp_path)
    assert [row["prediction"] for row in rows] == [*(cell or reply for reply, cell in CELLS.items()), None]


# The mini release's file with answers, and that of the private split, which is made of it.
FILES = {
    "llvisionqa": ("llvisionqa_dev.json", "llvisionqa_test.json"),
    "llvisionqa_pairs": ("q-bench2-a1-dev.jsonl", "q-bench2-a1-test.jsonl"),
    "lldescribe": ("descriptions.json",) * 2,
    "aesbench": ("AesBench_evaluation.json",) * 2,
}
ANSWERS = ("correct_ans", "correct_choice", "Answer", "answer")
TASKS = ["q_bench/perception", "q_bench/perception_pairs", "q_bench/description", "aes_bench/perception"]
TASKS += ["aes_bench/interpretation", "mmbench/en"]
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


def evaluated(task: str, release: Path) -> TaskResult:
    bound = evaluator(task)
    loaded = load_data(bound.definition, DataRequest(split="test", data_dir=release))
    return bound.run(bound.prepare_pipeline(reply), loaded)


def call(*arguments: Any, code: int = 0) -> str:
    return " ".join(invoke(*arguments, code=code).output.split())


@pytest.mark.parametrize("task", TASKS)
def test_a_file_gives_the_scores_of_the_run(releases: Any, task: str, tmp_path: Path, no_report: None) -> None:
    held, private = releases(task)
    hidden = evaluated(task, private)
    assert hidden.scores is None
    call("submit", write(tmp_path / "run", [hidden]), "--out", tmp_path / "files")
    (file,) = (path for path in (tmp_path / "files").rglob("*") if path.is_file())
    options = ("--split", "test", "--data-dir", held, "--out", tmp_path / "out", "--no-store")
    call("score", task, "--predictions", file, *options)
    scored = read_results(tmp_path / "out").tasks[0]
    expected = read_results(write(tmp_path / "expected", [evaluated(task, held)])).tasks[0]
    assert without_intervals(scored.scores) == without_intervals(expected.scores)
    assert [item.id for item in scored.left_out] == [item.id for item in expected.left_out]
    headline = scored.headline_spec()
    assert headline is not None and scored.scores is not None
    # A file has no images, so nothing says which questions share one.
    kinds = ("wilson-unread", "none")
    assert scored.scores["intervals"][headline.key]["kind"] in kinds
    assert scored.settings["model"]["predictions_unused"] == 0


def test_limited_synthetic_and_public_runs_are_not_submitted(releases: Any, tmp_path: Path) -> None:
    public, hidden = (evaluated("q_bench/perception", release) for release in releases("q_bench/perception"))
    run = tmp_path / "run"

    def refused(result: TaskResult, **changes: Any) -> str:
        return call("submit", write(run, [result.model_copy(update=changes)]), code=2)

    def settings(**changes: Any) -> dict[str, Any]:
        return {"settings": hidden.settings | changes}

    assert "--limit 3 of 180 items" in refused(hidden, **settings(limit=3))
    synthetic = settings(data=hidden.settings["data"] | {"is_mini": True})
    assert "the run used synthetic demo data" in refused(hidden, **synthetic)
    assert "answers are public" in refused(public)
    assert f"180 answers in {run / 'answer_files' / 'q_bench'}" in call("submit", write(run, [hidden]))
    table = parquet.read_table(run / "predictions.parquet")
    failed = table.set_column(table.column_names.index("error"), "error", [["lost", *[None] * 179]])
    for changed, reason in (
        (table.slice(2), "contains 180 answers, but the run has 178 for 180 items"),
        (failed, "1 answers are missing"),
    ):
        parquet.write_table(changed, run / "predictions.parquet")
        assert reason in call("submit", seal(run), code=2)
    parquet.write_table(table, run / "predictions.parquet")
    next((run / "q_bench").rglob("*.json")).unlink()
    assert "missing answer file" in call("submit", seal(run), code=1)
