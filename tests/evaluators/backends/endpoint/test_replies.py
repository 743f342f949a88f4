"""How servers say that a reply was cut off, refused or reasoned, in the fields of vLLM, SGLang, DeepSeek and OpenAI."""

import pytest

from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.metrics.scoring.reasoning import CONTENT_FILTER, LENGTH, REASONING, REFUSAL, STOP


def reply(finish_reason=STOP, usage=None, **message):
    choice = {"message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return {"choices": [choice], **({} if usage is None else {"usage": usage})}


HIDDEN = {"prompt_tokens": 9, "completion_tokens": 32, "completion_tokens_details": {"reasoning_tokens": 32}}
CASES = {
    "an answer": (reply(content="B"), ("B", None, STOP)),
    "cut off": (reply(LENGTH, content="The image"), ("The image", None, LENGTH)),
    "reasoning_content": (reply(content="B", reasoning_content="A or B?"), ("B", "A or B?", STOP)),
    "reasoning": (reply(content="B", reasoning="A or B?"), ("B", "A or B?", STOP)),
    "reasoning alone": (reply(LENGTH, content=None, reasoning_content="A or"), ("", "A or", LENGTH)),
    "hidden reasoning": (reply(LENGTH, HIDDEN, content=""), ("", None, REASONING)),
    "hidden reasoning, no content": (reply(LENGTH, HIDDEN, content=None), ("", None, REASONING)),
    "an answer after hidden reasoning": (reply(STOP, HIDDEN, content="B"), ("B", None, STOP)),
    "nothing, cut off": (reply(LENGTH, content=None), ("", None, LENGTH)),
    "a refusal": (reply(content=None, refusal="I can't."), ("I can't.", None, REFUSAL)),
    "taken by a filter": (reply(CONTENT_FILTER, content=None), ("", None, CONTENT_FILTER)),
    "emptied by a filter": (reply(CONTENT_FILTER, content=""), ("", None, CONTENT_FILTER)),
    "stopped by a filter": (reply(CONTENT_FILTER, content="The image"), ("The image", None, CONTENT_FILTER)),
    "no refusal": (reply(content="B", refusal=None), ("B", None, STOP)),
    "no word on the end": ({"choices": [{"message": {"content": "B"}}]}, ("B", None, None)),
}


@pytest.mark.parametrize(("said", "expected"), CASES.values(), ids=list(CASES))
def test_text_reasoning_and_the_end_of_a_reply(script, backend, make_picture, said, expected):
    script.say(said)
    (response,) = backend().answer([Request("x", ("What is this?", IMAGE), (make_picture(0),))])
    assert response.error is None
    assert (response.text, response.reasoning, response.finish_reason) == expected
    assert set(response.usage) <= {"prompt_tokens", "completion_tokens"}
