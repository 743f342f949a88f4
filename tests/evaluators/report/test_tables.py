"""The papers' tables: rows of the papers from scores that would give them, and real runs against other computations."""

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
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.published.rendering import BEST, SECOND, Cell, Head, Row, Table
from eyechart.evaluators.report.tables import to_latex, to_markdown
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.tasks import get_task
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


def test_other_splits_are_other_tables_and_pairs_have_no_published_rows(tables):
    (table,) = tables(perception(split="dev"))
    assert table.title == "Q-Bench, Table 7: Perception, dev subset" and table.rows[2].is_published
    (pairs,) = tables(perception(task="q_bench/perception_pairs", split="dev"))
    assert (len(pairs.rows), pairs.source) == (2, "")
    other = perception(model="other", scores={**perception().scores, "random_guess": 0.4})
    (table,) = tables(perception(), other=other)
    assert [row[0] for row in shown(table)] == ["LLaVA-v1.5", "other"], "runs of different chance levels"


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
    assert shown(table)[0][1:9] == ("27.48", "54.74", "17.78", "0.90", "30.51", "26.04", "43.45", "1.13")
    assert shown(table)[0][9:] == ("10.85", "60.34", "28.81", "1.18", "3.21")
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
    found = by_number(tables(mmbench(split="test")))
    assert "Table 3" in found and not found["Table 2"].is_comparable
    assert found["Table 2"].source.endswith("Table 2 (split: dev; the runs use test).")
    chinese = by_number(tables(mmbench(task="mmbench/cn")))["Table 8"]
    assert chinese.source == "" and shown(chinese, published=True) == []


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
    assert shown(first)[0][1:7] == ("65.392", "0.000", "68.784", "1.095", "60.572", "0.000")
    assert shown(first)[0][7:] == ("64.849", "0.334", "65.183")
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
    assert heads(perception)[0][1] == ["Tec. Qua. (%)", "Col. Lig. (%)", "Comp. (%)", "Content (%)"]
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
    assert rows["CSIQ"] == ("0.778", "0.589", "0.764", "0.206", "0.094", "0.670")
    assert rows["MM21"] == (NONE, NONE, NONE, "0.337", "0.173", "0.338")
    assert rows["Weighted average of six"] == ("0.770", "0.550", "0.600", "0.286", "0.137", "0.470")
    assert rows["Weighted average of three"] == ("0.850", "0.550", "0.750", "0.289", "0.136", "0.629")
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
    given = {"key": "t", "title": "T", "caption": "T", "corner": ("Model",), "heads": heads, "rows": (row,)}
    return Table(**given | fields)


def test_markdown_texts_are_no_markup_and_stay_in_their_cell():
    lines = to_markdown(table("a|b_<i>*\n\x07, \\50%~", "κ", note="A note.")).splitlines()
    assert lines[2:5] == ["| Model | κ |", "| --- | --- |", r"| a\|b\_\<i\>\* , \\50%\~ | 0.5 |"]
    assert lines[-1] == "A note."


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (r"a_b & 100 % #1 {x} $y", r"a\_b \& 100\,\% \#1 \{x\} \$y"),
        (r"~ ^ \ <", r"\textasciitilde{} \textasciicircum{} \textbackslash{} \textless{}"),
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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is missing: texlive-latex-recommended")
def test_every_table_compiles(main_job, tmp_path):
    """A run of all tasks stands for three models."""
    (all_tasks,) = read_runs([main_job[1]])
    tables = paper_tables([dataclasses.replace(all_tasks, label=name) for name in NAMES])
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
