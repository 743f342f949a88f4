"""What is particular to one image quality database: its files, its scale, what its file names say, its real lists."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from scipy.io import savemat
from scipy.stats import spearmanr

from eyechart.datasets_scripts import left_out, load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.official import official_counts

Folder = Callable[..., Path]
AGIQA = """\
name,prompt,adj1,adj2,style,mos_quality,std_quality,mos_align,std_align\r
AttnGAN_normal_000.jpg,"a cat, sitting",,,,0.5,0.25,3.5,0.75\r
xl2.2_normal_001.jpg,statue,blurred detail,,anime style,4.25,0.5,1,0.5\r
"""
KADID = "dist_img,ref_img,dmos,var\nI01_01_01.png,I01.png,4.57,0.496\nI01_01_02.png,I01.png,4.33,0.869\n"
KADIS = "image,mos\ntree_01_01.png,90.5\na_01_b_25_05.bmp, 8.25 \nplain_1_5.png,70\n"
LIVE_FB = "name,mos\r\nvoc_emotic_ava/AVA__1.jpg,75.5\r\nblur_dataset/motion1.jpg,60\r\nEE371R/rq1.jpg,0.0\r\n"
LICQA = {
    "train.csv": "source/00084.png,FactMSE/00084_1.png,0.200,35.493\nsource/00084.png,FactMSE/00084_4.png,1.9,64.382\n",
    "val.csv": "source/IMG_1170_p1.png,HiFiC/IMG_1170_1_p1.png,0.121,40.256\n",
    "test.csv": "source/a-1.png,JPEG/a-1_2.png,0.5,47.5\n",
}
KONIQ_SETS = """\
image_name,c1,c2,c3,c4,c5,c_total,MOS,SD,set
1.jpg,0.0,0.0,0.25,0.5,0.25,4,75.5,0.8,training
2.jpg,1.0,0.0,0.0,0.0,0.0,4,4.5,0.0,validation
3.jpg,0.0,0.0,0.0,0.0,1.0,4,88.5,0.0,test\x20
4.jpg,0.5,0.5,0.0,0.0,0.0,4,12.25,0.5,training
"""
# As the file is written: quoted, with counts.
KONIQ_SCORES = """\
"image_name","c1","c2","c3","c4","c5","c_total","MOS","SD","MOS_zscore"
"1.jpg",0,0,1,2,1,4,4,0.8,75.5
"2.jpg",4,0,0,0,0,4,1,0,4.5
"""
CSIQ_ROWS: list[list[Any]] = [
    [1600, 1, "noise", 1, 0.0625, 0.25],
    ["Swarm", 3, "jpeg 2000", 5, 0.125, 1],
    ["swarm", 6, "contrast", 2, 0.0625, 0],
]
SPAQ_HEADER = ["Image name", "MOS", "Brightness", "Colorfulness", "Contrast", "Noisiness", "Sharpness"]
SPAQ_ROWS: list[list[Any]] = [["00001.jpg", 48.86, 50, 51, 52, 53, 54], ["00002.jpg", 62, 60, 61, 62, 63, 64]]
LIVE_NAMES = ["t1.bmp", "t2.bmp", "3.bmp", "4.JPG"]


def row(image: str, quality: float, std: float | None = None, released: float | None = None, *facts: Any) -> tuple:
    """A row as `rows_of` gives it; the released score is the quality if it is not said."""
    facts += (None,) * (4 - len(facts))
    return (image, quality, std, quality if released is None else released, *facts)


def rows_of(part: Any) -> list[tuple[Any, ...]]:
    """Every row without its image: name, quality, deviation, published score, reference, type, level, subset."""
    return list(zip(*(part[column] for column in part.column_names if column != "image"), strict=True))


@pytest.mark.parametrize(
    ("name", "files", "place", "expected"),
    [
        (
            "agiqa3k",
            {"data.csv": AGIQA},
            "database/",
            [row("AttnGAN_normal_000.jpg", 0.5, 0.25), row("xl2.2_normal_001.jpg", 4.25, 0.5)],
        ),
        (
            "cgiqa6k",
            {"mos.csv": "Image,MOS\ngame_0000.jpg,2.82 \nmovie_0000.jpg,4.54\n"},
            "database/",
            [
                row("game_0000.jpg", 2.82, None, 2.82, None, None, None, "game"),
                row("movie_0000.jpg", 4.54, None, 4.54, None, None, None, "movie"),
            ],
        ),
        (
            "kadid10k",
            {"kadid10k/dmos.csv": KADID},
            "kadid10k/images/",
            [
                row("I01_01_01.png", 4.57, 0.496, 4.57, "I01", "Gaussian blur", 1),
                row("I01_01_02.png", 4.33, 0.869, 4.33, "I01", "Gaussian blur", 2),
            ],
        ),
        (
            "kadis700k",
            {"mos.csv": KADIS},
            "images/",
            [
                row("tree_01_01.png", 90.5, None, 90.5, "tree", "Gaussian blur", 1),
                row("a_01_b_25_05.bmp", 8.25, None, 8.25, "a_01_b", "contrast change", 5),
                row("plain_1_5.png", 70),
            ],
        ),
        (
            "live_fb",
            {"database/labels_image.csv": LIVE_FB},
            "database/",
            [row("voc_emotic_ava/AVA__1.jpg", 75.5), row("blur_dataset/motion1.jpg", 60), row("EE371R/rq1.jpg", 0)],
        ),
        (
            # The fourth column is the score, not the bitrate; the lowest rate is the highest level; HiFiC has three.
            "mm21",
            {f"train_files/exp1/{name}": text for name, text in LICQA.items()},
            "",
            [
                row("FactMSE/00084_1.png", 35.493, None, 35.493, "00084", "FactMSE", 4),
                row("FactMSE/00084_4.png", 64.382, None, 64.382, "00084", "FactMSE", 1),
                row("HiFiC/IMG_1170_1_p1.png", 40.256, None, 40.256, "IMG_1170_p1", "HiFiC", 3),
                row("JPEG/a-1_2.png", 47.5, None, 47.5, "a-1", "JPEG", 3),
            ],
        ),
        (
            "koniq10k",
            {"koniq10k_scores_and_distributions.csv": KONIQ_SCORES},
            "512x384/",
            [row("1.jpg", 4, 0.8, 75.5), row("2.jpg", 1, 0, 4.5)],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_text_releases(
    release_of: Folder, name: str, files: dict[str, str], place: str, expected: list[tuple[Any, ...]]
) -> None:
    folder = release_of(files, [f"{place}{image}" for image, *_ in expected])
    parts = load_dataset(name, data_dir=folder)
    assert list(parts) == ["test"] and rows_of(parts["test"]) == expected
    assert {image.size for image in parts["test"]["image"]} == {(10, 8)}


def test_configurations_of_cgiqa_are_its_parts(release_of: Folder) -> None:
    scores = "Image,MOS\ngame_0000.jpg,2.82\ngame_0001.jpg,2.6\nmovie_0000.jpg,4.54\n"
    folder = release_of({"mos.csv": scores})
    for config, count in (("all", 3), ("game", 2), ("movie", 1)):
        assert len(load_dataset("cgiqa6k", config, data_dir=folder, images="skip", split="test")) == count
    folder = release_of({"mos.csv": scores.replace("game_0001", "games0001")})
    for config in ("all", "movie"):
        with pytest.raises(BadAnnotationError, match=r"row 3: image name 'games0001\.jpg' must begin with game_ or"):
            load_dataset("cgiqa6k", config, data_dir=folder, images="skip")


def test_koniqs_sets_are_its_official_splits(release_of: Folder) -> None:
    images = [f"{folder}/{number}.jpg" for folder in ("512x384", "1024x768") for number in range(1, 5)]
    folder = release_of({"koniq10k_distributions_sets.csv": KONIQ_SETS}, images)
    parts = load_dataset("koniq10k", data_dir=folder)
    assert {split: part["id"][:] for split, part in parts.items()} == {
        "test": ["1.jpg", "2.jpg", "3.jpg", "4.jpg"],
        "official_train": ["1.jpg", "4.jpg"],
        "official_validation": ["2.jpg"],
        "official_test": ["3.jpg"],
    }
    assert parts["test"]["quality"][:] == [4.0, 1.0, 5.0, 1.5]
    assert rows_of(parts["official_train"])[0] == ("1.jpg", 4.0, 0.8, 75.5, None, None, None, None)
    # Larger images are preferred.
    exported = parts["test"].with_format("arrow")[0]["image"][0].as_py()
    assert Path(exported["path"]).read_bytes() == (folder / "1024x768" / "1.jpg").read_bytes()
    bad = KONIQ_SETS.replace("12.25,0.5,training", "12.25,0.5,trainig")
    folder = release_of({"koniq10k_distributions_sets.csv": bad})
    with pytest.raises(BadAnnotationError, match=r"row 5: unknown set 'trainig'; did you mean 'training'"):
        load_dataset("koniq10k", data_dir=folder, images="skip")
    parts = load_dataset("koniq10k", data_dir=folder, images="skip", skip_bad=True)
    assert parts["official_train"]["id"][:] == ["1.jpg"]
    assert {(item["split"], item["id"]) for item in left_out(parts)} == {(split, "5") for split in parts}


def workbook(folder: Path, name: str, lines: list[list[Any]]) -> Path:
    """Write a workbook in the layout of CSIQ or SPAQ, and return the release's folder."""
    book = openpyxl.Workbook()
    file = "csiq.DMOS.xlsx" if name == "csiq" else "Annotations/MOS and Image attribute scores.xlsx"
    table = book.create_sheet("all_by_image") if name == "csiq" else book.active
    for line in lines:
        table.append(line)
    (folder / name / file).parent.mkdir(parents=True, exist_ok=True)
    book.save(folder / name / file)
    return folder / name


