"""Scores are declared in `metrics/scores.py` and nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyechart.metrics.scores import SCORES

ROOT = Path(__file__).parents[1]
KEYS = {spec.key for spec in SCORES}
MOST = 3
"""A paper's table may head so many columns with its own symbols."""


def declared(node: ast.AST) -> Iterator[set[str]]:
    """The scores that each mapping has as keys, that each list holds, and that calls of one name take first."""
    calls: dict[str, set[str]] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Dict):
            yield {key.value for key in part.keys if isinstance(key, ast.Constant) and key.value in KEYS}
        elif isinstance(part, ast.Tuple | ast.List | ast.Set):
            yield {item.value for item in part.elts if isinstance(item, ast.Constant)} & KEYS
        elif isinstance(part, ast.Call) and len(part.args) > 1 and isinstance(part.args[0], ast.Constant):
            calls.setdefault(ast.unparse(part.func), set()).update({part.args[0].value} & KEYS)
    yield from calls.values()


@pytest.mark.parametrize("wing", ["datasets_scripts", "evaluators", "hub_cards"])
def test_no_other_table_says_what_scores_are(wing):
    found = {}
    for file in sorted((ROOT / wing).rglob("*.py")):
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                largest = max(declared(statement.value), key=len, default=set())
                if len(largest) > MOST:
                    found[f"{file.relative_to(ROOT)}:{statement.lineno}"] = sorted(largest)
    assert found == {}


def test_such_a_table_is_found():
    table = ast.parse("_HEADLINES = {'accuracy': 1, 'srcc': 2, 'plcc': 3, 'sum': 4}").body[0]
    assert max(map(len, declared(table))) == 4
    for brackets in ("()", "[]", "{}"):
        names = ast.parse("_FACTS = {}'srcc', 'plcc', 'krcc', 'n'{}".format(*brackets)).body[0]
        assert max(map(len, declared(names))) == 4
    calls = ast.parse(
        "_SHOWN = (Score('accuracy', 'x'), Score('srcc', 'y'), Score('plcc', 'z'), Score('sum', ''))"
    ).body[0]
    assert max(map(len, declared(calls))) == 4
