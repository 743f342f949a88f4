"""What a terminal of 80 to 140 columns shows: every number with its name, and nothing cut."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME
from rich.text import Text
from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from eyechart.evaluators.comparison.compare import compare
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import with_nan
from eyechart.evaluators.results.score_rows import score_rows
from eyechart.evaluators.tasks import TASKS
from eyechart.metrics.scores import spec

RUN = ["run", "q_bench/perception_pairs", "mmbench/cc", "two_afc/fine_types", "q_bench/description", "--limit", "12"]
WIDTHS = (80, 100, 120, 140)
# All commands in one process, as starting one takes seconds; it sets the width of its terminal itself.
SCRIPT = """
import fcntl, json, struct, sys, termios
from eyechart.evaluators.cli import app
for width, commands in json.loads(sys.argv[1]).items():
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, int(width), 0, 0))
    print("# width", width)
    for arguments in commands:
        print("$", arguments[0])
        app(arguments, standalone_mode=False)
"""


def in_a_terminal(commands: dict[int, list[list[str]]]) -> dict[int, dict[str, str]]:
    """What each command shows at each width, without colours."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    command = [sys.executable, "-c", SCRIPT, json.dumps(commands)]
    child = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env={**env, "TERM": "xterm"}
    )
    os.close(theirs)
    found = b""
    # Linux ends the reading with an error where the other side is closed.
    try:
        while part := os.read(ours, 65536):
            found += part
    except OSError:
        pass
    assert child.wait() == 0
    shown = {}
    for part in found.decode().split("# width ")[1:]:
        width, _, text = part.partition("\r\n")
        keep_picture(text, int(width))
        plain = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", text).replace("\r\n", "\n")
        shown[int(width)] = dict(re.findall(r"^\$ (\w+)\n(.*?)(?=^\$ |\Z)", plain, flags=re.DOTALL | re.MULTILINE))
    return shown


def keep_picture(shown: str, width: int) -> None:
    """Draw what a terminal showed, light and dark, for people who look at the screenshots."""
    folder = os.environ.get("EYECHART_SCREENSHOTS")
    if folder is None:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    # Progress bars come and go in one line; what comes after the last return stays.
    lines = [re.split(r"\r|\x1b\[2K", line)[-1] for line in shown.replace("\r\n", "\n").splitlines()]
    for scheme, theme in (("light", DEFAULT_TERMINAL_THEME), ("dark", SVG_EXPORT_THEME)):
        console = Console(record=True, width=width, file=io.StringIO())
        console.print(Text.from_ansi("\n".join(lines)))
        console.save_svg(str(Path(folder) / f"terminal-{width}-{scheme}.svg"), title="eyechart", theme=theme)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = [tmp_path_factory.mktemp("runs") / name for name in ("a", "b")]
    for folder, more in zip(folders, ([], ["--set", "shuffle_seed=5"]), strict=True):
        done = CliRunner().invoke(app, ["run", "q_bench/perception", *more, "--limit", "40", "--out", str(folder)])
        assert done.exit_code == 0, done.output
    return folders


def line_of(shown: str, name: str) -> list[str]:
    """The lines from the one that begins with a name on, folded as it may be."""
    lines = shown.splitlines()
    first = name.split()[0]
    return next(lines[at:] for at, line in enumerate(lines) if line.split()[:1] == [first])


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
    for task in run.tasks.values():
        section = shown["run"].partition(f"{task.task} on")[2]
        assert " ".join(section.split()).startswith(
            f"{task.dataset} ({task.split}, synthetic, first 12 of {task.settings['data']['rows']} items) "
        )
        for label, *numbers in score_rows(with_nan(task.scores)):
            line, *below = line_of(section, label)
            section = "\n".join(below)
            assert line.rstrip().endswith(numbers[-1]) and all(number in line for number in numbers), (label, line)

    (one,) = compare(str(runs[0]), str(runs[1]), allowed=["shuffle_seed"]).differences
    first, second, *_ = line_of(shown["compare"].partition("q_bench/perception")[2], one.score)
    assert spec(one.key).shown(one.first) in first and f"{one.p_value:.4f}" in first and f"{one.n:,}" in first
    assert spec(one.key).shown(one.second) in second and f"{one.p_holm:.4f}" in second
    low, high = (f"{100 * end:+.2f}" for end in one.interval)
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
