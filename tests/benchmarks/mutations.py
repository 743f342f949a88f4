"""Selects and tests mutants for cosmic-ray; CONTRIBUTING.md lists the commands.

`sample SESSION --number 100 --seed 0` keeps that many mutants of a session, each at a different place in the code, and
deletes the others. `test --limit 600` runs the tests that reach the current mutant, according to a recorded run of
pytest. It exits with 1 as soon as a test fails or the time limit in seconds is over: a test that waits for ever has
found the mutant, too.
"""

import argparse
import ast
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, islice
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("test").add_argument("--limit", type=float, default=600)
    sampling = commands.add_parser("sample")
    sampling.add_argument("session", type=Path)
    sampling.add_argument("--number", type=int, default=100)
    sampling.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.command == "sample":
        sample(arguments.session, arguments.number, arguments.seed)
    else:
        sys.exit(test(arguments.limit))


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


def test(limit: float) -> int:
    """0 where no test finds the mutant, 1 where one does."""
    diff = _git("diff", "-U0")
    (path,) = re.findall(r"^--- a/(.*)", diff, re.MULTILINE)
    first, number = re.findall(r"^@@ -(\d+)(?:,(\d+))?", diff, re.MULTILINE)[0]
    tests = _tests(path, range(int(first), int(first) + max(1, int(number or 1))), limit / 2)
    end = time.monotonic() + limit
    code = _pytest(tests, end)
    if code == 4:  # The mutant changed the name of a test: a case of a table.
        code = _pytest(list(dict.fromkeys(test.partition("::")[0] for test in tests)), end)
    return int(code != 0)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _pytest(tests: list[str], end: float) -> int:
    """The exit code, or 1 when the time is over."""
    with subprocess.Popen([*PYTEST, *tests], cwd=ROOT, start_new_session=True) as process:
        try:
            return process.wait(end - time.monotonic())
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return 1


def _tests(path: str, lines: range, limit: float) -> list[str]:
    """The tests that ran one of the lines, the quickest files first, as many as begin within the seconds.

    Where no test ran them, or tests may need them without running them, all tests: first the files that ran any line of
    the module, then those nearest to its mirrored folder.
    """
    from coverage import CoverageData

    data = CoverageData(ROOT / "mutants.coverage")
    data.read()
    recorded = data.contexts_by_lineno(path)
    # A case with a child was skipped or failed.
    cases = [case.attrib for case in ElementTree.parse(ROOT / "mutants.xml").iter("testcase") if not len(case)]
    seconds = {(case["file"], case["name"]): float(case["time"]) for case in cases}

    def reaching(lines: Iterable[int]) -> set[tuple[str, str]]:
        contexts = {context.partition("::")[::2] for line in lines for context in recorded.get(line, [])}
        # Other tests of the file may use what a fixture made.
        files = {file for file, name in contexts if name.endswith("|setup")}
        return {(file, name) for file, name in seconds if file in files or (file, f"{name}|run") in contexts}

    chosen = reaching(_statement(path, lines))
    near = {file for file, _ in reaching(recorded)}
    totals: Counter[str] = Counter()
    for file, name in chosen or seconds:
        totals[file] += seconds[file, name]

    def order(test: tuple[str, str]) -> tuple:
        file, _ = test
        distance = () if chosen else (file not in near, -len(os.path.commonpath([file, f"tests/{path}"])))
        return *distance, totals[file], file, seconds[test]

    ordered = sorted(chosen or seconds, key=order)
    begins = accumulate((seconds[test] for test in ordered), initial=0.0)
    return ["::".join(test) for test, begin in zip(ordered, begins, strict=False) if begin < limit]


def _statement(path: str, lines: range) -> set[int]:
    """The lines of the innermost statement, but none if it is run only once: by an import or for a cache."""
    nodes = [node for node in ast.walk(ast.parse(_git("show", f":{path}"))) if isinstance(node, ast.stmt)]
    around = [node for node in nodes if node.lineno <= lines[0] <= node.end_lineno]
    functions = [node for node in around if hasattr(node, "args") and node.body[0].lineno <= lines[0]]
    if not functions or any("cache" in ast.dump(node) for function in functions for node in function.decorator_list):
        return set()
    innermost = around[-1]
    end = innermost.body[0].lineno if hasattr(innermost, "body") else innermost.end_lineno + 1
    return {*range(innermost.lineno, end), *lines}


if __name__ == "__main__":
    main()
