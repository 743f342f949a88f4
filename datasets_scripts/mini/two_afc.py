"""Synthetic demo data of 2AFC: the four label files, the images under their `img_path`, and LICQA's lists of MM21.

60 images of six databases for the coarse configuration, each with a different content; two contents of CSIQ with four
distortion types at five levels; six images in each of SPAQ's four intervals, from two neighbouring levels, so that a
difference is visible. As in the real release, CSIQ's scores are DMOS, MM21's are bitrates, and most scores are text.
"""

from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.datasets_scripts.mini import write_json
from eyechart.datasets_scripts.mini.quality import CSIQ_TYPES, TYPES, Shot, write_licqa
from eyechart.datasets_scripts.mini.scenes import LEVELS

# Stream, number of images, distortion types and levels of each database; types and levels are used in turn.
_COARSE = {
    "kadid10k": (30, 9, tuple(TYPES), LEVELS),
    "MM21": (31, 10, ("JPEG compression", "blur"), LEVELS[:4]),
    "CSIQ": (32, 8, tuple(CSIQ_TYPES), LEVELS),
    "LIVEC": (33, 10, tuple(TYPES), LEVELS),
    "kadis700k": (34, 12, tuple(TYPES), LEVELS),
    "SQAD": (35, 11, tuple(TYPES), LEVELS),
}
# Path, score and path of the pristine image in the label file; "" for none.
_LABELS = {
    "kadid10k": ("kadid10k/images/I{content:02d}_{code:02d}_{level:02d}.png", "{mos:.2f}", "images/I{content:02d}.png"),
    "MM21": ("MM21/{codec}/{content:05d}_{rate}.png", "{bitrate:.3f}", "source/{content:05d}.png"),
    "CSIQ": ("CSIQ/dst_imgs/mini_{content}.{csiq}.{level}.png", "{dmos:.3f}", "src_imgs/mini_{content}.png"),
    "fine CSIQ": ("CSIQ/dst_imgs/mini_scene_{content}.{csiq}.{level}.png", "{dmos:.3f}", ""),
    "LIVEC": ("LIVEC/{content}.bmp", "", ""),
    "kadis700k": ("kadis700k/mini-{content}_{code:02d}_{level:02d}.bmp", "{score:.8f}", ""),
    "SQAD": ("SQAD/IMG_{content:04d}.png", "{score:.8f}", ""),
    "SPAQ": ("spaq/TestImage_512/{content:05d}.png", "{in_interval:.2f}", ""),
}
_PER_INTERVAL = 6


def write(folder: Path) -> None:
    """Write the release into `folder`."""
    pools: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    rows = []
    for database, (stream, count, types, levels) in _COARSE.items():
        for i in range(count):
            shot = Shot(stream, i + 1, types[i % len(types)], levels[i % len(levels)])
            label = _label(folder, database, shot)
            pools["Coarse_grained_mixed"][database].append(label)
            if database == "MM21":
                name = label["img_path"].removeprefix("MM21/")
                rows.append((label["ref_path"], name, label["gt_score"], f"{shot.score:.3f}"))
    write_licqa(folder / "MM21", rows, (6, 8, 10))
    for content, kind, level in product((1, 2), TYPES, LEVELS):
        if kind in CSIQ_TYPES:
            label = _label(folder, "fine CSIQ", Shot(36, content, kind, level))
            pools["Fine_grained_CSIQ_levels"][f"mini_scene_{content}.{CSIQ_TYPES[kind]}"].append(label)
            pools["Fine_grained_CSIQ_types"][f"mini_scene_{content}.{level}"].append(label)
    # The lowest interval is called 1_25 in the real file.
    for content, name in enumerate(np.repeat(["1_25", "25_50", "50_75", "75_100"], _PER_INTERVAL), start=1):
        level = 5 - (content - 1) // _PER_INTERVAL - content % 2
        shot = Shot(37, content, list(TYPES)[content % len(TYPES)], level)
        pools["Fine_grain_SPAQ"][f"interval_{name}"].append(_label(folder, "SPAQ", shot))
    for file, labels in pools.items():
        write_json(folder / f"{file}.json", labels)


def _label(folder: Path, database: str, shot: Shot) -> dict[str, Any]:
    """Write an image and return its entry in a label file."""
    (code, codec), rate = TYPES[shot.distortion], 5 - shot.level
    interval = (shot.content - 1) // _PER_INTERVAL
    facts = {
        **{"content": shot.content, "level": shot.level, "code": code, "codec": codec, "rate": rate},
        **{"score": shot.score, "mos": 1 + shot.score / 25, "dmos": 1 - shot.score / 100, "bitrate": 0.1 * 2**rate},
        "csiq": CSIQ_TYPES.get(shot.distortion),
        # The middle of the lower or upper half of the interval, plus the jitter.
        "in_interval": 25 * interval + 6.25 + 12.5 * (rate - interval) + shot.score - (100 - 18 * shot.level),
    }
    path, score, reference = (text.format(**facts) for text in _LABELS[database])
    shot.save(folder / path)
    return ({"ref_path": reference} if reference else {}) | {"img_path": path, "gt_score": score or shot.score}
