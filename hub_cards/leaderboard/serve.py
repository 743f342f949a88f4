"""A preview of a built leaderboard, on this machine alone."""

import functools
import http.server
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError

HOST = "127.0.0.1"


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Files as they are now, without a line for each request."""

    def end_headers(self) -> None:
        """A folder that is built again is to be seen at once, and nothing is to be guessed from contents."""
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def make_server(folder: Path, port: int) -> http.server.ThreadingHTTPServer:
    """Make a server of a folder, to be run with `serve_forever`.

    Args:
        folder: A built leaderboard.
        port: 0 takes any free one; `server_address` then has it.

    Raises:
        UsageError: The port is taken or not allowed.
    """
    handler = functools.partial(_Handler, directory=str(folder))
    try:
        return http.server.ThreadingHTTPServer((HOST, port), handler)
    except (OSError, OverflowError) as error:
        raise UsageError(f"port={port} cannot be used: {error}; choose another with --port, or 0 for any") from error
