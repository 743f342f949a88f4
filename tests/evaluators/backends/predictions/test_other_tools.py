"""Files of lmms-eval, written with its keys."""

import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from tests.evaluators.backends.predictions.files import ask, right_letter, vlmevalkit_row, write_jsonl

ROW = {"id": "dev-12", "question": "How sharp is it?", "options": ("Sharp", "Blurry", "In between"), "answer": "B"}


def q_bench_doc(row, number):
    """A row of Q-Bench as the Hub has it, without its image."""
    options = {f"option{index}": text for index, text in enumerate([*row["options"], "N/A", "N/A", "N/A"][:4])}
    return {"id": str(number), "question": row["question"], "question_type": 2, "correct_choice": "B", **options}


def mmbench_doc(row, rotation=0):
    """A row of MMBench as the Hub has it."""
    doc = vlmevalkit_row(row, int(row["question_id"]), "", rotation)
    return {name: "nan" if value == "" else value for name, value in doc.items() if name != "prediction"}


def sample(number, doc, reply, **changes):
    """A line of lmms-eval; a key is left out if its value is None."""
    line = {"doc_id": number, "doc": doc, "target": "B", "filtered_resps": reply, "doc_hash": "0" * 64, **changes}
    return {key: value for key, value in line.items() if value is not None}


def backend(folder, *lines):
    return PredictionsFileBackend(write_jsonl(folder / "20260801_120000_samples.jsonl", lines))


def answer(folder, line, request=None):
    (response,) = backend(folder, line).answer([request or ask(ROW)])
    return response


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"filtered_resps": "B"}, "B"),
        ({"filtered_resps": ["B"]}, "B"),
        ({"filtered_resps": [["B"]]}, "B"),
        ({"filtered_resps": ["B"], "resps": [["<think>A?</think>B"]]}, "B"),
        ({"filtered_resps": None, "resps": [["C"]]}, "C"),
    ],
)
def test_an_answer_is_a_text_or_a_list_of_one_and_the_filtered_one_counts(tmp_path, changes, text):
    response = answer(tmp_path, sample(0, q_bench_doc(ROW, 12), None, **changes))
    assert (response.text, response.options) == (text, ROW["options"])


@pytest.mark.parametrize("reply", [[], ["A", "B"], [["A", True]], 3])
def test_what_is_not_one_text_names_the_row(tmp_path, reply):
    with pytest.raises(BadAnnotationError, match=r"row 1: 'filtered_resps' is .*; expected a single string"):
        backend(tmp_path, sample(0, q_bench_doc(ROW, 12), reply))


def test_q_bench_is_matched_whatever_its_ids_are(tmp_path, perception_rows):
    lines = [sample(n, q_bench_doc(row, n + 1), [right_letter(row)]) for n, row in enumerate(perception_rows)]
    model = backend(tmp_path, *lines[::-1])
    responses = list(model.answer([ask(row) for row in perception_rows]))
    assert [response.text for response in responses] == [row["answer"] for row in perception_rows]
    settings = model.settings()
    assert settings["format"] == "lmms-eval" and set(settings["matched_by"]) == {"question and options", "position"}
    assert sum(settings["matched_by"].values()) == len(perception_rows)


def test_without_the_row_its_id_is_in_what_the_task_keeps(tmp_path, ability_rows):
    parts = {"qbench_acc": {"id": "12", "question_type": 2, "answer": "B"}, "submission": {"12": "B"}}
    assert answer(tmp_path, sample(0, None, ["B"], **parts)).text == "B"
    row = ability_rows[3]
    doc = mmbench_doc(row) | {"prediction": "B"}
    response = answer(tmp_path, sample(3, None, ["B"], gpt_eval_score=doc, submission=doc), ask(row))
    assert (response.text, response.options) == ("B", tuple(row["options"]))
