"""Why a server did not answer, in words that say how to go on and hold no key."""

import re
from typing import TYPE_CHECKING

from eyechart.datasets_scripts.common.errors import DataError, EndpointError, EyechartError, ModelError, QuotaError
from eyechart.evaluators.backends.endpoint.redaction import redact

if TYPE_CHECKING:
    import openai

NO_SUCH_ADDRESS = (404, 405)
# No other request would fare better: wrong key, no permission, no such model or address.
_HOPELESS = (401, 403, *NO_SUCH_ADDRESS)
_NO_MONEY = 402
# OpenAI's word for it, in an answer that is otherwise that of a server asked too often (429).
_NO_QUOTA = "insufficient_quota"
_LONGEST = 300
_SHORTER = "Give a smaller --max-new-tokens, or start the server with a longer context"
# What servers say of every image or length alike, and what helps. In the words of llama.cpp b11434, vLLM 0.32, SGLang
# and OpenAI.
_REMEDIES = (
    ("image input is not supported", "Start llama.cpp's server with --mmproj FILE, the model's part that reads images"),
    ("is not a multimodal model", "Give a model that takes images (--model)"),
    ("may be provided in one prompt", "Start vLLM with a larger --limit-mm-per-prompt"),
    ("maximum context length", f"{_SHORTER} (vLLM: --max-model-len)"),
    ("exceeds the available context size", f"{_SHORTER} (llama.cpp: --ctx-size, which --parallel divides)"),
    ("greater than max_model_len", f"{_SHORTER} (vLLM: --max-model-len)"),
    ("model's context length", f"{_SHORTER} (SGLang: --context-length)"),
    ("max_tokens is too large", "Give a smaller --max-new-tokens"),
    ("greater than max allowed", "Give a smaller --top-logprobs, or start vLLM with a larger --max-logprobs"),
    ("top_logprobs", "Give a smaller --top-logprobs"),
)
# No other request would fare better with these.
_FINAL = ("image input is not supported", "is not a multimodal model", "greater than max allowed", "top_logprobs")

FIRST_FAILURES = 5
"""Requests that may fail in the same way before any other got an answer."""


def explain(error: "openai.APIError", base_url: str, timeout: float, key: str) -> EyechartError:
    """Make the error that says what a failed request means.

    Args:
        error: What the client raised after its last retry.
        base_url: The server's address.
        timeout: How many seconds were allowed.
        key: The API key, which the text must not hold; "" if there is none.

    Returns:
        A `ModelError` if no other request would fare better (a `QuotaError` for want of money), else an
        `EndpointError`; to be raised by the caller.
    """
    import openai

    after = _after(retries_of(error))
    if isinstance(error, openai.APIStatusError):
        reason = clean(f"{base_url} answered {error.status_code}{after}: {_message(error.body)}", key)
        if target := error.response.headers.get("location"):
            target = clean(target, key)
            return ModelError(
                f"{base_url} answered {error.status_code} and points to {target}. Nothing is sent to a server that was "
                "not named: if that one is meant, give its address (--base-url)"
            )
        if error.status_code == _NO_MONEY or _NO_QUOTA in (error.code, error.type):
            return QuotaError(f"the model cannot be used: {reason}.")
        if error.status_code in _HOPELESS or is_final(reason):
            hint = " Set the environment variable OPENAI_API_KEY." if error.status_code == 401 and not key else ""
            return ModelError(f"the model cannot be used: {_with_remedy(reason)}.{hint}")
        return EndpointError(_with_remedy(reason), status=error.status_code)
    if isinstance(error, openai.APITimeoutError):
        return EndpointError(f"{base_url} did not answer within {timeout:g} s{after}")
    cause = error.__cause__
    what = clean(f"{type(cause or error).__name__}: {cause or error}", key)
    # By name: it is httpx's or httpx2's, as the version of openai has it.
    if type(cause).__name__ == "ConnectError":
        return ModelError(f"no server can be reached at {base_url}{after}: {what}. Is it running, is the URL right?")
    return EndpointError(f"the connection to {base_url} broke{after}: {what}")


def is_final(text: str) -> bool:
    """Whether a server's error says that it would answer no other request either."""
    return any(words in text for words in _FINAL)


class FirstFailures:
    """Ends what fails in the same way from its first request on."""

    def __init__(self) -> None:
        """Nothing was answered yet."""
        self._way = ""
        self._count: int | None = 0

    def count(self, error: DataError | None) -> None:
        """Take note of a response's error, None for an answer, with which the counting ends.

        Raises:
            ModelError: As many requests as `FIRST_FAILURES` failed in one way, and none was answered.
        """
        if error is None:
            self._count = None
        if self._count is None or not isinstance(error, EndpointError):
            return
        # Counts of tokens and retries differ.
        way = re.sub(r"\d+", "0", error.reason)
        self._count = self._count + 1 if way == self._way else 1
        self._way = way
        if self._count >= FIRST_FAILURES:
            raise ModelError(f"the first {self._count} requests failed in the same way, so no more are sent: {error}.")


def retries_of(error: "openai.APIError") -> int:
    """How often the request that failed had been sent again."""
    return int(error.request.headers.get("x-stainless-retry-count", 0))


def clean(text: str, key: str) -> str:
    """The text on one short line, without the key and without characters that a terminal obeys."""
    line = "".join(character for character in " ".join(redact(text, key).split()) if character.isprintable())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _with_remedy(reason: str) -> str:
    """What a server said and, where that is known, what helps."""
    helps = (remedy for words, remedy in _REMEDIES if words in reason)
    return ". ".join([reason.rstrip("."), *helps])


def _after(retries: int) -> str:
    return f" after {retries} {'retry' if retries == 1 else 'retries'}" if retries else ""


def _message(body: object) -> str:
    """The words of a server's error, in the forms that servers have for it."""
    if isinstance(body, dict):
        for name in ("message", "detail", "error"):
            if body.get(name):
                return _message(body[name])
    return str(body or "no reason given")
