"""Selects and tests mutants for cosmic-ray; CONTRIBUTING.md lists the commands.

`sample SESSION --number 100 --seed 0` keeps that many mutants of a session, each at a different place in the code, and
deletes the others. `test` runs the tests on the current mutant: first the tests of the mirrored folder and, if they
pass, the tests that import the changed module directly or indirectly. It exits with 1 as soon as a test fails.
"""

import argparse
import random
import re
import sqlite3
import subprocess
import sys
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A test that waits for ever has found the mutant, too.
PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
PYTEST += ["-o", "faulthandler_timeout=300", "-o", "faulthandler_exit_on_timeout=true"]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("test")
    sampling = commands.add_parser("sample")
    sampling.add_argument("session", type=Path)
    sampling.add_argument("--number", type=int, default=100)
    sampling.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.command == "sample":
        sample(arguments.session, arguments.number, arguments.seed)
    else:
        sys.exit(test())


def sample(session: Path, number: int, seed: int) -> None:
    """Keep a sample of the mutants that no filter has skipped and that compile, one at each place of the code."""
    query = """SELECT module_path, start_pos_row, start_pos_col, operator_name, occurrence, job_id FROM mutation_specs
        WHERE job_id NOT IN (SELECT job_id FROM work_results) ORDER BY module_path, operator_name, occurrence"""
    with sqlite3.connect(session) as database:
        mutants = database.execute(query).fetchall()
        random.Random(seed).shuffle(mutants)
        places = {mutant[:3]: mutant for mutant in mutants}
        compiling = ([job] for path, _, _, *how, job in places.values() if _compiles(path, *how))
        kept = list(islice(compiling, number))
        database.execute("CREATE TEMP TABLE kept (job_id)")
        database.executemany("INSERT INTO kept VALUES (?)", kept)
        for table in ("work_results", "mutation_specs", "work_items"):
            database.execute(f"DELETE FROM {table} WHERE job_id NOT IN (SELECT job_id FROM kept)")
    print(f"{len(kept)} of {len(mutants)} mutants, which are at {len(places)} places")


def _compiles(path: str, operator: str, occurrence: int) -> bool:
    """False for stars that are not multiplications, and for exceptions that have a dotted name."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    try:
        compile(mutate_code((ROOT / path).read_text("utf-8"), get_operator(operator)(), occurrence), path, "exec")
    except (SyntaxError, AttributeError):
        return False
    return True


def test() -> int:
    """0 where no test finds the mutant, 1 where one does."""
    changed = subprocess.run(["git", "diff", "--name-only"], cwd=ROOT, check=True, capture_output=True, text=True)
    (path,) = changed.stdout.splitlines()
    mirrored = _mirrored(path)
    related = sorted(test for test in _importing(path) if not test.startswith(mirrored))
    return int(any(subprocess.run([*PYTEST, *tests], cwd=ROOT).returncode for tests in ([mirrored], related) if tests))


def _mirrored(path: str) -> str:
    """The module's own test file, or the nearest folder that mirrors its own."""
    own = ROOT / "tests" / Path(path).parent / f"test_{Path(path).stem}.py"
    folders = (folder for folder in own.parents if any(folder.glob("test_*.py")))
    return (own if own.exists() else next(folders)).relative_to(ROOT).as_posix()


def _importing(path: str) -> set[str]:
    """The test files that import a module, or a module that imports it."""
    texts = {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in ROOT.rglob("*.py")}

    def users(path: str) -> set[str]:
        module = "eyechart." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        parent, _, name = module.rpartition(".")
        pattern = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(parent)} import [^\n]*\b{name}\b")
        return {file for file, text in texts.items() if pattern.search(text)}

    direct = users(path)
    further = {test for file in direct if not file.startswith("tests/") for test in users(file)}
    return {file for file in direct | further if Path(file).name.startswith("test_")}


if __name__ == "__main__":
    main()
