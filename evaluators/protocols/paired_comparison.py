"""Paired comparison: which of two images is better, asked in both orders; consistent replies give a score per image."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.pairs.label_pools import BITRATES, MIXED, MIXED_POOL, has_bitrates
from eyechart.evaluators.protocols.protocol import CONFIG, Fixed, Protocol
from eyechart.evaluators.protocols.validation import check_number, check_texts
from eyechart.evaluators.requests.types import Request, Response, Row
from eyechart.evaluators.results.items import MAIN, Item, by_row, columns_of, with_columns
from eyechart.evaluators.results.notes import Note, note
from eyechart.evaluators.results.results_file import VARIANT_WARNING, TaskResult
from eyechart.metrics.scoring.errors import SmallSampleWarning
from eyechart.metrics.scoring.items import Items, select_rows
from eyechart.metrics.scoring.pairs.convergence import convergence, score_limit
from eyechart.metrics.scoring.pairs.pools import AGGREGATORS, RIDGE, Pairs, check_pairs
from eyechart.metrics.scoring.pairs.preferences import pair_outcomes, read_preferences, winners
from eyechart.metrics.scoring.pairs.scores import PairSettings, pair_scores
from eyechart.metrics.scoring.pairs.tables import average_rows, part_scores

REVERSED = "reversed"
TIE = "tie"
WINNERS = ("first", "second", TIE)
_STEPS = {MAIN: 1, REVERSED: -1}
_VARIANTS = {"mle_ridge": f"mle_ridge={RIDGE:g}"}
"""Names of variants, if they differ from the name of the aggregator."""


@plain_dataclass(frozen=True)
class PairItem(Item):
    """What the reply to a pair in one order gave."""

    first_id: str = ""
    second_id: str = ""
    """The images, in the order shown."""
    first_quality: float | None = None
    second_quality: float | None = None
    """Their opinion scores; None if the data name only the better image."""
    pool: str | None = None
    """The set within which images are ranked; None if all are ranked together."""
    round: int | None = None
    """The round of sampling that drew the pair."""
    answer: str = ""
    """The better image, "first" or "second"; "" if both are equally good."""
    choice: str | None = None
    """The preferred image; None without a preference."""
    step: str | None = None
    consistent: bool | None = None
    """In the first pass: whether the replies in both orders prefer the same image."""
    correct: bool | None = None
    """In the first pass: whether both prefer the better image; None if both images are equally good."""
    first_score: float | None = None
    second_score: float | None = None
    """The scores by which the images were compared, if the reply was derived from scores."""


@dataclass(frozen=True, config=CONFIG)
class PairedComparison(Protocol):
    """Which of two images is better (2AFC).

    Every pair is asked in both orders. Images are ranked within the pool that the column `pool` names, or all together
    if the data have no such column. If the data name a `winner` instead of qualities, correlations are undefined. The
    images of the pool `mixed` (2AFC, Table II) are also in other pools, so its pairs are scored as a variant and not as
    part of the scores, unless the data have no other pool. The convergence curve needs the column `round`.
    """

    name: ClassVar[str] = "paired_comparison"
    metric: ClassVar[str] = "paired_comparison"
    kind: ClassVar[str] = "pairs"
    item_type: ClassVar[type[PairItem]] = PairItem
    shares_images: ClassVar[bool] = False
    has_groups: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = (
        *("id", "images", "first_quality", "second_quality", "first_id", "second_id"),
    )

    pool_weights: Fixed[Literal["equal", "images"]] = "equal"
    """How pools are weighted in means over pools: equally, or by their number of images."""
    part_of_pool: Fixed[Any] = None
    """Maps a pool's name to its row in the paper's table; None if every pool has its own row."""
    aggregator: Literal["map", "mle", "mle_ridge", "perron", "trueskill"] = "map"
    """The method that computes a score per image from the replies to pairs."""
    undefined_pools: Literal["leave_out", "zero"] = "leave_out"
    """Whether a pool without a defined correlation is left out of the mean over pools or counts as zero."""

    def check(self, row: Row) -> None:
        """Check that the two images have different ids, and finite quality or a winner."""
        check_texts(row, "first_id", "second_id")
        if row["first_id"] == row["second_id"]:
            raise DataError(f"first_id and second_id are both '{row['first_id']}'; expected two different images")
        if row.get("winner") is None:
            for name in ("first_quality", "second_quality"):
                check_number(row, name)
        elif row["winner"] not in WINNERS:
            raise DataError(f"column 'winner' is {row['winner']!r:.80}; expected one of {', '.join(WINNERS)}")
        if "pool" in row and row["pool"] is None:
            raise DataError("column 'pool' is None; expected the name of the pool in which the images are ranked")

    def requests(self, row: Row) -> list[Request]:
        """Two requests: the pair as given, and with its images swapped."""
        images, ids = tuple(row["images"]), (row["first_id"], row["second_id"])
        return [
            Request(
                id=row["id"],
                prompt=self.prompt_of(row),
                images=images[::step],
                image_ids=ids[::step],
                max_new_tokens=self.reply_length,
                pass_name=name,
            )
            for name, step in _STEPS.items()
        ]

    def data_settings(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Whether MM21's images are scored against opinion scores or bitrates."""
        found = [has_bitrates(row) for row in rows if row.get("database") == BITRATES]
        return {"mm21_quality": "bitrate" if all(found) else "opinion score"} if found else {}

    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        """The item, with the two images as shown and which of them is better."""
        sides = ("first", "second")[:: _STEPS[response.request.pass_name]]
        winner = _winner(row)
        for shown, side in zip(("first", "second"), sides, strict=True):
            fields[f"{shown}_id"] = row[f"{side}_id"]
            fields[f"{shown}_quality"] = None if row.get("winner") else row[f"{side}_quality"]
        if response.image_scores is not None:
            fields["first_score"], fields["second_score"] = response.image_scores
        better, worse = (row[f"{side}_id"] for side in (WINNERS[:2] if winner != WINNERS[1] else WINNERS[1::-1]))
        fields |= {
            "label": f"{better} {'equals' if winner == TIE else 'over'} {worse}",
            "pool": row.get("pool"),
            "round": row.get("round"),
            "answer": "" if winner == TIE else WINNERS[sides.index(winner)],
        }
        return super().item(row, response, **fields)

    def parse(self, items: Sequence[PairItem]) -> list[PairItem]:
        """Parse which of the images each reply prefers."""
        return with_columns(
            items, read_preferences([item.text or "" for item in items], [item.finish_reason for item in items])
        )

    def score(self, items: Sequence[PairItem]) -> TaskResult:
        """Consistency, accuracy, and correlations of the images' ranking; tables, other aggregators, convergence."""
        passes = by_row(items)
        main = [of_row[MAIN] for of_row in passes]
        pairs = _pairs(main)
        other = [of_row[REVERSED] for of_row in passes]
        columns: Items = {
            **columns_of(main, "choice", "step"),
            "reversed_choice": [item.choice for item in other],
            "reversed_step": [item.step for item in other],
        }
        columns |= pair_outcomes(columns["choice"], columns["reversed_choice"], pairs)
        # The pool `mixed` counts only if it is the only pool.
        own = [row for row, item in enumerate(main) if item.pool != MIXED_POOL] or list(range(len(main)))
        outcomes = {main[row].id: {name: columns[name][row] for name in ("consistent", "correct")} for row in own}
        scored = [replace(item, **outcomes.get(item.id, {})) if item.pass_name == MAIN else item for item in items]
        return TaskResult(
            scores=pair_scores(select_rows(columns, own), pairs.select(own), self._settings(pairs)),
            variants=self._variants(columns, pairs, own),
            diagnostics=self._diagnostics(passes, columns, pairs, own),
            items=scored,
        )

    def notes(self, settings: Mapping[str, Any]) -> list[Note]:
        """A note if MM21 is scored against bitrates."""
        return [note("bitrates")] if settings.get("mm21_quality") == "bitrate" else []

    def is_private(self, row: Row) -> bool:
        """Always False: `check` refuses a pair without qualities."""
        return False

    def settings(self) -> dict[str, Any]:
        """The settings, and the orders of the images."""
        return {**Protocol.settings(self), "orders": list(_STEPS)}

    @property
    def _of_pools(self) -> dict[str, Any]:
        return {"pool_weights": self.pool_weights, "undefined_pools": self.undefined_pools}

    def _settings(self, pairs: Pairs, aggregator: str | None = None) -> PairSettings:
        of_pools = {} if pairs.pool_ids is None else self._of_pools
        return PairSettings(aggregator or self.aggregator, seed=self.seed, **of_pools)

    def _variants(self, columns: Items, pairs: Pairs, own: Sequence[int]) -> dict[str, dict[str, Any]]:
        """The scores with each other aggregator, and the scores of the pool `mixed`."""
        ways = {_VARIANTS.get(name, name): (own, name) for name in AGGREGATORS if name != self.aggregator}
        if len(own) < len(columns["choice"]):
            kept = set(own)
            ways[MIXED_POOL] = ([row for row in range(len(columns["choice"])) if row not in kept], self.aggregator)
        found = {}
        seen: dict[tuple[str, type[Warning]], list[str]] = {}
        for name, (rows, aggregator) in ways.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                # Scoring has already warned about the number of images.
                warnings.simplefilter("ignore", SmallSampleWarning)
                part = pairs.select(rows)
                found[name] = pair_scores(select_rows(columns, rows), part, self._settings(part, aggregator))
            for warning in caught:
                seen.setdefault((str(warning.message), warning.category), []).append(name)
        for (text, category), names in seen.items():
            # A warning that several variants share is about the replies, not about one variant.
            warnings.warn(text if len(names) > 1 else f"{VARIANT_WARNING}{names[0]}: {text}", category, stacklevel=3)
        return found

    def _diagnostics(
        self, passes: Sequence[Mapping[str, PairItem]], columns: Items, pairs: Pairs, own: Sequence[int]
    ) -> dict[str, Any]:
        """The rows of the paper's tables with their averages, and the convergence curve."""
        found: dict[str, Any] = {}
        if pairs.pool_ids is not None:
            parts = [(self.part_of_pool or str)(pool) for pool in pairs.pool_ids]
            found["table"] = part_scores(columns, pairs, parts, self._settings(pairs))
            found["averages"] = self._averages(found["table"])
        rounds: list[Any] = [passes[row][MAIN].round for row in own]
        if None not in rounds and not np.isnan(pairs.first_references).any():
            part = pairs.select(own)
            settings = self._settings(part)
            curves: dict[str, Any] = {
                "curve": convergence(winners(select_rows(columns, own)), part, rounds, settings),
                "upper_bound": convergence(part.better, part, rounds, settings),
            }
            if (scores := _image_scores([item for row in own for item in passes[row].values()])) is not None:
                curves["limit"] = score_limit(scores, part, settings)
            found["convergence"] = curves
        return found

    def _averages(self, table: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """Averages as in the paper's tables: the sets that were rated for the paper are averaged separately."""
        weights = "n_images" if self.pool_weights == "images" else "equal"
        rated = {part: row for part, row in table.items() if part in (*MIXED, MIXED_POOL)}
        others = {part: row for part, row in table.items() if part not in rated}
        return [average_rows(rows, weights) for rows in (others, rated) if len(rows) > 1]


def _winner(row: Row) -> str:
    """The better image of a pair, in the order of the row, one of `WINNERS`."""
    if row.get("winner") is not None:
        return str(row["winner"])
    first, second = row["first_quality"], row["second_quality"]
    return TIE if first == second else WINNERS[first < second]


def _pairs(items: Sequence[PairItem]) -> Pairs:
    columns = columns_of(items, "first_id", "second_id", "first_quality", "second_quality", "pool")
    pools = columns["pool"] if items[0].pool is not None else None
    # Without qualities, the data name the better image.
    better = None if items[0].first_quality is not None else [item.answer or TIE for item in items]
    ids, qualities = (columns["first_id"], columns["second_id"]), (columns["first_quality"], columns["second_quality"])
    return check_pairs(*ids, *qualities, pools, better)


def _image_scores(items: Sequence[PairItem]) -> dict[str, float] | None:
    """Image id to the score by which it was compared; None if the replies were not derived from scores."""
    found: dict[str, float] = {}
    for item in items:
        if item.first_score is None or item.second_score is None:
            return None
        found |= {item.first_id: item.first_score, item.second_id: item.second_score}
    return found
