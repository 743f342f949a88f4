"""Data of one's own in which a column holds what it should not."""

from string import ascii_letters

import datasets
import pytest

from eyechart.datasets_scripts.common.errors import DataError
from tests.evaluators.running import predictions, run

pytestmark = pytest.mark.datasets36

TEXT, NUMBER, IMAGES = datasets.Value("string"), datasets.Value("int64"), datasets.Sequence(datasets.Image())
QUESTION = {"images": 1, "question": "How is it?", "options": ["Dark", "Bright"], "answer": "A"}
ROWS = {
    "q_bench/perception": QUESTION,
    "q_bench/perception_pairs": QUESTION | {"images": 2},
    "ql_bench/single": QUESTION | {"refusal": "B"},
    "mmbench/en": QUESTION | {"question_id": "1"},
    "aes_bench/perception": QUESTION,
    "q_bench/description": {"image": 1, "description": "Dark."},
    "aes_bench/interpretation": {"image": 1, "question": "Why?", "description": "Dark."},
    "q_bench/assessment": {"image": 1, "quality": 2.0},
    "two_afc/coarse": {"images": 2, "first_id": "a", "second_id": "b", "first_quality": 1.0, "second_quality": 2.0},
}
"""A good row of each kind; numbers of images stand for images."""


@pytest.fixture
def own_data(make_picture):
    """Makes data of one row, of which a column may hold something else."""

    def make(task, **others):
        row = {"id": "r1", **ROWS[task], **others}
        if isinstance(row.get("images"), int):
            row["images"] = [make_picture(i) for i in range(row["images"])]
        if row.get("image") == 1:
            row["image"] = make_picture(0)
        known = {name: kind for name, kind in (("images", IMAGES), ("image", datasets.Image())) if name in row}
        rest = datasets.Dataset.from_list([{name: row[name] for name in row if name not in known}]).features
        return datasets.Dataset.from_list([row], features=datasets.Features({**rest, **known}))

    return make


def answer(messages, words=()):
    return dict.fromkeys(words, 1.0) if words else "A"


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")
@pytest.mark.parametrize("task", ROWS)
def test_a_good_row_is_scored(own_data, task):
    scores = run(task, answer, own_data(task)).scores
    assert 1 in (scores.get("n"), scores.get("n_questions"), scores.get("n_pairs"))


LIST, TEXT_WANTED, NUMBER_WANTED = "expected a list of strings", "expected a string", "expected a finite number"
PLACES = "as in the prompt. Use skip_bad"


@pytest.mark.parametrize(
    ("task", "column", "value", "problem"),
    [
        ("aes_bench/perception", "images", 2, f"2 images found; expected 1, {PLACES}"),
        ("two_afc/coarse", "images", 3, f"3 images found; expected 2, {PLACES}"),
        ("q_bench/perception", "images", 0, f"0 images found; expected 1, {PLACES}"),
        ("mmbench/en", "images", 0, f"0 images found; expected 1, {PLACES}"),
        ("q_bench/perception", "images", [None], "image: the image has neither bytes nor a path"),
        ("q_bench/assessment", "image", None, "image: the image has neither bytes nor a path"),
        ("q_bench/perception", "answer", 0, rf"column 'answer' is 0; {TEXT_WANTED} \(''"),
        ("mmbench/en", "answer", 1, f"column 'answer' is 1; {TEXT_WANTED}"),
        ("q_bench/perception", "question", None, f"column 'question' is None; {TEXT_WANTED}"),
        ("mmbench/en", "hint", 3, f"column 'hint' is 3; {TEXT_WANTED}"),
        ("aes_bench/perception", "options", None, f"column 'options' is None; {LIST}"),
        ("q_bench/perception", "options", [1, 2], rf"column 'options' is \[1, 2\]; {LIST}"),
        ("q_bench/perception", "options", "AB", f"column 'options' is 'AB'; {LIST}"),
        ("q_bench/perception", "options", [], rf"column 'options' is \[\]; {LIST}"),
        ("q_bench/perception", "options", [*ascii_letters[:27]], rf"column 'options' is \[.*; {LIST}, 1 to 26"),
        ("q_bench/perception", "answer", "AA", "column 'answer' is 'AA'; expected one of A, B"),
        ("mmbench/en", "answer", "AB", "column 'answer' is 'AB'; only the protocol multiple_choice"),
        ("ql_bench/single", "refusal", 1, f"column 'refusal' is 1; {TEXT_WANTED}"),
        ("q_bench/description", "description", 3, rf"column 'description' is 3; {TEXT_WANTED} \(''"),
        ("aes_bench/interpretation", "question", None, f"column 'question' is None; {TEXT_WANTED}"),
        ("q_bench/assessment", "quality", "good", rf"column 'quality' is 'good'; {NUMBER_WANTED} \(None"),
        ("q_bench/assessment", "quality", True, f"column 'quality' is True; {NUMBER_WANTED}"),
        ("q_bench/assessment", "quality", float("nan"), f"column 'quality' is nan; {NUMBER_WANTED}"),
        ("two_afc/coarse", "second_quality", "good", f"column 'second_quality' is 'good'; {NUMBER_WANTED}"),
        ("two_afc/coarse", "first_id", 7, f"column 'first_id' is 7; {TEXT_WANTED}"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(own_data, task, column, value, problem):
    with pytest.raises(DataError, match=f"item 'r1': {problem}"):
        run(task, answer, own_data(task, **{column: value}))


def test_the_only_question_may_have_26_options_and_accept_two(own_data):
    most = own_data("q_bench/perception", options=[*ascii_letters[:26]], answer="AZ")
    assert run("q_bench/perception", lambda messages: "Z", most).scores["accuracy"] == 1


def test_images_have_no_part_where_none_is_shown(own_data, tmp_path):
    assert run("mmbench/en", answer, own_data("mmbench/en", images=2), blind=True).scores
    file = predictions(tmp_path, [{"id": "r1", "text": "A"}])
    assert run("aes_bench/perception", file, own_data("aes_bench/perception", images=0)).scores["accuracy"] == 1


def test_columns_of_another_kind_are_named(own_data):
    task = "aes_bench/interpretation"
    with pytest.raises(DataError, match="column 'question' is None; expected a string"):
        run(task, answer, own_data(task).remove_columns("question"))
    data = own_data("q_bench/perception").remove_columns("images").add_column("images", ["a.png"])
    with pytest.raises(DataError, match=r"column 'images' is 'a\.png'; expected a list of images"):
        run("q_bench/perception", answer, data)
