"""CSV files of quality scores."""

import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingPredictionError, UsageError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.requests.types import Request

ASKED = [Request(name, ("Rate it.",), (), words=("good", "poor")) for name in ("a.png", "movie/b.png", "c-1.png")]


def write(folder, text, name="niqe.csv"):
    path = folder / name
    path.write_bytes(text.encode())
    return path


def scores(path, **options):
    return [response.score for response in PredictionsFileBackend(path, **options).answer(ASKED)]


@pytest.mark.parametrize("column", ["id", "image", "image_name", "name", "filename"])
def test_scores_by_name_in_any_order(tmp_path, column):
    text = f"\ufeff{column},score,seconds\r\nmovie/b.png,2,0.1\r\nc-1.png, -3.5 ,0.1\r\na.png,1e-1,0.2\r\n"
    assert scores(write(tmp_path, text)) == [0.1, 2.0, -3.5]


def test_a_file_name_of_two_images_tells_neither(tmp_path):
    asked = [Request(name, ("Rate it.",), (), words=("good", "poor")) for name in ("game/b.png", "movie/b.png")]
    responses = list(PredictionsFileBackend(write(tmp_path, "image,score\nb.png,2\n")).answer(asked))
    assert all(isinstance(response.error, MissingPredictionError) for response in responses)


def test_names_may_have_other_folders_and_a_score_answers_no_question(tmp_path):
    path = write(tmp_path, "image,score\nimages/a.png,1\nb.png,2\nimages\\c-1.png,3\n")
    assert scores(path) == [1, 2, 3]
    (response,) = PredictionsFileBackend(path).answer([Request("a.png", ("Is it sharp?",), (), options=("Yes", "No"))])
    assert "row 2: the row has no text" in str(response.error)


def test_two_rows_about_one_image_name_both(tmp_path):
    backend = PredictionsFileBackend(write(tmp_path, "image,score\na.png,1\nold/a.png,2\n"))
    with pytest.raises(BadAnnotationError, match=r"row 3: matches item 'a\.png', which row 2 matches"):
        list(backend.answer(ASKED))


def test_lower_is_better_changes_the_sign_and_is_recorded(tmp_path):
    path = write(tmp_path, "image,score\na.png,1\nmovie/b.png,2\nc-1.png,3\n")
    assert scores(path, lower_is_better=True) == [-1, -2, -3]
    assert PredictionsFileBackend(path, lower_is_better=True).settings()["lower_is_better"] is True
    assert PredictionsFileBackend(path).settings()["lower_is_better"] is False
    path = write(tmp_path, '{"id": "a", "text": "A"}\n', "answers.jsonl")
    with pytest.raises(UsageError, match="lower_is_better=True needs scores"):
        PredictionsFileBackend(path, lower_is_better=True)


def test_our_own_lines_hold_scores_too(tmp_path):
    lines = '{"id": "a.png", "score": 1.5}\n{"id": "movie/b.png", "score": 2}\n{"id": "c-1.png", "logits": {}}\n'
    responses = list(PredictionsFileBackend(write(tmp_path, lines, "a.jsonl")).answer(ASKED))
    assert [response.score for response in responses] == [1.5, 2.0, None]
    assert "row 3: missing logits of good, poor" in str(responses[2].error)
