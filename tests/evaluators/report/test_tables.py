"""The papers' tables: rows of the papers from scores that would give them, and real runs against other computations."""

import csv
import dataclasses
import json
import math
import re
import shutil
import subprocess

import numpy as np
import pytest
from scipy import stats

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.files.csv_text import csv_text
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.published.rendering import BEST, SECOND, Cell, Head, Row, Table
from eyechart.evaluators.report.tables import to_latex, to_markdown
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import dimension
from tests.evaluators.report.conftest import (
    NONE,
    PERCEPTION,
    accuracies,
    answers,
    asked,
    paper_tables,
    replaced,
    run_mmbench,
    scored,
    shown,
)

DATABASES = ("koniq10k", "spaq", "live_fb", "live_itw", "cgiqa6k", "agiqa3k", "kadid10k", "average")
HEADS = ("KonIQ-10k", "SPAQ", "LIVE-FB", "LIVE-itw", "CGIQA-6K", "AGIQA-3K", "KADID-10k", "Average")
L2_HEADS = ("Overall", "CP", "FP-S", "FP-C", "AR", "LR", "RR")
KAPPA, ALPHA, RHO = "\N{GREEK SMALL LETTER KAPPA}", "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER RHO}"


def by_number(tables):
    return {table.title.partition(":")[0].partition(", ")[2] or table.title: table for table in tables}


def heads(table):
    return [(group, [head.text for head in heads if not head.is_published]) for group, heads in table.groups]


# Q-Bench


def perception(**changes):
    concerns = ["in-context other", "other", "distortion", "in-context distortion"]
    scores = {
        **{"accuracy": 0.6007, "random_guess": 0.3794},
        "by_question_type": accuracies(["yes-or-no", "what", "how"], [64.60, 59.22, 55.76], [50, 28.48, 33.30]),
        "by_concern": accuracies(concerns, [73.76, 67.30, 47.98, 58.90], [37.10, 38.50, 37.24, 39.13]),
    }
    return replaced(scored("q_bench/perception", "llvisionqa", scores), **changes)


def test_q_bench_table_2(tables):
    (table,) = tables(perception())
    assert table.key == "q_bench_perception_llvisionqa_test_table_2"
    assert table.caption == "Q-Bench, Table 2: Perception, test subset (A1 Perception; LLVisionQA, test)"
    concerns = ["Distortion (%)", "Other (%)", "In-context Distortion (%)", "In-context Other (%)"]
    assert table.corner == ("Model (variant)",) and heads(table) == [
        ("Question Types", ["Yes-or-No (%)", "What (%)", "How (%)"]),
        ("Quadrants of Low-level Concerns", concerns),
        ("", ["Overall (%)"]),
    ]
    assert shown(table) == [
        ("chance level", "50.00", "28.48", "33.30", "37.24", "38.50", "39.13", "37.10", "37.94"),
        ("LLaVA-v1.5", "64.60", "59.22", "55.76", "47.98", "67.30", "58.90", "73.76", "60.07"),
    ]


def test_other_splits_are_other_tables_and_pairs_have_no_published_rows(tables):
    (table,) = tables(perception(split="dev"))
    assert table.title == "Q-Bench, Table 7: Perception, dev subset" and table.rows[2].is_published
    (pairs,) = tables(perception(task="q_bench/perception_pairs", split="dev"))
    assert (len(pairs.rows), pairs.source) == (2, "")
    other = perception(model="other", scores={**perception().scores, "random_guess": 0.4})
    (table,) = tables(perception(), other=other)
    assert [row[0] for row in shown(table)] == ["LLaVA-v1.5", "other"], "runs of different chance levels"


def test_q_bench_table_5_has_closed_set_inference_alone(tables):
    found = by_number(tables(perception(), closed=perception(settings={"inference": "closed-set"})))
    assert [row[0] for row in shown(found["Table 2"])] == ["chance level", "LLaVA-v1.5 (run)"]
    assert [row[0] for row in shown(found["Table 5"])] == ["chance level", "LLaVA-v1.5 (closed)"]


