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
from collections.abc import Iterable
from pathlib import Path
from string import Formatter, ascii_uppercase
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eyechart.datasets_scripts.common.errors import UsageError, missing_column, unknown_name
from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.protocols.protocol import DEFAULT, PromptFunction, Protocol
from eyechart.evaluators.protocols.quality.word_pairs import WordPair
from eyechart.evaluators.protocols.settings import with_settings
from eyechart.evaluators.requests.types import IMAGE, Prompt, Row
from eyechart.evaluators.tasks.python_file import data_path, image_folder, read_python
from eyechart.evaluators.tasks.task import Task, TaskData
from eyechart.evaluators.tasks.toolkit_prompts import VLMEVALKIT, vlmevalkit_prompt
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
    if path.suffix == ".py":
        return read_python(path)
    return [_from_yaml(path)]


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
    parts = _template_parts(template)

    def prompt(row: Row) -> Prompt:
        found: list[Any] = []
        for text, name in parts:
            found += [text] if text else []
            if name is not None:
                found += _filled(name, row)
        return tuple(_joined(found))

    return prompt


def _template_parts(template: str) -> list[tuple[str, str | None]]:
    """Pieces of text, each with the name of the column that follows it.

    Raises:
        UsageError: As for `prompt_function`.
    """
    try:
        parsed = list(Formatter().parse(template))
        if any(name == "" or form or conversion for _, name, form, conversion in parsed):
            raise ValueError("write a field as {column}, and literal braces as {{ and }}")
    except ValueError as error:
        raise UsageError(f"prompt {template!r} is not a valid template: {error}") from error
    return [(text, name) for text, name, _, _ in parsed]


def _filled(name: str, row: Row) -> list[Any]:
    if name == "image":
        return [IMAGE]
    if name == "images":
        return [IMAGE] * len(row["images"] if "images" in row else [row["image"]])
    if name == "options" and name in row:
        return ["\n".join(f"{letter}. {one}" for letter, one in zip(ascii_uppercase, row["options"], strict=False))]
    if name not in row:
        # Not the fault of this row: all rows have the same columns.
        raise UsageError(f"prompt: {missing_column(name, row)}")
    return [str(row[name])]


def _joined(parts: Iterable[Any]) -> list[Any]:
    """Merge adjacent texts."""
    found: list[Any] = []
    for part in parts:
        if found and isinstance(part, str) and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return found


def _from_yaml(path: Path) -> Task:
    file = read_yaml(path, _File, "task file", {"tasks": f"a suite file: run it with --suite {path}"})
    try:
        return _task(file, path.parent)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _task(file: _File, folder: Path) -> Task:
    if file.protocol not in PROTOCOLS:
        raise unknown_name("protocol", file.protocol, PROTOCOLS)
    _check_prompt(file)
    digest = hashlib.sha256((file.prompt + file.blind_prompt).encode()).hexdigest()[:8]
    prompts = {DEFAULT: prompt_function(file.prompt)}
    if PROTOCOLS[file.protocol].kind == "multiple choice":
        prompts[VLMEVALKIT] = vlmevalkit_prompt
    given: dict[str, Any] = {"prompts": prompts, "prompt_id": f"{file.name}/{digest}"}
    if file.blind_prompt:
        given["blind_prompt"] = prompt_function(file.blind_prompt)
    if file.prefill:
        given["prefill"] = file.prefill
    if file.word_pairs:
        given["word_pairs"] = tuple(_word_pair(text) for text in file.word_pairs)
    try:
        protocol: Protocol = PROTOCOLS[file.protocol](**given)
    except ValidationError as error:
        names = ", ".join(str(item["loc"][0]) for item in error.errors() if item["loc"])
        raise UsageError(f"protocol {file.protocol} does not take {names}") from error
    return Task(
        name=file.name,
        data=TaskData(
            datasets=(file.name,),
            config=file.data.config,
            path=data_path(file.data.path, folder),
            split=file.data.split,
            images=image_folder(file.data.images, folder),
            columns=file.columns,
        ),
        protocol=with_settings(protocol, file.settings, file.name),
        groups=tuple(file.groups),
        cluster=file.cluster,
        description=file.description,
        paper=file.paper,
        note=file.note,
    )


def _check_prompt(file: _File) -> None:
    """Refuse a prompt, cluster or groups that do not fit the protocol.

    Raises:
        UsageError: The template is malformed, shows a label, or lacks the images; it lacks options that the protocol
            has, or shows options that it does not have; or `cluster` or `groups` would have no effect.
    """
    protocol = PROTOCOLS[file.protocol]
    shown, blind = ({name for _, name in _template_parts(text) if name} for text in (file.prompt, file.blind_prompt))
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
    positive, slash, negative = text.partition("/")
    words = [part.strip() for part in (*positive.split("+"), *negative.split("+"))]
    if not (slash and all(words)) or len(set(words)) < len(words):
        raise UsageError(
            f"word_pairs: expected a pair of different words, such as good/poor or good+fine/poor+bad; found {text!r}"
        )
    n_positive = positive.count("+") + 1
    return WordPair(tuple(words[:n_positive]), tuple(words[n_positive:]))
