import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.judging import lexicon
from eyechart.metrics.scoring.judging.lexicon import read_clauses, read_statements
from tests.growth import growth


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", set()),
        ("A dog on a beach.", set()),
        ("It is blurry.", {("sharpness", -1)}),
        ("The image is sharp and colorful", {("sharpness", 1), ("color", 1)}),
        ("vivid colours", {("color", 1)}),
        ("out-of-focus", {("sharpness", -1)}),
        ("The subject is in focus.", {("sharpness", 1)}),
        ("underexposed", {("exposure", -1), ("brightness", -1)}),
        # A name takes the nearest judgement.
        ("The lighting is poor.", {("lighting", -1)}),
        ("poor lighting, good composition", {("lighting", -1), ("composition", 1)}),
        ("clarity is low and lighting is good", {("sharpness", -1), ("lighting", 1)}),
        ("The lighting and the composition are good", {("lighting", 1), ("composition", 1)}),
        ("The clarity of the image is very low", {("sharpness", -1)}),
        ("The composition follows the path", {("composition", 0)}),
        ("lacks any texture details", {("detail", -1)}),
        ("high quality", {("quality", 1)}),
        # Negation, up to the end of the clause.
        ("It is not blurry.", {("sharpness", 1)}),
        ("no noise or blur", {("noise", 1), ("sharpness", 1)}),
        ("It isn't of high quality", {("quality", -1)}),
        ("not blurry, but noisy", {("sharpness", 1), ("noise", -1)}),
        ("not sharp. It is bright.", {("sharpness", -1), ("brightness", 1)}),
        ("not only sharp but also bright", {("sharpness", 1), ("brightness", 1)}),
        ("no detail", {("detail", -1)}),
        # Little of a bad thing is good.
        ("low noise", {("noise", 1)}),
        ("As a whole, the photo has low noise", {("noise", 1)}),
        ("noise-free", {("noise", 1)}),
        ("free of artifacts", {("artifacts", 1)}),
        ("The noise level is low", {("noise", 1)}),
        ("extremely blurry and lacks depth", {("sharpness", -1), ("depth", -1)}),
        # Both, in different clauses; a mention without a judgement is dropped where there is one.
        ("bright sky, dark trees", {("brightness", 1), ("brightness", -1)}),
        ("The focus is on the dog, which is blurry", {("sharpness", -1)}),
    ],
)
def test_statements(text: str, statements: set[tuple[str, int]]) -> None:
    assert read_statements(text) == statements


def test_clauses() -> None:
    assert [
        (bool(clause.statements), clause.last) for clause in read_clauses("Dark, a dog. It sleeps but is sharp.")
    ] == [
        (True, False),
        (False, True),
        (False, False),
        (True, True),
    ]


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    for attribute, value in read_statements(text):
        assert attribute in lexicon._ATTRIBUTES and value in (-1, 0, 1)


@given(st.lists(st.sampled_from(["not", "no", "low", "good", "noise", "blurry", "clarity", "is", ",", "but"])))
def test_words_of_the_lexicon_in_any_order(words: list[str]) -> None:
    text = " ".join(words)
    for attribute, value in read_statements(text):
        assert attribute in ("noise", "sharpness") and value in (-1, 0, 1)
    # Case, blanks and Markdown around words do not matter.
    assert read_statements(f"  **{text.upper()}** ") == read_statements(text)


def test_no_phrase_has_two_meanings() -> None:
    listed = [
        phrase
        for name, good, bad in lexicon._ATTRIBUTES.values()
        for column, phrases in (("name", name), ("good", good), ("bad", bad))
        for phrase in {f"{column}:{phrase}" for phrase in lexicon.phrases(phrases)}
    ]
    meanings: dict[str, set[str]] = {}
    for entry in listed:
        column, phrase = entry.split(":")
        meanings.setdefault(phrase, set()).add(column)
    functions = (
        lexicon._GOOD,
        lexicon._BAD,
        lexicon._LITTLE,
        lexicon._NEGATORS,
        lexicon._NO_NEGATORS,
        lexicon._COPULAS,
    )
    for index, phrases in enumerate(functions):
        for phrase in lexicon.phrases(phrases):
            meanings.setdefault(phrase, set()).add(str(index))
    assert {phrase: found for phrase, found in meanings.items() if len(found) > 1} == {}


@pytest.mark.parametrize("unit", ["good clarity ", "not noise ", "low blur and ", "x", ", "])
def test_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    assert growth(lambda size: read_statements(unit * (size // len(unit)))) < 8
