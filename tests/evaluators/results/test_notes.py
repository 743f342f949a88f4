"""Notes that follow from finished results: about intervals, chance, unparsed replies and servers."""

import math
from typing import Any

import pytest

from eyechart.evaluators.results.finished_runs import is_served_name, served_notes, unconfirmed_names
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.score_rows import interval_notes, is_above_chance
from eyechart.metrics.reply_counts import unparsed_replies

CLUSTERED = "95 % Wilson score interval with a cluster-robust variance (effective number of items)"
DYADIC = "95 % Wilson score interval with a variance that is robust to shared images (effective number of pairs)"
CONSTANT = "No interval, as the score is the same without any of the items"
FEW = "No interval, as there are fewer than 20 units or the score is undefined"
UNREAD = (
    "95 % Wilson score interval of a mean between two ends; images were not read, so texts about the same image count "
    "as independent"
)


def kind(name: str, units: int = 51) -> dict[str, Any]:
    return {"kind": name, "units": units}


def choices(**about: Any) -> dict[str, Any]:
    return {"circular_accuracy": 0.5, "vanilla_accuracy": 0.75, "n_questions": 60, "n_vanilla": 60, "intervals": about}


def quality(name: str, units: int = 12, srcc: float = 0.5) -> dict[str, Any]:
    about = {"srcc": kind(name, units), "plcc": kind("bootstrap", units)}
    return {"srcc": srcc, "plcc": 0.5, "n": units, "intervals": about}


BOTH = choices(circular_accuracy=kind("wilson-clustered"), vanilla_accuracy=kind("wilson-clustered"))
OTHER = choices(circular_accuracy=kind("wilson-clustered", 1180), vanilla_accuracy=kind("wilson"))
PAIRS = {"consistency": 0.5, "n_pairs": 348, "intervals": {"consistency": kind("dyadic", 60)}}
JUDGED = {"mean": 1.5, "n": 60, "intervals": {"mean": kind("bounded-unread", 30)}}
FITTED = {"plcc_fitted": 0.5, "n_images": 60, "n_pairs": 90, "consistency": 0.5}


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        *(([("a", choices(circular_accuracy=kind(plain)))], []) for plain in ("wilson", "mean", "bootstrap")),
        # Scores of one kind and size share a place, and tasks a line.
        (
            [("mmbench/en", BOTH), ("own", OTHER)],
            [f"{CLUSTERED}: mmbench/en: CircularEval / VanillaEval (51 clusters); own: CircularEval (1,180 clusters)."],
        ),
        ([("", OTHER)], [f"{CLUSTERED}: CircularEval (1,180 clusters)."]),
        ([("", PAIRS)], [f"{DYADIC}: consistency (60 images)."]),
        ([("", quality("none"))], [f"{FEW}: SRCC (12 units)."]),
        ([("", quality("none", 1))], [f"{FEW}: SRCC (1 unit)."]),
        ([("", quality("constant"))], [f"{CONSTANT}: SRCC (12 units)."]),
        ([("", quality("none", srcc=math.nan))], []),
        ([("own", JUDGED)], [f"{UNREAD}: own: mean (0 to 2) (30 items)."]),
        # Scores that never have an interval.
        (
            [("two_afc/coarse", FITTED)],
            ["No interval, as the logistic is not refitted on every resample: two_afc/coarse: PLCC, fitted."],
        ),
    ],
)
def test_intervals_that_are_not_plain_have_a_line(results: Any, expected: list[str]) -> None:
    assert [note.text for note in interval_notes(results) if note.code != "plain_intervals"] == expected


def test_names_keep_their_capitals_and_shares_of_replies_their_reason() -> None:
    (note,) = interval_notes(
        [("own", {"accuracy": 0.5, "n": 60, "intervals": {"accuracy": kind("paired-unread", 60)}})]
    )
    assert note.text.startswith("Bonett and Price's interval; images were not read")
    (note,) = interval_notes([("", {"accuracy": 0.5, "n": 9, "extraction": {"cut_off": 0.0, "refused": 0.25}})])
    assert note.text.startswith("No interval, as they only describe the replies") and "cut" not in note.text


@pytest.mark.parametrize(
    ("interval", "is_above"),
    [([0.51, 0.7], True), ([0.4, 0.6], False), ([0.1, 0.3], False), ([math.nan] * 2, None), (None, None)],
)
def test_a_score_is_above_chance_if_its_interval_is(interval: list[float] | None, is_above: bool | None) -> None:
    scores = {"accuracy": 0.5, "accuracy_ci95": interval, "random_guess": 0.5, "n": 40}
    assert is_above_chance(TaskResult(scores=scores)) is is_above


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


@pytest.mark.parametrize(
    ("asked", "served", "is_same"),
    [
        ("gpt-4o", "gpt-4o", True),
        ("gpt-4o", "gpt-4o-2024-11-20", True),
        ("gpt-4", "gpt-4-0613", True),
        ("mistral-large-latest", "mistral-large-2411", True),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen/qwen2.5-vl-7b-instruct", True),
        ("org/model", "org/model@main", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o-2024-11-20", "gpt-4o-2024-08-06", False),
        ("qwen2-vl", "qwen2-vl-72", False),
        ("model", "other/model", False),
        ("model", "", False),
        ("", "model", False),
    ],
)
def test_the_same_name_a_dated_one_and_a_revision_are_what_was_asked_for(asked, served, is_same):
    assert is_served_name(asked, served) is is_same


MODEL = {"name": "no/such-model", "served": ["tiny-f32.gguf"]}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"model": None}, []),
        ({"model": {"served": 5}}, []),
        ({"model": {"name": "m"}}, []),
        ({"model": MODEL}, [("served", ["tiny-f32.gguf"])]),
        ({"model": MODEL | {"served_name": "tiny-f32.gguf"}}, []),
        # A name that is confirmed and not served confirms nothing.
        ({"model": MODEL | {"served_name": "large.gguf"}}, [("served", ["tiny-f32.gguf"])]),
        ({"judge": {"name": "lexical"}}, []),
        ({"judge": {"name": "gpt-4o", "served": ["gpt-4o-2024-11-20"]}}, []),
        ({"judge": {"name": "gpt-4o", "served": ["gpt-4o", "tiny.gguf"]}}, [("judge_served", ["tiny.gguf"])]),
    ],
    ids=str,
)
def test_names_that_were_neither_requested_nor_confirmed_are_noted(settings, expected):
    assert [(note.code, note.values["served"]) for note in served_notes(settings)] == expected
    assert unconfirmed_names(settings) == [name for code, names in expected if code == "served" for name in names]
