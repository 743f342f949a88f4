"""A real browser without a window, for pages that people open: `browser(width, height, dark=...)`."""

import functools
import http.server
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

Browser = Callable[..., Chrome]


def press(driver: Chrome, *keys: str) -> None:
    """Presses keys as a person does: whatever has the focus gets them, on screen or not."""
    for key in keys:
        ActionChains(driver).send_keys(key).perform()


@pytest.fixture(scope="session")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    binary, driver = shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("there is no Chromium with its driver: on Debian, apt-get install chromium chromium-driver")
    options = ChromeOptions()
    options.binary_location = binary
    profile = tmp_path_factory.mktemp("chromium")
    # As root, Chromium starts only without its sandbox; all it opens here are pages that the tests wrote.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = Chrome(options, Service(driver))
    # Axe-core takes long on a busy machine.
    chrome.set_script_timeout(120)
    yield chrome
    chrome.quit()


@pytest.fixture
def browser(_driver: Chrome, request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Gives the driver a viewport of a size and a colour scheme, an empty page and an empty console.

    What it shows at the end of a test is saved in the folder that EYECHART_SCREENSHOTS names.
    """

    def prepare(width: int = 1200, height: int = 900, *, dark: bool = False) -> Chrome:
        _driver.get("about:blank")
        # The window cannot be narrower than some 500 pixels, the viewport can.
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        _driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        _driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
        _console_errors(_driver)
        return _driver

    yield prepare
    if folder := os.environ.get("EYECHART_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "_", request.node.name.removeprefix("test_"))
        assert _driver.save_screenshot(str(Path(folder) / f"{request.path.stem.removeprefix('test_')}_{name}.png"))


@pytest.fixture(scope="session")
def console_errors() -> Callable[[Chrome], list[str]]:
    """What went wrong in a page since this was asked last."""
    return _console_errors


def _console_errors(driver: Chrome) -> list[str]:
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.fixture
def axe() -> Callable[..., list[str]]:
    """The rules of axe-core (https://github.com/dequelabs/axe-core) that a page or a part of it breaks."""
    script = Path(os.environ.get("EYECHART_AXE", ""))
    if not script.is_file():
        pytest.skip("EYECHART_AXE names no axe.min.js: npm pack axe-core, unpack it, and name package/axe.min.js")

    def violations(driver: Chrome, part: str = "html") -> list[str]:
        driver.execute_script(script.read_text(encoding="utf-8"))
        broken: list[str] = driver.execute_async_script(_RUN_AXE, part)
        return broken

    return violations


_RUN_AXE = """
const [part, done] = arguments;
const line = (rule) => `${rule.id}: ${rule.help}: ` + rule.nodes.slice(0, 3)
  .map((node) => `${node.html.slice(0, 200)} (${(node.any[0] ?? node.all[0] ?? node.none[0])?.message})`).join("; ");
const show = (result) => done(result.violations.map(line));
axe.run(part, { resultTypes: ["violations"] }).then(show, (error) => done([String(error)]));
"""


@pytest.fixture
def opened(browser: Browser) -> Iterator[Browser]:
    """Opens a page of a file and, at the end, wants nothing to have gone wrong in it."""
    drivers = []

    def start(page: Path, *size: int, dark: bool = False) -> Chrome:
        drivers.append(browser(*size, dark=dark))
        drivers[-1].get(page.as_uri())
        return drivers[-1]

    yield start
    for driver in drivers:
        assert _console_errors(driver) == []


def narrow(driver: Chrome, width: int) -> bool:
    """Whether a page is no wider than its screen."""
    return int(driver.execute_script("return document.documentElement.scrollWidth")) <= width


def unfolded(driver: Chrome) -> Chrome:
    """A page with all its details open."""
    driver.execute_script("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    return driver


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    """Serves folders on this machine until the test ends; gives their addresses."""
    servers = []

    def start(folder: Path) -> str:
        handler = functools.partial(_Quiet, directory=str(folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
