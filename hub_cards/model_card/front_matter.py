"""Changes only the `model-index` in a card's YAML metadata: order, comments and quoting of the rest stay.

The lines of the `model-index` are replaced, from its first to its last line as the parser reports them. The edited text
is parsed and compared with the intended metadata. If it differs (some styles, such as `{...}`, cannot be edited by
lines), the complete metadata are rewritten with the same values.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from eyechart.datasets_scripts.common.errors import DataError

_KEY = "model-index"
_FENCE = "---"


def split_card(text: str) -> tuple[str, str, str]:
    r"""Split a card: the text up to the metadata, the metadata, the rest. Without metadata, the first two are empty.

    Examples:
        >>> split_card("---\nlicense: mit\n---\n# Model\n")
        ('---\n', 'license: mit\n', '---\n# Model\n')
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    first = next((place for place, line in enumerate(lines) if line.strip()), 0)
    if lines[first].rstrip("\r\n") != _FENCE:
        return "", "", text
    ends = (place for place in range(first + 1, len(lines)) if lines[place].rstrip() == _FENCE)
    last = next(ends, None)
    if last is None:
        return "", "", text
    return "".join(lines[: first + 1]), "".join(lines[first + 1 : last]), "".join(lines[last:])


def with_results(
    metadata: str, model: str, entries: Sequence[Mapping[str, Any]], is_ours: Callable[[Any], bool]
) -> str:
    """Put entries into the `model-index` of metadata; those of an earlier publication are replaced.

    Args:
        metadata: YAML with line feeds as line ends; may be empty.
        model: The model's name, used for a new `model-index`. In an existing one, the model with this name gets the
            entries, or else the first model.
        entries: The entries for `results`.
        is_ours: Whether an entry is from an earlier publication.

    Raises:
        DataError: The metadata are not a YAML mapping, or their `model-index` does not have the Hub's form.
    """
    data = _load(metadata)
    index = _merged_index(data.get(_KEY), model, entries, is_ours)
    wanted = {**data, _KEY: index}
    try:
        for text in (_replaced(metadata, index), _dump(wanted)):
            if _parsed(text) == wanted:
                return text
        # Unusual line ends survive only as escapes.
        return _dump(wanted, ascii_only=True)
    # A hexadecimal number can be too long for Python to write as a decimal.
    except ValueError as error:
        raise DataError(f"the card's metadata cannot be rewritten: {error}") from error


def _load(metadata: str) -> dict[str, Any]:
    try:
        data = yaml.safe_load(metadata)
    # PyYAML raises other errors for impossible dates, huge numbers and endless nesting.
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"the card's metadata are not valid YAML: {error}") from error
    if data is not None and not isinstance(data, dict):
        raise DataError(f"the card's metadata are {data!r:.60}; expected `key: value` lines")
    return data or {}


def _merged_index(
    index: Any, model: str, entries: Sequence[Mapping[str, Any]], is_ours: Callable[[Any], bool]
) -> list[dict[str, Any]]:
    """The new `model-index`."""
    if not index:
        return [{"name": model, "results": list(entries)}]
    is_list = isinstance(index, list) and all(isinstance(item, dict) for item in index)
    if not is_list or not all(isinstance(item.get("results") or [], list) for item in index):
        raise DataError(
            f"the card's {_KEY} is {index!r:.80}; expected a list of models, each with `name` and a list of `results`. "
            "Correct or remove it."
        )
    names = [item.get("name") for item in index]
    place = names.index(model) if model in names else 0
    index = copy.deepcopy(index)
    kept = [entry for entry in index[place].get("results") or [] if not is_ours(entry)]
    index[place]["results"] = [*kept, *entries]
    return index


def _replaced(metadata: str, index: Sequence[Mapping[str, Any]]) -> str:
    """The metadata with the `model-index` replaced, or added at the end."""
    lines = _whole_line(metadata).splitlines(keepends=True)
    first, last = _lines_of_index(metadata) or (len(lines), len(lines))
    return "".join(lines[:first]) + _dump({_KEY: list(index)}) + "".join(lines[last:])


def _lines_of_index(metadata: str) -> tuple[int, int] | None:
    """The first line of the `model-index` and the line after its last; None if missing."""
    root = yaml.compose(metadata, Loader=yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    return next(((key.start_mark.line, _last_line(value) + 1) for key, value in pairs if key.value == _KEY), None)


def _last_line(node: Any) -> int:
    """The last line of a node's text; a block's own end mark comes after the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        children = [child for item in node.value for child in (item if isinstance(item, tuple) else (item,))]
        return max(map(_last_line, children))
    end = node.end_mark
    return int(end.line if end.column or end.line == node.start_mark.line else end.line - 1)


def _whole_line(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _parsed(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def _dump(data: Any, *, ascii_only: bool = False) -> str:
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=not ascii_only, width=float("inf"))
    return text
