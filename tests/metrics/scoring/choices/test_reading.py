"""What is read of replies, by rules and by a judge, and how reasoning is split off."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies, random_choice, read_choices
from eyechart.metrics.scoring.errors import InputError, LostRoundsWarning
from eyechart.metrics.scoring.judging.replies import name_or_none
from eyechart.metrics.scoring.reasoning import SplitReply, split_reasoning
from tests.growth import growth

OPTIONS = ["Bright", "Dark", "Medium"]
VAGUE = "Somewhere in between, I would say"


class FakeJudge:
    """Gives prepared replies and records what it was asked."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.conversations: list[list[dict[str, str]]] = []

    def __call__(self, messages: list[dict[str, str]], n: int) -> list[str]:
        self.conversations.append(messages)
        return self.replies[:n]


def _read(predictions: list[str], reference: str = "C", **settings):
    rows = len(predictions)
    judge = settings.pop("judge", None)
    asked = {name: settings.pop(name, None) for name in ("question_ids", "rotations")}
    used = ExtractionSettings(name_or_none(judge), **settings)
    questions = ["How is the light?"] * rows
    replies = Replies(predictions, [reference] * rows, [OPTIONS] * rows, questions=questions, **asked)
    return read_choices(replies, used, judge)


def _failed(*replies: str, **settings) -> tuple[int | None, str]:
    found = _read([VAGUE], judge=FakeJudge(*replies), judge_template="q_bench_vote", **settings)
    return found["judge_failed_rounds"][0], found["step"][0]


def test_exact_answers_and_failed_responses_are_never_put_to_the_judge() -> None:
    judge = FakeJudge("A")
    found = _read(["C", "It is dark", "", "  "], judge=judge, rounds=1)
    assert found["choice"] == ["C", "B", None, None] and found["step"] == ["exact"] * 2 + ["unparseable"] * 2
    assert judge.conversations == [] and found["judge_failed_rounds"] == [None] * 4


def test_the_judge_sees_the_answer_without_reasoning_and_is_not_asked_about_none() -> None:
    judge = FakeJudge("C")
    found = _read(["<think>A or B?</think>Gloomy.", "<think>Option A"], judge=judge, rounds=1)
    assert found["step"] == ["judge", "unfinished_reasoning"]
    (conversation,) = judge.conversations
    assert "Gloomy." in conversation[-1]["content"] and "A or B?" not in conversation[-1]["content"]


def test_judge_names_a_letter_by_majority() -> None:
    judge = FakeJudge("C", "B", "C", "X", "C.")
    found = _read([VAGUE], judge=judge)
    assert (found["choice"], found["correct"], found["step"]) == (["C"], [True], ["judge"])
    assert found["judge_failed_rounds"] == [0]
    content = judge.conversations[0][0]["content"]
    assert "A. Bright B. Dark C. Medium" in content and VAGUE in content and "How is the light" in content


def test_an_x_of_the_judge_is_its_answer_and_wrong() -> None:
    found = _read([VAGUE], judge=FakeJudge("X", "X", "C", "maybe", "X"), fallback="random")
    assert (found["choice"], found["correct"], found["step"]) == ([None], [False], ["judge"])
    assert found["judge_failed_rounds"] == [1]


@pytest.mark.parametrize(
    ("replies", "correct", "letter", "step"),
    [
        (("Score: 1", "Score: 0", "Result: 1", "1", "**Score:** 0"), True, "C", "judge"),
        (("Score: 1", "Score: 0", "Score: 0", "Score: 1", "Score: 0"), False, None, "judge"),
        (("1", "0", "no idea", "?", "2"), False, None, "unparseable"),
    ],
)
def test_q_bench_vote(replies: tuple[str, ...], correct: bool, letter: str | None, step: str) -> None:
    judge = FakeJudge(*replies)
    found = _read([VAGUE], judge=judge, judge_template="q_bench_vote")
    assert (found["correct"], found["choice"], found["step"]) == ([correct], [letter], [step])
    assert [message["role"] for message in judge.conversations[0]] == ["system", "user"]
    assert "option <data>Medium</data> being the correct answer" in judge.conversations[0][1]["content"]


def test_lost_rounds_are_counted_and_never_a_score() -> None:
    def broken(messages: list[dict[str, str]], n: int) -> list[str]:
        raise ConnectionError("down")

    with pytest.warns(LostRoundsWarning, match="the judge 'broken' raised"):
        found = _read([VAGUE, VAGUE], judge=broken, judge_template="q_bench_vote")
    assert found["judge_failed_rounds"] == [5, 5]
    assert found["step"] == ["unparseable"] * 2 and not any(found["correct"])
    assert _failed("1", "1") == (5, "unparseable")
    assert _failed("1", "gibberish", "1", "0", "1") == (1, "judge")
    assert _failed("1", "0", "?", "?", "?") == (3, "unparseable"), "votes, though a draw"