def csiq(folder: Path, rows: list[list[Any]], column: str = "image") -> Path:
    header = [None, None, None, column, "dst_idx", "dst_type", "dst_lev", "dmos_std", "dmos"]
    return workbook(folder, "csiq", [["CSIQ"], [], [], header, *([None, None, None, *row] for row in rows)])


def test_csiqs_workbook_is_turned_to_higher_is_better(tmp_path: Path, write_image: Callable[..., None]) -> None:
    expected = [
        ("1600.AWGN.1.png", 0.75, 0.0625, 0.25, "1600", "white noise", 1, None),
        ("swarm.jpeg2000.5.png", 0.0, 0.125, 1.0, "swarm", "JPEG2000 compression", 5, None),
        ("swarm.contrast.2.png", 1.0, 0.0625, 0.0, "swarm", "contrast decrement", 2, None),
    ]
    for column in ("image", "img_path"):
        folder = csiq(tmp_path, CSIQ_ROWS, column)
        for image, *_ in expected:
            write_image(folder / "dst_imgs" / image.split(".")[1].lower() / image)
        part = load_dataset("csiq", data_dir=folder, split="test")
        assert rows_of(part) == expected and {image.size for image in part["image"]} == {(10, 8)}


def test_spaqs_workbook(tmp_path: Path, write_image: Callable[..., None]) -> None:
    folder = workbook(tmp_path, "spaq", [SPAQ_HEADER, *SPAQ_ROWS])
    for name, *_ in SPAQ_ROWS:
        write_image(folder / "TestImage" / name)
    part = load_dataset("spaq", data_dir=folder, split="test")
    assert [row[:4] for row in rows_of(part)] == [("00001.jpg", 48.86, None, 48.86), ("00002.jpg", 62, None, 62)]
    assert part[0]["image"].size == (10, 8)


