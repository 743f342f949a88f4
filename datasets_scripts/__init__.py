"""Benchmark datasets as Hugging Face `datasets` loading scripts.

There are three ways to load the same data, with `datasets` 3.6 or later:

1. `load_dataset(name, data_dir=...)` of this package;
2. `register()`, then plain `datasets.load_dataset(name, data_dir=...)`; with 3.6 also
   `datasets.load_dataset("datasets_scripts/<name>", data_dir=..., trust_remote_code=True)`;
3. `export.export(name, out=...)`, then plain `datasets.load_dataset(out)`.

`mini.release(name)` writes synthetic demo data for any dataset in its real layout, to try everything offline.
"""

from eyechart.datasets_scripts.catalog import DATASETS, DatasetEntry, list_datasets
from eyechart.datasets_scripts.common.left_out import left_out
from eyechart.datasets_scripts.loading import by_hand, load_builder, load_dataset, options_in_force, register

__all__ = [
    "DATASETS",
    "DatasetEntry",
    "by_hand",
    "left_out",
    "list_datasets",
    "load_builder",
    "load_dataset",
    "options_in_force",
    "register",
]


def __dir__() -> list[str]:
    return __all__
