"""The order of the rooms: imports point back along the flow of the data, never forward."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("tiny_vlm", "published", "requests", "backends", "answer_files", "judging", "results", "protocols", "tasks"),
    *("evaluation", "comparison", "report", "text_to_score", "runs", "commands"),
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
