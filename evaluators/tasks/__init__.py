"""The tasks, one file per paper and one explicit table; their names, as users write them and as reports show them."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.tasks import aes_bench, mmbench, q_bench, ql_bench, two_afc
from eyechart.evaluators.tasks.task import Task
from eyechart.evaluators.tasks.task_file import TASK_FILES, read_tasks
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import headline, spec, specs_of

TASKS: tuple[Task, ...] = (
    q_bench.PERCEPTION,
    q_bench.PERCEPTION_PAIRS,
    q_bench.DESCRIPTION,
    q_bench.ASSESSMENT,
    mmbench.EN,
    mmbench.CN,
    mmbench.EN_V11,
    mmbench.CN_V11,
    mmbench.CC,
    ql_bench.SINGLE,
    ql_bench.PAIR,
    aes_bench.PERCEPTION,
    aes_bench.EMPATHY,
    aes_bench.ASSESSMENT,
    aes_bench.INTERPRETATION,
    two_afc.COARSE,
    two_afc.FINE_LEVELS,
    two_afc.FINE_TYPES,
    two_afc.FINE_MOS,
)
MORE = "more"
"""Folder of task files for further benchmarks, and first part of their names; "all" does not include them."""


@cache
def more_tasks() -> dict[str, Task]:
    """The tasks of these files by name."""
    files = sorted((Path(__file__).parent / MORE).glob("*.yaml"))
    return {task.name: task for file in files for task in read_tasks(file)}


def known_task(name: str) -> Task | None:
    """The built-in task with this name; None for a user's own task."""
    return next((task for task in TASKS if task.name == name), None)


def get_task(name: str) -> Task:
    """The task with exactly this name; raises UsageError for an unknown name."""
    if (task := known_task(name) or more_tasks().get(name)) is None:
        raise unknown_name("task", name, [task.name for task in TASKS], instead="`eyechart tasks` lists all")
    return task


def find_tasks(name: str) -> list[Task]:
    """The tasks of a task file, or those that a name means (`match_tasks`); raises UsageError if there are none."""
    if Path(name).suffix not in TASK_FILES:
        names = more_tasks() if _plain(name).startswith(MORE) else [task.name for task in TASKS]
        return [get_task(match) for match in match_tasks([name], names)]
    tasks = read_tasks(Path(name))
    for task in tasks:
        if known_task(task.name) is not None or task.name in (*more_tasks(), *DATASETS):
            raise UsageError(f"{name}: {task.name!r} is the name of an eyechart task or dataset; choose another name")
        if not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)*", task.name):
            allowed = "letters, digits, '_', '-' and '.', with '/' between parts"
            raise UsageError(f"{name}: name {task.name!r} is not allowed; use {allowed}")
        keys = [score.key for score in specs_of(task.metric) if score.in_table]
        if task.headline and task.headline not in keys:
            raise UsageError(f"{name}: {unknown_name('headline', task.headline, keys, f'of {task.name}')}")
    return tasks


def find_task(name: str) -> Task:
    """The one task that a name or a task file means; raises UsageError like `find_tasks`, and for several tasks."""
    tasks = find_tasks(name)
    if len(tasks) > 1:
        raise UsageError(f"{name!r} means {len(tasks)} tasks; name one of: {', '.join(task.name for task in tasks)}")
    return tasks[0]


def headline_of(task: Task) -> ScoreSpec:
    """The headline score of a task: its own choice, or its metric's."""
    return spec(task.headline, task.metric) if task.headline else headline(task.metric)


class Paper(NamedTuple):
    """A paper, or a benchmark of your own."""

    name: str
    citation: str
    """Authors and venue; "" for a benchmark of your own."""


def paper_of(task: str) -> Paper:
    """The paper of a task; for a task of your own, its benchmark: its name up to the first slash.

    Examples:
        >>> paper_of("q_bench/perception"), paper_of("my_photos")
        (Paper(name='Q-Bench', citation='Wu et al., ICLR 2024'), Paper(name='my_photos', citation=''))
    """
    benchmark = task.partition("/")[0]
    if (first := more_tasks().get(task)) is None and known_task(task) is None:
        return Paper(benchmark, "")
    first = first or next(other for other in TASKS if other.name.startswith(f"{benchmark}/"))
    name, _, rest = first.paper.partition(" (")
    return Paper(name, rest.partition(")")[0])


def task_title(name: str) -> str:
    """The title of a task within its paper or benchmark; "" for one that is a whole benchmark."""
    if name in more_tasks():
        return ""
    task = known_task(name)
    return name.partition("/")[2] if task is None else task.title


def dataset_title(name: str) -> str:
    """The name of a dataset in the papers; of your own data, the name itself."""
    return (DATASETS[name].title if name in DATASETS else "") or name


def split_names(given: Iterable[str]) -> list[str]:
    """Names, each once; commas separate several names, except in the path of a file.

    Examples:
        >>> split_names(["q_bench,two_afc", "q_bench"])
        ['q_bench', 'two_afc']
    """
    parts = [part for name in given for part in ([name] if Path(name).exists() else name.split(","))]
    return list(dict.fromkeys(part.strip() for part in parts))


def match_tasks(given: Sequence[str], known: Iterable[str], where: str = "") -> list[str]:
    """The tasks that a user names, each once, in the order in which they are named; all if `given` is empty.

    Names are those of tasks or papers, `all`, ones with the wildcards `*`, `?` and `[]`, or several with commas; case,
    `-`, `_` and blanks make no difference. Raises UsageError for a name that means no task; `where`, such as "in these
    runs", is for the message.

    Examples:
        >>> match_tasks(["AesBench", "*/EN"], ["mmbench/en", "mmbench/cn", "aes_bench/empathy"])
        ['aes_bench/empathy', 'mmbench/en']
    """
    tasks, matches = list(dict.fromkeys(known)), []
    papers = list(dict.fromkeys(task.partition("/")[0] for task in tasks if "/" in task))
    for name in split_names(given) or ["all"]:
        wanted = "*" if _plain(name) == "all" else _plain(name)
        matching = [name] if name in tasks else [task for task in tasks if fnmatchcase(_plain(task), wanted)]
        matching = matching or [
            task for task in tasks if wanted in map(_plain, (task.partition("/")[0], paper_of(task).name))
        ]
        if not matching and not where and name in DATASETS:
            raise UsageError(f"{name!r} is a dataset, not a task; to run the tasks on it, use --dataset {name}")
        if not matching and wanted != "*":
            is_listed = where or len(papers) == 1
            available = ", ".join(tasks) if is_listed else f"{', '.join(papers)}; `eyechart tasks` lists all tasks"
            raise unknown_name("task", name, [*papers, *tasks], where, instead=f"available: {available}")
        matches += matching
    return list(dict.fromkeys(matches))


def _plain(name: str) -> str:
    return "".join(character for character in name.casefold() if character not in "-_ ")
