"""Marks tests as rows of the fault list: a fault, and the behaviour that is expected.

Each file in this folder is a family of faults, and each of its tests is a row: put `@fault(done, expected)` above a
test, or use `rows(expected, (done, *values), ...)` in `pytest.mark.parametrize`. CI writes all rows with their outcomes
to `docs/faults.md`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

HEAD = """\
# Fault list

{count} faults that eyechart must survive, by family. A line in bold is the behaviour that is expected of the faults
below it. CI tests all of them on every change and writes this page.

"""


def fault(done: str, expected: str) -> pytest.MarkDecorator:
    """Mark a test as a row of the list."""
    return pytest.mark.fault(done, expected)


def row(done: str, expected: str, *values: Any) -> Any:
    """A row of a parametrized test, with the values that the test takes."""
    return pytest.param(*values, id=done, marks=fault(done, expected))


def rows(expected: str, *faults: tuple[Any, ...]) -> list[Any]:
    """Rows with the same expected behaviour, each a fault and the values that the test takes."""
    return [row(done, expected, *values) for done, *values in faults]


class Outcomes:
    """Collects the outcomes of a run from all its processes, and writes the table at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[tuple[str, str, str], str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        report = yield
        mark = item.get_closest_marker("fault")
        if mark is not None:
            report.user_properties.append(("fault", [_family(item), *mark.args]))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == "fault":
                family, done, expected = value
                before = self.outcomes.get((family, done, expected), "passed")
                now = {"passed": "passed", "skipped": "skipped here", "failed": "**failed**"}[report.outcome]
                self.outcomes[family, done, expected] = before if now == "passed" else now

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            self.path.write_text(table(self.outcomes), encoding="utf-8")


def table(outcomes: Mapping[tuple[str, str, str], str]) -> str:
    """The list as a document: the families, then a table for each."""
    families: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for (family, done, expected), outcome in sorted(outcomes.items()):
        families.setdefault(family, {}).setdefault(expected, []).append((done, outcome))
    summary, tables = ["| family | faults | passed |", "|---|---|---|"], []
    for family, by_behaviour in families.items():
        found = [outcome for rows in by_behaviour.values() for _, outcome in rows]
        summary.append(f"| {_cell(family)} | {len(found)} | {found.count('passed')} |")
        tables += [f"\n## {family}\n", "| fault | outcome |", "|---|---|"]
        for expected, rows in by_behaviour.items():
            tables += [f"| **{_cell(expected)}** | |", *(f"| {_cell(done)} | {outcome} |" for done, outcome in rows)]
    return HEAD.format(count=len(outcomes)) + "\n".join([*summary, *tables, ""])


def check_rows(items: Iterable[pytest.Item]) -> None:
    """Refuse a test in this folder without a row, and duplicate rows."""
    seen: dict[tuple[str, ...], str] = {}
    for item in items:
        if "faults" not in item.path.parts:
            continue
        mark = item.get_closest_marker("fault")
        if mark is None:
            raise pytest.UsageError(f"{item.nodeid} has no row in the list: add @fault(done, expected)")
        if (other := seen.setdefault((_family(item), *mark.args), item.nodeid)) != item.nodeid:
            raise pytest.UsageError(f"{item.nodeid} and {other} have the same row in the list")


def _family(item: pytest.Item) -> str:
    """The first line of the file's docstring, without its full stop."""
    module = item.getparent(pytest.Module)
    assert module is not None and module.obj.__doc__
    return str(module.obj.__doc__.splitlines()[0].rstrip("."))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
