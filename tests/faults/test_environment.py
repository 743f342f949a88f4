"""Command line: its environment, standard output and environment variables."""

import os
import subprocess
import sys

from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from tests.faults.fault import fault


def command(*arguments, **options):
    code = "from eyechart.evaluators.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True, **options)


@fault("the output goes to a full disk", "one line reports it; exit code 1")
def test_output_to_a_full_disk():
    for arguments in (["tasks"], ["--version"]):
        with open("/dev/full", "w") as full:
            done = command(*arguments, stdout=full, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("eyechart: a file cannot be written: No space left on device; free disk space")
        assert done.stderr.count("\n") == 1


@fault("the reader of the output closes the pipe", "the command ends without a message")
def test_output_that_nobody_reads():
    reading, writing = os.pipe()
    os.close(reading)
    done = command("tasks", stdout=writing, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


@fault("the output is closed", "the command completes")
def test_output_that_is_closed():
    done = subprocess.run(
        f"{sys.executable} -c 'from eyechart.evaluators.cli import main; main()' tasks >&-",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@fault("EYECHART_HOME names the home folder of an unknown user", "one line reports it; exit code 2")
def test_home_of_nobody(monkeypatch):
    monkeypatch.setenv("EYECHART_HOME", "~nobody-has-this-name/x")
    done = CliRunner().invoke(app, ["store", "info"])
    assert done.exit_code == 2
    assert "EYECHART_HOME='~nobody-has-this-name/x' names the home folder of an unknown user" in done.output
