"""A session in a terminal of 80 columns, and what a person sees of it."""

import contextlib
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
