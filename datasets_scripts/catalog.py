"""The table of all datasets."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from eyechart.datasets_scripts.common.errors import unknown_name


@dataclass(frozen=True)
class DatasetEntry:
    """One benchmark dataset; its folder and its script have its name."""

    name: str
    kind: str
    """The kind of its columns: "multiple choice", "quality", "pairs" or "description"."""
    title: str = ""
    """Its name in the papers; "" if that is the name of its benchmark."""
    configs: tuple[str, ...] = ("default",)
    """The default one first."""
    private: tuple[str, ...] = ()
    """Splits whose answers or texts are not published; an export blanks them even if your copy has them."""
    public_configs: tuple[str, ...] = ()
    """Configurations whose answers have been published, so that `private` does not apply to them."""
    answers_note: str = ""
    """Where answers are published, and whether the benchmark's server is still open."""
    on_hub: str = ""
    """The release on the Hub, or a copy that loads like it; "" without one."""
    configs_on_hub: tuple[str, ...] = ()
    """The configurations in it, if not all."""
    gated: bool = False
    """Whether the authors give the images only on request; an export then leaves them out."""
    download_gb: float = 0.0
    """Size of what is downloaded automatically, as its host lists it; 0 if it is small or unknown."""
    builds_on: tuple[str, ...] = ()
    """Datasets whose scripts this script uses, so that the cache notices their edits."""

    @property
    def module(self) -> str:
        """Import name of the loading script."""
        return f"eyechart.datasets_scripts.{self.name}.{self.name}"

    def hub_id(self, config: str | None) -> str:
        """The id of a configuration's data on the Hub; "" if they are not there."""
        is_there = config is None or not self.configs_on_hub or config in self.configs_on_hub
        return self.on_hub if is_there else ""

    def private_splits(self, config: str) -> tuple[str, ...]:
        """The splits of a configuration whose answers or texts are private."""
        return () if config in self.public_configs else self.private


# Pairs can be drawn from all of these.
_QUALITY = (
    DatasetEntry("agiqa3k", "quality", "AGIQA-3K"),
    DatasetEntry("csiq", "quality", "CSIQ"),
    DatasetEntry("kadis700k", "quality", "KADIS-700k"),
    DatasetEntry("koniq10k", "quality", "KonIQ-10k"),
    DatasetEntry("kadid10k", "quality", "KADID-10k", download_gb=3.07),
    DatasetEntry("live_fb", "quality", "LIVE-FB", download_gb=5.41),
    DatasetEntry("mm21", "quality", "MM21"),
    DatasetEntry("spaq", "quality", "SPAQ", download_gb=34.8),
    DatasetEntry("sqad", "quality", "SQAD"),
    DatasetEntry("cgiqa6k", "quality", "CGIQA-6K", configs=("all", "game", "movie")),
    DatasetEntry("live_itw", "quality", "LIVE-itw", configs=("default", "without_training"), download_gb=0.33),
)
_OTHERS = (
    DatasetEntry(
        "aesbench",
        "multiple choice",
        configs=("perception", "empathy", "assessment", "interpretation"),
        private=("test",),
        on_hub="qyuan/EAPD_release",
        gated=True,
        download_gb=3.0,
    ),
    DatasetEntry(
        "lldescribe", "description", "LLDescribe", private=("test",), on_hub="teowu/LLDescribe-QBench", download_gb=0.18
    ),
    DatasetEntry(
        "llsavisionqa",
        "multiple choice",
        "LLSAVisionQA",
        configs=("single", "pair"),
        private=("test",),
        builds_on=("llvisionqa", "llvisionqa_pairs"),
    ),
    DatasetEntry(
        "llvisionqa",
        "multiple choice",
        "LLVisionQA",
        private=("test",),
        on_hub="teowu/LLVisionQA-QBench",
        download_gb=2.24,
    ),
    DatasetEntry(
        "llvisionqa_pairs", "multiple choice", "LLVisionQA, pairs", private=("test",), on_hub="q-future/q-bench2"
    ),
    DatasetEntry(
        "mmbench",
        "multiple choice",
        configs=("en", "cn", "en_v11", "cn_v11", "cc"),
        private=("test",),
        public_configs=("en_v11", "cn_v11"),
        on_hub="lmms-lab-encoder/MMBench",
        configs_on_hub=("en", "cn", "cc"),
        answers_note=(
            "MMBench's submission server closed on 31 March 2026. The test answers of version 1.1 (en_v11, "
            "cn_v11) are public in the current files at "
            "https://opencompass.openxlab.space/utils/benchmarks/MMBench/. No file with the test answers of version "
            "1.0 is known."
        ),
    ),
    DatasetEntry(
        "two_afc",
        "pairs",
        configs=("coarse", "fine_levels", "fine_types", "fine_mos"),
        builds_on=tuple(one.name for one in _QUALITY),
    ),
)
DATASETS: Mapping[str, DatasetEntry] = MappingProxyType(
    {one.name: one for one in sorted((*_QUALITY, *_OTHERS), key=lambda one: one.name)}
)
"""Every dataset by name."""


def find_dataset(name: str) -> DatasetEntry:
    """Return a dataset by its name; `UsageError` for an unknown one."""
    if name not in DATASETS:
        raise unknown_name("dataset", name, DATASETS)
    return DATASETS[name]


def list_datasets() -> list[str]:
    """Return the names of all datasets."""
    return sorted(DATASETS)