def test_q_bench_table_8_has_all_questions_between_the_two_answers(tables):
    def yes_no(yes, no, both):
        return {"yes_no": {"yes": yes, "no": no, "all": both, "mean": no and (yes + no) / 2, "n_yes": 92, "n_no": 58}}

    first, second = ({"accuracy": 0.7, **yes_no(*values)} for values in ((0.75, 0.5, 0.6533), (1.0, None, 1.0)))
    table = by_number(tables(perception(scores=first), other=perception(model="other", scores=second)))["Table 8"]
    assert table.columns[1:] == ["all (%)", "correct answer: Yes (%)", "correct answer: No (%)", "mean (%)"]
    assert shown(table) == [
        ("LLaVA-v1.5", "65.33", "75.00", "50.00", "62.50"),
        ("other", "100.00", "100.00", NONE, NONE),
    ]


def test_q_bench_table_3(tables):
    def judged(p0, p1, p2, score):
        return dimension(score, p0=p0 / 100, p1=p1 / 100, p2=p2 / 100)

    scores = {
        "relevance": judged(10.85, 60.34, 28.81, 1.18),
        "completeness": judged(27.48, 54.74, 17.78, 0.903),
        "preciseness": judged(30.51, 26.04, 43.45, 1.1294),
        "sum": 3.2123,
        "judge": "gpt-4",
    }
    (table,) = tables(scored("q_bench/description", "lldescribe", scores, settings={"judge": {"name": "another"}}))
    assert shown(table)[0][1:] == (
        *("27.48", "54.74", "17.78", "0.90", "30.51", "26.04", "43.45", "1.13"),
        *("10.85", "60.34", "28.81", "1.18", "3.21"),
    )
    assert table.columns[5] == "Precision: P_0 (%)" and table.columns[-1] == "Sum"
    assert table.note == "Scored by gpt-4."


def test_tables_7_and_8_of_the_real_dev_split(tables, reference, tmp_path):
    """A model that always says A, against counts from the release; the paper's chance level is truncated."""
    rows = json.loads((reference / "llvisionqa" / "llvisionqa_dev.json").read_text(encoding="utf-8"))
    data = load_data(get_task("q_bench/perception"), DataRequest(data_dir=reference / "llvisionqa", images="skip"))
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": id, "text": "A"}) + "\n" for id in data.dataset["id"]))
    done = evaluator("q_bench/perception").run(PredictionsFileBackend(answers), data)
    seventh, eighth, _ = map(shown, tables(done))

    def share(chosen):
        return f"{100 * sum(row['candidates'][0] == row['correct_ans'] for row in chosen) / len(chosen):.2f}"

    by_type = [share([row for row in rows if row["type"] == kind]) for kind in range(3)]
    by_concern = [share([row for row in rows if row["concern"] == concern]) for concern in range(4)]
    assert seventh[1][1:] == (*by_type, *by_concern, share(rows))
    paper = (50.00, 27.86, 33.31, 37.89, 38.48, 38.28, 35.82, 37.80)
    assert [float(cell) for cell in seventh[0][1:]] == pytest.approx(paper, abs=0.0101)
    yes, no = ([row for row in rows if row["correct_ans"] == answer] for answer in ("Yes", "No"))
    assert (len(yes), len(no), {len(row["candidates"]) for row in yes + no}) == (315, 234, {2})
    assert eighth[0][1:4] == (share(yes + no), share(yes), share(no))


def on_databases(scores, variants=None, **settings):
    """Results on databases and their average, of texts as the paper prints them: SRCC/PLCC in its order."""

    def of(text):
        return dict(zip(("srcc", "plcc"), map(float, text.split("/")), strict=True))

    columns = {name: text.split() for name, text in (variants or {}).items()}
    return [
        scored(
            "q_bench/assessment",
            database,
            of(text),
            settings={"word_pair": "good/poor", **settings, "data": {"source": database}},
            variants={name: of(texts[place]) for name, texts in columns.items()},
        )
        for place, (database, text) in enumerate(zip(DATABASES, scores.split(), strict=False))
    ]


def numbers(text, without=()):
    """The cells of a text as the paper prints it, on all databases or without some."""
    pairs = [pair.split("/") for place, pair in enumerate(text.split()) if place not in without]
    return tuple(cell for pair in pairs for cell in pair)


# Table 11, LLaVA-v1.5 (13B), with the values of CGIQA-6K and AGIQA-3K under their own headings.
GOOD_POOR = "0.448/0.460 0.563/0.584 0.310/0.339 0.445/0.481 0.285/0.297 0.664/0.754 0.390/0.400 0.444/0.473"
HIGH_LOW = "0.456/0.482 0.529/0.553 0.286/0.306 0.489/0.513 0.276/0.284 0.683/0.752 0.316/0.331 0.434/0.460"
FEWER = (4, 7)
"""CGIQA-6K and the average, which Tables 9 and 10 lack."""


