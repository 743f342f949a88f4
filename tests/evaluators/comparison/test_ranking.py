"""Rankings of several runs whose answers are made up, and plans from such runs, against simulation and formulae."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.comparison.compare import compare, compare_many
from eyechart.evaluators.comparison.planning import plan_runs
from eyechart.evaluators.evaluation.options import Goal
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.metrics.scoring.pair_ranking import rescale
from eyechart.metrics.scoring.statistics.paired import holm
from eyechart.metrics.scoring.statistics.power import mcnemar_power
from tests.evaluators.command_line import invoke
from tests.evaluators.comparison.test_compare import call, choices, descriptions, noisy, qualities
from tests.evaluators.finished_runs import evaluated, item, write

# The scores of most runs are not compared.
pytestmark = pytest.mark.usefixtures("any_scores")

RIGHT = {"good": "1" * 90 + "0" * 10, "also": "1" * 88 + "0" * 12, "poor": "1" * 40 + "0" * 60}
"""Right and wrong answers of three models: of the first two, two items differ."""


def numbered(root: Path, *runs: Any) -> list[Path]:
    return [write(root / str(number), [run]) for number, run in enumerate(runs)]


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    return numbered(tmp_path, *(choices(marks, model=name) for name, marks in RIGHT.items()))


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
    runs = [noisy(5 * 3**model, 120, rng, model=f"m{model}") for model in range(8)]
    (ranking,) = compare_many(read_runs(numbered(tmp_path, *runs))).rankings
    assert [(run.run, run.place) for run in ranking.runs[:3]] == [("m0", 1), ("m1", 2), ("m2", 3)]


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
    assert f"not ranked: {place.format('alone')}: missing in a and c" in call(*made, "--common", code=1)


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
    runs = [paired({f"i{k}": float(v) for k, v in enumerate(rescale(quality + factor * noise))}) for factor in (1, 2)]
    found = {one.key: one for one in compare(*numbered(tmp_path, *runs)).differences}
    for key, statistic in (("srcc", stats.spearmanr), ("plcc", stats.pearsonr)):
        expected = [statistic(quality + factor * noise, quality).statistic for factor in (1, 2)]
        assert (found[key].first, found[key].second) == (pytest.approx(expected[0]), pytest.approx(expected[1]))
        assert (found[key].n, found[key].test) == (60, "paired bootstrap over images")
        drawn = np.random.default_rng(1).integers(0, 60, (600, 60))
        of = [[statistic((quality + k * noise)[rows], quality[rows]).statistic for rows in drawn] for k in (1, 2)]
        gaps = np.subtract(*of)
        # The tails are those of Student's t, hardly wider.
        assert found[key].difference_ci95 == pytest.approx(tuple(np.quantile(gaps, [0.025, 0.975])), abs=0.03)


def test_rankings_that_cannot_be_made(three: list[Path], tmp_path: Path) -> None:
    assert "use .json for more" in call(*three, "--out", tmp_path / "found.csv", code=2).replace("\n", " ")
    with pytest.raises(UsageError, match="given twice"):
        read_runs([*three, three[0]])


FIRST, SECOND = "1" * 80 + "0" * 10 + "1" * 10, "1" * 70 + "0" * 20 + "1" * 10
"""90 and 80 of 100 right; ten items tell the runs apart."""


def test_two_runs_tell_how_often_they_differ(tmp_path: Path) -> None:
    both = numbered(tmp_path, choices(FIRST), choices(SECOND))
    with pytest.raises(DataError, match=r"two shares cannot differ by 1.5; the largest --difference is 1"):
        plan_runs(both, goal=Goal(-1.5))
    assert plan_runs(both, goal=Goal(-1.0))[0][0].difference == -1.0
    (plan,) = plan_runs(both)[0]
    assert (plan.n, plan.units, plan.at, plan.key) == (100, 100, 100, "accuracy")
    assert plan.difference == pytest.approx(0.1)
    assert plan.power == pytest.approx(mcnemar_power(0.1, 0.1, 100))
    (plan,) = plan_runs(both, goal=Goal(0.05, 1000))[0]
    assert plan.power == pytest.approx(mcnemar_power(0.05, 0.1, 1000))
    assert plan.needed is not None
    assert mcnemar_power(0.05, 0.1, plan.needed) >= 0.8 > mcnemar_power(0.05, 0.1, plan.needed - 1)
    assert plan.detectable is not None
    assert mcnemar_power(plan.detectable, 0.1, 1000) == pytest.approx(0.8, abs=0.01)
    # Equal runs show nothing.
    (plan,) = plan_runs(numbered(tmp_path / "equal", choices(FIRST), choices(FIRST)))[0]
    assert (plan.difference, plan.needed, plan.detectable) == (0.0, None, None)


def test_a_plan_for_several_models_uses_the_level_of_their_pairs(tmp_path: Path) -> None:
    """Of six pairs, one differs: simulated with Holm's adjustment."""
    both, level = numbered(tmp_path, choices(FIRST), choices(SECOND)), 0.05 / 6
    (plan,) = plan_runs(both, goal=Goal(0.05, models=4))[0]
    assert plan.needed is not None
    assert mcnemar_power(0.05, 0.1, plan.needed, level) >= 0.8 > mcnemar_power(0.05, 0.1, plan.needed - 1, level)
    rng, detected = np.random.default_rng(0), 0
    for _ in range(500):
        discordant = rng.binomial(plan.needed, 0.1)
        real = stats.binomtest(rng.binomial(discordant, 0.75), discordant).pvalue
        detected += holm([real, *rng.random(5)])[0] < 0.05
    assert 0.76 <= detected / 500 <= 0.87


