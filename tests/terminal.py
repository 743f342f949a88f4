"""Runs commands in a terminal of a given width."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

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


def in_a_terminal(
    commands: dict[int, list[list[str]]], folder: Path | None = None, *, with_messages: bool = False
) -> dict[int, dict[str, str]]:
    """What each command leaves on the screen at each width, without colours.

    Args:
        commands: The commands at each width; of each width, their first words differ.
        folder: Where they run; here by default.
        with_messages: Whether the terminal shows progress and messages too.
    """
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, json.dumps(commands)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs if with_messages else subprocess.DEVNULL,
        env={**env, "TERM": "xterm"},
        cwd=folder,
    )
    os.close(theirs)
    found = b""
    # Linux ends the reading with an error where the other side is closed.
    try:
        while part := os.read(ours, 65536):
            found += part
    except OSError:
        pass
    assert child.wait() == 0, found.decode()
    shown = {}
    for part in found.decode().split("# width ")[1:]:
        width, _, text = part.partition("\r\n")
        shown[int(width)] = dict(
            re.findall(r"^\$ (\w+)\n(.*?)(?=^\$ |\Z)", on_screen(text), flags=re.DOTALL | re.MULTILINE)
        )
    return shown


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
