"""KonIQ-10k (Hosu et al., https://arxiv.org/abs/1910.06180): 10,073 photographs with authentic distortions.

Two official score files are read; if both are present, the first one is used:

- `koniq10k_distributions_sets.csv`: shares `c1` ... `c5` of the ratings 1 (bad) to 5 (excellent), z-scored `MOS` (about
  0-100), `SD` of the ratings and `set`, which is 7,058 times training, 1,000 times validation and 2,015 times test;
- `koniq10k_scores_and_distributions.csv`: counts `c1` ... `c5`, `SD` and `MOS_zscore`.

With both, `quality` is the mean rating, 1-5, as Q-Bench uses it (1.10 to 4.31), and `released_score` the z-scored MOS;
the two rank images almost equally (SRCC 0.992). In a list without ratings, both columns are its score.
"""

from typing import Any

from eyechart.datasets_scripts.common.builder import Annotation
from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.datasets_scripts.common.files.readers import clean_text, first_csv_fields
from eyechart.datasets_scripts.common.quality.database import QualityBuilder

_SETS = {"training": "official_train", "validation": "official_validation", "test": "official_test"}


class Koniq10k(QualityBuilder):
    """Loads KonIQ-10k, with its official splits if the score file names them."""

    SPLITS = ("test", *_SETS.values())

    def _splits(self, files: tuple[str, ...], data_dir: str) -> list[Annotation]:
        (whole,) = super()._splits(files, data_dir)
        # Only text files have a header line; Q-Bench's list has no sets.
        if files[0].lower().endswith(".json") or "set" not in first_csv_fields(files[0]):
            return [whole]
        return [Annotation(split, files, whole.image_folders) for split in self.SPLITS]

    def _is_part(self, name: str, raw: dict[str, Any], facts: dict[str, Any], split: str) -> bool:
        if "set" not in raw:
            return True
        part = clean_text(raw["set"])
        if part not in _SETS:
            raise unknown_name("set", part, _SETS)
        return split in ("test", _SETS[part])
