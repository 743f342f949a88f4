"""The names of the papers and of their tasks, as reports and leaderboards show them and as users write them."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.published import published_tables

TASK_TITLES = {
    "q_bench/perception": "A1 Perception",
    "q_bench/perception_pairs": "A1 Perception of pairs",
    "q_bench/description": "A2 Description",
    "q_bench/assessment": "A3 Assessment",
    "mmbench/en": "English",
    "mmbench/cn": "Chinese",
    "mmbench/en_v11": "English, version 1.1",
    "mmbench/cn_v11": "Chinese, version 1.1",
    "mmbench/cc": "CCBench",
    "ql_bench/single": "Single images",
    "ql_bench/pair": "Pairs",
    "aes_bench/perception": "AesP Perception",
    "aes_bench/empathy": "AesE Empathy",
    "aes_bench/assessment": "AesA Assessment",
    "aes_bench/interpretation": "AesI Interpretation",
    "two_afc/coarse": "Coarse pairs",
    "two_afc/fine_levels": "Fine pairs, levels",
    "two_afc/fine_types": "Fine pairs, types",
    "two_afc/fine_mos": "Fine pairs, opinion scores",
}


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
    if task not in TASK_TITLES:
        return Paper(task.partition("/")[0], "")
    lead = f"{task.partition('/')[0]}/"
    full = next(table.paper for table in published_tables().values() if table.board.startswith(lead))
    name, _, citation = full.partition(" (")
    return Paper(name, citation.removesuffix(")"))


def task_title(task: str) -> str:
    """The title of a task within its paper or benchmark; "" for a task of your own that is a whole benchmark."""
    return TASK_TITLES.get(task, task.partition("/")[2])


def full_title(task: str) -> str:
    """The title of a task across papers; for a task of your own, its name.

    Examples:
        >>> full_title("q_bench/perception"), full_title("my_photos")
        ('Q-Bench A1 Perception', 'my_photos')
    """
    return f"{paper_of(task).name} {task_title(task)}" if task in TASK_TITLES else task


def split_names(given: Iterable[str]) -> list[str]:
    """Names, each once; commas separate several names, except in the path of a file.

    Examples:
        >>> split_names(["q_bench,two_afc", "q_bench"])
        ['q_bench', 'two_afc']
    """
    parts = [part for name in given for part in ([name] if Path(name).exists() else name.split(","))]
    return list(dict.fromkeys(part.strip() for part in parts))


def match_tasks(given: Sequence[str], known: Iterable[str], where: str = "") -> list[str]:
    """The tasks that a user names; case, `-`, `_` and blanks make no difference.

    Args:
        given: Names of tasks or papers, `all`, names with the wildcards `*`, `?` and `[]`, or several with commas.
        known: The tasks that exist.
        where: Where they exist, for errors, such as "in these runs".

    Returns:
        The tasks, each once, in the order in which they are named; all if `given` is empty.

    Raises:
        UsageError: A name means no task; the message suggests one, or lists all.

    Examples:
        >>> match_tasks(["AesBench", "*/EN"], ["mmbench/en", "mmbench/cn", "aes_bench/empathy"])
        ['aes_bench/empathy', 'mmbench/en']
    """
    names = list(dict.fromkeys(known))
    return list(dict.fromkeys(name for one in split_names(given) or ["all"] for name in _match(one, names, where)))


def _match(given: str, names: Sequence[str], where: str) -> list[str]:
    if given in names:
        return [given]
    wanted, papers = _plain(given), dict.fromkeys(name.partition("/")[0] for name in names if "/" in name)
    if wanted == "all":
        return list(names)
    if found := [name for name in names if fnmatchcase(_plain(name), wanted)]:
        return found
    if found := [name for name in names if wanted in map(_plain, (name.partition("/")[0], paper_of(name).name))]:
        return found
    available = ", ".join(names) or "none" if where else f"{', '.join(papers)}; `eyechart tasks` lists all tasks"
    if any(wildcard in given for wildcard in "*?["):
        raise UsageError(f"no task{where and f' {where}'} matches {given!r}; available: {available}")
    if not where and given in DATASETS:
        raise UsageError(f"{given!r} is a dataset, not a task; to run the tasks on it, use --dataset {given}")
    raise unknown_name("task", given, [*papers, *names], where, instead=f"available: {available}")


def _plain(name: str) -> str:
    return "".join(character for character in name.casefold() if character not in "-_ ")
