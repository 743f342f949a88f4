"""Plans from runs whose answers are made up, against simulation and formulae."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.comparison.planning import plan_runs
from eyechart.evaluators.evaluation.options import Goal
from eyechart.metrics.scoring.statistics.paired import holm
from eyechart.metrics.scoring.statistics.power import mcnemar_power
from tests.evaluators.command_line import invoke
from tests.evaluators.comparison.test_compare import choices, descriptions, noisy, qualities
from tests.evaluators.comparison.test_ranking import paired
from tests.evaluators.finished_runs import write

# The scores of most runs are not compared.
pytestmark = pytest.mark.usefixtures("any_scores")

FIRST, SECOND = "1" * 80 + "0" * 10 + "1" * 10, "1" * 70 + "0" * 20 + "1" * 10
"""90 and 80 of 100 right; ten items tell the runs apart."""


def folders(root: Path, *runs: Any) -> list[Path]:
    return [write(root / str(number), [run]) for number, run in enumerate(runs)]


def test_two_runs_tell_how_often_they_differ(tmp_path: Path) -> None:
    both = folders(tmp_path, choices(FIRST), choices(SECOND))
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
    (plan,) = plan_runs(folders(tmp_path / "equal", choices(FIRST), choices(FIRST)))[0]
    assert (plan.difference, plan.needed, plan.detectable) == (0.0, None, None)


def test_a_plan_for_several_models_uses_the_level_of_their_pairs(tmp_path: Path) -> None:
    """Of six pairs, one differs: simulated with Holm's adjustment."""
    both, level = folders(tmp_path, choices(FIRST), choices(SECOND)), 0.05 / 6
    (plan,) = plan_runs(both, goal=Goal(0.05, models=4))[0]
    assert plan.needed is not None
    assert mcnemar_power(0.05, 0.1, plan.needed, level) >= 0.8 > mcnemar_power(0.05, 0.1, plan.needed - 1, level)
    rng, detected = np.random.default_rng(0), 0
    for _ in range(500):
        discordant = rng.binomial(plan.needed, 0.1)
        real = binomtest(rng.binomial(discordant, 0.75), discordant).pvalue
        detected += holm([real, *rng.random(5)])[0] < 0.05
    assert 0.76 <= detected / 500 <= 0.87


def test_observed_differences_are_said_to_be_uncertain(tmp_path: Path) -> None:
    close = folders(tmp_path, choices(FIRST), choices("1" * 89 + "0" * 11))
    assert "to plan a study, set --difference" in invoke("plan", *close, columns=140, code=0).output
    assert "over 10,000,000" in invoke("plan", *close, "--difference", "0.00001", columns=140, code=0).output


@pytest.mark.parametrize(("difference", "other"), [(-0.1, 0.8), (0.1, 1.0), (0.2, 0.7), (-0.9, 0.0), (0.9, 0.0)])
def test_of_one_run_another_is_supposed_that_is_right_independently(
    tmp_path: Path, difference: float, other: float
) -> None:
    (plan,) = plan_runs(folders(tmp_path, choices(FIRST)), goal=Goal(difference))[0]
    discordant = 0.9 * (1 - other) + 0.1 * other
    assert plan.power == pytest.approx(mcnemar_power(abs(difference), discordant, 100))
    assert plan.difference == difference


ALIKE, FEWER = "1111" * 30 + "0000" * 10, "1111" * 26 + "0000" * 14
MIXED = ("1110" * 40, "1101" * 40)


@pytest.mark.parametrize(("marks", "ratio"), [((ALIKE, FEWER), 4), ((ALIKE, ALIKE), 4), (MIXED, 1)])
def test_questions_about_one_image_count_for_less(tmp_path: Path, marks: Sequence[str], ratio: int) -> None:
    """If all answers about an image are alike or equal, four times as many are needed as of one each."""
    (plan,) = plan_runs(folders(tmp_path, *(clustered(of, [4] * 40) for of in marks)), goal=Goal(0.1))[0]
    (apart,) = plan_runs(folders(tmp_path / "apart", *map(choices, marks)), goal=Goal(0.1))[0]
    assert (plan.n, plan.units) == (160, pytest.approx(40))
    assert plan.needed is not None and apart.needed is not None
    assert plan.needed / apart.needed == pytest.approx(ratio, rel=0.1)


def clustered(marks: str, sizes: Sequence[int]) -> Any:
    return choices(marks, [f"image {place}" for place, size in enumerate(sizes) for _ in range(size)])


@pytest.mark.parametrize("sizes", [[100], [50, 50], [90, *[1] * 10]])
@pytest.mark.parametrize("marks", [(FIRST, SECOND), (FIRST,)])
def test_too_few_clusters_for_a_test_are_passed_over(tmp_path: Path, marks: Sequence[str], sizes: list[int]) -> None:
    """As in a comparison: one cluster, two, or one that holds most of the items."""
    runs = folders(tmp_path, *(clustered(of, sizes) for of in marks))
    with pytest.raises(DataError, match=f"at least 3 of about equal size; there are {len(sizes)}"):
        plan_runs(runs, goal=Goal(0.1))


