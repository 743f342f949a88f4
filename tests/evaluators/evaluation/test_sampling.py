"""Samples of the items: how they are drawn, and what is said of them."""

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from datasets import Dataset

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.data import DataRequest
from eyechart.evaluators.evaluation.loop import draw_sample
from eyechart.evaluators.evaluation.options import Goal
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.hub_cards.leaderboard.boards import find_board
from eyechart.hub_cards.leaderboard.build import misfits
from tests.evaluators.command_line import invoke
from tests.evaluators.running import scores_again


def test_a_sample_of_data() -> None:
    data = Dataset.from_dict({"id": [str(row) for row in range(50)], "kind": ["x"] * 40 + ["y"] * 10})
    drawn, about = draw_sample(data, ("kind", "not there"), 10, 0)
    assert about == {"n": 10, "of": 50, "seed": 0, "strata": ["kind"]} and drawn["kind"][:].count("x") == 8
    ids = [draw_sample(data, ("kind",), 10, seed)[0]["id"][:] for seed in (0, 0, 1)]
    assert drawn["id"][:] == ids[0] == ids[1] != ids[2]
    for n in (None, 50, 70):
        assert draw_sample(data, (), n, 0) == (data, {})
    with pytest.raises(UsageError, match="sample=0 is not allowed; expected at least 1"):
        DataRequest(sample=0)
    with pytest.raises(UsageError, match="limit=3 and sample=4 are both given"):
        DataRequest(limit=3, sample=4)
    assert draw_sample(data, ("not there",), DataRequest(sample=1).sample, 0)[1]["strata"] == []


def test_goals_have_ranges() -> None:
    assert Goal(2, 2, 0.06, 2).difference == -Goal(-2, power=0.99).difference
    bad = {"difference": (0, 2.1, -2.1), "power": (0.05, 1), "n": (1, 0), "models": (1, 0)}
    for name, value in ((name, value) for name, values in bad.items() for value in values):
        with pytest.raises(UsageError, match=f"--{name} {value} is not allowed"):
            Goal(**{name: value})


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on samples of the mini releases."""
    out = tmp_path_factory.mktemp("run")
    tasks = ["q_bench/perception", "mmbench/en", "ql_bench/single"]
    command = ["run", *tasks, "--mini", "--sample", "20", "--out", str(out)]
    done = invoke(*command, columns=220, code=0)
    (out / "printed.txt").write_text(done.output)
    return out


def test_a_run_says_so_in_results_table_and_report(sampled: Path) -> None:
    results = json.loads((sampled / "results.json").read_text())
    printed = (sampled / "printed.txt").read_text()
    for task in results["tasks"]:
        about = task["settings"]["sample"]
        assert about["n"] == 20 and about["of"] == task["settings"]["data"]["rows"] > 20 and about["seed"] == 0
        line = f"Sample of 20 from {about['of']} items"
        assert {"code": "sample", "values": about} in task["notes"] and line in printed
        assert " items (random sample)" in printed.splitlines()[0]
        assert line in (sampled / "report.html").read_text()
    rows = pyarrow.parquet.read_table(sampled / "predictions.parquet").to_pylist()
    assert len({row["id"] for row in rows if row["task"] == "mmbench/en"}) == 20


def test_its_scores_are_computed_again_and_never_the_benchmarks_result(sampled: Path) -> None:
    (run,) = read_runs([sampled])
    result = next(iter(run.tasks.values()))
    assert result.task == "q_bench/perception" and result.scores is not None
    again = scores_again(sampled)
    assert again is not None and again["accuracy_ci95"] == result.scores["accuracy_ci95"]
    board = find_board(result.task, result.dataset, result.split)
    assert board is not None
    assert any("sample" in reason for reason in misfits(board, result))


def test_the_sample_of_more_items_than_there_are_is_all_of_them(tmp_path: Path) -> None:
    command = ["run", "q_bench/perception", "--mini", "--out", tmp_path]
    invoke(*command, "--sample", "100000", "--seed", 0, code=0)
    (task,) = json.loads((tmp_path / "results.json").read_text())["tasks"]
    assert "sample" not in task["settings"] and task["scores"]["n"] == task["settings"]["data"]["rows"]
    for option, least in (("--sample", 1), ("--limit", 1), ("--seed", 0)):
        refused = invoke(*command, option, least - 1, code=2).output
        assert option in refused and f"greater than or equal to {least} " in refused
