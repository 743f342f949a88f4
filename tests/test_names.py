"""Tasks and scores are named where they are declared, names say what a thing is, and signatures are short."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.tasks import TASKS
from eyechart.metrics.scores import SCORES

ROOT = Path(__file__).parents[1]
_DECLARED = ("evaluators/tasks/", "evaluators/protocols/")
_COLUMNS = {field.name for protocol in PROTOCOLS.values() for field in fields(protocol.item_type)}
_SETTINGS = {field.name for protocol in PROTOCOLS.values() for field in fields(protocol)}
TASK_NAMES = {task.name for task in TASKS}
_NESTED = {spec.key.partition(".")[0] for spec in SCORES if "." in spec.key} - _SETTINGS
# Words such as "sum" and "n" are keys of scores, and much else.
SCORE_KEYS = ({spec.key for spec in SCORES} | _NESTED) - _COLUMNS - {"n", "sum", "mean"}
_ENDINGS = (".py", ".js", ".html", ".jinja")
_WINGS = (ROOT / "evaluators", ROOT / "hub_cards")
SOURCES = [file for wing in _WINGS for file in sorted(wing.rglob("*")) if file.suffix in _ENDINGS]
FILES = [file for file in SOURCES if file.suffix == ".py"]
# Names that say nothing of the thing: "responses" and "question" do.
_EMPTY_NAMES = {"found", "gone", "kept", "made", "one", "own", "told"}
_MOST_PARAMETERS = 7
# The signatures of commands, whose parameters are their options, and of evaluate's own interface.
_LONG_SIGNATURES = {"export", "plan", "publish", "run", "compute"}


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file with their lines, except docstrings; the quoted ones of a page."""
    if file.suffix != ".py":
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            yield from ((number, text) for _, text in re.findall(r"""(["'`])(.*?)\1""", line))
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    expressions = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    docstrings = {id(value) for value in expressions if isinstance(value, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def test_tasks_and_scores_are_named_where_they_are_declared() -> None:
    named = [
        f"{place}:{line}: {text!r:.60}"
        for file in SOURCES
        if not (place := file.relative_to(ROOT).as_posix()).startswith(_DECLARED)
        for line, text in texts(file)
        if text in SCORE_KEYS or any(name in text for name in TASK_NAMES)
    ]
    assert named == []


def test_names_and_signatures() -> None:
    unclear = []
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None)
            if name in _EMPTY_NAMES:
                unclear.append(f"{file.name}:{node.lineno}: {name}")
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in _LONG_SIGNATURES:
                arguments = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
                if len(set(arguments) - {"self", "cls"}) > _MOST_PARAMETERS:
                    unclear.append(f"{file.name}:{node.lineno}: {node.name} has {len(arguments)} parameters")
    assert unclear == []
