"""Items of a file and items of the data."""

import json
import random

import pytest

from eyechart.datasets_scripts.common.errors import MissingPredictionError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.requests.types import Request
from tests.evaluators.backends.predictions.files import ask, vlmevalkit_row, write_jsonl, write_tsv

YES_NO = ("Yes", "No")


def question(id, text, options=YES_NO):
    return {"id": id, "question": text, "options": options}


def file_of(folder, rows, first=0, keep=None):
    """Each row answered with its own id, numbered in the order of `rows`, written in another."""
    written = [vlmevalkit_row(row, first + index, row["id"]) for index, row in enumerate(rows)]
    written = [row for index, row in enumerate(written) if keep is None or index in keep]
    random.Random(0).shuffle(written)
    return write_tsv(folder / "model_Q-Bench1_VAL.tsv", written)


def matched(path, rows):
    """The answers, None for each that is missing, and the settings."""
    backend = PredictionsFileBackend(path)
    responses = list(backend.answer([ask(row) for row in rows]))
    assert all(r.error is None or isinstance(r.error, MissingPredictionError) for r in responses)
    settings = backend.settings()
    assert not (settings["matched_by"] and any("ids in the file" in str(response.error) for response in responses))
    return [response.text for response in responses], settings


def questions_of(*texts):
    """About images a, b, c, ..."""
    return [question(f"dev-{letter}.png", f"Is it {text}?") for letter, text in zip("abcdefgh", texts, strict=False)]


SAME = questions_of("sharp", "dark", "sharp", "noisy", "sharp")


@pytest.mark.parametrize("first", [0, 1, 100])
def test_questions_about_several_images_are_told_by_their_place(tmp_path, first):
    path = file_of(tmp_path, SAME, first)
    texts, settings = matched(path, SAME)
    assert texts == [row["id"] for row in SAME]
    backend = PredictionsFileBackend(path)
    list(backend.answer([ask(row) for row in SAME]))
    later = backend.answer([ask(SAME[2]), ask(SAME[4])])
    assert [response.text for response in later] == ["dev-c.png", "dev-e.png"]
    assert settings["matched_by"] == {"question and options": 2, "position": 3}


def test_part_of_the_data_and_part_of_the_file(tmp_path):
    assert matched(file_of(tmp_path, SAME), SAME[:3])[0] == ["dev-a.png", "dev-b.png", "dev-c.png"]
    texts, settings = matched(file_of(tmp_path, SAME, keep=(0, 1, 3)), SAME)
    assert texts == ["dev-a.png", "dev-b.png", None, "dev-d.png", None]
    assert settings["predictions_unused"] == 0
    # The file lacks one of two neighbours with the same question, and from there on its numbers are other ones.
    rows = questions_of("dark", "sharp", "noisy", "sharp", "sharp", "bright", "sharp", "real")
    texts = [None if n in (3, 4) else row["id"] for n, row in enumerate(rows)]
    assert matched(file_of(tmp_path, [*rows[:3], *rows[4:]]), rows)[0] == texts


def test_nothing_is_guessed_where_the_order_is_another(tmp_path):
    backend = PredictionsFileBackend(file_of(tmp_path, SAME))
    responses = list(backend.answer([ask(SAME[index]) for index in (3, 4, 1)]))
    assert [response.text for response in responses] == ["dev-d.png", None, "dev-b.png"]
    assert isinstance(responses[1].error, MissingPredictionError)
    assert "row 2, 4, 5 has its question and options, but several items match" in str(responses[1].error)


def test_another_split_is_not_taken_for_this_one(tmp_path):
    """Of ten questions, four are asked of other images in the other split."""
    asked = [question(f"dev-{n}.png", f"Is it like {n}?") for n in range(10)]
    other = [question(f"test-{n}.png", f"Is it like {n}?") for n in (*range(4), *range(10, 16))]
    path = file_of(tmp_path, other)
    texts, settings = matched(path, asked)
    assert texts == [None] * 10
    assert settings["predictions_unused"] == 10
    assert matched(path, asked[:8])[0] == [*(f"test-{n}.png" for n in range(4)), *[None] * 4], "4 of 8 are enough"
    (response, *_) = PredictionsFileBackend(path).answer([ask(row) for row in asked])
    assert "the file has the questions of only 4 of 10 items; is it for other data?" in str(response.error)
    rows = [{"index": n, "question": "Sharp?", "prediction": "A"} for n in range(300, 310)]
    path = write_tsv(tmp_path / "a.tsv", rows)
    (response,) = PredictionsFileBackend(path).answer([Request("dev-7", ("Sharp?",), ())])
    assert "or for any other item; ids in the file: '300', '301', '302', ..." in str(response.error)


