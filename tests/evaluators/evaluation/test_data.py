import shutil
from pathlib import Path

import pytest

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.tasks import get_task


def test_a_mini_release_is_told_as_one_wherever_its_name_comes_from(tmp_path: Path) -> None:
    task, folder = get_task("mmbench/cc"), mini.release("mmbench")
    copied = Path(shutil.copytree(folder, tmp_path / "copied"))
    told = [load_data(task, data_dir=place, images="skip").is_mini for place in (folder, copied)]
    assert told == [True, False] and load_data(task, is_mini=True, images="skip").is_mini


def test_synthetic_data_come_by_our_names_alone() -> None:
    with pytest.raises(UsageError, match=r"unknown dataset 'me/photos' after 'mini:'"):
        load_data(get_task("q_bench/perception"), "mini:me/photos")
