"""Benchmarks that are one file each, on tables with the columns of their releases on the Hub."""

import base64
from pathlib import Path

import huggingface_hub
import pytest

from eyechart.datasets_scripts.common.choice.passes import STRIDE
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import evaluator, list_tasks
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import MORE, TASKS, find_tasks, more_tasks, paper_of
from tests.evaluators.command_line import invoke
from tests.evaluators.tasks.doors import mmbench_rows, png, ran, rows_of, write_release

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "evaluators" / "tasks" / MORE).iterdir())


def abench_rows():
    first, second = "part1 -> basic_recognition -> major", "part1 -> bag_of_words -> attribute"
    options = [("Forest", "Riverside", "Desert", "N/A"), ("Red", "Green", "N/A", "N/A"), ("a", "b", "c", "d")]
    return [
        {
            "id": i,
            "image": {"bytes": png(i), "path": None},
            "question": f"Question {i}?",
            **{f"option{place}": text for place, text in enumerate(texts)},
            "category": [first, second, second][i],
            "correct_choice": "BAD"[i],
        }
        for i, texts in enumerate(options)
    ]


def test_each_file_is_short_names_its_sources_and_is_in_the_docs():
    page = (ROOT / "docs" / "tutorial" / "own_benchmark.md").read_text(encoding="utf-8")
    assert list(more_tasks()) == [f"{MORE}/{path.stem}" for path in FILES] and FILES
    for path, task in zip(FILES, more_tasks().values(), strict=True):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 15 and "https://" in text and ("lmms_eval/" in text or "vlmeval/" in text)
        assert not Path(task.data.path).is_absolute() and task.data.split and task.description
        assert all(paper_of(task.name)) and f"`{task.name}`" in page


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("k_mmbench", "주어진 선택지 중 해당 옵션의 문자로 바로 답하세요."),
        ("mmbench_ru", "Выбери правильный вариант ответа буквой."),
    ],
)
def test_the_passes_of_a_release_are_those_of_one_question(tmp_path, name, last):
    folder = write_release(tmp_path / "data" / "dev-00000-of-00001.parquet", mmbench_rows()).parents[1]
    task, prompts = evaluator(f"more/{name}"), []

    def reply(messages):
        prompts.append(messages[0]["content"][-1]["text"])
        options = [line[3:] for line in prompts[-1].splitlines() if line[1:3] == ". "]
        # Right in every pass of the first two questions, and in the first pass of the third one.
        return "ABCD"[next((place for place, text in enumerate(options) if text in ("빨강", "예")), 0)]

    result = task.run(FunctionBackend(reply), load_data(task.definition, DataRequest(data_dir=str(folder))))
    scores = result.scores
    assert (scores["n_questions"], scores["n_passes"]) == (3, 4 + 2 + 3)
    assert (scores["circular_accuracy"], scores["vanilla_accuracy"]) == (2 / 3, 1.0)
    assert scores["by_category"]["ocr"]["circular_accuracy"] == 0.5
    assert scores["by_l2_category"].keys() == {"coarse_perception", "finegrained_perception"}
    assert result.settings["passes"] == "release" and (result.dataset, result.split) == (f"more/{name}", "dev")
    asked = "There are several options:\n"
    assert f"사진을 보세요. 질문 7? {asked}A. 빨강\nB. 초록\nC. 파랑\nD. 회색\n\n{last}" in prompts
    assert f"질문 9? {asked}A. 아니요\nB. 예\n\n{last}" in prompts


def test_passes_that_a_release_lacks_are_not_asked(tmp_path):
    file = write_release(tmp_path / "mmbench_ru_dev.parquet", mmbench_rows({9, 12 + STRIDE}))
    ((result,), _) = ran(tmp_path / "run", "more/mmbench_ru", "--data-dir", file)
    asked = [(row["id"], row["pass"]) for row in rows_of(tmp_path / "run") if not row["id"].endswith("7")]
    # The lowest pass of the second question counts as its first one.
    assert asked == [("12", "main"), ("12", "rotation:1"), (f"{9 + STRIDE}", "main")]
    assert result.scores["n_questions"] == 3


