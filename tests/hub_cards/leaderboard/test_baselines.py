import json

import numpy as np
import pytest

from eyechart.evaluators.published import FOLDER, published_tables
from eyechart.evaluators.tasks import get_task
from eyechart.hub_cards.leaderboard.page_data import reference_rows, tables_of
from tests.evaluators.published_rows import labels_of, published_row, published_table
from tests.hub_cards.leaderboard.handed_in import board_named

FINE = [f"two_afc/fine_{part}" for part in ("levels", "types", "mos")]
TABLES = [pytest.param(table, id=name) for name, table in published_tables().items() if table.rows]


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_a_paper_is_whole(table):
    assert all(get_task(name) for name in table.tasks) and len(set(labels_of(table))) == len(table.columns)
    assert all(len(row.values) == len(table.columns) for row in table.rows)
    assert table.unit in ("percent", "score") and table.url.startswith("https://arxiv.org/abs/")
    low, high = (-40 if "minus" in str(table.columns) else 0, 100) if table.unit == "percent" else (-1, 100)
    assert all(low <= value <= high for row in table.rows for value in row.values)


@pytest.mark.parametrize(
    "table", [param.values[0] for param in TABLES if not param.values[0].set_apart], ids=lambda table: table.table
)
def test_tables_that_are_not_set_apart_are_of_the_data_of_their_board(table):
    board = board_named(table.tasks[0])
    assert table.split == board.split and table in tables_of(board)
    assert len({row.model for row in table.rows}) == len(table.rows)
    assert all(row["values"][0] is not None for row in reference_rows(table, board))


def test_tables_with_private_answers_stand_apart():
    names = {(one.tasks[0], one.table) for one in published_tables().values() if one.set_apart}
    assert {("ql_bench/single", f"Table {number}") for number in ("I", "III")} <= names
    assert {("ql_bench/pair", f"Table {number}") for number in ("II", "IV")} <= names
    assert {("q_bench/perception", "Table 2"), ("mmbench/en", "Table 3")} <= names


@pytest.mark.parametrize(
    ("board", "name", "model", "label", "value"),
    [
        ("q_bench/perception", "Table 7", "InternLM-XComposer-VL (InternLM)", "Overall", 65.35),
        ("q_bench/perception", "Table 8", "mPLUG-Owl (LLaMA-7B)", "mean", 61.25),
        ("q_bench/perception", "Table 2", "Senior-level Human", "Overall", 81.74),
        ("q_bench/perception", "Table 5", "Kosmos-2 (close-set)", "Overall", 47.26),
        ("q_bench/description", "Table 3", "LLaVA-v1.5 (Vicuna-v1.5-7B)", "Completeness score", 0.90),
        ("q_bench/assessment", "Table 4", "Otter-v1 (MPT-7B)", "LIVE-itw SRCC", -0.008),
        ("q_bench/assessment", "Table 9", "mPLUG-Owl (LLaMA-7B), argmax", "LIVE-FB PLCC", 0.123),
        ("q_bench/assessment", "Table 10", "InstructBLIP (Flan-T5-XL), good/poor", "AGIQA-3K PLCC", 0.281),
        ("mmbench/en", "Table 8", "Qwen-VL-Chat", "Overall", 60.6),
        ("mmbench/en", "Table 3", "OpenFlamingo", "RR", 3.3),
        ("ql_bench/single", "Table I", "LLaVA-Next (8B)", "What score_cc", 68.784),
        ("ql_bench/pair", "Table IV", "Gemini-1.5-Pro (Close-Source)", "How Answer Rate", 64.892),
        ("aes_bench/perception", "Table 2", "Q-Instruct", "Overall", 72.61),
        ("aes_bench/interpretation", "Table 5", "TinyGPT-V", "Overall", 0.701),
        ("two_afc/fine_mos", "Table IV", "Single subject", "Average", 0.495),
        ("two_afc/coarse", "Table II", "GPT-4V", "SPAQ \N{GREEK SMALL LETTER RHO}", 0.876),
        ("two_afc/fine_types", "Table III", "GPT-4V", "Level-4 \N{GREEK SMALL LETTER ALPHA}", 0.531),
    ],
)
def test_values_are_as_printed(board, name, model, label, value):
    assert published_row(published_table(board, name), model)[label] == value


def test_columns_that_others_add_up_to_agree_with_them():
    """What the papers' own columns say of each other, as a check of the typing."""
    for one in published_table("q_bench/description", "Table 3").rows:
        *parts, total = one.values
        for p0, p1, p2, score in (parts[i : i + 4] for i in (0, 4, 8)):
            assert p0 + p1 + p2 == pytest.approx(100, abs=0.02)
            assert (p1 + 2 * p2) / 100 == pytest.approx(score, abs=0.0101)
        assert sum(parts[3::4]) == pytest.approx(total, abs=0.0151)
    for kind, name in (("single", "Table I"), ("pair", "Table II")):
        for one in published_table(f"ql_bench/{kind}", name).rows:
            *_, cc, rc, sa = one.values
            assert cc + rc == pytest.approx(sa, abs=0.0015), one.model