def test_q_bench_table_4_leaves_open_what_a_run_lacks(tables):
    *parts, average = on_databases(GOOD_POOR)
    (table,) = tables(*parts, average)
    assert heads(table) == [(name, ["SRCC", "PLCC"]) for name in HEADS]
    assert shown(table) == [("LLaVA-v1.5", *numbers(GOOD_POOR))]
    assert shown(table, published=True)[0][:3] == ("NIQE", "0.316", "0.377")
    assert table.key == "q_bench_assessment_average_test_table_4"
    parts[1].scores["srcc"] = None
    (table,) = tables(parts[1])
    assert shown(table) == [("LLaVA-v1.5", *[NONE] * 3, "0.584", *[NONE] * 12)]


def test_databases_outside_the_paper_have_no_table_4(tables):
    others = [scored("q_bench/assessment", name, {"srcc": 0.5, "plcc": 0.5}) for name in ("another", "csiq")]
    assert tables(*others) == []


@pytest.mark.parametrize("words", ["good/poor", "high/low"])
def test_q_bench_table_10_is_the_same_whichever_words_make_the_scores(tables, words):
    both = {"good/poor": GOOD_POOR, "high/low": HIGH_LOW}
    own = both.pop(words)
    table = by_number(tables(*on_databases(own, both, word_pair=words)))["Table 10"]
    assert shown(table) == [
        ("LLaVA-v1.5", "good↔poor", *numbers(GOOD_POOR, FEWER)),
        ("LLaVA-v1.5", "high↔low", *numbers(HIGH_LOW, FEWER)),
    ]


def test_the_tables_of_a_real_run_are_those_of_scipy(tables):
    """Cells from logits that are computed anew from the images, with words in which the answers differ."""
    seen, human, found = {}, {}, []

    def logits(messages, words):
        image = np.asarray(messages[0]["content"][1]["image"].convert("L"), dtype=float)
        deviation, mean = image.std() - 50, image.mean() - 128
        values = {word: math.sin(place) * deviation + math.cos(place) * mean for place, word in enumerate(words)}
        seen[database].append(values)
        return values

    for database in ("spaq", "kadid10k"):
        data = load_data(
            get_task("q_bench/assessment"), DataRequest(dataset=database, data_dir=mini.release(database), limit=40)
        )
        seen[database], human[database] = [], data.dataset["quality"][:40]
        found.append(evaluator("q_bench/assessment").run(FunctionBackend(logits), data))
    fourth, ninth, tenth, eleventh = map(shown, tables(*with_averages(found)))

    def cells(database, positive, negative, strategy="softmax"):
        rows = seen[database]
        x = np.array([sum(row[w] for w in positive) - sum(row[w] for w in negative) for row in rows])
        q = (x > 0).astype(float) if strategy == "argmax" else 1 / (1 + np.exp(-x / 100))
        return tuple(f"{measure(q, human[database]).statistic:.3f}" for measure in (stats.spearmanr, stats.pearsonr))

    good_poor = [cells(name, ["good"], ["poor"]) for name in seen]
    assert fourth[0][1:] == (*[NONE] * 2, *good_poor[0], *[NONE] * 8, *good_poor[1], *[NONE] * 2)
    assert [row[1] for row in ninth] == ["argmax", "softmax"]
    assert [row[4:6] for row in ninth] == [cells("spaq", ["good"], ["poor"], "argmax"), good_poor[0]]
    assert [row[-2:] for row in tenth] == [good_poor[1], cells("kadid10k", ["high"], ["low"])]
    assert [row[1] for row in eleventh][::4] == ["good↔poor", "good+fine↔poor+bad"]
    assert eleventh[5][4:6] == cells("spaq", ["good", "high", "fine"], ["poor", "low", "bad"])
    assert eleventh[5][14:16] == cells("kadid10k", ["good", "high", "fine"], ["poor", "low", "bad"])


# MMBench

NO_REASONS = dict.fromkeys(("cut_off", "unfinished_reasoning", "refused", "unparseable"), 0.0)


