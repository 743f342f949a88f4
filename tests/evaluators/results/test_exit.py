"""A process that has read predictions ends as it should."""

import subprocess
import sys

import pytest

from tests.evaluators.finished_runs import evaluated, item, write

# Forks share the imports. With Arrow's threads, 25 of 60 aborted with "terminate called without an active exception".
SCRIPT = """
import os, sys
import pyarrow.parquet
from eyechart.evaluators.results.finished_runs import read_runs
for _ in range(6):
    child = os.fork()
    if not child:
        (run,) = read_runs(sys.argv[1:])
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
def test_reading_predictions_leaves_no_thread_that_aborts_the_exit(tmp_path):
    run = write(tmp_path / "run", [evaluated(items=[item("q1")])])
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(run)], capture_output=True, text=True)
    assert done.stdout.split() == ["7"] * 6, done.stderr
