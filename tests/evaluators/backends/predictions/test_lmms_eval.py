"""lmms-eval's sample files, written with its keys."""

import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from tests.evaluators.backends.predictions.files import ask, right_letter, vlmevalkit_row, write_jsonl

ROW = {"id": "dev-12", "question": "How sharp is it?", "options": ("Sharp", "Blurry", "In between"), "answer": "B"}


def q_bench_doc(row, number):
    """A row of Q-Bench as the Hub has it, without its image."""
    options = {f"option{place}": text for place, text in enumerate([*row["options"], "N/A", "N/A", "N/A"][:4])}
    coded = {"question_type": 2, "question_concern": 0, "correct_choice": row["answer"]}
    return {"id": str(number), "question": row["question"], **coded, **options}


def mmbench_doc(row, rotation=0):
    """A row of MMBench as the Hub has it."""
    doc = vlmevalkit_row(row, int(row["question_id"]), "", rotation)
    return {name: "nan" if value == "" else value for name, value in doc.items() if name != "prediction"}


def sample(number, doc, answer, **changes):
    return {
        "doc_id": number,
        "doc": doc,
        "target": "B",
        "filtered_resps": answer,
        "doc_hash": "0" * 64,
        "input": "How sharp is it?\nA. Sharp",
        **changes,
    }


def answer(path, *requests):
    return list(PredictionsFileBackend(path).answer(requests or [ask(ROW)]))


@pytest.mark.parametrize("response", ["B", ["B"], [["B"]]])
def test_an_answer_is_a_text_or_a_list_of_one(tmp_path, response):
    path = write_jsonl(
        tmp_path / "20260801_120000_samples_qbench_dev.jsonl", [sample(0, q_bench_doc(ROW, 12), response)]
    )
    (found,) = answer(path)
    assert (found.text, found.options) == ("B", ROW["options"])


def test_the_filtered_answer_counts(tmp_path):
    rows = [sample(0, q_bench_doc(ROW, 12), ["B"], resps=[["<think>A?</think>B"]])]
    assert answer(write_jsonl(tmp_path / "a.jsonl", rows))[0].text == "B"
    row = sample(0, q_bench_doc(ROW, 12), None, resps=[["C"]])
    del row["filtered_resps"]
    assert answer(write_jsonl(tmp_path / "b.jsonl", [row]))[0].text == "C"


def test_q_bench_is_found_whatever_its_ids_are(tmp_path, perception_rows):
    rows = [
        sample(place, q_bench_doc(row, place + 1), [right_letter(row)]) for place, row in enumerate(perception_rows)
    ]
    backend = PredictionsFileBackend(write_jsonl(tmp_path / "a.jsonl", rows[::-1]))
    responses = list(backend.answer([ask(row) for row in perception_rows]))
    assert [response.text for response in responses] == [row["answer"] for row in perception_rows]
    settings = backend.settings()
    assert settings["format"] == "lmms-eval"
    assert set(settings["matched_by"]) == {"question and options", "position"}
    assert sum(settings["matched_by"].values()) == len(perception_rows)


def test_rotated_rows_of_mmbench(tmp_path, ability_rows):
    passes = [(row, turn) for row in ability_rows[:8] for turn in range(len(row["options"]))]
    rows = [
        sample(place, mmbench_doc(row, turn), [right_letter(row, turn)]) for place, (row, turn) in enumerate(passes)
    ]
    responses = answer(write_jsonl(tmp_path / "a.jsonl", rows), *(ask(row, turn) for row, turn in passes))
    assert [response.text for response in responses] == [right_letter(row, turn) for row, turn in passes]


def test_without_the_row_its_id_is_in_what_the_task_keeps(tmp_path, ability_rows):
    kept = {
        "qbench_acc": {"id": "12", "question_type": 2, "answer": "B", "parsed_pred": "B"},
        "submission": {"12": "B"},
    }
    row = sample(0, None, ["B"], **kept)
    del row["doc"]
    assert answer(write_jsonl(tmp_path / "a.jsonl", [row]))[0].text == "B"
    asked = ability_rows[3]
    kept = mmbench_doc(asked) | {"prediction": "B"}
    row = sample(3, None, ["B"], gpt_eval_score=kept, submission=kept)
    del row["doc"]
    (found,) = answer(write_jsonl(tmp_path / "b.jsonl", [row]), ask(asked))
    assert (found.text, found.options) == ("B", tuple(asked["options"]))


@pytest.mark.parametrize("response", [[], ["A", "B"], [["A", True]], 3, None])
def test_what_is_not_one_text_names_the_row(tmp_path, response):
    path = write_jsonl(tmp_path / "a.jsonl", [sample(0, q_bench_doc(ROW, 12), response)])
    with pytest.raises(BadAnnotationError, match=r"a\.jsonl, row 1: 'filtered_resps' is .*; expected a single string"):
        PredictionsFileBackend(path)


def test_the_same_row_twice_names_both(tmp_path):
    rows = [sample(0, q_bench_doc(ROW, 12), ["B"]), sample(0, q_bench_doc(ROW, 12), ["C"])]
    with pytest.raises(BadAnnotationError, match="row 2: repeats id '12', pass 'main' of row 1"):
        PredictionsFileBackend(write_jsonl(tmp_path / "a.jsonl", rows))
