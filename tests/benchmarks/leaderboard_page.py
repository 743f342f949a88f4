"""What the leaderboard's page takes with 500 models: bytes, first paint, and until the first and the last row stand.

Needs Chromium and its driver. Server and browser are on this machine, without a network between them, and the browser's
cache is off. The aim is a first paint in under 1 s.

    python -m tests.benchmarks.leaderboard_page
"""

import functools
import http.server
import json
import random
import shutil
import statistics
import tempfile
import threading
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.build import write_space
from tests.hub_cards.leaderboard.handed_in import enlarge, hand_in, ranked, result_on

MODELS = 500
REPEATS = 5
VIEWS = {
    "overview": ("", "overview.json"),
    "MMBench": ("#board=mmbench%2Fen", "boards/mmbench-en.json"),
    "A3, the widest": ("#board=q_bench%2Fassessment", "boards/q_bench-assessment.json"),
}
_WATCH = """
new MutationObserver(() => {
  const table = document.querySelector("#table");
  if (!window.firstRows && table?.querySelector("tbody tr")) {
    requestAnimationFrame(() => setTimeout(() => { window.firstRows ??= performance.now(); }));
  }
  if (table?.ariaBusy === "false") window.lastRows ??= performance.now();
}).observe(document, { childList: true, subtree: true, attributes: true });
"""
_FOUND = """
const entries = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind));
const [paint] = performance.getEntriesByName("first-contentful-paint");
return paint && window.firstRows && window.lastRows
  && [entries.reduce((sum, one) => sum + one.encodedBodySize, 0), paint.startTime, window.firstRows, window.lastRows];
"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def make_space(folder: Path) -> Path:
    """A Space with `MODELS` models in all views."""
    hand_in(folder / "in", "one", [result_on(board, "org/one") for board in BOARDS])
    write_space(ranked(folder / "in"), folder / "space")
    for _, file in VIEWS.values():
        path = folder / "space" / "results" / file
        view = json.loads(path.read_text())
        enlarge(view, MODELS, random.Random(0))
        path.write_text(json.dumps(view, separators=(",", ":")))
    return folder / "space"


def main() -> None:
    """Print a line for each view."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = Chrome(options, Service(shutil.which("chromedriver")))
    driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH})
    with tempfile.TemporaryDirectory() as folder:
        handler = functools.partial(_Quiet, directory=str(make_space(Path(folder))))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, (hash_, _) in VIEWS.items():
            found = []
            for _ in range(REPEATS):
                driver.get("about:blank")
                driver.get(f"http://127.0.0.1:{server.server_address[1]}/{hash_}")
                found.append(WebDriverWait(driver, 60).until(lambda driver: driver.execute_script(_FOUND)))
            size, paint, first, last = (statistics.median(values) for values in zip(*found, strict=True))
            print(f"{name}: {size / 1000:.0f} kB, first paint {paint:.0f} ms, rows {first:.0f} to {last:.0f} ms")
        server.shutdown()
    driver.quit()


if __name__ == "__main__":
    main()