@pytest.mark.parametrize(
    ("name", "content", "quality"),
    [
        ("csiq", "image,dmos\na.AWGN.1.png,0.25\n", 0.75),
        ("csiq", "img_path,gt_score\na.AWGN.1.png,0.25\n", 0.75),
        ("csiq", '[{"img_path": "a.AWGN.1.png", "gt_score": "0.250"}]', 0.75),
        # Only mos is no DMOS.
        ("csiq", "image,mos\na.AWGN.1.png,0.25\n", 0.25),
        ("spaq", "img_path,MOS,Brightness\na.AWGN.1.png,48.5,1\n", 48.5),
        ("koniq10k", "image,c1,c2,c3,c4,c5,SD,MOS\na.AWGN.1.png,0,0,3,1,0,0.5,77.5\n", 3.25),
    ],
)
def test_lists_derived_from_official_files(tmp_path: Path, name: str, content: str, quality: float) -> None:
    file = tmp_path / ("list.JSON" if content.startswith("[") else "list.csv")
    file.write_text(content, encoding="utf-8")
    part = load_dataset(name, data_files=str(file), images="skip", split="test")
    assert (part["id"][:], part["quality"][:]) == (["a.AWGN.1.png"], [quality])


def test_bad_cells_name_the_sheets_row(tmp_path: Path) -> None:
    rows = [CSIQ_ROWS[0], ["swarm", 3, None, 5, 0.1, 1], [None, 3, "blur", 5, 0.1, 1], ["a", 1, "blur", 1, 0.1, "x"]]
    folder = csiq(tmp_path, rows)
    with pytest.raises(BadAnnotationError, match=r"\.xlsx, row 6: .*must not be empty, found \['swarm', None, 5\]"):
        load_dataset("csiq", data_dir=folder, images="skip")
    part = load_dataset("csiq", data_dir=folder, split="test", skip_bad=True, images="skip")
    assert [item["id"] for item in left_out(part)] == ["6", "7", "8"]


