"""Failed requests: what happened and what to do, and which parameters a server refuses."""

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import EyechartError
from eyechart.evaluators.requests.errors import EndpointError, ModelError, QuotaError
from eyechart.evaluators.requests.secrets import redact
from eyechart.evaluators.requests.types import PROVIDER

if TYPE_CHECKING:
    import openai

DROPPED = "dropped_parameters"
"""The setting that lists the dropped parameters, separated by `SEPARATOR` where a response carries them."""
SEPARATOR = ", "

# Where an error names several, the first one is dropped first. Errors that name only max_tokens say that its value is
# too large.
_NAMED_BY = {"max_tokens": "max_completion_tokens", "seed": "seed", "top_p": "top_p", "temperature": "temperature"}
REFUSED = (400, 422)
"""HTTP statuses with which servers refuse a field or a value: Mistral's is 422."""
OVERLOADED = (408, 429, 503, 529)
"""HTTP statuses of a server that gets more requests than it takes."""
# Every other request would fail too: wrong key, no permission, no such model or address.
_HOPELESS = (401, 403, 404, 405)
_LONGEST = 300
# Of an error's text: longer ones could take hours to search.
_MOST_READ = 4096
USUAL_ADDRESS = "Is the base URL correct? It usually ends in /v1"
READ_NUMBERS = "Quality assessment can instead read a number from each reply: --set prompt=numerical"
NO_LOGPROBS = (
    "The task needs log-probabilities. Use a server that returns them, for example vLLM, or evaluate the model with "
    f"transformers. {READ_NUMBERS}"
)
NO_PROMPT_LOGPROBS = (
    "Losses of given texts need the log-probabilities of the prompt (prompt_logprobs). Use a server that returns them, "
    "for example vLLM, or evaluate the model with transformers"
)
# Known error texts of llama.cpp b11434, vLLM 0.32, SGLang, OpenAI and Google, and what helps: the first that matches.
# With the final ones, every other request would fail too.
_FINAL_REMEDIES = (
    ("image input is not supported", "Start llama.cpp's server with --mmproj FILE, the model's vision part"),
    ("is not a multimodal model", "Choose a model that takes images (--model)"),
    (
        r"greater than max allowed|logprobs.*(\babove\b|\bless\b|\bbetween\b|\bat most\b)",
        "Set a smaller --model-arg top_logprobs, or start vLLM with a larger --max-logprobs",
    ),
    ("prompt_logprobs", NO_PROMPT_LOGPROBS),
    (r"(?i)\b(top_)?logprobs\b", NO_LOGPROBS),
)
_REMEDIES = (
    *_FINAL_REMEDIES,
    ("may be provided in one prompt", "Start vLLM with a larger --limit-mm-per-prompt"),
    (
        "maximum context length|exceeds the available context size|greater than max_model_len|model's context length",
        "Set a smaller --max-new-tokens, or start the server with a longer context (vLLM: --max-model-len; SGLang: "
        "--context-length; llama.cpp: --ctx-size, shared by the --parallel slots)",
    ),
    ("max_tokens is too large", "Set a smaller --max-new-tokens"),
    ("model output limit was reached", "Set a larger --max-new-tokens"),
)


def explain(error: "openai.APIError", base_url: str, timeout: float, *, has_key: bool) -> EyechartError:
    """The error that explains a failed request: `ModelError` if every other would fail too."""
    import openai

    retries = retries_of(error)
    after = f" after {retries} {'retry' if retries == 1 else 'retries'}" if retries else ""
    if isinstance(error, openai.APITimeoutError):
        return EndpointError(f"{base_url} did not answer within {timeout:g} s{after}")
    if not isinstance(error, openai.APIStatusError):
        cause = error.__cause__ or error
        what = clean(f"{type(cause).__name__}: {cause}")
        # By name: it is httpx's or httpx2's, as the version of openai has it.
        if type(cause).__name__ == "ConnectError":
            return ModelError(f"cannot reach a server at {base_url}{after}: {what}. Is it running?")
        return EndpointError(f"the connection to {base_url} broke off{after}: {what}")
    status, message = error.status_code, redact(_message(error.body))[:_MOST_READ]
    if target := error.response.headers.get("location"):
        reason = clean(f"{base_url} answered {status}, a redirect to {target}")
        return ModelError(f"{reason}. To use that server, give its address (--base-url)")
    remedy = next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, message)), "")
    if status == 401 and not has_key:
        remedy = "Set the environment variable OPENAI_API_KEY"
    elif status in OVERLOADED and not remedy:
        wait = clean(error.response.headers.get("retry-after", ""))
        asked = f"It asks to wait {wait} seconds. " if wait.isdecimal() else ""
        remedy = f"{asked}Run it again later (stored answers are reused), or set a larger max_retries"
    elif status in (404, 405) and not base_url.endswith("/v1"):
        remedy = f"{USUAL_ADDRESS}: try --base-url {base_url}/v1"
    reason = clean(f"{base_url} answered {status}{after}: {message}")
    reason = f"{reason.rstrip('.')}. {remedy}" if remedy else reason
    # OpenAI answers with the status of too many requests, 429.
    if status == 402 or "insufficient_quota" in (error.code, error.type):
        return QuotaError(f"the model cannot be used: {reason}")
    if status in _HOPELESS or is_final(message):
        return ModelError(f"the model cannot be used: {reason}")
    refused = named_parameters(error.body) if status in REFUSED and not remedy else ()
    return EndpointError(reason, status=status, refused=refused)


def is_final(text: str) -> bool:
    """Whether a server's error means that every other request would fail too."""
    return any(re.search(pattern, text[:_MOST_READ]) for pattern, _ in _FINAL_REMEDIES)


def retries_of(error: "openai.APIError") -> int:
    """How often the failed request was retried."""
    return int(error.request.headers.get("x-stainless-retry-count", 0))


def clean(text: str) -> str:
    """The text on one short line, without secrets and without control characters."""
    line = "".join(character for character in " ".join(redact(text).split()) if character.isprintable())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _message(body: object) -> str:
    """The message in a server's error, in any of the forms that servers use."""
    if isinstance(body, dict):
        for name in ("message", "detail", "error"):
            if body.get(name):
                return _message(body[name])
    if isinstance(body, list) and body:
        return "; ".join(map(_message, body))
    return str(body or "no reason given")


def named_parameters(error: object) -> tuple[str, ...]:
    """The parameters that a provider's error names.

    Examples:
        >>> named_parameters("`temperature` and `top_p` cannot both be specified for this model.")
        ('top_p', 'temperature')
        >>> named_parameters("max_tokens is too large")
        ()
    """
    text = str(error)
    return tuple(name for name, word in _NAMED_BY.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE))


def without(fields: Mapping[str, Any], dropped: Collection[str]) -> dict[str, Any]:
    """The fields of a request without some parameters; `max_completion_tokens` replaces `max_tokens`.

    Examples:
        >>> without({"temperature": 0.0, "max_tokens": 9}, {"max_tokens"})
        {'temperature': 0.0, 'max_completion_tokens': 9}
    """
    left = {name: value for name, value in fields.items() if name not in dropped}
    replaced = {"max_completion_tokens": fields["max_tokens"]} if "max_tokens" in fields.keys() & dropped else {}
    return {**left, **replaced}


def dropped_settings(carried: Collection[str]) -> dict[str, Any]:
    """What a result says about dropped parameters, given those of each reply as one text; empty without any."""
    names = sorted({name for text in carried for name in text.split(SEPARATOR) if name})
    decoding = {"decoding": PROVIDER} if "temperature" in names else {}
    return {DROPPED: names, **decoding} if names else {}
