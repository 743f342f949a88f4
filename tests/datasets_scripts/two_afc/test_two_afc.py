"""Pairs of two_afc: from the authors' labels, and drawn anew from quality databases."""

import csv
import json
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.datasets_scripts import DATASETS, left_out, load_dataset, mini
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, MissingImagesError, UsageError
from eyechart.datasets_scripts.common.pairs import draw_coarse, draw_intervals, draw_references, draw_rounds
from eyechart.datasets_scripts.two_afc import two_afc as script

Write = Callable[..., Path]
SIZES = {
    "kadid10k": 81,
    "koniq10k": 160,
    "MM21": 129,
    "CSIQ": 30,
    "LIVEC": 100,
    "spaq": 160,
    "kadis700k": 100,
    "SQAD": 100,
    "mixed": 200,
}
"""Images of the coarse pools: Table I of the paper, with what the label file holds where the table is garbled."""


def label(name: str, score: Any = "1.5", **others: Any) -> dict[str, Any]:
    return {"img_path": name, "gt_score": score, **others}


LABELS = {
    "kadid10k": [label(f"kadid10k/images/{n}.png", f"{n}.5 ", ref_path="images/I.png") for n in range(4)],
    "CSIQ": [label(f"CSIQ/{n}.png", f"0.{n}00") for n in range(3)],
    "kadis700k": [label(f"kadis700k/{n}.bmp", f"{10 * n}") for n in range(3)],
    "SQAD": [label(f"SQAD/{n}.png", 50.0 + n) for n in range(4)],
}


@pytest.fixture
def two_afc(tmp_path: Path, write_image: Callable[..., None]) -> Write:
    """Return a function that writes a coarse label file and its images."""

    def write(labels: Any = LABELS) -> Path:
        folder = tmp_path / "two_afc"
        folder.mkdir(exist_ok=True)
        (folder / "Coarse_grained_mixed.json").write_text(json.dumps(labels), encoding="utf-8")
        for seed, name in enumerate(image["img_path"] for images in LABELS.values() for image in images):
            write_image(folder / name, seed)
        return folder

    return write


def load(folder: Path, config: str = "coarse", **arguments: Any) -> datasets.Dataset:
    return load_dataset("two_afc", config, split="test", data_dir=folder, **arguments)


def by_round(part: Any) -> dict[tuple[str, int], list[Mapping[str, Any]]]:
    rounds = defaultdict(list)
    for row in part.remove_columns("images").to_list():
        rounds[row["pool"], row["round"]].append(row)
    return rounds


def members(part: Any) -> dict[str, dict[str, float]]:
    """Return every pool's images with their qualities."""
    pools: dict[str, dict[str, float]] = defaultdict(dict)
    for row in part.remove_columns("images").to_list():
        for place in ("first", "second"):
            pools[row["pool"]][row[f"{place}_id"]] = row[f"{place}_quality"]
    return dict(pools)


def check_matchings(part: Any, sizes: Mapping[str, int], rounds: int = 12) -> None:
    """Check that every round is a perfect matching of its pool."""
    found = by_round(part)
    assert Counter(pool for pool, _ in found) == dict.fromkeys(sizes, rounds)
    for (pool, _), rows in found.items():
        met = [row[f"{place}_id"] for row in rows for place in ("first", "second")]
        assert len(rows) == sizes[pool] // 2 and len(set(met)) == len(met)


def test_a_row_of_each_kind_of_score(two_afc: Write) -> None:
    folder = two_afc()
    part = load(folder, options={"pairing": "released", "rounds": 1})
    assert part["id"][:3] == ["kadid10k-00-000", "kadid10k-00-001", "CSIQ-00-000"]
    row = part[2]
    # Three images: NumPy's legacy shuffle of round 0 gives 0 1 2.
    first, second = 0, 1
    assert [image.size for image in row.pop("images")] == [(10, 8), (10, 8)]
    stored = part.cast_column("images", datasets.Sequence(datasets.Image(decode=False)))[2]["images"]
    assert [image["path"] for image in stored] == [str(folder / row["first_id"]), str(folder / row["second_id"])]
    assert row == {
        "id": "CSIQ-00-000",
        "first_id": f"CSIQ/{first}.png",
        "second_id": f"CSIQ/{second}.png",
        "first_quality": 1 - first / 10,
        "second_quality": 1 - second / 10,
        "first_released_score": first / 10,
        "second_released_score": second / 10,
        "database": "CSIQ",
        "pool": "CSIQ",
        "round": 0,
    }


