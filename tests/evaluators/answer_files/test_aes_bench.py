"""The answer files for AesBench, read again as their receiver does."""

import json

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.answer_files.aes_bench import aes_bench_answer_file

ROWS = [{"id": "baid_1.jpg"}, {"id": "春 2.png"}]


@pytest.mark.parametrize("part", ["AesP", "AesE", "AesA1", "AesI"])
def test_each_part_has_a_file_and_a_key_of_its_own(part):
    ((name, content),) = aes_bench_answer_file(part, ROWS, ["B) No", "选 C\n"]).items()
    assert name == f"test_{part}.json"
    assert json.loads(content.decode("utf-8")) == {
        "baid_1.jpg": {f"{part}_response": "B) No"},
        "春 2.png": {f"{part}_response": "选 C\n"},
    }


@pytest.mark.parametrize("reply", ["", "A" * 100_000, "\x00\x1b[31m", '{"answer": "A"}', "\ud83d", "Ja, natürlich. 好"])
def test_any_reply_comes_back_as_it_was(reply):
    (content,) = aes_bench_answer_file("AesP", ROWS[:1], [reply]).values()
    assert json.loads(content.decode("utf-8")) == {"baid_1.jpg": {"AesP_response": reply}}


@pytest.mark.parametrize(("rows", "replies", "images"), [(ROWS, ["A"], 2), ([ROWS[0], ROWS[0]], ["A", "B"], 1)])
def test_rows_and_replies_must_be_about_one_image_each(rows, replies, images):
    with pytest.raises(UsageError, match=f"{len(replies)} replies to 2 rows about {images} images"):
        aes_bench_answer_file("AesP", rows, replies)
