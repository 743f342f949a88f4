"""The command line: a run without arguments, failures, help; runs that are repeated, interrupted, of several models."""

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.local import loading
from eyechart.evaluators.cli import app
from eyechart.evaluators.commands.arguments import parse_pairs
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.runs.table import interval_lines, score_table
from eyechart.evaluators.tasks import TASKS
from tests.evaluators.command_line import invoke, table_rows
from tests.evaluators.finished_runs import evaluated, write
from tests.evaluators.scripted_server import PATH, completion, json_response, refusal


def test_version():
    shown = invoke("--version")
    assert (shown.exit_code, shown.output.split()) == (0, ["eyechart", metadata.version("eyechart")])
    assert "An eye chart for multimodal LLMs." in invoke("--help").output


def test_a_run_without_a_folder_makes_one_and_nothing_is_animated_without_a_terminal(tmp_path, monkeypatch, no_report):
    monkeypatch.chdir(tmp_path)
    done = invoke("run", "q_bench/perception", "--limit", 4, code=0)
    (run,) = (tmp_path / "eyechart_runs").iterdir()
    assert run.name in done.stdout and run.name.startswith("20")
    assert "Synthetic demo data: not comparable with papers" in done.stdout
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
    assert results[0].scores["accuracy"] > results[0].scores["random_guess"] + 0.2
    assessments = [result for result in results if result.task == "q_bench/assessment"]
    assert all(result.scores["srcc"] > 0.5 for result in assessments)
    *parts, average = (result.scores["srcc"] for result in assessments)
    assert average == pytest.approx(sum(parts) / len(parts)) and assessments[-1].dataset == "average"
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
def test_a_bad_image_is_named_or_left_out_and_listed(photographs_folder, tmp_path, no_report, damage, reason, option):
    folder, names = photographs_folder
    damage(folder / names[2])
    shown = assess(folder, tmp_path / "out", code=1).output.replace("\n", "")
    assert all(words in shown for words in (reason, " ".join(option), names[2]))
    done = assess(folder, tmp_path / "out", *option, code=0)
    (task,) = read_results(tmp_path / "out").tasks
    assert (task.scores["n"], len(task.left_out)) == (7, 1) and "1 item left out" in done.output
    assert task.left_out[0].id == names[2]


def test_a_hundred_real_images_are_scored(reference, tmp_path, no_report):
    folder = reference / "kadis700k"
    shown = assess(folder, tmp_path, code=0).output
    assert "SRCC" in shown and "mini" not in shown
    (task,) = read_results(tmp_path).tasks
    assert task.scores["n"] == 100
    # 512 x 384 images are reduced to the model's 64 pixels: the result has to say so.
    assert task.settings["model"]["downscaled_share"] == 1.0
    data = {"source": str(folder), "config": None, "options": {}, "rows": 100, "is_mini": False}
    assert task.settings["data"] == data


def test_an_unforeseen_failure_is_reported_and_does_not_stop_the_others(tmp_path, monkeypatch, no_report):
    def fail(*arguments):
        raise ZeroDivisionError("surprise")

    monkeypatch.setattr("eyechart.evaluators.protocols.quality_assessment.QualityAssessment.score", fail)
    done = invoke("run", "q_bench/assessment", "q_bench/perception", "--limit", 2, "--out", tmp_path, code=1)
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


def test_a_run_says_if_it_replaces_the_results_of_another_run(tmp_path, no_report):
    run = ("run", "q_bench/perception", "--out", tmp_path, "--limit")
    replaced = f"Replaced the earlier results in {tmp_path}"
    assert [replaced in invoke(*run, limit).stderr for limit in (4, 4, 5)] == [False, False, True]


