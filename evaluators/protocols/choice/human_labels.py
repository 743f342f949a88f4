"""Human labels of replies, to measure how well replies are parsed automatically.

Protocol: MMBench, Sec. 3.3 (Fig. 5), where six volunteers read the replies that exact matching could not parse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import BeforeValidator

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, read_csv_rows, read_jsonl_rows
from eyechart.evaluators.protocols.choice.choice import ChoiceItem
from eyechart.evaluators.results.items import MAIN
from eyechart.metrics.scoring.choices.agreement import X, extractor_agreement

Key = tuple[str, str]
"""Id of a question and name of a pass."""


@dataclass(frozen=True)
class HumanLabels:
    """The option that people read in each reply."""

    path: Path
    letters: Mapping[Key, str]
    """A letter of the options as they were shown in that pass, or X for none of them."""

    def settings(self) -> dict[str, Any]:
        """The file as part of a result."""
        return {"file": self.path.name, "letters": len(self.letters)}

    def agreement(self, items: Sequence[ChoiceItem]) -> dict[str, Any]:
        """How often the letter parsed from a reply is the one that people read in it.

        Args:
            items: Parsed items.

        Returns:
            The agreement, as from `extractor_agreement`, on `all` labelled replies, and on the replies `after_exact`
            matching found no option, as in the paper; None if there are no such replies. `unused` counts the labels
            that match no reply of the run.
        """
        labelled = [item for item in items if (item.id, item.pass_name) in self.letters]
        return {
            "all": self._agreement(labelled),
            "after_exact": self._agreement([item for item in labelled if item.step != "exact"]),
            "unused": len(self.letters) - len(labelled),
        }

    def _agreement(self, items: Sequence[ChoiceItem]) -> dict[str, Any] | None:
        if not items:
            return None
        return extractor_agreement(
            [item.choice for item in items], [self.letters[item.id, item.pass_name] for item in items]
        )


def _read_human_labels(path: str | Path | HumanLabels) -> HumanLabels:
    if isinstance(path, HumanLabels):
        return path
    if not isinstance(path, str | Path) or path == "":
        raise ValueError("not a path")
    path = Path(path)
    letters: dict[Key, str] = {}
    for number, row in _rows(path):
        key, letter = (str(row.get("id") or ""), str(row.get("pass") or MAIN)), str(row.get("letter")).strip()
        if ROW_ERROR in row:
            raise BadAnnotationError(row[ROW_ERROR], path=path, row=number)
        if letter not in (*ascii_uppercase, X):
            reason = f"'letter' is {row.get('letter')!r}; expected a letter from A to Z (X: the reply names no option)"
            raise BadAnnotationError(reason, path=path, row=number)
        if not key[0] or key in letters:
            reason = f"repeated id {key[0]!r} with pass '{key[1]}'" if key[0] else "'id' is missing or empty"
            raise BadAnnotationError(reason, path=path, row=number)
        letters[key] = letter
    if not letters:
        raise BadAnnotationError("the file of human labels is empty", path=path)
    return HumanLabels(path, letters)


def _rows(path: Path) -> list[tuple[int, dict[str, Any]]]:
    if not path.is_file():
        raise MissingFileError("the file of human labels does not exist", path=path)
    if path.suffix.lower() == ".csv":
        return read_csv_rows(str(path), ("id", "letter"))
    if path.suffix.lower() == ".jsonl":
        return read_jsonl_rows(str(path))
    raise BadAnnotationError(f"human labels are .csv or .jsonl files, not {path.suffix!r}", path=path)


HumanLabelFile = Annotated[HumanLabels, BeforeValidator(_read_human_labels)]
"""A CSV or JSON Lines file with `id`, `letter` and `pass` ("main" if absent or empty)."""
