"""Notes that follow from finished results: about intervals, chance, unparsed replies and servers; and their words."""

import math
import re
from typing import Any

import pytest

from eyechart.evaluators.evaluation.findings import score_notes
from eyechart.evaluators.results import finished_runs, score_rows
from eyechart.evaluators.results.finished_runs import TaskKey, is_served_name, served_notes, unconfirmed_names
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.score_rows import interval_notes, is_above_chance, unparsed_note
from eyechart.metrics.reply_counts import unparsed_replies
from eyechart.metrics.scoring.statistics.intervals import KINDS
from tests.evaluators.finished_runs import ACCURACY, evaluated

CLUSTERED, UNREAD = f"95 % {KINDS['wilson-clustered']}", f"95 % {KINDS['wilson-unread']}"
NONE = KINDS["none"].capitalize()


def kind(name: str, units: int = 51) -> dict[str, Any]:
    return {"kind": name, "units": units}


def choices(**about: Any) -> dict[str, Any]:
    return {"circular_accuracy": 0.5, "vanilla_accuracy": 0.75, "n_questions": 60, "n_vanilla": 60, "intervals": about}


def quality(name: str, units: int = 12, srcc: float = 0.5) -> dict[str, Any]:
    about = {"srcc": kind(name, units), "plcc": kind("bootstrap", units)}
    return {"srcc": srcc, "plcc": 0.5, "n": units, "intervals": about}


BOTH = choices(circular_accuracy=kind("wilson-clustered"), vanilla_accuracy=kind("wilson-clustered"))
OTHER = choices(circular_accuracy=kind("wilson-clustered", 1180), vanilla_accuracy=kind("wilson"))
PAIRS = {"consistency": 0.5, "n_pairs": 348, "intervals": {"consistency": kind("wilson-clustered", 60)}}
JUDGED = {"mean": 1.5, "n": 60, "intervals": {"mean": kind("wilson-unread", 30)}}
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
        ([("", PAIRS)], [f"{CLUSTERED}: consistency (60 images)."]),
        ([("", quality("none"))], [f"{NONE}: SRCC (12 units)."]),
        ([("", quality("none", 1))], [f"{NONE}: SRCC (1 unit)."]),
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
    assert [each.text for each in interval_notes(results) if each.code != "plain_intervals"] == expected


def test_names_keep_their_capitals_and_shares_of_replies_their_reason() -> None:
    scores = {"accuracy": 0.5, "n": 60, "intervals": {"accuracy": kind("jackknife-few", 60)}}
    (text,) = (each.text for each in interval_notes([("own", scores)]))
    assert text.startswith("Jackknife over items on Fisher's z")
    scores = {"accuracy": 0.5, "n": 9, "extraction": {"cut_off": 0.0, "refused": 0.25}}
    (text,) = (each.text for each in interval_notes([("", scores)]))
    assert text.startswith("No interval, as they only describe the replies") and "cut" not in text


CUT = {"cut": 9, "of": 1100, "reasoning": 0, "unknown": 0, "limit": 32, "allowed": 0, "incomplete": False}
JUDGE = {"judge": "j", "failed": 9, "rounds": 50, "cut_off": 0, "refused": 0, "malformed": 0, "max_tokens": 64}
JUDGE |= {"without_score": 0, "asked": 10, "become": "guessed"}
ITEMS = [(1, "item"), (2, "items")]
SAMPLE, UNPARSED = {"n": 20, "of": 1800, "seed": 3}, {"unparsed": 4, "of": 9}
PRIVATE = {"dataset": "d", "split": "test", "items": 9, "is_private": True, "advice": "Ask its authors."}


@pytest.mark.parametrize(
    ("code", "values", "shown"),
    [
        ("cut_off", CUT, "9 of 1,100 replies were cut off. Use --max-new-tokens above 32 "),
        ("cut_off", CUT | {"reasoning": 4, "unknown": 3}, "off, 4 of .*; it is unknown how 3 .* above 32 "),
        ("cut_off", CUT | {"allowed": 7, "limit": 4096}, "off. The server allowed 7 tokens instead of 4,096"),
        ("cut_off", CUT | {"limit": None, "incomplete": True}, "Incomplete: 9 .* with a higher token limit"),
        ("judge_failed", JUDGE, "The judge j gave no usable reply in 9 of 50 rounds.$"),
        ("judge_failed", JUDGE | {"cut_off": 2, "refused": 3}, r"\(2 cut off, 3 refused\).* max_tokens above 64.$"),
        ("judge_failed", JUDGE | {"malformed": 4, "without_score": 5}, r"\(4 not .* 5 of the 10 .* guessed.$"),
        ("judge_failed", JUDGE | {"without_score": 5, "asked": None}, "Incomplete: in a dimension, 5 texts"),
        *(
            ("left_out", {"n": n, "id": "q", "reason": "r"}, f"^{n} {items} left out; .* 'q': r.$")
            for n, items in ITEMS
        ),
        ("private", PRIVATE, r"^The answers of d \(test\) are private, .* of 9 items .* Ask its authors\.$"),
        ("sample", SAMPLE | {"strata": ["a", "b"]}, r"20 from 1,800 items \(seed 3, by a and b\)"),
        ("sample", SAMPLE | {"strata": []}, r"20 from 1,800 items \(seed 3\)"),
        ("unparsed", UNPARSED | {"cut": 2, "pairs": False}, r"^4 of 9 .* \(2 cut off\) and count as incorrect"),
        ("unparsed", UNPARSED | {"cut": 0, "pairs": True}, "^4 of 9 .* parsed, so their pairs"),
        ("mostly_unparsed", UNPARSED | {"are_texts": True}, "^4 of 9 replies are cut off or empty"),
        ("top_token", {"pair": "good/poor"}, r"word_pair=good/poor\)"),
        ("top_token", {"pair": None}, "no token is a word"),
        ("interval_of_spread", {"tasks": []}, "differ.$"),
        ("interval_of_spread", {"tasks": ["a", "b"]}, "differ: a, b.$"),
        ("places", {"pairs": [3, 1200]}, "over 3 or 1,200 pairs"),
    ],
)
def test_a_note_shows_its_values(code: str, values: dict[str, Any], shown: str) -> None:
    assert re.search(shown, note(code, **values).text)


