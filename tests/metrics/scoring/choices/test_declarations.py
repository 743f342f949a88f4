import json
import runpy
from collections import Counter
from pathlib import Path
from string import ascii_uppercase

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyechart.metrics.scoring.choices.lexicon import phrases
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, read_choices
from eyechart.metrics.scoring.choices.replies import UNREAD, extract_choice, moved_reply, read_reply
from eyechart.metrics.scoring.errors import InputError
from tests.growth import growth

CASES = [
    (options, text, letter)
    for options, rows in runpy.run_path(str(Path(__file__).with_name("declared_table.py")))["TABLE"]
    for text, letter in rows
]
OPTIONS = ["Bright", "Dark", "Medium", "5 cm", "Yes", "模糊", "None of the above"]
VERBOSE = "(A) is too much, (C) too little. Therefore, the correct answer is (B)."
LIGHT = ["Bright", "Dark", "Medium"]


@pytest.mark.parametrize(("options", "text", "letter"), CASES)
def test_table(options: tuple[str, ...], text: str, letter: str | None) -> None:
    assert (read_reply(text, options)[0][:1] or None) == letter


def test_strict_is_exact_matching_alone() -> None:
    for options, text, _ in CASES:
        letters, step = read_reply(text, options, "strict")
        assert extract_choice(text, options) == (letters[:1] or None)
        assert step == "exact" if letters else step in UNREAD


def test_the_step_is_asked_only_where_exact_matching_names_nothing() -> None:
    steps = Counter(read_reply(text, options)[1] for options, text, _ in CASES)
    assert steps["declared"] > 30
    for options, text, _ in CASES:
        _, step = read_reply(text, options)
        assert (step == "exact") == bool(read_reply(text, options, "strict")[0])


def test_a_text_that_stands_several_times_has_all_its_places() -> None:
    options = ["officer", "athlete", "fireman", "athlete"]
    assert read_reply("An officer or a fireman? The answer is athlete.", options)[0] == "BD"
    assert read_reply("An officer or a fireman? The answer is (D).", options)[0] == "D"


def test_items_and_settings() -> None:
    given: dict[str, list] = {"predictions": [VERBOSE, "Dark"], "references": ["B", "B"], "choices": [LIGHT] * 2}
    assert read_choices(**given)["step"] == ["declared", "exact"]
    strict = read_choices(**given, settings=ExtractionSettings(extraction="strict"))
    assert (strict["step"], strict["correct"]) == (["unparseable", "exact"], [False, True])
    with pytest.raises(InputError, match="extraction is 'lenient'; allowed: 'declared', 'strict'"):
        ExtractionSettings(extraction="lenient")  # type: ignore[arg-type]


def test_a_declared_answer_is_moved_with_its_options() -> None:
    shown = ["Medium", "Dark", "Bright"]
    assert moved_reply(VERBOSE.replace("(B)", "(A)"), shown, LIGHT) == "C. Medium"
    assert moved_reply(VERBOSE, shown, LIGHT, "strict") == VERBOSE


SECTIONS = Path(__file__).with_name("reply_forms.txt").read_text(encoding="utf-8").strip().split("\n\n[")[1:]
FORMS = {name: texts.split("\n") for name, _, texts in (section.partition("]\n") for section in SECTIONS)}


@pytest.mark.parametrize("language", ["English", "Chinese"])
@pytest.mark.parametrize(("form", "letters"), [("B", "B"), ("none", ""), ("several", "")])
def test_forms(language: str, form: str, letters: str) -> None:
    options = FORMS[f"{language} options"]
    read = {text: read_reply(text.replace("⏎", "\n"), options)[0] for text in FORMS[f"{language} {form}"]}
    assert {text: found for text, found in read.items() if found != letters} == {}


PIECES = ["A", "(B)", "b", "C.", "dark", "Bright", "not", "the answer is", "Answer:", "option", "I choose", "if", "or"]
PIECES += ["\\boxed{", "}", "<answer>", "</answer>", "答案是", "故选", "5 cm", "=", "therefore", "wait", "none of the"]
PIECES += [
    "\n",
    "\n\n",
    ".",
    ",",
    "**",
    "$",
    "<think>",
    "</think>",
    "\ud800",
    "\x00",
    "\u200b",
    "\ufdfa",
    "is",
    "Question:",
]


@given(st.text(), st.lists(st.text(max_size=12), max_size=6))
@example("\ud800", ["\ud800", "a"])
@example("The answer is \ud800", ["\ud800", "\ud800"])
@example("\\boxed{", ["a"])
@example("The answer is 1.", ["1.", "1", "."])
def test_never_raises(text: str, options: list[str]) -> None:
    letters = read_reply(text, options)[0]
    assert set(letters) <= set(ascii_uppercase[: len(options)])


@given(st.lists(st.sampled_from(PIECES)).map(" ".join), st.permutations(OPTIONS))
@settings(max_examples=500)
def test_never_raises_on_answer_like_text(text: str, options: list[str]) -> None:
    letters = read_reply(text, options)[0]
    assert len({options[ascii_uppercase.index(letter)] for letter in letters}) <= 1


@given(st.permutations(LIGHT), st.sampled_from(LIGHT), st.sampled_from(["({})", "**{}**", "{}.", "\\boxed{{{}}}"]))
def test_relabelling_options_keeps_the_option_declared(order: list[str], word: str, form: str) -> None:
    letter = ascii_uppercase[order.index(word)]
    seen = "It is bright in places, dark in others, and medium on the whole. "
    assert read_reply(f"{seen}The answer is {form.format(letter)}", order)[0] == letter
    assert read_reply(f"{seen}The answer is {word.lower()}.", order)[0] == letter


