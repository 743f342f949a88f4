"""Replies: reasoning is never read as an answer."""

import pytest

from eyechart.metrics.scoring.choices.replies import UNFINISHED_REASONING, extract_choice, why_unread
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
    ("< think >", "</ think >"),
    ("<think>", "<\\/think>"),
    ("<think>", "</think\n"),
    *((f"<{name}>", f"</{name}>") for name in ("reflections", "reflecting", "brainstorming", "analyzing", "think1")),
    *((f"<{name}>", f"</{name}>") for name in ("thinkingprocess", "scratch_pad", "scratch-pad", "推理", "思考过程")),
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
    ("<|im_start|>think\n", "<|im_start|>answer\n"),
    ('<details type="reasoning" done="true">', "</details>"),
]
# Their begin marks are ordinary text in other replies.
PHRASES = [
    ("Here is my thought process:", "Here is my response:"),
    ("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
    ("[REASONING]", "[/REASONING]"),
    ("[thinking]", "[/thinking]"),
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


@pytest.mark.parametrize(
    "text",
    rows(
        "the answer is what follows",
        *((f"{begin.strip()} ... {end.strip()}", f"{begin} Is it A? {end}B") for begin, end in PHRASES),
        ("a constraint after Harmony's final channel", "<|channel|>final <|constrain|>json<|message|>B"),
        ("an answer ends reasoning that is not closed", "<think>A?<answer>B</answer>"),
    ),
)
def test_answers_that_follow(text):
    assert extract_choice(text, OPTIONS) == "B"


@fault("reasoning that was cut off quotes the form of the answer", "it has no answer")
def test_form_of_the_answer():
    assert extract_choice("<think>As <answer>A</answer>. Dark? The answer is A", OPTIONS) is None


@pytest.mark.parametrize(
    "text",
    rows(
        "the mark is part of the answer",
        *(
            (f"a reply without reasoning: {text}", f"{text}. The answer is B.")
            for text in (
                "It shows std::vector<Plan>",
                "It begins with #include <plan>",
                "The sign says <plan>",
                "<plan> is on the sign",
                "The HTML tag <reason>",
                "An <internal-link>",
                "<Plan-View> is the title",
                "Here x <plan and y> 3",
                "It shows x<reason>y",
                "A <meta-analysis> paper",
                "Water with <reflection> label",
                "The signs say <plan> and </plan>",
                "The text reads '<think>'",
                "The text reads <think>",
                "The tags are <think>, <plan> and </think>",
                "[think] on the poster",
                "The tag </think> is there",
                "[Thinking] It is dark. [Answer] B",
                "Here is my thought process: it is dark",
                "Here are my reasoning steps: it is dark",
            )
        ),
    ),
)
def test_ordinary_replies(text):
    assert split_reasoning(text).answer == text
    assert extract_choice(text, OPTIONS) == "B"


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
        ("a reply of thousands of marks that are ordinary words", "x <plan> y "),
        ("a channel with a name of thousands of letters", "a"),
    ),
)
def test_hostile_replies(unit):
    begin = "<|channel|>" if unit == "a" else " "
    assert growth(lambda size: split_reasoning(begin + unit * (size // len(unit)))) < 8
