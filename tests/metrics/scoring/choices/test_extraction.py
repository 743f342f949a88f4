import json
import re
import runpy
from pathlib import Path
from string import ascii_uppercase

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyechart.metrics.scoring.choices.options import moved_letter
from eyechart.metrics.scoring.choices.replies import extract_choice, moved_reply, read_reply
from eyechart.metrics.scoring.errors import InputError
from tests.growth import growth

CASES = [
    (options, text, letter)
    for name in ("choice_table.py", "choice_traps.py")
    for options, rows in runpy.run_path(str(Path(__file__).with_name(name)))["TABLE"]
    for text, letter in rows
]
OPTIONS = st.lists(st.text(max_size=12), max_size=6, unique=True)
WORDS = ("blurry", "sharp", "noisy", "grainy", "vivid", "faded")


def test_table_is_large() -> None:
    assert len(CASES) >= 150


@pytest.mark.parametrize(("options", "text", "letter"), CASES)
def test_table(options: tuple[str, ...], text: str, letter: str | None) -> None:
    assert extract_choice(text, options) == letter


@pytest.mark.parametrize("wrapping", [" {} ", "\n{}\n", "**{}**", "_{}_", "`{}`", "# {}", "> {}", "- {}", "~~{}~~"])
def test_table_under_blanks_and_markdown(wrapping: str) -> None:
    wrong = [
        (text, options) for options, text, letter in CASES if extract_choice(wrapping.format(text), options) != letter
    ]
    assert not wrong


AREAS = ("7 m", "9 m", "12 m", "15 m")
WORK = "We have 2t = 7 m, and dividing both sides by 2 gives the length of the shorter side. "
WORDY = (
    "It has many parts, of which each one may be looked at by itself before all of them are put together again. " * 3
)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (f"In a square, all sides are equal. {WORK}So the area is 12.25 m2, which is rounded.", None),
        (f"The side is 7 m. {WORK}However, none of the options matches this.", None),
        (f"{WORK}The next step is to find the longer side, for which we divide by 9 m and then", None),
        (f"In a square, all sides are equal. {WORK}The longer one is 7 m.", "A"),
        (f"{WORDY}Therefore A = 3 and angle B is the largest, with side C opposite.", None),
        (f"{WORDY}This is 750 \\mathrm{{~C}}, and B_1 is the first of them.", None),
        (f"{WORDY}It is not possible to select any of the options (A) through (D).", None),
        (f"{WORDY}There is no answer, A cannot be told from the others.", None),
        (f"{WORDY}The answer is (C).", "C"),
        (f"{WORDY}The answer is A or B.", None),
        (f"{WORDY}Of the four (A, B, C and D) none can be seen.", None),
        (f"{WORDY}\n\nC", "C"),
    ],
)
def test_what_a_long_reply_mentions_on_its_way_is_no_choice(text: str, letter: str | None) -> None:
    assert extract_choice(text, AREAS) == letter


@given(st.text(), OPTIONS)
@example("\ud800", ["\ud800", "a"])
@example("<think>", ["a"])
@example("\\boxed{", ["a"])
def test_never_raises(text: str, options: list[str]) -> None:
    letter = extract_choice(text, options)
    assert letter is None or letter in ascii_uppercase[: len(options)]


PIECES = [
    "A",
    "B",
    "b",
    "c",
    "blurry",
    "Sharp",
    "not",
    "answer is",
    "option",
    "yes",
    "(",
    ")",
    ".",
    ",",
    ":",
    "**",
    "<think>",
]
PIECES += ["</think>", "\\boxed{", "}", "<answer>", "</answer>", "是", "选", "no", "very", "\n", "-", "'", "n't", "/"]


@given(st.lists(st.sampled_from(PIECES)).map(" ".join), st.sampled_from(["blurry", "yes", "no"]))
@settings(max_examples=300)
def test_an_option_is_chosen_only_where_its_letter_or_its_words_are_in_the_reply(text: str, first: str) -> None:
    options = [first, "Sharp", "very blurry"]
    letter = extract_choice(text, options)
    words = set(re.findall("[a-z]+", text.lower()))
    assert (
        letter is None
        or {letter.lower()} <= words
        or set(options[ascii_uppercase.index(letter)].lower().split()) <= words
    )


@given(st.text(), OPTIONS, st.sampled_from(["  {}  ", "\n\n{}\n", "**{}**", "`{}`", "__{}__", "\t*{}* "]))
def test_blanks_and_markdown_around_do_not_matter(text: str, options: list[str], wrapping: str) -> None:
    assert extract_choice(wrapping.format(text), options) == extract_choice(text, options)


@given(st.permutations(WORDS), st.lists(st.sampled_from([*WORDS, "it is", "not", "and", ".", ", but"])).map(" ".join))
def test_relabelling_options_keeps_the_option_named_by_text(order: list[str], text: str) -> None:
    before, after = extract_choice(text, WORDS), extract_choice(text, order)
    named = None if before is None else WORDS[ascii_uppercase.index(before)]
    assert (None if after is None else order[ascii_uppercase.index(after)]) == named


