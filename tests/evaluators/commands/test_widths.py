"""What a terminal of 80 to 140 columns shows: every number with its name, and nothing cut."""

import re
from pathlib import Path

import pytest

from eyechart.evaluators.comparison.compare import compare
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import with_nan
from eyechart.evaluators.runs.console import console
from eyechart.evaluators.tasks import TASKS
from eyechart.metrics.scores import spec
from tests.evaluators.command_line import invoke
from tests.terminal import in_a_terminal

RUN = ["run", "q_bench/perception_pairs", "mmbench/cc", "two_afc/fine_types", "q_bench/description", "--limit", "12"]
WIDTHS = (80, 100, 120, 140)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = [tmp_path_factory.mktemp("runs") / name for name in ("a", "b")]
    for folder, more in zip(folders, ([], ["--set", "shuffle_seed=5"]), strict=True):
        invoke("run", "q_bench/perception", *more, "--limit", "40", "--out", folder, code=0)
    return folders


def line_of(shown: str, name: str) -> list[str]:
    """The lines from the one that begins with a name on, folded as it may be."""
    lines = shown.splitlines()
    first = name.split()[0]
    return next(lines[at:] for at, line in enumerate(lines) if line.split()[:1] == [first])


def test_what_is_no_terminal_has_140_columns() -> None:
    assert console().width == 140


@pytest.fixture(scope="module")
def terminals(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, dict[str, str]]]:
    """A folder with a run for each width, and what the commands show at that width."""
    two = [str(run) for run in runs]
    allowed = ["--allow", "shuffle_seed"]
    folder = tmp_path_factory.mktemp("shown")
    others = [["compare", *two, *allowed], ["plan", *two, *allowed, "--difference", "0.05"], ["tasks"]]
    return folder, in_a_terminal({width: [[*RUN, "--out", str(folder / f"{width}")], *others] for width in WIDTHS})


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_number_stands_with_its_name(
    runs: list[Path], terminals: tuple[Path, dict[int, dict[str, str]]], width: int
) -> None:
    folder, at_each_width = terminals
    shown = at_each_width[width]
    assert list(shown) == ["run", "compare", "plan", "tasks"]
    for text in shown.values():
        table = [line for line in text.splitlines() if line.startswith(" ") or "│" in line]
        assert table and all(len(line) <= width for line in table)
        assert not any("…" in line for line in table)

    (run,) = read_runs([folder / f"{width}"])
    screen = shown["run"].splitlines()
    title = next(line for line in screen if line.startswith("eyechart/tiny-vlm on"))
    assert title.startswith("eyechart/tiny-vlm on 4 tasks, synthetic demo data, 47 of ") and len(screen) <= 20
    for task in run.tasks.values():
        line = next(line for line in screen if line.startswith(task.task))
        spec_of, scores = task.headline_spec(), with_nan(task.scores)
        assert spec_of.label in line and spec_of.shown(spec_of.value(scores)) in line, line
        assert line.split()[-1] == str(spec_of.n(scores)), line

    (one,) = compare(str(runs[0]), str(runs[1]), allowed=["shuffle_seed"]).differences
    first, second, *_ = line_of(shown["compare"].partition("q_bench/perception")[2], one.score)
    assert spec(one.key).shown(one.first) in first and f"{one.p_value:.4f}" in first and f"{one.n:,}" in first
    assert spec(one.key).shown(one.second) in second
    low, high = (f"{100 * end:+.2f}" for end in one.difference_ci95)
    assert f"{low} to {high}" in second
    (line, *_) = line_of(shown["plan"].partition("q_bench/perception")[2], one.score)
    assert " 5.00 % " in line and line.split()[-1].replace(",", "").isdigit()

    for task, after in zip(TASKS, [*TASKS[1:], None], strict=True):
        part = shown["tasks"].partition(f" {task.name} ")[2]
        words = " ".join(
            re.sub(r"[│└─┴┘]", " ", part if after is None else part.partition(f" {after.name} ")[0]).split()
        )
        assert task.description in words and words.endswith(f"; {task.metric}")
        assert all(name in words for name in (*task.data.datasets, *task.data.splits))