def mmbench(**changes):
    l2 = {"coarse perception": 0.443, "fine-grained perception (single-instance)": 0.406, "relation reasoning": 0.139}
    scores = {
        "vanilla_accuracy": 0.569,
        "circular_accuracy": 0.320,
        "extraction": {"exact": 0.716, "declared": 0.0, "judge": 0.274, "random": 0.0, "unmatched": 0.01, **NO_REASONS},
        "distribution_over": "all passes",
        "by_l2_category": {name: {"circular_accuracy": value} for name, value in l2.items()},
        "by_category": {"image style": {"circular_accuracy": 0.377}, "OCR": {"circular_accuracy": 0.5}},
    }
    return replaced(scored("mmbench/en", "mmbench", scores, split="dev"), **changes)


def test_mmbench_tables(tables):
    found = by_number(tables(mmbench()))
    assert list(found) == [f"Table {number}" for number in (1, 2, 8, 9, 10, 14)]
    assert shown(found["Table 1"]) == [("LLaVA-v1.5", "71.6", "99.0")]
    assert found["Table 1"].note.startswith("Computed over all passes.")
    both = found["Table 2"]
    assert both.columns[:3] == ["Eval \\ VLM", "LLaVA-v1.5", "OpenFlamingo"]
    assert sum(head.is_published for head in both.heads) == 16
    rows = [("VanillaEval (%)", "56.9", "34.6"), ("CircularEval (%)", "32.0", "4.6"), ("Δ (points)", "-24.9", "-30.0")]
    assert [row[:3] for row in shown(both)] == rows
    assert found["Table 8"].columns == ["VLM", *(f"{head} (%)" for head in L2_HEADS)]
    assert shown(found["Table 8"]) == [("LLaVA-v1.5", "32.0", "44.3", "40.6", NONE, NONE, NONE, "13.9")]
    assert [head.text for head in found["Table 8"].heads if head.is_headline] == ["Overall (%)"]
    assert found["Table 9"].columns == ["VLM", "CP (%)", "Image Style (%)"]
    assert shown(found["Table 9"]) == [("LLaVA-v1.5", "44.3", "37.7")]
    assert found["Table 10"].columns[-1] == "OCR (%)"
    found = by_number(tables(mmbench(split="test")))
    assert "Table 3" in found and not found["Table 2"].is_comparable
    assert found["Table 2"].source.endswith("Table 2 (split: dev; the runs use test).")
    chinese = by_number(tables(mmbench(task="mmbench/cn")))["Table 8"]
    assert chinese.source == "" and shown(chinese, published=True) == []


def test_mmbench_table_4_has_models_across(tables):
    def graded(accuracy, mean):
        return {"grades of open answers": {"exact_match": accuracy, "mean_score": mean, "judge": "gpt-3.5"}}

    one, other = mmbench(variants=graded(0.336, 2.75)), mmbench(model="MiniGPT-4", variants=graded(0.224, 2.74))
    table = by_number(tables(one, other=other))["Table 4"]
    assert table.columns == ["Model", "LLaVA-v1.5", "MiniGPT-4"]
    assert shown(table) == [("Accuracy (%)", "33.6", "22.4"), ("Average score (1 to 5)", "2.75", "2.74")]
    assert table.note.endswith("Graded by gpt-3.5.")


def test_a_real_run_with_a_judge_fills_tables_1_and_4(tables, judged):
    found = by_number(tables(judged))
    # Of 9 passes, exact matching reads the 2 of q2 and the 4 of q4; the judge reads the 3 of q3.
    assert shown(found["Table 1"])[0][1:] == ("66.7", "100.0")
    # The open answers "?", "crimson" and "?" are none of the options.
    assert shown(found["Table 4"]) == [("Accuracy (%)", "0.0"), ("Average score (1 to 5)", "4.00")]


def test_a_real_blind_run_and_one_without_what_it_solved_fill_both_tables(tables, three_questions, make_run):
    def answer(other):
        return lambda messages: answers(messages) if asked(messages)[0] == "q2" else other

    blind = replaced(run_mmbench(answer("B"), three_questions, blind=True), model="blind model")
    seeing = run_mmbench(answer("A"), three_questions, exclude_blind_solved=make_run(blind, name="solved"))
    found = by_number(tables(replaced(seeing, model="seeing"), blind=blind))
    # Blind and seeing, q2 alone is right, of two questions on fine-grained perception and one on coarse.
    (first,) = shown(found["Appendix B, first table"])
    assert first == ("blind model (without images)", "33.33", "0.00", "50.00", NONE, NONE, NONE, NONE)
    assert shown(found["Appendix B, second table"]) == [("seeing", "33.33", "0.00")]
    assert found["Appendix B, second table"].note.startswith("Left out: questions that blind model solved")
    # A blind run is in no other table.
    assert [row[0] for row in shown(found["Table 8"])] == ["seeing"]


