import shutil
from pathlib import Path

from eyechart.datasets_scripts import mini
from eyechart.evaluators.data import load_data
from eyechart.evaluators.tasks import get_task


def test_a_mini_release_is_told_as_one_wherever_its_name_comes_from(tmp_path: Path) -> None:
    task, folder = get_task("mmbench/cc"), mini.release("mmbench")
    copied = Path(shutil.copytree(folder, tmp_path / "copied"))
    told = [load_data(task, data_dir=place, images="skip").is_mini for place in (folder, copied)]
    assert told == [True, False] and load_data(task, is_mini=True, images="skip").is_mini
