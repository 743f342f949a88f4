"""Runs whose answers are chosen for the tests of their differences."""

import pytest


@pytest.fixture(autouse=True)
def _any_scores(any_scores: None) -> None:
    """The scores of most runs are not compared."""
