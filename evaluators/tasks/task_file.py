r"""Your own tasks as files: YAML as below, or Python with `TASK = Task(...)` or `TASKS = [...]`.

::

    name: seed_bench
    protocol: multiple_choice    # circular_eval, self_awareness, description, quality_assessment, paired_comparison
    data: {path: lmms-lab/SEED-Bench, split: test}   # a Hub id, folder, .parquet, .jsonl, .tsv or .csv
    columns: {id: question_id, images: image, options: [choice_a, choice_b, choice_c, choice_d]}
    prompt: "{images}\n{question}\n{options}\nAnswer with the letter of the right option."
    blind_prompt: "{question}\n{options}"   # optional; by default, --blind runs use prompt without its images
    groups: [data_type]
    settings: {max_new_tokens: 64}   # optional; `eyechart tasks FILE` lists them
"""

import hashlib
import runpy
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from string import Formatter
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eyechart.datasets_scripts.common.errors import EyechartError, UsageError, missing_column, unknown_name
from eyechart.datasets_scripts.own_data.sources import FILES
from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.protocols.misfits import misfits
from eyechart.evaluators.protocols.protocol import DEFAULT, PromptFunction, Protocol
from eyechart.evaluators.protocols.quality.word_pairs import WordPair
from eyechart.evaluators.protocols.settings import with_settings
from eyechart.evaluators.requests.types import IMAGE, Prompt, Row
from eyechart.evaluators.requests.values import brief
from eyechart.evaluators.tasks.task import Task, TaskData
from eyechart.evaluators.tasks.toolkit_prompts import VLMEVALKIT, listed_options, vlmevalkit_prompt
from eyechart.evaluators.tasks.yaml_file import read_yaml

_LABELS = ("answer", "refusal", "quality", "first_quality", "second_quality", "winner", "description")
"""Columns that contain labels."""
TASK_FILES = (".yaml", ".yml", ".py")
"""Suffixes of task files."""


class _Data(BaseModel):
    """Where the data are."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: str = Field(min_length=1)
    """A Hub id, folder, .parquet, .jsonl, .tsv or .csv; a relative path starts from the task file's folder."""
    split: str | None = None
    config: str | None = None
    images: str | None = None
    """The folder to which paths of images are relative, itself relative to the task file."""


class _File(BaseModel):
    """The contents of a task file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(min_length=1)
    protocol: str
    data: _Data
    prompt: str = Field(min_length=1)
    blind_prompt: str = ""
    """The prompt without images, if the text of `prompt` mentions them; for multiple choice."""
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
    """The tasks of a file.

    Raises:
        UsageError: The file cannot be read or is malformed; the message names the place and what was expected.
    """
    if not path.is_file():
        raise UsageError(f"the task file {path} does not exist")
    try:
        return _from_python(path) if path.suffix == ".py" else [_from_yaml(path)]
    except ValidationError as error:
        forms: list[type] = [Task, TaskData, *PROTOCOLS.values()]
        form = next((form for form in forms if form.__name__ == error.title), Protocol)
        raise UsageError(f"{path}: {error.title}: {misfits(error, form)}") from error
    except EyechartError as error:
        raise UsageError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error


def prompt_function(template: str) -> PromptFunction:
    """The prompt function of a template.

    Args:
        template: Text with `{images}` (all images of the row), `{image}` (the first image; the second one where it
            is written again, and so on), `{options}` (lettered, one per line) and `{column}` for any other column;
            `{{` is a literal brace.

    Raises:
        UsageError: The braces do not match, or contain something other than a column name.

    Examples:
        >>> prompt_function("{image} {question}")({"question": "Which?", "images": [0]})
        (<ImagePlace.IMAGE: 'image'>, ' Which?')
    """
    pieces = _pieces(template)

    def prompt(row: Row) -> Prompt:
        parts = [part for text, name in pieces for part in (text, *_filled(name, row))]
        return tuple(_merged(parts))

    return prompt


def _pieces(template: str) -> list[tuple[str, str | None]]:
    """Pieces of text, each with the name of the column that follows it."""
    try:
        parsed = list(Formatter().parse(template))
        if any(name == "" or form or conversion for _, name, form, conversion in parsed):
            raise ValueError("write a field as {column}, and literal braces as {{ and }}")
    except ValueError as error:
        raise UsageError(f"prompt {template!r} is not a valid template: {error}") from error
    return [(text, name) for text, name, _, _ in parsed]


def _filled(name: str | None, row: Row) -> Prompt:
    if name is None:
        return ()
    if name == "image":
        return (IMAGE,)
    if name == "images":
        return (IMAGE,) * len(row["images"] if "images" in row else [row["image"]])
    if name not in row:
        # Not the fault of this row: all rows have the same columns.
        raise UsageError(f"prompt: {missing_column(name, row)}")
    return (listed_options(row) if name == "options" else str(row[name]),)


def _merged(parts: Iterable[Any]) -> Iterator[Any]:
    """The parts with adjacent texts as one, and without empty texts."""
    for is_text, group in groupby(parts, lambda part: isinstance(part, str)):
        if not is_text:
            yield from group
        elif text := "".join(group):
            yield text


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
    return [_placed(task, path) for task in tasks]


def _placed(task: Task, file: Path) -> Task:
    """A task of a Python file, with its paths relative to the file, and prompts whose errors are not those of a row."""
    data = task.data
    if data.path is not None:
        images = _image_folder(data.images, file.parent)
        data = replace(data, datasets=(task.name,), path=_data_path(data.path, file.parent), images=images)
    elif not data.datasets:
        raise UsageError(f"data of {task.name}: missing path or datasets")
    what = f"{file}: the prompt of {task.name}"
    changes: dict[str, Any] = {"prompts": {key: _checked(ask, what) for key, ask in task.protocol.prompts.items()}}
    for name in ("open_prompt", "blind_prompt"):
        if (ask := getattr(task.protocol, name, None)) is not None:
            changes[name] = _checked(ask, what)
    return replace(task, data=data, protocol=replace(task.protocol, **changes))


def _checked(ask: PromptFunction, what: str) -> PromptFunction:
    def prompt(row: Row) -> Prompt:
        try:
            parts = ask(row)
        except KeyError as error:
            raise UsageError(f"{what}: {missing_column(str(error.args[0]), row)}") from error
        except Exception as error:
            where = f"{what} fails on row {row.get('id')!r}"
            raise UsageError(f"{where}: {type(error).__name__}: {error}") from error
        is_list = isinstance(parts, tuple | list) and parts
        if not is_list or not all(part is IMAGE or isinstance(part, str) for part in parts):
            raise UsageError(
                f"{what} returns {brief(parts)}; expected a tuple of strings and IMAGE, as (IMAGE, 'Which?')"
            )
        return tuple(parts)

    return prompt


def _data_path(path: str, folder: Path) -> str:
    """A path relative to the task file; one that neither exists nor has a file's suffix is a Hub id."""
    file = folder / Path(path).expanduser()
    return str(file) if file.exists() or file.suffix in FILES else path


