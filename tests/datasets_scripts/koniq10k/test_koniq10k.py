from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from eyechart.datasets_scripts import left_out, load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError

Folder = Callable[..., Path]
IMAGES = [f"{number}.jpg" for number in (1, 2, 3, 4)]
SETS = """\
image_name,c1,c2,c3,c4,c5,c_total,MOS,SD,set
1.jpg,0.0,0.0,0.25,0.5,0.25,4,75.5,0.8,training
2.jpg,1.0,0.0,0.0,0.0,0.0,4,4.5,0.0,validation
3.jpg,0.0,0.0,0.0,0.0,1.0,4,88.5,0.0,test 
4.jpg,0.5,0.5,0.0,0.0,0.0,4,12.25,0.5,training
"""
# As the file is written: quoted, with counts.
SCORES = """\
"image_name","c1","c2","c3","c4","c5","c_total","MOS","SD","MOS_zscore"
"1.jpg",0,0,1,2,1,4,4,0.8,75.5
"2.jpg",4,0,0,0,0,4,1,0,4.5
"""


def test_sets_file_gives_ratings_and_official_splits(release_of: Folder) -> None:
    folder = release_of({"koniq10k_distributions_sets.csv": SETS}, [f"1024x768/{image}" for image in IMAGES])
    parts = load_dataset("koniq10k", data_dir=folder)
    assert {split: part["id"][:] for split, part in parts.items()} == {
        "test": IMAGES,
        "official_train": ["1.jpg", "4.jpg"],
        "official_validation": ["2.jpg"],
        "official_test": ["3.jpg"],
    }
    assert parts["test"]["quality"][:] == [4.0, 1.0, 5.0, 1.5]
    row = parts["official_train"][0]
    assert row.pop("image").size == (10, 8)
    assert row == {
        "id": "1.jpg",
        "quality": 4.0,
        "quality_std": 0.8,
        "released_score": 75.5,
        "reference": None,
        "distortion_type": None,
        "distortion_level": None,
        "subset": None,
    }


def test_scores_file_gives_the_same_without_splits(release_of: Folder) -> None:
    folder = release_of({"koniq10k_scores_and_distributions.csv": SCORES}, [f"512x384/{image}" for image in IMAGES])
    parts = load_dataset("koniq10k", data_dir=folder)
    assert list(parts) == ["test"]
    assert parts["test"]["quality"][:] == [4.0, 1.0]
    assert parts["test"]["released_score"][:] == [75.5, 4.5]
    with pytest.raises(MissingFileError, match=r"no annotation file for split 'official_test'; splits found: test"):
        load_dataset("koniq10k", data_dir=folder, split="official_test")


def test_a_list_whose_ending_is_in_capitals(release_of: Folder) -> None:
    folder = release_of({"KONIQ.JSON": '[{"img_path": "1.jpg", "gt_score": "3.25 "}]'}, ["512x384/1.jpg"])
    part = load_dataset("koniq10k", data_dir=folder, data_files=str(folder / "KONIQ.JSON"), split="test")
    assert part["quality"][:] == [3.25]


def test_larger_images_are_preferred(release_of: Folder) -> None:
    images = [f"{folder}/{image}" for folder in ("1024x768", "512x384") for image in IMAGES[:2]]
    folder = release_of({"koniq10k_scores_and_distributions.csv": SCORES}, images)
    with (folder / "1024x768" / "1.jpg").open("rb") as file:
        larger = file.read()
    exported = load_dataset("koniq10k", data_dir=folder, split="test").with_format("arrow")[0]["image"][0].as_py()
    assert Path(exported["path"]).read_bytes() == larger


def test_unknown_sets_are_bad_rows_of_every_split(release_of: Folder) -> None:
    folder = release_of(
        {"koniq10k_distributions_sets.csv": SETS.replace("4,12.25,0.5,training", "4,12.25,0.5,trainig")}
    )
    with pytest.raises(BadAnnotationError, match=r"row 5: unknown set 'trainig'; did you mean 'training'"):
        load_dataset("koniq10k", data_dir=folder, images="skip")
    parts = load_dataset("koniq10k", data_dir=folder, images="skip", skip_bad=True)
    assert parts["official_train"]["id"][:] == ["1.jpg"]
    assert {(item["split"], item["id"]) for item in left_out(parts)} == {(split, "5") for split in parts}


def test_ratings_must_be_there(release_of: Folder) -> None:
    folder = release_of({"koniq10k_distributions_sets.csv": SETS.replace("1.0,0.0,0.0,0.0,0.0,4", "0,0,0,0,0,0")})
    with pytest.raises(BadAnnotationError, match=r"row 3: fields c1, c2, c3, c4, c5 must be counts of ratings"):
        load_dataset("koniq10k", data_dir=folder, images="skip")


def test_the_real_scores(reference: Path) -> None:
    file = reference / "iqa-annotations" / "koniq10k_distributions_sets.csv"
    parts = load_dataset("koniq10k", data_files=str(file), images="skip")
    assert {split: len(part) for split, part in parts.items()} == {
        "test": 10_073,
        "official_train": 7_058,
        "official_validation": 1_000,
        "official_test": 2_015,
    }
    ids = [set(parts[split]["id"]) for split in list(parts)[1:]]
    assert set.union(*ids) == set(parts["test"]["id"]) and sum(map(len, ids)) == 10_073
    quality, released = np.array(parts["test"]["quality"]), np.array(parts["test"]["released_score"])
    assert (round(quality.min(), 2), round(quality.max(), 2)) == (1.10, 4.31)
    assert (round(released.min(), 1), round(released.max(), 1)) == (3.9, 88.4)
    assert round(spearmanr(quality, released).statistic, 3) == 0.992


def test_the_real_list_is_the_mean_rating_rounded(reference: Path) -> None:
    listed = load_dataset("koniq10k", data_files=str(reference / "q-bench-a3" / "koniq.json"), images="skip")["test"]
    file = reference / "iqa-annotations" / "koniq10k_distributions_sets.csv"
    official = load_dataset("koniq10k", data_files=str(file), images="skip", split="test")
    assert listed["id"][:] == official["id"][:]
    assert np.abs(np.array(listed["quality"]) - np.array(official["quality"])).max() < 0.005 + 1e-9


@pytest.mark.parametrize("column", ["image", "img_path"])
def test_the_image_may_be_in_another_column(release_of: Folder, column: str) -> None:
    """Of the official files, with their ratings and sets, and of lists that hold a score alone."""
    folder = release_of({"koniq10k_distributions_sets.csv": SETS.replace("image_name", column, 1)})
    parts = load_dataset("koniq10k", data_dir=folder, images="skip")
    assert [len(part) for part in parts.values()] == [4, 2, 1, 1] and parts["test"]["quality"][:] == [4, 1, 5, 1.5]
    for name, content in {
        "mos.csv": f"{column},MOS\n1.jpg,3.25\n",
        "list.csv": f"{column},mos\n1.jpg,3.25\n",
        "ratings.csv": f"{column},c1,c2,c3,c4,c5,MOS\n1.jpg,0,0,3,1,0,77.5\n",
        "koniq.json": f'[{{"{column}": "1.jpg", "gt_score": "3.25 "}}]',
        "own.json": f'[{{"{column}": "1.jpg", "MOS": 3.25}}]',
    }.items():
        (folder / name).write_text(content, encoding="utf-8")
        part = load_dataset("koniq10k", data_files=str(folder / name), images="skip", split="test")
        assert (part["id"][:], part["quality"][:]) == (["1.jpg"], [3.25]), name
