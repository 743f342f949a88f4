"""The progress of a run, and the screen at its end: headline scores, notes, verdict."""

import io
import re

import pytest
from rich.console import Console

from eyechart.evaluators.protocols.choice.circular_eval import GRADES, WITHOUT_BLIND
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.runs.screen import RunProgress, print_screen
from eyechart.evaluators.runs.table import note_lines, score_table
from eyechart.metrics.scoring.choices.replies import UNREAD
from tests.evaluators.command_line import table_rows
from tests.evaluators.finished_runs import ACCURACY, evaluated, item

ONE, ALL = note("task", note="One."), note("task", note="All.")
AT_CHANCE = ACCURACY | {"accuracy_ci95": [0.2, 0.6]}
EMPATHY = evaluated("aes_bench/empathy", scores=AT_CHANCE)
WITHOUT_INTERVAL = {key: value for key, value in ACCURACY.items() if key != "accuracy_ci95"}
NAMES = ["koniq10k", "agiqa3k"]


def screen(evaluations, failed=(), width=80):
    to = io.StringIO()
    print_screen(Console(file=to, width=width, force_terminal=True, color_system=None), evaluations, failed)
    return [line.rstrip() for line in to.getvalue().splitlines()]


def scored(**fields):
    return evaluated(scores=ACCURACY | {"n": 180, "extraction": STEPS} | fields)


def test_a_headline_has_value_interval_chance_best_in_the_paper_and_n():
    lines = screen([evaluated(split="test")])
    assert lines[0] == "acme/vlm on llvisionqa (test), all 1,495 official items"
    value = ["75.00", "%", "50.00\N{EN DASH}87.50", "25.00", "73.36", "1,495"]
    assert lines[3].split() == ["q_bench/perception", "accuracy", *value]


@pytest.mark.parametrize(
    ("evaluations", "expected"),
    [
        ([evaluated()], ["Better than chance: q_bench/perception."]),
        ([evaluated(scores=AT_CHANCE), EMPATHY], ["Not better than chance: q_bench/perception, aes_bench/empathy."]),
        ([evaluated(dataset=name) for name in NAMES], ["Better than chance: all 2 scores with a chance level."]),
        (
            [evaluated(), EMPATHY, evaluated("own", scores=WITHOUT_INTERVAL)],
            ["Better than chance: 1 of 2 scores with a chance level. Not better:", "  aes_bench/empathy."],
        ),
        ([evaluated(scores=None), evaluated(scores=WITHOUT_INTERVAL)], []),
    ],
)
def test_the_verdict_counts_scores_with_interval_and_chance_level(evaluations, expected):
    lines = screen(evaluations)
    first = next((at for at, line in enumerate(lines) if "than chance" in line), len(lines))
    assert [line for line in lines[first:] if line and not line.startswith("Answers")] == expected


def test_an_average_stands_for_its_datasets_and_datasets_without_one_are_named():
    average = screen([evaluated(dataset=name) for name in (*NAMES, "average")])
    assert [line.split()[0] for line in average[3:6]] == ["q_bench/perception", *NAMES]
    assert sum("q_bench/perception on " in line for line in screen([evaluated(dataset=name) for name in NAMES])) == 2


STEPS = dict.fromkeys(("exact", "declared", "judge", "random", *UNREAD), 0.0)


@pytest.mark.parametrize(
    ("unmatched", "first", "has_verdict"),
    [
        (1.0, "q_bench/perception: 180 of 180 replies could not be parsed:", False),
        (0.2, "acme/vlm on llvisionqa", True),
    ],
)
def test_too_many_unparsed_replies_come_first_and_withhold_the_verdict(unmatched, first, has_verdict):
    lines = screen([scored(extraction=STEPS | {"unmatched": unmatched}, accuracy=0.0, accuracy_ci95=[0.0, 0.02])])
    assert lines[0].startswith(first)
    assert any("than chance" in line for line in lines) == has_verdict


def test_a_note_about_some_tasks_has_a_mark_at_each_of_them():
    both, other = evaluated(notes=[ONE, ALL]), evaluated("mmbench/en", "mmbench", notes=[ALL])
    for results, marked in (([both, other], []), ([both, other, evaluated("own", notes=[ONE, ALL])], ["own¹"])):
        lines = screen(results)
        assert "¹ One." in lines and "All." in lines
        assert [line.split()[0] for line in lines if "¹" in line] == ["q_bench/perception¹", *marked, "¹"]


