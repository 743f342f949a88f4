"""Reading the YAML files that users write, task files and suite files, checked as a whole."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.paths import open_regular
from eyechart.evaluators.protocols.misfits import misfits

_MAX_BYTES = 10_000_000
M = TypeVar("M", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """Refuses equal keys, of which PyYAML silently keeps the last, and aliases that repeat other aliases.

    Some lines of the latter stand for more values than any memory holds.
    """

    def __init__(self, text: str) -> None:
        """No anchor is open."""
        super().__init__(text)
        self._anchors = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """The next node.

        Raises:
            ComposerError: It is an alias in what another alias repeats.
        """
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) and self._anchors:
            problem = f"found the alias {event.anchor!r} within what has an anchor itself; write it out"
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        is_anchored = not isinstance(event, yaml.AliasEvent) and event.anchor is not None
        self._anchors += is_anchored
        node = super().compose_node(parent, index)
        self._anchors -= is_anchored
        return node

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """The value of a node.

        Raises:
            ConstructorError: It looks like a date or a number and is not a valid one, such as 2026-02-31.
        """
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError) as error:
            problem = f"found {node.value!s:.40}, which is not allowed ({error}); put a text into quotes"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error

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
        with open_regular(path, _MAX_BYTES) as file:
            text = file.read().decode("utf-8")
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
