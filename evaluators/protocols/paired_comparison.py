"""Paired comparison: which of two images is better, asked in both orders; consistent replies give a score per image."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass
from typing_extensions import override

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.pairs import BITRATES, MIXED, MIXED_POOL
from eyechart.evaluators.protocols.protocol import CONFIG, Fixed, Protocol, check_number, check_texts
from eyechart.evaluators.requests.types import Request, Response, Row
from eyechart.evaluators.results.items import MAIN, Item, PackedItems, by_row, columns_of, with_columns
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scoring.errors import ScoringWarning
from eyechart.metrics.scoring.inputs import Items
from eyechart.metrics.scoring.pairs.pools import AGGREGATORS, RIDGE, Pairs, PairSettings, check_pairs
from eyechart.metrics.scoring.pairs.preferences import pair_outcomes, read_preferences, winners
from eyechart.metrics.scoring.pairs.scores import pair_scores
from eyechart.metrics.scoring.pairs.tables import average_rows, convergence, part_scores, score_limit

REVERSED = "reversed"
TIE = "tie"
WINNERS = ("first", "second", TIE)
_ORDERS = {MAIN: ("first", "second"), REVERSED: ("second", "first")}
"""The images of the row in the order in which each pass shows them."""


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
    without this column. If the data name a `winner` instead of qualities, correlations are undefined. The images of the
    pool `mixed` (2AFC, Table II) are also in other pools, so its pairs are scored as a variant, unless the data have no
    other pool. The convergence curve needs the column `round`.
    """

    name: ClassVar[str] = "paired_comparison"
    metric: ClassVar[str] = "paired_comparison"
    kind: ClassVar[str] = "pairs"
    item_type: ClassVar[type[PairItem]] = PairItem
    shares_images: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ("id", "images", *("first_quality", "second_quality", "first_id", "second_id"))

    pool_weights: Fixed[Literal["equal", "images"]] = "equal"
    """How pools are weighted in means over pools: equally, or by their number of images."""
    part_of_pool: Fixed[Any] = None
    """Maps a pool's name to its row in the paper's table; None if every pool has its own row."""
    aggregator: Literal["map", "mle", "mle_ridge", "perron", "trueskill"] = "map"
    """The method that computes a score per image from the replies to pairs."""
    undefined_pools: Literal["leave_out", "zero"] = "leave_out"
    """Whether a pool without a defined correlation is left out of the mean over pools or counts as zero."""

    @override
    def check(self, row: Row) -> None:
        check_texts(row, "first_id", "second_id")
        if row["first_id"] == row["second_id"]:
            raise DataError(f"first_id and second_id are both '{row['first_id']}'; expected two different images")
        if row.get("winner") is None:
            check_number(row, "first_quality")
            check_number(row, "second_quality")
        elif row["winner"] not in WINNERS:
            raise DataError(f"column 'winner' is {row['winner']!r:.80}; expected one of {', '.join(WINNERS)}")
        if "pool" in row and row["pool"] is None:
            raise DataError("column 'pool' is None; expected the name of the pool in which the images are ranked")

    @override
    def is_private(self, row: Row) -> bool:
        return False

    @override
    def settings(self, rows: Iterable[Row] = ()) -> dict[str, Any]:
        settings = {**super().settings(rows), "orders": list(_ORDERS)}
        if mm21 := [row for row in rows if row.get("database") == BITRATES]:
            released = [("first_quality", "first_released_score"), ("second_quality", "second_released_score")]
            is_bitrate = all(row.get(quality) == row.get(score) for row in mm21 for quality, score in released)
            settings["mm21_quality"] = "bitrate" if is_bitrate else "opinion score"
        return settings

    @override
    def requests(self, row: Row) -> list[Request]:
        images = tuple(row["images"])
        return [
            Request(
                id=row["id"],
                prompt=self.prompt_of(row),
                images=images if name == MAIN else images[::-1],
                image_ids=tuple(row[f"{side}_id"] for side in order),
                max_new_tokens=self.reply_length,
                pass_name=name,
            )
            for name, order in _ORDERS.items()
        ]

    @override
    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        first, second = _ORDERS[response.request.pass_name]
        winner, has_quality = row.get("winner"), row.get("winner") is None
        if has_quality:
            qualities = row["first_quality"], row["second_quality"]
            winner = TIE if qualities[0] == qualities[1] else WINNERS[qualities[0] < qualities[1]]
        better, worse = _ORDERS[REVERSED if winner == "second" else MAIN]
        first_score, second_score = response.image_scores or (None, None)
        return super().item(
            row,
            response,
            label=f"{row[f'{better}_id']} {'equals' if winner == TIE else 'over'} {row[f'{worse}_id']}",
            first_id=row[f"{first}_id"],
            second_id=row[f"{second}_id"],
            first_quality=row[f"{first}_quality"] if has_quality else None,
            second_quality=row[f"{second}_quality"] if has_quality else None,
            first_score=first_score,
            second_score=second_score,
            pool=row.get("pool"),
            round=row.get("round"),
            answer="" if winner == TIE else "first" if winner == first else "second",
        )

    @override
    def parse(self, items: Sequence[PairItem]) -> list[PairItem]:
        texts, ends = [item.text or "" for item in items], [item.finish_reason for item in items]
        return list(with_columns(items, read_preferences(texts, ends)))

    @override
    def score(self, items: Sequence[PairItem]) -> TaskResult:
        # The pool `mixed` counts only if it is the only pool.
        ranked = [item for item in items if item.pool != MIXED_POOL] or list(items)
        columns, pairs, settings = self._pairs(ranked)
        outcomes = zip(by_row(ranked), columns["consistent"], columns["correct"], strict=True)
        by_id = {passes[MAIN].id: {"consistent": same, "correct": correct} for passes, same, correct in outcomes}
        return TaskResult(
            scores=pair_scores(columns, pairs, settings),
            variants=self._variants(items, ranked),
            diagnostics=self._table(items) | self._convergence(ranked),
            items=PackedItems(
                replace(item, **by_id.get(item.id, {})) if item.pass_name == MAIN else item for item in items
            ),
        )

    def _pairs(self, items: Sequence[PairItem], aggregator: str | None = None) -> tuple[Items, Pairs, PairSettings]:
        """The replies in both orders and the pairs, as columns, and how they are scored."""
        rows = by_row(items)
        main, other = [passes[MAIN] for passes in rows], [passes[REVERSED] for passes in rows]
        pools = [item.pool for item in main] if main[0].pool is not None else None
        # Without qualities, the data name the better image.
        better = None if main[0].first_quality is not None else [item.answer or None for item in main]
        first_ids, second_ids = columns_of(main, "first_id", "second_id").values()
        first, second = columns_of(main, "first_quality", "second_quality").values()
        pairs = check_pairs(first_ids, second_ids, first, second, pools, better)
        columns: Items = {
            **columns_of(main, "choice", "step"),
            "reversed_choice": [item.choice for item in other],
            "reversed_step": [item.step for item in other],
        }
        settings = PairSettings(
            aggregator or self.aggregator,
            pool_weights=self.pool_weights,
            undefined_pools=self.undefined_pools,
            seed=self.seed,
        )
        return columns | pair_outcomes(columns["choice"], columns["reversed_choice"], pairs), pairs, settings

    def _variants(self, items: Sequence[PairItem], ranked: Sequence[PairItem]) -> dict[str, dict[str, Any]]:
        """The scores with each other aggregator, and the scores of the pool `mixed`."""
        variants: dict[str, tuple[Sequence[PairItem], str]] = {
            f"mle_ridge={RIDGE:g}" if name == "mle_ridge" else name: (ranked, name)
            for name in AGGREGATORS
            if name != self.aggregator
        }
        if len(ranked) < len(items):
            variants[MIXED_POOL] = ([item for item in items if item.pool == MIXED_POOL], self.aggregator)
        scores = {}
        for name, (scored, aggregator) in variants.items():
            inputs = self._pairs(scored, aggregator)
            with warnings.catch_warnings():
                # Warnings about the replies come with the scores; a variant may be undefined.
                warnings.simplefilter("ignore", ScoringWarning)
                scores[name] = pair_scores(*inputs)
        return scores

    def _table(self, items: Sequence[PairItem]) -> dict[str, Any]:
        """The rows of the paper's tables, and their averages; the sets that were rated for the paper stand apart."""
        columns, pairs, settings = self._pairs(items)
        if pairs.pool_ids is None:
            return {}
        parts = [(self.part_of_pool or str)(pool) for pool in pairs.pool_ids]
        table = part_scores(columns, pairs, parts, settings)
        rated = {part: row for part, row in table.items() if part in (*MIXED, MIXED_POOL)}
        others = {part: row for part, row in table.items() if part not in rated}
        weights = "n_images" if self.pool_weights == "images" else "equal"
        return {"table": table, "averages": [average_rows(rows, weights) for rows in (others, rated) if len(rows) > 1]}

    def _convergence(self, items: Sequence[PairItem]) -> dict[str, Any]:
        """Correlations by the number of rounds, if rounds and qualities are known."""
        rounds: list[Any] = [passes[MAIN].round for passes in by_row(items)]
        if None in rounds or any(item.first_quality is None for item in items):
            return {}
        columns, pairs, settings = self._pairs(items)
        curves: dict[str, Any] = {
            "curve": convergence(winners(columns), pairs, rounds, settings),
            "upper_bound": convergence(pairs.better, pairs, rounds, settings),
        }
        scores: dict[str, Any] = {item.first_id: item.first_score for item in items}
        scores |= {item.second_id: item.second_score for item in items}
        if None not in scores.values():
            curves["limit"] = score_limit(scores, pairs, settings)
        return {"convergence": curves}
