"""The GitHub action: its shell steps run as they stand, with the environment that a workflow gives them."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from eyechart.evaluators.results.results_file import read_results
from tests.docs.pages import blocks

ROOT = Path(__file__).resolve().parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
_EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")


def step(name: str, folder: Path, **inputs: str) -> Any:
    """Run a step in a folder like a runner: inputs that are not given have their defaults."""
    values = {name: str(about.get("default", "")) for name, about in ACTION["inputs"].items()}
    values |= {name.replace("_", "-"): text for name, text in inputs.items()}
    known = {"github.action_path": str(ROOT), **{f"inputs.{name}": text for name, text in values.items()}}
    given = {name: _EXPRESSION.sub(lambda match: known[match[1]], text) for name, text in STEPS[name]["env"].items()}
    runner = {"RUNNER_TEMP": str(folder), "GITHUB_PATH": str(folder / "path")}
    runner["GITHUB_STEP_SUMMARY"] = str(folder / "summary.md")
    runner["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    script = folder / "script.sh"
    script.write_text(STEPS[name]["run"])
    # https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax: the command of `shell: bash`.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    return subprocess.run(command, cwd=folder, env={**os.environ, **runner, **given}, capture_output=True, text=True)


@pytest.mark.slow
def test_a_run_is_checked_and_summarised(tmp_path: Path) -> None:
    assert step("Install eyechart, unless the runner has it", tmp_path).returncode == 0
    assert not (tmp_path / "path").exists()
    name = "a $(touch bad) `touch bad`; touch bad \\n $HOME"
    done = step("Run", tmp_path, run=f"q_bench/perception --mini\n--limit 60 --name '{name}' --no-store")
    assert done.returncode == 0, done.stderr
    (result,) = read_results(tmp_path / "eyechart_run").tasks
    assert result.model == name and not (tmp_path / "bad").exists()
    # Without a requirement, nothing is checked.
    assert (step("Check", tmp_path).returncode, (tmp_path / "summary.md").exists()) == (0, False)
    limits = {"min": "q_bench=0.3\n\n q_bench/perception:accuracy=0.4\n"}
    done = step("Check", tmp_path, **limits)
    assert done.returncode == 0 and "2 of 2 passed" in (tmp_path / "summary.md").read_text(), done.stderr
    for wrong, code in (
        ({"min": "q_bench=1"}, 1),
        ({"max": "$(touch bad)"}, 2),
        ({"not_worse_than": "; touch bad"}, 1),
    ):
        assert step("Check", tmp_path, **wrong).returncode == code
    done = step("Check", tmp_path, not_worse_than="missing folder", check="--task 'q_bench' --allow \"prompt style\"")
    assert done.returncode == 1 and "missing folder" in done.stderr
    assert (tmp_path / "summary.md").read_text().count("###") == 2 and not (tmp_path / "bad").exists()
    assert (tmp_path / "eyechart_run" / "junit.xml").exists()


@pytest.mark.parametrize("path", ["action.yml", ".github/workflows/ci.yml"])
def test_no_expression_is_part_of_a_shell_script(path: str) -> None:
    def scripts(value: Any) -> list[str]:
        parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        own = [value["run"]] if isinstance(value, Mapping) and isinstance(value.get("run"), str) else []
        return own + [text for part in parts for text in scripts(part)]

    found = scripts(yaml.safe_load((ROOT / path).read_text(encoding="utf-8")))
    assert found and not any("${{" in text for text in found)


def test_the_workflow_of_the_page_gives_the_action_inputs_that_it_has() -> None:
    (text,) = [block.text for block in blocks("yaml") if "OWNER/eyechart" in block.text]
    (given,) = [step["with"] for step in yaml.safe_load(text)["jobs"]["evaluate"]["steps"] if "with" in step]
    required = {name for name, about in ACTION["inputs"].items() if about.get("required")}
    assert required <= given.keys() <= ACTION["inputs"].keys()
    # Every input is used.
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert all(f"inputs.{name} " in text for name in ACTION["inputs"])
