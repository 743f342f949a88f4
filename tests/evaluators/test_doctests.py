import doctest
import importlib
from pathlib import Path

import pytest

import eyechart.evaluators

FOLDER = Path(eyechart.evaluators.__file__).parent
WITH_EXAMPLES = [path for path in sorted(FOLDER.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_doctests(path):
    name = ".".join(("eyechart.evaluators", *path.relative_to(FOLDER).with_suffix("").parts))
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted and not found.failed
