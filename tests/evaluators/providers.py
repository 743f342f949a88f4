"""Providers that refuse parameters, with their own texts, each with the public thread that quotes it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.evaluators.scripted_server import always, json_response

Body = Mapping[str, Any]


def message(text: str, **fields: Any) -> Any:
    """A body with an error's message and its other fields."""
    return {"error": {"message": text, **fields}}


def unsupported(text: str, parameter: str, code: str = "unsupported_parameter") -> Any:
    """A body of OpenAI's."""
    return message(text, type="invalid_request_error", param=parameter, code=code)


def bedrock(text: str) -> Any:
    """A body of LiteLLM's about an error of Bedrock's."""
    error = f'{{"message":"The model returned the following errors: {text}"}}'
    return message(f"litellm.BadRequestError: BedrockException - {error}")


@dataclass(frozen=True)
class Refusal:
    """An error and the requests that get it."""

    applies: Callable[[Body], bool]
    error: Any
    status: int = 400


def names(*parameters: str) -> Callable[[Body], bool]:
    """Requests with all these parameters."""
    return lambda body: all(name in body for name in parameters)


def _is_heated(body: Body) -> bool:
    return body.get("temperature", 1) != 1


_NOT_SUPPORTED = "Unsupported parameter: '{}' is not supported with this model."
_ONLY_1 = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
)
_DEPRECATED = "`temperature` is deprecated for this model."
_NO_SEED = 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'

# https://github.com/griptape-ai/ComfyUI-Griptape/issues/312
NO_MAX_TOKENS = Refusal(
    names("max_tokens"),
    unsupported(f"{_NOT_SUPPORTED.format('max_tokens')} Use 'max_completion_tokens' instead.", "max_tokens"),
)
# https://github.com/sashabaranov/go-openai/pull/1061
NO_LOGPROBS = Refusal(names("logprobs"), unsupported(_NOT_SUPPORTED.format("logprobs"), "logprobs"))
# https://github.com/HIllya51/LunaTranslator/issues/1842
NO_TOP_P = Refusal(names("top_p"), unsupported(_NOT_SUPPORTED.format("top_p"), "top_p"))
# https://github.com/gabrii/Cursor-Azure-GPT-5/issues/33
ONLY_TEMPERATURE_1 = Refusal(_is_heated, unsupported(_ONLY_1, "temperature", "unsupported_value"))
# https://github.com/BerriAI/litellm/issues/8192
NO_TEMPERATURE = Refusal(names("temperature"), unsupported(_NOT_SUPPORTED.format("temperature"), "temperature"))
# https://github.com/UKGovernmentBEIS/inspect_ai/issues/3721
NO_TEMPERATURE_AT_ANTHROPIC = Refusal(
    names("temperature"), {"type": "error", **message(_DEPRECATED, type="invalid_request_error")}
)
# https://github.com/RooCodeInc/Roo-Code/issues/12162
NO_TEMPERATURE_AT_BEDROCK = Refusal(
    names("temperature"),
    bedrock(
        '{\\"type\\":\\"error\\",\\"request_id\\":\\"req_p2msrdcxdgpww2tqhgwewtvomrkhc2l2pe5xdananom42vw6tqja\\",'
        f'\\"error\\":{{\\"type\\":\\"invalid_request_error\\",\\"message\\":\\"{_DEPRECATED}\\"}}}}'
    ),
)
# https://github.com/skydiscover-ai/skydiscover/issues/15
NOT_BOTH = Refusal(
    names("temperature", "top_p"),
    bedrock("`temperature` and `top_p` cannot both be specified for this model. Please use only one."),
)
# https://github.com/opencyvis/opencyvis-phone/issues/12
ONLY_TEMPERATURE_1_AT_MOONSHOT = Refusal(
    _is_heated, message("invalid temperature: only 1 is allowed for this model", type="invalid_request_error")
)
# https://github.com/Vali-98/ChatterUI/issues/143
_EXTRA = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": -1}
NO_SEED_AT_MISTRAL = Refusal(
    names("seed"),
    {"object": "error", "message": {"detail": [_EXTRA]}, "type": "invalid_request_error", "param": None, "code": None},
    422,
)
# https://github.com/Vali-98/ChatterUI/issues/227
_DETAIL = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"description": _NO_SEED}]}
NO_SEED_AT_GOOGLE = Refusal(names("seed"), [message(_NO_SEED, code=400, status="INVALID_ARGUMENT", details=[_DETAIL])])
# https://github.com/mscraftsman/generative-ai/issues/135
NO_LOGPROBS_AT_GOOGLE = Refusal(
    names("logprobs"), message("Logprobs is not enabled for models/gemini-2.5-pro", code=400, status="INVALID_ARGUMENT")
)
# https://github.com/SakanaAI/AI-Scientist/issues/177
ONLY_ONE_AT_DEEPSEEK = Refusal(
    names("n"),
    message(
        "Invalid n value (currently only n = 1 is supported)",
        **{"type": "invalid_request_error", "param": None, "code": "invalid_request_error"},
    ),
)
GPT_5 = (NO_MAX_TOKENS, NO_LOGPROBS, NO_TOP_P, ONLY_TEMPERATURE_1)
O3_MINI = (NO_MAX_TOKENS, NO_LOGPROBS, NO_TOP_P, NO_TEMPERATURE)


def provider(*refusals: Refusal, answer=None):
    """Answers of a provider: the first refusal that applies, or else `answer`, by default "B."."""

    def respond(request):
        body = json.loads(request.data)
        for one in refusals:
            if one.applies(body):
                return json_response(one.error, one.status)
        return (answer or always(" B. "))(request)

    return respond
