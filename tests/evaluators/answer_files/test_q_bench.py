import json

import pytest

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.evaluators.answer_files.q_bench import description_answer_file, pair_answer_file, perception_answer_file


def read_rows(text):
    return json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("dataset", "file", "write"),
    [
        ("llvisionqa", "llvisionqa_test.json", perception_answer_file),
        ("llvisionqa_pairs", "q-bench2-a1-test.jsonl", pair_answer_file),
    ],
)
def test_it_holds_the_rows_of_the_releases_test_file(dataset, file, write):
    folder = mini.release(dataset)
    rows = load_dataset(dataset, split="test", data_dir=folder, images="skip")
    replies = [f"reply {number}: Ü" for number in range(len(rows))]
    (written,) = write(list(rows), replies).values()
    found = read_rows(written.decode("utf-8"))
    assert [row.pop("response") for row in found] == replies
    assert found == read_rows((folder / file).read_text(encoding="utf-8"))


def test_it_holds_the_rows_of_the_real_test_file(reference):
    folder = reference / "llvisionqa"
    rows = load_dataset("llvisionqa", split="test", data_dir=folder, images="skip")
    (written,) = perception_answer_file(list(rows), ["A"] * 1495).values()
    released = read_rows((folder / "llvisionqa_test.json").read_text(encoding="utf-8"))
    assert read_rows(written.decode("utf-8")) == [{**row, "response": "A"} for row in released]


@pytest.mark.parametrize(
    ("id", "img_path"),
    [
        ("test-10.jpg", "10.jpg"),
        ("test-10.jpg-2", "10.jpg"),
        ("test-dev-2.bmp-13", "dev-2.bmp"),
        ("test-a.tar.JPEG", "a.tar.JPEG"),
        ("test-17", "17"),
    ],
)
def test_further_questions_about_an_image_name_the_same_image(id, img_path):
    row = {"id": id, "question": "Is it?", "options": ["Yes", "No"], "question_type": "yes-or-no", "concern": "other"}
    (written,) = perception_answer_file([row], ["Yes"]).values()
    expected = {"type": 0, "concern": 1, "question": "Is it?", "img_path": img_path, "candidates": ["Yes", "No"]}
    assert json.loads(written) == [{**expected, "response": "Yes"}]


@pytest.mark.parametrize("write", [perception_answer_file, pair_answer_file])
def test_rows_of_ones_own_keep_what_they_have(write):
    row = {"id": "mine", "question": "Is it?", "options": ["Yes", "No"], "concern": "taste"}
    (written,) = write([row], ["Yes"]).values()
    (found,) = read_rows(written.decode("utf-8"))
    assert set(found) == {"question", "img_path", "candidates", "response"} and "mine" in found["img_path"]


@pytest.mark.parametrize("id", ["test-1.png_cat_2.jpg", "test-1.png_cat_2.jpg-2"])
def test_further_questions_about_a_pair_name_the_same_pair(id):
    row = {"id": id, "question": "Is it?", "options": ["Yes", "No"], "question_type": "what", "concern": "distortion"}
    (written,) = pair_answer_file([row], ["Yes"]).values()
    assert json.loads(written)["img_path"] == r"llvisionqa_compare_test\1.png_cat_2.jpg.jpg"


@pytest.mark.parametrize(
    "reply",
    ["", "\x00\x1b[2J", "多云", "{}", "half of a pair: \ud800", "two\u2028lines\x85and\nthree", "long " * 10_000],
)
@pytest.mark.parametrize("write", [perception_answer_file, pair_answer_file, description_answer_file])
def test_every_reply_is_read_back_as_it_was(write, reply):
    row = {"id": "test-1.png", "question": "?", "options": ["Yes"], "question_type": "how", "concern": "distortion"}
    (written,) = write([row], [reply]).values()
    (found,) = read_rows(written.decode("utf-8"))
    assert found["response"] == reply