UNITS = [
    *PIECES,
    "the answer is A. ",
    "the answer is A. wait ",
    "\\boxed{A} ",
    "\\boxed{{",
    "{",
    "(A) ",
    "A\n",
    "(A) dark\n",
]
UNITS += [
    "answer ",
    "answer  ",
    "final ",
    "correct option ",
    "I would ",
    "Therefore, option B is correct. ",
    "so, ",
    "- ",
]
UNITS += [
    "the answer is dark or ",
    "the answer is " + "dark " * 8,
    "x = 5 ",
    "$5$ ",
    "\\frac{1}{2} ",
    "is ",
    "If B, we choose B. ",
]
UNITS += [
    "\nNow, all the answers ",
    "<answer>A</answer>",
    "<think>A</think>",
    "cannot ",
    "答案",
    "选A",
    "因此",
    "模糊",
    " ",
    "\n",
    "é",
]


@pytest.mark.parametrize("unit", dict.fromkeys(UNITS))
def test_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    assert growth(lambda size: read_reply(unit * (size // len(unit)), OPTIONS)) < 8


def test_a_reply_of_a_megabyte_and_ten_thousand_cues() -> None:
    text = "The answer is A. " * 10_000 + "{" * 10_000 + "\\boxed{" * 10_000 + " word" * 200_000
    assert read_reply(text + ". Wait, the answer is B.", OPTIONS)[0] == "B"


LEAST_FOUND, MOST_WRONG = 0.96, 0.01


def test_real_replies_labelled_by_reading(reference: Path) -> None:
    path = reference / "replies" / "dev.jsonl"
    if not path.is_file():
        pytest.skip(f"no labelled replies in {path.parent}")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    read = [(row["letter"], read_reply(row["reply"], row["options"])[0][:1] or None) for row in rows]
    assert (len(rows), sum(letter is not None for letter, _ in read)) == (478, 347)
    found = sum(letter == named for letter, named in read if letter)
    wrong = sum(named not in (None, letter) for letter, named in read)
    assert found / 347 >= LEAST_FOUND, found
    assert wrong / 478 <= MOST_WRONG, wrong
    # Exact matching gave 12 of them a letter that they do not declare.
    strict = sum(read_reply(row["reply"], row["options"], "strict")[0][:1] not in ("", row["letter"]) for row in rows)
    assert strict / 478 <= MOST_WRONG, strict


def test_a_letter_before_another_options_text_is_an_article() -> None:
    assert read_reply("Answer: A dark image", LIGHT)[0] == "B"


BAD_OPTIONS = [
    ["The answer", "None", "\u4e0d\u6b63\u786e"],
    ["", "  ", "."],
    ["Dark"],
    [],
    [*ascii_uppercase],
    ["red", "dark red", "very dark red"],
    ["\\frac{1}{2}", "$\\sqrt{2}$", "\\boxed{A}"],
    ["\ud800", "\x00", "\u202e"],
]
BAD_TEXTS = [
    "\ud800 B \udfff",
    "\u202eB\u202c",
    "B\x00",
    "<b>" * 10_000 + "B",
    "<answer>" * 10_000,
    "<think>" * 10_000 + "B",
    "The answer is " * 1_000,
    "\u7b54\u6848\u662f" * 1_000,
    "\\boxed{" * 1_000 + "B" + "}" * 1_000,
    '{"answer": ' * 1_000,
    "La respuesta correcta es la B.",
    "\u041e\u0442\u0432\u0435\u0442: B",
    "\u6b63\u89e3\u306fB\u3067\u3059\u3002",
    "\u0627\u0644\u0625\u062c\u0627\u0628\u0629 \u0647\u064a B",
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=repr)
def test_bad_input_is_read_as_no_option_or_one(options: list[str]) -> None:
    for text in [*BAD_TEXTS, *options]:
        for finish_reason in (None, "length"):
            letters = read_reply(text, options, finish_reason=finish_reason)[0]
            assert set(letters) <= set(ascii_uppercase[: len(options)])
    for index, option in enumerate(options):
        # Each of several equal texts may be named.
        if option.strip(" .\x00\u202e") and option != "\\boxed{A}":
            assert ascii_uppercase[index] in read_reply(option, options)[0]


def test_invisible_characters_and_other_languages_do_not_hide_a_letter() -> None:
    for text in [*BAD_TEXTS[:4], *BAD_TEXTS[-4:]]:
        assert read_reply(text, LIGHT)[0] == "B", text


def test_the_lexicon_has_each_phrase_once() -> None:
    seen = Counter(phrase for phrase, _ in phrases())
    assert [phrase for phrase, times in seen.items() if times > 1] == []


CUT = [
    ("The correct answer is B. Wait, but", None),
    ("The correct answer is B. However, the lamp", None),
    ("The correct answer is B, since the lamp is off and", "B"),
    ("Option C suggests that it is even, but", None),
    ("Let me look at option A first. It is bright", None),
    ("\u6b63\u786e\u7b54\u6848\u662fB\u3002\u7b49\u7b49\uff0c\u4f46\u662f", None),
    ("\u9009\u9879C\u8bf4\u660e\u5149\u7ebf\u5747\u5300\uff0c\u4f46", None),
    ("\u7b54\u6848\u662fB\u3002\u56e0\u4e3a\u56fe\u4e2d", "B"),
]


@pytest.mark.parametrize(("text", "letter"), CUT)
def test_a_cut_reply_counts_only_what_it_declares_and_does_not_withdraw(text: str, letter: str | None) -> None:
    assert (read_reply(text, LIGHT, finish_reason="length")[0] or None) == letter
