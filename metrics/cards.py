"""Metric cards: the README.md in a metric's folder, from which its `evaluate` module and its Space take their texts."""

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parent


def card(name: str) -> str:
    """The text of a metric's card, without its front matter."""
    return _parts(name)[1].lstrip()


def examples(name: str) -> list[dict[str, Any]]:
    """The arguments of the JSON examples in a metric's card, one for each configuration."""
    return [json.loads(block) for block in _blocks(card(name), "json")]


def module_texts(name: str) -> dict[str, str]:
    """The arguments of `evaluate.MetricInfo` that a metric's card holds."""
    front, text = _parts(name)
    described = {
        "Args": "\n".join(_lines(text, "Inputs")),
        "Returns": "\n".join(_lines(text, "Output values")),
        "Examples": textwrap.indent("\n".join(_blocks(text, "python")), "    ").rstrip(),
    }
    return {
        "description": yaml.safe_load(front)["description"],
        "citation": "".join(_blocks(text, "bibtex")),
        "inputs_description": "\n\n".join(f"{heading}:\n{part}" for heading, part in described.items()),
    }


def _parts(name: str) -> tuple[str, str]:
    front, _, text = (_FOLDER / name / "README.md").read_text(encoding="utf-8").partition("\n---\n")
    return front.removeprefix("---\n"), text


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def _lines(text: str, heading: str) -> list[str]:
    """The rows of a section's table of names, types or ranges, and meanings."""
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:4] for line in section.splitlines() if line.startswith("|")][2:]
    cells = [[cell.replace("\\|", "|").replace("&nbsp;", " ").strip() for cell in row] for row in rows]
    lines = [f"{names.replace('`', '')}{kind and f' ({kind})'}: {meaning}" for names, kind, meaning in cells]
    return [textwrap.fill(line, 120, initial_indent=" " * 4, subsequent_indent=" " * 8) for line in lines]
