"""Which score of which task a difference, a ranking or a plan is of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ComparedScore:
    """A score of a task on its data."""

    task: str
    dataset: str
    split: str
    key: str
    """Of the score in the table of scores, in whose unit all numbers are."""
    score: str
    """Its label."""

    @property
    def title(self) -> str:
        """The task and its data, for people."""
        return f"{self.task} on {self.dataset} ({self.split})"
