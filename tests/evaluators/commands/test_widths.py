"""What a terminal of 80 to 140 columns shows: every number with its name, and nothing cut."""

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
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
# Several commands in one process, as starting one takes seconds.
SCRIPT = """
import json, sys
from eyechart.evaluators.cli import app
for arguments in json.loads(sys.argv[1]):
    print("$", arguments[0])
    app(arguments, standalone_mode=False)
"""


def in_a_terminal(width: int, commands: list[list[str]]) -> dict[str, str]:
    """What each command shows, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
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
    keep_picture(found.decode(), width)
    plain = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", found.decode()).replace("\r\n", "\n")
    return dict(re.findall(r"^\$ (\w+)\n(.*?)(?=^\$ |\Z)", plain, flags=re.DOTALL | re.MULTILINE))


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


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 100, 120, 140])
def test_every_number_stands_with_its_name(runs: list[Path], tmp_path: Path, width: int) -> None:
    two = [str(run) for run in runs]
    allowed = ["--allow", "shuffle_seed"]
    commands = [
        [*RUN, "--out", str(tmp_path / "run")],
        ["compare", *two, *allowed],
        ["plan", *two, *allowed, "--difference", "0.05"],
        ["tasks"],
    ]
    shown = in_a_terminal(width, commands)
    assert list(shown) == ["run", "compare", "plan", "tasks"]
    for text in shown.values():
        table = [line for line in text.splitlines() if line.startswith(" ") or "│" in line]
        assert table and all(len(line) <= width for line in table)
        assert not any("…" in line for line in table)

    (run,) = read_runs([tmp_path / "run"])
    for task in run.tasks.values():
        section = shown["run"].partition(f"{task.task} on")[2]
        assert " ".join(section.split()).startswith(f"{task.dataset} ({task.split}, synthetic) ")
        for label, *numbers in score_rows(with_nan(task.scores)):
            line, *below = line_of(section, label)
            section = "\n".join(below)
            assert line.rstrip().endswith(numbers[-1]) and all(number in line for number in numbers), (label, line)

    (one,) = compare(two[0], two[1], allowed=["shuffle_seed"]).differences
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
