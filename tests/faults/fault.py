"""The form of a row of the fault list: what is done to eyechart, and what must happen then.

Each file of this folder is a family of faults, and each of its tests a row: `@fault(done, expected)` above a test, or
`row(done, expected, *values)` in a table of `pytest.mark.parametrize`. The run that CI makes writes them all, with
their outcomes, to `docs/faults.md`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

HEAD = """\
# What was tried to break it

{count} faults, each a test in `tests/faults`, with the outcome of the last run of CI, which writes this file
(`pytest tests/faults --faults-table=docs/faults.md`). A row is what is done and what must happen.
"""


def fault(done: str, expected: str) -> pytest.MarkDecorator:
    """Makes a test a row of the list."""
    return pytest.mark.fault(done, expected)


def row(done: str, expected: str, *values: Any) -> Any:
    """A row of a table of such tests, with the values that the test takes."""
    return pytest.param(*values, id=done, marks=fault(done, expected))


class Outcomes:
    """Collects the outcomes of a run, in whichever process a test ran, and writes the table at its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[tuple[str, str, str], str] = {}

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
                before = self.found.get((family, done, expected), "held")
                now = {"passed": "held", "skipped": "not tried here", "failed": "**did not hold**"}[report.outcome]
                self.found[family, done, expected] = before if now == "held" else now

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            self.path.write_text(table(self.found), encoding="utf-8")


def table(found: Mapping[tuple[str, str, str], str]) -> str:
    """The list as a document, one table a family."""
    parts = [HEAD.format(count=len(found))]
    for family in sorted({family for family, _, _ in found}):
        rows = sorted((done, expected, outcome) for (of, done, expected), outcome in found.items() if of == family)
        lines = [f"| {_cell(done)} | {_cell(expected)} | {outcome} |" for done, expected, outcome in rows]
        parts.append(
            "\n".join(
                [f"\n## {family}\n", "| what is done | what must happen | outcome |", "|---|---|---|", *lines, ""]
            )
        )
    return "".join(parts)


def check_rows(items: Iterable[pytest.Item]) -> None:
    """Refuse a test of this folder without a row, and rows that appear twice."""
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
