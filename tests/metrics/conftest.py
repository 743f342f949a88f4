"""Helpers of the metric tests."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Anything else that is printed goes where errors go, so that each line of the output is one result.
_PROCESS = """
import json
import sys

from eyechart.metrics import load

output, sys.stdout = sys.stdout, sys.stderr
process = int(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    metric = load(
        asked["name"],
        asked["configuration"],
        num_process=2,
        process_id=process,
        experiment_id="two",
        cache_dir=asked["cache"],
    )
    print(json.dumps(metric.compute(**asked["arguments"][process])), file=output, flush=True)
"""

TwoProcesses = Callable[[str, str | None, Path, list[dict[str, Any]]], list[Any]]


@pytest.fixture(scope="session")
def two_processes() -> Iterator[TwoProcesses]:
    """Computes a metric in two processes, given the arguments of each, and returns what each of them got.

    The processes are the same for all tests, as starting them takes longer than what they compute.
    """
    command = [sys.executable, "-c", _PROCESS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "0"], **pipes) as main, subprocess.Popen([*command, "1"], **pipes) as other:

        def compute(name: str, configuration: str | None, cache: Path, arguments: list[dict[str, Any]]) -> list[Any]:
            asked = {"name": name, "configuration": configuration, "cache": str(cache), "arguments": arguments}
            for process in (main, other):
                process.stdin.write(json.dumps(asked) + "\n")
                process.stdin.flush()
            return [json.loads(process.stdout.readline()) for process in (main, other)]

        yield compute
