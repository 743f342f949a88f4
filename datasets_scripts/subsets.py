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
    """Its columns: "multiple choice" or "quality"."""
    configs: tuple[str, ...] = ("default",)
    """Configurations, the default one first."""

    @property
    def module(self) -> str:
        """Import name of the loading script."""
        return f"eyechart.datasets_scripts.{self.name}.{self.name}"


SUBSETS: Mapping[str, Subset] = MappingProxyType(
    {
        subset.name: subset
        for subset in (
            Subset("kadis700k", "quality"),
            Subset("llvisionqa", "multiple choice"),
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