# QL-Bench, AesBench, 2AFC


def test_ql_bench_tables_i_and_iii(tables):
    def part(cc, rc, accuracy, rate):
        sa = cc + rc
        return {"score_cc": cc, "score_rc": rc, "score_sa": sa, "answer_accuracy": accuracy, "answer_rate": rate}

    parts = {
        "how": part(60.572, 0.0, 0.60572, 1.0),
        "yes-or-no": part(65.392, 0.0, 0.65392, 1.0),
        "what": part(68.784, 1.095, 0.69546, 0.98905),
    }
    scores = {**part(64.849, 0.334, 0.65, 0.99), "by_question_type": parts}
    first, second = tables(scored("ql_bench/single", "llsavisionqa", scores, split="dev"))
    assert first.columns[1:4] == ["Yes-or-No: score_cc (%)", "Yes-or-No: score_rc (%)", "What: score_cc (%)"]
    assert [(head.group, head.text) for head in first.heads if head.is_headline] == [("Total", "score_sa (%)")]
    assert shown(first)[0][1:] == (
        *("65.392", "0.000", "68.784", "1.095", "60.572", "0.000"),
        *("64.849", "0.334", "65.183"),
    )
    assert second.title.startswith("QL-Bench, Table III")
    assert shown(second)[0][1:] == ("65.392", "100.000", "69.546", "98.905", "60.572", "100.000")
    assert first.source.endswith("Table I (split: dev and test; the runs use dev).") and not first.is_comparable
    pair = tables(scored("ql_bench/pair", "llsavisionqa", scores, split="dev"))
    assert [table.title.partition(":")[0] for table in pair] == ["QL-Bench, Table II", "QL-Bench, Table IV"]


def test_aes_bench_tables(tables):
    sources = accuracies(["natural", "artistic", "AI-generated"], [75.67, 72.58, 65.82], [31, 32, 33])
    dimensions = accuracies(["content", "composition", "technical quality"], [65.57, 71.72, 69.02], [30, 30, 30])
    scores = {"accuracy": 0.7208, "random_guess": 0.35, "by_image_source": sources, "by_dimension": dimensions}
    texts = {"relevance": dimension(1.385), "precision": dimension(1.151), "completeness": dimension(1.366)}
    perception, empathy, assessment, interpretation = tables(
        scored("aes_bench/perception", "aesbench", scores),
        scored("aes_bench/empathy", "aesbench", scores),
        scored("aes_bench/assessment", "aesbench", scores),
        scored("aes_bench/interpretation", "aesbench", {**texts, "mean": 1.3}),
    )
    assert heads(perception) == [
        ("Perceptual Dimensions", ["Tec. Qua. (%)", "Col. Lig. (%)", "Comp. (%)", "Content (%)"]),
        ("Image Sources", ["NIs (%)", "AIs (%)", "AGIs (%)"]),
        ("Question Types", ["Yes-No (%)", "What (%)", "How (%)", "Why (%)"]),
        ("", ["Overall (%)"]),
    ]
    assert shown(perception)[1][1:8] == ("69.02", NONE, "71.72", "65.57", "75.67", "72.58", "65.82")
    assert heads(empathy)[0][1] == ["Emotion (%)", "Interest (%)", "Uniqueness (%)", "Vibe (%)"]
    assert assessment.columns == ["MLLM", "NIs (%)", "AIs (%)", "AGIs (%)", "Overall (%)"]
    assert shown(assessment)[1] == ("LLaVA-v1.5", "75.67", "72.58", "65.82", "72.08")
    assert interpretation.columns == ["MLLM", "Rele.", "Prec.", "Comp.", "Overall"]
    assert shown(interpretation) == [("LLaVA-v1.5", "1.385", "1.151", "1.366", "1.300")]


def pair_row(kappa, alpha, rho):
    return {"consistency": kappa, "accuracy_all": alpha, "plcc_fitted": rho}


