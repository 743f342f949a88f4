"""Descriptions on judges whose scores are known."""

import pytest

from eyechart.evaluators.runs.table import score_table
from tests.evaluators import running
from tests.evaluators.running import notes
from tests.evaluators.table_rows import table_rows

DIMENSIONS = ("completeness", "preciseness", "relevance")
GOLDEN = ["The image is dark and noisy.", "A sharp image with vivid colors.", "It is blurry.", ""]


@pytest.fixture
def described(make_picture):
    """Four pictures, three with a golden text."""
    rows = ({"id": f"d{i}", "image": make_picture(i), "description": text} for i, text in enumerate(GOLDEN))
    return running.dataset(rows)


def run(dataset, model=lambda messages: "It is dark.", **given):
    return running.run("q_bench/description", model, dataset, **given)


def test_a_row_without_a_golden_text_is_asked_and_kept_but_not_scored(described):
    result = run(described)
    assert result.scores["n"] == 3 and result.scores["without_reference"] == 0
    assert [(item.id, item.reason) for item in result.left_out] == [("d3", "its answer is private")]
    assert [line.text for line in result.items] == ["It is dark."] * 4
    assert [line.label for line in result.items] == [*GOLDEN[:3], None]


def test_judged_scores_go_to_the_rows_that_they_are_of(described):
    """The second row's rounds fail in one dimension; the first has no golden text."""

    def judge(messages, n):
        told = str(messages)
        if "vivid" in told:
            return ["nothing to say"] * n
        return ["Score: 2"] * n if "blurry" in told else ["Score: 0"] * n

    golden = ["", GOLDEN[1], GOLDEN[2], GOLDEN[0]]
    result = run(described.remove_columns("description").add_column("description", golden), judge=judge, rounds=2)
    scores = [tuple(getattr(item, name) for name in DIMENSIONS) for item in result.items]
    assert scores == [(None, None, None), (None, None, 0.0), (2.0, 2.0, 0.0), (0.0, 0.0, 0.0)], (
        "relevance is judged without the golden text"
    )


def test_texts_that_a_judge_could_not_score_are_told(described):
    replies = iter(["nonsense"])
    result = run(described, judge=lambda messages, n: [next(replies, "Score: 1")] * n)
    assert (result.scores["unscored"], result.scores["failed_rounds"]) == (1, 5)
    failed = notes(result)["judge_failed"]
    assert [failed[key] for key in ("failed", "rounds", "without_score", "asked")] == [5, 45, 1, None]
    assert not result.complete


def test_rounds_reach_the_judge_and_the_table_shows_sum_and_dimensions(described):
    asked = []

    def judge(messages, n):
        asked.append(messages[-1]["content"])
        return ["Score: 1"] * n

    result = run(described, judge=judge, rounds=3)
    assert (result.scores["rounds"], result.scores["failed_rounds"], result.scores["template"]) == (3, 0, "q_bench")
    assert result.settings["judge"] == {"name": "judge"} and len(asked) == 9
    # Relevance is judged without the golden text.
    assert sum("vivid" in text for text in asked) == 2
    rows = {row["score"]: (row["value"], row["n"]) for row in table_rows(score_table([result]))}
    assert rows["sum (0 to 6)"] == ("3.000", "3")
    assert rows["  completeness"] == rows["  preciseness"] == rows["  relevance"] == ("1.000", "3")
