"""Settings for all tests: no network, no user cache, reference data only where it is named."""

import fcntl
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.faults.fault import Outcomes, check_rows
from tests.hub_stand_in import StandIn, stand_in

_HOME = tempfile.TemporaryDirectory(prefix="eyechart-tests-")
# Set before datasets, evaluate or transformers is imported: they read these once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HOME"] = str(Path(_HOME.name) / "huggingface")
os.environ["EYECHART_HOME"] = str(Path(_HOME.name) / "eyechart")
# Mini releases take time to draw: the processes of one run share those of the first, from which they are started.
_MINI = Path(os.environ.setdefault("EYECHART_TESTS_MINI", str(Path(_HOME.name) / "mini")))
_MINI.mkdir(exist_ok=True)
Path(os.environ["EYECHART_HOME"]).mkdir()
(Path(os.environ["EYECHART_HOME"]) / "mini").symlink_to(_MINI)
# What a user's own machine may set: other folders, servers and keys, a proxy for every address, colours and widths.
_FOREIGN = ["HF_DATASETS_CACHE", "HF_MODULES_CACHE", "HF_EVALUATE_CACHE", "HF_METRICS_CACHE", "HF_ENDPOINT", "HF_TOKEN"]
_FOREIGN += ["OPENAI_BASE_URL", "OPENAI_API_KEY", "WORLD_SIZE", "RANK", "LOCAL_RANK"]
_FOREIGN += ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
_FOREIGN += ["FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "COLUMNS", "LINES", "TERMINAL_WIDTH"]
for _name in _FOREIGN:
    os.environ.pop(_name, None)
# A shell ignores Ctrl-C in what it starts in the background; the processes that tests interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


# On a busy machine an example now and then takes longer than any deadline.
hypothesis.settings.register_profile("eyechart", deadline=None)
hypothesis.settings.load_profile("eyechart")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that write the fault list and the recordings of the documentation."""
    parser.addoption("--faults-table", type=Path, help="write the list of faults with their outcomes to this file")
    parser.addoption("--recordings", action="store_true", help="record the sessions in docs/recordings anew")


def pytest_configure(config: pytest.Config) -> None:
    """Collect the outcomes of the fault list."""
    path = config.getoption("--faults-table")
    if path is not None:
        config.pluginmanager.register(Outcomes(path))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests on real servers, unless they are asked for; none of several processes ends with a slow file."""
    if "servers" not in config.getoption("markexpr"):
        left_out = [item for item in items if item.get_closest_marker("servers")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    check_rows(items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def any_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are read whose scores are not those of their answers, for tests of what is shown of both."""
    monkeypatch.setattr("eyechart.evaluators.results.finished_runs.check_agreement", lambda run: None)


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of real reference data."""
    folder = os.environ.get("EYECHART_REFERENCE")
    if not folder:
        pytest.skip("EYECHART_REFERENCE is not set: it names the folder of real reference data")
    return Path(folder)


@pytest.fixture(scope="session")
def main_job() -> tuple[str, Path]:
    """`eyechart run --out results` in a terminal, once for all processes: what it shows, and its results' folder."""
    from tests.docs.test_recordings import in_a_terminal

    folder = _MINI.with_name("main")
    with _MINI.with_name("main.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            (folder / "screen").write_text(in_a_terminal([["run", "--out", "results"]], folder)["run"])
    return (folder / "screen").read_text(), folder / "results"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """What the Hub's client takes for the Hub."""
    with stand_in(monkeypatch) as server:
        yield server


@pytest.fixture
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs without a report, which takes more than half of the time of a small one."""
    monkeypatch.setattr("eyechart.evaluators.runs.run._write_report", lambda *arguments: True)


@pytest.fixture(autouse=True)
def _no_stored_answers() -> None:
    """Tests share a home folder, as mini releases take time to draw, but not what models said in other tests."""
    for file in (Path(_HOME.name) / "eyechart").glob("responses.sqlite*"):
        file.unlink()


@pytest.fixture(scope="session", autouse=True)
def _clean_up() -> Iterator[None]:
    yield
    _HOME.cleanup()
