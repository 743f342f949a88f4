import json
import re

import pytest

from eyechart.datasets_scripts import load_dataset, options_in_force
from eyechart.datasets_scripts.official import official_counts
from eyechart.evaluators import evaluator
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.hub_cards.leaderboard.boards import BOARDS, find_board
from eyechart.hub_cards.leaderboard.columns import look_up


def named(boards):
    return [pytest.param(board, id=board.name) for board in boards]


def test_every_task_has_a_board_and_every_board_its_own_name():
    assert {board.task for board in BOARDS} == {task.name for task in TASKS}
    assert len({board.name for board in BOARDS}) == len(BOARDS)
    assert len({(board.task, board.dataset, board.split) for board in BOARDS}) == len(BOARDS)


def test_without_a_board_of_the_split_the_first_is_found_and_refuses_the_result():
    assert find_board("mmbench/en_v11", "mmbench", "test").name == "mmbench/en_v11_test"
    assert find_board("mmbench/en", "mmbench", "test").split == "dev" == find_board("mmbench/en_v11", "mmbench").split
    assert find_board("mmbench/en_v11", "koniq10k", "test") is None


@pytest.mark.parametrize("board", named(board for board in BOARDS if board.dataset == "mmbench"))
def test_boards_of_mmbench_say_since_when_their_answers_are_public(board):
    version = "2026" if board.split == "test" else "April 2024" if "v11" in board.name else "(October )?2023"
    assert re.match(rf"The {board.split} answers are public since {version}: later models may", board.note)


@pytest.mark.parametrize("board", named(BOARDS))
def test_its_columns_have_names_of_their_own_and_the_first_is_of_everything(board):
    names = [column.name for column in board.columns]
    assert len(set(names)) == len(names)
    assert not board.main.part


@pytest.mark.parametrize("board", named(board for board in BOARDS if board.dataset != "average"))
def test_a_run_with_no_options_has_the_settings_of_the_board(board):
    task = get_task(board.task)
    assert board.dataset in task.subsets and board.split in task.splits
    assert find_board(board.task, board.dataset, board.split) is board
    data = {"config": task.config, "options": options_in_force(board.dataset, task.config), "is_mini": False}
    made = {**evaluator(board.task).settings(), "limit": None, "data": data}
    if board.task == "q_bench/assessment":
        # Told by the answers: logits have these, scores made elsewhere do not.
        made = {"temperature": 100.0, "ties": "exact", **made}
    if board.dataset == "mmbench":
        # Told by the data: whether the release holds passes.
        made["passes"] = "release"
    if board.task == "two_afc/coarse":
        # Told by the data: opinion scores where LICQA's lists are there.
        made["mm21_quality"] = "opinion score"
    made = json.loads(json.dumps(made))
    for name, allowed in board.settings.items():
        assert look_up(made, name.split(".")) == allowed[0], name


@pytest.mark.parametrize("board", named(board for board in BOARDS if board.dataset != "average"))
def test_its_number_of_items_is_that_of_the_present_release(board):
    (config,) = board.settings.get("data.config", (None,))
    assert board.items == next(iter(official_counts(board.dataset, config, board.split)), None)


def test_the_average_is_of_the_tasks_own_databases():
    board = find_board("q_bench/assessment", "average")
    assert board.settings["databases"] == (list(get_task("q_bench/assessment").runs_on),)
    assert board.items == sum(find_board(board.task, name).items for name in board.settings["databases"][0])


@pytest.mark.parametrize("config", ["coarse", "fine_levels", "fine_types", "fine_mos"])
def test_pairs_are_as_many_as_the_authors_lists_give(config, reference):
    data = load_dataset("two_afc", config, split="test", data_dir=reference / "two-afc", images="skip")
    assert find_board(f"two_afc/{config}", "two_afc").items == sum(pool != "mixed" for pool in data["pool"])