@pytest.mark.parametrize(("difference", "other"), [(-0.1, 0.8), (0.2, 0.7), (0.9, 0.0)])
def test_of_one_run_another_is_supposed_that_is_right_independently(
    tmp_path: Path, difference: float, other: float
) -> None:
    (plan,) = plan_runs(numbered(tmp_path, choices(FIRST)), goal=Goal(difference))[0]
    discordant = 0.9 * (1 - other) + 0.1 * other
    assert plan.power == pytest.approx(mcnemar_power(abs(difference), discordant, 100))
    assert plan.difference == difference


ALIKE, FEWER = "1111" * 30 + "0000" * 10, "1111" * 26 + "0000" * 14
MIXED = ("1110" * 40, "1101" * 40)


@pytest.mark.parametrize(("marks", "ratio"), [((ALIKE, FEWER), 4), ((ALIKE, ALIKE), 4), (MIXED, 1)])
def test_questions_about_one_image_count_for_less(tmp_path: Path, marks: Sequence[str], ratio: int) -> None:
    """If all answers about an image are alike or equal, four times as many are needed as of one each."""
    (plan,) = plan_runs(numbered(tmp_path, *(clustered(of, [4] * 40) for of in marks)), goal=Goal(0.1))[0]
    (apart,) = plan_runs(numbered(tmp_path / "apart", *map(choices, marks)), goal=Goal(0.1))[0]
    assert (plan.n, plan.units) == (160, pytest.approx(40))
    assert plan.needed is not None and apart.needed is not None
    assert plan.needed / apart.needed == pytest.approx(ratio, rel=0.1)


def clustered(marks: str, sizes: Sequence[int]) -> Any:
    return choices(marks, [f"image {place}" for place, size in enumerate(sizes) for _ in range(size)])


def test_pairs_count_their_images_as_in_a_comparison(tmp_path: Path) -> None:
    """In a chain of 30 images all but the ends are in two pairs."""
    scores = [{f"i{image}": float(image if image % of else 30 - image) for image in range(30)} for of in (3, 5)]
    runs = [run.model_copy(update={"scores": run.scores | {"n_pairs": 29}}) for run in map(paired, scores)]
    (plan,) = plan_runs(numbered(tmp_path, *runs), goal=Goal(0.2))[0]
    effective = 4 * 29**2 / (28 * 4 + 2)
    assert (plan.n, plan.units) == (29, pytest.approx(effective))
    equal = (runs[0], runs[0]), (choices("1" * 29), choices("1" * 29))
    (alike,), (apart,) = (
        plan_runs(numbered(tmp_path / f"{n}", *of), goal=Goal(0.1))[0] for n, of in enumerate(equal, 2)
    )
    assert alike.needed / apart.needed == pytest.approx(2 * 29 / effective, rel=0.1)


