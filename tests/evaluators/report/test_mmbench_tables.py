"""MMBench's tables: rows of the paper, from scores that would give them, and real runs whose answers are known."""

import dataclasses
import json
import re

import datasets
import numpy as np
import pytest
from PIL import Image

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.results.finished_runs import read_runs
from tests.evaluators.report.all_charts import task_charts
from tests.evaluators.report.conftest import NONE, scored

WITHOUT = "without blind-solvable questions"
MARKING = "grades of open answers"
L2_HEADS = ("Overall", "CP", "FP-S", "FP-C", "AR", "LR", "RR")

NO_REASONS = dict.fromkeys(("cut_off", "unfinished_reasoning", "refused", "unparseable"), 0.0)


def mmbench(**changes):
    l2 = {"coarse perception": 0.443, "fine-grained perception (single-instance)": 0.406, "relation reasoning": 0.139}
    scores = {
        "vanilla_accuracy": 0.569,
        "circular_accuracy": 0.320,
        "extraction": {"exact": 0.716, "declared": 0.0, "judge": 0.0, "random": 0.0, "unmatched": 0.284, **NO_REASONS},
        "distribution_over": "all passes",
        "by_l2_category": {name: {"circular_accuracy": value} for name, value in l2.items()},
        "by_category": {"image style": {"circular_accuracy": 0.377}, "OCR": {"circular_accuracy": 0.5}},
    }
    return dataclasses.replace(scored("mmbench/en", "mmbench", scores, split="dev"), **changes)


def by_place(tables):
    return {table.title.split(":")[0]: table for table in tables}


def test_mmbench_tables(tables):
    found = by_place(tables(mmbench()))
    both = found["MMBench, Table 2"]
    assert both.columns[:3] == ("Eval \\ VLM", "LLaVA-v1.5", "OpenFlamingo") and both.published_columns == 16
    assert [row[:3] for row in both.rows] == [
        ("VanillaEval (%)", "56.9", "34.6"),
        ("CircularEval (%)", "32.0", "4.6"),
        ("Δ (points)", "-24.9", "-30.0"),
    ]
    second = found["MMBench, Table 8 (dev)"]
    assert second.columns == ("VLM", *(f"{head} (%)" for head in L2_HEADS))
    assert second.rows == (("LLaVA-v1.5", "32.0", "44.3", "40.6", NONE, NONE, NONE, "13.9"),)
    leaves = found["MMBench, Table 9"]
    assert leaves.columns[:4] == ("Split", "VLM", "CP (%)", "Image Style (%)")
    assert leaves.rows[0][:4] == ("DEV", "LLaVA-v1.5", "44.3", "37.7")
    assert found["MMBench, Table 10"].columns[-1] == "OCR (%)"
    assert list(found) == [f"MMBench, Table {name}" for name in ("1", "2", "8 (dev)", *range(9, 15))]


def test_the_test_split_of_mmbench_is_table_3(tables):
    assert "MMBench, Table 3 (test)" in by_place(tables(mmbench(split="test")))


def test_mmbench_table_1_has_no_second_step_without_a_judge(tables):
    scores = mmbench().scores
    shares = {"exact": 0.716, "declared": 0.0, "judge": 0.274, "random": 0.0, "unmatched": 0.01, **NO_REASONS}
    judged = mmbench(model="judged", scores={**scores, "extraction": shares, "judge": "gpt-4", "judge_asked": 9})
    shares = {"exact": 1.0, "declared": 0.0, "judge": 0.0, "random": 0.0, "unmatched": 0.0, **NO_REASONS}
    exact = mmbench(model="exact", scores={**scores, "extraction": shares})
    table = by_place(tables(mmbench(), other=judged, exact=exact))["MMBench, Table 1"]
    assert table.columns == ("Model Name", "Step-1 (%)", "Step-2 (%)")
    assert table.rows == (
        ("LLaVA-v1.5", "71.6", NONE),
        ("judged", "71.6", "99.0"),
        ("exact", "100.0", "100.0"),
    )
    assert table.note.startswith("Computed over all passes.")


def test_mmbench_table_4_has_models_across(tables):
    def marked(accuracy, mean):
        return {MARKING: {"exact_match": accuracy, "mean_score": mean, "judge": "gpt-3.5"}}

    one = mmbench(variants=marked(0.336, 2.75))
    table = by_place(tables(one, other=mmbench(model="MiniGPT-4", variants=marked(0.224, 2.74))))["MMBench, Table 4"]
    assert table.columns == ("Model", "LLaVA-v1.5", "MiniGPT-4")
    assert table.rows == (("Accuracy (%)", "33.6", "22.4"), ("Average score (1 to 5)", "2.75", "2.74"))
    assert table.note.endswith("Graded by gpt-3.5.")


