"""The metrics' Space pages as a visitor meets them: every `metrics/<name>/app.py`, opened in a browser."""

import doctest
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

import eyechart.metrics
from eyechart.metrics import space
from tests.browser.conftest import Browser

pytestmark = [
    pytest.mark.skipif(find_spec("gradio") is None, reason='gradio is not installed: pip install -e ".[space]"'),
    pytest.mark.slow,
]

METRICS = Path(__file__).parents[2] / "metrics"
CONFIGURATIONS = {"softmax_iqa": ("logits", "scores")}

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
    """Starts a metric's app in a copy of its folder and gives its address."""
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
        shutil.copytree(METRICS / name, folder / name)
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
        self.until(lambda: bool(self.text(0)), "the page")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        WebDriverWait(self.driver, 60, poll_frequency=0.05).until(lambda _: holds(), f"{what} did not come")

    def text(self, box: int) -> str:
        """Text of the arguments (0) or the scores (1) from its download button: an editor draws only what is seen."""
        return self.driver.execute_async_script(
            "const [box, done] = arguments;"
            "const link = document.querySelectorAll('a[download]')[box];"
            # An empty box has no button.
            "if (link) fetch(link.href).then(reply => reply.text()).then(done, () => done(null)); else done('');",
            box,
        )

    def messages(self) -> str:
        return self.driver.find_element(By.CSS_SELECTOR, "textarea[data-testid=textbox]").get_property("value")

    def choose(self, configuration: str, example: str) -> None:
        """Choose a configuration, which brings its example."""
        box = self.driver.find_element(By.CSS_SELECTOR, "input[aria-autocomplete]")
        if box.get_property("value") == configuration:
            return
        box.click()
        option = f"//li[@role='option'][contains(., '{configuration}')]"
        self.until(lambda: bool(self.driver.find_elements(By.XPATH, option)), configuration)
        self.driver.find_element(By.XPATH, option).click()
        self.until(lambda: self.text(0) == example, f"the example for {configuration}")

    def fill(self, text: str) -> None:
        editor = self.driver.find_element(By.CSS_SELECTOR, ".cm-content[contenteditable=true]")
        editor.click()
        editor.send_keys(Keys.CONTROL, "a")
        self.driver.execute_cdp_cmd("Input.insertText", {"text": text})
        self.until(lambda: self.text(0) == text, "the text put in")

    def press(self) -> str:
        """Press the button and return the scores, which must differ from those shown before."""
        before = self.text(1)
        self.driver.find_element(By.XPATH, "//button[normalize-space()='Compute']").click()
        self.until(lambda: self.text(1) not in (before, None), "scores")
        return self.text(1)


class Shown:
    """Stands in for a metric: its scores are those that its page shows."""

    def __init__(self, page: Page, name: str, configuration: str | None = None) -> None:
        self.page, self.name, self.configuration = page, name, configuration
        if name in CONFIGURATIONS:
            row = CONFIGURATIONS[name].index(configuration) if configuration else 0
            page.choose(CONFIGURATIONS[name][row], space.examples(name)[row])

    def compute(self, **arguments: Any) -> dict[str, Any]:
        if "judge" in arguments:
            # A function, which no page takes.
            return load(self.name, self.configuration).compute(**arguments)
        self.page.fill(json.dumps(arguments))
        return json.loads(self.page.press())


load = eyechart.metrics.load


@pytest.mark.parametrize("name", eyechart.metrics.list_metrics())
def test_a_page(
    name: str,
    serve_space: Callable[[str], str],
    errors: Path,
    browser: Browser,
    console_errors: Callable[[Chrome], list[str]],
    screenshot: Callable[[Chrome, str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = serve_space(name)
    page = Page(browser(1200, 900), url)
    assert page.driver.title == f"{name} (eyechart)"
    for configuration, example in zip(CONFIGURATIONS.get(name, (None,)), space.examples(name), strict=True):
        if configuration:
            page.choose(configuration, example)
        assert page.text(0) == example
        scores, messages = space.compute(name, example, configuration)
        assert page.press() == scores
        page.until(lambda messages=messages: page.messages() == messages, "messages")
    screenshot(page.driver, "scores")

    arguments = json.loads(space.examples(name)[-1])
    del arguments["predictions"][-1]
    page.fill(json.dumps(arguments))
    assert page.press() == ""
    page.until(lambda: re.search("has . rows and predictions has .", page.messages()) is not None, "the error")
    page.fill('{"prediction": []}')
    page.driver.find_element(By.XPATH, "//button[normalize-space()='Compute']").click()
    page.until(lambda: "argument is 'prediction'" in page.messages(), "the error")
    assert "Did you mean 'predictions'?" in page.messages()
    screenshot(page.driver, "error")

    monkeypatch.setattr(eyechart.metrics, "load", lambda *call: Shown(page, *call))
    numbers = doctest.DocTestParser().get_doctest(load(name).inputs_description, {}, name, None, 0)
    assert doctest.DocTestRunner().run(numbers).failed == 0

    assert console_errors(page.driver) == []
    assert not [asked for asked in _requests(page.driver) if not asked.startswith((url, "data:", f"blob:{url}"))]
    assert "asks for" not in errors.read_text(encoding="utf-8")

    page = Page(browser(400, 800, dark=True), url)
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 400
    screenshot(page.driver, "narrow")
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
