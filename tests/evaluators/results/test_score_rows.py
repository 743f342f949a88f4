"""Lines that say what intervals rest on, and why there is none."""

import math
from typing import Any

import pytest

from eyechart.evaluators.results.score_rows import interval_notes, is_above_chance
from eyechart.metrics.reply_counts import unparsed_replies
from eyechart.metrics.scores import spec

CLUSTERED = "95 % Wilson score interval with a cluster-robust variance (effective number of items)"
DYADIC = "95 % Wilson score interval with a variance that is robust to shared images (effective number of pairs)"
CONSTANT = "No interval, as the score is the same without any of the items"
FEW = "No interval, as there are fewer than 20 units or the score is undefined"


def scores(**about: Any) -> dict[str, Any]:
    return {"circular_accuracy": 0.5, "vanilla_accuracy": 0.75, "n_questions": 60, "n_vanilla": 60, "intervals": about}


def kind(name: str, units: int = 51) -> dict[str, Any]:
    return {"kind": name, "units": units}


@pytest.mark.parametrize("plain", ["wilson", "mean", "bootstrap"])
def test_plain_intervals_need_no_line(plain: str) -> None:
    assert interval_notes([("a", scores(circular_accuracy=kind(plain)))]) == []


def test_scores_of_one_kind_and_size_share_a_place_and_tasks_a_line() -> None:
    both = scores(circular_accuracy=kind("wilson-clustered"), vanilla_accuracy=kind("wilson-clustered"))
    other = scores(circular_accuracy=kind("wilson-clustered", 1180), vanilla_accuracy=kind("wilson"))
    assert interval_notes([("mmbench/en", both), ("own", other)]) == [
        f"{CLUSTERED}: mmbench/en: CircularEval / VanillaEval (51 clusters); own: CircularEval (1,180 clusters)."
    ]
    assert interval_notes([("", other)]) == [f"{CLUSTERED}: CircularEval (1,180 clusters)."]


def test_pairs_rest_on_images() -> None:
    about = {"consistency": kind("dyadic", 60)}
    assert interval_notes([("", {"consistency": 0.5, "n_pairs": 348, "intervals": about})]) == [
        f"{DYADIC}: consistency (60 images)."
    ]


@pytest.mark.parametrize(("name", "words"), [("none", FEW), ("constant", CONSTANT)])
def test_why_there_is_no_interval(name: str, words: str) -> None:
    about = {"srcc": kind(name, 12), "plcc": kind("bootstrap", 12)}
    assert interval_notes([("", {"srcc": 0.5, "plcc": 0.5, "n": 12, "intervals": about})]) == [
        f"{words}: SRCC (12 units)."
    ]
    assert interval_notes([("", {"srcc": math.nan, "n": 12, "intervals": {"srcc": kind(name, 12)}})]) == []


def test_scores_that_never_have_one() -> None:
    fitted = {"plcc_fitted": 0.5, "n_images": 60, "n_pairs": 90, "consistency": 0.5}
    (note,) = interval_notes([("two_afc/coarse", fitted)])
    assert note == "No interval, as the logistic is not refitted on every resample: two_afc/coarse: PLCC, fitted."
    unread = {"accuracy": 0.5, "n": 9, "extraction": {"cut_off": 0.0, "refused": 0.25}}
    (note,) = interval_notes([("", unread)])
    assert note.startswith("No interval, as they only describe the replies") and "cut" not in note


def test_one_unit_is_one() -> None:
    about = {"srcc": kind("none", 1)}
    assert interval_notes([("", {"srcc": 0.5, "n": 1, "intervals": about})]) == [f"{FEW}: SRCC (1 unit)."]


def test_names_keep_their_capitals() -> None:
    found = {"gain": 0.5, "n": 60, "intervals": {"gain": kind("paired-unread", 60)}}
    (note,) = interval_notes([("own", found)])
    assert note.startswith("Bonett and Price's interval; images were not read")
    (note,) = interval_notes([("", {"gain": 0.1, "n": 40, "intervals": {"gain": kind("paired-clustered")}})])
    assert note.startswith("Bonett and Price's interval with a cluster-robust variance")


@pytest.mark.parametrize(
    ("name", "words", "units"),
    [
        ("bounded-unread", "95 % Wilson score interval of a mean between two ends; images were not read", "30 items"),
        ("bounded-clustered", "95 % Wilson score interval of a mean between two ends, with a cluster", "30 clusters"),
    ],
)
def test_judged_texts_name_what_they_share(name: str, words: str, units: str) -> None:
    (note,) = interval_notes([("own", {"mean": 1.5, "n": 60, "intervals": {"mean": kind(name, 30)}})])
    assert note.startswith(words) and note.endswith(f": own: mean (0 to 2) ({units}).")


def test_results_of_earlier_versions_say_nothing() -> None:
    assert interval_notes([("", {"accuracy": 0.5, "accuracy_ci95": [0.25, 0.75], "n": 40})]) == []


@pytest.mark.parametrize(
    ("interval", "is_above"),
    [([0.51, 0.7], True), ([0.4, 0.6], False), ([0.1, 0.3], False), ([float("nan")] * 2, None), (None, None)],
)
def test_a_score_is_above_chance_if_its_interval_is(interval: list[float] | None, is_above: bool | None) -> None:
    scores = {"accuracy": 0.5, "accuracy_ci95": interval, "random_guess": 0.5, "n": 40}
    assert is_above_chance(spec("accuracy"), scores) is is_above


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"n": 40, "extraction": {"unmatched": 0.25}}, (10, 40)),
        ({"n_pairs": 40, "n": 9, "extraction": {"unmatched": 0.25}}, (20, 80)),
        ({"n_vanilla": 40, "n_passes": 160, "extraction": {"unmatched": 0.25}}, (10, 40)),
        ({"n": 30, "unread": {"cut_off": 0.125, "refused": 0.125}}, (10, 40)),
        ({"n": 40, "outcomes": {"cut_off": 0.5, "refused": 0.25}}, (20, 40)),
        ({"n": 40, "extraction": {"unmatched": None}}, (0, 40)),
        ({"n": 40}, (0, 40)),
    ],
)
def test_unparsed_replies_are_counted_in_every_kind_of_task(scores: dict, expected: tuple[int, int]) -> None:
    assert unparsed_replies(scores) == expected
