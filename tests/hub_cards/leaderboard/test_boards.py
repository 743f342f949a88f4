import datetime
import json
import re
from pathlib import Path

import numpy as np
import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.published import published_tables
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.hub_cards.leaderboard.boards import BOARDS, find_board, own_boards
from eyechart.hub_cards.leaderboard.build import misfits, score_misfits, started_at
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.hub_cards.leaderboard.page_data import ranks_of, reference_rows, tables_of
from eyechart.hub_cards.recomputing import refusals
from eyechart.metrics.scores import spec
from tests.evaluators.published_rows import labels_of, published_row, published_table
from tests.hub_cards.leaderboard.handed_in import board_named, put, result_on

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "opinion_scores.yaml"
DATABASES = "KonIQ-10k, SPAQ, LIVE-FB, LIVE-itw, CGIQA-6K, AGIQA-3K, KADID-10k"
PARTS = {"by type": "Yes-or-No, What, How", "by concern": "Distortion, Other, In-context Distortion, In-context Other"}


def named(boards):
    return [pytest.param(board, id=board.name) for board in boards]


def test_every_task_has_a_board_and_every_board_its_own_name():
    assert {board.task.name for board in BOARDS} == {task.name for task in TASKS if task.title}
    assert len({board.name for board in BOARDS}) == len(BOARDS)
    assert len({(board.task.name, board.dataset, board.split) for board in BOARDS}) == len(BOARDS)
    for board in BOARDS:
        assert len({column.name for column in board.columns}) == len(board.columns) and not board.main.part


def test_a_board_is_of_one_split_of_one_dataset():
    board = find_board("mmbench/cn_v11", "mmbench", "test")
    assert (board.name, board.title) == ("mmbench/cn_v11_test", "Chinese, version 1.1, test")
    assert find_board("mmbench/en", "mmbench", "test") is find_board("mmbench/en_v11", "koniq10k", "test") is None


def test_a_task_file_on_a_release_requires_all_its_items(tmp_path):
    file = tmp_path / "mine.py"
    task = "replace(get_task('q_bench/perception'), name='mine/perception')"
    file.write_text(f"from dataclasses import replace\nfrom eyechart.evaluators.tasks import get_task\nTASK = {task}\n")
    (board,) = own_boards([file, file])
    assert (board.items, board.run, board.title) == (1_495, "mine.py", "perception")


def test_a_board_of_own_data_has_columns_for_the_first_twenty_groups(tmp_path):
    example = EXAMPLE.read_text(encoding="utf-8")
    (file := tmp_path / "mine.yaml").write_text(example)
    (board,) = own_boards([file])
    assert (board.items, board.split, board.parts) == (None, "test", ())
    rows = [f"{camera}.png,{number},{camera}" for number, camera in enumerate(["", *"abcdefghijklmnopqrstu"])]
    (tmp_path / "my_photos.csv").write_text("\n".join(["file,mos,camera", *rows]))
    (board,) = own_boards([file])
    assert (board.items, [column.label for column in board.parts]) == (22, [*"abcdefghijklmnopqrst"])
    file.write_text(example.replace("my_photos.csv", "someone/photos"))
    with pytest.raises(UsageError, match="the split of my_photos is unknown"):
        own_boards([file])


@pytest.mark.parametrize(
    ("name", "headings"),
    [
        ("q_bench/perception", {"": "Accuracy, Balanced yes/no accuracy", **PARTS}),
        ("q_bench/assessment", {"": "SRCC, PLCC", "SRCC by database": DATABASES, "PLCC by database": DATABASES}),
        ("aes_bench/assessment", {"": "Accuracy", "by source": "NIs, AIs, AGIs"}),
    ],
)
def test_headings_are_those_of_the_papers_tables(name, headings):
    columns = board_named(name).columns
    kinds = {column.kind: [other.label for other in columns if other.kind == column.kind] for column in columns}
    assert {kind: ", ".join(labels) for kind, labels in kinds.items()} == headings


@pytest.mark.parametrize("board", named(board for board in BOARDS if board.dataset == "mmbench"))
def test_boards_of_mmbench_say_since_when_their_answers_are_public(board):
    version = "2026" if board.split == "test" else "April 2024" if "v11" in board.name else "(October )?2023"
    assert re.match(rf"The {board.split} answers have been public since {version}, so later models may", board.note)