@pytest.mark.parametrize("fallback", ["wrong", "random"])
@pytest.mark.parametrize(
    ("reply", "template", "votes", "decided"),
    [
        ("C", "q_bench_vote", ("1", "1", "0", "0", "?"), ("C", "exact", True)),
        ("C", "q_bench_vote", ("?",) * 5, ("C", "exact", True)),
        ("C", "q_bench_vote", ("0",), ("C", "exact", True)),
        ("C", "q_bench_vote", ("0", "0", "1", "?", "?"), (None, "judge", False)),
        ("B", "mmbench_choice", ("A", "A", "C", "C", "X"), ("B", "exact", False)),
        ("B", "mmbench_choice", ("A", "A", "C", "C", "C"), ("C", "judge", True)),
        ("(A) is too much, (B) too little. The answer is (C).", "mmbench_choice", ("?",) * 5, ("C", "declared", True)),
    ],
)
def test_a_judge_without_a_verdict_leaves_what_the_rules_read(reply, template, votes, decided, fallback) -> None:
    settings = {"judge_template": template, "judge_reads": "all", "fallback": fallback}
    found = _read([reply], judge=FakeJudge(*votes), **settings)
    assert (found["choice"][0], found["step"][0], found["correct"][0]) == decided


def test_random_fallback_follows_question_and_rotation() -> None:
    questions, rotations = ["p", "q", "p", "q"], [0, 0, 1, 1]
    found = _read([VAGUE] * 4, fallback="random", seed=7, question_ids=questions, rotations=rotations)
    assert found["choice"] == [random_choice(3, 7, *row) for row in zip(questions, rotations, strict=True)]
    assert found["correct"] == [letter == "C" for letter in found["choice"]]


def test_settings_that_apply() -> None:
    assert ExtractionSettings().applying([None], ["exact"]) == {"extraction_mode": "declared", "fallback": "wrong"}
    judged = ExtractionSettings("me", "q_bench_vote", "all", rounds=3, fallback="random", seed=2)
    steps = ["judge", "exact", "exact", "declared", "unparseable", "judge"]
    counts = {"judge_asked": 5, "judge_failed_rounds": 6, "judge_unscored": 1, "judge_ties": 2}
    found = judged.applying([0, None, 3, 1, 0, 2], steps)
    assert found.items() >= ({"seed": 2, "judge": "me", "judge_template_version": 1, "rounds": 3} | counts).items()


def test_random_choice_is_uniform_over_options_and_x() -> None:
    counts = Counter(random_choice(3, 0, question) for question in range(4000))
    assert set(counts) == {"A", "B", "C", None}
    assert all(abs(count - 1000) < 120 for count in counts.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"references": ["A", "D"]}, r"references\[1\] is 'D'; allowed: A to C"),
        ({"references": ["A"]}, "references has 1 rows and predictions has 2; row 1"),
        ({"choices": [OPTIONS, [str(number) for number in range(27)]]}, r"choices\[1\] contains 27 options"),
        ({"choices": [OPTIONS, []]}, r"references\[1\] is 'A'; allowed: none"),
        ({"questions": ["How?", None]}, r"questions\[1\] is None"),
    ],
)
def test_bad_rows(arguments: dict, message: str) -> None:
    rows = {"predictions": ["A", "B"], "references": ["A", "A"], "choices": [OPTIONS] * 2} | arguments
    with pytest.raises(InputError, match=message):
        Replies(**rows)


def test_a_reply_by_the_text_that_stands_twice_is_right_at_either_place() -> None:
    options = ["officer", "athlete", "fireman", "athlete"]
    replies = ["athlete", "athlete", "athlete", "B", "D", "B. athlete", "The athlete."]
    found = read_choices(Replies(replies, ["D", "B", "A", "D", "D", "D", "D"], [options] * 7))
    assert found["correct"] == [True, True, False, False, True, False, True]
    assert found["choice"] == ["D", "B", "B", "B", "D", "B", "D"]
    assert set(found["step"]) == {"exact"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"judge_template": "q_bench_votes"}, "Did you mean 'q_bench_vote'"),
        ({"fallback": "guess"}, "fallback is 'guess'; allowed: 'wrong', 'random'"),
        ({"seed": "1"}, "seed is '1'"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ExtractionSettings(**settings)


def test_a_judge_needs_the_questions() -> None:
    with pytest.raises(InputError, match="questions is missing"):
        read_choices(Replies(["A"], ["A"], [OPTIONS]), judge=len)


def test_strict_extraction_is_exact_matching_only() -> None:
    replies = Replies(["(A) is too much. The answer is (B).", "Dark"], ["B", "B"], [OPTIONS] * 2)
    assert read_choices(replies)["step"] == ["declared", "exact"]
    found = read_choices(replies, ExtractionSettings(extraction="strict"))
    assert (found["step"], found["correct"]) == (["unparseable", "exact"], [False, True])


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
    *(
        (text, text, "", True)
        for text in ("A [reasonable] <reasonable> [Analysis] <plane> [think](x)", "<details>A</details> B <|end|>")
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


TAGS = ["<think>", "</think>", "◁think▷", "[THINK]", "[/THINK]", "`", "```", "<|channel|>final<|message|>", "<|end|>"]


@given(st.lists(st.sampled_from([*TAGS, "A", "\n", "\ud800", "\x00"])).map("".join) | st.text())
def test_any_text_is_split_without_an_error_and_an_answer_holds_nothing_else(text: str) -> None:
    found = split_reasoning(text)
    assert len(found.answer) + len(found.reasoning) <= len(text) + text.count("<|channel|>")


@pytest.mark.parametrize("unit", [*TAGS, "`<think>", "`<think></think>`", "```<think></think>", "<think>a</think>"])
def test_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    assert growth(lambda size: split_reasoning(unit * (size // len(unit)))) < 8
