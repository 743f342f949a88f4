"""How many items the official splits have, counted in the authors' files."""

import csv
import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from eyechart.datasets_scripts import DATASETS, load_builder
from eyechart.datasets_scripts.official import OFFICIAL, official_counts


def _lines(path: Path) -> int:
    return sum(bool(line.strip()) for line in path.read_text(encoding="utf-8").splitlines())


def test_only_splits_that_exist_are_named():
    for name, config, split in OFFICIAL:
        assert config in DATASETS[name].configs
        assert split in load_builder(name, config).SPLITS


def test_every_split_is_known_but_those_of_mmbench_1_1():
    unknown = {
        (name, config, split)
        for name, dataset in DATASETS.items()
        for config in dataset.configs
        for split in load_builder(name, config).SPLITS
        if not official_counts(name, config, split)
    }
    # CCBench has a dev split alone; live_itw's configurations have one split each.
    v11 = {("mmbench", config, split) for config in ("en_v11", "cn_v11") for split in ("dev", "test")}
    assert unknown == v11 | {("mmbench", "cc", "test")}


@pytest.mark.parametrize(
    ("file", "name", "config"),
    [
        ("q-bench-a3/koniq.json", "koniq10k", "default"),
        ("q-bench-a3/spaq.json", "spaq", "default"),
        ("q-bench-a3/livec.json", "live_itw", "default"),
        ("q-bench-a3/cgi.json", "cgiqa6k", "all"),
        ("q-bench-a3/agi.json", "agiqa3k", "default"),
        ("q-bench-a3/kadid.json", "kadid10k", "default"),
        ("llvisionqa/llvisionqa_dev.json", "llvisionqa", "default"),
        ("llvisionqa/llvisionqa_test.json", "llvisionqa", "default"),
    ],
)
def test_counts_are_those_of_the_authors_json(reference, file, name, config):
    rows = json.loads((reference / file).read_text(encoding="utf-8"))
    split = "test" if "dev" not in load_builder(name).SPLITS or "test" in file else "dev"
    assert official_counts(name, config, split) == (len(rows),)


def test_counts_are_those_of_the_databases_own_lists(reference):
    lists = reference / "iqa-annotations"
    with (lists / "koniq10k_distributions_sets.csv").open(encoding="utf-8", newline="") as file:
        sets = Counter(row["set"] for row in csv.DictReader(file))
    names = {"training": "official_train", "validation": "official_validation", "test": "official_test"}
    assert {names[part]: (count,) for part, count in sets.items()} == {
        split: official_counts("koniq10k", None, split) for split in names.values()
    }
    assert official_counts("koniq10k", None, "test") == (sets.total(),)
    assert official_counts("csiq", None, "test") == (_lines(lists / "csiq_label.txt"),)
    assert official_counts("live_fb", None, "test") == (_lines(lists / "live_fb_labels_image.csv") - 1,)
    licqa = [_lines(lists / f"licqa_exp1_{part}.csv") for part in ("train", "val", "test")]
    assert official_counts("mm21", None, "test") == (sum(licqa),)


def test_the_first_file_of_mmbench_is_official_too(reference):
    path = reference / "mmbench" / "MMBench_DEV_EN_20230712.tsv"
    csv.field_size_limit(2**31 - 1)
    with path.open(encoding="utf-8", newline="") as file:
        questions = {int(row["index"]) % 1_000_000 for row in csv.DictReader(file, delimiter="\t")}
    assert official_counts("mmbench", "en", "dev") == (1164, len(questions))


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, (5148,)), ({"rounds": 1}, (429,)), ({"databases": ["spaq"]}, (5148,)), ({"source": "koniq10k"}, ())],
)
def test_pairs_depend_on_how_they_are_drawn(options, expected):
    """Some of the databases are a part, which is compared with the whole."""
    assert official_counts("two_afc", "coarse", "test", options) == expected


@pytest.mark.parametrize("name", ["own data", "average", "lmms-lab/MMBench"])
def test_other_data_have_no_official_number(name):
    assert official_counts(name, None, "test") == ()


@pytest.mark.parametrize(("name", "config", "split"), sorted(OFFICIAL))
def test_the_cards_say_the_same(name, config, split):
    card = (files("eyechart.hub_cards") / "datasets" / f"{name}.md").read_text(encoding="utf-8")
    rows = [line for line in card.splitlines() if line.startswith("| ") and f"`{split}`" in line]
    (row,) = [row for row in rows if f"`{config}`" in row] if len(DATASETS[name].configs) > 1 else rows
    (count,) = official_counts(name, config, split)[:1]
    # What a release holds of 2AFC's coarse pairs includes a pool that has no part in the scores.
    told = "6,348" if (name, config) == ("two_afc", "coarse") else f"{count:,}"
    assert re.search(rf"(?<![\d,]){told}(?![\d,]\d)", row)
