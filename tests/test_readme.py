"""What README shows is what happens."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts import SUBSETS
from eyechart.datasets_scripts import load_builder
from eyechart.evaluators.cli import app

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore:.*inflated by the fit")
def test_the_python_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) >= 4
    names = {}
    for block in blocks:
        exec(block, names)
    assert names["scores"]["accuracy"] > names["scores"]["random_guess"] - 0.2


def test_every_command_and_option_exists():
    for line in re.findall(r"^    (eyechart .*)$", README, flags=re.MULTILINE):
        command = line.split()[1]
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
        for option in re.findall(r"--[a-z-]+", line):
            assert option in shown, line


def test_every_data_set_is_listed_with_its_configurations_and_splits():
    rows = [line for line in README.splitlines() if "hub_cards/datasets/" in line]
    listed = {}
    for row in rows:
        names, configs, splits, *_ = row.strip("| ").split(" | ")
        for name in re.findall(r"`(\w+)`", names):
            listed[name] = (re.findall(r"`(\w+)`", configs), re.findall(r"`(\w+)\*?`", splits))
    assert set(listed) == set(SUBSETS)
    for name, (configs, splits) in listed.items():
        assert tuple(configs) == SUBSETS[name].configs
        known = load_builder(name).SPLITS
        assert all(any(split.startswith(start) for start in splits) for split in known)
        assert all(any(split.startswith(start) for split in known) for start in splits)


def test_every_link_leads_to_a_file():
    root = Path(__file__).resolve().parents[1]
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    for link in links:
        assert (root / link).is_file(), link
