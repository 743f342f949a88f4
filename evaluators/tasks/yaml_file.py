"""Reading the YAML files that users write, task files and suite files, checked as a whole."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.protocols.misfits import misfits

M = TypeVar("M", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """Refuses equal keys, of which PyYAML silently keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping.

        Raises:
            ConstructorError: A key is there twice.
        """
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                problem = f"found the key {key.value!r} for the second time"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, form: type[M], what: str, others: Mapping[str, str]) -> M:
    """The contents of a YAML file.

    Args:
        path: The file.
        form: What it must hold.
        what: What such a file is called, for errors.
        others: By a key that only files of another kind have, which kind that is.

    Raises:
        UsageError: The file cannot be read, is not YAML, or has another form; the message names the places.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the {what} {path} cannot be read: {error}") from error
    try:
        contents = yaml.load(text, Loader=_Loader)
        for key, kind in others.items() if isinstance(contents, dict) else ():
            if key in contents:
                raise UsageError(f"{path} is not a {what} but {kind}")
        return form.model_validate(contents)
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path} is too deeply nested for a {what}") from error
    except ValidationError as error:
        raise UsageError(f"{path}: {'; '.join(misfits(error, form, contents))}") from error
