import datetime
import json

import pytest

from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.build import build
from tests.hub_cards.leaderboard.handed_in import board_named, hand_in, put, result_on

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
PERCEPTION, MMBENCH, SPAQ, CHINESE = map(
    board_named, ("q_bench/perception", "mmbench/en", "q_bench/assessment/spaq", "mmbench/cn")
)


@pytest.fixture
def overview(tmp_path):
    """Builds the Space from entries in `tmp_path / "in"`, and gives what the first view reads."""

    def run():
        build(tmp_path / "in", tmp_path / "space", NOW)
        return json.loads((tmp_path / "space" / "results" / "overview.json").read_text())

    return run


def with_chance(result, chance):
    result["scores"]["random_guess"] = chance
    return result


def test_without_entries_each_benchmark_has_one_board(tmp_path, overview):
    (tmp_path / "in").mkdir()
    found = overview()
    assert [column["benchmark"] for column in found["columns"]] == list(
        dict.fromkeys(board.benchmark for board in BOARDS)
    )
    assert found["rows"] == [] and found["others"] == {}


def test_a_model_stands_once_with_a_cell_for_each_benchmark_that_it_has(tmp_path, overview):
    hand_in(tmp_path / "in", "a", [result_on(PERCEPTION, "org/a", 0.6)], "2026-04-01T00:00:00+00:00")
    later = result_on(MMBENCH, "org/a", 0.7)
    put(later["settings"], ("model", "parameters"), 7)
    hand_in(tmp_path / "in", "b", [later])
    found = overview()
    assert found["rows"] == [
        {
            "model": "org/a",
            "cells": [[0.6, 0.58, 0.62], [0.7, 0.68, 0.72]],
            "is_on_hub": True,
            "parameters": 7,
            "started": "2026-05-01",
        }
    ]


def test_a_model_on_another_board_of_a_benchmark_stands_with_its_name(tmp_path, overview):
    both = [result_on(MMBENCH, "org/both", 0.7), result_on(CHINESE, "org/both", 0.9)]
    hand_in(tmp_path / "in", "both", both)
    hand_in(tmp_path / "in", "other", [result_on(CHINESE, "org/other", 0.6), result_on(SPAQ, "org/other", 0.8)])
    found = overview()
    assert [column["board"] for column in found["columns"]] == ["q_bench/perception", "mmbench/en"]
    assert [row["cells"] for row in found["rows"]] == [
        [None, [0.7, 0.68, 0.72]],
        [[0.8, 0.78, 0.82, "q_bench/assessment/spaq"], [0.6, 0.58, 0.62, "mmbench/cn"]],
    ]
    assert {name: board["title"] for name, board in found["others"].items()} == {
        "q_bench/assessment/spaq": "A3, SPAQ",
        "mmbench/cn": "Chinese",
    }


def test_the_chance_level_is_that_of_the_entries_else_that_of_the_score_or_paper(tmp_path, overview):
    (tmp_path / "in").mkdir()
    papers = {column["board"]: column["chance"] for column in overview()["columns"]}
    for name, chance in (("a", 0.27), ("b", 0.27), ("c", 0.9)):
        hand_in(tmp_path / "in", name, [with_chance(result_on(MMBENCH, f"org/{name}"), chance)])
    chances = papers | {column["board"]: column["chance"] for column in overview()["columns"]}
    # Q-Bench prints 37.80 in Table 7, AesBench 35.02 in Table 2; a self-awareness score has no chance level.
    assert chances == {
        "q_bench/perception": 0.378,
        "mmbench/en": 0.27,
        "ql_bench/single": None,
        "aes_bench/perception": 0.3502,
        "two_afc/coarse": 0.25,
    }
