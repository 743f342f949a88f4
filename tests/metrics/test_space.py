import json
import os
import re
import socket
import subprocess
import sys
import tomllib
import urllib.request
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import eyechart.metrics
from eyechart.metrics import space
from eyechart.metrics.scores import specs_of

ROOT = Path(__file__).parents[2]
NAMES = eyechart.metrics.list_metrics()
needs_gradio = pytest.mark.skipif(
    find_spec("gradio") is None, reason='gradio is not installed: pip install -e ".[space]"'
)


def test_scores_and_warnings() -> None:
    example = {"predictions": [[1, 0]] * 3, "references": [1, 2, 3]}
    table, messages = space.compute("softmax_iqa", example, space.cells(example), "logits")
    assert table[0] == ["SRCC", "undefined", "", "0.000", "3"]
    assert messages.startswith("overall: nan for srcc, plcc")
    with warnings.catch_warnings():
        # What a page's metric warns of is shown there and goes nowhere else.
        warnings.simplefilter("error")
        space.compute("softmax_iqa", example, space.cells(example), "logits")


@pytest.mark.parametrize(
    ("name", "row"), [(name, row) for name in NAMES for row in range(len(space.examples(name)))], ids=str
)
def test_the_cells_of_an_example_give_its_scores(name: str, row: int) -> None:
    example = space.examples(name)[row]
    configuration = space.CONFIGURATIONS[name][row] if row else None
    table, messages = space.compute(name, example, [*space.cells(example), [""] * 6], configuration)
    metric = eyechart.metrics.load(name, configuration)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = metric.compute(**example)
    (headline,) = [spec for spec in specs_of(name) if spec.headline]
    shown = {label: (value, n) for label, value, _, _, n in table}
    assert shown[headline.label] == (headline.shown(headline.value(scores)), str(headline.n(scores)))
    for group, values in example.get("groups", {}).items():
        assert {f"{headline.label}, {group} {value}" for value in values} <= set(shown)
    assert "must be" not in messages


@pytest.mark.parametrize(
    ("name", "cells", "message"),
    [
        ("judge_answer", [], "predictions"),
        ("judge_answer", [["a", "", "why", ""]], "all 1 references are empty"),
        ("judge_answer", [[" " * 9, "b", "x" * 1_000_001, ""]], "has 1000002 characters; this page accepts at most"),
        ("softmax_iqa", [["17.5 | x", "3", "game"]], "predictions in row 1 is 'x'; it must be a number"),
    ],
)
def test_errors_are_text(name: str, cells: list[list[str]], message: str) -> None:
    table, found = space.compute(name, space.examples(name)[0], cells, "logits" if name == "softmax_iqa" else None)
    assert table == [] and re.search(message, found), found


@pytest.mark.parametrize("name", NAMES)
def test_files_of_a_space(name: str, tmp_path: Path) -> None:
    space.prepare(name, tmp_path / "space", "eyechart @ https://example.org/eyechart.whl")
    folder = tmp_path / "space"
    assert {path.name for path in folder.iterdir()} == {"README.md", "app.py", f"{name}.py", "requirements.txt"}
    assert (folder / "requirements.txt").read_text().splitlines()[1] == "eyechart @ https://example.org/eyechart.whl"
    front = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert front["sdk"] == "gradio" and (folder / front["app_file"]).is_file()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert SpecifierSet(project["requires-python"]).contains(front["python_version"])
    # The pages are tested with what the extra installs.
    (extra,) = map(Requirement, project["optional-dependencies"]["space"])
    assert extra.name == "gradio" and extra.specifier.contains(front["sdk_version"])
    assert len(space.examples(name)) == len(space.CONFIGURATIONS.get(name, (None,)))


def test_a_space_needs_to_know_how_eyechart_is_installed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eyechart.metrics.space", "judge_answer", str(tmp_path / "space")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "on no public index" in done.stderr and "--install" in done.stderr
    assert subprocess.run([*command, "--install", "eyechart @ git+https://example.org"], check=False).returncode == 0
    done = subprocess.run([*command, "--install", "eyechart"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "name a new folder" in done.stderr


@needs_gradio
@pytest.mark.slow
def test_an_app_runs_where_only_its_folder_is(tmp_path: Path) -> None:
    folder = tmp_path / "space"
    space.prepare("judge_answer", folder, "eyechart")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Its address is to be read before it ends.
    settings = {"GRADIO_SERVER_PORT": str(port), "GRADIO_ANALYTICS_ENABLED": "False", "PYTHONUNBUFFERED": "1"}
    app = subprocess.Popen(
        [sys.executable, "app.py"], cwd=folder, env=os.environ | settings, stdout=subprocess.PIPE, text=True
    )
    try:
        assert any(f"127.0.0.1:{port}" in line for line in app.stdout)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/config", timeout=60) as response:
            components = json.load(response)["components"]
    finally:
        app.terminate()
        app.wait(timeout=60)
        app.stdout.close()
    values = [component["props"].get("value") for component in components]
    cells = space.cells(space.examples("judge_answer")[0])
    assert any(isinstance(value, dict) and value.get("data") == cells for value in values)
    assert any(isinstance(value, str) and "Metric card for Judge Answer" in value for value in values)


def test_without_gradio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[space\]"'):
        space.interface("judge_answer")
