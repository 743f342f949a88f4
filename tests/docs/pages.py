"""Reads the code blocks of README and the site."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<kind>[^\n`]*)\n(?P<text>.*?)^(?P=fence) *$", re.DOTALL | re.MULTILINE)
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\n*\Z")
_OUTPUT = re.compile(r"\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?:< )?[-+]?\d[\d.,]*|─+")
_LEFT_OUT = "..."


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    """Its path in the repository."""
    line: int
    kind: str
    """The word after the fence, such as python or shell."""
    text: str
    not_run: str
    """Why it cannot be run in a test; "" if it can."""
    output: str
    """The text block directly below it with its output; "" if there is none."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Line:
    """A command of a block."""

    block: Block
    number: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.block.page}:{self.number}"


def pages() -> list[Path]:
    """README and the handwritten pages, without generated pages and cards, which have separate tests."""
    made = {ROOT / "docs" / "reference" / name for name in ("generated", "metrics", "data_sets")}
    found = [path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts and path.parent not in made]
    return [ROOT / "README.md", *sorted(found)]


def blocks(*kinds: str) -> list[Block]:
    """All blocks of these kinds."""
    found = []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        for match in _FENCE.finditer(text):
            if match["kind"].strip() in kinds:
                reason = _NOT_RUN.search(text[: match.start()])
                line = text.count("\n", 0, match.start()) + 1
                name = path.relative_to(ROOT).as_posix()
                kind = match["kind"].strip()
                output = _OUTPUT.match(text, match.end())
                found.append(
                    Block(name, line, kind, match["text"], reason[1] if reason else "", output[1] if output else "")
                )
    return found


def not_printed(output: str, printed: str) -> list[str]:
    """The parts of the output on a page, split at lines of "...", that do not occur in the printed output.

    Numbers and line breaks may differ, because kernels and widths differ between machines.
    """
    parts = [_shape(part) for part in re.split(rf"^{re.escape(_LEFT_OUT)}$", output, flags=re.MULTILINE)]
    return [part for part in parts if part not in _shape(printed)]


def _shape(text: str) -> str:
    return " ".join(_NUMBER.sub("0", text).split())


def commands(block: Block) -> Iterator[Line]:
    """The commands of a shell block; lines continued with a backslash are joined, and those with && are split."""
    number, text = block.line + 1, ""
    for place, line in enumerate(block.text.splitlines(), number):
        if not text:
            number = place
        text += line.removesuffix("\\") if line.endswith("\\") else line
        if not line.endswith("\\"):
            for part in text.split(" && "):
                words = shlex.split(part, comments=True)
                if words:
                    yield Line(block, number, tuple(words))
            text = ""