@pytest.fixture
def live(tmp_path: Path, write_image: Callable[..., None]) -> Path:
    """A folder in LIVE-itw's layout."""
    folder = tmp_path / "ChallengeDB_release"
    (folder / "Data").mkdir(parents=True)
    cells = np.empty((len(LIVE_NAMES), 1), object)
    cells[:, 0] = LIVE_NAMES
    columns = {
        "AllImages": cells,
        "AllMOS": np.array([[60.5, 25, 50, 33.25]]),
        "AllStdDev": np.array([[10.5, 11, 12, 13]]),
    }
    for name, values in columns.items():
        savemat(folder / "Data" / f"{name}_release.mat", {f"{name}_release": values})
    for name in LIVE_NAMES:
        write_image(folder / ("Images/trainingImages" if name.startswith("t") else "Images") / name)
    return folder


def test_live_itw_with_and_without_training_images(live: Path) -> None:
    part = load_dataset("live_itw", data_dir=live, split="test")
    assert part["id"][:] == LIVE_NAMES
    assert part["quality"][:] == part["released_score"][:] == [60.5, 25.0, 50.0, 33.25]
    assert part["quality_std"][:] == [10.5, 11.0, 12.0, 13.0]
    assert {image.size for image in part["image"]} == {(10, 8)}
    file = str(live / "Data" / "AllImages_release.mat")
    without = load_dataset("live_itw", "without_training", data_dir=live, data_files=file, split="test")
    assert without["id"][:] == ["3.bmp", "4.JPG"] and without["quality"][:] == [50.0, 33.25]


def test_mat_files_that_do_not_fit(live: Path) -> None:
    savemat(live / "Data" / "AllMOS_release.mat", {"AllMOS_release": [60.5, 25, 50]})
    with pytest.raises(BadAnnotationError, match=r"AllImages_release\.mat: 4 names, but 3 scores and 4 standard dev"):
        load_dataset("live_itw", data_dir=live)
    (live / "Data" / "AllStdDev_release.mat").unlink()
    with pytest.raises(MissingFileError, match=r"AllStdDev_release\.mat: the annotation file is missing"):
        load_dataset("live_itw", data_dir=live)


