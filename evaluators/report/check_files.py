"""Files about the checks of a run: JUnit XML, which CI systems show as tests, and a summary as Markdown."""

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from eyechart.evaluators.comparison.checks import Check, Outcome
from eyechart.evaluators.report.drawing import one_line
from eyechart.evaluators.report.tables import markdown
from eyechart.evaluators.requests.values import printable

_NAME = "eyechart check"
_ELEMENTS: Mapping[Outcome, str] = {"failed": "failure", "error": "error", "skipped": "skipped"}


def to_junit(checks: Sequence[Check]) -> bytes:
    """The checks as JUnit XML, valid by the schemas of Ant and of Jenkins.

    The schemas: https://github.com/windyroad/JUnit-Schema and junit-10.xsd of https://github.com/jenkinsci/xunit-plugin.
    """
    outcomes = Counter(check.outcome for check in checks)
    numbers = map(str, (len(checks), *(outcomes[outcome] for outcome in _ELEMENTS)))
    counts = dict(zip(("tests", "failures", "errors", "skipped"), numbers, strict=True))
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    about = {"name": _NAME, "package": "eyechart", "id": "0", "timestamp": now, "hostname": "localhost", "time": "0"}
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", about | counts)
    ElementTree.SubElement(suite, "properties")
    for check in checks:
        # GitLab takes cases of the same class and name for one.
        name = _plain(f"{check.title}: {check.requirement}")
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": f"eyechart.{_plain(check.task)}", "name": name, "time": "0"}
        )
        text = _plain(check.finding)
        if check.outcome == "skipped":
            ElementTree.SubElement(case, "skipped", {"message": text})
        elif check.outcome != "passed":
            problem = ElementTree.SubElement(case, _ELEMENTS[check.outcome], {"message": text, "type": check.outcome})
            problem.text = _plain(check.text)
    for name in ("system-out", "system-err"):
        ElementTree.SubElement(suite, name)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def to_summary(checks: Sequence[Check]) -> str:
    """The checks as a Markdown table below a sentence that says how many passed."""
    rows = [(check.outcome, check.title, check.requirement, check.finding) for check in checks]
    lines = [f"| {' | '.join(markdown(printable(text)) for text in row)} |" for row in rows]
    head = ["| outcome | task | requirement | result |", "|---|---|---|---|"]
    return "\n".join([f"### {_NAME}: {passed_words(checks)}", "", *head, *lines, ""])


def passed_words(checks: Sequence[Check]) -> str:
    """How many checks passed."""
    tested = [check for check in checks if check.outcome != "skipped"]
    return f"{sum(check.outcome == 'passed' for check in tested)} of {len(tested)} passed"


def _plain(text: str) -> str:
    """A text on one line, with characters that XML allows."""
    return one_line(printable(text))