@given(
    st.permutations(WORDS),
    st.sampled_from(WORDS),
    st.sampled_from(["{}", "({})", "{}.", "**{}**", "Answer: {}", "The answer is {}.", "Option {}", "\\boxed{{{}}}"]),
)
def test_relabelling_options_keeps_the_option_named_by_letter(order: list[str], word: str, form: str) -> None:
    letter = ascii_uppercase[order.index(word)]
    assert extract_choice(form.format(letter), order) == letter
    assert extract_choice(form.format(f"{letter}. {word}"), order) == letter


@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=5, unique=True), st.data())
def test_an_option_verbatim_is_that_option(options: list[str], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(options) - 1))
    for text in (options[index], options[index].upper() + ".", f"  {options[index].title()}! "):
        assert extract_choice(text, options) == ascii_uppercase[index]


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("athlete", "BD"),
        ("The job is athlete.", "BD"),
        ("<answer>athlete</answer>", "BD"),
        ("D", "D"),
        ("The answer is B", "B"),
        ("B. athlete", "B"),
        ("athlete (D)", "D"),
        ("B or D", ""),
        ("athlete, or an officer", ""),
        ("officer", "A"),
        ("A. athlete", ""),
        ("it is not athlete", ""),
        ("", ""),
    ],
)
def test_a_letter_names_one_place_and_a_text_all_of_its_places(text: str, letters: str) -> None:
    options = ["officer", "athlete", "fireman", "athlete"]
    assert read_reply(text, options, "strict")[0] == letters
    assert extract_choice(text, options) == (letters[:1] or None)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), st.data())
def test_moving_options_keeps_their_texts(options: list[str], data: st.DataObject) -> None:
    shown = data.draw(st.permutations(options))
    letters = ascii_uppercase[: len(options)]
    moved = [moved_letter(letter, options, shown) for letter in letters]
    assert [shown[letters.index(letter)] for letter in moved] == options
    assert sorted(moved) == list(letters)
    # And back, so that no place is lost.
    assert [moved_letter(letter, shown, options) for letter in moved] == list(letters)
    for letter in letters:
        named = read_reply(moved_reply(letter, shown, options), options, "strict")[0]
        assert named == moved_letter(letter, shown, options)


def test_more_options_than_letters_are_an_error() -> None:
    with pytest.raises(InputError, match="27 options"):
        extract_choice("A", [str(number) for number in range(27)])


def test_no_options_no_choice() -> None:
    assert extract_choice("A", []) is None


UNITS = ["a ", "A ", "A B ", "A. ", "(A)", "A-", "A big ", "á A ", "B. ", "A.B.", "C is ", "C is not ", "选A"]
UNITS += ["dark ", "Dark, ", "not ", "not dark ", "no noise ", "isn't ", "n't ", "rather than ", "A and B are wrong "]
UNITS += ["yes ", "yes or ", "answer is ", "option A ", "x", "(", ")", "*", "* ", "\n", "<", "'", "a'", "-1", "1.1"]
UNITS += ["1. A ", "is yes ", "不是A ", "Answer A ", "A/B "]
UNITS += ["<think>", "</think>", "<think>A</think>", "<answer>", "<answer>A</answer>", "\\boxed{", "\\boxed{A}", "{"]
UNITS += ["模糊", "模", "不", "不模糊", "한글", "ぼ", "é", "e\u0301", "\u0301", "\ufdfa", "\u200bA"]


@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    options = ["Bright", "Dark", "Medium", "no noise", "Yes", "模糊", "Vitamin D"]
    assert growth(lambda size: extract_choice(unit * (size // len(unit)), options)) < 8


def test_time_with_a_long_option_grows_with_the_text_and_not_with_its_square() -> None:
    option = "a " * 2_000 + "b"
    assert extract_choice("a " * 20_000, [option, "c"]) is None
    assert growth(lambda size: extract_choice("a " * (size // 2), [option, "c"])) < 8


def test_time_with_many_blanks_behind_a_label_grows_with_the_text_and_not_with_its_square() -> None:
    assert growth(lambda size: extract_choice("C." + " " * size + "x" * 300, ["a", "b", "c"])) < 8


def _qbench2(reference: Path, model: str) -> list[tuple[list[str], object]]:
    folder = reference / "qbench2-outputs"
    if model == "gpt":
        rows = json.loads((folder / "gpt.json").read_text())
    else:
        rows = [json.loads(line) for line in (folder / "llava.jsonl").read_text().splitlines()]
    return [(row["option"], row[f"{model}_answer"]) for row in rows]


@pytest.mark.parametrize(("model", "failed", "extracted"), [("gpt", 2, 998), ("llava", 0, 996)])
def test_real_answers(reference: Path, model: str, failed: int, extracted: int) -> None:
    rows = _qbench2(reference, model)
    assert len(rows) == 1000
    assert sum(not isinstance(answer, str) for _, answer in rows) == failed
    found = 0
    for options, answer in rows:
        if not isinstance(answer, str):
            continue
        letter = extract_choice(answer, options)
        found += letter is not None
        verbatim = [
            ascii_uppercase[index]
            for index, option in enumerate(options)
            if option.strip().casefold().rstrip(".") == answer.strip().casefold().rstrip(".")
        ]
        if verbatim:
            assert letter == verbatim[0], (options, answer)
    assert found == extracted
