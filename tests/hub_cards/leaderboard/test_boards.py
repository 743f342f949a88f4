import json
import re
from pathlib import Path

import numpy as np
import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.hub_cards.leaderboard.boards import BOARDS, find_board, own_boards
from eyechart.hub_cards.leaderboard.page_data import ranks_of
from eyechart.metrics.scores import spec
from tests.hub_cards.leaderboard.handed_in import board_named

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "opinion_scores.yaml"
DATABASES = "KonIQ-10k, SPAQ, LIVE-FB, LIVE-itw, CGIQA-6K, AGIQA-3K, KADID-10k"
PARTS = {"by type": "Yes-or-No, What, How", "by concern": "Distortion, Other, In-context Distortion, In-context Other"}
JUDGED = ["q_bench/description", "aes_bench/interpretation"]


def named(boards):
    return [pytest.param(board, id=board.name) for board in boards]


def test_every_task_has_a_board_and_every_board_its_own_name():
    assert {board.task.name for board in BOARDS} == {task.name for task in TASKS if task.title}
    assert len({board.name for board in BOARDS}) == len(BOARDS)
    assert len({(board.task.name, board.dataset, board.split) for board in BOARDS}) == len(BOARDS)
    for board in BOARDS:
        assert len({column.name for column in board.columns}) == len(board.columns) and not board.main.part
    assert {board.benchmark for board in BOARDS} == {"Q-Bench", "MMBench", "QL-Bench", "AesBench", "2AFC"}


def test_a_board_is_of_one_split_of_one_dataset():
    board = find_board("mmbench/cn_v11", "mmbench", "test")
    assert (board.name, board.title) == ("mmbench/cn_v11_test", "Chinese, version 1.1, test")
    assert board.about == "CircularEval: multiple choice on MMBench 1.1, Chinese."
    assert board_named("aes_bench/assessment").note.endswith(". NIs: natural; AIs: artistic; AGIs: AI-generated.")
    assert [board.name for board in BOARDS if "A judge gives" in board.note] == JUDGED
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
