"""How it is found out whether a server goes on with the beginning of a reply, on replies written by hand."""

import json

import pytest
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.endpoint import prefill
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.prefill import find_prefill

IMAGE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
MESSAGES = [{"role": "user", "content": [IMAGE_PART, {"type": "text", "text": "Rate it."}]}]
# The least certain token that does not stand within a word is " picture".
REPLY = [("The", -0.1), (" blur", -0.5), ("ry", -3.0), (" picture", -1.2), (".", -0.2)]


def place(token, logprob, noise=0.0):
    """A token and the likeliest ones at its place."""
    others = [(token, logprob), (" x", logprob - 2), (" y", logprob - 4), (" z", logprob - 6)]
    top = [{"token": text, "logprob": min(0.0, value + noise * (-1) ** i)} for i, (text, value) in enumerate(others)]
    return {"token": token, "logprob": logprob, "top_logprobs": top}


def reply(tokens, noise=0.0):
    places = [place(token, logprob, noise) for token, logprob in tokens]
    content = "".join(token for token, _ in tokens).replace("\u2581", " ").removesuffix("</s>")
    return {"choices": [{"message": {"content": content}, "logprobs": {"content": places}}]}


@pytest.fixture
def find(http):
    """How the server continues a prefilled reply."""

    def ask(top_logprobs=4):
        client = ChatClient("m", EndpointOptions(base_url=http.url_for("/v1"), max_retries=0))
        (found,) = client.map(lambda messages: find_prefill(client, messages, top_logprobs), [MESSAGES])
        return found

    return ask


WITH_END = [("Good", -0.3), ("</s>", -0.1)]
WRITTEN = [("\u2581The", -0.1), ("\u2581picture", -1.0), ("</s>", -0.3)]


@pytest.mark.parametrize(
    ("tokens", "rest", "head"),
    [(REPLY, REPLY[3:], "The blurry"), (WRITTEN, WRITTEN[1:], "The"), (WITH_END, WITH_END[1:], "Good")],
    ids=["before the least certain word", "blanks as tokenizers write them", "before the end"],
)
def test_the_reply_is_cut_where_it_is_least_certain_but_not_within_a_word(script, find, tokens, rest, head):
    script.say(reply(tokens), reply(rest))
    assert find().name == "continue_final_message"
    assert script.bodies[1]["messages"] == [*MESSAGES, {"role": "assistant", "content": head}]
    assert script.bodies[1]["continue_final_message"] is True and script.bodies[1]["add_generation_prompt"] is False
    assert script.bodies[1]["top_logprobs"] == 4


def test_rounding_is_allowed_and_another_distribution_is_not(script, find):
    script.say(reply(REPLY), reply(REPLY[3:], noise=0.3))
    find()
    script.say(reply(REPLY), reply(REPLY[3:], noise=0.8))
    with pytest.raises(ModelError, match=r"'The blurry'.*'picture\.'.*' picture\.'"):
        find()
    script.say(reply(REPLY), reply([(" ", -1.2)]))
    others = script.answers[1]["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    others[1:] = [{"token": token, "logprob": -2.0} for token in "abc"]
    with pytest.raises(ModelError, match="does not continue"):
        find()


def test_the_second_way_is_tried_where_the_first_begins_anew(script, find):
    script.say(reply(REPLY), reply(REPLY), reply(REPLY[3:]))
    assert find().name == "last assistant message"
    assert "continue_final_message" not in script.bodies[2]


@pytest.mark.parametrize(("own", "lead"), [(" The picture", " "), ("The picture", "")])
def test_llama_cpp_repeats_what_it_is_given_and_drops_the_blank_before_it(http, script, find, own, lead):
    models = {"object": "list", "data": [{"id": "other.gguf", "object": "model", "owned_by": "llamacpp"}]}
    http.expect_request("/v1/models").respond_with_json(models)
    script.say({"choices": [{"message": {"content": own}}]})
    found = find()
    assert found.messages(MESSAGES, "The blurry")[1]["content"] == f"{lead}The blurry" and not found.extra
    assert found.rest(f"{lead}The blurry picture.", "The blurry") == " picture."
    assert found.rest(f"{lead}The blurry", "The blurry") == "", "the model may have ended"


@pytest.mark.parametrize("owner", ["vllm", "sglang"])
def test_servers_that_name_themselves_are_not_tried_out(http, script, find, owner):
    models = [{"id": "a", "object": "model", "owned_by": "x"}, {"id": "m", "object": "model", "owned_by": owner}]
    http.expect_request("/v1/models").respond_with_json({"object": "list", "data": models})
    assert find().name == "continue_final_message" and not script.bodies


def test_a_reply_of_one_word_is_followed_by_a_longer_question_about_the_same_images(script, find):
    script.say(reply([("Good", -0.3)]), reply(REPLY), reply(REPLY[3:]))
    find()
    (message,) = script.bodies[1]["messages"]
    assert message["content"] == [IMAGE_PART, {"type": "text", "text": prefill._LONGER}]
    assert script.bodies[2]["messages"][0] == message


HIDDEN = reply([("<think>", -0.1), (" so", -0.2), ("</think>", -0.3)])
HIDDEN["choices"][0]["message"]["content"] = "Good"


@pytest.mark.parametrize(("top_logprobs", "said"), [(4, reply([("Good", -0.3)])), (None, HIDDEN), (4, HIDDEN)])
def test_what_cannot_be_tried_out_is_refused(script, find, top_logprobs, said):
    script.say(said)
    with pytest.raises(ModelError, match=r"cannot test whether.*\['Good', 'Good'\]"):
        find(top_logprobs)


def test_without_logprobs_words_are_compared(script, find):
    def text(content):
        return {"choices": [{"message": {"content": content}}]}

    script.say(text(" A blurry dark picture. "), text("dark picture.  And more"))
    find(None)
    assert script.bodies[1]["messages"][1]["content"] == "A blurry"
    assert "logprobs" not in json.dumps(script.bodies)
    script.say(text("A blurry dark picture."), text("A blurry dark picture."))
    with pytest.raises(ModelError, match="began a new reply: 'A blurry dark"):
        find(None)


def test_a_server_that_fails_meanwhile_is_no_verdict(script, find):
    script.say(reply(REPLY), Response("busy", 503))
    with pytest.raises(EndpointError, match="answered 503: busy"):
        find()