def test_mm21_needs_all_of_its_files(release_of: Folder) -> None:
    folder = release_of({f"train_files/exp1/{name}": LICQA[name] for name in ("train.csv", "test.csv")})
    with pytest.raises(MissingFileError, match=r"expected train_files/exp1/train\.csv\+.*, or mos\.csv\nTo get MM21"):
        load_dataset("mm21", data_dir=folder, images="skip")
    folder = release_of({f"train_files/exp1/{name}": text for name, text in LICQA.items()} | {"mos.csv": "unread"})
    (folder / "train_files/exp1/test.csv").write_text(LICQA["train.csv"], encoding="utf-8")
    with pytest.raises(BadAnnotationError, match=r"test\.csv, row 1: duplicate id 'FactMSE/00084_1\.png'"):
        load_dataset("mm21", data_dir=folder, images="skip")


LICQA_FILES = [f"iqa-annotations/licqa_exp1_{part}.csv" for part in ("train", "val", "test")]
REAL: dict[str, tuple[str, list[str], float, float]] = {
    "agiqa3k": ("agiqa3k", ["iqa-annotations/agiqa3k_data.csv"], 0, 4.49),
    "agiqa3k, Q-Bench": ("agiqa3k", ["q-bench-a3/agi.json"], 0, 4.49),
    "cgiqa6k": ("cgiqa6k", ["q-bench-a3/cgi.json"], 0.36, 4.54),
    "csiq": ("csiq", ["iqa-annotations/csiq_label.txt"], 0, 1),
    "kadid10k": ("kadid10k", ["q-bench-a3/kadid.json"], 1, 4.93),
    "koniq10k": ("koniq10k", ["iqa-annotations/koniq10k_distributions_sets.csv"], 1.33, 4.31),
    "koniq10k, Q-Bench": ("koniq10k", ["q-bench-a3/koniq.json"], 1.33, 4.31),
    "live_fb": ("live_fb", ["iqa-annotations/live_fb_labels_image.csv"], 13.03, 89.53),
    "live_itw": ("live_itw", ["q-bench-a3/livec.json"], 3.42, 92.43),
    "mm21": ("mm21", LICQA_FILES, 4.01, 80.32),
    "spaq": ("spaq", ["q-bench-a3/spaq.json"], 5.08, 94.67),
}
THINNED = ("koniq10k", "live_fb", "spaq")
"""Of the largest lists, these tests read every tenth row."""


def thinned(file: Path, folder: Path) -> Path:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".json":
        text = json.dumps(json.loads(text)[::10])
    else:
        header, *lines = text.splitlines(keepends=True)
        text = "".join([header, *lines[::10]])
    (folder / file.name).write_text(text, encoding="utf-8", newline="")
    return folder / file.name