@pytest.mark.parametrize("board", named(board for board in BOARDS if board.dataset != "average"))
def test_it_takes_the_settings_of_a_run_with_no_options(board):
    assert board.dataset in board.task.data.datasets and board.split in board.task.data.splits
    assert find_board(board.task.name, board.dataset, board.split) is board
    assert board.settings["prompt_id"] == (board.task.protocol.prompt_id,) and board.settings["sample"] == (None,)
    assert board.settings["data.config"] == (board.task.data.config,)
    assert json.loads(json.dumps(board.settings)) == {name: list(allowed) for name, allowed in board.settings.items()}
    assert not {"seed", "judge", "data.options.mm21_dir"} & board.settings.keys()


def test_the_average_is_of_the_tasks_own_databases():
    board = find_board("q_bench/assessment", "average", "test")
    assert board.settings["databases"] == (list(get_task("q_bench/assessment").data.run_on),)
    assert board.items == sum(find_board("q_bench/assessment", n, "test").items for n in board.settings["databases"][0])


@pytest.mark.parametrize("config", ["coarse", "fine_levels", "fine_types", "fine_mos"])
def test_pairs_are_as_many_as_the_authors_lists_give(config, reference):
    data = load_dataset("two_afc", config, split="test", data_dir=reference / "two-afc", images="skip")
    assert find_board(f"two_afc/{config}", "two_afc", "test").items == sum(pool != "mixed" for pool in data["pool"])


NAN = np.nan


@pytest.mark.parametrize(
    ("key", "scores", "p_values", "ranks"),
    [
        ("accuracy", [], None, []),
        ("accuracy", [0.70, 0.66, 0.66], None, [1, 2, 2]),
        # Without tests, only equal digits share a rank.
        ("accuracy", [0.5, 0.50001, 0.5001], None, [2, 2, 1]),
        ("srcc", [0.5, 0.50001, 0.5001], None, [1, 1, 1]),
        # A test tells the first two apart and not the last two; digits the first and the last.
        ("accuracy", [0.70, 0.65, 0.50], [[NAN, 0.01, NAN], [0.01, NAN, 0.2], [NAN, 0.2, NAN]], [1, 2, 2]),
    ],
)
def test_a_rank_is_one_more_than_the_number_of_significantly_better_models(key, scores, p_values, ranks):
    untested = np.full((len(scores), len(scores)), NAN)
    assert ranks_of(scores, spec(key), untested if p_values is None else np.array(p_values)) == ranks


FINE = [f"two_afc/fine_{part}" for part in ("levels", "types", "mos")]
TABLES = [pytest.param(table, id=name) for name, table in published_tables().items() if table.rows and table.paper]


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_a_paper_is_whole(table):
    assert all(get_task(name) for name in table.tasks) and len(set(labels_of(table))) == len(table.columns)
    assert all(len(row.values) == len(table.columns) for row in table.rows)
    assert table.unit in ("percent", "score") and re.match(r"https://(arxiv\.org/abs|github\.com)/", table.url)
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


def test_scores_stated_by_authors_stand_apart_on_the_board_of_their_split():
    shown = {board.name: [table.split for table in tables_of(board) if table.is_stated] for board in BOARDS}
    assert {name: splits for name, splits in shown.items() if splits} == {
        "q_bench/perception": ["dev"],
        "q_bench/assessment": ["test"],
        # The answers of version 1.0's test set are private.
        "mmbench/en": ["dev", "test"],
        "mmbench/cn": ["dev", "test"],
        "mmbench/en_v11": ["dev"],
        "mmbench/en_v11_test": ["test"],
        "mmbench/cn_v11": ["dev"],
    }


@pytest.mark.parametrize(
    ("board", "name", "model", "label", "value"),
    [
        ("q_bench/perception", "Table 2", "Senior-level Human", "Overall", 81.74),
        ("q_bench/description", "Table 3", "LLaVA-v1.5 (Vicuna-v1.5-7B)", "Completeness score", 0.90),
        ("q_bench/assessment", "Table 9", "mPLUG-Owl (LLaMA-7B), argmax", "LIVE-FB PLCC", 0.123),
        ("q_bench/assessment", "Table 10", "InstructBLIP (Flan-T5-XL), good/poor", "AGIQA-3K PLCC", 0.281),
        ("mmbench/en", "Table 8", "Qwen-VL-Chat", "Overall", 60.6),
        ("mmbench/en", "Table 3", "OpenFlamingo", "RR", 3.3),
        ("q_bench/perception", "Table 5", "Kosmos-2 (close-set)", "Overall", 47.26),
        ("ql_bench/single", "Table I", "LLaVA-Next (8B)", "What score_cc", 68.784),
        ("ql_bench/pair", "Table IV", "Gemini-1.5-Pro (Close-Source)", "How Answer Rate", 64.892),
        ("two_afc/fine_mos", "Table IV", "Single subject", "Average", 0.495),
        ("two_afc/coarse", "Table II", "GPT-4V", "SPAQ \N{GREEK SMALL LETTER RHO}", 0.876),
    ],
)
def test_values_are_as_printed(board, name, model, label, value):
    assert published_row(published_table(board, name), model)[label] == value