def test_kadis_and_sqad_are_also_ranked_as_one_pool(two_afc: Write) -> None:
    part = load(two_afc())
    check_matchings(part, {"kadid10k": 4, "CSIQ": 3, "kadis700k": 3, "SQAD": 4, "mixed": 7})
    pools = members(part)
    assert pools["mixed"] == pools["kadis700k"] | pools["SQAD"]
    rows = by_round(part)["mixed", 0]
    assert {row["database"] for row in rows} == {"mixed"} and rows[0]["id"] == "mixed-00-000"
    assert part["pool"][-1] == "mixed"


def test_rounds_follow_the_seed_alone(two_afc: Write) -> None:
    folder = two_afc()
    whole = by_round(load(folder))
    assert by_round(load(folder, options={"seed": 0})) == whole
    assert by_round(load(folder, options={"seed": 1})) != whole
    # Another number of rounds or of databases changes no round.
    fewer = by_round(load(folder, options={"rounds": 2, "databases": ["SQAD", "mixed"]}))
    assert fewer == {key: rows for key, rows in whole.items() if key[0] in ("SQAD", "mixed") and key[1] < 2}
    assert set(load(folder, options={"databases": ["mixed"]})["pool"]) == {"mixed"}


def test_a_missing_image_leaves_out_its_pairs_and_no_other(two_afc: Write) -> None:
    whole = by_round(load(two_afc()))
    gone = "SQAD/2.png"
    folder = two_afc()
    (folder / gone).unlink()
    with pytest.raises(MissingImagesError, match=r"no image file found for 1 item:\n  test SQAD/2\.png"):
        load(folder)
    part = load(folder, skip_missing=True)
    assert by_round(part) == {
        key: rows
        for key, everyone in whole.items()
        if (rows := [row for row in everyone if gone not in (row["first_id"], row["second_id"])])
    }
    assert [item["id"] for item in left_out(part)] == [gone]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gt_score": "good"}, r"field 'gt_score' .* 'good'"),
        ({"img_path": "TID2013/1.png"}, r"'TID2013/1\.png' .* a database: kadid10k, koniq10k"),
        ({"img_path": "CSIQ/0.png"}, r"duplicate id 'CSIQ/0\.png'"),
    ],
)
def test_bad_rows_are_named_or_left_out(two_afc: Write, change: dict[str, Any], reason: str) -> None:
    folder = two_afc(LABELS | {"CSIQ": [LABELS["CSIQ"][0], LABELS["CSIQ"][1] | change, LABELS["CSIQ"][2]]})
    # Rows count through all pools.
    with pytest.raises(BadAnnotationError, match=rf"Coarse_grained_mixed\.json, row 6: .*{reason}"):
        load(folder)
    part = load(folder, skip_bad=True)
    assert set(members(part)["CSIQ"]) == {"CSIQ/0.png", "CSIQ/2.png"}
    assert [item["id"] for item in left_out(part)] == ["6"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pairing": "releesed"}, "'releesed' of pairing; did you mean 'released'"),
        ({"rounds": True}, "rounds is True"),
        ({"databases": ["sqad"]}, r"database 'sqad' in .*mixed\.json; did you mean 'SQAD'"),
        ({"sample": 4}, "sample has no effect without source"),
        ({"source": "llvisionqa"}, "quality dataset 'llvisionqa' for source"),
        ({"source": "spaq", "databases": ["SQAD"]}, "databases has no effect with source"),
    ],
)
def test_bad_options_are_named(two_afc: Write, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        load(two_afc(), options=options)


def test_a_label_file_can_be_named(two_afc: Write, tmp_path: Path) -> None:
    folder = two_afc()
    other = folder / "other.json"
    other.write_text(json.dumps({"SQAD": LABELS["SQAD"]}), encoding="utf-8")
    named = load_dataset("two_afc", data_files=str(other), split="test")
    assert set(named["pool"]) == {"SQAD"} and named[0]["images"][0].size == (10, 8)


@pytest.fixture
def with_mm21(two_afc: Write, write_image: Callable[..., None]) -> Path:
    names = [f"JPEG/{n}_1.png" for n in range(3)]
    labels = [label(f"MM21/{name}", f"0.{n + 1}00", ref_path="source/0.png") for n, name in enumerate(names)]
    folder = two_afc({"MM21": labels, "SQAD": LABELS["SQAD"]})
    for name in names:
        write_image(folder / "MM21" / name)
    return folder


def write_licqa(folder: Path, rows: list[tuple[str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part, chosen in (("train", rows[:1]), ("val", rows[1:2]), ("test", rows[2:])):
        with open(folder / f"{part}.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("source/0.png", name, "0.5", mos) for name, mos in chosen])


LICQA = [("JPEG/0_1.png", "10"), ("JPEG/1_1.png", "20.5"), ("JPEG/2_1.png", "30")]


@pytest.mark.parametrize("place", ["train_files/exp1", "elsewhere"])
def test_mm21_gets_its_opinion_scores_from_licqa(with_mm21: Path, place: str) -> None:
    write_licqa(with_mm21 / place, LICQA)
    options = {"mm21_dir": str(with_mm21 / place)} if place == "elsewhere" else {}
    part = load(with_mm21, options=options)
    assert members(part)["MM21"] == {f"MM21/{name}": float(mos) for name, mos in LICQA}
    scores = {row["first_id"]: row["first_released_score"] for row in part if row["pool"] == "MM21"}
    assert scores == {"MM21/JPEG/0_1.png": 0.1, "MM21/JPEG/1_1.png": 0.2, "MM21/JPEG/2_1.png": 0.3}


def test_without_licqas_lists_mm21_has_the_released_values(with_mm21: Path) -> None:
    released = {"MM21/JPEG/0_1.png": 0.1, "MM21/JPEG/1_1.png": 0.2, "MM21/JPEG/2_1.png": 0.3}
    # A table of one's own next to the labels is not one of LICQA's lists.
    (with_mm21 / "test.csv").write_text("a,b\n1,2\n")
    assert members(load(with_mm21))["MM21"] == released
    with pytest.raises(MissingFileError, match=r"(?s)mm21_scores='mos'.*sherlockyy/LICQA.*mm21_dir.*'released'"):
        load(with_mm21, options={"mm21_scores": "mos"})
    assert set(load(with_mm21, options={"databases": ["SQAD"]})["pool"]) == {"SQAD"}
    # Lists that come later are noticed, and can be ignored.
    write_licqa(with_mm21 / "MM21", LICQA)
    assert members(load(with_mm21))["MM21"] != released
    assert members(load(with_mm21, options={"mm21_scores": "released"}))["MM21"] == released


def test_incomplete_lists_of_licqa_are_an_error(with_mm21: Path) -> None:
    write_licqa(with_mm21 / "MM21", [*LICQA[:2], ("JPEG/9_1.png", "1")])
    with pytest.raises(BadAnnotationError, match=r"row 3: no score of 'JPEG/2_1\.png' in LICQA's lists"):
        load(with_mm21)


def test_without_data_dir_the_official_files_are_downloaded(
    two_afc: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert script._LABELS.startswith("https://raw.githubusercontent.com/h4nwei/2AFC-LMMs/")
    assert script._ARCHIVE.startswith("https://github.com/h4nwei/2AFC-LMMs/archive/")
    folder = two_afc()
    monkeypatch.setattr(script, "_LABELS", f"{folder}/")
    monkeypatch.setattr("eyechart.datasets_scripts.common.files.downloads.PINNED", {})
    part = load_dataset("two_afc", images="skip", split="test", cache_dir=tmp_path / "cache")
    assert len(set(part["pool"])) == 5 and part["images"][0] == []
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in folder.rglob("*.*"):
            file.write(path, f"2AFC-LMMs-{script._COMMIT}/data/{path.relative_to(folder)}")
    monkeypatch.setattr(script, "_ARCHIVE", str(archive))
    options = {"databases": ["SQAD", "mixed"]}
    part = load_dataset("two_afc", split="test", options=options, cache_dir=tmp_path / "cache")
    assert set(part["pool"]) == {"SQAD", "mixed"} and part[0]["images"][1].size == (10, 8)
    with pytest.raises(MissingFileError, match="needs data_dir"):
        load_dataset("two_afc", options={"databases": ["SQAD", "CSIQ"]})


def draw(source: str, config: str = "coarse", **options: Any) -> tuple[datasets.Dataset, dict[str, dict[str, Any]]]:
    """Return pairs drawn from a quality dataset, and its rows by id."""
    folder = mini.release(source)
    rows = load_dataset(source, data_dir=folder, split="test").remove_columns("image")
    return load(folder, config, options={"source": source, **options}), {row["id"]: row for row in rows}


@pytest.mark.parametrize("source", ["csiq", "koniq10k"])
def test_pairs_are_drawn_from_a_quality_dataset(source: str) -> None:
    assert {DATASETS[name].kind for name in DATASETS["two_afc"].builds_on} == {"quality"}
    part, facts = draw(source, sample=2, rounds=2)
    (pool,) = members(part).values()
    assert pool == {image: facts[image]["quality"] for image in pool}
    assert set(part["pool"]) == set(part["database"]) == {source}
    check_matchings(part, {source: 2}, rounds=2)
    assert len(part[0]["images"]) == 2 and members(draw(source, sample=2, rounds=2)[0]) == members(part)
    part, facts = draw(source, "fine_mos", sample=3, rounds=1)
    for pool in members(part).values():
        assert len(pool) <= 3 and pool == {image: facts[image]["quality"] for image in pool}


def test_fine_pools_are_drawn_by_reference() -> None:
    part, facts = draw("csiq", "fine_levels", sample=2, rounds=2)
    assert len({facts[image]["reference"] for pool in members(part).values() for image in pool}) == 2
    for row in part.remove_columns("images"):
        first, second = facts[row["first_id"]], facts[row["second_id"]]
        assert row["pool"] == f"{first['reference']}.{first['distortion_type']}"
        assert row["pool"] == f"{second['reference']}.{second['distortion_type']}"


def test_a_source_has_configurations_and_may_lack_references() -> None:
    part, _ = draw("cgiqa6k", source_config="movie", sample=10, rounds=1)
    assert all(image.startswith("movie") for image in members(part)["cgiqa6k"])
    with pytest.raises(UsageError, match=r"the reference of image '.*' is unknown"):
        draw("koniq10k", "fine_levels")
    with pytest.raises(UsageError, match="sample is 9, but there are only 4 references"):
        draw("kadis700k", "fine_types", sample=9)


def licqa_of(reference: Path, tmp_path: Path) -> dict[str, str]:
    for part in ("train", "val", "test"):
        (tmp_path / f"{part}.csv").symlink_to(reference / "iqa-annotations" / f"licqa_exp1_{part}.csv")
    return {"mm21_dir": str(tmp_path)}


def test_the_real_coarse_labels(reference: Path, tmp_path: Path) -> None:
    part = load(reference / "two-afc", images="skip", options=licqa_of(reference, tmp_path))
    check_matchings(part, SIZES)
    pools = members(part)
    assert {pool: len(images) for pool, images in pools.items()} == SIZES
    # Without LICQA's lists, MM21 has the third column of the lists, the bitrate.
    alone = members(load(reference / "two-afc", images="skip", options={"databases": ["MM21"]}))["MM21"]
    bitrates = {}
    for file in sorted((reference / "iqa-annotations").glob("licqa_exp1_*.csv")):
        with open(file, encoding="utf-8", newline="") as lines:
            bitrates |= {f"MM21/{image}": float(bitrate) for _, image, bitrate, _ in csv.reader(lines)}
    assert alone == {image: bitrates[image] for image in pools["MM21"]} != pools["MM21"]
    ranges = {pool: (round(min(images.values()), 3), round(max(images.values()), 3)) for pool, images in pools.items()}
    # CSIQ's DMOS are 0.004 to 0.904; MM21's bitrates would be 0.031 to 3.949.
    assert ranges["CSIQ"] == (0.096, 0.996) and ranges["MM21"] == (4.012, 74.091)
    assert ranges["kadid10k"] == (1.1, 4.8) and ranges["koniq10k"] == (1.84, 4.11)
    assert ranges["LIVEC"] == (8.276, 90.55) and ranges["spaq"] == (4.17, 85.75)
    assert ranges["kadis700k"] == (8.278, 77.632) and ranges["SQAD"] == (7.684, 77.684)


@pytest.mark.parametrize(
    ("config", "pools", "size", "database"),
    [("fine_levels", 20, 5, "CSIQ"), ("fine_types", 20, 5, "CSIQ"), ("fine_mos", 4, 25, "spaq")],
)
def test_the_real_fine_labels(reference: Path, config: str, pools: int, size: int, database: str) -> None:
    part = load(reference / "two-afc", config, images="skip", options={"rounds": 6})
    found = members(part)
    assert len(found) == pools and {len(images) for images in found.values()} == {size}
    check_matchings(part, dict.fromkeys(found, size), rounds=6)
    assert set(part["database"]) == {database}
    for name, images in found.items():
        if config == "fine_mos":
            low, high = (int(end) for end in name.split("_")[1:])
            assert all(low <= quality <= high for quality in images.values())
        else:
            parts = [image.rpartition("/")[2].split(".") for image in images]
            place = 1 if config == "fine_levels" else 2
            assert {f"{content[0]}.{content[place]}" for content in parts} == {name}
            assert len({content[3 - place] for content in parts}) == 5


def test_the_released_rounds_of_the_real_labels(reference: Path) -> None:
    options = {"pairing": "released", "rounds": 2}
    part = load(reference / "two-afc", images="skip", options=options)
    check_matchings(part, SIZES, rounds=2)
    labels = json.loads((reference / "two-afc" / "Coarse_grained_mixed.json").read_text(encoding="utf-8"))
    labels["mixed"] = labels["kadis700k"] + labels["SQAD"]
    for (pool, number), rows in by_round(part).items():
        order = np.arange(SIZES[pool])
        np.random.RandomState(1234 + number).shuffle(order)
        names = [labels[pool][place]["img_path"] for place in order]
        pairs = list(zip(names[::2], names[1::2], strict=False))
        assert [(row["first_id"], row["second_id"]) for row in rows] == pairs


def images_of(scores: list[float]) -> list[dict[str, Any]]:
    return [{"id": str(number), "quality": score, "reference": None} for number, score in enumerate(scores)]


def levels_of(images: list[dict[str, Any]], everyone: list[dict[str, Any]]) -> list[int]:
    """Return how many of `images` are in each of five equally wide levels of the scores of `everyone`."""
    scores = [image["quality"] for image in everyone]
    ends = np.linspace(min(scores), max(scores), 6)[1:-1]
    return np.bincount(np.searchsorted(ends, [image["quality"] for image in images], "right"), minlength=5).tolist()


@settings(max_examples=60, deadline=None)
@given(n_images=st.integers(2, 200), seed=st.integers(0, 2**32 - 1), pairing=st.sampled_from(["random", "released"]))
def test_every_round_is_a_perfect_matching(n_images: int, seed: int, pairing: str) -> None:
    rounds = draw_rounds(n_images, 3, pairing, np.random.default_rng(seed))
    assert rounds == draw_rounds(n_images, 3, pairing, np.random.default_rng(seed))
    for pairs in rounds:
        met = [item for pair in pairs for item in pair]
        assert len(pairs) == n_images // 2 and len(set(met)) == len(met) and set(met) <= set(range(n_images))


@settings(max_examples=60, deadline=None)
@given(n_images=st.integers(10, 300), seed=st.integers(0, 999))
def test_coarse_samples_fill_levels_evenly(n_images: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = images_of(rng.beta(4, 2, n_images).tolist())
    size = int(rng.integers(1, n_images + 1))
    drawn = draw_coarse(images, size, rng)
    ids = [int(image["id"]) for image in drawn]
    assert len(drawn) == size and ids == sorted(set(ids))
    counts = np.array(levels_of(drawn, images))
    not_empty = counts[counts < levels_of(images, images)]
    # Levels with images left differ by one at most, and no emptied level has more than they have.
    assert not_empty.size == 0 or (np.ptp(not_empty) <= 1 and counts.max() <= not_empty.min() + 1)


@pytest.mark.parametrize(
    ("file", "score", "expected"),
    [
        ("koniq10k_distributions_sets.csv", "MOS", [32] * 5),
        # Only 15 of the 39,810 images are in the lowest fifth of the scale.
        ("live_fb_labels_image.csv", "mos", [15, 47, 46, 46, 46]),
    ],
)
def test_coarse_samples_of_real_databases_are_uniform(
    reference: Path, file: str, score: str, expected: list[int]
) -> None:
    with open(reference / "iqa-annotations" / file, encoding="utf-8", newline="") as text:
        images = images_of([float(row[score]) for row in csv.DictReader(text)])
    assert levels_of(draw_coarse(images, sum(expected), np.random.default_rng(0)), images) == expected


def test_fine_pools_share_the_reference_and_the_type_or_the_level() -> None:
    rows = ["sea blur 1", "sea blur 2", "sea noise 1", "sea noise 2", "tree blur 1", "tree noise 1", "dog blur 2"]
    names = ("reference", "distortion_type", "distortion_level")
    images = [{"id": str(n), **dict(zip(names, row.split(), strict=True))} for n, row in enumerate(rows)]

    def pools(config: str) -> dict[str, str]:
        found = draw_references(images, config, 3, np.random.default_rng(0))
        return {name: "".join(image["id"] for image in pool) for name, pool in found.items()}

    assert pools("fine_levels") == {"sea.blur": "01", "sea.noise": "23"}
    assert pools("fine_types") == {"sea.1": "02", "sea.2": "13", "tree.1": "45"}


@pytest.mark.parametrize(("score", "interval"), [(24.999, "0_25"), (25, "25_50"), (100, "75_100")])
def test_intervals_include_their_lower_end_and_the_last_one_both(score: float, interval: str) -> None:
    images = images_of([score, score])
    assert draw_intervals(images, "spaq", None, np.random.default_rng(0)) == {f"interval_{interval}": images}
    with pytest.raises(UsageError, match=r"the quality of image '2' is -0\.1, outside its scale, 0 to 1"):
        draw_intervals(images_of([0.5, 1, -0.1]), "csiq", None, np.random.default_rng(0))
