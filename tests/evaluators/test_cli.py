"""The command line from end to end: the run without arguments, bad images and rows, failures, `--help`."""

import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from eyechart.datasets_scripts import mini
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.runs.table import interval_lines, score_table
from eyechart.evaluators.tasks import TASKS
from tests.evaluators.command_line import invoke
from tests.evaluators.table_rows import table_rows


def test_version():
    shown = invoke("--version")
    assert (shown.exit_code, shown.output.split()) == (0, ["eyechart", metadata.version("eyechart")])
    assert "An eye chart for multimodal LLMs." in invoke("--help").output


@pytest.fixture(scope="module")
def main_job(tmp_path_factory):
    """What `eyechart run` without arguments leaves behind."""
    folder = tmp_path_factory.mktemp("main")
    command = [sys.executable, "-m", "eyechart.evaluators.cli", "run"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (run,) = (folder / "eyechart_runs").iterdir()
    return done, run


def test_the_main_job_prints_one_table_with_interval_guess_and_n(main_job):
    done, run = main_job
    lines = done.stdout.splitlines()
    assert lines[2].split() == ["task", "score", "value", "95", "%", "CI", "chance", "best", "n"]
    for task in TASKS:
        assert sum(re.match(rf"{task.name}[¹²³⁴⁵]* ", line) is not None for line in lines) == 1, task.name
    for name, score, n in (("q_bench/perception ", "accuracy", "180"), ("q_bench/assessment ", "SRCC", "1,107")):
        words = next(line.split() for line in lines if line.startswith(name))
        assert (words[1], words[-1]) == (score, n)
    assert "Synthetic demo data: not comparable with papers" in done.stdout
    assert run.name in done.stdout and run.name.startswith("20")
    # Nothing animated where there is no terminal.
    assert "\r" not in done.stdout + done.stderr and "\x1b" not in done.stdout + done.stderr


def test_the_main_job_writes_results_that_show_what_the_tiny_model_can(main_job):
    results = read_results(main_job[1]).tasks
    assert list(dict.fromkeys(result.task for result in results)) == [task.name for task in TASKS]
    for result in results:
        assert result.scores
        assert all(item.reason == "its answer is private" for item in result.left_out)
        assert result.settings["data"]["is_mini"]
        # An average over databases has no answers of its own.
        if result.dataset != "average":
            assert result.model == "eyechart/tiny-vlm"
            assert result.timings["model_seconds"] > 0
            assert result.settings["model"]["decoding"] == "greedy"
    assert (results[0].task, results[0].scores["n"]) == ("q_bench/perception", 180)
    assert results[0].scores["accuracy"] > results[0].scores["random_guess"] + 0.2
    assessments = [result for result in results if result.task == "q_bench/assessment"]
    assert all(result.scores["srcc"] > 0.5 for result in assessments)
    assert {result.scores["temperature"] for result in assessments if result.dataset != "average"} == {100}


def test_each_number_of_the_main_job_has_an_interval_of_a_stated_kind_or_a_reason_for_none(main_job):
    tasks = read_results(main_job[1]).tasks
    lines = interval_lines(tasks)
    reasons = [line for line in lines if line.startswith("No interval")]
    kinds = [line for line in lines if line not in reasons]
    has_rest = any(line.startswith("All other") for line in kinds)
    numbers = [row for row in table_rows(score_table(tasks)) if re.match(r"-?[\d.]+", row["value"])]
    assert len(numbers) > len(TASKS)
    for row in numbers:
        label, has_interval = row["score"].rpartition(": ")[2], bool(row["95 % interval"])
        about = [line for line in (kinds if has_interval else reasons) if row["task"] in line]
        is_stated = any("average of" in row["score"] or label in line for line in about)
        assert is_stated or (has_interval and has_rest), (row, lines)


@pytest.fixture
def photographs_folder(tmp_path):
    """Eight images of the mini release of KADIS-700k, to be damaged; a path may hold an equals sign."""
    source, folder = mini.release("kadis700k"), tmp_path / "a=b"
    folder.mkdir()
    lines = (source / "mos.csv").read_text().splitlines()[:9]
    (folder / "mos.csv").write_text("\n".join(lines) + "\n")
    names = [line.split(",")[0] for line in lines[1:]]
    for name in names:
        shutil.copy(next(source.rglob(name)), folder / name)
    return folder, names


def assess(folder, out, *options, code):
    data = ("--dataset", "kadis700k", "--data-dir", folder)
    return invoke("run", "q_bench/assessment", *data, "--out", out, *options, code=code)


@pytest.mark.parametrize(
    ("damage", "reason", "option"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-300]), "truncated", ("--skip-bad",)),
        (Path.unlink, "no image file found for 1 item", ("--data-arg", "skip_missing=true")),
    ],
)
def test_a_bad_image_is_named_or_left_out_and_listed(photographs_folder, tmp_path, damage, reason, option):
    folder, names = photographs_folder
    damage(folder / names[2])
    shown = assess(folder, tmp_path / "out", code=1).output.replace("\n", "")
    assert all(words in shown for words in (reason, " ".join(option), names[2]))
    done = assess(folder, tmp_path / "out", *option, code=0)
    (task,) = read_results(tmp_path / "out").tasks
    assert (task.scores["n"], len(task.left_out)) == (7, 1) and "1 item left out" in done.output
    assert task.left_out[0].id == names[2]


