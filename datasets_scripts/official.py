"""The numbers of items in the official splits.

Items are what scores are computed from: questions (not their passes), images, or pairs of images.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from eyechart.datasets_scripts.catalog import DATASETS


@dataclass(frozen=True)
class OfficialSplit:
    """One split as its authors released it."""

    counts: tuple[int, ...]
    """Its number of items; several if it was released more than once, the current release first."""
    source: str
    """The source of the number."""


_AESBENCH = OfficialSplit((2_800,), "AesBench, Sec. III-A")
_LLVISIONQA = OfficialSplit((1_495,), "Q-Bench, Sec. 2.2; dev counted in its file")
_MMBENCH = "README of https://github.com/open-compass/MMBench"
_MMBENCH_DEV = OfficialSplit((1_164, 1_176), f"{_MMBENCH}; the first file, mmbench_dev_20230712.tsv, has 1,176")
_MMBENCH_TEST = OfficialSplit((1_784, 1_798), f"{_MMBENCH}; the first release had 2,974 questions in all, 1,176 in dev")
ROUNDS = 12
"""Rounds of 2AFC's matching: in each round, an image is in at most one pair."""
_TWO_AFC_POOLS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        # The pool `mixed`, the union of the last two, is not part of the scores.
        "coarse": (81, 160, 129, 30, 100, 160, 100, 100),
        "fine_levels": 20 * (5,),
        "fine_types": 20 * (5,),
        "fine_mos": 4 * (25,),
    }
)
"""Numbers of images of the pools in 2AFC's label files."""


def _pairs(config: str, rounds: int) -> int:
    """Pairs of a configuration: in a round every image is in one pair; in an odd pool, one image is left over."""
    return rounds * sum(images // 2 for images in _TWO_AFC_POOLS[config])


OFFICIAL: Mapping[tuple[str, str, str], OfficialSplit] = MappingProxyType(
    {
        **{("aesbench", config, "test"): _AESBENCH for config in DATASETS["aesbench"].configs},
        ("agiqa3k", "default", "test"): OfficialSplit((2_982,), "Q-Bench, Table 1; counted in data.csv"),
        ("cgiqa6k", "all", "test"): OfficialSplit((6_000,), "Q-Bench, Table 1"),
        ("cgiqa6k", "game", "test"): OfficialSplit((3_000,), "names of its files: game_0000 to game_2999"),
        ("cgiqa6k", "movie", "test"): OfficialSplit((3_000,), "names of its files: movie_0000 to movie_2999"),
        ("csiq", "default", "test"): OfficialSplit((866,), "counted in csiq_label.txt"),
        ("kadid10k", "default", "test"): OfficialSplit((10_125,), "81 references, 25 distortions, 5 levels"),
        ("kadis700k", "default", "test"): OfficialSplit((100,), "the images that 2AFC has scores of"),
        ("koniq10k", "default", "test"): OfficialSplit((10_073,), "counted in koniq10k_distributions_sets.csv"),
        ("koniq10k", "default", "official_train"): OfficialSplit((7_058,), "column set of the same file"),
        ("koniq10k", "default", "official_validation"): OfficialSplit((1_000,), "column set of the same file"),
        ("koniq10k", "default", "official_test"): OfficialSplit((2_015,), "column set of the same file"),
        ("live_fb", "default", "test"): OfficialSplit((39_810,), "counted in labels_image.csv"),
        ("live_itw", "default", "test"): OfficialSplit((1_169,), "with training images t1 to t7, as in Q-Bench"),
        ("live_itw", "without_training", "test"): OfficialSplit((1_162,), "the same without these"),
        ("lldescribe", "default", "test"): OfficialSplit((499,), "Q-Bench, Sec. 2.3"),
        **{("llsavisionqa", "single", split): _LLVISIONQA for split in ("dev", "test")},
        ("llsavisionqa", "pair", "dev"): OfficialSplit((1_000,), "counted in Q-Bench2's q-bench2-a1-dev.jsonl"),
        ("llsavisionqa", "pair", "test"): OfficialSplit((999,), "Q-Bench2: 1,999 pairs in all"),
        **{("llvisionqa", "default", split): _LLVISIONQA for split in ("dev", "test")},
        ("llvisionqa_pairs", "default", "dev"): OfficialSplit((1_000,), "counted in q-bench2-a1-dev.jsonl"),
        ("llvisionqa_pairs", "default", "test"): OfficialSplit((999,), "Q-Bench2: 1,999 pairs in all"),
        ("mm21", "default", "test"): OfficialSplit((5_031,), "counted in LICQA's lists"),
        ("mmbench", "en", "dev"): _MMBENCH_DEV,
        ("mmbench", "en", "test"): _MMBENCH_TEST,
        ("mmbench", "cn", "dev"): OfficialSplit((1_164,), _MMBENCH),
        ("mmbench", "cn", "test"): OfficialSplit((1_784,), _MMBENCH),
        # Version 1.1 is missing: its number of questions is not documented.
        ("mmbench", "cc", "dev"): OfficialSplit((510,), _MMBENCH),
        ("spaq", "default", "test"): OfficialSplit((11_125,), "Q-Bench, Table 1; counted in a list of its scores"),
        ("sqad", "default", "test"): OfficialSplit((100,), "the photographs that 2AFC has scores of"),
        **{
            ("two_afc", config, "test"): OfficialSplit(
                (_pairs(config, ROUNDS),), "12 rounds of the pools in 2AFC's label files"
            )
            for config in _TWO_AFC_POOLS
        },
    }
)
"""The splits whose number of items is known, by dataset, configuration and split."""


def official_counts(
    name: str, config: str | None, split: str, options: Mapping[str, Any] | None = None
) -> tuple[int, ...]:
    """The number of items of a split in the official release.

    Args:
        name: A dataset; the result for an unknown name is empty.
        config: Its configuration; None means its first one.
        split: The split.
        options: The dataset's own settings, some of which change the number.

    Returns:
        The number; several if the split was released more than once, the current one first; empty if it is unknown.

    Examples:
        >>> official_counts("llvisionqa", None, "dev"), official_counts("mmbench", "en", "dev")
        ((1495,), (1164, 1176))
        >>> official_counts("two_afc", "fine_mos", "test", {"rounds": 1}), official_counts("mmbench", "en_v11", "dev")
        ((48,), ())
    """
    if name not in DATASETS:
        return ()
    key = (name, config or DATASETS[name].configs[0], split)
    if name == "two_afc" and options and key in OFFICIAL:
        rounds = options.get("rounds", ROUNDS)
        # Pairs drawn with the option `source` are not those of the label files.
        known = type(rounds) is int and not options.get("source")
        return (_pairs(key[1], rounds),) if known else ()
    return OFFICIAL[key].counts if key in OFFICIAL else ()


def in_official_terms(count: int, official: tuple[int, ...]) -> str:
    """Compare a number of items with the official number, in words; "" if that is unknown.

    Examples:
        >>> in_official_terms(400, (1495,)), in_official_terms(1176, (1164, 1176)), in_official_terms(6, ())
        ('400 of 1,495 official items', 'all 1,176 official items of an earlier release', '')
    """
    if not official:
        return ""
    if count not in official:
        return f"{count:,} of {official[0]:,} official items"
    return f"all {count:,} official items{'' if count == official[0] else ' of an earlier release'}"
