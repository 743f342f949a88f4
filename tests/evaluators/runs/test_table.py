"""What `--verbose` prints: every score and every note."""

import io

import pytest
from rich.console import Console

from eyechart.evaluators.protocols.choice.circular_eval import GRADES, WITHOUT_BLIND
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.runs.table import note_lines, score_rows, score_table
from tests.evaluators.finished_runs import ACCURACY, evaluated, item
from tests.evaluators.table_rows import table_rows


def printed(something):
    to = io.StringIO()
    Console(file=to, width=240, force_terminal=True, color_system=None).print(something)
    return to.getvalue()


ONE = note("task", note="One.")
JUDGED = {"mean_score": 3.25, "mean_score_ci95": [3.0, 3.5], "exact_match": 0.5}
JUDGED |= {"n": 12, "n_scored": 12, "judge": "lexical"}


def test_scores_that_an_option_asks_for_are_shown_and_other_ways_named():
    variants = {WITHOUT_BLIND: ACCURACY | {"n": 7}, GRADES: JUDGED}
    found = evaluated("mmbench/en", "mmbench", variants=variants | {"argmax": ACCURACY})
    lines = printed(score_table([found]))
    for expected in (f"{WITHOUT_BLIND}: accuracy", f"{GRADES}: mean", "exact match"):
        assert expected in lines
    assert "argmax" not in lines
    below = note_lines([found])
    assert "mmbench/en: alternative scorings (argmax): see results.json." in below
    assert any(line.startswith("mmbench/en: Scored by word overlap") for line in below)


OFFICIAL = "llvisionqa (dev, {} official items)"
EN, MOS = {"task": "mmbench/en", "dataset": "mmbench"}, {"task": "two_afc/fine_mos", "dataset": "two_afc"}


AVERAGED = {"task": "q_bench/assessment", "dataset": "average", "split": "test"}
EARLIER = {"scores": {"circular_accuracy": 0.5, "n_questions": 1176}}


def items(n, **settings):
    return {"scores": ACCURACY | {"n": n}, "settings": settings}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (items(400), OFFICIAL.format("400 of 1,495")),
        (items(20, limit=20), OFFICIAL.format("20 of 1,495")),
        (items(20, sample={"n": 20, "of": 1495}), OFFICIAL.format("20 of 1,495")[:-1] + " (random sample))"),
        (items(4, limit=4) | {"data": {"is_mini": True, "rows": 180}}, "llvisionqa (dev, synthetic, 4 of 180 items)"),
        ({"settings": {"limit": 2000}}, OFFICIAL.format("all 1,495")),
        ({}, OFFICIAL.format("all 1,495")),
        ({"scores": None, "items": [item("1"), item("2")]}, OFFICIAL.format("2 of 1,495")),
        ({"data": {"is_mini": True}}, "llvisionqa (dev, synthetic)"),
        ({"data": {"source": "given"}}, "llvisionqa (dev)"),
        ({"dataset": "own data"}, "own data (dev)"),
        (EN | {"data": {"config": "en"}} | EARLIER, "mmbench (dev, all 1,176 official items of an earlier release)"),
        (EN | {"task": "mmbench/en_v11", "data": {"config": "en_v11"}}, "mmbench (dev)"),
        (
            MOS
            | {"split": "test", "data": {"config": "fine_mos", "options": {"rounds": 2}}}
            | {"scores": {"accuracy_all": 0.5, "n_pairs": 96}},
            "two_afc (test, all 96 official items)",
        ),
        (items(24, databases=["koniq10k", "live_itw"]) | AVERAGED, "average (test, 24 of 11,242 official items)"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_it_says_how_many_of_the_official_items_a_score_is_of(fields, expected):
    assert f" {expected} " in " ".join(printed(score_table([evaluated(**fields)])).replace("│", " ").split()) + " "


def test_a_private_split_counts_items_and_names_its_files():
    answers = [item("1"), item("1", pass_name="rotation:1"), item("2")]
    found = evaluated("mmbench/en", "own copy", "test", scores=None, items=answers, files=["mmbench.xlsx"])
    (row,) = table_rows(score_table([found]))
    assert (row["score"], row["n"]) == ("no score, see below", "2")
    assert "mmbench/en: Answer file: mmbench/en/own copy/mmbench.xlsx." in note_lines([found])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"data": {"is_mini": True}}, "the data are synthetic"),
        ({"settings": {"limit": 1}}, "it covers 1 of 1,495 items"),
        ({"left_out": [{"id": "3", "path": None, "reason": "corrupt"}]}, "items were left out"),
    ],
)
def test_a_file_that_must_not_be_submitted_says_so(fields, reason):
    one = {"scores": None, "files": ["mmbench.xlsx"], "items": [item("1")]}
    found = evaluated("mmbench/en", "own copy", "test", **one, **fields)
    line = f"mmbench/en: Answer file: mmbench/en/own copy/mmbench.xlsx; do not submit it: {reason}."
    assert line in note_lines([found])


def test_an_undefined_number_of_items_is_called_so():
    ((_, value, _, _, n),) = score_rows({"srcc": 0.5, "n": float("nan")})
    assert (value, n) == ("0.500", "undefined")


def test_the_agreement_with_human_letters_is_told():
    agreement = {"all": {"agreement": 0.875, "n": 16}, "after_exact": None, "unused": 2}
    below = note_lines([evaluated("mmbench/en", "mmbench", diagnostics={"extractor_agreement": agreement})])
    assert "mmbench/en: The parsed letter agrees with the human label in 87.50 % of 16 replies." in below


def test_incomplete_results_come_first_then_synthetic_data():
    synthetic = evaluated("mmbench/en", "mmbench", notes=[note("incomplete")], data={"is_mini": True})
    lines = note_lines([evaluated(notes=[note("few_decide"), ONE]), synthetic])
    assert [line.split()[1] for line in lines] == ["The", "Synthetic", "A", "One."]


def test_tasks_share_a_note_and_warnings_are_listed():
    both = [evaluated(notes=[ONE], warnings=["n=5 images"]), evaluated("mmbench/en", "mmbench", notes=[ONE])]
    assert note_lines(both) == ["mmbench/en, q_bench/perception: One.", "q_bench/perception: warning: n=5 images"]
