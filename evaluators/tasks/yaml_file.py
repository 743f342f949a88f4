"""Read and check the YAML files that users write: task files and suite files."""

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
    """Refuses duplicate keys, of which PyYAML silently keeps the last, and nested aliases.

    A few lines of nested aliases can expand to more values than fit into memory.
    """

    def __init__(self, text: str) -> None:
        """Begin with no open anchor."""
        super().__init__(text)
        self._anchors = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """The next node.

        Raises:
            ComposerError: It is an alias inside an anchored value.
        """
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) and self._anchors:
            problem = f"found the alias {event.anchor!r} inside an anchored value; write the value in its place"
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        is_anchored = not isinstance(event, yaml.AliasEvent) and event.anchor is not None
        self._anchors += is_anchored
        node = super().compose_node(parent, index)
        self._anchors -= is_anchored
        return node

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """The value of a node.

        Raises:
            ConstructorError: It looks like a date or a number but is not a valid one, such as 2026-02-31.
        """
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError) as error:
            problem = f"found {node.value!s:.40}, which is not valid ({error}); put text in quotes"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping.

        Raises:
            ConstructorError: A key appears twice.
        """
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                problem = f"found the key {key.value!r} a second time"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, form: type[M], what: str, others: Mapping[str, str]) -> M:
    """The contents of a YAML file.

    Args:
        path: The file.
        form: The pydantic model of its contents.
        what: The kind of file, for error messages.
        others: Keys that only other kinds of files have, each with a description of that kind.

    Raises:
        UsageError: The file cannot be read, is not valid YAML, or is malformed; the message names the places.
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
        raise UsageError(f"{path} is not valid YAML: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path} is nested too deeply for a {what}") from error
    except ValidationError as error:
        raise UsageError(f"{path}: {'; '.join(misfits(error, form, contents))}") from error