def test_ids_of_other_columns_are_not_numbers_of_passes(tmp_path):
    rows = [row | {"id": row["index"]} for row in mmbench_rows()]
    file = write_release(tmp_path / "own.parquet", rows)
    text = FILES[1].read_text(encoding="utf-8").replace("id: index, ", "").replace("more/k_mmbench", "own_questions")
    (tmp_path / "own.yaml").write_text(text.replace("NCSOFT/K-MMBench", file.name), encoding="utf-8")
    ((result,), _) = ran(tmp_path / "run", tmp_path / "own.yaml")
    assert result.scores["n_questions"] == len(rows) and result.settings["passes"] == "rotations"


def test_a_run_shows_the_published_scores_and_the_benchmark_by_its_name(tmp_path):
    entries = tmp_path / "entries"
    korean = write_release(tmp_path / "korean" / "data" / "dev-00000-of-00001.parquet", mmbench_rows()).parents[1]
    generated = write_release(tmp_path / "dev.parquet", abench_rows())
    folders = ("--data-dir", f"more/k_mmbench={korean}", "--data-dir", f"more/a_bench={generated}")
    results, _ = ran(entries / "run", "more/k_mmbench", "more/a_bench", *folders)
    assert [result.task for result in results] == ["more/k_mmbench", "more/a_bench"]
    assert [len(row["options"]) for row in rows_of(entries / "run") if row["task"] == "more/a_bench"] == [3, 2, 4]
    assert results[1].scores["by_category"].keys() == {row["category"] for row in abench_rows()}
    page = (entries / "run" / "report.html").read_text(encoding="utf-8")
    for text in ("K-MMBench", "Ju et al.", "Gukbap-Qwen2-34B-VL", "A-Bench, README", "Qwen-VL-Max", "data:image"):
        assert text in page, text
    assert "more/k_mmbench (" not in page
    board = ("leaderboard", "build", entries, "--tasks", "more/k_mmbench", "--tasks", "more/a_bench", *folders)
    shown = invoke(*board, "--out", tmp_path / "board", code=0).output
    assert "2 accepted" in shown and "not checked" not in shown


def test_one_file_on_the_hub_is_downloaded_once(tmp_path, monkeypatch):
    image = base64.b64encode(png(1)).decode()
    rows = [
        ["index", "image", "question", *"ABCDE", "answer"],
        *([i, image, "Which?", *"WBYSI"[:n], *[""] * (5 - n), "B"] for i, n in enumerate((2, 5))),
    ]
    cached = tmp_path / "cache" / "datasets--lcysyzxdxc--R-Bench"
    (cached / "snapshots" / "1").mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("1")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    # For the process that writes the report.
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    missing = invoke("run", "more/r_bench", "--out", tmp_path / "missing", code=1)
    assert "hf://datasets/lcysyzxdxc/R-Bench/R-bench-dis.tsv" in missing.output and "--data-dir" in missing.output
    (cached / "snapshots" / "1" / "R-bench-dis.tsv").write_text(
        "".join("\t".join(map(str, row)) + "\n" for row in rows)
    )
    ((result,), _) = ran(tmp_path / "run", "more/r_bench")
    assert result.settings["data"]["source"] == "hf://datasets/lcysyzxdxc/R-Bench/R-bench-dis.tsv"
    assert [len(row["options"]) for row in rows_of(tmp_path / "run")] == [2, 5]
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "InternVL3.5-8B" in page and "data:image" in page


def test_they_run_by_name_only(tmp_path):
    assert [task.name for task in find_tasks("more/*")] == [task.name for task in find_tasks("More")] == [*more_tasks()]
    assert not {*more_tasks()} & {*list_tasks(), *(task.name for task in find_tasks("all"))}
    assert find_tasks("all") == [*TASKS]
    shown = " ".join(invoke("tasks", code=0).output.split())
    assert shown.index("task, only run by name") < shown.index("more/k_mmbench")
    assert "K-MMBench (Ju et al." in invoke("tasks", "more/k_mmbench", code=0).output
    with pytest.raises(UsageError, match="unknown task 'more/k_mmbnch'; did you mean 'more/k_mmbench'"):
        evaluator("more/k_mmbnch")
    (tmp_path / "own.yaml").write_text(FILES[0].read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(UsageError, match="'more/a_bench' is the name of an eyechart task"):
        find_tasks(str(tmp_path / "own.yaml"))
