import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name", ["common.errors", "common.image_statistics", "common.kadid", "common.pairing", "common.sampling", "subsets"]
)
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"eyechart.datasets_scripts.{name}"))
    assert result.attempted > 0 and result.failed == 0
