"""Replies: reasoning is never read as an answer."""

import pytest

from eyechart.metrics.scoring.choices.extraction import extract_choice
from eyechart.metrics.scoring.choices.replies import UNFINISHED_REASONING, why_unread
from eyechart.metrics.scoring.reasoning import split_reasoning
from tests.faults.fault import fault, rows
from tests.growth import growth

# Of chat templates, and of the reasoning parsers of vLLM and SGLang.
FORMS = [
    *((f"<{name}>", f"</{name}>") for name in ("think", "THINKING", "thought", "thoughts", "reason", "reasoning")),
    *(
        (f"<{name}>", f"</{name}>")
        for name in ("reflection", "analysis", "scratchpad", "inner_monologue", "cot", "plan")
    ),
    *((f"<{name}>", f"</{name}>") for name in ("antThinking", "chain_of_thought", "seed:think", "longcat_think")),
    ('<think mode="slow">', "</think >"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|think|>", "</|think|>"),
    ("<think_start>", "<think_end>"),
    ("<|begin_of_thought|>", "<|end_of_thought|><|begin_of_solution|>"),
    ("<|begin_of_thought|>", "<|begin_of_solution|>"),
    ("<\uff5cbegin▁of▁thought\uff5c>", "<\uff5cend▁of▁thought\uff5c>"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysisThe user asks.", "assistantfinal"),
    ("<|content_thinking|>", "<|end_message|><|message_model|><|content_text|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>"),
    ("Here is my thought process:", "Here is my response:"),
    ("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
    ("<|im_start|>think\n", "<|im_start|>answer\n"),
    ('<details type="reasoning" done="true">', "</details>"),
]
OPTIONS = ["Sharp", "Blurry"]


@pytest.mark.parametrize(
    ("begin", "end"),
    rows(
        "the answer is what follows; a reply that was cut off within it has no answer",
        *((f"reasoning between {begin.strip()} and {end.strip()}", begin, end) for begin, end in FORMS),
    ),
)
def test_marks_of_reasoning(begin, end):
    thought = " Is it A? The answer is A. So "
    assert extract_choice(f"{begin}{thought}{end}B", OPTIONS) == "B"
    assert extract_choice(f"\n{begin}{thought}{end}<answer>B</answer>", OPTIONS) == "B"
    assert extract_choice(begin + thought, OPTIONS) is None
    assert why_unread(begin + thought, "length") == UNFINISHED_REASONING


@fault("reasoning within reasoning is closed, and the reply is cut off", "it has no answer")
def test_blocks_within_blocks():
    assert extract_choice("<thinking>A? <reflection>No.</reflection> The answer is B", OPTIONS) is None


@pytest.mark.parametrize(
    "unit",
    rows(
        "the reply is split in time that grows with its length",
        ("a reply of thousands of `<`", "<"),
        ("a reply of thousands of inline codes", "`x` "),
        ("a reply of thousands of marks that do not end", "<think aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("a reply of thousands of channels", "<|channel|>"),
        ("a channel with a name of thousands of letters", "a"),
    ),
)
def test_hostile_replies(unit):
    begin = "<|channel|>" if unit == "a" else " "
    assert growth(lambda size: split_reasoning(begin + unit * (size // len(unit)))) < 8