@pytest.mark.parametrize(
    ("n", "codes"), [(4, ["unparsed", "mostly_unparsed"]), (5, ["unparsed"]), (10, ["unparsed"]), (11, [])]
)
def test_from_a_tenth_of_the_replies_on_the_unparsed_ones_are_noted(n: int, codes: list[str]) -> None:
    result = TaskResult.model_construct(scores={"accuracy": 0.5, "n": n, "extraction": {"unmatched": 1 / n}})
    found = [each for each in (*score_notes(result.scores), unparsed_note(result)) if each]
    assert [(each.code, each.values["unparsed"], each.values["of"]) for each in found] == [
        (code, 1, n) for code in codes
    ]
    texts = TaskResult.model_construct(scores={"mean": 1.0, "n": n, "outcomes": {"cut_off": 1 / n}})
    assert list(score_notes(texts.scores)) == [] and (unparsed_note(texts) is None) == (n > 4)


GROUPED, PLAIN = choices(circular_accuracy=kind("wilson-clustered")), choices(circular_accuracy=kind("wilson"))


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({"x": GROUPED}, "own: CircularEval in x."),
        ({"x": GROUPED, "y": GROUPED}, "own: CircularEval in all groups."),
        ({"x": GROUPED, "y": GROUPED, "z": PLAIN}, "own: CircularEval in x, y."),
        ({"": GROUPED, "x": GROUPED}, "own: CircularEval (51 clusters); own: CircularEval in x."),
    ],
)
def test_intervals_of_groups_name_them(groups: dict[str, Any], expected: str) -> None:
    assert interval_notes([], [("own", groups)])[0].text == f"{CLUSTERED}: {expected}"


def test_headlines_are_averages_and_scores_that_have_none() -> None:
    keys = [TaskKey(*key, "test") for key in (("a", "aesbench"), ("a", "spaq"), ("a", "average"), ("b", "spaq"))]
    assert score_rows.headlines(keys) == keys[2:]
    for key, label in (("circular_accuracy", "CircularEval"), ("vanilla_accuracy", "VanillaEval")):
        (about,) = score_rows.headline_intervals([("", TaskResult.model_construct(scores=BOTH, headline=key))])
        assert about.text == f"{CLUSTERED}: {label} (51 clusters)."


@pytest.mark.parametrize(
    ("interval", "is_above"),
    [([0.51, 0.7], True), ([0.5, 0.6], False), ([0.1, 0.3], False), ([math.nan] * 2, None), (None, None)],
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
    assert [(each.code, each.values["served"]) for each in served_notes(settings)] == expected
    assert unconfirmed_names(settings) == [name for code, names in expected if code == "served" for name in names]


BLIND, PART = note("blind"), note("average_incomplete")
TWO_LEFT_OUT = [{"id": "b", "reason": "x"}, {"id": "a", "reason": "y"}]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"scores": None}, {"no_score": {}}),
        ({"scores": None, "notes": [BLIND]}, {"blind": {}}),
        ({"complete": False, "notes": [BLIND]}, {"blind": {}, "incomplete": {}}),
        ({"complete": False, "notes": [BLIND, PART]}, {"blind": {}, "average_incomplete": {}}),
        ({"data": {"source": finished_runs.MINI}}, {"synthetic": {"tasks": []}}),
        ({"variants": {"x": {"judge": "a"}, "y": {"judge": "z"}}}, {}),
        ({"variants": {"x": {"judge": "a"}, "y": {"judge": "lexical"}}}, {"by_words": {}}),
        ({"left_out": TWO_LEFT_OUT}, {"left_out": {"n": 2, "id": "b", "reason": "x"}}),
    ],
)
def test_what_a_result_records_is_noted(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    assert {each.code: each.values for each in finished_runs.all_notes(evaluated(**fields))} == expected


def own(n: int, rows: int | None = 30, **settings: Any) -> TaskResult:
    return evaluated("own", "own", scores=ACCURACY | {"n": n}, data={"rows": rows}, settings=settings)


def average(*names: str) -> TaskResult:
    settings, scores = {"databases": list(names)}, ACCURACY | {"n": 24}
    names_of = ("q_bench/assessment", "average", "test")
    return evaluated(*names_of, scores=scores, settings=settings, data={"rows": None})


ENGLISH = {"scores": {"circular_accuracy": 0.5, "n_questions": 1000}, "data": {"config": "en"}}


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([evaluated(), evaluated("mmbench/en", "mmbench", **ENGLISH)], "2,495 of 2,659 official items"),
        ([own(4)], "4 of 30 items"),
        ([own(30, limit=40)], ""),
        ([own(4, limit=4), own(6, None)], "10 of 30 items"),
        ([own(5, 40), own(4, sample={"n": 4, "of": 30, "seed": 0})], "9 of 70 items (random sample)"),
        ([own(4, limit=4), evaluated()], "1,499 of 1,525 items"),
        ([average("koniq10k", "live_itw")], "24 of 11,242 official items"),
        ([average("koniq10k", "unknown")], ""),
    ],
)
def test_results_say_which_part_of_their_data_they_cover(results: list[TaskResult], expected: str) -> None:
    assert finished_runs.extent(results) == expected
