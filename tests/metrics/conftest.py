"""Fixture: no wait for the cache file of a metric that raised an error."""

import evaluate
import pytest


@pytest.fixture(autouse=True)
def _new_cache_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluate waits a second for the file of another instance, then takes a new one."""
    monkeypatch.setattr(evaluate.EvaluationModule._create_cache_file, "__defaults__", (0.01,))
