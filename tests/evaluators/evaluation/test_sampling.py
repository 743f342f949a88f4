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
from eyechart.evaluators.evaluation.sampling import correct_for_all, draw_sample, finite_scores, systematic_rows
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.hub_cards.leaderboard.boards import find_board
from eyechart.hub_cards.leaderboard.checks import misfits
from eyechart.metrics.scores import value_at
from eyechart.metrics.scoring.choices.gain import multimodal_gain
from eyechart.metrics.scoring.choices.repeats import repeat_scores
from eyechart.metrics.scoring.statistics.intervals import wilson_of_share
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


def test_intervals_are_about_the_score_on_all_items() -> None:
    scores = {
        "accuracy": 0.8,
        "accuracy_ci95": [0.711, 0.867],
        "n": 100,
        "intervals": {"accuracy": {"kind": "wilson-clustered", "units": 60}},
        "by_kind": {"x": {"accuracy": 0.5, "accuracy_ci95": [0.2, 0.8], "n": 10, "intervals": {}}},
    }
    found = finite_scores(scores, {"n": 100, "of": 200})
    # Half of the items are known, so that the interval is that of twice as many; that they share images matters not.
    assert found["accuracy_ci95"] == pytest.approx(wilson_of_share(0.8, 200))
    assert found["intervals"]["accuracy"] == {"kind": "finite-population", "units": 100}
    assert found["by_kind"] == scores["by_kind"] and scores["accuracy_ci95"] == [0.711, 0.867]


def test_other_intervals_shrink() -> None:
    scores = {
        "srcc": 0.8,
        "srcc_ci95": [0.6, 0.9],
        "plcc": 0.7,
        "plcc_ci95": [float("nan")] * 2,
        "n": 75,
        "intervals": {"srcc": {"kind": "bootstrap", "units": 75}, "plcc": {"kind": "none", "units": 75}},
    }
    found = finite_scores(scores, {"n": 75, "of": 100})
    assert found["srcc_ci95"] == pytest.approx([0.7, 0.85])
    assert found["intervals"]["plcc"]["kind"] == "none" and np.isnan(found["plcc_ci95"]).all()


def corrected_gain(gain: dict[str, Any], n: int, of: int) -> dict[str, Any]:
    result = TaskResult(diagnostics={"multimodal_gain": gain})
    correct_for_all(result, {"n": n, "of": of})
    found: dict[str, Any] = result.diagnostics["multimodal_gain"]
    return found


def test_what_images_add_is_about_all_items() -> None:
    rng = np.random.default_rng(0)
    right, blind = rng.random((2, 100)) < [[0.8], [0.4]]
    gain = multimodal_gain(right.tolist(), blind.tolist(), [0.25] * 100)
    found = corrected_gain(gain, 100, 200)
    assert found["blind_score_ci95"] == pytest.approx(wilson_of_share(gain["blind_score"], 200))
    assert found["leak_ci95"] == pytest.approx([end - 0.25 for end in found["blind_score_ci95"]])
    distances = np.subtract(gain["gain_ci95"], gain["gain"])
    assert np.subtract(found["gain_ci95"], gain["gain"]) == pytest.approx(distances * np.sqrt(0.5))
    assert {about["kind"] for about in found["intervals"].values()} == {"finite-population"}


def test_the_gain_of_all_items_is_covered() -> None:
    """Of 400 items whose every answer is known, 100 are asked; the interval is to hold the gain of all 400."""
    rng = np.random.default_rng(1)
    right, blind = rng.random((2, 400)) < [[0.8], [0.4]]
    truth, hits = right.mean() - blind.mean(), 0
    for _ in range(500):
        rows = systematic_rows([()] * 400, 100, rng)
        gain = multimodal_gain(right[rows].tolist(), blind[rows].tolist(), [0.25] * 100)
        found = corrected_gain(gain, 100, 400)
        hits += found["gain_ci95"][0] <= truth <= found["gain_ci95"][1]
    assert 0.93 <= hits / 500 <= 0.98


def test_repeats_of_a_sample_are_about_all_items() -> None:
    choices = repeat_scores([2] * 60 + [0] * 40, [True] * 60 + [False] * 40, 2)
    found = finite_scores(choices, {"n": 100, "of": 200})
    assert found["pass_at_k_ci95"] == pytest.approx(wilson_of_share(0.6, 200))


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
        key = {"circular_eval": "circular_accuracy", "self_awareness": "score_sa"}.get(
            task["settings"]["protocol"], "accuracy"
        )
        assert value_at(task["scores"], "intervals")[key] == {"kind": "finite-population", "units": 20}
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
