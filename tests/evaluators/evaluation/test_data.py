import shutil
from pathlib import Path

import pytest

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError
from eyechart.datasets_scripts.export import export
from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import get_task


def test_a_mini_release_is_told_as_one_wherever_its_name_comes_from(tmp_path: Path) -> None:
    task, folder = get_task("mmbench/cc"), mini.release("mmbench")
    copied = Path(shutil.copytree(folder, tmp_path / "copied"))
    told = [load_data(task, DataRequest(data_dir=place, images="skip")).is_mini for place in (folder, copied)]
    assert told == [True, False] and load_data(task, DataRequest(is_mini=True, images="skip")).is_mini


def test_synthetic_data_come_by_our_names_alone() -> None:
    with pytest.raises(UsageError, match=r"unknown dataset 'me/photos' after 'mini:'"):
        load_data(get_task("q_bench/perception"), DataRequest("mini:me/photos"))


def test_compute_takes_the_folder_of_a_release_as_data_dir_does(tmp_path: Path) -> None:
    perception, folder = evaluator("Q-Bench/perception"), shutil.copytree(mini.release("llvisionqa"), tmp_path / "real")
    for data in (folder, str(folder)):
        scores = perception.compute(lambda messages: "A", data, limit=4)
        assert (scores["n"], scores["is_mini"]) == (4, False)
    koniq = mini.release("koniq10k")
    loaded = load_data(get_task("q_bench/assessment"), DataRequest(f"koniq10k={koniq}", images="skip"))
    assert (loaded.name, loaded.source) == ("koniq10k", str(koniq))
    with pytest.raises(MissingFileError, match="none: data_dir is not an existing folder"):
        perception.compute(lambda messages: "A", str(tmp_path / "none"))
    # A folder without the release's files names them; `datasets` would make it a split "train".
    (tmp_path / "photos").mkdir()
    with pytest.raises(MissingFileError, match="photos: "):
        perception.compute(lambda messages: "A", tmp_path / "photos")


def test_compute_takes_an_exported_folder(tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    export("llvisionqa", out=folder, data_dir=mini.release("llvisionqa"))
    loaded = load_data(get_task("q_bench/perception"), DataRequest(str(folder)))
    assert len(loaded.dataset) == 180 and loaded.source == str(folder)
