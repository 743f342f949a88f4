import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.pairs.replies import read_preference
from tests.growth import growth

FIRST = [
    *("A", "A.", "(A)", "**A**", "a", "A\n", " A. The first image.", "A. The first image", "A) The first image"),
    *("(A) First image", "Answer: A", "The answer is A.", "The correct answer is A. The first image.", "Option A"),
    *("Option A: the first image", "It is A.", "I would choose A.", "<answer>A</answer>", r"\boxed{A}"),
    *(r"\boxed{\text{The first image}}", "<think>The second image is better? No.</think>A", "The first image"),
    *("The first image.", "the first image", "First image", "**The first image.**", "first", "First.", "The first"),
    *("The first one", "1", "1st image", "Image 1", "Image 1.", "image #1", "Image A", "Image A.", "Picture 1"),
    *("The first picture", "the first photo", "It's the first image.", "The answer is the first image."),
    *("Answer: the first image", "The better image is the first image."),
    *("The image with better visual quality is the first image.", "The first image has better visual quality."),
    "The first image has better visual quality than the second image.",
    "The first image has better quality than the second.",
    *("The first image has a higher visual quality compared to the second image.", "The first image is better."),
    *("The first image is better than the second one.", "The first image is of higher quality."),
    *("The first image appears to have better visual quality.", "The first image looks much better overall."),
    *("The first has better quality.", "Image 1 has better visual quality than image 2."),
    *("Image A is better than Image B.", "The quality of the first image is better than that of the second image."),
    *("The first image's visual quality is better.", "The visual quality of image 1 is higher."),
    "I prefer the first image because it is sharper than the second image.",
    *("I would select the first image over the second image.", "If I had to choose, the first image is better."),
    "The second image is blurrier, so the first image is better.",
    "The first image has better visual quality. The second image is blurry and dark.",
    "A. The first image has better visual quality. The second image is blurry.",
    "The answer is A, the first image is clearer than the second image.",
    "The first image.\n\nIt is sharper and has less noise than the second image.",
    "The first image has better visual quality. Therefore, the answer is A.",
    "Which image has better visual quality? The first image.",
]

NEITHER = [
    *("", "   ", "...", "Neither", "None", "Both", "C", "AB", "A or B", "A/B", "A and B"),
    *("A. The first image. B. The second image.", "The first image, the second image."),
    *("The first image or the second image", "The answer is the first image or the second image."),
    *("Both images have similar quality.", "Both the first image and the second image is of higher quality"),
    "The first image and the second image are of the same quality.",
    *("Neither the first image nor the second image is better.", "I cannot tell.", "I'm sorry, I can't see images."),
    *("A: The second image", "B. The first image."),
    "The first image has better visual quality. Therefore, the answer is B.",
    "The first image is better, but the second image has higher quality.",
    *("The second image is blurrier than the first image.", "The second image is worse than the first image."),
    *("The second image is blurry.", "The first image is not better.", "I don't think the first image is better."),
    *("It is not the first image.", "The first image has better colours."),
    "The first image has better colours. The second image has better contrast.",
    *("In this image a cat sits on a table.", "At first glance, they look alike.", "It took a second to load."),
    *("The image on the left", "1 or 2", "Image quality is a matter of taste.", "<think>A</think>"),
]


def _mirrored(text: str) -> str:
    """The same reply about the other image."""
    swaps = {"first": "second", "First": "Second", "1st": "2nd", "1": "2", "2": "1", "A": "B", "B": "A", "a": "b"}
    swaps |= {"second": "first", "#1": "#2"}
    words, parts = "", []
    for character in text + "\0":
        if character.isalnum() or character == "#":
            words += character
            continue
        parts += [swaps.get(words, words) if words != "a" or text == "a" else words, character]
        words = ""
    return "".join(parts)[:-1]


@pytest.mark.parametrize("text", FIRST)
def test_the_first_image(text: str) -> None:
    assert read_preference(text) == "first"


@pytest.mark.parametrize("text", [_mirrored(text) for text in FIRST])
def test_the_second_image(text: str) -> None:
    assert read_preference(text) == "second"


@pytest.mark.parametrize("text", [text for reply in NEITHER for text in (reply, _mirrored(reply))])
def test_neither_image(text: str) -> None:
    assert read_preference(text) is None


@pytest.mark.parametrize(
    ("text", "preferred"),
    [
        ("A", "first"),
        ("A. The first image.", "first"),
        ("B. The second image. It is sharper, and its colours are", "second"),
        ("The second image is better because it is sharper and", "second"),
        ("**The first image** has better visual quality. The second", "first"),
        ("Let me compare them. The first image is better in colour, but", None),
        ("The first image is sharp. I would choose image 1 if it were not", None),
        ("The answer is not yet clear.\nB", None),
        ("", None),
    ],
)
def test_a_reply_that_was_cut_off_prefers_what_its_first_sentence_does(text: str, preferred: str | None) -> None:
    assert read_preference(text, "length") == read_preference(text, "content_filter") == preferred


@pytest.mark.parametrize("text", ["A cat", "A blurry image", "A first look at the image"])
def test_the_article_is_no_letter(text: str) -> None:
    assert read_preference(text) is None


def test_the_mirror_of_a_reply() -> None:
    assert (
        _mirrored("A. The first image is a bit better than image 2.")
        == "B. The second image is a bit better than image 1."
    )


@given(st.text())
def test_never_raises(text: str) -> None:
    assert read_preference(text) in ("first", "second", None)


@given(
    st.lists(
        st.sampled_from(["(A)", "(B)", "the first image", "image 2", "is", "better", "not", "than", ".", ",", "\n"])
    )
)
def test_the_other_way_round(words: list[str]) -> None:
    text = " ".join(words)
    swapped = {"first": "second", "second": "first", None: None}
    assert read_preference(_mirrored(text)) == swapped[read_preference(text)]


@given(st.sampled_from(FIRST + NEITHER), st.sampled_from(["", " ", "\n\n", "\t"]), st.sampled_from(["", " ", "\n"]))
def test_blanks_around_do_not_matter(text: str, before: str, behind: str) -> None:
    assert read_preference(before + text + behind) == read_preference(text)


@pytest.mark.parametrize(
    "unit",
    [
        "the first image ",
        "the ",
        " ",
        "A ",
        "the first image is better, ",
        "not the first image is better, ",
        "better overall visual ",
        "the first image is much ",
        "the quality of the first image ",
    ],
)
def test_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    assert growth(lambda size: read_preference(unit * (size // len(unit)))) < 8
