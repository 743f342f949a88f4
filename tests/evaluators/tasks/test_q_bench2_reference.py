"""Q-Bench2's 1,000 released dev rows, among them options that repeat and a single option, in the tasks on pairs."""

import json

import pytest

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from tests.real_pairs import released_dev_rows


@pytest.fixture(scope="module")
def rows(reference):
    return released_dev_rows(reference)


@pytest.fixture(scope="module")
def release(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("q_bench2")
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "q-bench2-a1-dev.jsonl").write_text(lines, encoding="utf-8")
    return folder


def score(task, release, tmp_path, replies, *, forced=None, **options):
    """Score one reply for each row, in their order, and those without the refusal."""
    data = load_data(get_task(task), DataRequest(split="dev", data_dir=release, images="skip"))
    lines = [{"id": id, "text": reply} for id, reply in zip(data.dataset["id"], replies, strict=True)]
    if forced is not None:
        ids = data.dataset["id"]
        lines += [{"id": id, "pass": "forced", "text": reply} for id, reply in zip(ids, forced, strict=True)]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = evaluator(task, settings=options).run(PredictionsFileBackend(path), data)
    assert done.complete and done.left_out == []
    return done.scores


def test_every_row_is_scored(rows, release, tmp_path):
    texts = [row["correct_ans"] for row in rows]
    for replies in (texts, [row["correct_choice"] for row in rows]):
        found = score("q_bench/perception_pairs", release, tmp_path, replies)
        assert (found["n"], found["accuracy"]) == (1000, 1.0)
    always = score("q_bench/perception_pairs", release, tmp_path, ["B"] * 1000)
    assert always["accuracy"] == sum(row["correct_choice"] == "B" for row in rows) / 1000
    assert always["random_guess"] == pytest.approx(sum(1 / len(row["candidates"]) for row in rows) / 1000)
    # Shuffled as well, a text names its option wherever it stands.
    assert score("q_bench/perception_pairs", release, tmp_path, texts, shuffle_seed=3)["accuracy"] == 1.0


def test_a_letter_of_the_same_text_at_another_place_is_wrong(rows, release, tmp_path):
    row = next(number for number, row in enumerate(rows) if row["candidates"] == ["No", "No"])
    replies = [row["correct_choice"] for row in rows]
    assert (row, replies[row]) == (872, "B")
    replies[row] = "A"
    assert score("q_bench/perception_pairs", release, tmp_path, replies)["accuracy"] == 0.999


def test_released_answers_are_read(reference, rows, release, tmp_path):
    known = json.loads((reference / "qbench2-outputs" / "gpt.json").read_text(encoding="utf-8"))
    replies = [item["gpt_answer"] if isinstance(item["gpt_answer"], str) else "" for item in known]
    found = score("q_bench/perception_pairs", release, tmp_path, replies)
    plain = [reply.strip().rstrip(".").casefold() for reply in replies]
    right = sum(reply == row["correct_ans"].rstrip(".").casefold() for reply, row in zip(plain, rows, strict=True))
    assert found["n"] == 1000 and found["extraction"]["unmatched"] == pytest.approx(0.002)
    assert right / 1000 <= found["accuracy"] <= right / 1000 + 0.002


def test_every_row_can_be_refused(rows, release, tmp_path):
    refused = ["I don't know"] * 1000
    wrong = [next((text for text in row["candidates"] if text != row["correct_ans"]), "") for row in rows]
    with pytest.warns(UndefinedScoreWarning, match="every question was refused"):
        found = score("ql_bench/pair", release, tmp_path, refused, forced=wrong)
    # The single option and the pair of equal ones have no wrong option: these two replies are unreadable.
    assert (found["n"], found["n_refused"], found["forced_unmatched"]) == (1000, 1000, 2)
    assert found["score_rc"] == found["score_sa"] == pytest.approx(99.8)
    right = score("ql_bench/pair", release, tmp_path, [row["correct_ans"] for row in rows])
    assert (right["n"], right["score_cc"]) == (1000, 100.0)
