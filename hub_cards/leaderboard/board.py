"""What a board is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eyechart.hub_cards.leaderboard.columns import Column

Settings = Mapping[str, tuple[Any, ...]]
"""From the name of a setting, inner ones behind a dot, to the values that a board takes."""


@dataclass(frozen=True)
class Board:
    """One table of the leaderboard."""

    name: str
    """Unique: in the address of the page."""
    benchmark: str
    """The benchmark under which it stands."""
    title: str
    """Its heading."""
    about: str
    """What is measured, in a sentence."""
    task: str
    """The task whose results it takes."""
    dataset: str
    """The data set of these results."""
    split: str
    """The split of these results."""
    settings: Settings
    """The settings that results must have; others are free."""
    columns: tuple[Column, ...]
    """What is shown; the first column ranks."""
    count: str
    """Key of the number of items in the scores."""
    items: int | None = None
    """How many items the split has that can be scored; None where that is not fixed."""
    score_settings: Settings = field(default_factory=dict)
    """Settings that stand among the scores."""
    judged: bool = False
    """Whether all scores are a judge's, so that only those of one judge are ranked together."""
    note: str = ""
    """What the reader has to know."""

    @property
    def main(self) -> Column:
        """The column that ranks."""
        return self.columns[0]
