"""Replies are read: tables of cases, properties, bad input, real replies, and time."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from string import ascii_uppercase

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyechart.metrics.scoring.choices.lexicon import phrases
from eyechart.metrics.scoring.choices.options import moved_letter
from eyechart.metrics.scoring.choices.replies import UNREAD, extract_choice, moved_reply, read_reply
from eyechart.metrics.scoring.errors import InputError
from tests.growth import growth
from tests.labelled_replies import Agreement, LabelledReply, agreement, read_set
from tests.metrics.scoring.choices import choice_table, declared_table

Case = tuple[tuple[str, ...], str, str | None]
EXACT: list[Case]
DECLARED: list[Case]
EXACT, DECLARED = (
    [(options, text, letter) for options, letter, texts in table.ROWS for text in texts]
    for table in (choice_table, declared_table)
)
SECTIONS = Path(__file__).with_name("reply_forms.txt").read_text(encoding="utf-8").strip().split("\n\n[")[1:]
FORMS = {name: texts.split("\n") for name, _, texts in (section.partition("]\n") for section in SECTIONS)}
LIGHT = ["Bright", "Dark", "Medium"]
OPTIONS = ["Bright", "Dark", "Medium", "5 cm", "Yes", "模糊", "None of the above"]
WORDS = ("blurry", "sharp", "noisy", "grainy", "vivid", "faded")
VERBOSE = "(A) is too much, (C) too little. Therefore, the correct answer is (B)."


def misread(table: Iterable[Case], extraction: str = "declared") -> list[tuple[str, str | None, str | None]]:
    read = ((text, read_reply(text, options, extraction)[0][:1] or None, letter) for options, text, letter in table)
    return [(text, found, letter) for text, found, letter in read if found != letter]


@pytest.mark.parametrize("wrapping", ["{}", "\n{} ", "**{}**", "_{}_", "`{}`", "# {}", "> {}", "- {}", "~~{}~~"])
def test_exact_matching(wrapping: str) -> None:
    assert misread([(options, wrapping.format(text), letter) for options, text, letter in EXACT], "strict") == []


def test_declared_answers() -> None:
    assert misread(DECLARED) == []
    assert Counter(read_reply(text, options)[1] for options, text, _ in DECLARED)["declared"] > 30


@pytest.mark.parametrize("language", ["English", "Chinese"])
@pytest.mark.parametrize(("form", "letter"), [("B", "B"), ("none", None), ("several", None)])
def test_forms(language: str, form: str, letter: str | None) -> None:
    options = tuple(FORMS[f"{language} options"])
    assert misread([(options, text.replace("⏎", "\n"), letter) for text in FORMS[f"{language} {form}"]]) == []


def test_a_declared_answer_is_read_only_where_exact_matching_names_nothing() -> None:
    for options, text, _ in DECLARED:
        letters, step = read_reply(text, options, "strict")
        assert extract_choice(text, options) == (letters[:1] or None)
        assert step == "exact" if letters else step in UNREAD
        assert (read_reply(text, options)[1] == "exact") == bool(letters)


AREAS = ("7 m", "9 m", "12 m", "15 m")
WORK = "We have 2t = 7 m, and dividing both sides by 2 gives the length of the shorter side. "
WORDY = (
    "It has many parts, of which each one may be looked at by itself before all of them are put together again. " * 3
)
LONG = {
    f"In a square, all sides are equal. {WORK}So the area is 12.25 m2, which is rounded.": None,
    f"The side is 7 m. {WORK}However, none of the options matches this.": None,
    f"{WORK}The next step is to find the longer side, for which we divide by 9 m and then": None,
    f"In a square, all sides are equal. {WORK}The longer one is 7 m.": "A",
    f"{WORDY}Therefore A = 3 and angle B is the largest, with side C opposite.": None,
    f"{WORDY}This is 750 \\mathrm{{~C}}, and B_1 is the first of them.": None,
    f"{WORDY}It is not possible to select any of the options (A) through (D).": None,
    f"{WORDY}There is no answer, A cannot be told from the others.": None,
    f"{WORDY}The answer is (C).": "C",
    f"{WORDY}The answer is A or B.": None,
    f"{WORDY}Of the four (A, B, C and D) none can be seen.": None,
    f"{WORDY}\n\nC": "C",
}


def test_exact_matching_of_long_replies() -> None:
    assert misread([(AREAS, text, letter) for text, letter in LONG.items()], "strict") == []


PLACES = ["officer", "athlete", "fireman", "athlete"]
REPEATED = {
    **dict.fromkeys(["athlete", "The job is athlete.", "<answer>athlete</answer>"], "BD"),
    **dict.fromkeys(["D", "athlete (D)"], "D"),
    **dict.fromkeys(["The answer is B", "B. athlete"], "B"),
    **dict.fromkeys(["B or D", "athlete, or an officer", "A. athlete", "it is not athlete", ""], ""),
    "officer": "A",
}


def test_a_letter_names_one_option_and_a_text_all_with_this_text() -> None:
    assert {text: read_reply(text, PLACES, "strict")[0] for text in REPEATED} == REPEATED
    assert extract_choice("athlete", PLACES) == "B"
    assert read_reply("An officer or a fireman? The answer is athlete.", PLACES)[0] == "BD"
    assert read_reply("An officer or a fireman? The answer is (D).", PLACES)[0] == "D"


def test_numbers_of_options() -> None:
    assert extract_choice("A", []) is None
    with pytest.raises(InputError, match="27"):
        extract_choice("A", [str(number) for number in range(27)])


# Replies that were cut off: the letter and the step.
CUT = {
    # They begin with their answer.
    "B. Dark, since the": "B exact",
    "B": "B exact",
    "b": "B exact",
    "(C) The image is very": "C exact",
    "Dark, as there is no": "B exact",
    "Very dark": "C exact",
    # They declare it.
    "The answer is B because": "B exact",
    "B\n\nHowever, that is not": "B exact",
    "Not A, but C may be. The correct answer is (B), since A": "B declared",
    "The correct answer is B, since the lamp is off and": "B exact",
    "答案是B。因为图中": "B exact",
    # They mention options, or withdraw one, and may have gone on to another.
    "Let me see whether it is dark": " cut_off",
    "The image is dark. But": " cut_off",
    "Option B would be": " cut_off",
    "Brightness is": " cut_off",
    "Darkness makes it dark": " cut_off",
    "": " cut_off",
    "The correct answer is B. Wait, but": " cut_off",
    "The correct answer is B. However, the lamp": " cut_off",
    "Option C suggests that it is even, but": " cut_off",
    "Let me look at option A first. It is bright": " cut_off",
    "正确答案是B。等等\uff0c但是": " cut_off",
    "选项C说明光线均匀\uff0c但": " cut_off",
    # Reasoning that has no end.
    "<think>Okay, the image is dark. Option B": " unfinished_reasoning",
    "<think>Dark?</think>The answer is B, as": "B exact",
    "<think>Dark?</think>The image may be dark": " cut_off",
}
THREE = ["Bright", "Dark", "Very dark"]


@pytest.mark.parametrize("extraction", ["declared", "strict"])
@pytest.mark.parametrize("finish_reason", ["length", "content_filter"])
def test_a_cut_reply_names_what_it_begins_with_or_declares(extraction: str, finish_reason: str) -> None:
    for text, outcome in CUT.items():
        letters, _, step = outcome.partition(" ")
        if extraction == "strict" and step == "declared":
            letters, step = "", "cut_off"
        expected = (letters, step if letters or finish_reason == "length" else "refused")
        assert read_reply(text, THREE, extraction, finish_reason) == expected, text


@pytest.mark.parametrize(
    ("text", "finish_reason", "step"),
    [
        ("", "reasoning", "unfinished_reasoning"),
        ("<think>Dark", None, "unfinished_reasoning"),
        ("<think>Dark</think>", None, "unparseable"),
        ("I cannot help with that.", "refusal", "refused"),
        ("", "content_filter", "refused"),
        ("<think>It is dark", "content_filter", "refused"),
        ("Hm.", "stop", "unparseable"),
        ("Hm.", "eos", "unparseable"),
        ("", None, "unparseable"),
    ],
)
def test_a_reply_without_an_option_says_why(text: str, finish_reason: str | None, step: str) -> None:
    assert read_reply(text, THREE, finish_reason=finish_reason) == ("", step)


def test_a_reply_moves_with_its_options() -> None:
    shown = ["Medium", "Dark", "Bright"]
    assert moved_reply(VERBOSE.replace("(B)", "(A)"), shown, LIGHT) == "C. Medium"
    assert moved_reply(VERBOSE, shown, LIGHT, "strict") == VERBOSE
    # The text of several options has no letter.
    assert moved_reply("Yes", ["Yes", "Yes", "No"], ["No", "Yes", "Yes"]) == "Yes"
    assert moved_reply("No", ["Yes", "Yes", "No"], ["No", "Yes", "Yes"]) == "A. No"


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), st.data())
def test_moving_options_keeps_their_texts(options: list[str], data: st.DataObject) -> None:
    shown = data.draw(st.permutations(options))
    letters = ascii_uppercase[: len(options)]
    moved = [moved_letter(letter, options, shown) for letter in letters]
    assert [shown[letters.index(letter)] for letter in moved] == options
    # And back, so that none is lost.
    assert [moved_letter(letter, shown, options) for letter in moved] == list(letters)
    for letter in letters:
        named = read_reply(moved_reply(letter, shown, options), options, "strict")[0]
        assert named == moved_letter(letter, shown, options)


PIECES = "A|B|(B)|b|c|C.|blurry|dark|Sharp|Bright|not|the answer is|Answer:|option|I choose|if|or|yes|no|very|n't"
PIECES += "|(|)|.|,|:|**|$|-|'|/|=|\n|\n\n|\\boxed{|}|<think>|</think>|<answer>|</answer>|答案是|故选|是|选|5 cm"
PIECES += "|therefore|wait|none of the|is|Question:|\ud800|\x00|\u200b|\ufdfa"
LIKE_ANSWERS = st.lists(st.sampled_from(PIECES.split("|"))).map(" ".join)
ANY_OPTIONS = st.lists(st.text(max_size=12), max_size=6, unique=True)


@given(st.text(), ANY_OPTIONS)
@example("\ud800", ["\ud800", "a"])
@example("The answer is \ud800", ["\ud800", "\ud800"])
@example("<think>", ["a"])
@example("\\boxed{", ["a"])
@example("The answer is 1.", ["1.", "1", "."])
def test_never_raises(text: str, options: list[str]) -> None:
    for extraction in ("declared", "strict"):
        assert set(read_reply(text, options, extraction)[0]) <= set(ascii_uppercase[: len(options)])


@given(LIKE_ANSWERS, st.permutations(OPTIONS))
@settings(max_examples=300)
def test_names_at_most_one_text(text: str, options: list[str]) -> None:
    letters = read_reply(text, options)[0]
    assert len({options[ascii_uppercase.index(letter)] for letter in letters}) <= 1


@given(LIKE_ANSWERS, st.sampled_from(["blurry", "yes", "no"]))
@settings(max_examples=300)
def test_an_option_is_chosen_only_where_its_letter_or_its_words_are_in_the_reply(text: str, first: str) -> None:
    options = [first, "Sharp", "very blurry"]
    words = set(re.findall("[a-z]+", text.lower()))
    letter = extract_choice(text, options)
    chosen = options[ascii_uppercase.index(letter)].lower().split() if letter else []
    assert letter is None or letter.lower() in words or set(chosen) <= words


@given(st.text(), ANY_OPTIONS, st.sampled_from(["  {}  ", "\n\n{}\n", "**{}**", "`{}`", "__{}__", "\t*{}* "]))
def test_blanks_and_markdown_around_do_not_matter(text: str, options: list[str], wrapping: str) -> None:
    assert extract_choice(wrapping.format(text), options) == extract_choice(text, options)


@given(st.permutations(WORDS), st.lists(st.sampled_from([*WORDS, "it is", "not", "and", ".", ", but"])).map(" ".join))
def test_the_order_of_options_does_not_matter_for_texts(order: list[str], text: str) -> None:
    before, after = extract_choice(text, WORDS), extract_choice(text, order)
    named = None if before is None else WORDS[ascii_uppercase.index(before)]
    assert (None if after is None else order[ascii_uppercase.index(after)]) == named


LETTER_FORMS = ["{}", "({})", "{}.", "**{}**", "Answer: {}", "The answer is {}.", "Option {}", "\\boxed{{{}}}"]


@given(st.permutations(WORDS), st.sampled_from(WORDS), st.sampled_from(LETTER_FORMS))
def test_letters_and_verbatim_texts_in_any_order(order: list[str], word: str, form: str) -> None:
    letter = ascii_uppercase[order.index(word)]
    for text in (
        form.format(letter),
        form.format(f"{letter}. {word}"),
        word,
        f"{word.upper()}.",
        f"  {word.title()}! ",
    ):
        assert extract_choice(text, order) == letter
    seen = "It is blurry in places, sharp in others, and noisy on the whole. "
    assert read_reply(f"{seen}The answer is ({letter}).", order)[0] == letter
    assert read_reply(f"{seen}The answer is {word}.", order)[0] == letter


BAD_OPTIONS = [
    ["The answer", "None", "不正确"],
    ["", "  ", "."],
    ["Dark"],
    [],
    [*ascii_uppercase],
    ["red", "dark red", "very dark red"],
    ["\\frac{1}{2}", "$\\sqrt{2}$", "\\boxed{A}"],
    ["\ud800", "\x00", "\u202e"],
]
ODD_B = ["\ud800 B \udfff", "\u202eB\u202c", "B\x00", "<b>" * 10_000 + "B"]
ODD_B += ["La respuesta correcta es la B.", "Ответ: B", "正解はBです。", "الإجابة هي B"]
REPEATED_MARKS = ["<answer>" * 10_000, "<think>" * 10_000 + "B", "The answer is " * 1_000, "答案是" * 1_000]
REPEATED_MARKS += ["\\boxed{" * 1_000 + "B" + "}" * 1_000, '{"answer": ' * 1_000]


def test_invisible_characters_and_other_languages_do_not_hide_a_letter() -> None:
    assert misread([(tuple(LIGHT), text, "B") for text in ODD_B]) == []


def test_repeated_marks_name_no_option_or_one() -> None:
    for text in REPEATED_MARKS:
        for finish_reason in (None, "length"):
            assert len(read_reply(text, LIGHT, finish_reason=finish_reason)[0]) <= 1


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=repr)
def test_bad_options_are_read_as_no_option_or_one(options: list[str]) -> None:
    for text in [*ODD_B, *options]:
        assert set(read_reply(text, options)[0]) <= set(ascii_uppercase[: len(options)])
    for index, option in enumerate(options):
        # Each of several equal texts may be named.
        if option.strip(" .\x00\u202e") and option != "\\boxed{A}":
            assert ascii_uppercase[index] in read_reply(option, options)[0]


UNITS = "a |A B |A. |(A)|A\n|C is |选A|dark |not dark |no noise |answer |the answer is A. wait |*|\n"
UNITS += (
    "|the answer is dark or |the answer is dark dark dark dark |If B, we choose B. |Therefore, option B is correct. "
)
UNITS += "|A and B are wrong |- |<|-1|1. A |<think>|<think>A</think>|<answer>|<answer>A</answer>|\\boxed{|\\boxed{A} "
UNITS += "|{|\\frac{1}{2} |模糊|不是A |答案是|故选|\u0301|\ufdfa|\u200bA|\nNow, all the answers "


@pytest.mark.parametrize("unit", UNITS.split("|"))
def test_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    options = [*OPTIONS, "no noise", "Vitamin D"]
    assert growth(lambda size: read_reply(unit * (size // len(unit)), options)) < 8


def test_time_with_a_long_option_or_many_blanks() -> None:
    assert growth(lambda size: extract_choice("a " * (size // 2), ["a " * 2_000 + "b", "c"])) < 8
    assert growth(lambda size: extract_choice("C." + " " * size + "x" * 300, ["a", "b", "c"])) < 8


def test_a_reply_of_a_megabyte_and_ten_thousand_cues() -> None:
    text = "The answer is A. " * 10_000 + "{" * 10_000 + "\\boxed{" * 10_000 + " word" * 200_000
    assert read_reply(text + ". Wait, the answer is B.", OPTIONS)[0] == "B"


def test_the_lexicon_has_each_phrase_once() -> None:
    seen = Counter(phrase for phrase, _ in phrases())
    assert [phrase for phrase, times in seen.items() if times > 1] == []


# Replies, letters, then for each extraction the least share of letters found and the largest share of wrong replies.
# The held-out set is totals only: whoever looks at its replies to improve the reader spends it.
LABELLED = {
    "held_out": (401, 312, {"declared": (0.91, 0.0125), "strict": (0.65, 0.005)}),
    "dev": (478, 347, {"declared": (0.96, 0.01), "strict": (0.75, 0.01)}),
}


@pytest.mark.parametrize("name", LABELLED)
def test_letters_found_and_wrong_in_labelled_replies(request: pytest.FixtureRequest, name: str) -> None:
    if name == "held_out":
        path = Path(__file__).parent / "held_out" / "replies.jsonl"
    else:
        path = request.getfixturevalue("reference") / "replies" / "dev.jsonl"
        if not path.is_file():
            pytest.skip(f"no labelled replies in {path.parent}")
    n_replies, n_letters, bounds = LABELLED[name]
    replies = read_set(path)
    for extraction, (least_found, most_wrong) in bounds.items():
        read = (read_reply(reply.text, reply.options, extraction, reply.finish_reason)[0] for reply in replies)
        counts = agreement(replies, read)
        assert (counts.replies, counts.letters) == (n_replies, n_letters)
        assert counts.found / n_letters >= least_found and counts.wrong / n_replies <= most_wrong, counts


def test_labels_that_are_not_letters_are_the_options(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    row = '{"reply": "2", "options": {"1": "cousin", "2": "uncle"}, "label": "2", "kind": "bare"}\n'
    path.write_text(row + row.replace('"label": "2"', '"letter": null'), encoding="utf-8")
    first, second = read_set(path)
    assert first == LabelledReply("2", ("1", "2"), "B", "bare") and second.letter is None


def test_agreement_counts_each_reply_once() -> None:
    labels = ["A", "A", "A", "A", None, None]
    replies = [LabelledReply("", ("x", "y", "x"), label, "bare") for label in labels]
    assert agreement(replies, ["A", "AC", "B", "", "", "B"]) == Agreement(6, 4, found=2, missed=1, wrong=2)


@pytest.mark.parametrize(("file", "failed", "extracted"), [("gpt.json", 2, 998), ("llava.jsonl", 0, 996)])
def test_real_answers_of_q_bench_2(reference: Path, file: str, failed: int, extracted: int) -> None:
    text = (reference / "qbench2-outputs" / file).read_text()
    rows = json.loads(text) if file.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    key = f"{file.partition('.')[0]}_answer"
    answers = [(row["option"], row[key]) for row in rows if isinstance(row[key], str)]
    assert (len(rows), len(answers)) == (1000, 1000 - failed)
    letters = [extract_choice(answer, options) for options, answer in answers]
    assert len(letters) - letters.count(None) == extracted
    for letter, (options, answer) in zip(letters, answers, strict=True):
        same = [option.strip().casefold().rstrip(".") == answer.strip().casefold().rstrip(".") for option in options]
        assert not any(same) or letter == ascii_uppercase[same.index(True)], (options, answer)
