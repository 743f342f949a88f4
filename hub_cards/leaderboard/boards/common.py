"""What boards of several papers take and show."""

from eyechart.datasets_scripts.official import official_counts
from eyechart.hub_cards.leaderboard.board import Settings
from eyechart.hub_cards.leaderboard.columns import Column, percent

LENGTHS = (32, 4096)
"""Longest replies to questions with options: the default, and that for models that reason first."""
ALL: Settings = {"limit": (None,), "as_published": (None,), "data.is_mini": (False,)}
RELEASE: Settings = {**ALL, "data.options": ({},)}
CHOICE: Settings = {
    **RELEASE,
    "prefill": ("",),
    "inference": ("options",),
    "max_new_tokens": LENGTHS,
    "option_order": ("release",),
    "shuffle_seed": (None,),
}
NO_GUESS: Settings = {"extraction.random": (0.0,)}
TYPES = {"yes-or-no": "Yes or no", "what": "What", "how": "How"}
ACCURACY = percent("accuracy", "Accuracy", "accuracy_ci95")
JUDGED = "Scores of different judges are not ranked together."


def official_items(dataset: str, config: str | None, split: str) -> int | None:
    """How many items the present release of a split has; None where that is not known."""
    return next(iter(official_counts(dataset, config, split)), None)


def rated(*dimensions: str) -> tuple[Column, ...]:
    """A column for the mean score of each dimension that a judge rates."""
    return tuple(
        Column(name, name.capitalize(), (name, "score"), (name, "score_ci95"), digits=3) for name in dimensions
    )
