import doctest
import importlib
from pathlib import Path

import pytest

from eyechart.datasets_scripts import catalog

FOLDER = Path(catalog.__file__).parent
MODULES = [
    ".".join(path.relative_to(FOLDER).with_suffix("").parts)
    for path in sorted(FOLDER.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def test_there_are_examples() -> None:
    assert {"common.errors", "official"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"eyechart.datasets_scripts.{name}"))
    assert result.attempted > 0 and result.failed == 0
