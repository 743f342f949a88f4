import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.choices.replies import extract_choice
from eyechart.metrics.scoring.reasoning import SplitReply, split_reasoning
from tests.growth import growth

CASES = [
    ("C", "C", "", True),
    ("", "", "", True),
    ("<think>A or B?</think>C", "C", "A or B?", True),
    ("<THINKING>A or B?</THINKING>\n\nC", "\n\nC", "A or B?", True),
    ("<think>\n\n</think>\n\nC", "\n\nC", "", True),
    ("<thought>a</thought> <reasoning>b</reasoning> C", " C", "a b", True),
    ("<seed:think>Dark?</seed:think>B", "B", "Dark?", True),
    ("[THINK]Dark?[/THINK]B", "B", "Dark?", True),
    ("◁think▷Dark?◁/think▷B", "B", "Dark?", True),
    # The prompt opened the block.
    ("A or B? Hmm.</think>C", "C", "A or B? Hmm.", True),
    # Blocks within blocks, and tags without their others.
    ("<think>A <think>or B</think> or C</think> D", " D", "A or B or C", True),
    ("<think>a</think>B<think>c</think>D", "D", "aBc", True),
    ("<think>a <think>b</think> C", " C", "a b", False),
    ("C</think></think>", "", "C", True),
    # Cut off.
    ("<think>Option B looks", "", "Option B looks", False),
    ("<think>a</think>B<think>or", "B", "aor", False),
    ("◁think▷Option B", "", "Option B", False),
    ("<think", "<think", "", True),
    # A tag that is quoted, and a reply that stands in a code block.
    ("The tag `<think>` is B", "The tag `<think>` is B", "", True),
    ("```\n<think>\n```\nB", "```\n<think>\n```\nB", "", True),
    ("`</think>` closes. B", "`</think>` closes. B", "", True),
    ("`<think>A</think>C`", "C`", "`A", True),
    ("Write `<think>A</think>`. C", "Write `<think>A</think>`. C", "", True),
    ("```\n<think>A</think>C\n```", "C\n```", "```\nA", True),
    ("<think>`</think>C", "C", "`", True),
    # Text before a block, and blocks within others.
    ("B <reflection>or A?</reflection>\n", "B ", "or A?", True),
    ("A? <reflection>or B?</reflection> B", " B", "A? or B?", True),
    ("<thinking>A <reflection>or B</reflection> or C</thinking> D", " D", "A or B or C", True),
    ("<thinking>A <reflection>or B</reflection> or C", "", "A or B or C", False),
    ("<think>a</thinking>B", "B", "a", True),
    # Other names in brackets.
    (
        "A [reasonable] <reasonable> [Analysis] <plane> [think](x)",
        "A [reasonable] <reasonable> [Analysis] <plane> [think](x)",
        "",
        True,
    ),
    (
        "<details>A</details> Here is my response: B <|end|>",
        "<details>A</details> Here is my response: B <|end|>",
        "",
        True,
    ),
    # Harmony.
    (
        "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
        "B",
        "A?",
        True,
    ),
    ("<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B", "B", "A?", True),
    ("<|channel|>analysis<|message|>The answer is B", "", "The answer is B", False),
    ("<|channel|>analysis", "", "", False),
]


@pytest.mark.parametrize(("text", "answer", "reasoning", "is_finished"), CASES)
def test_reasoning_is_split_from_the_answer(text: str, answer: str, reasoning: str, is_finished: bool) -> None:
    assert split_reasoning(text) == SplitReply(answer, reasoning, is_finished)


@pytest.mark.parametrize(
    "text", ["<think>Okay, the image is blurry. Option B", "<|channel|>analysis<|message|>B", "◁think▷B"]
)
def test_an_answer_in_unfinished_reasoning_is_none(text: str) -> None:
    assert extract_choice(text, ["Sharp", "Blurry"]) is None


TAGS = ["<think>", "</think>", "◁think▷", "[THINK]", "[/THINK]", "`", "```", "<|channel|>final<|message|>", "<|end|>"]


@given(st.lists(st.sampled_from([*TAGS, "A", "\n", "\ud800", "\x00"])).map("".join) | st.text())
def test_any_text_is_split_without_an_error_and_an_answer_holds_nothing_else(text: str) -> None:
    found = split_reasoning(text)
    assert len(found.answer) + len(found.reasoning) <= len(text) + text.count("<|channel|>")


@pytest.mark.parametrize("unit", [*TAGS, "`<think>", "`<think></think>`", "```<think></think>", "<think>a</think>"])
def test_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    assert growth(lambda size: split_reasoning(unit * (size // len(unit)))) < 8
