"""LLaVA's answers to MMBench, written with its keys, and those that it released."""

import json

import pytest

from eyechart.datasets_scripts.common.choice.rotations import rotate
from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.metrics.scoring.choices.extraction import extract_choice
from tests.evaluators.backends.predictions.files import ask, right_letter, write_jsonl


def released_row(row, text, rotation=0, **changes):
    options = list(rotate(row["options"], rotation))
    hint = f"{row['hint']}\n" if row["hint"] else ""
    lines = [f"{letter}. {option}" for letter, option in zip("ABCD", options, strict=False)]
    return {
        "question_id": int(row["question_id"]),
        "round_id": rotation,
        "prompt": "\n".join([f"{hint}{row['question']}", *lines]),
        "text": text,
        "options": options,
        "option_char": list("ABCD"[: len(options)]),
        "answer_id": "AJUWFZQz2Roa2dJkcsgDhg",
        "model_id": "llava-v1.5-7b",
        "metadata": {},
        **changes,
    }


def test_rounds_are_rotations(tmp_path, ability_rows):
    passes = [(row, turn) for row in ability_rows for turn in range(len(row["options"]))]
    rows = [released_row(row, right_letter(row, turn), turn) for row, turn in passes]
    backend = PredictionsFileBackend(write_jsonl(tmp_path / "a.jsonl", rows))
    responses = list(backend.answer([ask(row, turn) for row, turn in passes]))
    assert [response.text for response in responses] == [right_letter(row, turn) for row, turn in passes]
    assert backend.settings()["format"] == "llava-mmbench"


def test_letters_are_those_of_the_places_in_every_round(tmp_path, ability_rows):
    """As `--all-rounds` writes them: options and `option_char` turn with each round, the prompt's letters stay."""
    row = next(row for row in ability_rows if len(set(row["options"])) == 4)
    turned = [*row["options"][1:], row["options"][0]]
    lines = [f"{letter}. {text}" for letter, text in zip("ABCD", turned, strict=True)]
    prompt = "\n".join([row["question"], *lines])
    right = "ABCD"[turned.index(row["options"]["ABCD".index(row["answer"])])]
    released = released_row(row, right, 1, prompt=prompt, options=turned, option_char=list("BCDA"))
    path = write_jsonl(tmp_path / "a.jsonl", [released])
    (response,) = PredictionsFileBackend(path).answer([ask(row, 1)])
    assert response.error is None and list(response.options) == turned
    assert response.options["ABCD".index(response.text)] == row["options"]["ABCD".index(row["answer"])]


def test_the_question_is_checked_against_the_prompt(tmp_path, ability_rows):
    row = ability_rows[0]
    other = released_row(row, "A", prompt="What else?\nA. " + row["options"][0])
    (response,) = PredictionsFileBackend(write_jsonl(tmp_path / "a.jsonl", [other])).answer([ask(row)])
    assert isinstance(response.error, DataError)
    assert "has a different question from item 'dev-0': 'What else?'" in str(response.error)


def test_a_rotation_of_a_rotation_is_no_rotation(tmp_path, ability_rows):
    row = released_row(ability_rows[0], "A", 1, question_id=1_000_000)
    with pytest.raises(BadAnnotationError, match="row 1: index 1000000 means pass 1, but the row also has round_id"):
        PredictionsFileBackend(write_jsonl(tmp_path / "a.jsonl", [row]))


def test_released_answers(reference):
    path = reference / "mmbench-outputs" / "llava-v1.5-7b.jsonl"
    released = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    backend = PredictionsFileBackend(path)
    asked = [
        ask({"id": f"dev-{row['question_id']}", "question": row["prompt"], "options": tuple(row["options"])})
        for row in released
    ]
    responses = list(backend.answer(asked))
    assert [response.text for response in responses] == [row["text"] for row in released]
    assert backend.settings()["matched_by"] == {"names": 114}
    # LLaVA was asked for letters alone, and gives an option's letter or text in all but a few.
    read = [extract_choice(response.text, response.options) for response in responses]
    assert read.count(None) <= 2
