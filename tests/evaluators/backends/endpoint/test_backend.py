"""The backend on a server that runs the tiny model, compared with plain forward passes of that model."""

import base64
import io
import json
import threading
import time

import pytest
import torch

from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.metrics.scoring.reasoning import CONTENT_FILTER, LENGTH, REASONING, REFUSAL, STOP

PREFILL = "The quality of the image is"
QUESTION = "What distortion degrades the quality of the image?\n"


def ask(i, image, text=QUESTION, **options):
    return Request(id=str(i), prompt=(text, IMAGE), images=(image,), **options)


def rate(i, image, words=("good", "poor")):
    prompt = ("Rate the quality of the image.\n", IMAGE)
    return Request(id=str(i), prompt=prompt, images=(image,), prefill=PREFILL, words=words)


def by_id(responses):
    return {response.request.id: response for response in responses}


def direct_logprobs(tiny, image, prompt=f"USER: Rate the quality of the image.\n<image>\nASSISTANT: {PREFILL}"):
    """Log-probabilities of the next token by a plain forward pass on a hand-written prompt."""
    model, processor = tiny
    inputs = processor(text=prompt, images=image, return_tensors="pt")
    with torch.no_grad():
        return torch.log_softmax(model(**inputs).logits[0, -1], dim=-1)


def first_token(tiny, word):
    return tiny[1].tokenizer.encode(f" {word}")[0]


def test_text_is_that_of_plain_greedy_generation(tiny, model_server, backend, make_picture):
    model, processor = tiny
    images = [make_picture(i, 40 + 13 * i) for i in range(3)]
    answers = by_id(backend().answer([ask(i, image, max_new_tokens=8) for i, image in enumerate(images)]))
    for i, image in enumerate(images):
        inputs = processor(text=f"USER: {QUESTION}<image>\nASSISTANT:", images=image, return_tensors="pt")
        output = model.generate(**inputs, do_sample=False, max_new_tokens=8)
        expected = processor.tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        assert answers[str(i)].text == expected.strip()
    assert all(body["temperature"] == 0 and body["max_tokens"] == 8 for body in model_server.asked)


def test_several_images_reach_the_model_in_their_order(tiny, model_server, backend, make_picture):
    first, second = make_picture(1, 64), make_picture(2, 64)
    prompt = ("first ", IMAGE, " second ", IMAGE, " Rate")
    requests = [
        Request("ab", prompt, (first, second), prefill=PREFILL, words=("good", "poor")),
        Request("ba", prompt, (second, first), prefill=PREFILL, words=("good", "poor")),
    ]
    answers = by_id(backend().answer(requests))
    rendered = f"USER: first <image> second <image> Rate\nASSISTANT: {PREFILL}"
    for id, images in (("ab", [first, second]), ("ba", [second, first])):
        expected = direct_logprobs(tiny, images, rendered)
        for word, value in answers[id].logits.items():
            assert value == pytest.approx(expected[first_token(tiny, word)].item(), abs=1e-4)
    assert answers["ab"].logits != pytest.approx(answers["ba"].logits, abs=1e-4)


@pytest.mark.parametrize(
    ("server", "way"),
    [
        ({"continues": "field"}, "continue_final_message"),
        ({"continues": "always", "refuses_fields": True}, "last assistant message"),
        ({"continues": "field", "owner": "vllm"}, "continue_final_message"),
        ({"continues": "behind", "owner": "llamacpp", "refuses_fields": True}, "last assistant message"),
    ],
    ids=str,
)
def test_logits_are_those_of_a_plain_forward_pass(tiny, model_server, backend, make_picture, server, way):
    vars(model_server).update(server)
    model = backend(top_logprobs=200)
    images = [make_picture(i, 64) for i in range(2)]
    answers = by_id(model.answer([rate(i, image) for i, image in enumerate(images)]))
    for i, image in enumerate(images):
        expected = direct_logprobs(tiny, image)
        assert answers[str(i)].upper_bound_words == ()
        for word, value in answers[str(i)].logits.items():
            assert value == pytest.approx(expected[first_token(tiny, word)].item(), abs=1e-4)
    assert model.settings()["prefill"] == [way]
    tests = {"": [24, 24], "vllm": [], "llamacpp": [1]}[model_server.owner]
    asked = [body["max_tokens"] for body in model_server.asked]
    assert asked == tests + [1] * len(images), "how an unknown server goes on is tried out once"