@pytest.fixture(scope="module")
def real(reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Return a function that loads one of `REAL`, without images."""
    cache = tmp_path_factory.mktemp("real")

    def load(key: str, config: str | None = None, split: str = "test") -> Any:
        name, files, *_ = REAL[key]
        places = [reference / file for file in files]
        if name == "csiq":
            # A list of names and DMOS, separated by blanks.
            text = places[0].read_text(encoding="utf-8").replace(" ", ",")
            places = [cache / "csiq.csv"]
            places[0].write_text(f"image,dmos\n{text}", encoding="utf-8")
        elif name in THINNED:
            places = [thinned(place, cache) for place in places]
        given = {"data_files": [*map(str, places)], "images": "skip", "cache_dir": cache}
        return load_dataset(name, config, split=split, **given)

    return load


@pytest.mark.parametrize("key", REAL)
def test_real_scores(real: Callable[..., Any], key: str) -> None:
    part, (name, _, low, high) = real(key), REAL[key]
    (count,) = official_counts(name, None, "test")
    assert len(part) == (-(-count // 10) if name in THINNED else count)
    assert (round(min(part["quality"]), 2), round(max(part["quality"]), 2)) == (low, high)


def test_q_benchs_lists_have_the_official_scores(real: Callable[..., Any]) -> None:
    official, listed = real("agiqa3k"), real("agiqa3k, Q-Bench")
    assert (listed["id"][:], listed["quality"][:]) == (official["id"][:], official["quality"][:])
    official, listed = real("koniq10k"), real("koniq10k, Q-Bench")
    assert listed["id"][:] == official["id"][:]
    # The mean rating, rounded.
    assert np.abs(np.array(listed["quality"]) - np.array(official["quality"])).max() < 0.005 + 1e-9


def test_real_parts(real: Callable[..., Any], reference: Path) -> None:
    whole = real("cgiqa6k")
    for number, config in enumerate(("game", "movie")):
        half = real("cgiqa6k", config)
        assert half["id"][:] == whole["id"][3_000 * number : 3_000 * (number + 1)] and set(half["subset"]) == {config}
    assert real("live_itw", "without_training")["id"][:] == real("live_itw")["id"][7:]
    with (reference / REAL["koniq10k"][1][0]).open(encoding="utf-8", newline="") as file:
        sets = [row["set"] for row in csv.DictReader(file)]
    whole = real("koniq10k")
    ids: list[str] = []
    for split, released in (("train", "training"), ("validation", "validation"), ("test", "test")):
        assert official_counts("koniq10k", None, f"official_{split}") == (sets.count(released),)
        part = real("koniq10k", split=f"official_{split}")["id"][:]
        assert len(part) == sets[::10].count(released)
        ids += part
    assert sorted(ids) == sorted(whole["id"])
    assert round(spearmanr(whole["quality"][:], whole["released_score"][:]).statistic, 3) == 0.991


@pytest.mark.parametrize(
    ("key", "references", "types"),
    [
        ("csiq", 30, {"white noise": 150, "contrast decrement": 116, "pink noise": 150}),
        ("kadid10k", 81, {"Gaussian blur": 405, "contrast change": 405}),
        ("mm21", 129, {"HiFiC": 129 * 3, "JPEG": 129 * 4, "FRICwRNN": 129 * 4}),
    ],
)
def test_real_distortions_fall_in_quality_with_their_level(
    real: Callable[..., Any], key: str, references: int, types: dict[str, int]
) -> None:
    part = real(key)
    assert len(set(part["reference"])) == references
    assert Counter(part["distortion_type"]).items() >= types.items()
    means: dict[int, list[float]] = {}
    for quality, level in zip(part["quality"], part["distortion_level"], strict=True):
        means.setdefault(level, []).append(quality)
    ordered = [np.mean(means[level]) for level in sorted(means)]
    assert ordered == sorted(ordered, reverse=True) and len(ordered) == (4 if key == "mm21" else 5)


def test_the_levels_of_mm21_are_those_of_the_bitrates(real: Callable[..., Any], reference: Path) -> None:
    released: dict[str, tuple[str, float, float]] = {}
    for file in LICQA_FILES:
        with (reference / file).open(encoding="utf-8", newline="") as text:
            for source, image, bitrate, mos in csv.reader(text):
                released[image] = (source, float(bitrate), float(mos))
    rates: dict[tuple[str, str], dict[int, float]] = {}
    part = real("mm21")
    for row in part:
        source, bitrate, mos = released[row["id"]]
        assert (row["quality"], f"source/{row['reference']}.png") == (mos, source)
        rates.setdefault((row["reference"], row["distortion_type"]), {})[row["distortion_level"]] = bitrate
    assert all(sorted(levels, key=lambda level: -levels[level]) == sorted(levels) for levels in rates.values())