def test_correlations_by_their_bootstrap(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs = [noisy(noise, 200, rng) for noise in (40, 60)]
    (plan,) = plan_runs(numbered(tmp_path, *runs), goal=Goal(0.05))[0]
    assert plan.key == "srcc" and plan.needed is not None and plan.detectable is not None
    (more,) = plan_runs(numbered(tmp_path / "more", *runs), goal=Goal(0.025))[0]
    assert more.needed == pytest.approx(4 * plan.needed, rel=0.03)


def test_judged_texts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 3, (80, 3, 1)).tolist() for _ in range(2))
    (plan,) = plan_runs(numbered(tmp_path, descriptions(first), descriptions(second)), goal=Goal(0.5))[0]
    gaps = np.sum(first, axis=(1, 2)) - np.sum(second, axis=(1, 2))
    expected = (1.96 + 0.8416) ** 2 * gaps.var() / 0.5**2
    assert plan.key == "sum" and plan.needed == pytest.approx(expected, rel=0.1)
    (of_one,) = plan_runs([tmp_path / "0"], goal=Goal(0.5))[0]
    expected = (1.96 + 0.8416) ** 2 * 2 * np.sum(first, axis=(1, 2)).var() / 0.5**2
    assert of_one.needed == pytest.approx(expected, rel=0.1), "two independent models"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(({}, "only one run is given"), ({"difference": 0.1}, "perception")),
        ({"difference": 3.0}, "--difference 3 is not allowed"),
        *(({"difference": 0.1, name: 1}, f"--{name} 1 is not allowed") for name in ("power", "n", "models")),
    ],
)
def test_plans_that_cannot_be_made(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    tasks = ["q_bench/preception"] if message == "perception" else []
    run = numbered(tmp_path, choices("1100"))
    with pytest.raises(UsageError, match=message):
        plan_runs(run, tasks, Goal(**arguments))


def test_what_is_supposed_of_one_run_is_said(tmp_path: Path) -> None:
    one, other = map(str, numbered(tmp_path, choices(FIRST), choices(SECOND)))
    depends = "for percentages, 'detectable' depends on it"
    shown = invoke("plan", one, "--difference", "0.05", "--models", 3, columns=300, code=0).output
    assert depends in shown and "3 pairs of 3 models" in shown
    goal = ("--difference", "-0.05", "--n", 300, "--power", 0.9, "--models", 4)
    shown = invoke("plan", one, other, *goal, columns=300, code=0).output
    assert depends not in shown and "share images" not in shown and "6 pairs of 4 models" in shown
    (row,) = (line.split() for line in shown.splitlines() if "  accuracy " in line)
    assert row == ["accuracy", "300", "6.98", "%", "5.00", "%", "50", "%", "615"]
    assert shown.count("power 90 %") == 2 and "q_bench/perception" in shown


def test_tasks_that_are_not_planned_say_why(tmp_path: Path) -> None:
    private = choices("11", dataset="llvisionqa", split="test", scores=None)
    other = choices("1100", task="q_bench/perception_pairs")
    average = qualities([[0.0, 1.0]] * 2, [1.0, 2.0]).model_copy(update={"dataset": "average"})
    first, second = (
        write(tmp_path / name, [choices(right), private, average, *more])
        for name, right, more in (("a", FIRST, [other]), ("b", SECOND, []))
    )
    plans, passed_over = plan_runs([first, second])
    assert [plan.task for plan in plans] == ["q_bench/perception"]
    unscored, averaged, missing = (f"{task.title}: {task.reason}" for task in passed_over)
    assert unscored.startswith("q_bench/perception on llvisionqa (test): ") and "the answers are private" in unscored
    assert averaged.startswith("q_bench/assessment on average (test): it is an average over datasets")
    assert missing == "q_bench/perception_pairs on llvisionqa (dev): missing in acme/vlm (b)"
    assert invoke("plan", first, second, columns=300, code=0).output.count("not planned: ") == 3