@pytest.mark.parametrize(("continues", "owner"), [("field", "sglang"), ("behind", "llamacpp")])
def test_a_prefilled_text_is_continued(tiny, model_server, backend, make_picture, continues, owner):
    model_server.continues, model_server.owner = continues, owner
    image = make_picture(3, 64)
    (complete,) = backend().answer([ask(0, image)])
    head, _, rest = complete.text.partition(" ")
    assert rest, "the reply must have several words for the test to mean something"
    (response,) = backend().answer([ask(0, image, prefill=head)])
    assert response.text == rest


def test_words_that_are_not_returned_have_the_smallest_value_and_are_named(tiny, model_server, backend, make_picture):
    images = [make_picture(i, 64) for i in range(4)]
    # Of "blue", which is a single token, the first letter is among the likeliest.
    words = ("good", "poor", "blue")
    answers = by_id(backend(top_logprobs=3).answer([rate(i, image, words) for i, image in enumerate(images)]))
    seen = set()
    for i, image in enumerate(images):
        expected = direct_logprobs(tiny, image)
        lowest = expected.topk(3).values[-1].item()
        for word in words:
            value = expected[first_token(tiny, word)].item()
            assert (word in answers[str(i)].upper_bound_words) == (value < lowest)
            assert answers[str(i)].logits[word] == pytest.approx(max(value, lowest), abs=1e-4)
            seen.add(value < lowest)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("tokenizes", "words"),
    # The longest token that "sharp" begins with is " sha", and its first token " s".
    [(None, ("fair", "bad")), ("vllm", ("sharp", "blurry")), ("llama.cpp", ("sharp", "blurry"))],
)
def test_a_word_of_several_tokens_has_the_value_of_its_first(
    tiny, model_server, backend, make_picture, tokenizes, words
):
    assert all(len(tiny[1].tokenizer.encode(f" {word}")) > 1 for word in words)
    model_server.tokenizes = tokenizes
    image = make_picture(0, 64)
    (response,) = backend(top_logprobs=1280).answer([rate(0, image, words)])
    expected = direct_logprobs(tiny, image)
    assert response.upper_bound_words == () and model_server.asked[-1]["max_tokens"] == 1
    for word in words:
        assert response.logits[word] == pytest.approx(expected[first_token(tiny, word)].item(), abs=1e-4)


