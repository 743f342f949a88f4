"""What is refused before anything starts, and which settings go to which tasks."""

import shutil
from pathlib import Path

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.data import DataRequest
from eyechart.evaluators.evaluation.options import RunOptions
from eyechart.evaluators.results.results_file import collect, read_results
from eyechart.evaluators.runs.run import write_run
from eyechart.evaluators.runs.task_runs import make_task_runs
from eyechart.evaluators.tasks import TASKS
from tests.evaluators.finished_runs import evaluation

TWO = ["q_bench/perception", "mmbench/en"]
PAIRS = Path(__file__).parents[3] / "docs/examples/pairs.yaml"


def test_a_setting_goes_to_the_tasks_on_which_it_has_an_effect():
    names = ["q_bench/perception", "q_bench/assessment", "aes_bench/interpretation"]
    settings = {"inference": "closed-set", "max_new_tokens": 64}
    with pytest.raises(UsageError, match=r"inference: .*'logits' or 'top-token'"):
        make_task_runs(names, options=RunOptions(settings))
    perception, interpretation = make_task_runs([names[0], names[2]], options=RunOptions(settings))
    # Where the options' likelihoods decide, nothing is generated.
    assert perception.options.settings == {"inference": "closed-set"}
    assert interpretation.options.settings == {"max_new_tokens": 64}


Q_BENCH = [task.name for task in TASKS if task.name.startswith("q_bench/")]
MMBENCH = [task.name for task in TASKS if task.name.startswith("mmbench/")]


@pytest.mark.parametrize(
    ("names", "tasks"),
    [
        (["q_bench", "mmbench/en"], [*Q_BENCH, "mmbench/en"]),
        (["mmbench/*"], MMBENCH),
        (["*/EN", "mmbench"], ["mmbench/en", *MMBENCH[1:]]),
        (["two_afc, q_bench/assessment", "2AFC"], [task.name for task in TASKS[-4:]] + ["q_bench/assessment"]),
        (["all", "q_bench"], [task.name for task in TASKS]),
        (["Q-Bench"], Q_BENCH),
        (["qbench"], Q_BENCH),
        (["AesBench/empathy", "QL Bench/Pair"], ["aes_bench/empathy", "ql_bench/pair"]),
    ],
)
def test_tasks_are_named_by_paper_wildcard_and_list_each_once(names, tasks):
    assert list(dict.fromkeys(one.task.name for one in make_task_runs(names, DataRequest(is_mini=True)))) == tasks


@pytest.mark.parametrize(
    ("names", "chosen", "tasks"),
    [
        ([], {"request": DataRequest(split="dev")}, [task.name for task in TASKS if "dev" in task.data.splits]),
        (["mmbench"], {"request": DataRequest(split="test")}, [name for name in MMBENCH if name != "mmbench/cc"]),
        (["q_bench"], {"request": DataRequest(split="dev")}, ["q_bench/perception", "q_bench/perception_pairs"]),
        (["q_bench"], {"datasets": ["koniq10k"]}, ["q_bench/assessment"]),
    ],
)
def test_of_several_tasks_those_run_that_have_the_split_or_dataset(names, chosen, tasks):
    assert [task_run.task.name for task_run in make_task_runs(names, **chosen)] == tasks


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("qbenhc", "unknown task 'qbenhc'; did you mean 'q_bench'?"),
        ("q_bench/percepton", "did you mean 'q_bench/perception'?"),
        ("mbench,q_bench", "did you mean 'mmbench'?"),
        ("q_bench/x*", "unknown task 'q_bench/x.'.*available: q_bench, mmbench, .*`eyechart tasks`"),
        ("two_ifc/*", "unknown task 'two_ifc/.'.*available: q_bench, mmbench, .*two_afc; `eyechart tasks`"),
        ("llvisionqa", "'llvisionqa' is a dataset, not a task; to run the tasks on it, use --dataset llvisionqa"),
    ],
)
def test_a_name_that_means_no_task_is_refused(name, message):
    with pytest.raises(UsageError, match=message):
        make_task_runs([name])


def test_a_task_runs_once_on_the_same_data(tmp_path):
    shutil.copy(PAIRS, tmp_path)
    assert len(make_task_runs(["mmbench/en", "mmbench/en"])) == 1
    with pytest.raises(UsageError, match="my_pairs on my_pairs is listed several times"):
        make_task_runs([str(PAIRS), str(tmp_path / PAIRS.name)])


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ([], {"options": RunOptions({"temprature": 2.0})}, "did you mean 'temperature'"),
        ([], {"options": RunOptions({"temperature": -1.0})}, "temperature: .*greater than 0"),
        (["q_bench/assessment"], {"options": RunOptions({"max_new_tokens": 4})}, "max_new_tokens=4 has no effect"),
        ([str(PAIRS)], {"request": DataRequest(options={"version": 1})}, "your own data, which have no settings"),
        (TWO, {"request": DataRequest(options={"version": 1})}, "several: llvisionqa, mmbench"),
        (TWO, {"data_dirs": ["nowhere"]}, "--data-dir nowhere does not exist, and does not say which dataset"),
        (TWO, {"data_dirs": ["."]}, "--data-dir . does not say which dataset it is.*one of: llvisionqa, mmbench"),
        (TWO, {"datasets": ["mmbench"]}, "q_bench/perception"),
        ([str(PAIRS)], {"options": RunOptions(as_published=True)}, "as_published is only for tasks from papers"),
    ],
)
def test_plans_that_cannot_be_meant_are_refused(names, options, message):
    with pytest.raises(UsageError, match=message):
        make_task_runs(names, **options)


@pytest.mark.parametrize("name", ["llvisionqa", "mmbench/en", "../outside", "a b", "/root", "a//b"])
def test_names_that_cannot_name_results_are_refused(tmp_path, name):
    shutil.copy(PAIRS, tmp_path)
    path = tmp_path / PAIRS.name
    lines = path.read_text().splitlines()
    path.write_text("\n".join([f"name: {name}", *(line for line in lines if not line.startswith("name:"))]))
    with pytest.raises(UsageError, match=r"pairs\.yaml: .*(choose another|is not allowed)"):
        make_task_runs([str(path)])


def test_files_of_a_run_that_was_here_before_are_removed(tmp_path):
    def write(previous=None, **files):
        contents = {f"{name}.json": content for name, content in files.items()}
        found = evaluation(files=list(contents), contents=contents)
        write_run(tmp_path / "run", collect([found], [], "2026-01-01"), previous)
        return read_results(tmp_path / "run")

    own = tmp_path / "run" / "q_bench" / "assessment" / "kadis700k"
    earlier = write(answers=b"old", more=b"old")
    (own / "notes.txt").write_text("mine")
    write(earlier, answers=b"new")
    assert {path.name: path.read_bytes() for path in own.iterdir()} == {"answers.json": b"new", "notes.txt": b"mine"}
    (tmp_path / "other.json").write_text("mine")
    file = tmp_path / "run" / "results.json"
    file.write_text(file.read_text().replace('"answers.json"', '"../../../../other.json"'))
    write(read_results(tmp_path / "run"))
    assert (tmp_path / "other.json").exists()
