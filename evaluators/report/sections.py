"""The body of a report: figures, tables and scores by paper and task."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from eyechart.evaluators.report.charts import Chart, Scatter
from eyechart.evaluators.report.scores import title_of_data
from eyechart.evaluators.report.summary import TaskSummary
from eyechart.evaluators.report.tables import PaperTable
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.tasks import Paper, paper_of, task_title


@dataclass(frozen=True)
class Figure:
    """A chart and its drawing."""

    task: TaskKey
    chart: Chart | Scatter
    svg: str
    """Markup from `inline_svg`."""


@dataclass
class TaskPart:
    """One task on all its datasets."""

    name: str
    title: str
    data: str
    """Dataset and split; "" if there are several."""
    figures: list[Figure] = field(default_factory=list)
    more_figures: list[Figure] = field(default_factory=list)
    """Figures under "More figures"."""
    tables: list[PaperTable] = field(default_factory=list)
    summaries: list[TaskSummary] = field(default_factory=list)

    @property
    def main_table(self) -> PaperTable | None:
        """The table that is open next to the figures: the first one with published numbers, else the first one."""
        return next((table for table in self.tables if table.source), next(iter(self.tables), None))

    @property
    def more_tables(self) -> list[PaperTable]:
        """The other tables."""
        return [table for table in self.tables if table is not self.main_table]


@dataclass
class PaperPart:
    """One paper."""

    paper: Paper
    tasks: list[TaskPart] = field(default_factory=list)


def paper_parts(
    summaries: Sequence[TaskSummary], figures: Sequence[Figure], tables: Sequence[PaperTable]
) -> list[PaperPart]:
    """Group figures and tables by task, and tasks by paper, in the order of the summaries."""
    parts: dict[Paper, PaperPart] = {}
    for task in dict.fromkeys(summary.key.task for summary in summaries):
        own = [summary for summary in summaries if summary.key.task == task]
        drawn = [figure for figure in figures if figure.task.task == task]
        # An average replaces its databases.
        whole = [figure for figure in drawn if not figure.chart.is_extra and figure.task.dataset == AVERAGE]
        shown = whole or [figure for figure in drawn if not figure.chart.is_extra]
        part = TaskPart(
            name=task,
            title=task_title(task),
            data=title_of_data(own[0].key) if len(own) == 1 else "",
            figures=shown,
            more_figures=[figure for figure in drawn if figure not in shown],
            tables=[table for table in tables if table.task and table.task.task == task],
            summaries=own,
        )
        paper = paper_of(task)
        parts.setdefault(paper, PaperPart(paper)).tasks.append(part)
    return list(parts.values())


def title_of(table: PaperTable, part: TaskPart, paper: Paper) -> str:
    """A table's title, without what the headings above already say."""
    title = (table.title if part.data else table.whole_title).removeprefix(f"{paper.name}, ")
    return f"{title[:1].upper()}{title[1:]}"


def caption_of(figure: Figure, part: TaskPart) -> str:
    """A figure's title, with its dataset if the task has several."""
    title = f"{figure.chart.title[:1].upper()}{figure.chart.title[1:]}"
    return (
        title if part.data or figure.task.dataset == AVERAGE else f"{title_of_data(figure.task)}: {figure.chart.title}"
    )
