"""How many random faults the tests find: `python -m tests.benchmarks.mutations --number 60 --seed 0`.

Draws functions of `metrics/scoring`, `evaluators` and `datasets_scripts` with equal odds and puts one fault into each:
another comparison, condition, number or operator, None for a result, or a statement left out. The tests run on a copy
of the tree: those of the mirrored folder, then those that import the module or what imports it, then (with `--whole`)
all. A fault that none of them finds is printed as a diff: it is a gap in the tests, or changes nothing.
"""

import argparse
import ast
import difflib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("metrics/scoring", "evaluators", "datasets_scripts")
# Scripts that made the bundled model: their result is what is tested.
LEFT_OUT = ("evaluators/tiny_vlm/",)
FOLDERS = ("datasets_scripts", "evaluators", "hub_cards", "metrics")
FLIPPED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
FLIPPED |= {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And}
Fault = Callable[[], None]


def main() -> None:
    """Read the command line, put the faults in and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=12, help="faults to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", action="store_true", help="run all tests on faults that the nearest do not find")
    parser.add_argument("--processes", default="0", help="of pytest, as its option -n")
    arguments = parser.parse_args()
    rng, found = random.Random(arguments.seed), 0
    functions = [(path, place) for path in _sources() for place in range(len(_functions(_tree(path))))]
    with tempfile.TemporaryDirectory() as work:
        copy = _copy(Path(work))
        for number in range(1, arguments.number + 1):
            path, text, line = _mutant(functions, rng)
            start, original = time.monotonic(), (ROOT / path).read_text(encoding="utf-8")
            (copy / path).write_text(text, encoding="utf-8")
            finder = _finder(copy, path, arguments.whole, arguments.processes)
            (copy / path).write_text(original, encoding="utf-8")
            found += finder is not None
            result = f"found by {finder}" if finder else "SURVIVED"
            print(f"{number}. {path}:{line} {result} ({time.monotonic() - start:.0f} s)", flush=True)
            if finder is None:
                before = ast.unparse(ast.parse(original)).splitlines()
                print("\n".join(difflib.unified_diff(before, text.splitlines(), lineterm="", n=1)), flush=True)
    print(f"{found} of {arguments.number} faults were found")


def _sources() -> list[str]:
    paths = [path.relative_to(ROOT).as_posix() for folder in SOURCES for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in paths if not path.startswith(LEFT_OUT))


def _tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and any(_faults(node))]


def _mutant(functions: list[tuple[str, int]], rng: random.Random) -> tuple[str, str, int]:
    """A file, its text with one fault, and the line of the fault."""
    path, place = rng.choice(functions)
    tree = _tree(path)
    line, fault = rng.choice(list(_faults(_functions(tree)[place])))
    fault()
    return path, ast.unparse(ast.fix_missing_locations(tree)) + "\n", line


def _faults(function: ast.FunctionDef) -> Iterator[tuple[int, Fault]]:
    """The line of every fault that the function can get, and what puts it there."""
    for node in _code(function):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
            yield line, lambda node=node: node.ops.__setitem__(0, FLIPPED[type(node.ops[0])]())
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
            yield line, lambda node=node: setattr(node, "op", SWAPPED[type(node.op)]())
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield line, lambda node=node: setattr(node, "value", not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield line, lambda node=node: setattr(node, "value", node.value + 1)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield line, lambda node=node: setattr(node, "test", ast.UnaryOp(ast.Not(), deepcopy(node.test)))
        elif isinstance(node, ast.Return) and node.value is not None:
            yield line, lambda node=node: setattr(node, "value", ast.Constant(None))
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            for place, statement in enumerate(body if isinstance(body, list) else ()):
                is_call = isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant | ast.Yield)
                if is_call or isinstance(statement, ast.AugAssign | ast.Raise | ast.Continue | ast.Break):
                    yield statement.lineno, lambda body=body, place=place: body.__setitem__(place, ast.Pass())


def _code(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's body: no annotations, nothing of functions within it, no text of messages."""
    waiting: list[ast.AST] = [function]
    while waiting:
        node = waiting.pop()
        yield node
        inner = node.body if node is function else list(ast.iter_child_nodes(node))
        texts = ast.FunctionDef | ast.JoinedStr | ast.Raise
        waiting += [child for child in inner if not isinstance(child, texts)]
        if isinstance(node, ast.AnnAssign):
            waiting.remove(node.annotation)


def _copy(work: Path) -> Path:
    """A copy of the tree, whose folders are the packages that the tests import."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (work / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, work / "tree" / name)
    (work / "names" / "eyechart").mkdir(parents=True)
    for folder in FOLDERS:
        (work / "names" / "eyechart" / folder).symlink_to(work / "tree" / folder)
    return work / "tree"


def _finder(copy: Path, path: str, whole: bool, processes: str) -> str | None:
    """The tests that find the fault in a file: "mirrored", "related" or "all"; None if none do."""
    mirrored = _mirrored(copy, path)
    related = sorted(_importing(copy, path) - {test for test in _importing(copy, path) for m in mirrored if m in test})
    stages = {"mirrored": mirrored, "related": related, "all": ["tests"] if whole else []}
    environment = os.environ | {"PYTHONPATH": str(copy.parent / "names"), "PYTHONDONTWRITEBYTECODE": "1"}
    for name, tests in stages.items():
        if tests:
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", processes, "-p", "no:cacheprovider", *tests]
            if subprocess.run(command, cwd=copy, env=environment, capture_output=True, check=False).returncode:
                return name
    return None


def _mirrored(copy: Path, path: str) -> list[str]:
    """The module's own test file, or the nearest folder that mirrors its own."""
    own = Path("tests") / Path(path).parent / f"test_{Path(path).stem}.py"
    if (copy / own).exists():
        return [own.as_posix()]
    folder = own.parent
    while not any((copy / folder).glob("test_*.py")):
        folder = folder.parent
    return [folder.as_posix()]


def _importing(copy: Path, path: str) -> set[str]:
    """The test files that import a module, or a module that imports it."""
    texts = {file.relative_to(copy).as_posix(): file.read_text("utf-8") for file in copy.rglob("*.py")}

    def importing(module: str) -> set[str]:
        parent, _, name = module.rpartition(".")
        pattern = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(parent)} import [^\n]*\b{name}\b")
        return {file for file, text in texts.items() if pattern.search(text)}

    def module_of(file: str) -> str:
        return "eyechart." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    users = importing(module_of(path))
    further = {file for user in users if not user.startswith("tests/") for file in importing(module_of(user))}
    return {file for file in users | further if Path(file).name.startswith("test_")}


if __name__ == "__main__":
    main()
