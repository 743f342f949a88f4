"""`eyechart view` over HTTP: what it finds, what it serves, and what it refuses."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.report.view import Viewer, ViewServer
from eyechart.evaluators.requests.types import Request, Response
from eyechart.evaluators.results.results_file import FailedTask, collect
from eyechart.evaluators.runs.console import console
from eyechart.evaluators.runs.live import LiveRun
from eyechart.evaluators.runs.run import write_run
from eyechart.evaluators.runs.screen import RunProgress
from eyechart.evaluators.tasks import get_task
from eyechart.hub_cards.leaderboard.build import write_space
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import evaluated, write
from tests.hub_cards.leaderboard.handed_in import board_named, hand_in, ranked, result_on


@contextmanager
def serving(*folders: Path, **options: bool) -> Iterator[ViewServer]:
    with ViewServer(Viewer(folders, **options)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def get(server: ViewServer, path: str = "/", host: str | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{server.server_port}" if host is None else host)
    connection.endheaders()
    answer = connection.getresponse()
    status, text = answer.status, answer.read().decode()
    connection.close()
    return status, text


def names(server: ViewServer) -> dict[str, str]:
    """The address of each folder in the list, by its last component."""
    get(server)
    return {folder.name: f"/{name}/" for name, folder in server.viewer.shown.items()}


def test_runs_and_boards_are_listed_and_a_missing_report_is_written(tmp_path: Path) -> None:
    write(tmp_path / "runs" / "monday", [evaluated(model="acme/<b>")])
    write(tmp_path / "runs" / "tuesday" / "model", [evaluated()])
    failed = FailedTask(task="q_bench/perception", dataset="llvisionqa", error="out of memory", model="acme/failed")
    write_run(tmp_path / "runs" / "wednesday", collect([], [failed], "2026-11-27T23:31:05+00:00"))
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "results.json").write_text("{")
    board = board_named("q_bench/perception")
    hand_in(tmp_path / "in", "m", [result_on(board, "m", 0.7)])
    write_space(ranked(tmp_path / "in"), tmp_path / "runs" / "space")
    (tmp_path / "runs" / "space" / "secret.json").symlink_to(tmp_path / "runs" / "broken" / "results.json")
    with serving(tmp_path / "runs") as server:
        status, text = get(server)
        assert status == 200 and "acme/&lt;b&gt;" in text and "75.00 %" in text and "50.00 to 87.50" in text
        assert ">2026-11-27 23:31<" in text and "acme/failed" in text and text.count("no score") == 1
        assert "cannot be read as results" in text and server.url.endswith(f":{server.server_port}/")
        runs = names(server)
        assert runs.keys() == {"monday", "model", "wednesday", "broken", "space"}
        assert not (tmp_path / "runs" / "monday" / "report.html").exists()
        status, text = get(server, runs["monday"])
        assert status == 200 and (tmp_path / "runs" / "monday" / "report.html").read_text() == text
        status, text = get(server, runs["broken"])
        assert status == 404 and "cannot be read as results" in text
        files = ("index.html", "leaderboard.js", "leaderboard.css", "icon.svg", "results/index.json")
        assert [get(server, runs["space"] + file)[0] for file in files] == [200] * 5
        # Of a board too, only the files of its page.
        assert [get(server, runs["space"] + file)[0] for file in ("secret.json", "README.md", "results/")] == [404] * 3
        # A folder that is gone.
        shutil.rmtree(tmp_path / "runs" / "monday")
        assert get(server, runs["monday"])[0] == 404 and "monday" not in get(server)[1]


def test_a_run_is_watched_by_several_until_it_ends(tmp_path: Path) -> None:
    with serving(tmp_path / "run", may_begin=True) as server:
        assert server.viewer.start.endswith("/watch")
        address = f"/{server.viewer.start.removesuffix('watch')}"
        assert json.loads(get(server, f"{address}progress.json")[1]) == {"state": "waiting", "progress": None}
        live = LiveRun(tmp_path / "run", "m", RunProgress(console(quiet=True), [1]))
        answers: list[tuple[int, str]] = []
        viewers = [
            threading.Thread(target=lambda: answers.append(get(server, f"{address}progress.json"))) for _ in "ab"
        ]
        for viewer in viewers:
            viewer.start()
        for viewer in viewers:
            viewer.join()
        assert answers[0] == answers[1] and json.loads(answers[0][1])["progress"]["model"] == "m"
        assert "Last replies" in get(server, address)[1] and "<td>m</td>" in get(server)[1]
        write(tmp_path / "run", [evaluated()])
        # A run that was killed leaves its progress, and counts as ended after a while.
        os.utime(tmp_path / "run" / "progress.json", (0, 0))
        assert json.loads(get(server, f"{address}progress.json")[1])["state"] == "ended"
        os.utime(tmp_path / "run" / "progress.json")
        assert json.loads(get(server, f"{address}progress.json")[1])["state"] == "running"
        live.end()
        assert json.loads(get(server, f"{address}progress.json")[1])["state"] == "ended"
        assert "acme/vlm" in get(server, address)[1]


def test_finished_databases_are_shown_before_their_average(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyechart.evaluators.runs.live._SECONDS", 0.0)
    (tmp_path / "run").mkdir()
    live = LiveRun(tmp_path / "run", "m", RunProgress(console(quiet=True), [1]))
    parts = [
        evaluated("q_bench/assessment", name, "test", scores={"srcc": 0.5, "n": 9}, headline="srcc")
        for name in ("koniq10k", "spaq")
    ]
    results = with_averages(parts)
    assert len(results) == 3 and results[-1].scores is None
    live.finished(results)
    time.sleep(0.5)
    task = get_task("q_bench/assessment")
    loaded = load_data(task, DataRequest(is_mini=True, limit=1))
    live.answered(task, loaded, Response(Request("1", ("?",), ())), lambda: None)
    written = json.loads((tmp_path / "run" / "progress.json").read_text())
    assert [row[0] for row in written["scores"]] == [f"q_bench/assessment on {part.dataset} (test)" for part in parts]


def test_nothing_to_view_and_a_port_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "eyechart_runs does not exist" in invoke("view", "--no-browser", code=2).output
    assert "has no run and no leaderboard" in invoke("view", tmp_path, "--no-browser", code=2).output
    write(tmp_path / "eyechart_runs" / "a", [evaluated()])
    with serving(Path("eyechart_runs")) as server:
        done = invoke("view", "--no-browser", "--port", server.server_port, code=2)
        assert f"--port {server.server_port}: Address already in use; leave it out for a free port" in done.output


def test_the_command_opens_the_browser_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", [evaluated()])
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho $1 > {tmp_path}/opened\n")
    browser.chmod(0o755)
    command = [sys.executable, "-m", "eyechart.evaluators", "view", str(folder)]
    env = {**os.environ, "BROWSER": str(browser)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        while not (tmp_path / "opened").exists() or not (tmp_path / "opened").read_text():
            assert child.poll() is None
            time.sleep(0.05)
        assert (tmp_path / "opened").read_text().strip() == line.split()[1]
        child.send_signal(signal.SIGINT)
        assert child.wait() == 0
