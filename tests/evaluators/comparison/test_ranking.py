"""Rankings of several runs whose answers are made up."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.comparison.compare import compare, compare_many
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.metrics.scoring.pair_ranking import rescale
from tests.evaluators.command_line import invoke
from tests.evaluators.comparison.test_compare import call, choices, noisy
from tests.evaluators.finished_runs import evaluated, item, write

# The scores of most runs are not compared.
pytestmark = pytest.mark.usefixtures("any_scores")

RIGHT = {"good": "1" * 90 + "0" * 10, "also": "1" * 88 + "0" * 12, "poor": "1" * 40 + "0" * 60}
"""Right and wrong answers of three models: of the first two, two items differ."""


def folders(root: Path, runs: dict[str, Any]) -> list[Path]:
    return [write(root / name, [run]) for name, run in runs.items()]


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    return folders(tmp_path, {name: choices(marks, model=name) for name, marks in RIGHT.items()})


def test_runs_share_a_place_unless_a_test_tells_them_apart(three: list[Path]) -> None:
    found = compare_many(read_runs(three))
    (ranking,) = found.rankings
    places = [(run.run, run.place, run.score) for run in ranking.runs]
    assert places == [("good", 1, 0.9), ("also", 1, 0.88), ("poor", 3, 0.4)]
    assert (ranking.key, ranking.n) == ("accuracy", 100)
    raw = [stats.binomtest(2, 2).pvalue, stats.binomtest(50, 50).pvalue, stats.binomtest(48, 48).pvalue]
    tests = [test for pair in found.pairs for test in pair.differences]
    assert [test.p_value for test in tests] == pytest.approx(raw)
    assert [test.p_holm for test in tests] == pytest.approx([raw[0], 3 * raw[1], 2 * raw[2]])
    assert [(pair.first, pair.second) for pair in found.pairs] == [("good", "also"), ("good", "poor"), ("also", "poor")]


def test_correlations_of_many_runs_are_told_apart(tmp_path: Path) -> None:
    """Eight runs are 28 pairs: p-values that the number of resamples bounds at 0.002 would leave no difference."""
    rng = np.random.default_rng(4)
    runs = {f"m{model}": noisy(20 * 2**model, 300, rng, model=f"m{model}") for model in range(8)}
    (ranking,) = compare_many(read_runs(folders(tmp_path, runs))).rankings
    assert [(run.run, run.place) for run in ranking.runs[:4]] == [("m0", 1), ("m1", 2), ("m2", 3), ("m3", 4)]


def test_places_and_p_values_are_adjusted_over_the_pairs_of_a_score(tmp_path: Path) -> None:
    """Seven items apart: p = 2 / 2^7, below 0.05 over the three pairs of a task, above it over the six of both."""
    runs = {"a": "1" * 7 + "0" * 13, "b": "0" * 20, "c": "0" * 20}
    made = [
        write(tmp_path / name, [choices(marks, model=name, split=split) for split in ("dev", "test")])
        for name, marks in runs.items()
    ]
    found = compare_many(read_runs(made))
    raw = stats.binomtest(7, 7).pvalue
    assert min(one.p_holm for pair in found.pairs for one in pair.differences) == pytest.approx(3 * raw)
    assert 3 * raw < 0.05 < 6 * raw
    for ranking in found.rankings:
        assert [(run.run, run.place) for run in ranking.runs] == [("a", 1), ("b", 2), ("c", 2)]
        assert ranking.tests == 3
    shown = call(*made)
    assert " 1 a " in shown and " 2= b " in shown and " 2= c " in shown
    assert "unless a paired test finds a difference (p < 0.05, Holm-adjusted over 3 pairs)" in shown
    assert "p (Holm): Holm-adjusted over the 3 pairs of runs, for each score by itself" in shown
    assert "p: each score by itself" in call(*made[:2])


def test_why_a_task_has_no_ranking(tmp_path: Path) -> None:
    def whole(name: str) -> list[Any]:
        average = evaluated("q_bench/assessment", "average", "test", settings={"protocol": "quality_assessment"})
        return [
            choices("1100", model=name),
            choices("1100", model=name, dataset="own", first=8 if name == "c" else 0),
            choices("1100" if name != "c" else "110", model=name, dataset="part"),
            average.model_copy(update={"model": name, "scores": {"srcc": 0.5}}),
            *([choices("1100", model=name, dataset="alone")] if name == "b" else []),
        ]

    made = [write(tmp_path / name, whole(name)) for name in "abc"]
    found = compare_many(read_runs(made), common=True)
    place = "q_bench/perception on {} (dev)"
    assert {one.title: one.reason for one in found.unranked} == {
        place.format("own"): "not all runs can be compared: a with c, b with c",
        place.format("part"): "the runs have different items, so their scores cannot be ranked",
        "q_bench/assessment on average (test)": "it is an average over datasets, which are compared separately",
        place.format("alone"): "missing in a and c",
    }
    assert [bool(pair.only_in_one) for pair in found.pairs] == [True, False, True]
    assert [one.title for one in found.rankings] == [place.format("llvisionqa")]
    shown = call(*made, "--common", code=1)
    assert f"not ranked: {place.format('alone')}: missing in a and c" in shown
    assert f"b with c: only in one run: {place.format('alone')}" in shown


def paired(scores: dict[str, float], **fields: Any) -> Any:
    """Pairs of neighbours among images whose quality is their number, ranked with these scores."""
    names = sorted(scores, key=lambda name: int(name[1:]))
    rows = []
    for number, (one, other) in enumerate(itertools.pairwise(names)):
        sides = {"first_id": one, "second_id": other}
        sides |= {"first_quality": float(one[1:]), "second_quality": float(other[1:])}
        rows.append(item(f"p{number}", **sides, consistent=True, correct=scores[one] < scores[other]))
    made = {"accuracy_all": 0.5, "srcc": 0.5, "plcc": 0.5, "scores": scores}
    made |= {"n_images": len(scores), "n_pairs": len(rows)}
    values = {"items": rows, "scores": made, "settings": {"protocol": "paired_comparison"}}
    return evaluated("two_afc/coarse", "two_afc", "test", **values | fields)


def test_rankings_from_pairs_are_compared_by_their_correlations_on_the_same_resamples(tmp_path: Path) -> None:
    """The second run errs as the first does, only twice as much: their difference is far surer than either score."""
    quality = np.arange(60.0)
    noise = np.random.default_rng(0).normal(0, 8, 60)
    runs = {
        name: paired({f"i{k}": float(v) for k, v in enumerate(rescale(quality + factor * noise))})
        for name, factor in (("a", 1), ("b", 2))
    }
    found = {one.key: one for one in compare(*folders(tmp_path, runs)).differences}
    for key, statistic in (("srcc", stats.spearmanr), ("plcc", stats.pearsonr)):
        expected = [statistic(quality + factor * noise, quality).statistic for factor in (1, 2)]
        assert (found[key].first, found[key].second) == (pytest.approx(expected[0]), pytest.approx(expected[1]))
        assert (found[key].n, found[key].test) == (60, "paired bootstrap over images")
        drawn = np.random.default_rng(1).integers(0, 60, (2000, 60))
        of = [[statistic((quality + k * noise)[rows], quality[rows]).statistic for rows in drawn] for k in (1, 2)]
        gaps = np.subtract(*of)
        # The tails are those of Student's t, hardly wider.
        assert found[key].difference_ci95 == pytest.approx(tuple(np.quantile(gaps, [0.025, 0.975])), abs=0.03)


def in_pools(scores: dict[str, dict[str, float | None]], undefined: str) -> Any:
    rows, table = [], {}
    for pool, images in scores.items():
        part = paired({name: value or 0.0 for name, value in images.items()})
        rows += [replace(row, id=f"{pool} {row.id}", pool=pool) for row in part.items]
        table[pool] = images
    settings = {"protocol": "paired_comparison", "undefined_pools": undefined}
    made = paired({"i0": 0.0, "i1": 1.0}, items=rows, settings=settings)
    scores = {"accuracy_all": 0.5, "srcc": 0.5, "plcc": 0.5, "undefined_pools": undefined, "scores": table}
    scores |= {"n_images": 50, "n_pairs": len(rows)}
    return made.model_copy(update={"scores": scores})


@pytest.mark.parametrize(("undefined", "expected", "n"), [("leave_out", (1.0, -1.0), 25), ("zero", (1.0, -0.5), 50)])
def test_pools_without_a_ranking_count_as_the_results_count_them(
    tmp_path: Path, undefined: str, expected: tuple[float, float], n: int
) -> None:
    up = {f"i{k}": float(k) for k in range(25)}
    down = {name: 24 - value for name, value in up.items()}
    runs = {
        "a": in_pools({"CSIQ": up, "LIVE": up}, undefined),
        "b": in_pools({"CSIQ": down, "LIVE": dict.fromkeys(up)}, undefined),
    }
    found = {one.key: one for one in compare(*folders(tmp_path, runs)).differences}
    for key in ("srcc", "plcc"):
        assert (found[key].first, found[key].second, found[key].n) == (*map(pytest.approx, expected), n)
    runs["a"] = in_pools({"CSIQ": dict.fromkeys(up), "LIVE": up}, undefined)
    rest = {one.key: one.note for one in compare(*folders(tmp_path / "no pool in common", runs)).differences}
    assert (rest["srcc"] == "no item has this score in both runs") == (undefined == "leave_out")


def test_the_command_prints_rankings_and_pairs(three: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    done = invoke("compare", *three, "--out", out, columns=200, code=0)
    lines = [re.split(r"  +", line.strip()) for line in done.output.splitlines()]
    first = lines.index(["q_bench/perception on llvisionqa (dev): accuracy"])
    assert lines[first + 1 : first + 4] == [["1= good", "90.00 %"], ["1= also", "88.00 %"], ["3 poor", "40.00 %"]]
    assert all(text in done.output for text in ("A: also; B: poor", "< 0.0001", "Holm-adjusted over the 3 pairs"))
    written = json.loads(out.read_text())
    assert [run["run"] for run in written["rankings"][0]["runs"]] == ["good", "also", "poor"]
    assert len(written["pairs"]) == 3


def test_bad_input(three: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only one run is given; name two or more"):
        compare_many(read_runs(three[:1]))
    assert "use .json for more" in call(*three, "--out", tmp_path / "found.csv", code=2).replace("\n", " ")
    with pytest.raises(UsageError, match="given twice"):
        read_runs([*three, three[0]])