def test_blind_runs_are_in_appendix_b_and_in_no_other_table(tables):
    parts = {"coarse perception": 0.0641, "logic reasoning": 0.2796}
    scores = {
        "circular_accuracy": 0.1323,
        "vanilla_accuracy": 0.4,
        "by_l2_category": {name: {"circular_accuracy": value} for name, value in parts.items()},
    }
    blind = mmbench(model="GPT-4", scores=scores, settings={"blind": True})
    (table,) = tables(blind)
    assert table.title.startswith("MMBench, Appendix B, first table")
    assert table.columns == ("Model", *(f"{head} (%)" for head in L2_HEADS))
    assert table.rows == (("GPT-4", "13.23", "6.41", NONE, NONE, NONE, "27.96", NONE),)
    found = by_place(tables(mmbench(), blind=blind))
    assert [row[0] for row in found["MMBench, Table 8 (dev)"].rows] == ["LLaVA-v1.5"]
    assert [row[0] for row in found["MMBench, Appendix B, first table"].rows] == ["GPT-4"]


def without(model, split, every, rest, blind="GPT-4"):
    scores = {"circular_accuracy": every, "vanilla_accuracy": 0.7}
    extras = {"exclude_blind_solved": {"model": blind, "removed": 9, "not_asked": 0, "of": 99}}
    return mmbench(
        model=model, split=split, scores=scores, variants={WITHOUT: {"circular_accuracy": rest}}, diagnostics=extras
    )


def test_the_second_table_of_appendix_b_has_dev_and_test_in_a_row(tables):
    both = [without("Shikra", "dev", 0.5936, 0.6), without("Shikra", "test", 0.6043, 0.6081)]
    found = by_place(tables(*both, other=without("LLaVA", "dev", 0.445, 0.4277)))
    table = found["MMBench, Appendix B, second table"]
    assert table.columns == ("Model", "Dev (%)", "Dev w/o GPT-4 (%)", "Test (%)", "Test w/o GPT-4 (%)")
    assert table.rows == (("Shikra", "59.36", "60.00", "60.43", "60.81"), ("LLaVA", "44.50", "42.77", NONE, NONE))
    assert table.key == "mmbench_en_mmbench_dev_test_appendix_b_without"
    assert table.source == "Published values: MMBench (Liu et al., ECCV 2024), Appendix B, second table."
    assert "MMBench, Appendix B, second table" not in by_place(tables(mmbench()))


def test_several_blind_models_are_named_below_the_table(tables):
    one, other = without("a", "dev", 0.5, 0.4), without("b", "dev", 0.5, 0.4, blind="Claude-2")
    table = by_place(tables(one, other=other))["MMBench, Appendix B, second table"]
    assert table.columns[2] == "Dev w/o blind (%)"
    assert table.note == "Left out: questions that GPT-4 or Claude-2 solved without images."


QUESTIONS = {
    "q2": (["Yes it is", "No it is not"], "B", "OCR"),
    "q3": (["Red", "Green", "Blue"], "A", "OCR"),
    "q4": (["Cat", "Dog", "Cow", "Hen"], "C", "image style"),
}
L2 = {"OCR": "fine-grained perception (single-instance)", "image style": "coarse perception"}


@pytest.fixture(scope="module")
def data():
    options, answers, categories = zip(*QUESTIONS.values(), strict=True)
    image = Image.fromarray(np.zeros((8, 8, 3), dtype=np.uint8))
    rows = {
        "id": list(QUESTIONS),
        "images": [[image]] * 3,
        "question": [f"What is {id}?" for id in QUESTIONS],
        "hint": [""] * 3,
        "options": list(options),
        "answer": list(answers),
        "category": list(categories),
        "l2_category": [L2[category] for category in categories],
    }
    texts = {name: datasets.Value("string") for name in rows}
    features = {**texts, "images": datasets.Sequence(datasets.Image()), "options": datasets.Sequence(texts["id"])}
    dataset = datasets.Dataset.from_dict(rows, datasets.Features(features))
    return LoadedData(dataset=dataset, name="mmbench", config="en", split="dev", source="given")


def run(model, data, judge=None, **options):
    return evaluator("mmbench/en", settings=options, judge=judge).run(FunctionBackend(model), data)


def asked(messages):
    """Which question, and its lettered options."""
    text = messages[-1]["content"][-1]["text"]
    lines = dict(re.findall(r"(?m)\b([A-D])\. (.*?)(?: <choices end>.*)?$", text))
    return next(id for id in QUESTIONS if id in text), lines


def answers(messages):
    """q2 by letter, q3 in words that name no option, q4 always the first option."""
    id, lines = asked(messages)
    options, right, _ = QUESTIONS[id]
    if id == "q3":
        return "crimson"
    return next((letter for letter, text in lines.items() if text == options["ABCD".index(right)] or id == "q4"), "?")


def judge(messages, n):
    """Reads crimson as the letter B; grades 4 of 5."""
    return ["B" if "crimson" in messages[-1]["content"] and "Options" in messages[-1]["content"] else "Score: 4"] * n


