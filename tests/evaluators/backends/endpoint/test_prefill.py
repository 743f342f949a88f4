"""How it is found out whether a server goes on with the beginning of a reply, on replies written by hand."""

import pytest
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.prefill import _QUESTION, find_prefill

IMAGE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
MESSAGES = [{"role": "user", "content": [IMAGE_PART, {"type": "text", "text": "Rate it."}]}]
REPLY, REST = "A blurry dark picture.", "dark picture.  And more"


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
    assert script.bodies[1]["messages"] == [message, {"role": "assistant", "content": "A blurry"}]
    assert script.bodies[1]["continue_final_message"] is True and script.bodies[1]["add_generation_prompt"] is False


def test_a_server_that_begins_a_new_reply_is_refused(script, find):
    script.say(reply(REPLY))
    with pytest.raises(ModelError, match=r"does not continue.*'A blurry'.*began a new reply: 'A blurry dark"):
        find()


def test_a_refusal_is_shown_in_the_servers_words(script, find):
    script.say(reply(REPLY), Response("no continue_final_message here", 400), Response("no assistant last", 400))
    with pytest.raises(ModelError, match=r"does not continue.*the server refused it: .*no assistant last"):
        find()


def test_the_second_way_is_tried_where_the_first_begins_anew(script, find):
    script.say(reply(REPLY), reply(REPLY), reply(REST))
    assert find().name == "last assistant message"
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


def test_a_server_without_long_replies_is_refused(script, find):
    script.say(reply("Good"))
    with pytest.raises(ModelError, match=r"cannot test whether.*'Good'"):
        find()


def test_a_server_that_fails_meanwhile_is_no_verdict(script, find):
    script.say(reply(REPLY), Response("busy", 503))
    with pytest.raises(EndpointError, match="answered 503: busy"):
        find()
