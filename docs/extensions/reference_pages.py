"""Reference pages that are made of the code before the site is built, so that none of them can be out of date."""

import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"


def commands() -> str:
    """Every command with its arguments and options, as typer's own tool describes them."""
    command = [sys.executable, "-m", "typer", "eyechart.evaluators.cli", "utils", "docs", "--name", "eyechart"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # The first heading and its list of options; the page has a heading of its own.
    text = made.partition("\n")[2].replace("```console\n$ ", "```text\n").replace("&#x27;", "'").replace("&quot;", '"')
    # Lists of commands have only the first words of each; a link says more.
    parent, is_list, linked = "eyechart", False, []
    for line in text.splitlines():
        if line.startswith("## "):
            parent = line.strip("# `")
        if line.startswith("**"):
            is_list = line == "**Commands**:"
        if is_list and (name := re.match(r"\* `(.+?)`: ", line)):
            line = f"* [`{name[1]}`](#{parent.replace(' ', '-')}-{name[1]})"
        linked.append(line)
    return "\n".join(linked) + "\n"


def settings() -> str:
    """A table for each set of settings, above it the tasks that have it."""
    from eyechart.evaluators.protocols.settings import list_settings
    from eyechart.evaluators.tasks import TASKS

    tables: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for task in TASKS:
        rows = [
            (f"`{one.name}`", one.type, "" if one.default is None else f"`{one.default}`".lower(), one.meaning)
            for one in list_settings(task.protocol)
        ]
        tables.setdefault(tuple(rows), []).append(task.name)
    head = ("setting", "values", "default", "meaning")
    return "\n".join(f"## {', '.join(names)}\n\n{_table(head, rows)}" for rows, names in tables.items())


def scores() -> str:
    """A table of every score that a metric returns, from the table in `metrics/scores.py`."""
    from eyechart.metrics import list_metrics
    from eyechart.metrics.score_spec import Unit
    from eyechart.metrics.scores import specs_of

    parts = []
    for name in list_metrics():
        specs = [one for one in specs_of(name) if one.unit is not Unit.COUNT]
        best = {True: "high", False: "low", None: ""}
        rows = [
            (f"`{one.key}`", one.label, one.unit.value, f"{one.low:g} to {one.high:g}", best[one.higher_is_better])
            for one in specs
        ]
        parts.append(f"## {name}\n\n{_table(('score', 'label', 'unit', 'range', 'best'), rows)}")
    return "\n".join(parts)


def _card(path: Path) -> str:
    """A card without the front matter that is for the Hub."""
    return path.read_text(encoding="utf-8").split("---\n", 2)[2]


def write(folder: Path) -> None:
    """Write all of them; what is as it was is left, so that Sphinx reads it once.

    Args:
        folder: The reference section of the site.
    """
    from eyechart import datasets_scripts, hub_cards, metrics

    pages = {f"generated/{page.__name__}.md": page() for page in (commands, settings, scores)}
    for name in metrics.list_metrics():
        pages[f"metrics/{name}.md"] = _card(Path(metrics.__path__[0]) / name / "README.md")
    for name in datasets_scripts.list_datasets():
        pages[f"data_sets/{name}.md"] = _card(Path(hub_cards.__path__[0]) / "datasets" / f"{name}.md")
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _link_cards(_app: Sphinx, _page: str, source: list[str]) -> None:
    """In a checkout, links to cards lead to the cards; in the site, to the pages that are made of them."""
    text = re.sub(r"\]\(\.\./\.\./hub_cards/datasets/(\w+)\.md", r"](data_sets/\1.md", source[0])
    source[0] = re.sub(r"\]\(\.\./\.\./metrics/(\w+)/README\.md", r"](metrics/\1.md", text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the pages before Sphinx looks for them."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "reference"))
    app.connect("source-read", _link_cards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
