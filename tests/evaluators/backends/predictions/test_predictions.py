"""Items and their answers, in eyechart's own files and in files of scores."""

import json
import random
from dataclasses import replace

import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, LoadedData
from eyechart.evaluators.requests.errors import MissingPredictionError
from eyechart.evaluators.requests.types import Request
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.backends.predictions.test_formats import (
    ask,
    demo_rows,
    right_letter,
    vlmevalkit_row,
    write_jsonl,
    write_tsv,
    write_xlsx,
)
from tests.evaluators.command_line import invoke
from tests.evaluators.running import predictions, run


def test_answers_are_scored_in_any_order(tmp_path, questions):
    lines = [{"id": f"q{i}", "pass": "main", "text": "ABC"[i % 3]} for i in (5, 3, 7, 1, 0, 2, 4, 6)]
    result = run("q_bench/perception", predictions(tmp_path, lines), questions)
    assert result.scores["accuracy"] == 1.0
    settings = result.settings["model"]
    assert (result.model, settings["predictions"], settings["predictions_unused"]) == ("answers", 8, 2)
    assert result.items[0].prompt is None


def test_a_row_answers_about_one_data_set(tmp_path, photographs):
    """Ids are unique in a dataset alone: KonIQ's scores must not become those of SPAQ's images of the same name."""
    backend = predictions(tmp_path, ({"id": f"p{i}", "score": i} for i in range(40)))
    assessment = evaluator("q_bench/assessment")
    koniq, spaq = (LoadedData(photographs, subset, "test", "given") for subset in ("koniq10k", "spaq"))
    first = assessment.run(backend, koniq)
    assert assessment.run(backend, koniq).scores == first.scores, "the same data may be scored again"
    with pytest.raises(DataError, match=r"row 1: this row was used for koniq10k, but spaq .* --dataset"):
        assessment.run(backend, spaq)
    with pytest.raises(DataError, match="none of the 40 items could be evaluated"):
        assessment.run(backend, replace(spaq, request=DataRequest(skip_bad=True)))


ASKED = [Request(name, ("Rate it.",), (), words=("good", "poor")) for name in ("a.png", "movie/b.png", "c-1.png")]


def write_text(folder, text, name="niqe.csv"):
    path = folder / name
    path.write_bytes(text.encode())
    return path


def scores(path, **options):
    return [response.score for response in PredictionsFileBackend(path, **options).answer(ASKED)]


def test_scores_by_name_in_any_order(tmp_path):
    text = "\ufeffimage_name,score,seconds\r\nmovie/b.png,2,0.1\r\nc-1.png, -3.5 ,0.1\r\na.png,1e-1,0.2\r\n"
    assert scores(write_text(tmp_path, text)) == [0.1, 2.0, -3.5]
    assert scores(tmp_path / "niqe.csv", lower_is_better=True) == [-0.1, -2.0, 3.5]


def test_names_may_have_other_folders_and_a_score_answers_no_question(tmp_path):
    path = write_text(tmp_path, "image,score\nimages/a.png,1\nb.png,2\nimages\\c-1.png,3\n")
    assert scores(path) == [1, 2, 3]
    (response,) = PredictionsFileBackend(path).answer([Request("a.png", ("Is it sharp?",), (), options=("Yes", "No"))])
    assert "row 2: the row has no text" in str(response.error)
    path = write_jsonl(tmp_path / "logits.jsonl", [{"id": "a.png", "logits": {"good": 1.0}}])
    (response, *_) = PredictionsFileBackend(path).answer(ASKED)
    assert "row 1: missing logits of poor" in str(response.error)


def test_two_rows_about_one_image_name_both(tmp_path):
    backend = PredictionsFileBackend(write_text(tmp_path, "image,score\na.png,1\nold/a.png,2\n"))
    with pytest.raises(BadAnnotationError, match=r"row 3: matches item 'a\.png', which row 2 matches"):
        list(backend.answer(ASKED))


def question(id, text, options=("Yes", "No")):
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


@pytest.mark.parametrize("first", [0, 100])
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


@pytest.mark.parametrize(("first", "share", "at_least"), [(1, 1.0, 1495), (0, 0.67, 750)])
def test_the_release_of_q_bench_is_matched_without_a_mistake(reference, tmp_path, first, share, at_least):
    rows = released(reference, "dev")
    keep = set(random.Random(1).sample(range(len(rows)), int(share * len(rows))))
    texts, _ = matched(file_of(tmp_path, rows, first, keep), rows)
    wrong = [(text, row["id"]) for text, row in zip(texts, rows, strict=True) if text not in (None, row["id"])]
    assert wrong == []
    assert sum(text is not None for text in texts) >= at_least
    # The other split is not taken for this one.
    assert set(matched(file_of(tmp_path, rows, first, keep), released(reference, "test"))[0]) == {None}


def test_right_letters_get_the_full_score(tmp_path):
    """Of a sheet in no order of index, the options of every other question rotated."""
    written = [
        vlmevalkit_row(row, index, right_letter(row, index % 2), index % 2) | {"index": index}
        for index, row in enumerate(demo_rows("llvisionqa"))
    ]
    random.Random(0).shuffle(written)
    path = write_xlsx(tmp_path / "some-model_Q-Bench1_VAL.xlsx", written)
    invoke("score", "q_bench/perception", "--mini", "--predictions", path, "--out", tmp_path / "out", code=0)
    (task,) = read_results(tmp_path / "out").tasks
    assert (task.model, task.scores["accuracy"], task.scores["n"]) == ("some-model_Q-Bench1_VAL", 1.0, 180)
    assert task.left_out == []
    model = task.settings["model"]
    assert (model["format"], model["predictions"], model["predictions_unused"]) == ("vlmevalkit", 180, 0)
    assert sum(model["matched_by"].values()) == 180


def test_lower_is_better_is_about_scores(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "text": "A"}])
    options = ("--mini", "--predictions", path, "--lower-is-better", "--out", tmp_path / "out")
    done = invoke("score", "q_bench/perception", *options, code=2)
    assert "lower_is_better=True needs scores" in done.output