@pytest.mark.parametrize(
    ("questions", "matched_by"),
    [
        # The longer of two questions is meant.
        ({"dev-a.png": "Is it sharp?", "dev-b.png": "At the edges: Is it sharp?"}, {"question and options": 2}),
        # The ids count from one and the file from zero, so that two neighbours of the same question seem to fit.
        (
            {f"dev-{n}": f"Is it {text}?" for n, text in enumerate(["sharp", "dark", "dark", "noisy"], 1)},
            {"question and options": 2, "position": 2},
        ),
    ],
)
def test_similar_names_and_questions_are_told_apart(tmp_path, questions, matched_by):
    rows = [question(*item) for item in questions.items()]
    texts, settings = matched(file_of(tmp_path, rows), rows)
    assert (texts, settings["matched_by"]) == (list(questions), matched_by)


@pytest.mark.parametrize(
    ("items", "ids", "texts", "unused"),
    [
        # Complete ids come first.
        (["dev-a.png", "dev-b.png"], ["a.png", "dev-a.png"], ["dev-a.png", None], 1),
        # Then items may be named by their image,
        (["dev-a", "dev-b.png", "dev-c"], ["b.png", "dev-a", "test-c"], ["dev-a", "b.png", None], 1),
        # unless two share its name,
        (["x/a.png", "y/a.png", "y/b.png"], ["a.png", "b.png"], [None, None, "b.png"], 1),
        # or it is a bare number.
        (["dev-1", "dev-2"], ["1", "2"], [None, None], 2),
    ],
)
def test_our_own_files_name_items_by_their_ids_or_images(tmp_path, items, ids, texts, unused):
    path = write_jsonl(tmp_path / "own.jsonl", [{"id": id, "text": id} for id in ids])
    answers, settings = matched(path, [question(id, "Is it sharp?") for id in items])
    assert (answers, settings["predictions_unused"]) == (texts, unused)


def test_blanks_and_unicode_forms_make_no_difference(tmp_path):
    row = question("dev-a.png", "Is the caf\u00e9  sharp?", ("S\u00e9vere blur", "None"))
    written = question("dev-a.png", "Is the cafe\u0301 sharp?\r\n", ("None", " Se\u0301vere  blur"))
    backend = PredictionsFileBackend(file_of(tmp_path, [written]))
    (response,) = backend.answer([ask(row)])
    assert response.options == ("None", "S\u00e9vere blur")


def test_image_names_are_names(tmp_path):
    rows = [
        vlmevalkit_row(row, 10 - index, row["id"]) | {"image_path": "" if index == 3 else f"images/{row['id'][4:]}"}
        for index, row in enumerate(SAME)
    ]
    texts, settings = matched(write_tsv(tmp_path / "a.tsv", rows), SAME)
    assert texts == [row["id"] for row in SAME]
    assert settings["matched_by"] == {"names": 4, "question and options": 1}


def released(reference, split):
    rows = json.loads((reference / "llvisionqa" / f"llvisionqa_{split}.json").read_text("utf-8"))
    return [question(f"{split}-{row['img_path']}", row["question"], tuple(row["candidates"])) for row in rows]


@pytest.mark.parametrize(("first", "share", "at_least"), [(0, 1.0, 1495), (1, 1.0, 1495), (0, 0.67, 750)])
def test_the_release_of_q_bench_is_matched_without_a_mistake(reference, tmp_path, first, share, at_least):
    rows = released(reference, "dev")
    keep = set(random.Random(1).sample(range(len(rows)), int(share * len(rows))))
    texts, _ = matched(file_of(tmp_path, rows, first, keep), rows)
    wrong = [(text, row["id"]) for text, row in zip(texts, rows, strict=True) if text not in (None, row["id"])]
    assert wrong == []
    assert sum(text is not None for text in texts) >= at_least


def test_the_other_split_of_q_bench_is_not_taken_for_this_one(reference, tmp_path):
    path = file_of(tmp_path, released(reference, "dev"))
    assert set(matched(path, released(reference, "test"))[0]) == {None}
