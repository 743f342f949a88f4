"""Read and check the YAML files that users write."""

from collections.abc import Hashable
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
    """Refuses aliases, duplicate keys, of which PyYAML silently keeps the last, and values such as 2026-02-31.

    A few lines of nested aliases can expand to more values than fit into memory.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            _refuse(f"found the alias {event.anchor!r}; write the value in its place", event)
        return super().compose_node(parent, index)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError) as error:
            _refuse(f"found {node.value!s:.40}, which is not valid ({error}); put text in quotes", node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for name in {name for name in names if names.count(name) > 1}:
            _refuse(f"found the key {name!r} a second time", node)
        return super().construct_mapping(node, deep)


def _refuse(problem: str, node: Any) -> None:
    raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def read_yaml(path: Path, form: type[M], what: str) -> M:
    """The contents of a YAML file.

    Args:
        path: The file.
        form: The pydantic model of its contents.
        what: The kind of file, for error messages.

    Raises:
        UsageError: The file cannot be read, is not valid YAML, or is malformed; the message names the places.
    """
    try:
        with open_regular(path, _MAX_BYTES) as file:
            contents = yaml.load(file.read().decode("utf-8"), Loader=_Loader)
        return form.model_validate(contents)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the {what} {path} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not valid YAML: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path} is nested too deeply for a {what}") from error
    except ValidationError as error:
        raise UsageError(f"{path}: {misfits(error, form)}") from error
