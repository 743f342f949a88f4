"""Imports point back along the flow of the data; names and signatures are short and clear; examples are true."""

import ast
import doctest
import importlib
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.tasks import TASKS
from eyechart.metrics.scores import SCORES

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("tiny_vlm", "published", "requests", "backends", "answer_files", "judging", "results", "protocols", "tasks"),
    *("evaluation", "comparison", "report", "inspect_bridge", "text_to_score", "runs", "commands"),
)
"""The rooms of `evaluators`, lowest first: a room imports only rooms before it."""
WINGS = ("datasets_scripts", "metrics", "evaluators", "hub_cards")
"""A wing imports only those before it; the commands of `hub_cards` import anything."""


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(file: Path, *, on_import: bool = False) -> Iterator[str]:
    """Dotted names of ours that a file imports, wherever it does so or when it is imported, without "eyechart."."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body if on_import else ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "eyechart":
            yield from (f"{node.module}.{name.name}".removeprefix("eyechart.") for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name.removeprefix("eyechart.") for name in node.names if name.name.startswith("eyechart."))


def room_of(name: str) -> str | None:
    """The room of `evaluators` that a dotted name is in; None for its loose files."""
    wing, _, rest = name.partition(".")
    room = rest.partition(".")[0]
    return room if wing == "evaluators" and room in ROOMS else None


@pytest.mark.parametrize("wing", WINGS)
def test_wings_import_only_those_before_them(wing):
    files = [file for file in modules(wing) if "commands" not in file.parts]
    allowed = WINGS[: WINGS.index(wing) + 1]
    later = [f"{file.name}: {name}" for file in files for name in imported(file) if not name.startswith(allowed)]
    assert later == []
    # Only the front door imports the commands.
    others = [file for file in files if file != ROOT / "evaluators" / "cli.py"]
    assert not any(name.startswith("evaluators.commands") for file in others for name in imported(file))


def test_scoring_needs_no_other_wing():
    assert all(name.startswith("metrics.") for file in modules("metrics/scoring") for name in imported(file))


def test_cards_and_boards_use_finished_runs_and_how_they_are_scored():
    rooms = {room_of(name) for file in modules("hub_cards") for name in imported(file)} - {None}
    assert rooms <= {"requests", "published", "results", "tasks", "evaluation", "comparison"}


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_of_evaluators_import_only_those_before_them(room):
    for file in modules(f"evaluators/{room}"):
        for name in imported(file):
            other = room_of(name)
            # The commands use the package as its users do.
            if name.startswith("evaluators.") and not (other is None and room == "commands"):
                assert other is not None and ROOMS.index(other) <= ROOMS.index(room), f"{file}: {name}"


def test_every_folder_of_evaluators_is_a_room_and_the_loose_files_are_its_front_door():
    paths = [path for path in (ROOT / "evaluators").iterdir() if path.name != "__pycache__"]
    assert {path.name for path in paths if path.is_dir()} == set(ROOMS)
    assert {path.name for path in paths if path.suffix == ".py"} == {"__init__.py", "__main__.py", "cli.py"}


def path_of(name: str) -> Path | None:
    """The file of a module, or of the module that a name is in; None for other names."""
    place = ROOT / name.replace(".", "/")
    files = (place.with_suffix(".py"), place / "__init__.py", place.parent.with_suffix(".py"))
    return next((path for path in (*files, place.parent / "__init__.py") if path.is_file()), None)


def test_no_module_imports_itself_through_others():
    files = [file for wing in WINGS for file in modules(wing)]
    graph = {file: {path_of(name) for name in imported(file, on_import=True)} - {None} for file in files}
    done: set[Path] = set()

    def visit(file: Path, way: tuple[Path, ...]) -> None:
        assert file not in way, " -> ".join(str(path.relative_to(ROOT)) for path in (*way[way.index(file) :], file))
        if file not in done:
            for other in sorted(graph.get(file, ())):
                visit(other, (*way, file))
            done.add(file)

    for file in files:
        visit(file, ())


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


def test_no_regular_expression_that_early_python_3_11_reads_differently() -> None:
    """Before 3.11.5, possessive quantifiers and atomic groups match too little (python/cpython#106052)."""
    odd = [
        f"{file.name}:{node.lineno}"
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and re.search(r"[+*?}]\+|\(\?>", str(node.value))
    ]
    assert odd == []


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


WITH_EXAMPLES = [path for wing in WINGS for path in modules(wing) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_in_docstrings(path: Path) -> None:
    name = ".".join(("eyechart", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted and not result.failed
