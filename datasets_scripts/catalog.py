"""The table of all subsets."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from eyechart.datasets_scripts.common.errors import unknown_name


@dataclass(frozen=True)
class Subset:
    """One benchmark subset."""

    name: str
    """The name that users give, also that of its folder and of its script."""
    kind: str
    """Its columns: "multiple choice", "quality", "pairs" or "description"."""
    configs: tuple[str, ...] = ("default",)
    """Configurations, the default one first."""
    other_kinds: tuple[tuple[str, str], ...] = ()
    """Configurations with columns of another kind, each with that kind."""
    private: tuple[str, ...] = ()
    """Splits whose answers or texts the authors keep to themselves; an export blanks those that a user has."""
    public_configs: tuple[str, ...] = ()
    """Configurations for which `private` does not hold, as their answers have been published since."""
    answers_note: str = ""
    """Where else answers are published, and what has become of the place that takes submissions."""
    gated: bool = False
    """Whether the authors give the images only to those who ask; an export then leaves them out."""
    builds_on: tuple[str, ...] = ()
    """Subsets whose scripts this one's reads with, so that the cache notices edits of theirs."""

    @property
    def module(self) -> str:
        """Import name of the loading script."""
        return f"eyechart.datasets_scripts.{self.name}.{self.name}"

    def kind_of(self, config: str) -> str:
        """Return the kind of the columns of a configuration.

        Examples:
            >>> SUBSETS["aesbench"].kind_of("empathy"), SUBSETS["aesbench"].kind_of("interpretation")
            ('multiple choice', 'description')
        """
        return dict(self.other_kinds).get(config, self.kind)

    def private_splits(self, config: str) -> tuple[str, ...]:
        """Return the splits of a configuration whose answers or texts are private.

        Examples:
            >>> SUBSETS["mmbench"].private_splits("en"), SUBSETS["mmbench"].private_splits("en_v11")
            (('test',), ())
        """
        return () if config in self.public_configs else self.private


# Those of which pairs can be made.
_QUALITY = (
    "agiqa3k",
    "cgiqa6k",
    "csiq",
    "kadid10k",
    "kadis700k",
    "koniq10k",
    "live_fb",
    "live_itw",
    "mm21",
    "spaq",
    "sqad",
)
SUBSETS: Mapping[str, Subset] = MappingProxyType(
    {
        subset.name: subset
        for subset in (
            Subset(
                "aesbench",
                "multiple choice",
                configs=("perception", "empathy", "assessment", "interpretation"),
                other_kinds=(("interpretation", "description"),),
                private=("test",),
                gated=True,
            ),
            Subset("agiqa3k", "quality"),
            Subset("cgiqa6k", "quality", configs=("all", "game", "movie")),
            Subset("csiq", "quality"),
            Subset("kadid10k", "quality"),
            Subset("kadis700k", "quality"),
            Subset("koniq10k", "quality"),
            Subset("live_fb", "quality"),
            Subset("live_itw", "quality", configs=("default", "without_training")),
            Subset("lldescribe", "description", private=("test",)),
            Subset(
                "llsavisionqa",
                "multiple choice",
                configs=("single", "pair"),
                private=("test",),
                builds_on=("llvisionqa", "llvisionqa_pairs"),
            ),
            Subset("llvisionqa", "multiple choice", private=("test",)),
            Subset("llvisionqa_pairs", "multiple choice", private=("test",)),
            Subset("mm21", "quality"),
            Subset(
                "mmbench",
                "multiple choice",
                configs=("en", "cn", "en_v11", "cn_v11", "cc"),
                private=("test",),
                public_configs=("en_v11", "cn_v11"),
                answers_note=(
                    "MMBench's submission server closed on 31 March 2026. The test answers of version 1.1 (en_v11, "
                    "cn_v11) are public in the present files at "
                    "https://opencompass.openxlab.space/utils/benchmarks/MMBench/; of version 1.0, no file with test "
                    "answers is known."
                ),
            ),
            Subset("spaq", "quality"),
            Subset("sqad", "quality"),
            Subset(
                "two_afc",
                "pairs",
                configs=("coarse", "fine_levels", "fine_types", "fine_mos"),
                builds_on=_QUALITY,
            ),
        )
    }
)
"""Every subset by name."""


def find_subset(name: str) -> Subset:
    """Return a subset by its name.

    Raises:
        UsageError: There is none of this name.
    """
    if name not in SUBSETS:
        raise unknown_name("subset", name, SUBSETS)
    return SUBSETS[name]


def list_datasets() -> list[str]:
    """Return the names of all subsets.

    Examples:
        >>> "llvisionqa" in list_datasets()
        True
    """
    return sorted(SUBSETS)
