"""The papers' tables, one JSON file each: reports add the rows of runs, the leaderboard shows the papers' rows."""

import math
import re
from functools import cache
from importlib import resources
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import SCORES

FOLDER = resources.files("eyechart.evaluators.published") / "tables"
BY_DATABASE = "by_database"
"""Key of the databases in the scores of an average."""
PERCENT = "percent"
STATED = (
    "Stated by the authors of each model, who chose prompts, settings and data themselves; not measured with eyechart, "
    "and without a rank."
)
"""Said of every table of such scores."""
Path = tuple[str, ...]
# Of several declarations of a key, a headline, else the first one.
_SPECS = {tuple(spec.key.split(".")): spec for spec in sorted(reversed(SCORES), key=lambda spec: spec.headline)}


def _paths(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    return tuple(tuple(text.split(".")) if isinstance(text, str) else text for text in texts)


Paths = Annotated[tuple[Path, ...], BeforeValidator(_paths)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TableColumn(_Strict):
    """One column of a table."""

    label: str
    group: str = ""
    """What it shares with its neighbours."""
    path: Paths
    """Nested keys of the score, joined by dots; several scores are added. In the scores, a list is searched for an item
    `over` some of the names between commas; `diagnostics` leads out of the scores, and `*` stands for any key."""
    minus: Paths = ()
    """Scores that are subtracted."""
    variant: str = ""
    """The alternative scoring that has the score; "" for the result's own scores."""
    digits: int
    """Decimals; by default the table's."""
    unit: str
    """"percent" or "score"; by default the table's."""
    is_headline: bool = False
    """Whether it stands for a headline score whose path it does not have."""

    @classmethod
    def of(cls, spec: ScoreSpec, part: Path = (), label: str = "") -> "TableColumn":
        """The column of a score of all items, or of a part of them, such as `("by_concern", "other")`."""
        path = (*part, *spec.key.split("."))
        return cls(label=label or spec.label, path=(path,), digits=spec.digits, unit=PERCENT)

    @property
    def spec(self) -> ScoreSpec | None:
        """The declaration of its score; None for a sum, a difference, or a score that is not declared."""
        if len(self.path) > 1 or self.minus:
            return None
        (path,) = self.path
        return next((_SPECS[path[start:]] for start in range(len(path)) if path[start:] in _SPECS), None)

    @property
    def is_percent(self) -> bool:
        """Whether its numbers are percentages."""
        return self.unit == PERCENT and (self.spec is None or self.spec.is_percentage)

    @property
    def factor(self) -> int:
        """What turns a score into its number."""
        return (self.spec.scale if self.spec else 100) if self.is_percent else 1


class TableRow(_Strict):
    """One row of a paper's table."""

    model: str
    values: list[Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]]
    """As printed, except for corrections; null if missing."""
    is_model: bool = True
    """False for chance levels and humans, which have no rank."""
    is_chance: bool = False
    date: str = ""
    """When the model's authors stated the values: year, month and, if known, day; only if the table `is_stated`."""
    settings: str = ""
    """How they measured, or "not stated"; only if the table `is_stated`."""
    url: str = ""
    """Where they stated it; only if the table `is_stated`."""


class RowVariants(_Strict):
    """Several rows for each model, one for each alternative scoring."""

    head: str
    """Head of the column that names them."""
    rows: dict[str, str]
    """Name to the variant; "" is the result's own scores."""
    setting: str = ""
    """The setting that names the variant of the result's own scores."""


class Correction(_Strict):
    """A misprint in the paper."""

    model: str
    column: str
    printed: str
    reason: str

    @property
    def text(self) -> str:
        """The correction in words, without the model."""
        return f"{self.column}: printed {self.printed}. {self.reason}"


class PublishedTable(_Strict):
    """One table."""

    tasks: list[str]
    """The tasks that it stands in; the rows are of the first one. Empty for all tasks."""
    dataset: str = ""
    """The dataset that it stands in, or "average"; "" for any."""
    splits: list[str] = []
    """The splits that it stands in; empty for all."""
    is_stated: bool = False
    """Whether the authors of each model stated its scores, in a report or card; then no paper has the table."""
    paper: str = ""
    url: str = ""
    table: str = ""
    """The table's number in the paper."""
    title: str
    split: str = ""
    """The split of the data that the rows are for."""
    unit: str
    """"percent" or "score"."""
    digits: int
    """Decimals of the scores."""
    corner: str = "Model"
    """Head of the models."""
    chance_row: bool = False
    """Whether the chance level is the first row."""
    across: bool = False
    """Whether the models stand side by side."""
    only: dict[str, Any] = {}
    """Settings that runs in the table must have."""
    unless: dict[str, Any] = {}
    """Settings that runs in the table must not have."""
    row_variants: RowVariants | None = None
    best_for: dict[str, str] = {}
    """Splits of runs for which the best headline score of the table is shown, each with how it differs."""
    set_apart: str = ""
    """Why the rows must not be compared with those of the board; empty if they can be."""
    note: str = ""
    """A remark below the table of runs; a path in braces stands for a value in their results, `variant:path` for one in
    an alternative scoring."""
    columns: list[TableColumn]
    rows: list[TableRow] = []
    corrections: list[Correction] = []
    notes: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, table: Any) -> Any:
        """Each column with the table's decimals and unit, if it has none of its own; what is said of stated scores."""
        shared = {name: table[name] for name in ("digits", "unit")}
        stated = {"set_apart": STATED, "note": STATED} if table.get("is_stated") else {}
        return {**stated, **table, "columns": [shared | column for column in table["columns"]]}

    def scores(self, path: Path, *, is_headline: bool = False) -> list[float] | None:
        """Each row's value of a score in its own unit; None if no column shows it or (`is_headline`) stands for it."""
        for index, column in enumerate(self.columns):
            if (column.path == (path,) and not column.minus) or (is_headline and column.is_headline):
                return [round(row.values[index] / column.factor, 6) for row in self.rows]
        return None


class Best(NamedTuple):
    """The best value of a model in a paper's table."""

    value: float
    model: str
    table: str
    remark: str


@cache
def published_tables() -> dict[str, PublishedTable]:
    """All tables by file name without extension: those of papers first, numbers in the names in order."""
    files = [file for file in FOLDER.iterdir() if file.name.endswith(".json")]
    tables = {file.name.removesuffix(".json"): PublishedTable.model_validate_json(file.read_bytes()) for file in files}
    return dict(sorted(tables.items(), key=lambda item: (not item[1].paper, _natural(item[0]))))


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else 0, part) for part in re.findall(r"\d+|\D+", name)]


def best_in_paper(task: str, dataset: str, split: str, spec: ScoreSpec) -> Best | None:
    """The highest score of a model in the paper's table for this split; None if no table is close enough."""
    key = tuple(spec.key.split("."))
    for table in published_tables().values():
        if table.tasks[:1] == [task] and split in table.best_for:
            path = key if table.dataset in ("", dataset) else (BY_DATABASE, dataset, *key)
            if (scores := table.scores(path, is_headline=True)) is not None:
                models = zip(scores, table.rows, strict=True)
                value, model = max((value, row.model) for value, row in models if row.is_model)
                return Best(value, model, table.table, table.best_for[split])
    return None
