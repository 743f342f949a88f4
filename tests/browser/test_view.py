"""`eyechart view` in a browser: a run that is watched while it goes, its end, the list of runs, and a report."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.browser.conftest import narrow
from tests.evaluators.conftest import _http, http, impatient, script
from tests.evaluators.finished_runs import evaluated, write
from tests.evaluators.report.test_view import serving
from tests.evaluators.scripted_server import completion

__all__ = ["_http", "http", "impatient", "script"]
pytestmark = pytest.mark.slow

ITEMS = 25


@pytest.fixture
def watched(tmp_path, script, http):
    """A run on a server that answers the second task slowly until it is let go, and the page that the run opened."""
    go, asked = threading.Event(), []

    def reply(request):
        asked.append(json.loads(request.data))
        if len(asked) > ITEMS:
            go.wait(0.5)
        return completion("<b>A</b>")

    script.say(reply)
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho $1 > {tmp_path}/new && mv {tmp_path}/new {tmp_path}/opened\n")
    browser.chmod(0o755)
    tasks = ("q_bench/perception", "aes_bench/empathy", "--mini", "--limit", str(ITEMS), "--no-store", "--view")
    model = ("--model", "me/model", "--base-url", http.url_for("/v1"), "--model-arg", "concurrency=1")
    command = [sys.executable, "-m", "eyechart.evaluators", "run", *tasks, *model, "--out", str(tmp_path / "run")]
    env = {**os.environ, "BROWSER": str(browser)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as child:
        try:
            WebDriverWait(None, 120).until(lambda _: (tmp_path / "opened").exists())
            yield (tmp_path / "opened").read_text().strip(), go, child
        finally:
            go.set()
            child.kill()


def text(driver, id):
    return driver.find_element(By.ID, id).text


def test_a_run_is_watched_until_it_ends(watched, browser, axe, console_errors, tmp_path):
    address, go, child = watched
    driver = browser(dark=True)
    driver.get(address)
    wait = WebDriverWait(driver, 120)
    # Of both tasks, one has finished; the answers to the other so far have a score with its interval and n.
    wait.until(lambda driver: "so far" in text(driver, "scores"))
    finished, running = driver.find_elements(By.CSS_SELECTOR, "#scores tbody tr")
    assert finished.text.startswith("q_bench/perception") and "so far" not in finished.text
    assert re.fullmatch(r"aes_bench/empathy .*, so far\D+[\d.]+ % [\d.]+ to [\d.]+ [\d.]+ % \d+", running.text)
    assert int(running.text.split()[-1]) < ITEMS
    wait.until(lambda driver: driver.execute_script("return document.querySelector('.reply img')?.naturalWidth"))
    assert "me/model is running" in text(driver, "status") and f"of {2 * ITEMS} answers" in text(driver, "counts")
    assert "per second, about" in text(driver, "counts")
    replies = driver.find_elements(By.CSS_SELECTOR, ".reply")
    assert 0 < len(replies) <= 4 and "<b>A</b>" in replies[0].text
    assert axe(driver) == [] and console_errors(driver) == []
    with serving(tmp_path / "run") as server:
        driver.get(server.url)
        go.set()
        output, _ = child.communicate()
        assert child.returncode == 0, output
        wait.until(lambda driver: "The run has ended" in text(driver, "status"))
        assert not (tmp_path / "run" / "progress.json").exists()
        driver.find_element(By.LINK_TEXT, "see its report").click()
        # Its script works, although it cannot read other pages of the server.
        wait.until(lambda driver: driver.find_elements(By.CSS_SELECTOR, "#samples-table tbody tr"))
        assert driver.execute_script("return window.origin") == "null"
    assert console_errors(driver) == []
    driver.get("about:blank")


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (400, False)])
def test_the_list_of_runs(width, dark, browser, axe, console_errors, tmp_path, any_scores):
    for name in ("2026-11-20_10-00-00", "2026-11-21_10-00-00"):
        write(tmp_path / "runs" / name, [evaluated(model=f"acme/{name}"), evaluated("aes_bench/empathy", "aesbench")])
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "results.json").write_text("{")
    with serving(tmp_path / "runs") as server:
        driver = browser(width, 900, dark=dark)
        driver.get(server.url)
        links = [link.text for link in driver.find_elements(By.CSS_SELECTOR, "#runs a")]
        assert [Path(link).name for link in links] == ["2026-11-21_10-00-00", "2026-11-20_10-00-00", "broken"]
        assert "n = " in driver.find_element(By.ID, "runs").text
        assert narrow(driver, width) and axe(driver) == [] and console_errors(driver) == []
        driver.find_element(By.LINK_TEXT, links[1]).click()
        WebDriverWait(driver, 60).until(lambda driver: "acme/2026-11-20" in driver.title)
        driver.back()
