import socket
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from eyechart.evaluators.inspect_bridge.logs import write_logs
from tests.evaluators.command_line import invoke

pytest.importorskip("inspect_ai")


@pytest.fixture
def viewer(tmp_path):
    """The address of `inspect view` on the logs of a run, and the name of its only log."""
    invoke("run", "mmbench/en", "--mini", "--limit", 4, "--out", tmp_path / "run", code=0)
    (path,) = write_logs(tmp_path / "run", tmp_path / "logs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", str(path.parent), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/"
    try:
        while server.poll() is None:
            try:
                with urlopen(address):
                    break
            except URLError:
                time.sleep(0.1)
        yield f"{address}#/logs/{path.name}"
    finally:
        server.terminate()
        server.wait()


def test_inspect_view_shows_scores_samples_images_and_replies(browser, viewer):
    driver = browser(1400, 1000)

    def shown(*texts):
        WebDriverWait(driver, 60).until(
            lambda page: all(text in page.find_element(By.TAG_NAME, "body").text for text in texts)
        )

    driver.get(viewer)
    shown("mmbench/en", "CIRCULAR_ACCURACY", "4 rows", "dev-0")
    driver.get("about:blank")
    driver.get(f"{viewer}/samples/sample/dev-0/1/")
    shown("Options:", "MODEL CALL (MAIN)", "ASSISTANT")
    (image, *_) = driver.find_elements(By.CSS_SELECTOR, "img[src^='data:image/png']")
    assert driver.execute_script("return arguments[0].naturalWidth", image) > 0
