"""The wheel holds what the tree holds, and works where nothing else of the tree is."""

import inspect
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import eyechart
from eyechart import datasets_scripts, evaluators, metrics
from eyechart.evaluators.results.results_file import read_results

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("datasets_scripts", "evaluators", "hub_cards", "metrics", "package")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that `pip install .` would build, from a copy of the tracked files."""
    out = tmp_path_factory.mktemp("wheel")
    source = out / "source"
    for name in _tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(source))
    command = [sys.executable, "-m", "pip", "wheel", *options]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def _tracked():
    """The files of the tree that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in listed if (ROOT / name).is_file()]


def test_ci_installs_exact_versions_and_users_may_have_newer_ones():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    ranges = [Requirement(text) for text in sum(extras.values(), project["dependencies"])]
    assert {part.operator for one in ranges for part in one.specifier} == {">="}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    # Without the part that names a build for one kind of machine, such as +cpu.
    assert pinned == {name: version(name).partition("+")[0] for name in pinned}, "pip install -c constraints.txt"
    needed = map(Requirement, project["dependencies"] + extras["test"])
    required = {canonicalize_name(one.name) for one in needed if one.marker is None or one.marker.evaluate()}
    assert required <= {canonicalize_name(name) for name in pinned}


@pytest.mark.parametrize("package", [datasets_scripts, evaluators, metrics], ids=lambda package: package.__name__)
def test_public_names_are_listed_with_signatures_that_can_be_read(package):
    assert dir(package) == sorted(package.__all__)
    for name in dir(package):
        if callable(value := getattr(package, name)):
            assert not re.search("Annotated|FieldInfo|Undefined", str(inspect.signature(value))), name


@pytest.mark.slow
def test_the_wheel_holds_the_files_of_the_tree_and_no_others(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name.removeprefix("eyechart/") for name in archive.namelist() if name.startswith("eyechart/")}
        others = {name for name in archive.namelist() if not name.startswith("eyechart/")}
    tracked = {name.removeprefix("package/") for name in _tracked() if name.split("/")[0] in FOLDERS}
    assert packed == tracked
    assert all(".dist-info/" in name for name in others)


@pytest.mark.slow
def test_the_wheel_runs_tasks_in_a_fresh_environment(wheel, tmp_path):
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    purelib = Path(_ask(python, "import sysconfig; print(sysconfig.get_paths()['purelib'])"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(purelib)
    # The dependencies are those of this environment; a path added by a .pth file does not bring along its own .pth
    # files, so that nothing of an editable install of eyechart is seen.
    (purelib / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    code = "import eyechart, eyechart.evaluators as evaluators; print(eyechart.__version__, evaluators.__file__)"
    release, where = _ask(python, code).split(" ", 1)
    assert Path(where).is_relative_to(environment) and release == version("eyechart") == eyechart.__version__
    # All files are there (see above): two tasks use those of every kind.
    tasks = ["q_bench/perception", "q_bench/description"]
    command = [str(python), "-m", "eyechart.evaluators.cli", "run", *tasks, "--limit", "2", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = read_results(tmp_path / "out")
    assert not results.failed and [task.task for task in results.tasks] == tasks


def _ask(python, code):
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_promises_of_security_md_name_rows_of_the_fault_list():
    rows = [line.split(" | ")[-1] for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()]
    names = [name for cell in rows for name in re.findall(r'"([^"]+)"', cell)]
    faults = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "faults").glob("test_*.py"))
    assert len(names) > 30
    assert [name for name in names if f'"{name}"' not in faults] == []
