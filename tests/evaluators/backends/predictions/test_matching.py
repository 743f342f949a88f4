"""Items of a file and items of the data."""

import json
import random

import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingPredictionError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from tests.evaluators.backends.predictions.files import ask, vlmevalkit_row, write_tsv

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
    return [response.text for response in responses], backend.settings()


SAME = [
    question("dev-a.png", "Is it sharp?"),
    question("dev-b.png", "Is it dark?"),
    question("dev-c.png", "Is it sharp?"),
    question("dev-d.png", "Is it noisy?"),
    question("dev-e.png", "Is it sharp?"),
]


@pytest.mark.parametrize("first", [0, 1, 100])
def test_questions_about_several_images_are_told_by_their_place(tmp_path, first):
    texts, settings = matched(file_of(tmp_path, SAME, first), SAME)
    assert texts == [row["id"] for row in SAME]
    assert settings["matched_by"] == {"question and options": 2, "position": 3}


def test_part_of_the_data_and_part_of_the_file(tmp_path):
    assert matched(file_of(tmp_path, SAME), SAME[:3])[0] == ["dev-a.png", "dev-b.png", "dev-c.png"]
    texts, settings = matched(file_of(tmp_path, SAME, keep=(0, 1, 3)), SAME)
    assert texts == ["dev-a.png", "dev-b.png", None, "dev-d.png", None]
    assert settings["predictions_unused"] == 0


def test_what_is_asked_later_is_found_as_well(tmp_path):
    backend = PredictionsFileBackend(file_of(tmp_path, SAME))
    first = [response.text for response in backend.answer([ask(row) for row in SAME])]
    later = [response.text for response in backend.answer([ask(SAME[2]), ask(SAME[4])])]
    assert (first[2], first[4]) == tuple(later)


def test_nothing_is_guessed_where_the_order_is_another(tmp_path):
    backend = PredictionsFileBackend(file_of(tmp_path, SAME))
    responses = list(backend.answer([ask(SAME[index]) for index in (3, 4, 1)]))
    assert [response.text for response in responses] == ["dev-d.png", None, "dev-b.png"]
    assert isinstance(responses[1].error, MissingPredictionError)
    assert "but several items match" in str(responses[1].error)


def test_another_split_is_not_taken_for_this_one(tmp_path):
    """Of ten questions, four are asked of other images in the other split."""
    asked = [question(f"dev-{n}.png", f"Is it like {n}?") for n in range(10)]
    other = [question(f"test-{n}.png", f"Is it like {n}?") for n in (*range(4), *range(10, 16))]
    path = file_of(tmp_path, other)
    texts, settings = matched(path, asked)
    assert texts == [None] * 10
    assert settings["predictions_unused"] == 10
    (response, *_) = PredictionsFileBackend(path).answer([ask(row) for row in asked])
    assert "the file has the questions of only 4 of 10 items; is it for other data?" in str(response.error)


def test_ids_of_another_split_say_what_the_file_has(tmp_path):
    path = write_tsv(tmp_path / "a.tsv", [{"index": index, "prediction": "A"} for index in range(300, 310)])
    (response,) = PredictionsFileBackend(path).answer([ask(question("dev-7", "Is it sharp?"))])
    assert "or for any other item; ids in the file: '300', '301', '302', ..." in str(response.error)


def test_the_longer_of_two_questions_is_meant(tmp_path):
    rows = [question("dev-a.png", "Is it sharp?"), question("dev-b.png", "At the edges: Is it sharp?")]
    assert matched(file_of(tmp_path, rows), rows)[0] == ["dev-a.png", "dev-b.png"]


def test_blanks_and_unicode_forms_make_no_difference(tmp_path):
    row = question("dev-a.png", "Is the caf\u00e9  sharp?", ("S\u00e9vere blur", "None"))
    written = question("dev-a.png", "Is the cafe\u0301 sharp?\r\n", ("None", " Se\u0301vere  blur"))
    backend = PredictionsFileBackend(file_of(tmp_path, [written]))
    (response,) = backend.answer([ask(row)])
    assert response.options == ("None", "S\u00e9vere blur")


