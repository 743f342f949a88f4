"""Your own tasks as files: YAML (see `docs/tutorial/own_benchmark.md`), or Python with `TASK` or `TASKS`."""

import hashlib
import re
import runpy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eyechart.datasets_scripts.common.errors import EyechartError, UsageError, missing_column, unknown_name
from eyechart.datasets_scripts.common.files.yaml_text import read_yaml
from eyechart.datasets_scripts.common.paths import open_regular
from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.protocols.protocol import DEFAULT, PromptFunction, Protocol
from eyechart.evaluators.protocols.quality_assessment import WordPair
from eyechart.evaluators.protocols.settings import misfits, with_settings
from eyechart.evaluators.requests.types import IMAGE, Prompt, Row
from eyechart.evaluators.requests.values import brief
from eyechart.evaluators.tasks.prompts import VLMEVALKIT, prompt_function, template_pieces, vlmevalkit_prompt
from eyechart.evaluators.tasks.task import ON_HUB, Task, TaskData

_LABELS = {
    "multiple choice": ("answer", "refusal"),
    "quality": ("quality", "released_score"),
    "pairs": ("first_quality", "second_quality", "first_released_score", "second_released_score", "winner"),
    "description": ("description",),
}
TASK_FILES = (".yaml", ".yml", ".py")


class _Data(BaseModel):
    """Where the data are; paths may be relative to the task file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: str = Field(min_length=1)
    split: str | None = None
    config: str | None = None
    images: str | None = None
    empty: list[str] = []
    """Texts that stand for an empty cell, such as "N/A"."""


class _File(BaseModel):
    """The contents of a YAML file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(min_length=1)
    protocol: str
    data: _Data
    prompt: str = Field(min_length=1)
    blind_prompt: str = ""
    """The prompt without images, if the text of `prompt` mentions them; for multiple choice."""
    hint: str = ""
    """Form of `{hint}` in the prompts, such as "Hint: {} "; rows without a hint have nothing in its place."""
    columns: dict[str, str | list[str] | dict[str, Any]] = {}
    groups: list[str] = []
    cluster: str = ""
    """Column whose equal values mark dependent rows; by default, rows with the same image depend on each other."""
    settings: dict[str, Any] = {}
    prefill: str = ""
    """Beginning of the reply, given to the model; for multiple choice and quality assessment."""
    word_pairs: list[str] = []
    """Words whose logits give the score, such as good/poor; for quality assessment."""
    description: str = ""
    paper: str = ""
    note: str = ""


def read_tasks(path: Path) -> list[Task]:
    """The tasks of a file; for a malformed one, raises UsageError, which names the place and what was expected."""
    if not path.is_file():
        raise UsageError(f"the task file {path} does not exist")
    try:
        tasks = _from_python(path) if path.suffix == ".py" else [_from_yaml(path)]
        return [_resolve(task, path.parent) for task in tasks]
    except ValidationError as error:
        forms: dict[str, type] = {form.__name__: form for form in (_File, Task, TaskData, *PROTOCOLS.values())}
        form = forms.get(error.title, Protocol)
        raise UsageError(f"{path}: {'' if form is _File else f'{error.title}: '}{misfits(error, form)}") from error
    except EyechartError as error:
        raise UsageError(f"{path}: {error}") from error


def _resolve(task: Task, folder: Path) -> Task:
    """A task with paths relative to the current folder, and with prompts whose errors are not those of a row."""
    # It imports `datasets`.
    from eyechart.datasets_scripts.own_data.sources import FILES

    data = task.data
    if data.path is not None:
        file = folder / Path(data.path).expanduser()
        # A path that neither exists nor has a file's suffix is a Hub id.
        is_here = not data.path.startswith(ON_HUB) and (file.exists() or file.suffix in FILES)
        path = str(file) if is_here else data.path
        images = None if data.images is None else str(folder / Path(data.images).expanduser())
        data = replace(data, datasets=(task.name,), path=path, images=images)
    elif not data.datasets:
        raise UsageError(f"data of {task.name}: missing path or datasets")
    changes: dict[str, Any] = {"prompts": {key: _checked(ask, task) for key, ask in task.protocol.prompts.items()}}
    for name in ("open_prompt", "blind_prompt"):
        if (ask := getattr(task.protocol, name, None)) is not None:
            changes[name] = _checked(ask, task)
    return replace(task, data=data, protocol=replace(task.protocol, **changes))


def _checked(ask: PromptFunction, task: Task) -> PromptFunction:
    """The prompt function without labels; its errors name the task: it is wrong for all rows, so none is left out."""
    labels = _label_names(task.data.columns, task.protocol.kind)

    def prompt(row: Row) -> Prompt:
        try:
            parts = ask({name: value for name, value in row.items() if name not in labels})
        except KeyError as error:
            if error.args[0] in labels:
                raise _shows_label(error.args[0]) from error
            raise UsageError(f"the prompt of {task.name}: {missing_column(str(error.args[0]), row)}") from error
        except Exception as error:
            where = f"the prompt of {task.name} fails on row {row.get('id')!r}"
            raise UsageError(f"{where}: {type(error).__name__}: {error}") from error
        is_list = isinstance(parts, tuple | list) and parts
        if not is_list or not all(part is IMAGE or isinstance(part, str) for part in parts):
            expected = "a tuple of strings and IMAGE, as (IMAGE, 'Which?')"
            raise UsageError(f"the prompt of {task.name} returns {brief(parts)}; expected {expected}")
        return tuple(parts)

    return prompt


