from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.datasets_scripts import load_dataset

SCORES = """\
name,prompt,adj1,adj2,style,mos_quality,std_quality,mos_align,std_align\r
AttnGAN_normal_000.jpg,"a cat, sitting",,,,0.5,0.25,3.5,0.75\r
xl2.2_normal_001.jpg,statue,blurred detail,,anime style,4.25,0.5,1,0.5\r
"""
IMAGES = ["AttnGAN_normal_000.jpg", "xl2.2_normal_001.jpg"]


@pytest.mark.parametrize("place", ["", "images/", "database/"])
def test_quality_is_read_and_alignment_is_not(release_of: Callable[..., Path], place: str) -> None:
    folder = release_of({"data.csv": SCORES}, [f"{place}{image}" for image in IMAGES])
    part = load_dataset("agiqa3k", data_dir=folder, split="test")
    assert part["id"][:] == IMAGES
    assert part["quality"][:] == part["released_score"][:] == [0.5, 4.25]
    assert part["quality_std"][:] == [0.25, 0.5] and part[1]["image"].size == (10, 8)


def test_the_real_scores_are_those_of_q_benchs_list(reference: Path) -> None:
    file = str(reference / "iqa-annotations" / "agiqa3k_data.csv")
    part = load_dataset("agiqa3k", data_files=file, images="skip", split="test")
    assert len(part) == 2_982
    assert (min(part["quality"]), round(max(part["quality"]), 2)) == (0, 4.49)
    assert (round(min(part["quality_std"]), 2), round(max(part["quality_std"]), 2)) == (0.11, 1.45)
    listed = load_dataset("agiqa3k", data_files=str(reference / "q-bench-a3" / "agi.json"), images="skip")["test"]
    assert (listed["id"][:], listed["quality"][:]) == (part["id"][:], part["quality"][:])