def test_image_names_are_names(tmp_path):
    rows = [
        vlmevalkit_row(row, 10 - index, row["id"]) | {"image_path": f"images/{row['id'][4:]}"}
        for index, row in enumerate(SAME)
    ]
    texts, settings = matched(write_tsv(tmp_path / "a.tsv", rows), SAME)
    assert texts == [row["id"] for row in SAME]
    assert settings["matched_by"] == {"names": 5}


def test_names_of_another_numbering_do_not_count(tmp_path):
    """The ids count from one and the file from zero, so that two neighbours of the same question seem to fit."""
    texts = ["Is it sharp?", "Is it dark?", "Is it dark?", "Is it noisy?", "Is it bright?", "Is it real?"]
    rows = [question(f"dev-{n}", text) for n, text in enumerate(texts, 1)]
    texts, settings = matched(file_of(tmp_path, rows), rows)
    assert texts == [row["id"] for row in rows]
    assert settings["matched_by"] == {"question and options": 4, "position": 2}


def test_two_items_of_the_file_about_one_of_the_data_name_both_rows(tmp_path):
    rows = [vlmevalkit_row(SAME[0], index, "A") | {"image_path": "a.png"} for index in (1, 2)]
    backend = PredictionsFileBackend(write_tsv(tmp_path / "a.tsv", rows))
    with pytest.raises(BadAnnotationError, match=r"row 3: matches item 'dev-a\.png', which row 2 matches"):
        list(backend.answer([ask(SAME[0])]))


def test_our_own_files_are_read_by_id_first(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a.png", "text": "A"}\n{"id": "dev-a.png", "text": "B"}\n', "utf-8")
    texts, settings = matched(path, SAME[:2])
    assert texts == ["B", None]
    assert (settings["matched_by"], settings["predictions_unused"]) == ({"names": 1}, 1)


def own_file(folder, *ids):
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps({"id": id, "text": id}) + "\n" for id in ids), "utf-8")
    return path


def test_our_own_files_may_name_items_by_their_image(tmp_path):
    texts, settings = matched(own_file(tmp_path, "b.png", "dev-a.png", "test-c.png"), SAME)
    assert texts == ["dev-a.png", "b.png", None, None, None]
    assert (settings["matched_by"], settings["predictions_unused"]) == ({"names": 2}, 1)


def test_an_image_name_that_two_items_share_names_neither(tmp_path):
    rows = [
        question("x/a.png", "Is it sharp?"),
        question("y/a.png", "Is it sharp?"),
        question("y/b.png", "Is it dark?"),
    ]
    texts, _ = matched(own_file(tmp_path, "a.png", "b.png"), rows)
    assert texts == [None, None, "b.png"]


def test_a_bare_number_is_no_image_name(tmp_path):
    rows = [question(f"dev-{n}", "Is it sharp?") for n in (1, 2)]
    texts, _ = matched(own_file(tmp_path, "1", "2"), rows)
    assert texts == [None, None]


@pytest.mark.parametrize(
    ("first", "share", "at_least"),
    [(0, 1.0, 1495), (1, 1.0, 1495), (0, 0.67, 750)],
    ids=["all", "counted from one", "two thirds of the file"],
)
def test_the_release_of_q_bench_is_matched_without_a_mistake(reference, tmp_path, first, share, at_least):
    rows = [
        question(f"dev-{row['img_path']}", row["question"], tuple(row["candidates"]))
        for row in json.loads((reference / "llvisionqa" / "llvisionqa_dev.json").read_text("utf-8"))
    ]
    keep = set(random.Random(1).sample(range(len(rows)), int(share * len(rows))))
    texts, _ = matched(file_of(tmp_path, rows, first, keep), rows)
    wrong = [(text, row["id"]) for text, row in zip(texts, rows, strict=True) if text not in (None, row["id"])]
    assert wrong == []
    assert sum(text is not None for text in texts) >= at_least


def test_the_other_split_of_q_bench_is_not_taken_for_this_one(reference, tmp_path):
    folder = reference / "llvisionqa"
    dev, test = (
        [
            question(f"{split}-{row['img_path']}", row["question"], tuple(row["candidates"]))
            for row in json.loads((folder / f"llvisionqa_{split}.json").read_text("utf-8"))
        ]
        for split in ("dev", "test")
    )
    assert set(matched(file_of(tmp_path, dev), test)[0]) == {None}
