"""Generates reference pages from the code before the site is built, so that they are always up to date."""

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
    """Every command with its arguments and options, as documented by typer, in the groups that `--help` shows."""
    command = [sys.executable, "-m", "typer", "eyechart.evaluators.cli", "utils", "docs", "--name", "eyechart"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Drop typer's first heading: the page already has one.
    text = re.sub(r"(?ms)^##+ `eyechart (.+?)`.+?(?=^##|\Z)", _group_options, made.partition("\n")[2])
    text = text.replace("```console\n$ ", "```text\n").replace("&#x27;", "'").replace("&quot;", '"')
    # Lists of commands show only the first words of each description, so replace them with links.
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


def _group_options(section: re.Match[str]) -> str:
    """A command's section with the headings of its groups of options, which typer's text lacks."""
    from typer.main import get_command

    from eyechart.evaluators.cli import app

    command: Any = get_command(app)
    for name in section[1].split():
        command = command.get_command(None, name)
    group_of = {option: parameter.rich_help_panel for parameter in command.params for option in parameter.opts}
    before, _, lines = section[0].partition("**Options**:\n\n")
    lines, gap, after = lines.partition("\n\n")
    groups: dict[str, list[str]] = {"Options": []}
    for line in lines.splitlines():
        group = group_of.get(line.strip("* `").partition(" ")[0].rstrip("`:,")) or "Options"
        groups.setdefault(group, []).append(line)
    shown = (f"**{group}**:\n\n" + "\n".join(listed) for group, listed in groups.items())
    return before + "\n\n".join(shown) + gap + after


def settings() -> str:
    """One table of settings for each group of tasks with the same settings; the heading lists the tasks."""
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
        better = {True: "higher", False: "lower", None: ""}
        rows = [
            (f"`{one.key}`", one.label, one.unit.value, f"{one.low:g} to {one.high:g}", better[one.higher_is_better])
            for one in specs
        ]
        parts.append(f"## {name}\n\n{_table(('score', 'label', 'unit', 'range', 'better'), rows)}")
    return "\n".join(parts)


def _card(path: Path) -> str:
    """A card without its front matter, which only the Hub needs."""
    return path.read_text(encoding="utf-8").split("---\n", 2)[2]


def write(folder: Path) -> None:
    """Write all generated pages; unchanged files are not rewritten, so Sphinx need not read them again.

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
    """Redirect links to the cards in the repository to the pages generated from them."""
    text = re.sub(r"\]\(\.\./\.\./hub_cards/datasets/(\w+)\.md", r"](data_sets/\1.md", source[0])
    source[0] = re.sub(r"\]\(\.\./\.\./metrics/(\w+)/README\.md", r"](metrics/\1.md", text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Generate the pages before Sphinx reads its sources."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "reference"))
    app.connect("source-read", _link_cards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
