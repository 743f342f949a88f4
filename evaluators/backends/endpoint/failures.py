"""Error messages for failed requests to a server: what happened, what to do, and never the API key."""

import re
from typing import TYPE_CHECKING

from eyechart.datasets_scripts.common.errors import DataError, EndpointError, EyechartError, ModelError, QuotaError
from eyechart.evaluators.backends.endpoint.redaction import redact
from eyechart.evaluators.backends.endpoint.refused_parameters import named_parameters

if TYPE_CHECKING:
    import openai

REFUSED = (400, 422)
"""HTTP statuses with which servers refuse a field or a value."""
NO_SUCH_ADDRESS = (404, 405)
# Every other request would fail too: wrong key, no permission, no such model or address.
_HOPELESS = (401, 403, *NO_SUCH_ADDRESS)
_NO_MONEY = 402
# OpenAI's error code for it, in an answer with the status of too many requests (429).
_NO_QUOTA = "insufficient_quota"
_LONGEST = 300
_SHORTER = "Set a smaller --max-new-tokens, or start the server with a longer context"
READ_NUMBERS = "Quality assessment can instead read a number from each reply: --set prompt=numerical"
NO_LOGPROBS = (
    "The task needs log-probabilities. Use a server that returns them, for example vLLM, or evaluate the model with "
    f"transformers. {READ_NUMBERS}"
)
# Known error texts of llama.cpp b11434, vLLM 0.32, SGLang, OpenAI and Google, and what helps: the first that matches.
# With the final ones, every other request would fail too.
_FINAL_REMEDIES = (
    ("image input is not supported", "Start llama.cpp's server with --mmproj FILE, the model's vision part"),
    ("is not a multimodal model", "Choose a model that takes images (--model)"),
    ("greater than max allowed", "Set a smaller --top-logprobs, or start vLLM with a larger --max-logprobs"),
    (r"logprobs.*(\babove\b|\bless\b|\bbetween\b|\bat most\b)", "Set a smaller --top-logprobs"),
    (r"(?i)\b(top_)?logprobs\b", NO_LOGPROBS),
)
_REMEDIES = (
    *_FINAL_REMEDIES,
    ("may be provided in one prompt", "Start vLLM with a larger --limit-mm-per-prompt"),
    ("maximum context length", f"{_SHORTER} (vLLM: --max-model-len)"),
    ("exceeds the available context size", f"{_SHORTER} (llama.cpp: --ctx-size, shared by the --parallel slots)"),
    ("greater than max_model_len", f"{_SHORTER} (vLLM: --max-model-len)"),
    ("model's context length", f"{_SHORTER} (SGLang: --context-length)"),
    ("max_tokens is too large", "Set a smaller --max-new-tokens"),
    ("model output limit was reached", "Set a larger --max-new-tokens"),
)

FIRST_FAILURES = 5
"""If this many requests fail in the same way and none has succeeded, no more are sent."""


def explain(error: "openai.APIError", base_url: str, timeout: float, key: str) -> EyechartError:
    """Make the error that explains a failed request.

    Args:
        error: The client's error after its last retry.
        base_url: The server's address.
        timeout: The time limit in seconds.
        key: The API key, which the message must not contain; "" if missing.

    Returns:
        The error, to be raised by the caller: a `ModelError` if every other request would fail too (a `QuotaError` if
        the account has no money left), otherwise an `EndpointError`.
    """
    import openai

    after = _after(retries_of(error))
    if isinstance(error, openai.APIStatusError):
        message = _message(error.body)
        reason = clean(f"{base_url} answered {error.status_code}{after}: {message}", key)
        remedy = _remedy(message)
        if target := error.response.headers.get("location"):
            target = clean(target, key)
            return ModelError(
                f"{base_url} answered {error.status_code}, a redirect to {target}. Redirects are not followed; to use "
                "that server, give its address (--base-url)"
            )
        if error.status_code == _NO_MONEY or _NO_QUOTA in (error.code, error.type):
            return QuotaError(f"the model cannot be used: {reason}.")
        advised = reason.rstrip(".") + (f". {remedy}" if remedy else "")
        if error.status_code in _HOPELESS or is_final(message):
            hint = " Set the environment variable OPENAI_API_KEY." if error.status_code == 401 and not key else ""
            return ModelError(f"the model cannot be used: {advised}.{hint}")
        refused = named_parameters(error.body) if error.status_code in REFUSED and not remedy else ()
        return EndpointError(advised, status=error.status_code, refused=refused)
    if isinstance(error, openai.APITimeoutError):
        return EndpointError(f"{base_url} did not answer within {timeout:g} s{after}")
    cause = error.__cause__
    what = clean(f"{type(cause or error).__name__}: {cause or error}", key)
    # By name: it is httpx's or httpx2's, as the version of openai has it.
    if type(cause).__name__ == "ConnectError":
        return ModelError(f"cannot reach a server at {base_url}{after}: {what}. Is it running? Is the address correct?")
    return EndpointError(f"the connection to {base_url} broke off{after}: {what}")


def is_final(text: str) -> bool:
    """Whether a server's error means that every other request would fail too."""
    return any(re.search(pattern, text) for pattern, _ in _FINAL_REMEDIES)


class FirstFailures:
    """Stops a run whose first requests all fail in the same way."""

    def __init__(self) -> None:
        """Start counting."""
        self._way = ""
        self._count: int | None = 0

    def count(self, error: DataError | None) -> None:
        """Count a response's error; the first answer (None) ends the counting.

        Raises:
            ModelError: The first `FIRST_FAILURES` requests failed in the same way.
        """
        if error is None:
            self._count = None
        if self._count is None or not isinstance(error, EndpointError):
            return
        # Ignore numbers, because counts of tokens and retries differ.
        way = re.sub(r"\d+", "0", error.reason)
        self._count = self._count + 1 if way == self._way else 1
        self._way = way
        if self._count >= FIRST_FAILURES:
            raise ModelError(f"stopped, because the first {self._count} requests all failed in the same way: {error}.")


def retries_of(error: "openai.APIError") -> int:
    """How often the failed request was retried."""
    return int(error.request.headers.get("x-stainless-retry-count", 0))


def clean(text: str, key: str) -> str:
    """The text on one short line, without the key and without control characters."""
    line = "".join(character for character in " ".join(redact(text, key).split()) if character.isprintable())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _remedy(message: str) -> str:
    """What helps with a server's error; "" if unknown."""
    return next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, message)), "")


def _after(retries: int) -> str:
    return f" after {retries} {'retry' if retries == 1 else 'retries'}" if retries else ""


def _message(body: object) -> str:
    """The message in a server's error, in any of the forms that servers use."""
    if isinstance(body, dict):
        for name in ("message", "detail", "error"):
            if body.get(name):
                return _message(body[name])
    if isinstance(body, list) and body:
        return "; ".join(map(_message, body))
    return str(body or "no reason given")
