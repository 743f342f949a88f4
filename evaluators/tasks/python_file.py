"""Your own tasks as Python files, which define `TASK = Task(...)` or `TASKS = [...]`."""

import math
import runpy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from eyechart.datasets_scripts.common.errors import EyechartError, UsageError, missing_column
from eyechart.datasets_scripts.own_data.sources import FILES
from eyechart.evaluators.protocols import PROTOCOLS, Description, MultipleChoice
from eyechart.evaluators.protocols.misfits import arguments_of, misfits
from eyechart.evaluators.protocols.protocol import PromptFunction, Protocol
from eyechart.evaluators.requests.types import IMAGE, Prompt, Row
from eyechart.evaluators.requests.values import brief
from eyechart.evaluators.tasks.task import Task, TaskData

_FIELDS = {"name": str, "data": TaskData, "protocol": Protocol, "groups": tuple, "headline": str}
_FIELDS |= {"score_range": tuple}
_DATA_FIELDS = {"datasets": tuple, "splits": tuple, "path": str | None, "split": str | None, "columns": Mapping}
_DATA_FIELDS |= {"images": str | None}
_FURTHER_PROMPTS = ("open_prompt", "blind_prompt")


def read_python(path: Path) -> list[Task]:
    """Run a Python file and return its tasks.

    Raises:
        UsageError: The file cannot be run, defines no task, or a task is malformed.
    """
    try:
        found = runpy.run_path(str(path))
        tasks = [*found.get("TASKS", []), *([found["TASK"]] if "TASK" in found else [])]
    except ValidationError as error:
        form = next((one for one in PROTOCOLS.values() if one.__name__ == error.title), Protocol)
        problems = "; ".join(misfits(error, form, arguments_of(error)))
        raise UsageError(f"{path}: {error.title}: {problems}") from error
    except EyechartError as error:
        raise UsageError(f"{path}: {error}") from error
    # The file may raise anything; the user needs to know which file did.
    except (Exception, SystemExit) as error:
        raise UsageError(f"the task file {path} cannot be run: {type(error).__name__}: {error}") from error
    if not tasks or not all(isinstance(task, Task) for task in tasks):
        raise UsageError(f"the task file {path} must define TASK = Task(...) or TASKS = [Task(...), ...]")
    return [_checked_task(task, path) for task in tasks]


def data_path(path: str, folder: Path) -> str:
    """The path of data, relative to the task file; a path that neither exists nor has a file's suffix is a Hub id."""
    found = folder / Path(path).expanduser()
    return str(found) if found.exists() or found.suffix in FILES else path


def image_folder(images: str | None, folder: Path) -> str | None:
    """The folder of images, relative to the task file."""
    return None if images is None else str(folder / Path(images).expanduser())


def _checked_task(task: Task, file: Path) -> Task:
    _check_fields(task, _FIELDS, f"{file}: task {task.name}")
    _check_fields(task.data, _DATA_FIELDS, f"{file}: data of {task.name}")
    _check_scoring(task, f"{file}: task {task.name}")
    data = task.data
    if data.path is None and not data.datasets:
        raise UsageError(f"{file}: data of {task.name}: missing path or datasets")
    if data.path is not None:
        data = replace(data, datasets=(task.name,), path=data_path(data.path, file.parent))
        data = replace(data, images=image_folder(data.images, file.parent))
    what = f"{file}: the prompt of {task.name}"
    changed: dict[str, object] = {
        "prompts": {name: _checked_prompt(ask, what) for name, ask in task.protocol.prompts.items()}
    }
    for name in _FURTHER_PROMPTS:
        if (ask := getattr(task.protocol, name, None)) is not None:
            changed[name] = _checked_prompt(ask, what)
    return replace(task, data=data, protocol=replace(task.protocol, **changed))


def _check_scoring(task: Task, what: str) -> None:
    """Refuse a scoring function for replies that are not single texts, and a wrong range."""
    if not (task.score is None or callable(task.score)):
        raise UsageError(f"{what}: score must be a function; found {brief(task.score)}")
    if task.score is not None and type(task.protocol) not in (MultipleChoice, Description):
        raise UsageError(
            f"{what}: score= works with the protocols MultipleChoice and Description, which ask for one text; the "
            f"protocol is {type(task.protocol).__name__}"
        )
    numbers = [one for one in task.score_range if isinstance(one, int | float) and math.isfinite(one)]
    if len(numbers) != 2 or len(task.score_range) != 2 or numbers[0] >= numbers[1]:
        raise UsageError(f"{what}: score_range must be (lowest, highest), such as (0, 1); found {task.score_range}")


def _check_fields(value: object, fields: Mapping[str, object], what: str) -> None:
    for name, kind in fields.items():
        given = getattr(value, name)
        if not isinstance(given, kind):  # type: ignore[arg-type]
            expected = getattr(kind, "__name__", "str").replace("str", "string")
            raise UsageError(f"{what}: {name} must be a {expected}; found {brief(given)}")


def _checked_prompt(ask: PromptFunction, what: str) -> PromptFunction:
    """The prompt function with its errors as `UsageError`: they are not the fault of a single row."""

    def prompt(row: Row) -> Prompt:
        try:
            made = ask(row)
        except KeyError as error:
            raise UsageError(f"{what}: {missing_column(str(error.args[0]), row)}") from error
        except Exception as error:
            where = f"{what} fails on row {row.get('id')!r}"
            raise UsageError(f"{where}: {type(error).__name__}: {error}") from error
        is_list = isinstance(made, tuple | list) and made
        if not is_list or not all(part is IMAGE or isinstance(part, str) for part in made):
            raise UsageError(
                f"{what} returns {brief(made)}; expected a tuple of strings and IMAGE, as (IMAGE, 'Which?')"
            )
        return tuple(made)

    return prompt
