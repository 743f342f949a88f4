"""The metrics' Space pages as a visitor meets them: every app, opened in a browser."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

import eyechart.metrics
from eyechart.metrics import space
from tests.browser.conftest import Browser

pytestmark = [
    pytest.mark.skipif(find_spec("gradio") is None, reason='gradio is not installed: pip install -e ".[space]"'),
    pytest.mark.slow,
]


# Runs `app.py` of each folder it is given, as a Space does, but imports gradio and evaluate once for all of them, which
# is most of what an app's start takes. Says which hosts other than this machine an app asks for.
_SPACES = """
import os
import runpy
import sys

import evaluate
import gradio


def watch(event, arguments):
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if host not in (None, "127.0.0.1", "localhost", "0.0.0.0", "::1"):
        print("asks for", host, file=sys.stderr, flush=True)


sys.addaudithook(watch)
for folder in sys.stdin:
    if os.fork() == 0:
        os.chdir(folder.strip())
        runpy.run_path("app.py", run_name="__main__")
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the apps write to their standard error."""
    return tmp_path_factory.mktemp("errors") / "errors.txt"


@pytest.fixture(scope="module")
def serve_space(tmp_path_factory: pytest.TempPathFactory, errors: Path) -> Iterator[Callable[[str], str]]:
    """Starts a metric's app in a folder of its own and gives its address."""
    folder = tmp_path_factory.mktemp("spaces")
    # A Space has the network and gradio's defaults.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GRADIO_", "HF_HUB_"))}
    with errors.open("w", encoding="utf-8") as stderr:
        spaces = subprocess.Popen(
            [sys.executable, "-u", "-c", _SPACES],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def start(name: str) -> str:
        space.prepare(name, folder / name, "eyechart")
        spaces.stdin.write(f"{folder / name}\n")
        spaces.stdin.flush()
        for line in spaces.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                return found[0]
        pytest.fail(f"the app of {name} did not start: {errors.read_text(encoding='utf-8')}")

    yield start
    os.killpg(spaces.pid, signal.SIGKILL)
    spaces.communicate()


class Page:
    """A metric's page in a browser."""

    def __init__(self, driver: Chrome, url: str) -> None:
        self.driver = driver
        driver.get(url)
        self.until(lambda: self.table("rows") != [], "the page")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        # The page may replace a cell while it is read.
        wait = WebDriverWait(self.driver, 60, poll_frequency=0.05, ignored_exceptions=[StaleElementReferenceException])
        wait.until(lambda _: holds(), f"{what} did not come")

    def _cells(self, label: str) -> list[WebElement]:
        """The cells of a table: those with rows, or those with scores, which come after a second first cell."""
        cells = self.driver.find_elements(By.CSS_SELECTOR, "[data-testid^=cell-]")
        firsts = [place for place, cell in enumerate(cells) if cell.get_attribute("data-testid") == "cell-0-0"]
        end = firsts[1] if len(firsts) > 1 else len(cells)
        return cells[:end] if label == "rows" else cells[end:]

    def table(self, label: str) -> list[list[str]]:
        """The texts of a table's rows."""
        rows: dict[str, list[str]] = {}
        for cell in self._cells(label):
            # A selected cell has the button of a menu.
            rows.setdefault(cell.get_attribute("data-row"), []).append(cell.text.removesuffix("\n⋮"))
        return list(rows.values())

    def messages(self) -> str:
        return self.driver.find_element(By.CSS_SELECTOR, "textarea[data-testid=textbox]").get_property("value")

    def choose(self, configuration: str, rows: list[list[str]]) -> None:
        """Choose a configuration, which brings its example."""
        box = self.driver.find_element(By.CSS_SELECTOR, "input[aria-autocomplete]")
        if box.get_property("value") == configuration:
            return
        box.click()
        option = f"//li[@role='option'][contains(., '{configuration}')]"
        self.until(lambda: bool(self.driver.find_elements(By.XPATH, option)), configuration)
        self.driver.find_element(By.XPATH, option).click()
        self.until(lambda: self.table("rows") == rows, f"the example for {configuration}")

    def fill(self, cell: WebElement, text: str) -> None:
        """Replace the text of a cell, which an editor opens for."""
        ActionChains(self.driver).double_click(cell).perform()
        self.until(lambda: self.driver.switch_to.active_element.tag_name == "textarea", "the editor")
        editor = self.driver.switch_to.active_element
        editor.send_keys(Keys.CONTROL, "a")
        editor.send_keys(text)
        editor.send_keys(Keys.ENTER)

    def press(self) -> None:
        self.driver.find_element(By.XPATH, "//button[normalize-space()='Compute']").click()


@pytest.mark.parametrize("name", eyechart.metrics.list_metrics())
def test_a_page(
    name: str,
    serve_space: Callable[[str], str],
    errors: Path,
    browser: Browser,
    console_errors: Callable[[Chrome], list[str]],
) -> None:
    url = serve_space(name)
    page = Page(browser(1200, 1300), url)
    assert page.driver.title == f"{name} (eyechart)"
    for configuration, example in zip(space.CONFIGURATIONS.get(name, (None,)), space.examples(name), strict=True):
        rows = space.cells(example)
        if configuration:
            page.choose(configuration, rows)
        assert page.table("rows") == rows
        scores, messages = space.compute(name, example, rows, configuration)
        page.press()
        page.until(lambda scores=scores: page.table("scores") == scores, "scores")
        page.until(lambda messages=messages: page.messages() == messages, "messages")

    # A reference that is no letter and no number.
    column = list(space.columns(example)).index("first_references" if name == "paired_comparison" else "references")
    page.fill(page._cells("rows")[column], "?")
    rows[0][column] = "?"
    page.until(lambda: page.table("rows") == rows, "the new cell")
    scores, messages = space.compute(name, example, rows, configuration)
    page.press()
    page.until(lambda: page.messages() == messages, "the error")
    page.until(lambda: page.table("scores") == scores, "scores")

    assert console_errors(page.driver) == []
    assert not [asked for asked in _requests(page.driver) if not asked.startswith((url, "data:", f"blob:{url}"))]
    assert "asks for" not in errors.read_text(encoding="utf-8")

    page = Page(browser(400, 800, dark=True), url)
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 400
    assert console_errors(page.driver) == []


def _requests(driver: Chrome) -> list[str]:
    """Addresses that a page asked for, and those that it names for a script, a style, a font or a picture."""
    asked = driver.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    # More than that Chromium does not keep.
    assert 10 < len(asked) < 250
    named = driver.execute_script(
        "return [...document.querySelectorAll('[src], link[href]')].map(element => element.src || element.href)"
    )
    return asked + named
