"""Paired comparison: which of two images is better, asked in both orders; consistent replies give a score per image."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.pairs.label_pools import BITRATES, MIXED, MIXED_POOL, has_bitrates
from eyechart.evaluators.protocols.protocol import CONFIG, Definition, Protocol, Scored, columns_of
from eyechart.evaluators.protocols.validation import check_number, check_texts
from eyechart.evaluators.requests.types import Request, Response, Row, RowResponses
from eyechart.evaluators.results.evaluation import VARIANT_WARNING
from eyechart.metrics.scoring.errors import SmallSampleWarning
from eyechart.metrics.scoring.items import Items, select_rows
from eyechart.metrics.scoring.pairs.convergence import convergence, score_limit
from eyechart.metrics.scoring.pairs.pools import AGGREGATORS, RIDGE, Pairs, check_pairs
from eyechart.metrics.scoring.pairs.preferences import read_pairs, winners
from eyechart.metrics.scoring.pairs.scores import PairSettings, pair_scores
from eyechart.metrics.scoring.pairs.tables import average_rows, part_scores

MAIN, REVERSED = "main", "reversed"
TIE = "tie"
WINNERS = ("first", "second", TIE)
_STEPS = {MAIN: 1, REVERSED: -1}
_VARIANTS = {"mle_ridge": f"mle_ridge={RIDGE:g}"}
"""Names of variants, if they differ from the name of the aggregator."""


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
    shares_images: ClassVar[bool] = False
    has_groups: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = (
        *("id", "images", "first_quality", "second_quality", "first_id", "second_id"),
    )

    pool_weights: Definition[Literal["equal", "images"]] = "equal"
    """How pools are weighted in means over pools: equally, or by their number of images."""
    part_of_pool: Definition[Any] = None
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

    def read(self, rows: Sequence[Row], responses: Sequence[Response]) -> list[dict[str, Any]]:
        """The images as shown, and which of them is better ("" if equal); `score` reads the two replies of a pair."""
        items = []
        for row, response in zip(rows, responses, strict=True):
            sides = ("first", "second")[:: _STEPS[response.request.pass_name]]
            winner = _winner(row)
            items.append(
                {
                    "first_id": row[f"{sides[0]}_id"],
                    "second_id": row[f"{sides[1]}_id"],
                    "first_quality": row[f"{sides[0]}_quality"],
                    "second_quality": row[f"{sides[1]}_quality"],
                    "pool": row.get("pool"),
                    "answer": "" if winner == TIE else WINNERS[sides.index(winner)],
                }
            )
        return items

    def score(self, answered: Sequence[RowResponses]) -> Scored:
        """Consistency, accuracy, and correlations of the images' ranking; tables, other aggregators, convergence."""
        pairs = _pairs(answered)
        read = [one.responses[0].item for one in answered]
        if all("consistent" in item for item in read):
            columns = columns_of(read, "choice", "step", "reversed_choice", "reversed_step", "consistent", "correct")
        else:
            columns = read_pairs(
                _texts(answered, MAIN),
                _texts(answered, REVERSED),
                pairs,
                _ends(answered, MAIN),
                _ends(answered, REVERSED),
            )
        own = _own_rows(answered)
        scores = pair_scores(select_rows(columns, own), pairs.select(own), self._settings(pairs))
        items = [
            {**response.item, **({name: column[number] for name, column in columns.items()} if at_main else {})}
            for number, one in enumerate(answered)
            for response in one.responses
            for at_main in (response.request.pass_name == MAIN,)
        ]
        is_bitrate = [has_bitrates(one.row) for one in answered if one.row.get("database") == BITRATES]
        settings = {"mm21_quality": "bitrate" if all(is_bitrate) else "opinion score"} if is_bitrate else {}
        caveat = (
            "MM21 is scored against bitrates, as in the authors' label file, not against opinion scores; so are the "
            "averages that include MM21. For opinion scores, add LICQA's lists: --data-option mm21_dir=FOLDER."
        )
        return Scored(
            items,
            scores,
            self._variants(columns, pairs, own),
            self._diagnostics(answered, columns, pairs, own),
            caveats=(caveat,) if is_bitrate and all(is_bitrate) else (),
            settings=settings,
        )

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Arguments of the metric module: raw replies in both orders, and the pairs."""
        answered = [answered[row] for row in _own_rows(answered)]
        pools = _pools(answered)
        of_pools = {} if pools is None else self._of_pools
        return {
            "predictions": _texts(answered, MAIN),
            "reversed_predictions": _texts(answered, REVERSED),
            "finish_reasons": _ends(answered, MAIN),
            "reversed_finish_reasons": _ends(answered, REVERSED),
            "first_ids": _column(answered, "first_id"),
            "second_ids": _column(answered, "second_id"),
            "first_references": _column(answered, "first_quality"),
            "second_references": _column(answered, "second_quality"),
            "pool_ids": pools,
            "aggregator": self.aggregator,
            "seed": self.seed,
            **of_pools,
        }

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
        self, answered: Sequence[RowResponses], columns: Items, pairs: Pairs, own: Sequence[int]
    ) -> dict[str, Any]:
        """The rows of the paper's tables with their averages, and the convergence curve."""
        found: dict[str, Any] = {}
        if pairs.pool_ids is not None:
            parts = [(self.part_of_pool or str)(pool) for pool in pairs.pool_ids]
            found["table"] = part_scores(columns, pairs, parts, self._settings(pairs))
            found["averages"] = self._averages(found["table"])
        if all(one.row.get("round") is not None for one in answered) and not np.isnan(pairs.first_references).any():
            part, rounds = pairs.select(own), [answered[row].row["round"] for row in own]
            settings = self._settings(part)
            curves: dict[str, Any] = {
                "curve": convergence(winners(select_rows(columns, own)), part, rounds, settings),
                "upper_bound": convergence(part.better, part, rounds, settings),
            }
            if (scores := _image_scores([answered[row] for row in own])) is not None:
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


def _own_rows(answered: Sequence[RowResponses]) -> list[int]:
    """Row numbers of all pairs outside the pool `mixed`; all rows if every pair is in `mixed`."""
    own = [row for row, one in enumerate(answered) if one.row.get("pool") != MIXED_POOL]
    return own or list(range(len(answered)))


def _texts(answered: Sequence[RowResponses], name: str) -> list[str]:
    responses = [one.of_pass(name) for one in answered]
    return [(response and response.text) or "" for response in responses]


def _ends(answered: Sequence[RowResponses], name: str) -> list[str | None]:
    responses = [one.of_pass(name) for one in answered]
    return [None if response is None else response.finish_reason for response in responses]


def _column(answered: Sequence[RowResponses], name: str) -> list[Any]:
    return [one.row[name] for one in answered]


def _pools(answered: Sequence[RowResponses]) -> list[str] | None:
    return _column(answered, "pool") if all("pool" in one.row for one in answered) else None


def _pairs(answered: Sequence[RowResponses]) -> Pairs:
    return check_pairs(
        _column(answered, "first_id"),
        _column(answered, "second_id"),
        _column(answered, "first_quality"),
        _column(answered, "second_quality"),
        _pools(answered),
        [one.row["winner"] for one in answered] if answered[0].row.get("winner") else None,
    )


def _image_scores(answered: Sequence[RowResponses]) -> dict[str, float] | None:
    """Image id to the score by which it was compared; None if the replies were not derived from scores."""
    responses = [response for one in answered for response in one.responses]
    if any(response.image_scores is None for response in responses):
        return None
    return {
        image: score
        for response in responses
        for image, score in zip(response.request.image_ids, response.image_scores or (), strict=True)
    }