def _from_python(path: Path) -> list[Task]:
    try:
        contents = runpy.run_path(str(path))
    except (ValidationError, EyechartError):
        raise
    # The file may raise anything; the user needs to know which file did.
    except (Exception, SystemExit) as error:
        raise UsageError(f"the task file cannot be run: {type(error).__name__}: {error}") from error
    tasks = [*contents.get("TASKS", []), *([contents["TASK"]] if "TASK" in contents else [])]
    if not tasks or not all(isinstance(task, Task) for task in tasks):
        raise UsageError("a task file must define TASK = Task(...) or TASKS = [Task(...), ...]")
    return tasks


def _from_yaml(path: Path) -> Task:
    file = _File.model_validate(_read_yaml(path))
    if file.protocol not in PROTOCOLS:
        raise unknown_name("protocol", file.protocol, PROTOCOLS)
    protocol = PROTOCOLS[file.protocol]
    _check_prompt(file, protocol)
    hint = file.hint or None
    prompts = {DEFAULT: prompt_function(file.prompt, hint=hint)}
    if protocol.kind == "multiple choice":
        prompts[VLMEVALKIT] = vlmevalkit_prompt
    optional = {
        "blind_prompt": prompt_function(file.blind_prompt, hint=hint) if file.blind_prompt else None,
        "prefill": file.prefill,
        "word_pairs": tuple(map(_word_pair, file.word_pairs)),
    }
    given: dict[str, Any] = {name: value for name, value in optional.items() if value}
    if unknown := given.keys() - protocol.__pydantic_fields__.keys():  # type: ignore[attr-defined]
        raise UsageError(f"protocol {file.protocol} does not take {', '.join(sorted(unknown))}")
    digest = hashlib.sha256((file.prompt + file.blind_prompt + file.hint).encode()).hexdigest()[:8]
    defaults = protocol(prompts=prompts, prompt_id=f"{file.name}/{digest}", **given)
    return Task(
        data=TaskData(**{**file.data.model_dump(), "empty": tuple(file.data.empty)}, columns=file.columns),
        protocol=with_settings(defaults, file.settings, file.name),
        **file.model_dump(include={"name", "groups", "cluster", "description", "paper", "note"}),
    )


def _check_prompt(file: _File, protocol: type[Protocol]) -> None:
    """Refuse a prompt, cluster or groups that do not fit the protocol."""
    shown, blind = ({name for _, name in template_pieces(text) if name} for text in (file.prompt, file.blind_prompt))
    if labels := sorted(_label_names(file.columns, protocol.kind) & (shown | blind)):
        raise _shows_label(labels[0])
    if file.hint and re.fullmatch(r"[^{}]*\{\}[^{}]*", file.hint) is None:
        raise UsageError(f"hint: write a text with one {{}} for the hint, such as 'Hint: {{}} '; found {file.hint!r}")
    images = {"image", "images"}
    if file.blind_prompt and (images & blind or "options" not in blind):
        raise UsageError("blind_prompt: must contain {options}, and neither {image} nor {images}")
    if not images & shown:
        raise UsageError("prompt: the images are missing; write {images}, or {image} once for each image")
    has_options = protocol.kind == "multiple choice"
    if ("options" in shown) != has_options:
        wanted = "needs {options}" if has_options else "has no options; leave out {options}"
        raise UsageError(f"prompt: {file.protocol} {wanted}")
    if file.cluster and not protocol.shares_images:
        raise UsageError(f"cluster: intervals of {file.protocol} already allow for shared images; leave cluster out")
    if file.groups and protocol.kind == "pairs":
        raise UsageError(f"groups: {file.protocol} is broken down only by the column 'pool'; leave groups out")


def _label_names(columns: Mapping[str, Any], kind: str) -> set[str]:
    """The names under which a row has its label: those of labels, and other names of the label's column."""

    def data_columns(role: str) -> set[str]:
        value = columns.get(role, role)
        value = value.get("column", role) if isinstance(value, Mapping) else value
        return {value} if isinstance(value, str) else set(value)

    of_label = {column for label in _LABELS[kind] for column in data_columns(label)}
    # One of the options may be the right answer, and it is shown as one of them.
    others = {role for role in columns if role != "options" and data_columns(role) & of_label}
    return others.union(of_label - columns.keys(), *_LABELS.values())


def _shows_label(name: str) -> UsageError:
    return UsageError(f"prompt: {{{name}}} would show the label to the model; leave it out")


def _word_pair(text: str) -> WordPair:
    sides = [tuple(word.strip() for word in side.split("+")) for side in text.split("/")]
    words = [word for side in sides for word in side]
    if len(sides) != 2 or not all(words) or len(set(words)) < len(words):
        expected = "a pair of different words, such as good/poor or good+fine/poor+bad"
        raise UsageError(f"word_pairs: expected {expected}; found {text!r}")
    return WordPair(*sides)


def _read_yaml(path: Path) -> Any:
    try:
        with open_regular(path, 10_000_000) as file:
            return read_yaml(file.read().decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the task file cannot be read: {error}") from error
    except ValueError as error:
        raise UsageError(f"not valid YAML: {error}") from error
