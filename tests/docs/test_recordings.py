"""Recordings of whole sessions at 80 columns, in docs/recordings; `--recordings` writes them anew."""

import contextlib
import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from eyechart.evaluators import tiny_vlm
from tests.evaluators.tasks.doors import write_photos

DOCS = Path(__file__).parents[2] / "docs"
RECORDINGS = DOCS / "recordings"


# All commands in one process, as starting one takes seconds; it sets the width of its terminal itself.
SCRIPT = """
import fcntl, json, struct, sys, termios
from eyechart.evaluators.cli import app
fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
for arguments in json.loads(sys.argv[1]):
    print("$", arguments[0])
    app(arguments, standalone_mode=False)
"""


def in_a_terminal(commands: list[list[str]], folder: Path) -> dict[str, str]:
    """What each command, by its first word, leaves on the screen of a terminal without colours."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    command, streams = [sys.executable, "-c", SCRIPT, json.dumps(commands)], dict.fromkeys(("stdin", "stdout"), theirs)
    child = subprocess.Popen(command, **streams, stderr=theirs, env={**env, "TERM": "xterm"}, cwd=folder)
    os.close(theirs)
    found = b""
    # Linux ends the reading with an error where the other side is closed.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 65536):
            found += part
    assert child.wait() == 0, found.decode()
    shown = re.findall(r"^\$ (\w+)\n(.*?)(?=^\$ |\Z)", on_screen(found.decode()), flags=re.DOTALL | re.MULTILINE)
    return dict(shown)


def on_screen(text: str) -> str:
    """What stays of the output of a program that erases lines: no colours, no progress."""
    lines = [""]
    for part in re.split(r"(\r?\n|\r|\x1b\[[\d;?]*[a-zA-Z])", text):
        if part.endswith("\n"):
            lines.append("")
        elif part.startswith("\x1b") and part.endswith("A"):
            del lines[-int(part[2:-1] or 1) :]
        elif part in ("\r", "\x1b[2K"):
            lines[-1] = lines[-1] if part == "\r" else ""
        elif not part.startswith("\x1b"):
            lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def without_numbers(text: str) -> str:
    """The text with one sign for each number: models differ a little between processors, and times differ."""
    return " ".join(re.sub(r"\d[\d,.]*", "#", text).split())


def check(
    name: str, commands: list[str], folder: Path, request: pytest.FixtureRequest, screens: dict[str, str] | None = None
) -> str:
    """Run commands, whose first words differ, in a folder; compare the session with its recording, or record it."""
    screens = screens or in_a_terminal([shlex.split(command) for command in commands], folder)
    for command, screen in screens.items():
        assert command != "run" or not [line for line in screen.splitlines() if len(line) > 80]
    shown = "\n".join(f"$ eyechart {command}\n{screens[command.split()[0]]}" for command in commands)
    # A terminal folds long lines of the other commands, such as those of a card.
    shown = re.sub("(.{80})(?=.)", r"\1\n", shown.replace(f"{folder}/", ""))
    file = RECORDINGS / f"{name}.txt"
    if request.config.getoption("--recordings"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(shown)
    assert without_numbers(file.read_text()) == without_numbers(shown)
    return shown


def write_models(folder: Path, **noise: float) -> None:
    """Copies of the bundled model by name, each with as much noise on its weights."""
    for name, amount in noise.items():
        torch.manual_seed(0)
        model = AutoModelForImageTextToText.from_pretrained(tiny_vlm.folder())
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += amount * parameter.std() * torch.randn_like(parameter)
        model.save_pretrained(folder / name)
        AutoProcessor.from_pretrained(tiny_vlm.folder(), backend="pil").save_pretrained(folder / name)


@pytest.mark.slow
def test_a_default_run_is_one_screen(main_job: tuple[str, Path], request: pytest.FixtureRequest) -> None:
    screen, results = main_job
    shown = check("default_run", ["run --out results"], results.parent, request, {"run": screen}).splitlines()
    assert len(shown) <= 40 and shown[1] == "Preparing the run of eyechart/tiny-vlm"


@pytest.mark.slow
def test_three_models_end_with_their_comparison(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    write_models(tmp_path / "models", base=0.0, noisy=0.05, broken=0.5)
    models = " ".join(f"--model models/{name}" for name in ("base", "noisy", "broken"))
    check("three_models", [f"run q_bench --mini --limit 40 {models} --out results"], tmp_path, request)


@pytest.mark.slow
def test_an_own_benchmark_goes_from_its_csv_to_a_board(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    write_models(tmp_path / "models", base=0.0, broken=0.5)
    write_photos(tmp_path)
    shutil.copy(DOCS / "examples" / "opinion_scores.yaml", tmp_path)
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n# A model\n")
    commands = [
        "run opinion_scores.yaml --model models/base --model models/broken --out entries",
        "report entries/base entries/broken",
        "publish entries/base --model-repo me/base --same-model --card README.md --out card",
        "leaderboard build entries --tasks opinion_scores.yaml --out space",
    ]
    check("own_benchmark", commands, tmp_path, request)