def test_columns_that_others_add_up_to_agree_with_them():
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


NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
LEFT_OUT = {"id": "7", "reason": "no image"}


def reasons_for(board, result):
    read = TaskResult.model_validate(result)
    row = BoardRow(board, read, None, NOW, stated="there are no predictions")
    return [*refusals(read), *misfits(board, read), *score_misfits(row)]


@pytest.mark.parametrize(
    ("board", "keys", "value", "reason"),
    [
        ("q_bench/perception", "scores", None, "no score: the answers of this split are private"),
        ("q_bench/perception", "settings.sample", {"n": 300, "of": 1495}, "repeat the run without --sample"),
        ("q_bench/perception", "settings.prompt_id", None, "settings.prompt_id is None; this board requires 'q_bench_"),
        ("q_bench/perception", "settings.max_new_tokens", 64, "this board requires 32 or 4096"),
        ("two_afc/coarse", "settings.data.options.seed", False, "options.seed is False; this board requires 0:"),
        ("q_bench/perception", "settings.data.options", {"rounds": 3}, "settings.data.options is {'rounds': 3}; the"),
        ("q_bench/perception", "scores.accuracy", None, "scores.accuracy, the ranking score, is missing or undefined"),
        ("q_bench/assessment/spaq", "settings.word_pair", "high/low", "settings.word_pair is 'high/low'"),
        ("q_bench/assessment", "settings.databases", ["spaq"], "settings.databases is ['spaq']"),
        ("q_bench/description", "settings.judge.name", "lexical", "the judge is 'lexical'"),
        ("mmbench/en", "settings.data.config", "cn", "settings.data.config is 'cn'; this board requires 'en'"),
        ("mmbench/en_v11", "scores.n_questions", 0, "at least 1 item"),
        ("mmbench/en_v11", "left_out", [LEFT_OUT, LEFT_OUT | {"id": "8"}], "2 items were left out; first: '7'"),
        ("ql_bench/single", "settings.data.options.refusal_position", "first", "this board requires 'last'"),
    ],
)
def test_what_does_not_fit_is_named_with_what_would(board, keys, value, reason):
    board = board_named(board)
    result = result_on(board, "some/model")
    put(result, tuple(keys.split(".")), value)
    reasons = reasons_for(board, result)
    assert any(reason in text for text in reasons), reasons
    assert all(len(text) < 400 for text in reasons)


def test_all_reasons_are_given_at_once():
    board = board_named("q_bench/perception")
    result = result_on(board, "\N{RIGHT-TO-LEFT OVERRIDE}ledom") | {"complete": False}
    result["settings"]["seed"], result["settings"]["repeats"] = 7, 3
    assert len(reasons_for(board, result)) == 3


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "模型", "نموذج", "O'Neil & Söhne", "e\u0301", "x" * 160])
def test_names_that_are_only_text_are_taken(name):
    board = board_named("q_bench/perception")
    assert reasons_for(board, result_on(board, name)) == []


def test_a_run_may_have_started_at_most_a_day_ahead_in_any_zone():
    assert started_at({"started": "2026-06-02T02:00:00+02:00"}, NOW) == NOW + datetime.timedelta(days=1)
    with pytest.raises(DataError):
        started_at({"started": "2026-06-02T02:00:01+02:00"}, NOW)


def test_where_the_number_of_items_is_not_known_the_board_takes_downloads_alone():
    board = board_named("mmbench/en_v11")
    result = result_on(board, "some/model")
    result["scores"]["n_questions"] = 1
    result["settings"]["data"]["source"] = "s3://data"
    reasons = reasons_for(board, result)
    assert any("settings.data.source is 's3://data'; this board requires" in reason for reason in reasons)
