"""The HTTP client of `openai` with a limit on the whole of an answer, and none of the retries that cannot help."""

import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

import openai

from eyechart.datasets_scripts.common.errors import UsageError

# Replies have kilobytes, log-probabilities of a whole prompt a few megabytes.
_MOST_BYTES = 64 * 2**20
_OF_ENCODING = ("content-encoding", "content-length", "transfer-encoding")


class TimedClient(openai.DefaultHttpxClient):
    """Gives up an answer that is not whole in time, or has no end, and follows no redirection to another server.

    The client's own timeouts begin again with every byte, so a server that sends one now and then would never end.

    Args:
        timeout: Seconds from the sending of a request to the last byte of its answer.
        is_final: Tells from the text of a server's error (5xx) that the same request would fail again.
        use_proxy: Whether the proxies are used that the environment names.
    """

    def __init__(self, timeout: float, is_final: Callable[[str], bool], *, use_proxy: bool = True) -> None:
        """Keep both.

        Raises:
            UsageError: The environment names proxies or certificates that cannot be used.
        """
        try:
            super().__init__(trust_env=use_proxy, follow_redirects=False)
        # A file that is not there, an address that is none, a package that SOCKS needs.
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(
                "no connection can be made with the proxies (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) or certificates "
                f"(SSL_CERT_FILE, SSL_CERT_DIR) that the environment names: {type(error).__name__}: {error}. Change or "
                "unset them"
            ) from error
        self._whole_timeout = timeout
        self._is_final = is_final

    def send(self, request: Any, **options: Any) -> Any:
        """Send a request and wait for its whole answer."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        given_up = threading.Event()

        def read() -> None:
            try:
                response = super(TimedClient, self).send(request, **{**options, "stream": True})
                opened.append(response)
                if given_up.is_set():
                    response.close()
                done.put(_read(response))
            except Exception as error:
                done.put(error)

        opened: list[Any] = []
        threading.Thread(target=read, daemon=True).start()
        try:
            found = done.get(timeout=self._whole_timeout)
        except queue.Empty:
            given_up.set()
            for response in opened:
                response.close()
            raise _package().ReadTimeout("the answer was not whole in time", request=request) from None
        if isinstance(found, Exception):
            raise found
        if found.status_code >= 500 and self._is_final(found.text):
            # What openai's client reads as the server's own word.
            found.headers["x-should-retry"] = "false"
        return found


def _read(response: Any) -> Any:
    """The same response with its whole body, unless that has no end."""
    parts, size = [], 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            response.close()
            raise _package().ReadError(f"the answer has more than {_MOST_BYTES:,} bytes", request=response.request)
    # The body is decoded.
    headers = [item for item in response.headers.multi_items() if item[0].lower() not in _OF_ENCODING]
    return _package().Response(response.status_code, headers=headers, content=b"".join(parts), request=response.request)


def _package() -> Any:
    """What the client is made with: httpx or httpx2, as the version of openai has it."""
    return sys.modules[openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]]
