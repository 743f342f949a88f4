"""Paired comparison: two images in both orders, which is better, one score per image from the consistent answers."""

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.pairs.label_pools import BITRATES, MIXED, MIXED_POOL, has_bitrates
from eyechart.evaluators.evaluation.base import Evaluator
from eyechart.evaluators.evaluation.waves import explain_item, left_out_item
from eyechart.evaluators.protocols.validation import check_images, check_number, check_texts
from eyechart.evaluators.requests.types import Backend, Request, Response, Row, RowResponses
from eyechart.metrics.scoring.errors import SmallSampleWarning
from eyechart.metrics.scoring.pairs.convergence import convergence, judge_by_scores, score_limit
from eyechart.metrics.scoring.pairs.pools import AGGREGATORS, RIDGE, Pairs, check_pairs
from eyechart.metrics.scoring.pairs.preferences import FIRST, NONE, SECOND, Preferences, read_preferences
from eyechart.metrics.scoring.pairs.replies import read_preference
from eyechart.metrics.scoring.pairs.scores import PairSettings
from eyechart.metrics.scoring.pairs.tables import average_rows, part_scores

MAIN, REVERSED = "main", "reversed"
_STEPS = {MAIN: 1, REVERSED: -1}
_VARIANTS = {"mle_ridge": f"mle_ridge={RIDGE:g}"}
"""Names of variants that say more than that of their aggregator."""