@pytest.fixture(scope="module")
def judged(data, tmp_path_factory):
    """A run with a judge, which reads one of two replies to q3 as people do."""
    letters = tmp_path_factory.mktemp("letters") / "letters.csv"
    letters.write_text("id,pass,letter\nq2,main,B\nq3,main,B\nq3,rotation:1,A\n", encoding="utf-8")
    return run(answers, data, judge, human_labels=str(letters), grade_open_answers=True)


def test_a_real_run_fills_table_1_and_4(tables, judged):
    found = by_place(tables(judged))
    # Of 9 passes, exact matching reads the 2 of q2 and the 4 of q4; the judge reads the 3 of q3.
    assert found["MMBench, Table 1"].rows[0][1:] == ("66.7", "100.0")
    # The open answers "?", "crimson" and "?" are none of the options.
    assert found["MMBench, Table 4"].rows == (("Accuracy (%)", "0.0"), ("Average score (1 to 5)", "4.00"))


def charts(make_run, *evaluations, **others):
    folders = [make_run(*evaluations)] + [make_run(one, name=name) for name, one in others.items()]
    return {chart.title: chart for chart in task_charts(read_runs(folders))}


def test_figure_4_has_the_letters_of_replies_and_of_right_answers(make_run, judged, data):
    unread = run(answers, data)
    chart = charts(make_run, judged, unread=dataclasses.replace(unread, model="unread"))["choice distribution"]
    assert chart.labels == ("A", "B", "C", "D", "none")
    truth, first, second = chart.series
    # Right, in order of the passes: q2 B, A; q3 A, C, B; q4 C, B, A, D.
    assert (truth.name, truth.values) == ("right answers", pytest.approx([100 / 3, 100 / 3, 200 / 9, 100 / 9, 0]))
    # q2 is right, q3 is read as B three times or not at all, q4 is A four times.
    assert first.values == pytest.approx([500 / 9, 400 / 9, 0, 0, 0])
    assert second.values == pytest.approx([500 / 9, 100 / 9, 0, 0, 300 / 9])
    assert chart.note == "As in MMBench, Fig. 4. Computed over all passes."


def test_figure_4_of_other_questions_has_right_answers_for_each_run(make_run, judged):
    shares = {"predicted": {"A": 0.5, "B": 0.5, "none": 0.0}, "correct": {"A": 0.25, "B": 0.75}}
    other = mmbench(model="other", scores={**mmbench().scores, "choice_distribution": shares})
    chart = charts(make_run, dataclasses.replace(judged, model="judged"), other=other)["choice distribution"]
    assert [series.name for series in chart.series] == [
        *("judged: right answers", "other: right answers"),
        *("judged", "other"),
    ]
    assert chart.labels == ("A", "B", "C", "D")
    assert chart.series[1].values == (25, 75, 0, 0)


def test_figure_5_is_the_agreement_with_people(make_run, judged):
    chart = charts(make_run, judged)["agreement with human annotators"]
    assert chart.labels == ("not parsed by exact matching", "all replies")
    (series,) = chart.series
    assert series.values == pytest.approx((50, 200 / 3))
    assert series.name.startswith("judge on ")
    assert series.intervals[1] == pytest.approx(
        [100 * end for end in judged.diagnostics["extractor_agreement"]["all"]["agreement_ci95"]]
    )
    assert "MMBench, Fig. 5" in chart.note and "2 and 3 replies were labelled by human annotators." in chart.note


def test_figure_5_without_replies_that_exact_matching_leaves_open(make_run, data, tmp_path):
    (tmp_path / "letters.jsonl").write_text(json.dumps({"id": "q2", "letter": "A"}), encoding="utf-8")
    chart = charts(make_run, run(answers, data, human_labels=str(tmp_path / "letters.jsonl")))[
        "agreement with human annotators"
    ]
    assert chart.series[0].name.startswith("no judge on ")
    assert chart.rows[0][1] == "undefined" and chart.rows[1][1].startswith("0 (")
    assert "0 and 1 replies were labelled by human annotators." in chart.note


def test_a_blind_run_and_one_without_what_it_solved_fill_both_tables(tables, data, make_run):
    blind = run(lambda messages: answers(messages) if asked(messages)[0] == "q2" else "B", data, blind=True)
    blind = dataclasses.replace(blind, model="blind model")
    folder = make_run(blind, name="solved")
    seeing = run(
        lambda messages: answers(messages) if asked(messages)[0] == "q2" else "A", data, exclude_blind_solved=folder
    )
    found = by_place(tables(dataclasses.replace(seeing, model="seeing"), blind=blind))
    # Blind and seeing, q2 alone is right, of two questions on fine-grained perception and one on coarse.
    first = found["MMBench, Appendix B, first table"]
    assert first.rows == (("blind model", "33.33", "0.00", "50.00", NONE, NONE, NONE, NONE),)
    second = found["MMBench, Appendix B, second table"]
    assert second.columns[:3] == ("Model", "Dev (%)", "Dev w/o blind model (%)")
    assert second.rows == (("seeing", "33.33", "0.00", NONE, NONE),)
