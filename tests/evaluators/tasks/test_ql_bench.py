"""The two tasks of QL-Bench on mini data, by the command line and on a server, and on real questions."""

import pytest

from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import get_task
from tests.evaluators.tasks.doors import ran, rows_of, scored

REFUSAL = "I don't know"


def test_the_tiny_model_answers_questions_on_one_image_and_on_two(tmp_path):
    results, output = ran(tmp_path, "ql_bench/single", "ql_bench/pair", "--limit", 30)
    for result in results:
        scores = result.scores
        assert scores["n"] == 30
        assert {name for name in scores if name.startswith("by_")} == {"by_question_type", "by_concern"}
        assert scores["answer_accuracy"] > scores["random_guess"]
        assert scores["score_cc"] == pytest.approx(100 * scores["answer_rate"] * scores["answer_accuracy"])
        assert scores["score_sa"] == scores["score_cc"] + scores["score_rc"]
        assert result.split == "dev" and "private test answers" in " ".join(result.caveats)
    assert "Dev answers only" in output


@pytest.mark.parametrize(("position", "index"), [("first", 0), ("1", 1)])
def test_the_place_of_the_refusal_is_an_option_of_the_data_and_in_the_result(tmp_path, position, index):
    (result,), _ = ran(tmp_path, "ql_bench/single", "--data-arg", f"refusal_position={position}", "--limit", 12)
    assert result.settings["data"]["options"]["refusal_position"] == (index or position)
    rows = rows_of(tmp_path)
    assert {row["options"].index(REFUSAL) for row in rows if row["pass"] == "main"} == {index}
    assert all(REFUSAL not in row["options"] for row in rows if row["pass"] == "forced")


def test_answering_the_dev_questions_by_chance_gives_the_level_of_q_bench(reference, tmp_path):
    """Without the refusal the questions are those of LLVisionQA: Q-Bench, Table 7, in percent; the paper truncates."""
    folder = reference / "llvisionqa"
    rows = load_data(get_task("ql_bench/single"), DataRequest(data_dir=folder, images="skip")).dataset
    # Every third question is refused and then answered with the first option, the others are answered with it at once.
    lines = [{"id": row["id"], "text": REFUSAL if number % 3 == 0 else "A"} for number, row in enumerate(rows)]
    lines += [{"id": row["id"], "pass": "forced", "text": "A"} for row in rows.select(range(0, len(rows), 3))]
    scores = scored(tmp_path, "ql_bench/single", lines, "--data-dir", folder)[0].scores
    assert scores["n"] == 1495 and scores["n_refused"] == 499
    assert 100 * scores["random_guess"] == pytest.approx(37.80, abs=0.02)
    expected = {"yes-or-no": (550, 50.00), "what": (452, 27.86), "how": (493, 33.31)}
    for value, (count, percent) in expected.items():
        part = scores["by_question_type"][value]
        assert part["n"] == count and 100 * part["random_guess"] == pytest.approx(percent, abs=0.02)
        assert part["score_cc"] == pytest.approx(100 * part["answer_rate"] * part["answer_accuracy"])
    right = [letter == "A" for letter in rows["answer"]]
    assert scores["score_cc"] == pytest.approx(100 * sum(is_a for i, is_a in enumerate(right) if i % 3) / 1495)
    assert scores["score_rc"] == pytest.approx(100 * sum(not is_a for is_a in right[::3]) / 1495)
