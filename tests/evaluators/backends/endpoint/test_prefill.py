"""How it is found out whether a server goes on with the beginning of a reply, on replies written by hand."""

import json

import pytest
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.endpoint import prefill
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.prefill import WAYS, find_way
from tests.evaluators.scripted_server import json_response

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
def client(http):
    with ChatClient("m", EndpointOptions(base_url=http.url_for("/v1"), max_retries=0)) as client:
        yield client


def test_the_reply_is_cut_where_it_is_least_certain_but_not_within_a_word(script, client):
    script.say(reply(REPLY), reply(REPLY[3:]))
    assert find_way(client, MESSAGES, 4).name == "continue_final_message"
    user, assistant = script.bodies[1]["messages"]
    assert user == MESSAGES[0]
    assert assistant == {"role": "assistant", "content": "The blurry"}
    assert script.bodies[1]["continue_final_message"] is True and script.bodies[1]["add_generation_prompt"] is False
    assert script.bodies[1]["top_logprobs"] == 4


def test_blanks_as_tokenizers_write_them_are_blanks(script, client):
    tokens = [("\u2581The", -0.1), ("\u2581picture", -1.0), ("</s>", -0.3)]
    script.say(reply(tokens), reply(tokens[1:]))
    find_way(client, MESSAGES, 4)
    assert script.bodies[1]["messages"][1]["content"] == "The"


def test_rounding_is_allowed_and_another_distribution_is_not(script, client):
    script.say(reply(REPLY), reply(REPLY[3:], noise=0.3))
    find_way(client, MESSAGES, 4)
    script.say(reply(REPLY), reply(REPLY[3:], noise=0.8))
    with pytest.raises(
        ModelError, match=r"after 'The blurry', expected 'picture\.'.*it began a new reply: ' picture\.'"
    ):
        find_way(client, MESSAGES, 4)


def test_other_tokens_are_another_distribution(script, client):
    script.say(reply(REPLY), reply([(" ", -1.2)]))
    script.answers[1]["choices"][0]["logprobs"]["content"][0]["top_logprobs"][1:] = [
        {"token": token, "logprob": -2.0} for token in "abc"
    ]
    with pytest.raises(ModelError, match="does not continue"):
        find_way(client, MESSAGES, 4)


def test_the_second_way_is_tried_where_the_first_begins_anew(script, client):
    script.say(reply(REPLY), reply(REPLY), reply(REPLY[:1]), reply(REPLY[3:]))
    assert find_way(client, MESSAGES, 4).name == "last assistant message"
    assert script.bodies[2]["max_tokens"] == 1, "whether what is given comes back is tried out where it seems so"
    assert "continue_final_message" not in script.bodies[3]


def test_of_ways_that_go_on_the_nearest_counts_and_of_equal_ones_the_first(script, client):
    script.say(reply(REPLY), *[reply(REPLY[3:], noise=noise) for noise in (0.3, 0.31, 0.1, 0.11)])
    assert find_way(client, MESSAGES, 4) == WAYS[2]
    assert [body["messages"][1]["content"] for body in script.bodies[1:]] == ["The blurry"] * 2 + [" The blurry"] * 2


def llama(own, without_blank, after_blank):
    """llama.cpp's server, which puts what is given behind the generation prompt and returns it with the reply."""

    def respond(request):
        *_, last = json.loads(request.data)["messages"]
        given = last["content"] if last["role"] == "assistant" else ""
        said = own if not given else after_blank if given.startswith(" ") else without_blank
        content = given + "".join(token for token, _ in said)
        places = [place(token, logprob) for token, logprob in said]
        return json_response({"choices": [{"message": {"content": content}, "logprobs": {"content": places}}]})

    return respond


@pytest.mark.parametrize(("top_logprobs", "rest"), [(4, REPLY[3:]), (None, REPLY[1:])], ids=["logits", "text"])
def test_a_server_that_drops_the_blank_and_repeats_what_it_is_given_is_told_from_one_that_begins_anew(
    script, client, top_logprobs, rest
):
    own = [(f" {REPLY[0][0]}", REPLY[0][1]), *REPLY[1:]]
    near = [(rest[0][0], rest[0][1] - 0.3), *rest[1:]]
    script.say(llama(own, near, rest))
    way = find_way(client, MESSAGES, top_logprobs)
    assert (way.lead, way.is_repeated, way.name) == (" ", True, "continue_final_message, after a blank")
    assert way.rest(" The blurry picture.", " The blurry") == " picture."
    assert way.rest(" The blurry", " The blurry") == "", "the model may have ended"
    with pytest.raises(EndpointError, match="does not begin with ' The blurry', unlike earlier replies"):
        way.rest("A sharp picture.", " The blurry")


def test_a_template_without_a_blank_needs_none(script, client):
    script.say(llama(REPLY, REPLY[3:], [(" z", -1.0)]))
    way = find_way(client, MESSAGES, 4)
    assert (way.lead, way.is_repeated) == ("", True)


def test_a_reply_of_one_word_is_followed_by_a_longer_question_about_the_same_images(script, client):
    script.say(reply([("Good", -0.3)]), reply(REPLY), reply(REPLY[3:]))
    find_way(client, MESSAGES, 4)
    (message,) = script.bodies[1]["messages"]
    assert message["content"] == [IMAGE_PART, {"type": "text", "text": prefill._LONGER}]
    assert script.bodies[2]["messages"][0] == message


def test_the_end_of_a_reply_of_one_word_is_a_rest_where_it_is_returned(script, client):
    tokens = [("Good", -0.3), ("</s>", -0.1)]
    script.say(reply(tokens), reply(tokens[1:]))
    find_way(client, MESSAGES, 4)
    assert script.bodies[1]["messages"][1]["content"] == "Good"


@pytest.mark.parametrize("top_logprobs", [4, None])
def test_what_cannot_be_tried_out_is_refused(script, client, top_logprobs):
    script.say(reply([("Good", -0.3)]))
    with pytest.raises(ModelError, match=r"cannot test whether.*\['Good', 'Good'\]"):
        find_way(client, MESSAGES, top_logprobs)


def test_a_reply_that_is_not_made_of_its_tokens_cannot_be_tried_out(script, client):
    hidden = reply([("<think>", -0.1), (" so", -0.2), ("</think>", -0.3)])
    hidden["choices"][0]["message"]["content"] = "Good"
    script.say(hidden)
    with pytest.raises(ModelError, match="cannot test whether"):
        find_way(client, MESSAGES, 4)


def test_without_logprobs_words_are_compared(script, client):
    def text(content):
        return {"choices": [{"message": {"content": content}}]}

    script.say(text(" A blurry dark picture. "), text("dark picture.  And more"))
    find_way(client, MESSAGES, None)
    assert script.bodies[1]["messages"][1]["content"] == "A blurry"
    assert "logprobs" not in json.dumps(script.bodies)
    script.say(text("A blurry dark picture."), text("A blurry dark picture."))
    with pytest.raises(ModelError, match="began a new reply: 'A blurry dark"):
        find_way(client, MESSAGES, None)


def test_a_server_that_fails_meanwhile_is_no_verdict(script, client):
    script.say(reply(REPLY), Response("busy", 503))
    with pytest.raises(EndpointError, match="answered 503: busy"):
        find_way(client, MESSAGES, 4)
