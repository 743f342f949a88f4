"""Reading YAML that others wrote: of bounded size and depth, without duplicate keys; every error names its place."""

import re
from typing import Any

import yaml

MAX_DEPTH = 100
MAX_VALUES = 250_000
"""With what aliases repeat; the longest model cards have about 100,000."""
_PLAIN = {
    int: re.compile(r"[-+]?(0|[1-9][0-9_]*|0x[0-9a-fA-F]+)"),
    float: re.compile(r"[^:]+"),
    bool: re.compile("true|false", re.IGNORECASE),
}
"""Values that mean what authors expect: YAML 1.1 reads 010 as 8, 1:30 as 90 and no as false."""


def read_yaml(text: str) -> Any:
    """The value of a YAML document; `ValueError` with the place, on one line, if it is malformed or too large."""
    loader = mark = None
    try:
        loader = _Loader(text)
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(filter(None, (error.context, error.problem)))
    # The scanner raises ValueError for an impossible character.
    except (yaml.YAMLError, ValueError) as error:
        mark, reason = loader and loader.get_mark(), " ".join(str(error).split())
    raise ValueError(f"line {mark.line + 1}, column {mark.column + 1}: {reason}" if mark else reason)


class _Loader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._values = 0
        self._repeated: dict[str, int] = {}
        """The number of values of each complete anchor."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event, before = self.peek_event(), self._values
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in self.anchors and event.anchor not in self._repeated:
                _refuse(f"the alias {event.anchor!r} is within its own value", event)
            self._values += self._repeated.get(event.anchor, 0)
        self._values += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            _refuse(f"nested more than {MAX_DEPTH} levels deep", event)
        if self._values > MAX_VALUES:
            _refuse(f"more than {MAX_VALUES:,} values, including those that aliases repeat", event)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if event.anchor is not None:
            self._repeated[event.anchor] = self._values - before
        return node

    def compose_mapping_node(self, anchor: Any) -> Any:
        node, names = super().compose_mapping_node(anchor), set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in names:
                _refuse(f"found the key {key.value!r:.80} a second time", key)
            names.add(key.value if isinstance(key, yaml.ScalarNode) else key)
        return node

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
            if (plain := _PLAIN.get(type(value))) and not plain.fullmatch(node.value):
                other = f"{node.value!r:.40} means {value} in YAML 1.1; put it in quotes, or write {value!s:.40}"
                _refuse(other.replace("True", "true").replace("False", "false"), node)
            return value
        except yaml.YAMLError:
            raise
        # PyYAML raises whatever a value led it to: ValueError, AttributeError, KeyError, ...
        except Exception as error:
            kind, known = node.tag.rpartition(":")[2], isinstance(error, ValueError | OverflowError)
            _refuse(str(error) if known else f"{node.value!r:.40} is not a valid {kind}", node)


def _refuse(problem: str, place: Any) -> None:
    raise yaml.constructor.ConstructorError(None, None, problem, place.start_mark)
