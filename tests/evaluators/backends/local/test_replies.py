"""How a reply of a local model ended, and the marks of reasoning in it."""

import copy

import pytest
from transformers import AddedToken

from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.local.engine import text_decoder
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.metrics.scoring.reasoning import LENGTH, STOP


def answers(llava, image, length, *, sharing):
    model, processor = llava
    made = TransformersBackend(model, processor, name="test", batch_size=2, share_prefixes=sharing)
    request = Request("1", ("What is this?\n", IMAGE), (image,), max_new_tokens=length)
    (response,) = made.answer([request])
    return response


def with_end(llava, tokens):
    """The same model, for which other tokens end a text."""
    model, processor = llava
    ending = copy.copy(model)
    ending.generation_config = copy.deepcopy(model.generation_config)
    ending.generation_config.eos_token_id = tokens
    return ending, processor


@pytest.mark.parametrize("sharing", [True, False])
def test_a_reply_that_ends_by_itself_is_told_from_one_that_was_cut(llava, make_picture, sharing):
    image = make_picture(3)
    cut = answers(with_end(llava, None), image, 6, sharing=sharing)
    assert cut.finish_reason == LENGTH
    every_token = list(range(llava[0].config.text_config.vocab_size))
    ended = answers(with_end(llava, every_token), image, 6, sharing=sharing)
    assert (ended.text, ended.finish_reason) == ("", STOP)


def test_a_reply_to_a_template_that_opens_reasoning_begins_inside(llava, make_picture):
    model, processor = llava
    opening = copy.copy(processor)
    opening.chat_template = processor.chat_template + "{% if add_generation_prompt %}<think>\n{% endif %}"
    image = make_picture(3)
    assert answers((model, opening), image, 3, sharing=True).text.startswith("<think>")
    assert "<think>" not in answers(llava, image, 3, sharing=True).text


@pytest.mark.parametrize(
    ("special", "text"),
    [
        (["[THINK]", "[/THINK]", "[IMG]"], "[THINK] so [/THINK]"),
        (["<|channel|>", "<|message|>", "<|end|>"], "<|channel|> so <|end|>"),
        # Without channels it ends a text and marks nothing.
        (["<|end|>"], "so"),
    ],
)
def test_special_tokens_that_mark_reasoning_stay_in_the_text(llava, special, text):
    tokenizer = copy.deepcopy(llava[1].tokenizer)
    tokenizer.add_tokens([AddedToken(name, special=True) for name in special], special_tokens=True)
    first, last = special[0], special[1] if len(special) == 3 and special[0] == "[THINK]" else special[-1]
    ids = [tokenizer.convert_tokens_to_ids(first), *tokenizer(" so", add_special_tokens=False).input_ids]
    ids += [tokenizer.convert_tokens_to_ids(last), tokenizer.pad_token_id]
    assert text_decoder(tokenizer)(ids).replace(" ", "") == text.replace(" ", "")