def test_a_hundred_real_images_are_scored(reference, tmp_path):
    folder = reference / "kadis700k"
    shown = assess(folder, tmp_path, code=0).output
    assert "SRCC" in shown and "mini" not in shown
    (task,) = read_results(tmp_path).tasks
    assert task.scores["n"] == 100
    # 512 x 384 images are reduced to the model's 64 pixels: the result has to say so.
    assert task.settings["model"]["downscaled_share"] == 1.0
    data = {"source": str(folder), "config": None, "options": {}, "rows": 100, "is_mini": False}
    assert task.settings["data"] == data


def test_an_unforeseen_failure_is_reported_and_does_not_stop_the_others(tmp_path, monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError("surprise")

    monkeypatch.setattr("eyechart.evaluators.protocols.quality_assessment.QualityAssessment.score", fail)
    done = invoke("run", "q_bench/assessment", "q_bench/perception", "--limit", "12", "--out", tmp_path, code=1)
    assert "Traceback" in done.output and "ZeroDivisionError: surprise" in done.output
    results = read_results(tmp_path)
    assert [task.task for task in results.tasks] == ["q_bench/perception"]
    assert results.failed[0].error == "ZeroDivisionError: surprise"


def test_a_run_of_failed_tasks_alone_has_results_and_no_report(photographs_folder, tmp_path):
    folder, names = photographs_folder
    (folder / names[0]).write_bytes(b"")
    done = assess(folder, tmp_path / "out", code=1)
    assert done.stdout == f"No task finished. The errors are also in {tmp_path / 'out' / 'results.json'}\n"
    assert not (tmp_path / "out" / "report.html").exists() and done.output.count("the image is empty") == 1
    assert len(read_results(tmp_path / "out").failed) == 1


def test_a_run_says_if_it_replaces_the_results_of_another_run(tmp_path):
    run = ("run", "q_bench/perception", "--out", tmp_path, "--limit")
    replaced = f"Replaced the earlier results in {tmp_path}"
    assert [replaced in invoke(*run, limit).stderr for limit in (4, 4, 5)] == [False, False, True]


def test_warnings_are_in_the_results_and_printed_if_asked_for(tmp_path):
    done = invoke("run", "two_afc/fine_mos", "--out", tmp_path, code=0)
    assert "with n=6 images" not in done.output
    assert any("with n=6 images" in text for text in read_results(tmp_path).tasks[0].warnings)
    verbose = invoke("run", "two_afc/fine_mos", "--verbose", "--out", tmp_path).stdout
    assert "two_afc/fine_mos: warning: 4 of 4 pools: with n=6 images" in verbose


HEAVY = {"torch", "transformers", "datasets", "evaluate", "numpy", "scipy", "pandas", "pyarrow", "openai"}


@pytest.mark.parametrize("words", [[], ["run"]], ids=" ".join)
def test_help_loads_no_heavy_library(words):
    command = [sys.executable, "-X", "importtime", "-m", "eyechart.evaluators", *words, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "--help" in done.stdout and not {name.partition(".")[0] for name in loaded} & HEAVY
    # The list of commands imports none of them.
    assert words or (len(done.stdout.splitlines()) > 20 and "eyechart.evaluators.commands.run" not in loaded)