def test_warnings_are_in_the_results_and_printed_if_asked_for(main_job, tmp_path, no_report):
    (warnings,) = (result.warnings for result in read_results(main_job[1]).tasks if result.task == "two_afc/fine_mos")
    assert any("pools: with n=" in text for text in warnings)
    assert "pools: with n=" not in main_job[0]
    verbose = invoke("run", "two_afc/fine_mos", "--limit", 40, "--verbose", "--out", tmp_path).stdout
    assert "two_afc/fine_mos: warning: " in verbose and "pools: with n=6 images" in verbose


HEAVY = {"torch", "transformers", "datasets", "evaluate", "numpy", "scipy", "pandas", "pyarrow", "openai"}


@pytest.mark.parametrize("words", [[], ["run"]], ids=" ".join)
def test_help_loads_no_heavy_library(words):
    command = [sys.executable, "-X", "importtime", "-m", "eyechart.evaluators", *words, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "--help" in done.stdout and not {name.partition(".")[0] for name in loaded} & HEAVY
    # The list of commands imports none of them.
    assert words or (len(done.stdout.splitlines()) > 20 and "eyechart.evaluators.commands.run" not in loaded)


def test_a_run_whose_answers_are_stored_loads_no_model(tmp_path, no_report):
    job = ["run", "aes_bench/assessment", "--limit", "2", "--out"]
    invoke(*job, tmp_path / "first", code=0)
    command = [sys.executable, "-X", "importtime", "-m", "eyechart.evaluators", *job, str(tmp_path / "second")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "datasets" in loaded and not loaded & {"torch", "transformers"}
    (first,), (second,) = (read_results(tmp_path / name).tasks for name in ("first", "second"))
    assert (first.scores, first.settings) == (second.scores, second.settings)
    assert second.timings["answers_from_store"] == 2
    # A damaged record is written again; by its folder, the model has another name, though its answers are the same.
    for record in Path(os.environ["EYECHART_HOME"], "models").iterdir():
        record.write_text("[]")
    invoke(*job, tmp_path / "second", code=0)
    invoke(*job, tmp_path / "third", "--mini", "--model", tiny_vlm.folder(), code=0)
    (second,), (third,) = (read_results(tmp_path / name).tasks for name in ("second", "third"))
    assert (second.settings, second.model) == (first.settings, tiny_vlm.NAME)
    assert (third.scores, third.model) == (first.scores, str(tiny_vlm.folder()))


def test_a_run_has_at_most_36_options():
    params = typer.main.get_command(app).get_command(None, "run").params
    assert sum(param.param_type_name == "option" for param in params) <= 36


def test_help_lists_every_rare_option_with_its_meaning():
    shown = invoke("run", "--help-args")
    lines = [line.strip() for line in shown.output.splitlines() if line.startswith("  ")]
    assert shown.exit_code == 0 and len(lines) > 20 and all(line.partition(": ")[2] for line in lines)
    assert any(line.startswith("device_map: Device map") for line in lines)


GIVEN = ("q_bench/perception", "--mini", "--seed", 3, "--batch-size", 3)
GIVEN += ("--set", "shuffle_seed=7", "--set", "prompt=answer-mark")


def test_a_run_can_be_repeated_with_other_options_in_place_of_its_own(tmp_path, no_report):
    sampled = ("--temperature", 0.7, "--model-arg", "sampling_seed=5", "--model-arg", "top_p=0.9")
    invoke("run", *GIVEN, *sampled, "--limit", 6, "--no-store", "--out", tmp_path / "first", code=0)
    invoke("run", "--like", tmp_path / "first", "--no-store", "--out", tmp_path / "again", code=0)
    first, again = (read_results(tmp_path / name) for name in ("first", "again"))
    assert again.request == first.request
    (one,), (other,) = first.tasks, again.tasks
    assert (other.scores, other.settings, one.settings["model"]["batch_size"]) == (one.scores, one.settings, 3)
    changed = ("q_bench/perception_pairs", "--set", "shuffle_seed=8", "--sample", 4, "--model", "eyechart/tiny-vlm")
    invoke("run", *changed, "--like", tmp_path / "first", "--out", tmp_path / "other", code=0)
    (task,) = read_results(tmp_path / "other").tasks
    assert (task.task, task.model, task.settings["limit"]) == ("q_bench/perception_pairs", "eyechart/tiny-vlm", None)
    assert (task.settings["shuffle_seed"], task.settings["sample"]["n"]) == (8, 4)
    assert (task.settings["prompt_id"].endswith("answer-mark"), task.settings["seed"]) == (True, 3)
    assert task.settings["data"]["is_mini"]


def test_results_that_no_run_wrote_cannot_be_repeated(tmp_path):
    invoke("run", "--like", tmp_path, code=1)
    done = invoke("run", "--like", write(tmp_path, [evaluated()]), code=2)
    assert f"--like {tmp_path}" in done.output


def test_values_are_json_or_text_each_with_one_name():
    parsed = {"rounds=3": 3, "blind=true": True, "shuffle_seed=null": None}
    # What cannot be written as JSON again, or is too deep to be read, is text.
    texts = {"words": "a=b", "empty": "", "nan": "NaN", "half": r'"\ud800"', "deep": "[" * 10**5}
    found = parse_pairs("--set", [*parsed, *(f"{name}={text}" for name, text in texts.items())])
    assert found == {given.partition("=")[0]: value for given, value in parsed.items()} | texts

    problems = {("rounds",): "is not NAME=VALUE", ("rounds=1", "rounds=2"): "gives rounds twice"}
    for given, problem in problems.items():
        with pytest.raises(UsageError, match=f"--set '{given[-1]}' {problem}"):
            parse_pairs("--set", given)


def test_the_list_of_tasks_names_each_with_its_data_and_metric():
    shown = " ".join(re.sub(r"[│└─┴┘]", " ", invoke("tasks", columns=100, code=0).output).split())
    assert "…" not in shown
    for task in TASKS:
        assert all(words in shown for words in (task.name, task.description, task.metric, *task.data.datasets))


EYECHART = [sys.executable, "-m", "eyechart.evaluators"]


def commands(group, names=()):
    yield list(names)
    for name in getattr(group, "commands", {}):
        yield from commands(group.get_command(None, name), (*names, name))


@pytest.mark.parametrize("names", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_help_shows_no_python_types(names):
    shown = invoke(*names, "--help", columns=200).output
    assert "--help" in shown and not re.search(r"<(?!time>|out>)[\w|\[\] ]+>", shown), shown


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("run ql_b", ["ql_bench", "ql_bench/single", "ql_bench/pair"]),
        ("run --prompt-style ", ["eyechart", "vlmevalkit", "lmms-eval"]),
        ("export live_", ["live_itw", "live_fb"]),
    ],
)
def test_a_shell_completes_names(words, offered):
    typed = f"eyechart {words}"
    asked = {"_EYECHART_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    shown = CliRunner().invoke(app, [], prog_name="eyechart", env=asked).output
    assert sorted(shown.split()) == sorted(offered)


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(tmp_path):
    tasks = ["q_bench/perception", "mmbench/en", "--limit", "40"]
    command = [*EYECHART, "run", *tasks, "--out", str(tmp_path / "out")]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mini").symlink_to(os.environ["EYECHART_TESTS_MINI"])
    env = {**os.environ, "EYECHART_HOME": str(tmp_path / "home")}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
    # The results of the first task are written before the second is loaded.
    while child.poll() is None and not (tmp_path / "out" / "results.json").exists():
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=120)
    # A CPython that was interrupted inside `exec` of a string ends `python -m` by the signal: the same 130 to a shell.
    assert child.returncode in {130, -signal.SIGINT}, said
    assert "All answers so far are stored. Run the same command again to resume" in said
    assert f"Finished tasks are in {tmp_path / 'out'}." in said
    assert (tmp_path / "out" / "results.json").exists()


def models(*names):
    return [word for name in names for word in ("--model", name)]


def test_models_run_one_after_the_other_each_in_its_folder_and_are_compared(tmp_path, monkeypatch, no_report):
    loaded, load = [], loading.load_pipeline

    def counting(*arguments):
        from transformers import PreTrainedModel

        loaded.append(sum(PreTrainedModel in type(one).__mro__ for one in gc.get_objects()))
        return load(*arguments)

    gc.collect()
    monkeypatch.setattr(loading, "load_pipeline", counting)
    monkeypatch.chdir(tmp_path)
    # Of one name, in different places.
    folders = [shutil.copytree(tiny_vlm.folder(), tmp_path / "models" / name / "last") for name in "ab"]
    done = invoke("run", "q_bench/perception", *models(*folders), "--mini", "--limit", 4, code=0)
    assert loaded[0] == loaded[1], "the first model is released before the second is loaded"
    runs = [*map(str, sorted(Path("eyechart_runs").glob("*/*")))]
    assert [run.rpartition("/")[2] for run in runs] == ["1_last", "2_last"]
    assert [task.model for run in runs for task in read_results(run).tasks] == [*map(str, folders)]
    outcome = done.stdout.splitlines()[-3:]
    assert outcome[0].startswith("A: ") and outcome[1].startswith("q_bench/perception: no significant difference (")
    assert outcome[2] == f"All tests: eyechart compare {' '.join(runs)}"


def test_the_second_runs_if_a_task_of_the_first_fails(http, tmp_path, no_report):
    def reply(request):
        is_first = request.json["model"] == "a"
        return refusal(400, "out of memory") if is_first else json_response(completion("A"))

    http.expect_request(PATH, method="POST").respond_with_handler(reply)
    http.expect_request("/v1/models").respond_with_json({"data": [{"id": name} for name in "ab"]})
    server = ("--mini", "--limit", 4, "--base-url", http.url_for("/v1"), "--no-store", "--out", tmp_path / "out")
    done = invoke("run", "q_bench/perception", *models("a", "b"), *server, code=1)
    assert [len(read_results(tmp_path / "out" / name).tasks) for name in "ab"] == [0, 1]
    assert "Model 1 of 2: a" in done.stderr and "Model 2 of 2: b" in done.stderr
    assert "The models cannot be compared: fewer than two models have results" in done.stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--model-arg", "top_p=0.9"], "--model-arg top_p has no effect at temperature 0; add a --temperature above 0"),
        (models("a", "./a/"), "--model a is given 2 times"),
        ((*models("a", "b"), "--name", "mine"), "--name mine is for one model, but 2 are given"),
        (["--repeats", 3], "--repeats 3 needs a --temperature above 0, such as 0.7"),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(given, said, tmp_path):
    done = invoke("run", "q_bench/perception", "--mini", *given, "--out", tmp_path / "out", code=2)
    assert said in done.output and not (tmp_path / "out").exists()


def test_the_bundled_model_samples_its_replies(tmp_path):
    asked = ("--mini", "--limit", 12, "--temperature", 2, "--model-arg", "sampling_seed=1", "--model-arg", "top_p=0.9")
    done = invoke("run", "q_bench/perception", *asked, "--repeats", 3, "--no-store", "--out", tmp_path, code=0)
    (run,) = read_runs([tmp_path])
    (result,) = run.tasks.values()
    assert result.settings["model"]["sampling"] == {"temperature": 2.0, "top_p": 0.9, "seed": 1}
    assert (result.settings["repeats"], result.diagnostics["repeats"]["count"]) == (3, 3)
    assert "mean ± SD of 3 repeats" in " ".join(done.output.split())
    texts = [[row["text"] for row in run.predictions.to_pylist() if row["repeat"] == number] for number in (1, 2, 3)]
    assert len(set(map(tuple, texts))) == 3, "each repeat has replies of its own"
    assert "mean ± SD of 3 repeats" in (tmp_path / "report.html").read_text(encoding="utf-8")