def test_2afc_table_ii_has_each_average_below_its_parts_and_table_v_the_ranking_methods(tables):
    table = {
        **{"SQAD": pair_row(0.8, 0.5, 0.7), "kadid10k": pair_row(0.763, 0.540, 0.560)},
        **{"kadis700k": pair_row(0.9, 0.6, 0.8), "CSIQ": pair_row(0.778, 0.589, 0.764)},
    }
    averages = [
        {"over": ["SQAD", "kadis700k"], "weights": "n_images", **pair_row(0.85, 0.55, 0.75)},
        {"over": ["kadid10k", "CSIQ"], "weights": "n_images", **pair_row(0.77, 0.55, 0.6)},
    ]
    scores = {"consistency": 0.7, "aggregator": "map", "by_pool": {"CSIQ": {"plcc_fitted": 0.764}}}
    variants = {"mle": {"by_pool": {"CSIQ": {"plcc_fitted": None}}}, "mixed": {"by_pool": {}}}
    variants["mle_ridge=0.01"] = {"by_pool": {"CSIQ": {"plcc_fitted": 0.75}}}
    extras = {"table": table, "averages": averages}
    second, fifth = tables(scored("two_afc/coarse", "two_afc", scores, diagnostics=extras, variants=variants))
    assert [group for group, _ in second.groups][:2] == ["LLaVA-v1.5", "IDEFICS-Instruct"]
    assert [head.text for head in second.heads[:4]] == [KAPPA, ALPHA, RHO, KAPPA]
    rows = {row[0]: row[1:7] for row in shown(second)}
    assert rows == {
        "CSIQ": ("0.778", "0.589", "0.764", "0.206", "0.094", "0.670"),
        "KADID-10k": ("0.763", "0.540", "0.560", "0.202", "0.102", "0.552"),
        "MM21": (NONE, NONE, NONE, "0.337", "0.173", "0.338"),
        "CLIVE": (NONE, NONE, NONE, "0.323", "0.152", "0.492"),
        "KonIQ-10k": (NONE, NONE, NONE, "0.251", "0.119", "0.479"),
        "SPAQ": (NONE, NONE, NONE, "0.330", "0.148", "0.474"),
        "Weighted average of six": ("0.770", "0.550", "0.600", "0.286", "0.137", "0.470"),
        "KADIS-700k": ("0.900", "0.600", "0.800", "0.191", "0.112", "0.635"),
        "SQAD": ("0.800", "0.500", "0.700", "0.326", "0.190", "0.746"),
        "Mixed": (NONE, NONE, NONE, "0.296", "0.133", "0.567"),
        "Weighted average of three": ("0.850", "0.550", "0.750", "0.289", "0.136", "0.629"),
    }
    places = [*rows].index
    assert places("Weighted average of six") == 6 and places("Weighted average of three") == len(rows) - 1
    assert fifth.columns == ["Model", "Method", "CSIQ"]
    methods = [("MLE", NONE), ("MLE, ridge 0.01", "0.750"), ("Perron", NONE), ("TrueSkill", NONE), ("MAP", "0.764")]
    assert [row[1:] for row in shown(fifth)] == methods


def test_2afc_tables_iii_and_iv_of_two_models_side_by_side(tables):
    extras = {
        "table": {"fnoise": pair_row(0.365, 0.198, 0.396), "AWGN": pair_row(0.448, 0.260, 0.543)},
        "averages": [{"over": ["fnoise", "AWGN"], "weights": "equal", **pair_row(0.4, 0.2, 0.5)}],
    }
    one = scored("two_afc/fine_levels", "two_afc", {"consistency": 0.4}, diagnostics=extras)
    other = replaced(one, model="GPT-4V", diagnostics={"table": {"AWGN": pair_row(0.219, 0.219, 0.815)}})
    third, fourth = tables(one, other=other)
    names = ["Type", f"LLaVA-v1.5: {KAPPA}", f"LLaVA-v1.5: {ALPHA}", f"GPT-4V: {KAPPA}", f"GPT-4V: {ALPHA}"]
    assert third.columns[:5] == names and third.columns[-1] == f"Single subject: {ALPHA}"
    rows = {row[0]: row[1:5] for row in shown(third)}
    assert rows["AWGN"] == ("0.448", "0.260", "0.219", "0.219")
    assert rows["Pink"] == ("0.365", "0.198", NONE, NONE) and rows["JPEG"] == (NONE,) * 4
    assert rows["Average"] == ("0.400", "0.200", NONE, NONE)
    # IDEFICS-Instruct has no correlation there, which is not no value.
    assert shown(fourth)[0][:4] == ("AWGN", "0.543", "0.815", "0.000") and NONE not in shown(fourth)[0]


# Tasks of one's own, and ranks