class PairedComparisonEvaluator(Evaluator):
    """Runs a task that asks which of two images is better (2AFC).

    Every pair is asked in both orders. Images are ranked within the pool that the column `pool` names, or all together
    where the data have none. The pool `mixed` (2AFC, Table II) holds images that are in pools of their own too: its
    pairs have no part in the scores but are a variant, unless there are no others. The column `round` gives the curve
    of convergence; without it there is none.
    """

    required_columns = ("id", "images", "first_quality", "second_quality", "first_id", "second_id")
    takes = ("wording", "aggregator", "max_new_tokens")
    _image_counts: tuple[int, ...] = (2,)

    def for_backend(self, backend: Backend) -> "PairedComparisonEvaluator":
        """One that takes rows without images too, where answers were made elsewhere."""
        if backend.needs_images:
            return self
        found = copy(self)
        found._image_counts = (0, 2)
        return found

    def requests(self, row: Row) -> list[Request]:
        """Two requests: the pair as given, and with its images swapped."""
        prompt, _ = self.definition.worded(self.options.wording)
        images, ids = tuple(row["images"]), (row["first_id"], row["second_id"])
        return [
            Request(
                id=row["id"],
                prompt=prompt(row),
                images=images[::step],
                image_ids=ids[::step],
                max_new_tokens=self._max_new_tokens,
                pass_name=name,
            )
            for name, step in _STEPS.items()
        ]

    def check_row(self, row: Row) -> None:
        """Two images of different ids and finite quality."""
        check_images(row, self._image_counts)
        check_texts(row, "first_id", "second_id")
        if row["first_id"] == row["second_id"]:
            raise DataError(f"its images are both '{row['first_id']}'; expected two different ones")
        for name in ("first_quality", "second_quality"):
            check_number(row, name)
        if "pool" in row and row["pool"] is None:
            raise DataError("its pool is None; expected the name of the set within which its images are ranked")

    def is_private(self, row: Row) -> bool:
        """Never: a pair without qualities is refused."""
        return False

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Raw texts in both orders, and the pairs."""
        return self._inputs(_without_mixed(answered), self._aggregator)

    def variants(self, answered: Sequence[RowResponses]) -> dict[str, dict[str, Any]]:
        """The scores by each other aggregator, and those of the pool `mixed`."""
        own = _without_mixed(answered)
        read = self._inputs(own, self._aggregator) | _read_replies(own)
        others = [name for name in AGGREGATORS if name != self._aggregator]
        inputs = {_VARIANTS.get(name, name): read | {"aggregator": name} for name in others}
        if len(own) < len(answered):
            mixed = [item for item in answered if _is_mixed(item.row)]
            inputs[MIXED_POOL] = self._inputs(mixed, self._aggregator)
        metric = self.prepare_metric(None)
        found = {}
        told: dict[tuple[str, type[Warning]], list[str]] = {}
        for name, arguments in inputs.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                # The number of images was warned of already.
                warnings.simplefilter("ignore", SmallSampleWarning)
                found[name] = metric.compute(**arguments)
            for warning in caught:
                told.setdefault((str(warning.message), warning.category), []).append(name)
        for (text, category), names in told.items():
            # What several variants share is about the answers, of which the scores themselves told the same.
            warnings.warn(text if len(names) > 1 else f"variant {names[0]}: {text}", category, stacklevel=2)
        return found

    def extras(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """The rows of the paper's tables with their averages, and the curve of convergence."""
        preferences, pairs = _judged(answered)
        found: dict[str, Any] = {}
        if pairs.pool_ids is not None:
            part_of_pool = self.definition.part_of_pool or str
            parts = [part_of_pool(pool) for pool in pairs.pool_ids]
            found["table"] = part_scores(preferences, pairs, parts, self._pair_settings(pairs))
            found["averages"] = self._averages(found["table"])
        if all(item.row.get("round") is not None for item in answered):
            own = _own_rows(answered)
            items = [answered[row] for row in own]
            found["convergence"] = self._convergence(items, preferences.select(own), pairs.select(own))
        return found

    def _convergence(self, items: Sequence[RowResponses], preferences: Preferences, pairs: Pairs) -> dict[str, Any]:
        """The curve of the answers, that of a judge by the qualities, and where scores answered, what they tell."""
        rounds, settings = _column(items, "round"), self._pair_settings(pairs)
        perfect = judge_by_scores(pairs.first_references, pairs.second_references)
        found: dict[str, Any] = {
            "curve": convergence(preferences, pairs, rounds, settings),
            "upper_bound": convergence(perfect, pairs, rounds, settings),
        }
        if (scores := _image_scores(items)) is not None:
            found["limit"] = score_limit(scores, pairs, settings)
        return found

    def settings(self) -> dict[str, Any]:
        """Prompt, orders, aggregator, length of the answer, seed."""
        return {
            "prompt_id": self.definition.worded(self.options.wording)[1],
            "orders": list(_STEPS),
            "aggregator": self._aggregator,
            "max_new_tokens": self._max_new_tokens,
            "seed": self.seed,
        }

    def answer_settings(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """What MM21's qualities are, where its pairs are there: the label file has bitrates in their place."""
        pairs = [item.row for item in answered if item.row.get("database") == BITRATES]
        return {"mm21_quality": "bitrate" if all(map(has_bitrates, pairs)) else "opinion score"} if pairs else {}

    def caveat(self, answered: Sequence[RowResponses]) -> str:
        """That MM21's qualities are bitrates, where they are."""
        if self.answer_settings(answered).get("mm21_quality") != "bitrate":
            return ""
        return (
            "MM21 is scored against bitrates, as in the authors' label file, not opinion scores, and so are averages "
            "with it. For opinion scores add LICQA's lists: --option mm21_dir=FOLDER."
        )

    def record(self, answered: RowResponses, response: Response) -> dict[str, Any]:
        """The images as they were shown, which of them is better ("" if neither), and which the answer prefers."""
        step = _STEPS[response.request.pass_name]
        first, second = (answered.row[f"{side}_quality"] for side in ("first", "second")[::step])
        return {
            "first_id": response.request.image_ids[0],
            "second_id": response.request.image_ids[1],
            "answer": "" if first == second else "first" if first > second else "second",
            "extracted": read_preference(response.text or ""),
        }

    def usable_rows(self, rows: Sequence[Row], skip_bad: bool) -> tuple[list[Row], list[dict[str, Any]]]:
        """The rows of which every image has the quality that it had before in the same pool."""
        usable, left_out = super().usable_rows(rows, skip_bad)
        qualities: dict[tuple[str | None, str], float] = {}
        kept = []
        for row in usable:
            sides = {(row.get("pool"), row[f"{side}_id"]): row[f"{side}_quality"] for side in ("first", "second")}
            changed = [key for key, quality in sides.items() if qualities.get(key, quality) != quality]
            if not changed:
                qualities.update(sides)
                kept.append(row)
                continue
            key = changed[0]
            error = DataError(f"image '{key[1]}' has the quality {sides[key]}, and {qualities[key]} in an earlier pair")
            if not skip_bad:
                raise explain_item(row["id"], error)
            left_out.append(left_out_item(row, str(error)))
        return kept, left_out

    @property
    def _aggregator(self) -> str:
        return self.options.aggregator or AGGREGATORS[0]

    @property
    def _max_new_tokens(self) -> int:
        return self.options.max_new_tokens or self.definition.max_new_tokens

    def _inputs(self, items: Sequence[RowResponses], aggregator: str) -> dict[str, Any]:
        pools = _pools(items)
        return {
            "predictions": _texts(items, MAIN),
            "reversed_predictions": _texts(items, REVERSED),
            "first_ids": _column(items, "first_id"),
            "second_ids": _column(items, "second_id"),
            "first_references": _column(items, "first_quality"),
            "second_references": _column(items, "second_quality"),
            "pool_ids": pools,
            "aggregator": aggregator,
            "seed": self.seed,
            **({} if pools is None else self.definition.metric_arguments),
        }

    def _pair_settings(self, pairs: Pairs) -> PairSettings:
        """What the metric makes of the same arguments."""
        weights = {} if pairs.pool_ids is None else self.definition.metric_arguments
        return PairSettings(self._aggregator, seed=self.seed, **weights)

    def _averages(self, table: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """As in the paper's tables: the sets that were rated for it are averaged apart from all others."""
        weights = "n_images" if self.definition.metric_arguments.get("pool_weights") == "images" else "equal"
        rated = {part: row for part, row in table.items() if part in (*MIXED, MIXED_POOL)}
        others = {part: row for part, row in table.items() if part not in rated}
        return [average_rows(rows, weights) for rows in (others, rated) if len(rows) > 1]


def _is_mixed(row: Row) -> bool:
    return row.get("pool") == MIXED_POOL


def _own_rows(answered: Sequence[RowResponses]) -> list[int]:
    """Row numbers of all pairs but those of the pool `mixed`; of these if there are no others."""
    return [row for row, item in enumerate(answered) if not _is_mixed(item.row)] or list(range(len(answered)))


def _without_mixed(answered: Sequence[RowResponses]) -> list[RowResponses]:
    return [answered[row] for row in _own_rows(answered)]


def _texts(items: Sequence[RowResponses], name: str) -> list[str]:
    responses = [item.of_pass(name) for item in items]
    return [(response and response.text) or "" for response in responses]


def _column(items: Sequence[RowResponses], name: str) -> list[Any]:
    return [item.row[name] for item in items]


def _pools(items: Sequence[RowResponses]) -> list[str] | None:
    return _column(items, "pool") if all("pool" in item.row for item in items) else None


def _read_replies(items: Sequence[RowResponses]) -> dict[str, list[str]]:
    """Replies that prefer what the raw ones do, so that long texts are not read for every aggregator."""
    found = read_preferences(_texts(items, MAIN), _texts(items, REVERSED))
    replies = {FIRST: "A", SECOND: "B", NONE: ""}
    sides = {"predictions": found.forward, "reversed_predictions": found.reverse}
    return {name: [replies[position] for position in positions.tolist()] for name, positions in sides.items()}


def _judged(items: Sequence[RowResponses]) -> tuple[Preferences, Pairs]:
    pairs = check_pairs(
        _column(items, "first_id"),
        _column(items, "second_id"),
        _column(items, "first_quality"),
        _column(items, "second_quality"),
        _pools(items),
    )
    return read_preferences(_texts(items, MAIN), _texts(items, REVERSED)), pairs


def _image_scores(items: Sequence[RowResponses]) -> dict[str, float] | None:
    """Image id to the score by which it was compared; None where answers do not come of scores."""
    responses = [response for item in items for response in item.responses]
    if any(response.image_scores is None for response in responses):
        return None
    return {
        image: score
        for response in responses
        for image, score in zip(response.request.image_ids, response.image_scores or (), strict=True)
    }
