import ast
import doctest
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

import eyechart.metrics
from eyechart.metrics import space

ROOT = Path(__file__).parents[2]
NAMES = eyechart.metrics.list_metrics()
needs_gradio = pytest.mark.skipif(
    find_spec("gradio") is None, reason='gradio is not installed: pip install -e ".[space]"'
)


def test_doctests() -> None:
    assert doctest.testmod(space).failed == 0


def test_examples_and_card() -> None:
    assert space.card("judge_answer").startswith("# Metric card for Judge Answer\n")
    assert len(space.examples("softmax_iqa")) == 2


def test_scores_and_warnings() -> None:
    rows = {"predictions": [[1, 0]] * 3, "references": [1, 2, 3]}
    scores, messages = space.compute("softmax_iqa", json.dumps(rows), "logits")
    assert '"srcc": NaN' in scores and json.loads(scores)["n"] == 3
    assert messages.startswith("overall: nan for srcc, plcc")
    with warnings.catch_warnings():
        # What a page's metric warns of is shown there and goes nowhere else.
        warnings.simplefilter("error")
        space.compute("softmax_iqa", json.dumps(rows), "logits")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the input is not valid JSON: Expecting value"),
        ("{", "the input is not valid JSON"),
        ("[" * 100_000, "the input is not valid JSON"),
        ('"text"', "must be a JSON object of arguments; it is a str"),
        ("{}", "missing arguments: predictions, references, questions; required: predictions, references, questions"),
        ('{"prediction": []}', "argument is 'prediction'; allowed: .* Did you mean 'predictions'"),
        ('{"judge": "lexical"}', "argument is 'judge'; allowed: "),
        ('{"rounds": 1000000}', "rounds is 1000000; this page accepts at most 20"),
        ('{"predictions": ["a"], "references": ["b"], "questions": []}', "questions has 0 rows and predictions has 1"),
        ('{"predictions": ["a"], "references": [""], "questions": ["?"]}', "all 1 references are empty"),
        ('{"predictions": "a", "references": "b", "questions": "?"}', "predictions must be a list .*; it is 'a'"),
        ('{"predictions": 3, "references": 4, "questions": 5}', "predictions must be a list .*; it is 3"),
        (
            '{"predictions": null, "references": null, "questions": null}',
            "missing arguments: predictions, references, questions",
        ),
        (
            '{"predictions": [["a"]], "references": ["b"], "questions": ["?"]}',
            r"predictions\[0\] is \['a'\]; it must be a string",
        ),
        (" " * 1_000_001, "the input has 1000001 characters; this page accepts at most 1000000"),
    ],
)
def test_errors_are_text(text: str, message: str) -> None:
    scores, found = space.compute("judge_answer", text)
    assert scores == "" and re.search(message, found), found


@pytest.mark.parametrize("name", NAMES)
def test_files_of_a_space(name: str) -> None:
    folder = ROOT / "metrics" / name
    requirements = dict(
        re.fullmatch(r"([a-z]+)([=>]=.*)", line).groups()
        for line in (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    )
    front = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert front["sdk"] == "gradio" and (folder / front["app_file"]).is_file()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert requirements == {"gradio": f"=={front['sdk_version']}", "eyechart": f">={project['version']}"}
    # The pages are tested with what the extra installs.
    (extra,) = map(Requirement, project["optional-dependencies"]["space"])
    assert extra.name == "gradio" and extra.specifier.contains(front["sdk_version"])
    (call,) = _interface_calls(name)
    assert ast.literal_eval(call.args[0]) == name
    assert len(space.examples(name)) == (len(_configurations(name)) if len(call.args) > 1 else 1)


@needs_gradio
@pytest.mark.slow
def test_an_app_runs_where_only_its_folder_is(tmp_path: Path) -> None:
    for file in (ROOT / "metrics" / "judge_answer").iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"GRADIO_SERVER_PORT": str(port), "GRADIO_ANALYTICS_ENABLED": "False"}
    app = subprocess.Popen(
        [sys.executable, "app.py"], cwd=tmp_path, env=os.environ | settings, stdout=subprocess.PIPE, text=True
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
    assert space.examples("judge_answer")[0] in values
    assert any(isinstance(value, str) and "Metric card for Judge Answer" in value for value in values)


def test_without_gradio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    with pytest.raises(ImportError, match=r'pip install "eyechart\[space\]"'):
        space.interface("judge_answer")


def _configurations(name: str) -> list[str]:
    """The configurations that a metric's app offers."""
    (call,) = _interface_calls(name)
    return list(ast.literal_eval(call.args[1]))


def _interface_calls(name: str) -> list[ast.Call]:
    tree = ast.parse((ROOT / "metrics" / name / "app.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if ast.unparse(call.func) == "interface"]