def test_a_task_of_ones_own_has_tables_of_all_scores_and_of_the_headline_by_group(tables):
    def part(accuracy, n=8):
        return {"circular_accuracy": accuracy, "random_guess": 0.1, "n_questions": n}

    groups = {"by_category": {"maths": part(0.75), "logic": part(0.25)}}
    # Crossed groups and other parts have no table.
    groups |= {"by_category_by_level": {"maths": {"hard": part(0.5)}}, "shares": {"maths": part(0.5)}}
    one = scored("mmstar", "mmstar", {**part(0.5), "vanilla_accuracy": 0.625, "n_vanilla": 8, **groups}, split="val")
    whole, by_category = tables(one, other=replaced(one, model="other"))
    assert whole.caption == "mmstar: Scores (val)" and whole.columns == ["Model", "CircularEval (%)", "VanillaEval (%)"]
    assert [row[1:] for row in shown(whole)] == [("50.00", "62.50")] * 2
    assert [head.text for head in whole.heads if head.is_headline] == ["CircularEval (%)"]
    assert by_category.columns == ["Model", "maths (%)", "logic (%)"]
    assert shown(by_category)[0] == ("LLaVA-v1.5", "75.00", "25.00")


def test_the_own_tables_of_quality_have_three_decimals(tables):
    scores = {"srcc": 0.5, "plcc": -0.5, "n": 9, "by_place": {"in": {"srcc": -1.0, "n": 4}}}
    quality, places = tables(scored("photos", "photos", scores))
    assert shown(quality)[0][1:] == ("0.500", "-0.500")
    assert (places.title, shown(places)[0][1]) == ("SRCC by place", "-1.000")


def marks(table, column=-1):
    return {row.labels[0]: row.cells[column].mark for row in table.rows if row.cells[column].mark}


def test_the_paper_s_rows_are_ranked_with_the_runs_where_they_are_comparable(tables):
    table, *_ = tables(PERCEPTION)
    assert table.source == "Published values: Q-Bench (Wu et al., ICLR 2024), Table 7." and table.is_comparable
    assert sum(row.is_published for row in table.rows) == 15
    # Chance levels and people have no rank.
    best = {"some/model": BEST, "InternLM-XComposer-VL (InternLM)": SECOND}
    assert marks(table) == best
    limited, *_ = tables(replaced(PERCEPTION, settings={**PERCEPTION.settings, "limit": 9}))
    assert not limited.is_comparable
    assert marks(limited) == {"InternLM-XComposer-VL (InternLM)": BEST, "LLaVA-v1.5 (Vicuna-v1.5-13B)": SECOND}


def test_equal_values_share_a_rank(tables):
    def run(accuracy, name):
        return scored("mine", "mine", {"accuracy": accuracy, "random_guess": 0.5, "n": 9}, model=name)

    (table,) = tables(run(0.7, "a"), b=run(0.7, "b"), c=run(math.nan, "c"))
    assert marks(table) == {"a": BEST, "b": BEST}
    assert marks(tables(run(0.5, "a"))[0]) == {}


DOCUMENT = r"""\documentclass[10pt,twocolumn]{article}
\usepackage[letterpaper,margin=0.75in,columnsep=0.25in]{geometry}
\usepackage{booktabs,graphicx}
\begin{document}
%s
\end{document}
"""
NAMES = (r"org/model_B & 100 % #1 {x} ~y ^z \w $ <a|b> --c", "[5] *best*", "Qwen2.5-VL-7B-Instruct-of-a-very-long-name")


def table(label="m", head="a", *cells, **fields):
    row = Row((label,), cells or (Cell(0.5, 1),))
    heads = (Head("", head), *(Head("", f"h{i}") for i in range(1, len(row.cells))))
    return Table(
        **{"key": "t", "title": "T", "caption": "T", "corner": ("Model",), "heads": heads, "rows": (row,)} | fields
    )


def test_csv_is_read_back_with_numbers_as_numbers():
    made = table('a, "b"\n', "κ", Cell(-24.9, 1), Cell(float("nan"), 1))
    assert list(csv.reader(csv_text(made.columns, made.texts).splitlines(keepends=True))) == [
        ["Model", "κ", "h1"],
        ['a, "b"\n', "-24.9", "\N{EN DASH}"],
    ]