def test_clusters_of_different_sizes_count_as_in_a_comparison(tmp_path: Path) -> None:
    sizes = [40, *[6] * 10]
    (plan,) = plan_runs(folders(tmp_path, clustered(FIRST, sizes), clustered(SECOND, sizes)), goal=Goal(0.1))[0]
    assert plan.units == pytest.approx(5.59, abs=0.01)
    done = invoke("plan", tmp_path / "0", tmp_path / "1", columns=200)
    assert "the 100 items share images or clusters, which count as 6 of equal size; the plan assumes" in done.output
    assert plan_runs([tmp_path / "0", tmp_path / "1"], goal=Goal(0.1, 50))[0][0].power == 0, "fewer than 3 clusters"
    assert plan_runs([tmp_path / "0", tmp_path / "1"], goal=Goal(0.1, 60))[0][0].power > 0


def test_pairs_count_their_images_as_in_a_comparison(tmp_path: Path) -> None:
    """In a chain of 30 images all but the ends are in two pairs."""
    scores = [{f"i{image}": float(image if image % of else 30 - image) for image in range(30)} for of in (3, 5)]
    runs = [run.model_copy(update={"scores": run.scores | {"n_pairs": 29}}) for run in map(paired, scores)]
    (plan,) = plan_runs(folders(tmp_path, *runs), goal=Goal(0.2))[0]
    effective = 4 * 29**2 / (28 * 4 + 2)
    assert (plan.n, plan.units) == (29, pytest.approx(effective))
    equal = (runs[0], runs[0]), (choices("1" * 29), choices("1" * 29))
    (alike,), (apart,) = (
        plan_runs(folders(tmp_path / f"{n}", *of), goal=Goal(0.1))[0] for n, of in enumerate(equal, 2)
    )
    assert alike.needed / apart.needed == pytest.approx(2 * 29 / effective, rel=0.1)


def test_correlations_by_their_bootstrap(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs = [noisy(noise, 200, rng) for noise in (40, 60)]
    (plan,) = plan_runs(folders(tmp_path, *runs), goal=Goal(0.05))[0]
    assert plan.key == "srcc" and plan.needed is not None and plan.detectable is not None
    (more,) = plan_runs(folders(tmp_path / "more", *runs), goal=Goal(0.025))[0]
    assert more.needed == pytest.approx(4 * plan.needed, rel=0.03)
    # As in a comparison, fewer than 20 items are not resampled.
    apart = folders(tmp_path / "apart", *(noisy(noise, 100, rng) for noise in (5, 500)))
    (plan,) = plan_runs(apart)[0]
    assert plan.needed == 20 and plan.power > 0.99
    (few,) = plan_runs(apart, goal=Goal(n=19))[0]
    assert (few.power, few.detectable) == (0.0, None)


def test_judged_texts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 3, (80, 3, 1)).tolist() for _ in range(2))
    (plan,) = plan_runs(folders(tmp_path, descriptions(first), descriptions(second)), goal=Goal(0.5))[0]
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
        *(({"difference": float(value)}, f"--difference {value} is not allowed") for value in (0, 3)),
        *(({"difference": 0.1, name: 1}, f"--{name} 1 is not allowed") for name in ("power", "n")),
    ],
)
def test_bad_input(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    tasks = ["q_bench/preception"] if message == "perception" else []
    run = folders(tmp_path, choices("1100"))
    with pytest.raises(UsageError, match=message):
        plan_runs(run, tasks, Goal(**arguments))


def test_what_is_supposed_of_one_run_is_said(tmp_path: Path) -> None:
    one, other = map(str, folders(tmp_path, choices(FIRST), choices(SECOND)))
    depends = "for percentages, 'detectable' depends on it"
    shown = invoke("plan", one, "--difference", "0.05", "--models", 3, columns=300, code=0).output
    assert depends in shown and "3 pairs of 3 models" in shown
    goal = ("--difference", "-0.05", "--n", 300, "--power", 0.9, "--models", 4)
    shown = invoke("plan", one, other, *goal, columns=300, code=0).output
    assert depends not in shown and "share images" not in shown and "6 pairs of 4 models" in shown
    (row,) = (line.split() for line in shown.splitlines() if "  accuracy " in line)
    assert row == ["accuracy", "300", "6.98", "%", "5.00", "%", "50", "%", "615"]
    assert shown.count("power 90 %") == 2 and "q_bench/perception" in shown


def test_a_score_that_never_varies_gives_no_plan(tmp_path: Path) -> None:
    alike = [descriptions([[[score, score]] * 3] * 30) for score in (2, 1)]
    with pytest.raises(DataError, match="the difference is the same in all resamples"):
        plan_runs(folders(tmp_path, *alike))
    with pytest.raises(DataError, match="1 of its items have a score; a plan needs at least 2"):
        plan_runs(folders(tmp_path / "one", choices("1"), choices("0")))


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


def test_settings_of_two_runs_must_agree_as_in_a_comparison(tmp_path: Path) -> None:
    both = folders(tmp_path, choices("10"), choices("00", settings={"prompt_id": "another/1"}))
    with pytest.raises(DataError, match="prompt_id is 'q_bench_a1/2' in A and 'another/1' in B; to plan anyway"):
        plan_runs(both)
    (plan,) = plan_runs(both, allowed=["prompt_id"])[0]
    assert plan.n == 2


def test_a_difference_that_one_task_cannot_have_stops_no_other(tmp_path: Path) -> None:
    rounds = [[[2]] * 3] * 40 + [[[1]] * 3] * 40
    folder = write(tmp_path / "run", [choices(FIRST), descriptions(rounds)])
    plans, passed_over = plan_runs([folder], goal=Goal(1.5))
    assert [plan.key for plan in plans] == ["sum"]
    assert "1.5 is too large: the run scores 0.9" in passed_over[0].reason