def test_images_are_sent_as_their_files_hold_them(model_server, backend, make_picture, tmp_path):
    buffer = io.BytesIO()
    make_picture(1, 64).save(buffer, "JPEG", quality=71)
    jpeg = buffer.getvalue()
    (tmp_path / "wrong-name.png").write_bytes(jpeg)

    class Lazy:
        def read(self):
            return {"bytes": jpeg, "path": None}

    sources = [tmp_path / "wrong-name.png", {"bytes": jpeg, "path": "a.bmp"}, Lazy(), make_picture(2).convert("L")]
    list(backend(concurrency=1).answer([ask(i, source) for i, source in enumerate(sources)]))
    urls = [body["messages"][0]["content"][1]["image_url"]["url"] for body in model_server.asked]
    assert urls[:3] == [f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"] * 3
    assert urls[3].startswith("data:image/png;base64,")


def test_no_more_requests_at_once_than_allowed(script, backend, make_picture):
    begun, ended, under_way = [], [], []

    def slow(request):
        begun.append(request)
        under_way.append(len(begun) - len(ended))
        time.sleep(0.05)
        ended.append(request)
        return {"choices": [{"message": {"content": "A"}}]}

    script.say(slow)
    image = make_picture(0)
    assert len(list(backend(concurrency=3).answer([ask(i, image) for i in range(20)]))) == 20
    assert 1 < max(under_way) <= 3


def test_answers_come_as_they_are_ready(script, backend, make_picture):
    all_fast_ones_came = threading.Event()

    def answer(request):
        if "slow" in json.loads(request.data)["messages"][0]["content"][0]["text"]:
            assert all_fast_ones_came.wait(60)
        return {"choices": [{"message": {"content": "A"}}]}

    script.say(answer)
    image = make_picture(0)
    requests = [ask("slow", image, "slow"), *(ask(i, image, "fast") for i in range(5))]
    order = []
    for response in backend(concurrency=2).answer(requests):
        order.append(response.request.id)
        if len(order) == 5:
            all_fast_ones_came.set()
    assert sorted(order[:5]) == list("01234") and order[5] == "slow"


def test_settings_and_identity_are_json_and_name_the_server(http, model_server, backend, make_picture):
    model = backend("my/model", top_logprobs=7, concurrency=3)
    (response,) = model.answer([ask(0, make_picture(0))])
    assert response.response_metadata == {"served": "my/model@main"}
    settings = model.settings()
    assert json.loads(json.dumps(settings)) == settings
    assert settings["served"] == ["my/model@main"] and settings["concurrency"] == 3
    counts = {"requests": 1, "retries": 0, "requests_without_usage": 0}
    assert settings["asked"] == counts | response.usage and all(response.usage.values())
    assert model.identity().items() <= settings.items()
    named = {"backend": "openai", "name": "my/model", "base_url": http.url_for("/v1"), "decoding": "greedy"}
    chosen = {"top_logprobs": 7, "system_prompt": None, "thinking": None, "extra_body": {}}
    assert model.identity() == named | chosen
    assert model.identity() == backend("my/model", top_logprobs=7, concurrency=8).identity()


# How servers say that a reply was cut off, refused or reasoned, in the fields of vLLM, SGLang, DeepSeek and OpenAI.
def reply(finish_reason=STOP, usage=None, **message):
    choice = {"message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return {"choices": [choice], **({} if usage is None else {"usage": usage})}


HIDDEN = {"prompt_tokens": 9, "completion_tokens": 32, "completion_tokens_details": {"reasoning_tokens": 32}}
CASES = {
    "cut off": (reply(LENGTH, content="The image"), ("The image", None, LENGTH)),
    "reasoning_content": (reply(content="B", reasoning_content="A or B?"), ("B", "A or B?", STOP)),
    "reasoning alone": (reply(LENGTH, content=None, reasoning="A or"), ("", "A or", LENGTH)),
    "hidden reasoning": (reply(LENGTH, HIDDEN, content=None), ("", None, REASONING)),
    "a refusal": (reply(content=None, refusal="I can't."), ("I can't.", None, REFUSAL)),
    "taken by a filter": (reply(CONTENT_FILTER, content=None), ("", None, CONTENT_FILTER)),
    "stopped by a filter": (reply(CONTENT_FILTER, content="The image"), ("The image", None, CONTENT_FILTER)),
    "impossible": (reply(STOP, {"prompt_tokens": 10**8 + 1, "completion_tokens": "2"}, content="B"), ("B", None, STOP)),
    "no word on the end": ({"choices": [{"message": {"content": "B"}}]}, ("B", None, None)),
}


@pytest.mark.parametrize(("said", "expected"), CASES.values(), ids=list(CASES))
def test_text_reasoning_and_the_end_of_a_reply(script, backend, make_picture, said, expected):
    script.say(said)
    (response,) = backend().answer([Request("x", ("What is this?", IMAGE), (make_picture(0),))])
    assert response.error is None
    assert (response.text, response.reasoning, response.finish_reason) == expected
    assert sum(response.usage.values()) in (0, 9 + 32)
