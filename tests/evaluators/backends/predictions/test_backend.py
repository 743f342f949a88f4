"""Items and their answers, in eyechart's own files and in files of scores."""

import json
from dataclasses import replace

import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, MissingPredictionError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, LoadedData
from eyechart.evaluators.requests.types import Request
from tests.evaluators.backends.predictions.files import write_jsonl
from tests.evaluators.running import predictions, run


def test_answers_are_scored_in_any_order(tmp_path, questions):
    lines = [{"id": f"q{i}", "pass": "main", "text": "ABC"[i % 3]} for i in (5, 3, 7, 1, 0, 2, 4, 6)]
    result = run("q_bench/perception", predictions(tmp_path, lines), questions)
    assert result.scores["accuracy"] == 1.0
    settings = result.settings["model"]
    assert (result.model, settings["predictions"], settings["predictions_unused"]) == ("answers", 8, 2)
    assert result.items[0].prompt is None


def test_line_separators_inside_texts_are_no_line_breaks(tmp_path, questions):
    path = tmp_path / "answers.jsonl"
    lines = [json.dumps({"id": f"q{i}", "text": "A\u2028\x85"}, ensure_ascii=False) for i in range(6)]
    path.write_text("\r\n".join(lines), "utf-8", newline="")
    assert run("q_bench/perception", PredictionsFileBackend(path), questions).scores["accuracy"] == pytest.approx(2 / 6)


@pytest.mark.parametrize(
    ("name", "value"),
    [("id", ""), ("pass", ""), ("score", "1"), ("score", float("inf")), ("logits", {"good": float("nan")})],
)
def test_the_first_malformed_value_of_a_row_is_named(tmp_path, name, value):
    rows = [{"id": "a", "pass": "b", "text": "A"}, {"id": "b", "finish_reason": 3, name: value}]
    with pytest.raises(BadAnnotationError, match=f"row 2: '{name}' is "):
        predictions(tmp_path, rows)


@pytest.mark.parametrize(
    ("task", "line", "reason"),
    [
        ("perception", {"text": "A", "options": ["Good", "Bad"]}, "options .*'Bad'.* differ from the question's"),
        ("perception", {"logits": {"good": 1.0}}, "the row has no text"),
        ("assessment", {"logits": {"good": 1.0}}, "missing logits of poor"),
    ],
)
def test_items_that_do_not_fit_the_question_are_named(tmp_path, questions, photographs, task, line, reason):
    data, prefix = (questions, "q") if task == "perception" else (photographs, "p")
    model = predictions(tmp_path, [{"id": f"{prefix}{i}", **line} for i in range(40)])
    with pytest.raises(DataError, match=f"row 1: {reason}"):
        run(f"q_bench/{task}", model, data)


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


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_one_file_for_several_data_sets(tmp_path, photographs, suffix):
    """Each result counts its own rows, whatever was scored before."""
    names = [f"{subset}_{i}.jpg" for subset in "ab" for i in range(40)]
    path = tmp_path / f"scores.{suffix}"
    if suffix == "csv":
        path.write_text("image,score\n" + "".join(f"{name},{n % 40}\n" for n, name in enumerate(names)))
    else:
        write_jsonl(path, [{"id": name, "score": n % 40} for n, name in enumerate(names)])
    backend = PredictionsFileBackend(path)
    for subset in ("b", "a"):
        data = photographs.remove_columns("id").add_column("id", [f"{subset}_{i}.jpg" for i in range(40)])
        result = evaluator("q_bench/assessment").run(backend, LoadedData(data, subset, "test", "given"))
        assert result.scores["srcc"] == pytest.approx(1.0)
        assert result.settings["model"]["predictions_unused"] == 40
        assert sum(result.settings["model"]["matched_by"].values()) == 40


ASKED = [Request(name, ("Rate it.",), (), words=("good", "poor")) for name in ("a.png", "movie/b.png", "c-1.png")]


def write_text(folder, text, name="niqe.csv"):
    path = folder / name
    path.write_bytes(text.encode())
    return path


def scores(path, **options):
    return [response.score for response in PredictionsFileBackend(path, **options).answer(ASKED)]


@pytest.mark.parametrize("column", ["id", "image", "image_name", "name", "filename"])
def test_scores_by_name_in_any_order(tmp_path, column):
    text = f"\ufeff{column},score,seconds\r\nmovie/b.png,2,0.1\r\nc-1.png, -3.5 ,0.1\r\na.png,1e-1,0.2\r\n"
    assert scores(write_text(tmp_path, text)) == [0.1, 2.0, -3.5]
    assert scores(tmp_path / "niqe.csv", lower_is_better=True) == [-0.1, -2.0, 3.5]


def test_a_file_name_of_two_images_tells_neither(tmp_path):
    asked = [Request(name, ("Rate it.",), (), words=("good", "poor")) for name in ("game/b.png", "movie/b.png")]
    responses = list(PredictionsFileBackend(write_text(tmp_path, "image,score\nb.png,2\n")).answer(asked))
    assert all(isinstance(response.error, MissingPredictionError) for response in responses)


def test_names_may_have_other_folders_and_a_score_answers_no_question(tmp_path):
    path = write_text(tmp_path, "image,score\nimages/a.png,1\nb.png,2\nimages\\c-1.png,3\n")
    assert scores(path) == [1, 2, 3]
    (response,) = PredictionsFileBackend(path).answer([Request("a.png", ("Is it sharp?",), (), options=("Yes", "No"))])
    assert "row 2: the row has no text" in str(response.error)


def test_two_rows_about_one_image_name_both(tmp_path):
    backend = PredictionsFileBackend(write_text(tmp_path, "image,score\na.png,1\nold/a.png,2\n"))
    with pytest.raises(BadAnnotationError, match=r"row 3: matches item 'a\.png', which row 2 matches"):
        list(backend.answer(ASKED))