@pytest.mark.parametrize(("lengths", "more"), [("llll", 2), ("lls", 0), ("llss", 2), ("sssss", 0)])
def test_at_most_five_lines_of_notes_and_none_breaks_a_word(lengths, more):
    rest = {"s": "", "l": ", with a text that is too long for a single line of eighty columns, by far"}
    caveats = [note("task", note=f"Finding {number}{rest[length]}") for number, length in enumerate(lengths)]
    lines = screen([evaluated(notes=caveats)])
    assert sum(line.startswith("Finding") for line in lines) == len(lengths) - more
    assert any(line.startswith(f"{more} more notes") for line in lines) == bool(more)
    assert all(len(line) <= 80 for line in lines)


def test_a_task_without_score_counts_its_items():
    two = {"scores": None, "items": [item("1"), item("2")]}
    timings = {"model_seconds": 1.25, "answers_from_store": 1}
    for fields, answers in ((two, ["2", "0.0"]), (two | {"timings": timings}, ["2", "1.2", "1"])):
        lines = screen([evaluated(**fields)])
        assert any("no score" in line and line.endswith(" 2") for line in lines)
        assert re.findall(r"\d[\d.]*", lines[-1].rstrip(".")) == answers


def test_without_a_terminal_there_is_a_line_a_minute_with_the_time_left_over_all_tasks():
    now, to = [0.0], io.StringIO()
    progress = RunProgress(Console(file=to, width=140), [100, None, 300], lambda: now[0])
    # An unknown task counts as the mean of the others.
    assert progress.total == 600
    with progress:
        progress.begin(0, "a")
        for seconds, done in ((59, 20), (60, 50), (119, 70), (120, 100)):
            now[0] = float(seconds)
            progress.answered(done, 100)
        progress.begin(1, "b")
        now[0] = 36_000.0
        progress.answered(20, 20)
        progress.begin(2, "c")
        now[0] = 36_060.0
        progress.answered(300, 300)
    # 50 of 600 answers took a minute, 100 two, and 120 of the 420 that are expected then ten hours.
    assert to.getvalue().splitlines() == [
        "a: 50 of 600 answers of all tasks, about 11 min left",
        "a: 100 of 600 answers of all tasks, about 10 min left",
        "b: 120 of 420 answers of all tasks, about 1,500 min left",
        "c: 420 of 420 answers of all tasks, less than a minute left",
    ]


JUDGED = {"mean_score": 3.25, "mean_score_ci95": [3.0, 3.5], "exact_match": 0.5}
JUDGED |= {"n": 12, "n_scored": 12, "judge": "lexical"}


def test_scores_that_an_option_asks_for_are_shown_and_other_ways_named():
    variants = {WITHOUT_BLIND: ACCURACY | {"n": 7}, GRADES: JUDGED}
    found = evaluated("mmbench/en", "mmbench", variants=variants | {"argmax": ACCURACY})
    lines = "\n".join(row["score"] for row in table_rows(score_table([found])))
    for expected in (f"{WITHOUT_BLIND}: accuracy", f"{GRADES}: mean", "exact match"):
        assert expected in lines
    assert "argmax" not in lines
    below = note_lines([found])
    assert "mmbench/en: alternative scorings (argmax): see results.json." in below
    assert any(line.startswith("mmbench/en: Scored by word overlap") for line in below)


def test_a_private_split_counts_items_and_names_its_files():
    answers = [item("1"), item("1", pass_name="rotation:1"), item("2")]
    found = evaluated("mmbench/en", "own copy", "test", scores=None, items=answers, files=["mmbench.xlsx"])
    (row,) = table_rows(score_table([found]))
    assert (row["score"], row["n"]) == ("no score, see below", "2")
    assert "mmbench/en: Answer file: mmbench/en/own copy/mmbench.xlsx." in note_lines([found])
    # Or that it must not be submitted.
    one = {"scores": None, "files": ["mmbench.xlsx"], "items": [item("1")], "settings": {"limit": 1}}
    (line,) = (line for line in note_lines([evaluated("mmbench/en", "own copy", "test", **one)]) if "file:" in line)
    assert line.endswith("own copy/mmbench.xlsx; do not submit it: it covers 1 of 1,495 items.")


def test_incomplete_results_come_first_then_synthetic_data():
    synthetic = evaluated("mmbench/en", "mmbench", notes=[note("incomplete")], data={"is_mini": True})
    lines = note_lines([evaluated(notes=[note("few_decide"), ONE]), synthetic])
    assert [line.split()[1] for line in lines] == ["The", "Synthetic", "A", "One."]


def test_tasks_share_a_note_and_warnings_are_listed():
    both = [evaluated(notes=[ONE], warnings=["n=5 images"]), evaluated("mmbench/en", "mmbench", notes=[ONE])]
    assert note_lines(both) == ["mmbench/en, q_bench/perception: One.", "q_bench/perception: warning: n=5 images"]
