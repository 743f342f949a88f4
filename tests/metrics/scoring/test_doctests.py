import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import eyechart.metrics

FOLDER = Path(eyechart.metrics.__file__).parent
SCORING = sorted(path for path in (FOLDER / "scoring").rglob("*.py") if path.stem != "__init__")
MODULES = [
    "eyechart.metrics",
    "eyechart.metrics.cards",
    "eyechart.metrics.scores",
    "eyechart.metrics.score_check",
    *("eyechart.metrics." + ".".join(path.relative_to(FOLDER).with_suffix("").parts) for path in SCORING),
]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def test_importing_loads_nothing_heavy() -> None:
    """In one process, as starting one takes longest: what each module adds is written down."""
    code = f"""
import importlib, sys
for name in {MODULES}:
    importlib.import_module(name)
    print(name, *(m for m in ("torch", "transformers", "evaluate", "datasets") if m in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == MODULES
