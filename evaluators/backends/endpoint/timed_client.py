"""The HTTP client of `openai` with a time limit for the complete answer, and without retries that cannot help."""

import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

import openai

from eyechart.datasets_scripts.common.errors import UsageError

# Replies have kilobytes; log-probabilities of a complete prompt have a few megabytes.
_MOST_BYTES = 64 * 2**20
_OF_ENCODING = ("content-encoding", "content-length", "transfer-encoding")


class TimedClient(openai.DefaultHttpxClient):
    """Gives up if an answer is not complete in time or too long, and does not follow redirects.

    The client's own timeouts restart with every byte, so a server that sends a byte now and then would never time out.

    Args:
        timeout: Seconds from the start of a request to the last byte of its answer.
        is_final: Takes the text of a server error (5xx) and returns whether the same request would fail again.
        use_proxy: Whether to use the proxies set in the environment.
    """

    def __init__(self, timeout: float, is_final: Callable[[str], bool], *, use_proxy: bool = True) -> None:
        """Create the client.

        Raises:
            UsageError: The proxies or certificates set in the environment cannot be used.
        """
        try:
            super().__init__(trust_env=use_proxy, follow_redirects=False)
        # A missing file, a malformed address, a missing package for SOCKS.
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(
                "the environment variables for proxies (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) or certificates "
                f"(SSL_CERT_FILE, SSL_CERT_DIR) cannot be used: {type(error).__name__}: {error}. Correct or unset them"
            ) from error
        self._whole_timeout = timeout
        self._is_final = is_final

    def send(self, request: Any, **options: Any) -> Any:
        """Send a request and wait for the complete answer."""
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
            raise _package().ReadTimeout("the answer was not complete in time", request=request) from None
        if isinstance(found, Exception):
            raise found
        if found.status_code >= 500 and self._is_final(found.text):
            # openai's client takes this header for the server's decision.
            found.headers["x-should-retry"] = "false"
        return found


def _read(response: Any) -> Any:
    """The same response with its complete body, up to the size limit."""
    parts, size = [], 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            response.close()
            raise _package().ReadError(f"the answer has more than {_MOST_BYTES:,} bytes", request=response.request)
    # The body is already decoded.
    headers = [item for item in response.headers.multi_items() if item[0].lower() not in _OF_ENCODING]
    return _package().Response(response.status_code, headers=headers, content=b"".join(parts), request=response.request)


def _package() -> Any:
    """The HTTP package that openai uses: httpx or httpx2, depending on its version."""
    return sys.modules[openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]]