@pytest.mark.parametrize(
    ("board", "name", "parts", "weights", "mean", "rounding"),
    [
        ("q_bench/perception", "Table 7", slice(3), (550, 452, 493), 7, 0.02),
        ("q_bench/perception", "Table 7", slice(3, 7), (514, 432, 304, 245), 7, 0.02),
        ("q_bench/perception", "Table 8", slice(1, 3), None, 3, 0.011),
        *[("q_bench/assessment", "Table 4", slice(i, 14, 2), None, 14 + i, 0.0016) for i in (0, 1)],
        *[("q_bench/assessment", "Table 11", slice(i, 14, 2), None, 14 + i, 0.0016) for i in (0, 1)],
        *[(board, "Table III", slice(i, -2, 2), None, i - 2, 0.0011) for board in FINE for i in (0, 1)],
        *[(board, "Table IV", slice(-1), None, -1, 0.0011) for board in FINE],
        ("aes_bench/interpretation", "Table 5", slice(3), None, 3, 0.0011),
        # AesBench's overall values depart from those of its image sources by up to 0.43, its random guesses by more.
        ("aes_bench/perception", "Table 2", slice(4, 7), (1246, 802, 752), -1, 0.43),
        ("aes_bench/empathy", "Table 3", slice(4, 7), (1246, 802, 752), -1, 0.43),
    ],
)
def test_overall_values_are_the_means_of_their_parts(board, name, parts, weights, mean, rounding):
    """Weighted by the released numbers of questions and images, or plain."""
    rows = published_table(board, name).rows
    for row in rows[1:] if board.startswith("aes_bench/") and weights else rows:
        assert np.average(row.values[parts], weights=weights) == pytest.approx(row.values[mean], abs=rounding), (
            row.model
        )


def test_answer_rate_and_accuracy_give_the_right_answers():
    for kind, right, rates in (("single", "Table I", "Table III"), ("pair", "Table II", "Table IV")):
        tables = (published_table(f"ql_bench/{kind}", name).rows for name in (right, rates))
        for one, other in zip(*tables, strict=True):
            assert one.model == other.model
            for place in range(3):
                accuracy, rate = other.values[2 * place : 2 * place + 2]
                assert accuracy * rate / 100 == pytest.approx(one.values[2 * place], abs=0.02), one.model


def test_misprints_are_corrected_and_named():
    coarse = published_table("two_afc/coarse", "Table II")
    (correction,) = coarse.corrections
    assert (correction.model, correction.printed) == ("mPLUG-Owl", "0.019")
    assert published_row(coarse, "mPLUG-Owl")[correction.column] == 0.2
    rows = reference_rows(coarse, board_named("two_afc/coarse"))
    assert [row["model"] for row in rows if row["notes"]] == ["mPLUG-Owl"]
    # The headings of two databases are exchanged in Table 11, whose good/poor rows are those of Table 4.
    ensembles, main = (published_table("q_bench/assessment", name) for name in ("Table 11", "Table 4"))
    for model in ("LLaVA-v1.5 (Vicuna-v1.5-13B)", "mPLUG-Owl (LLaMA-7B)"):
        for label in ("CGIQA-6K SRCC", "AGIQA-3K PLCC"):
            assert published_row(ensembles, f"{model}, good/poor")[label] == published_row(main, model)[label]


def test_rows_come_in_the_boards_columns_and_units():
    board = board_named("q_bench/perception")
    rows = reference_rows(published_table(board.name, "Table 7"), board)
    found = next(one for one in rows if one["model"] == "Qwen-VL (QwenLM)")
    values = dict(zip([column.name for column in board.columns], found["values"], strict=True))
    assert (values["accuracy"], values["how.accuracy"], values["yes_no.mean"]) == (0.594, 0.5639, None)
    table = published_table("q_bench/assessment", "Table 4")
    for name, values in (("spaq", [0.693, 0.669]), ("agiqa3k", [0.562, 0.517])):
        rows = {row["model"]: row["values"] for row in reference_rows(table, board_named(f"q_bench/assessment/{name}"))}
        assert rows["NIQE"] == values


def test_the_files_are_plain_json_with_one_row_a_line():
    for file in FOLDER.iterdir():
        text = file.read_text(encoding="utf-8")
        assert len(json.loads(text)["rows"]) == text.count('{"model": ') - text.count('"printed"'), file.name
