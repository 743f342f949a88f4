"""Why a server did not answer, in words that say how to go on and hold no key."""

from typing import TYPE_CHECKING

from eyechart.datasets_scripts.common.errors import EndpointError, EyechartError, ModelError, QuotaError

if TYPE_CHECKING:
    import openai

# No other request would fare better: wrong key, no permission, no such model or address.
_HOPELESS = (401, 403, 404)
_NO_MONEY = 402
# OpenAI's word for it, in an answer that is otherwise that of a server asked too often (429).
_NO_QUOTA = "insufficient_quota"
_LONGEST = 300


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
        if error.status_code == _NO_MONEY or _NO_QUOTA in (error.code, error.type):
            return QuotaError(f"the model cannot be used: {reason}.")
        if error.status_code in _HOPELESS:
            hint = " Set the environment variable OPENAI_API_KEY." if error.status_code == 401 and not key else ""
            return ModelError(f"the model cannot be used: {reason}.{hint}")
        return EndpointError(reason, status=error.status_code)
    if isinstance(error, openai.APITimeoutError):
        return EndpointError(f"{base_url} did not answer within {timeout:g} s{after}")
    cause = error.__cause__
    what = clean(f"{type(cause or error).__name__}: {cause or error}", key)
    # By name: it is httpx's or httpx2's, as the version of openai has it.
    if type(cause).__name__ == "ConnectError":
        return ModelError(f"no server can be reached at {base_url}{after}: {what}. Is it running, is the URL right?")
    return EndpointError(f"the connection to {base_url} broke{after}: {what}")


def retries_of(error: "openai.APIError") -> int:
    """How often the request that failed had been sent again."""
    return int(error.request.headers.get("x-stainless-retry-count", 0))


def clean(text: str, key: str) -> str:
    """The text on one short line, without the key and without characters that a terminal obeys."""
    # Shorter ones are the placeholders of servers that want no key.
    if len(key) > 5:
        text = text.replace(key, "[API key]")
    line = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _after(retries: int) -> str:
    return f" after {retries} {'retry' if retries == 1 else 'retries'}" if retries else ""


def _message(body: object) -> str:
    """The words of a server's error, in the forms that servers have for it."""
    if isinstance(body, dict):
        for name in ("message", "detail", "error"):
            if body.get(name):
                return _message(body[name])
    return str(body or "no reason given")
