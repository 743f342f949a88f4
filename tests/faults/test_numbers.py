"""Numbers: replies and data that could change a score."""

import pytest

from eyechart.metrics.scoring.choices.replies import read_reply
from tests.faults.fault import row


@pytest.mark.parametrize(
    ("options", "reply", "letters"),
    [
        row("a reply is another option's text, but for its signs", "that option is read", ["A", "A+", "A-"], "A+", "B"),
        row("a reply is the text of an option that looks like a letter", "it is read", ["C++", "C#", "C"], "C#", "B"),
    ],
)
def test_texts_that_look_like_letters(options, reply, letters):
    assert read_reply(reply, options)[0] == letters
