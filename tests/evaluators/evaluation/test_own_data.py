"""Data of one's own in which a column holds what it should not."""

import datasets
import pytest

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import LoadedData

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


def run(task, data, backend=None, **options):
    made = evaluator(task, settings=options)
    return made.run(backend or FunctionBackend(answer), LoadedData(data, "own data", "given", "given"))


@pytest.mark.parametrize(
    ("task", "reply", "expected"),
    [
        ("q_bench/perception", "A", {"accuracy": 1, "random_guess": 0.5, "n": 1}),
        ("q_bench/perception_pairs", "B", {"accuracy": 0, "n": 1}),
        ("ql_bench/single", "A", {"score_cc": 100, "score_rc": 0, "score_sa": 100, "n": 1}),
        ("mmbench/en", "A", {"vanilla_accuracy": 1, "circular_accuracy": 0, "n_questions": 1, "n_passes": 2}),
        ("aes_bench/perception", "A", {"accuracy": 1, "n": 1}),
        ("q_bench/description", "Dark.", {"sum": 6, "n": 1}),
        ("aes_bench/interpretation", "Dark.", {"sum": 6, "n": 1}),
    ],
)
def test_a_good_row_is_scored(own_data, task, reply, expected):
    scores = run(task, own_data(task), FunctionBackend(lambda messages: reply)).scores
    assert {name: scores[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("task", "images", "expected"),
    [
        ("mmbench/en", 2, 1),
        ("aes_bench/perception", 2, 1),
        ("two_afc/coarse", 3, 2),
    ],
)
def test_a_row_has_an_image_for_each_place_of_its_prompt(own_data, task, images, expected):
    problem = f"item 'r1': {images} images found; expected {expected}, as in the prompt. Use skip_bad"
    with pytest.raises(DataError, match=problem):
        run(task, own_data(task, images=images))


@pytest.mark.parametrize("task", ["q_bench/perception", "ql_bench/single", "mmbench/en", "aes_bench/perception"])
def test_a_row_without_any_image_is_named(own_data, task):
    with pytest.raises(DataError, match=r"item 'r1': column 'images' is \[\]; expected a list of at least one image"):
        run(task, own_data(task, images=0))


def test_images_have_no_part_where_none_is_shown(own_data, tmp_path):
    assert run("mmbench/en", own_data("mmbench/en", images=2), blind=True).scores
    file = tmp_path / "answers.jsonl"
    file.write_text('{"id": "r1", "text": "A"}\n')
    found = run("aes_bench/perception", own_data("aes_bench/perception", images=0), PredictionsFileBackend(file))
    assert found.scores["accuracy"] == 1


@pytest.mark.parametrize(
    ("task", "column", "value", "problem"),
    [
        ("q_bench/perception", "answer", 0, r"column 'answer' is 0; expected a string \(''"),
        ("mmbench/en", "answer", 1, "column 'answer' is 1; expected a string"),
        ("q_bench/perception", "question", None, "column 'question' is None; expected a string"),
        ("mmbench/en", "hint", 3, "column 'hint' is 3; expected a string"),
        ("aes_bench/perception", "options", None, "column 'options' is None; expected a list of strings"),
        ("q_bench/perception", "options", [1, 2], r"column 'options' is \[1, 2\]; expected a list of strings"),
        ("q_bench/perception", "options", "AB", "column 'options' is 'AB'; expected a list of strings"),
        ("ql_bench/single", "refusal", 1, "column 'refusal' is 1; expected a string"),
        ("q_bench/description", "description", 3, r"column 'description' is 3; expected a string \(''"),
        ("aes_bench/interpretation", "question", None, "column 'question' is None; expected a string"),
        ("q_bench/assessment", "quality", "good", r"column 'quality' is 'good'; expected a finite number \(None"),
        ("q_bench/assessment", "quality", True, "column 'quality' is True; expected a finite number"),
        ("two_afc/coarse", "second_quality", "good", "column 'second_quality' is 'good'; expected a finite number"),
        ("two_afc/coarse", "first_id", 7, "column 'first_id' is 7; expected a string"),
    ],
)
def test_a_value_of_another_type_is_named(own_data, task, column, value, problem):
    with pytest.raises(DataError, match=f"item 'r1': {problem}"):
        run(task, own_data(task, **{column: value}))


def test_the_question_of_interpretation_is_needed(own_data):
    task = "aes_bench/interpretation"
    with pytest.raises(DataError, match="column 'question' is None; expected a string"):
        run(task, own_data(task).remove_columns("question"))


def test_images_that_are_no_list_are_named(own_data):
    data = own_data("q_bench/perception").remove_columns("images").add_column("images", ["a.png"])
    with pytest.raises(DataError, match=r"column 'images' is 'a\.png'; expected a list of at least one image"):
        run("q_bench/perception", data)


@pytest.mark.parametrize(("task", "images"), [("q_bench/perception", [None]), ("q_bench/assessment", None)])
def test_an_absent_image_is_one_that_cannot_be_read(own_data, task, images):
    column = "image" if images is None else "images"
    with pytest.raises(DataError, match="item 'r1': image: the image has neither bytes nor a path"):
        run(task, own_data(task, **{column: images}))
