"""The numbers of items in the official splits.

Items are what scores are computed from: questions (not their passes), images, or pairs of images.
"""

from collections.abc import Mapping
from typing import Any

from eyechart.datasets_scripts.catalog import DATASETS

ROUNDS = 12
"""Rounds of 2AFC's matching: in each round, an image is in at most one pair."""
# Pairs of each round in 2AFC's label files; in an odd pool, one image is left over. The pool `mixed`, the union of the
# last two coarse ones, is no part of the scores.
_TWO_AFC_PAIRS: Mapping[str, int] = {
    "coarse": sum(images // 2 for images in (81, 160, 129, 30, 100, 160, 100, 100)),
    "fine_levels": 20 * (5 // 2),
    "fine_types": 20 * (5 // 2),
    "fine_mos": 4 * (25 // 2),
}
OFFICIAL: Mapping[tuple[str, str, str], tuple[int, ...]] = {
    # AesBench, Sec. III-A.
    **{("aesbench", config, "test"): (2_800,) for config in DATASETS["aesbench"].configs},
    # Q-Bench, Table 1. AGIQA-3K was also counted in data.csv, SPAQ in a list, CGIQA-6K's parts by their names.
    ("agiqa3k", "default", "test"): (2_982,),
    ("spaq", "default", "test"): (11_125,),
    ("cgiqa6k", "all", "test"): (6_000,),
    ("cgiqa6k", "game", "test"): (3_000,),
    ("cgiqa6k", "movie", "test"): (3_000,),
    # Counted in csiq_label.txt, koniq10k_distributions_sets.csv, labels_image.csv and LICQA's lists.
    ("csiq", "default", "test"): (866,),
    ("koniq10k", "default", "test"): (10_073,),
    ("koniq10k", "default", "official_train"): (7_058,),
    ("koniq10k", "default", "official_validation"): (1_000,),
    ("koniq10k", "default", "official_test"): (2_015,),
    ("live_fb", "default", "test"): (39_810,),
    ("mm21", "default", "test"): (5_031,),
    # 81 references, 25 distortions, 5 levels.
    ("kadid10k", "default", "test"): (10_125,),
    # The images that 2AFC has scores of.
    ("kadis700k", "default", "test"): (100,),
    ("sqad", "default", "test"): (100,),
    # With the training images t1 to t7, as in Q-Bench, and without them.
    ("live_itw", "default", "test"): (1_169,),
    ("live_itw", "without_training", "test"): (1_162,),
    # Q-Bench, Sec. 2.2 and 2.3; Q-Bench2: 1,999 pairs, of which dev was counted in q-bench2-a1-dev.jsonl.
    ("lldescribe", "default", "test"): (499,),
    **{("llvisionqa", "default", split): (1_495,) for split in ("dev", "test")},
    **{("llsavisionqa", "single", split): (1_495,) for split in ("dev", "test")},
    ("llvisionqa_pairs", "default", "dev"): (1_000,),
    ("llvisionqa_pairs", "default", "test"): (999,),
    ("llsavisionqa", "pair", "dev"): (1_000,),
    ("llsavisionqa", "pair", "test"): (999,),
    # README of https://github.com/open-compass/MMBench, which does not give the number of version 1.1. The first file,
    # mmbench_dev_20230712.tsv, has 1,176 questions, and the first release had 2,974 in all.
    ("mmbench", "en", "dev"): (1_164, 1_176),
    ("mmbench", "en", "test"): (1_784, 1_798),
    ("mmbench", "cn", "dev"): (1_164,),
    ("mmbench", "cn", "test"): (1_784,),
    ("mmbench", "cc", "dev"): (510,),
    **{("two_afc", config, "test"): (ROUNDS * pairs,) for config, pairs in _TWO_AFC_PAIRS.items()},
}
"""By dataset, configuration and split; several if it was released more than once, the current number first."""


def official_counts(
    name: str, config: str | None, split: str, options: Mapping[str, Any] | None = None
) -> tuple[int, ...]:
    """The numbers of `OFFICIAL`, or () if unknown; `options` are the dataset's own settings.

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
        is_known = type(rounds) is int and not options.get("source")
        return (rounds * _TWO_AFC_PAIRS[key[1]],) if is_known else ()
    return OFFICIAL.get(key, ())


def in_official_terms(count: int, official: tuple[int, ...]) -> str:
    """Compare a number of items with the official number, in words; "" if that is unknown, or smaller.

    Examples:
        >>> in_official_terms(400, (1495,)), in_official_terms(1176, (1164, 1176)), in_official_terms(6, ())
        ('400 of 1,495 official items', 'all 1,176 official items of an earlier release', '')
        >>> in_official_terms(100_000, (100,))
        ''
    """
    # One's own images in the layout of a release may be more.
    if count > max(official, default=0):
        return ""
    if count not in official:
        return f"{count:,} of {official[0]:,} official items"
    return f"all {count:,} official items{'' if count == official[0] else ' of an earlier release'}"
