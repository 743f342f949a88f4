"""How it is found out whether a server goes on with the beginning of a reply, on replies written by hand."""

import pytest
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.prefill import _QUESTION, Prefill, find_prefill

IMAGE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
MESSAGES = [{"role": "user", "content": [IMAGE_PART, {"type": "text", "text": "Rate it."}]}]
REFUSALS = [Response("no continue_final_message here", 400), Response("no assistant last", 400)]
REPLY, REST = "A blurry dark picture of the sea.", "picture of the  coast."


def reply(content):
    return {"choices": [{"message": {"content": content}}]}


@pytest.fixture
def find(http):
    """How the server continues a prefilled reply."""

    def ask():
        client = ChatClient("m", EndpointOptions(base_url=http.url_for("/v1"), max_retries=0))
        (prefill,) = client.map(lambda messages: find_prefill(client, messages), [MESSAGES])
        return prefill

    return ask


def test_a_server_that_returns_the_rest_of_its_own_reply_continues(script, find):
    script.say(reply(REPLY), reply(REST))
    assert find().name == "continue_final_message"
    (message,) = script.bodies[0]["messages"]
    assert message["content"] == [IMAGE_PART, {"type": "text", "text": _QUESTION}]
    assert script.bodies[1]["messages"] == [message, {"role": "assistant", "content": "A blurry dark"}]
    assert script.bodies[1]["continue_final_message"] is True and script.bodies[1]["add_generation_prompt"] is False


@pytest.mark.parametrize(
    ("replies", "error", "message"),
    [
        ([reply(REPLY)], ModelError, "does not continue.*'A blurry dark'.*began a new reply: 'A blurry dark"),
        ([reply("A picture."), *REFUSALS], ModelError, "does not continue.*refused it: .*no assistant last"),
        ([reply("Good")], ModelError, "cannot test whether.*'Good'"),
        ([reply(REPLY), Response("busy", 503)], EndpointError, "answered 503: busy"),
    ],
)
def test_a_server_that_does_not_continue_is_refused_with_the_reason(script, find, replies, error, message):
    script.say(*replies)
    with pytest.raises(error, match=message):
        find()


def test_the_second_way_is_tried_where_the_first_begins_anew(http, script, find):
    # Programs of two kinds, neither of which says that it serves the model.
    models = [{"id": owner, "object": "model", "owned_by": owner} for owner in ("sglang", "llamacpp")]
    http.expect_request("/v1/models").respond_with_json({"object": "list", "data": models})
    script.say(reply(REPLY), reply("picture of trees."), reply(REST))
    assert find() == Prefill("last assistant message", {})
    assert "continue_final_message" not in script.bodies[2]


@pytest.mark.parametrize(("own", "lead"), [(" The picture", " "), ("The picture", "")])
def test_llama_cpp_repeats_what_it_is_given_and_drops_the_blank_before_it(http, script, find, own, lead):
    models = {"object": "list", "data": [{"id": "other.gguf", "object": "model", "owned_by": "llamacpp"}]}
    http.expect_request("/v1/models").respond_with_json(models)
    script.say({"choices": [{"message": {"content": own}}]})
    prefill = find()
    assert prefill.messages(MESSAGES, "The blurry")[1]["content"] == f"{lead}The blurry" and not prefill.extra
    assert prefill.rest(f"{lead}The blurry picture.", "The blurry") == " picture."
    assert prefill.rest(f"{lead}The blurry", "The blurry") == "", "the model may have ended"
