import pytest

from eyechart.metrics.scoring.quality.ratings import read_rating

READ = {
    1: ["1 " * 10_000, "1 " + " " * 50_000],
    2: ["Quality score: **2** out of 5", "On a scale of 1-5, it is a 2."],
    3: ["The quality of the image is 3."],
    3.5: ["3.5", "3,5"],
    4: [
        *("4", " 4.\n", "**4**", "4/5", "- 4", '{"score": 4}', '{"score": 4, "confidence": 2}', "\u8bc4\u5206: 4"),
        *("Rating: 4 (on a scale from 1 to 5)", "I would rate this image a 4 out of 5.", "A 4, I repeat, a 4"),
        *("4. The image is sharp, with 2 people in it.", "*" * 50_000 + "4"),
    ],
    5: ["Score: 5", "\uff15"],
    None: [
        *(
            "From 1 to 5, with 5 as highest: 3",
            "\u8bc4\u5206: 4\u5206",
            "Between 3 and 4",
            "3 to 4",
            "the 4th of 5",
            "4.2.1",
        ),
        *("1. Sharpness: good\n2. Noise: low", "0", "6", "-3", "Score: -3", "10/10", "80%", "3.5%", "Good.", "four"),
        *("", "\x00\x1b[2J", "5" * 10_000, "good " * 10_000, "- " * 50_000, "score " * 50_000, "from " * 20_000),
    ],
}


@pytest.mark.parametrize(
    ("text", "rating"),
    [(text, rating) for rating, texts in READ.items() for text in texts],
    ids=lambda value: repr(value)[:40],
)
def test_numbers_are_read_from_replies(text, rating):
    assert read_rating(text) == rating
