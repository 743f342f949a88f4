"""Helpers of the metric tests."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

_PROCESS = """
import json
import sys

from eyechart.metrics import load

name, config, process, cache, call = sys.argv[1:]
metric = load(name, config or None, num_process=2, process_id=int(process), experiment_id="two", cache_dir=cache)
print(json.dumps(metric.compute(**json.loads(call)[int(process)])))
"""

TwoProcesses = Callable[[str, str, Path, str], list[subprocess.CompletedProcess[str]]]


@pytest.fixture
def two_processes() -> TwoProcesses:
    """Runs a metric in two processes and returns both; `call` is JSON, the arguments of each."""

    def run(name: str, config: str, cache: Path, call: str) -> list[subprocess.CompletedProcess[str]]:
        command = [sys.executable, "-c", _PROCESS, name, config]
        started = [
            subprocess.Popen([*command, process, str(cache), call], stdout=-1, stderr=-1, text=True) for process in "01"
        ]
        outputs = [process.communicate(timeout=120) for process in started]
        return [
            subprocess.CompletedProcess(process.args, process.returncode, *output)
            for process, output in zip(started, outputs, strict=True)
        ]

    return run
