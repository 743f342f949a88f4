"""The score and task that a difference, a ranking or a plan belongs to."""

from dataclasses import dataclass

from eyechart.evaluators.results.finished_runs import result_title


@dataclass(frozen=True)
class ComparedScore:
    """A score of a task on its data."""

    task: str
    dataset: str
    split: str
    key: str
    """Key of the score in the table of scores; all numbers are in its unit."""
    score: str
    """Its label."""

    @property
    def title(self) -> str:
        """The task and its data, for display."""
        return result_title(self.task, self.dataset, self.split)
