"""Names of tasks and keys of scores stand where they are declared; everything else follows from the declarations."""

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.tasks import TASKS
from eyechart.metrics.scores import SCORES

ROOT = Path(__file__).parents[1]
_DECLARED = ("evaluators/tasks/", "evaluators/protocols/")
_COLUMNS = {field.name for protocol in PROTOCOLS.values() for field in fields(protocol.item_type)}
TASK_NAMES = {task.name for task in TASKS}
# Words such as "sum" and "n" are keys of scores, and much else.
SCORE_KEYS = {spec.key for spec in SCORES} - _COLUMNS - {"n", "sum", "mean", "gain", "leak"}


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file with their lines, except docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    expressions = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    docstrings = {id(value) for value in expressions if isinstance(value, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def test_tasks_and_scores_are_named_where_they_are_declared() -> None:
    files = [file for wing in ("evaluators", "hub_cards") for file in sorted((ROOT / wing).rglob("*.py"))]
    named = [
        f"{place}:{line}: {text!r:.60}"
        for file in files
        if not (place := file.relative_to(ROOT).as_posix()).startswith(_DECLARED)
        for line, text in texts(file)
        if text in SCORE_KEYS or any(name in text for name in TASK_NAMES)
    ]
    assert named == []
