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
WINGS = {
    "datasets_scripts": ("datasets_scripts",),
    "metrics": ("datasets_scripts", "metrics"),
    "evaluators": ("datasets_scripts", "metrics", "evaluators"),
    "hub_cards": ("datasets_scripts", "metrics", "evaluators", "hub_cards"),
}
"""What each wing may import; of `hub_cards`, the commands alone import anything."""


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(file: Path) -> Iterator[str]:
    """Dotted names of ours that a file imports, wherever it does so, without "eyechart."."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "eyechart":
            for name in node.names:
                yield f"{node.module}.{name.name}".removeprefix("eyechart.")
        elif isinstance(node, ast.Import):
            yield from (name.name.removeprefix("eyechart.") for name in node.names if name.name.startswith("eyechart."))


def room_of(name: str) -> str | None:
    """The room of `evaluators` that a dotted name is in; None for its two loose files."""
    wing, _, rest = name.partition(".")
    room = rest.partition(".")[0]
    return room if wing == "evaluators" and room in ROOMS else None


@pytest.mark.parametrize("wing", WINGS)
def test_wings_import_only_those_before_them(wing):
    found = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in modules(wing)
        for name in imported(file)
        if name.partition(".")[0] not in WINGS[wing] and "commands" not in file.parts
    ]
    assert found == []


def test_scoring_needs_no_other_wing():
    names = {name for file in modules("metrics/scoring") for name in imported(file)}
    assert {name for name in names if not name.startswith("metrics.")} == set()


def test_cards_and_boards_use_finished_runs_and_how_they_are_scored():
    rooms = {room_of(name) for file in modules("hub_cards") for name in imported(file)} - {None}
    assert rooms <= {"requests", "published", "results", "tasks", "evaluation", "comparison"}


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_of_evaluators_import_only_those_before_them(room):
    found = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in modules(f"evaluators/{room}")
        for name in imported(file)
        if name.startswith("evaluators.")
        and ((other := room_of(name)) is None or ROOMS.index(other) > ROOMS.index(room))
        # The commands use the package as its users do.
        and not (other is None and room == "commands")
    ]
    assert found == []


def test_only_the_front_door_imports_the_commands():
    door = ROOT / "evaluators" / "cli.py"
    files = [file for wing in WINGS for file in modules(wing) if "commands" not in file.parts and file != door]
    assert [file for file in files if any(name.startswith("evaluators.commands") for name in imported(file))] == []


def test_the_loose_files_of_evaluators_are_its_front_door():
    loose = sorted(path.name for path in (ROOT / "evaluators").glob("*.py"))
    assert loose == ["__init__.py", "__main__.py", "cli.py"]


def test_every_folder_of_evaluators_is_a_room():
    folders = {path.name for path in (ROOT / "evaluators").iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert folders == set(ROOMS)


def at_import(file: Path) -> Iterator[str]:
    """Modules of ours that a file imports when it is imported itself."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("eyechart."):
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield (whole if path_of(whole) is not None else node.module)


def path_of(name: str) -> Path | None:
    """The file of a module; None for other names."""
    place = ROOT.joinpath(*name.split(".")[1:])
    found = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in found if path.is_file()), None)


def test_no_module_imports_itself_through_others():
    files = [file for wing in WINGS for file in modules(wing)]
    graph = {file: {path for name in at_import(file) if (path := path_of(name)) is not None} for file in files}
    done: set[Path] = set()

    def visit(file: Path, way: tuple[Path, ...]) -> None:
        assert file not in way, " -> ".join(str(one.relative_to(ROOT)) for one in (*way[way.index(file) :], file))
        if file not in done:
            for other in sorted(graph.get(file, ())):
                visit(other, (*way, file))
            done.add(file)

    for file in files:
        visit(file, ())
