import pytest

from eyechart.metrics.scoring.choices.reading import ExtractionSettings, read_choices
from eyechart.metrics.scoring.choices.replies import moved_reply, read_reply

OPTIONS = ["Bright", "Dark", "Very dark"]
CUT = [
    # It begins with its answer.
    ("B. Dark, since the", "B", "exact"),
    ("B", "B", "exact"),
    ("b", "B", "exact"),
    ("(C) The image is very", "C", "exact"),
    ("Dark, as there is no", "B", "exact"),
    ("Very dark", "C", "exact"),
    # It declares it.
    ("The answer is B because", "B", "exact"),
    ("B\n\nHowever, that is not", "B", "exact"),
    ("Not A, but C may be. The correct answer is (B), since A", "B", "declared"),
    # It mentions options and may have gone on to another.
    ("Let me see whether it is dark", "", "cut_off"),
    ("The image is dark. But", "", "cut_off"),
    ("Option B would be", "", "cut_off"),
    ("Brightness is", "", "cut_off"),
    ("Darkness makes it dark", "", "cut_off"),
    ("", "", "cut_off"),
    # Reasoning that has no end.
    ("<think>Okay, the image is dark. Option B", "", "unfinished_reasoning"),
    ("<think>Dark?</think>The answer is B, as", "B", "exact"),
    ("<think>Dark?</think>The image may be dark", "", "cut_off"),
]


@pytest.mark.parametrize(("text", "letters", "step"), CUT)
def test_a_reply_that_was_cut_off_names_what_it_begins_with_or_declares(text: str, letters: str, step: str) -> None:
    assert read_reply(text, OPTIONS, finish_reason="length") == (letters, step)


@pytest.mark.parametrize(
    ("text", "finish_reason", "step"),
    [
        ("", "reasoning", "unfinished_reasoning"),
        ("<think>Dark", None, "unfinished_reasoning"),
        ("<think>Dark</think>", None, "unparseable"),
        ("I cannot help with that.", "refusal", "refused"),
        ("", "content_filter", "refused"),
        ("Let me see whether it is dark", "content_filter", "refused"),
        ("<think>It is dark", "content_filter", "refused"),
        ("Hm.", "stop", "unparseable"),
        ("Hm.", "eos", "unparseable"),
        ("", None, "unparseable"),
    ],
)
def test_a_reply_without_an_option_says_why(text: str, finish_reason: str | None, step: str) -> None:
    assert read_reply(text, OPTIONS, finish_reason=finish_reason) == ("", step)


def test_what_a_filter_stopped_is_read_as_what_was_cut_off() -> None:
    for text, letters, step in CUT:
        assert read_reply(text, OPTIONS, finish_reason="content_filter") == (letters, step if letters else "refused")


def test_strict_reading_of_a_cut_reply_takes_what_exact_matching_finds_alone() -> None:
    declared = "Not A, but C may be. The correct answer is (B), since A"
    assert read_reply(declared, OPTIONS, "strict", "length") == ("", "cut_off")
    assert read_reply("The answer is B because", OPTIONS, "strict", "length") == ("B", "exact")


def test_the_judge_sees_the_answer_without_reasoning_and_is_not_asked_about_none() -> None:
    seen = []

    def judge(messages, n):
        seen.append(messages[-1]["content"])
        return ["B"] * n

    texts = ["<think>A or C?</think>Gloomy.", "<think>Option A"]
    settings = ExtractionSettings(judge="judge", rounds=1)
    found = read_choices(texts, ["B"] * 2, [OPTIONS] * 2, settings, questions=["How?"] * 2, judge=judge)
    assert found["step"] == ["judge", "unfinished_reasoning"]
    assert len(seen) == 1 and "Gloomy." in seen[0] and "A or C?" not in seen[0]


def test_the_text_of_several_options_moves_without_a_letter() -> None:
    assert moved_reply("Yes", ["Yes", "Yes", "No"], ["No", "Yes", "Yes"]) == "Yes"
    assert moved_reply("No", ["Yes", "Yes", "No"], ["No", "Yes", "Yes"]) == "A. No"
