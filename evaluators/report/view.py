"""A server on this machine for reports, boards and runs that are still going.

It serves the pages that it knows by name and no other file, so no path can lead out of a folder. Only this machine can
connect. Another site whose name leads to this machine (DNS rebinding) sends its own name as the host, and is refused.
"""

import hashlib
import http.server
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from pydantic_core import from_json

from eyechart.datasets_scripts.common.errors import EyechartError, UsageError
from eyechart.datasets_scripts.common.paths import open_regular
from eyechart.evaluators.report import REPORT_FILE, write_report
from eyechart.evaluators.report.page import script_of, template
from eyechart.evaluators.results.finished_runs import data_words, model_label
from eyechart.evaluators.results.results_file import PROGRESS_FILE, RESULTS_FILE, read_results
from eyechart.evaluators.results.score_rows import named_headlines

_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")
_DEPTH = 2
"""Levels of folders that are searched: `eyechart_runs`, the folder of a command, that of a model."""
_BOARD = ("index.html", "leaderboard.js", "results/index.json")
_HTML, _JSON = "text/html", "application/json"
_TYPES = {".html": _HTML, ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": _JSON}
_FOREIGN = "sandbox allow-scripts allow-popups allow-modals"
"""For reports, which may come with a run: their scripts cannot read other pages of this server."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Answer(NamedTuple):
    """What a browser gets."""

    body: bytes
    kind: str = _HTML
    status: int = 200
    policy: str = ""
    """A Content-Security-Policy; those of pages are in the pages."""


class Viewer:
    """Answers requests for the runs and boards in some folders, which are searched anew for each list."""

    def __init__(self, folders: Sequence[Path], *, may_begin: bool = False) -> None:
        """Raise `UsageError` if there is nothing in a folder, unless runs `may_begin` there later."""
        self._folders, self._may_begin = list(folders), may_begin
        # Figures are drawn by one thread at a time, and a report is not written twice.
        self._writing = threading.Lock()
        for folder in [] if may_begin else folders:
            if not folder.exists():
                raise UsageError(f"{folder} does not exist; name the folder of a run or a board, or one that has some")
            if not any(_search(folder)):
                raise UsageError(f"{folder} has no run and no leaderboard; begin with `eyechart run --out {folder}`")
        self._find()

    @property
    def start(self) -> str:
        """The path to open first: the only run, or the list."""
        if len(self.shown) != 1 or any(map(_is_board, self.shown.values())):
            return ""
        return f"{next(iter(self.shown))}/{'watch' if self._may_begin else ''}"

    def answer(self, path: str) -> Answer:
        """The answer to a path, without its query."""
        name, slash, rest = unquote(path).removeprefix("/").partition("/")
        if not name and not slash:
            return self._list()
        if name not in self.shown:
            self._find()
        folder = self.shown.get(name)
        # Relative addresses in a page need the slash.
        if folder is None or not slash:
            return _message(404, "There is no such page.")
        if not (self._may_begin or folder.is_dir()):
            return _message(404, f"The folder {folder} is gone.")
        if _is_board(folder):
            return _board_file(folder, rest)
        if rest == PROGRESS_FILE:
            return _progress(folder)
        if rest == "watch" or (rest == "" and _state(folder) != "ended"):
            return _page("watch", title=f"Run in {folder}")
        return self._report(folder) if rest == "" else _message(404, "There is no such page.")

    def _find(self) -> None:
        folders = [part for folder in self._folders for part in _search(folder)]
        folders += self._folders if self._may_begin else []
        # By what stands for them in addresses.
        self.shown = {hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:12]: folder for folder in folders}

    def _list(self) -> Answer:
        self._find()
        boards = [(name, str(folder)) for name, folder in self.shown.items() if _is_board(folder)]
        runs = [_summary(name, folder) for name, folder in self.shown.items() if not _is_board(folder)]
        # Those that are running, then the newest.
        runs.sort(key=lambda run: (run["state"] != "ended", run["started"]), reverse=True)
        return _page("list", title="Runs", runs=runs, boards=boards)

    def _report(self, folder: Path) -> Answer:
        file = folder / REPORT_FILE
        with self._writing:
            if not file.is_file():
                write_report([folder], files=False)
            with open_regular(file) as opened:
                return Answer(opened.read(), policy=_FOREIGN)


class ViewServer(http.server.ThreadingHTTPServer):
    """A server on this machine only; port 0 is any free one."""

    def __init__(self, viewer: Viewer, port: int = 0) -> None:
        """Raise `UsageError` if the port is taken."""
        self.viewer = viewer
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise UsageError(f"--port {port}: {error.strerror}; leave it out for a free port") from error

    @property
    def url(self) -> str:
        """The address to open first."""
        return f"http://127.0.0.1:{self.server_port}/{self.viewer.start}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that closed its connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    server_version, sys_version = "eyechart", ""
    timeout = 60
    server: ViewServer

    def do_GET(self) -> None:
        if not _HOST.fullmatch(self.headers.get("Host", "")):
            return self._send(_message(403, "This server answers only to 127.0.0.1 and localhost."))
        try:
            answer = self.server.viewer.answer(urlsplit(self.path).path)
        # The folder is gone, or its files are damaged.
        except (EyechartError, OSError, ValueError) as error:
            text = error.explain() if isinstance(error, EyechartError) else str(error)
            answer = _message(404, f"This page cannot be shown: {text}")
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        policy = {"Content-Security-Policy": answer.policy} if answer.policy else {}
        about = {"Content-Type": f"{answer.kind}; charset=utf-8", "Content-Length": str(len(answer.body))}
        for name, value in (about | _HEADERS | policy).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _search(folder: Path, depth: int = _DEPTH) -> Iterator[Path]:
    """The folders of runs and boards in a folder, newest names first; one that cannot be read has none."""
    with suppress(OSError):
        if _is_board(folder) or _state(folder) != "waiting":
            yield folder
        elif depth:
            for child in sorted(folder.iterdir(), reverse=True):
                if child.is_dir() and not child.name.startswith("."):
                    yield from _search(child, depth - 1)


def _is_board(folder: Path) -> bool:
    return all((folder / file).is_file() for file in _BOARD)


def _state(folder: Path) -> str:
    """Whether a run is "running", has "ended" or was silent for ten minutes, or has no results yet: "waiting"."""
    progress = folder / PROGRESS_FILE
    if progress.is_file() and time.time() - progress.stat().st_mtime < 600:
        return "running"
    return "ended" if (folder / RESULTS_FILE).is_file() else "waiting"


def _summary(name: str, folder: Path) -> dict[str, Any]:
    """What the list shows of a run."""
    about: dict[str, Any] = {"name": name, "folder": str(folder), "state": _state(folder)}
    about |= {"model": "", "data": "", "started": "", "scores": [], "problems": []}
    with suppress(Exception):
        about["model"] = str(from_json(_progress(folder).body)["progress"]["model"])
    try:
        return about | _results(folder, (folder / RESULTS_FILE).stat().st_mtime_ns)
    except FileNotFoundError:
        return about
    except (EyechartError, OSError) as error:
        return about | {"problems": [str(error)]}


@lru_cache(maxsize=4096)
def _results(folder: Path, modified: int) -> dict[str, Any]:
    """The same from its results, which are read again only after they changed."""
    results = read_results(folder)
    models = [*(task.model for task in results.tasks), *(failed.model for failed in results.failed)]
    return {
        "model": ", ".join(dict.fromkeys(map(model_label, filter(None, models)))),
        "started": str(results.environment.get("started", "")).replace("T", " "),
        "data": data_words(results.tasks) if results.tasks else "",
        "scores": named_headlines(results.tasks),
        "problems": [f"failed: {failed.task} on {failed.dataset}" for failed in results.failed],
    }


def _progress(folder: Path) -> Answer:
    state, body = _state(folder), b"null"
    with suppress(OSError), open_regular(folder / PROGRESS_FILE, 5 * 2**20) as opened:
        body = opened.read()
    return Answer(b'{"state": "%s", "progress": %s}' % (state.encode(), body), _JSON)


def _board_file(folder: Path, path: str) -> Answer:
    """A file of a board: of its page, or of its data."""
    listed = (file for part in ("*", "results/*", "results/*/*") for file in folder.glob(part))
    file = {file.relative_to(folder).as_posix(): file for file in listed}.get(path or "index.html")
    if file is None or file.suffix not in _TYPES or file.is_symlink() or not file.is_file():
        return _message(404, "There is no such page.")
    with open_regular(file) as opened:
        return Answer(opened.read(), _TYPES[file.suffix])


def _message(status: int, text: str) -> Answer:
    return _page("message", title="eyechart", text=text)._replace(status=status)


def _page(kind: str, **values: Any) -> Answer:
    script, script_hash = script_of("view.js")
    page = template("view.html.jinja").render(kind=kind, script=script, script_hash=script_hash, **values)
    return Answer(page.encode())
