"""Samples of the items: how they are drawn, and what is said of them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.data import DataRequest
from eyechart.evaluators.evaluation.sampling import draw_sample, systematic_rows
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.hub_cards.leaderboard.boards import find_board
from eyechart.hub_cards.leaderboard.build import misfits
from tests.evaluators.command_line import invoke
from tests.evaluators.running import scores_again


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=60), st.data())
def test_each_stratum_has_its_share_to_within_one_item(strata: list[str], data: Any) -> None:
    n = data.draw(st.integers(1, len(strata)))
    rows = systematic_rows([(name,) for name in strata], n, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert len(set(rows)) == n and rows == sorted(rows)
    drawn, all_of = Counter(strata[row] for row in rows), Counter(strata)
    assert all(abs(drawn[name] - n * count / len(strata)) < 1 + 1e-9 for name, count in all_of.items())


def test_every_item_has_the_same_chance() -> None:
    strata = [("a",)] * 7 + [("b",)] * 4
    found = Counter(row for seed in range(4000) for row in systematic_rows(strata, 3, np.random.default_rng(seed)))
    assert np.allclose([found[row] / 4000 for row in range(11)], 3 / 11, atol=0.03)


def test_a_sample_of_data() -> None:
    data = Dataset.from_dict({"id": [str(row) for row in range(50)], "kind": ["x"] * 40 + ["y"] * 10})
    found = draw_sample(data, ("kind", "not there"), 10, 0)
    assert found is not None and found.settings() == {"n": 10, "of": 50, "seed": 0, "strata": ["kind"]}
    assert sum(row < 40 for row in found.rows) == 8
    assert draw_sample(data, ("kind",), 10, 0) == found != draw_sample(data, ("kind",), 10, 1)
    assert draw_sample(data, (), 50, 0) is None and draw_sample(data, (), 70, 0) is None
    with pytest.raises(UsageError, match="sample=0 is not allowed; expected at least 1"):
        draw_sample(data, (), 0, 0)
    with pytest.raises(UsageError, match="limit=3 and sample=4 are both given"):
        DataRequest(limit=3, sample=4)


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
    command = ["run", "q_bench/perception", "--mini", "--sample", "100000", "--out", str(tmp_path)]
    assert invoke(*command).exit_code == 0
    (task,) = json.loads((tmp_path / "results.json").read_text())["tasks"]
    assert "sample" not in task["settings"] and task["scores"]["n"] == task["settings"]["data"]["rows"]
