"""The Dockerfile, and what differs on Windows, as far as Linux can show it."""

import re
import shlex
import signal
import sys

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.paths import is_inside
from eyechart.datasets_scripts.common.whole import lock_folder
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.commands.run import _exiting_on_signals
from eyechart.evaluators.results.finished_runs import model_label
from tests.test_packaging import ROOT


def test_the_dockerfile_installs_as_the_readme_does():
    steps = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    (line,) = [line for line in steps.splitlines() if line.startswith("RUN pip install")]
    # README's command is run by CI in a fresh environment.
    ours = next(line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if "pip install" in line)
    words = shlex.split(line)
    assert words[words.index("-c") + 1] == "/eyechart/constraints.txt" and "-c constraints.txt" in ours
    assert words[-1] == "/eyechart[inspect]"
    assert 'ENTRYPOINT ["eyechart"]' in steps
    # What the image needs is not ignored.
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    needed = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "package", "datasets_scripts", "evaluators")
    assert not set(ignored) & set(needed)


@pytest.mark.parametrize(
    ("name", "inside"), [("C:\\a.png", False), ("..\\a.png", False), ("a\\b.png", True), ("\\\\host\\a.png", False)]
)
def test_names_with_backslashes_are_paths(name, inside):
    assert is_inside(name) == inside
    assert model_label(f"C:\\models\\{name}").endswith("png")


def test_windows_has_no_locks_no_hangup_and_no_servers_of_ours(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "win32")
    assert lock_folder(tmp_path) is None
    with pytest.raises(UsageError, match="--base-url"):
        Server("vllm serve {model} --port {port}", "model", tmp_path / "log")
    monkeypatch.delattr(signal, "SIGHUP")
    with _exiting_on_signals():
        assert callable(signal.getsignal(signal.SIGTERM))
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