def test_markdown_texts_are_no_markup_and_stay_in_their_cell():
    lines = to_markdown(table("a|b_<i>*\n\x07, \\50%~", "κ", note="A note.")).splitlines()
    assert lines[2:5] == ["| Model | κ |", "| --- | --- |", r"| a\|b\_\<i\>\* , \\50%\~ | 0.5 |"]
    assert lines[-1] == "A note."


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (r"a_b & 100 % #1 {x} $y", r"a\_b \& 100\,\% \#1 \{x\} \$y"),
        (
            r"~ ^ \ < > |",
            r"\textasciitilde{} \textasciicircum{} \textbackslash{} \textless{} \textgreater{} \textbar{}",
        ),
        ("a--b \N{EN DASH} c", "a-{}-b -- c"),
        ("[0,25)", "{[}0,25)"),
        ("*m", "{*}m"),
        ("a\x07\nb", "a b"),
    ],
)
def test_latex_texts_are_no_commands(text, escaped):
    latex = to_latex(table(text, caption=text))
    assert rf"{escaped} & 0.5 \\" in latex
    assert rf"\caption{{{escaped}.}}" in latex


def test_latex_values_have_their_sign_mark_and_interval():
    cells = Cell(-24.9, 1, BEST), Cell(0.25, 2, SECOND, (-0.5, 1.0)), Cell(float("nan"), 1)
    stacked = r"\begin{tabular}[t]{@{}c@{}}\underline{0.25} \\ {\scriptsize {[}$-$0.50, 1.00]}\end{tabular}"
    latex = to_latex(table("m", "a", *cells))
    assert rf"m & \textbf{{$-$24.9}} & {stacked} & -- \\" in latex
    assert r"In brackets: 95\,\% intervals." in latex


def test_latex_heads_that_begin_alike_stand_below_what_they_share():
    heads = (Head("How", "score_cc"), Head("How", "score_rc"), Head("", "All"), Head("", "mean of both means of both"))
    lines = to_latex(table("m", "a", *[Cell(1, 0)] * 4, heads=heads)).splitlines()
    assert r" & \multicolumn{2}{c}{How} & \multicolumn{2}{c}{} \\" in lines
    broken = r"\begin{tabular}[b]{@{}c@{}}mean of both \\ means of \\ both\end{tabular}"
    assert rf"Model & score\_cc & score\_rc & All & {broken} \\" in lines


def test_latex_sets_the_paper_s_numbers_apart():
    rows = (Row(("m",), (Cell(1, 0),)), Row(("p",), (Cell(2, 0),), is_published=True))
    lines = to_latex(table(rows=rows, source="From a paper.")).splitlines()
    assert lines[lines.index(r"m & 1 \\") :][:3] == [r"m & 1 \\", r"\midrule", r"p & 2 \\"]
    assert "From a paper." in "".join(lines)


def test_latex_says_how_to_include_it_and_fits_its_place():
    narrow, wide = (to_latex(table("m", "a", *[Cell(0.5, 3)] * count, key="q_bench_7")) for count in (4, 5))
    assert narrow.splitlines()[:2] == [
        r"% In the preamble: \usepackage{booktabs,graphicx}. In the text: \input{q_bench_7.tex}",
        r"\begin{table}",
    ]
    assert r"\label{tab:q_bench_7}" in narrow and r"\begin{table*}" in wide and r"\end{table*}" in wide
    assert all(r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{" in text for text in (narrow, wide))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is missing: texlive-latex-recommended")
@pytest.mark.parametrize("count", [1, 3])
def test_every_table_compiles(count, all_tasks, tmp_path):
    runs = [dataclasses.replace(run, label=name) for run, name in zip([all_tasks] * count, NAMES, strict=False)]
    tables = paper_tables(runs)
    assert len({table.key for table in tables}) == len(tables) > 45
    for one in tables:
        (tmp_path / f"{one.key}.tex").write_text(to_latex(one), encoding="utf-8")
    inputs = [rf"\input{{{one.key}.tex}}" + r"\clearpage" * (place % 3 == 2) for place, one in enumerate(tables)]
    (tmp_path / "paper.tex").write_text(DOCUMENT % "\n\n".join(inputs), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
    log = (tmp_path / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert re.findall(r"^(?:!|Overfull|LaTeX Warning: (?!Label)).*", log, re.MULTILINE) == []


@pytest.fixture(scope="module")
def all_tasks(tmp_path_factory):
    """A run of all tasks on a few items each."""
    folder = tmp_path_factory.mktemp("latex") / "run"
    invoke("run", "--limit", "4", "--out", folder, code=0)
    return read_runs([folder])[0]
