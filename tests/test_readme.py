"""What README shows is what happens."""

import re
from pathlib import Path

import datasets
import pytest
from PIL import Image
from pytest_httpserver import HTTPServer
from typer.testing import CliRunner

from eyechart.datasets_scripts import DATASETS, load_builder
from eyechart.evaluators import list_tasks
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.evaluation.evaluator import Evaluator
from eyechart.evaluators.protocols.protocol import setting_fields
from eyechart.evaluators.runs.suite_file import read_suite
from eyechart.evaluators.tasks import TASKS, find_tasks
from tests.evaluators.scripted_server import Script, always
from tests.evaluators.tasks.test_q_bench_assessment import PUBLISHED

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:.*inflated by the fit",
    "ignore:.*maximum likelihood",
    "ignore:.*left out of the mean",
    "ignore:.*holds synthetic items:eyechart.datasets_scripts.common.errors.MiniDataWarning",
)
def test_the_python_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) >= 9
    names = {}
    with HTTPServer() as server:
        Script(server).say(always("A"))
        for block in blocks:
            exec(block.replace("http://127.0.0.1:8000/v1", server.url_for("/v1")), names)
    assert [result["task_name"] for result in names["results"]] == [
        "mini:llsavisionqa/single",
        "mini:llsavisionqa/pair",
    ]
    assert all(result["is_mini"] for result in names["results"])


def test_the_suite_file_can_be_run(tmp_path):
    text, _ = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    (tmp_path / "data" / "LLVisionQA").mkdir(parents=True)
    path = tmp_path / "nightly.yaml"
    path.write_text(text, encoding="utf-8")
    suite, plan = read_suite(path)
    assert suite.name == "nightly"
    assert [planned.task.name for planned in plan] == ["q_bench/perception", "mmbench/en"]


def test_the_task_file_runs_on_a_table_like_the_one_on_the_hub(tmp_path):
    _, text = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    assert len(text.splitlines()) <= 15 and "path: lmms-lab/SEED-Bench, split: test" in text
    # The columns of SEED-Bench's Parquet files, without those of its videos.
    words = ("red", "green", "blue", "black")
    row = {"answer": "A", **{f"choice_{letter}": word for letter, word in zip("abcd", words, strict=True)}}
    row |= {"data_type": "image", "question": "Which colour is it?", "question_id": "101669"}
    row["image"] = [Image.new("RGB", (32, 32), "red")]
    features = datasets.Features({**dict.fromkeys(row, datasets.Value("string")), "image": [datasets.Image()]})
    datasets.Dataset.from_list([row], features=features).to_parquet(tmp_path / "seed.parquet")
    path = tmp_path / "seed_bench.yaml"
    path.write_text(text.replace("path: lmms-lab/SEED-Bench", "path: seed.parquet"), encoding="utf-8")
    (task,) = find_tasks(str(path))
    found = Evaluator(task).run(FunctionBackend(lambda messages: "A. red"), load_data(task))
    assert found.scores["accuracy"] == 1.0 and set(found.scores["by_data_type"]) == {"image"}


def test_every_task_is_listed():
    listed: list[str] = []
    table = README[README.index("| task | what is asked |") :].partition("\n\n")[0]
    for row in re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", row)
        paper = first.partition("/")[0]
        listed += [first, *(paper + other for other in others)]
    assert listed == list_tasks()


def test_every_command_and_option_exists():
    for line in re.findall(r"^    (eyechart .*)$", README, flags=re.MULTILINE):
        words = line.split()[1:]
        command = words[:2] if words[0] in ("store", "text-to-score", "leaderboard") else words[:1]
        shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"}).output
        # In quotes are the options of others.
        for option in re.findall(r"--[a-z-]+", re.sub(r'"[^"]*"', "", line)):
            assert option in shown, line


def test_every_setting_exists():
    known = {name for task in TASKS for name in setting_fields(type(task.protocol))}
    table = README[README.index("| task | settings |") :].partition("\n\n")[0]
    named = re.findall(r"`([a-z_]+)=", table) + re.findall(r"--set ([a-z_]+)=", README)
    assert len(named) > 12 and set(named) <= known


def test_every_data_set_is_listed_with_its_configurations_and_splits():
    rows = [line for line in README.splitlines() if "hub_cards/datasets/" in line]
    listed = {}
    for row in rows:
        names, configs, splits, *_ = row.strip("| ").split(" | ")
        for name in re.findall(r"`(\w+)`", names):
            listed[name] = (re.findall(r"`(\w+)`", configs), re.findall(r"`(\w+)\*?`", splits))
    assert set(listed) == set(DATASETS)
    for name, (configs, splits) in listed.items():
        assert tuple(configs) == DATASETS[name].configs
        known = load_builder(name).SPLITS
        assert all(any(split.startswith(start) for start in splits) for split in known)
        assert all(any(split.startswith(start) for split in known) for start in splits)


def test_every_link_leads_to_a_file():
    root = Path(__file__).resolve().parents[1]
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("https://")]
    assert links
    for link in links:
        assert (root / link).exists(), link


def test_published_numbers_are_those_that_are_recomputed():
    names = {"idefics": "IDEFICS-Instruct", "llava_v1.5": "LLaVA-v1.5", "qwen-vl": "Qwen-VL"}
    names["instructblip_t5"] = "InstructBLIP-T5 (high/low)"
    databases = {"agi": "AGIQA-3K", "livec": "LIVE-itw", "cgi": "CGIQA-6K"}
    rows = dict(re.findall(r"^\| (.+? on .+?) \| .+? \| (\d\.\d+/\d\.\d+)", README, flags=re.MULTILINE))
    assert rows == {f"{names[model]} on {databases[name]}": scores for model, name, scores in PUBLISHED}