def _image_folder(images: str | None, folder: Path) -> str | None:
    return None if images is None else str(folder / Path(images).expanduser())


def _from_yaml(path: Path) -> Task:
    file = read_yaml(path, _File, "task file")
    if file.protocol not in PROTOCOLS:
        raise unknown_name("protocol", file.protocol, PROTOCOLS)
    protocol = PROTOCOLS[file.protocol]
    _check_prompt(file, protocol)
    prompts = {DEFAULT: prompt_function(file.prompt)}
    if protocol.kind == "multiple choice":
        prompts[VLMEVALKIT] = vlmevalkit_prompt
    optional = {
        "blind_prompt": prompt_function(file.blind_prompt) if file.blind_prompt else None,
        "prefill": file.prefill,
        "word_pairs": tuple(map(_word_pair, file.word_pairs)),
    }
    digest = hashlib.sha256((file.prompt + file.blind_prompt).encode()).hexdigest()[:8]
    given: dict[str, Any] = {name: value for name, value in optional.items() if value}
    if unknown := given.keys() - protocol.__pydantic_fields__.keys():  # type: ignore[attr-defined]
        raise UsageError(f"protocol {file.protocol} does not take {', '.join(sorted(unknown))}")
    return Task(
        name=file.name,
        data=TaskData(
            datasets=(file.name,),
            config=file.data.config,
            path=_data_path(file.data.path, path.parent),
            split=file.data.split,
            images=_image_folder(file.data.images, path.parent),
            columns=file.columns,
        ),
        protocol=with_settings(
            protocol(prompts=prompts, prompt_id=f"{file.name}/{digest}", **given), file.settings, file.name
        ),
        groups=tuple(file.groups),
        cluster=file.cluster,
        description=file.description,
        paper=file.paper,
        note=file.note,
    )


def _check_prompt(file: _File, protocol: type[Protocol]) -> None:
    """Refuse a prompt, cluster or groups that do not fit the protocol."""
    shown, blind = ({name for _, name in _pieces(text) if name} for text in (file.prompt, file.blind_prompt))
    if labels := [name for name in _LABELS if name in shown | blind]:
        raise UsageError(f"prompt: {{{labels[0]}}} would show the label to the model; leave it out")
    if file.blind_prompt and (not blind.isdisjoint(("image", "images")) or "options" not in blind):
        raise UsageError("blind_prompt: must contain {options}, and neither {image} nor {images}")
    if shown.isdisjoint(("image", "images")):
        raise UsageError("prompt: the images are missing; write {images}, or {image} once for each image")
    shows_options = "options" in shown
    if shows_options != (protocol.kind == "multiple choice"):
        wanted = "needs {options}" if not shows_options else "has no options; leave out {options}"
        raise UsageError(f"prompt: {file.protocol} {wanted}")
    if file.cluster and not protocol.shares_images:
        raise UsageError(f"cluster: intervals of {file.protocol} already allow for shared images; leave cluster out")
    if file.groups and not protocol.has_groups:
        raise UsageError(f"groups: {file.protocol} is broken down only by the column 'pool'; leave groups out")


def _word_pair(text: str) -> WordPair:
    sides = [tuple(word.strip() for word in side.split("+")) for side in text.split("/")]
    words = [word for side in sides for word in side]
    if len(sides) != 2 or not all(words) or len(set(words)) < len(words):
        raise UsageError(
            f"word_pairs: expected a pair of different words, such as good/poor or good+fine/poor+bad; found {text!r}"
        )
    return WordPair(*sides)
