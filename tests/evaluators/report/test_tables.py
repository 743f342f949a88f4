"""Tables against rows of the papers, from scores that would give them."""

import csv
import dataclasses

import pytest

from eyechart.evaluators.report.paper_tables import PaperTable
from eyechart.evaluators.report.paper_tables import paper_tables
from eyechart.evaluators.report.runs import read_runs
from eyechart.evaluators.report.table_formats import to_csv
from eyechart.evaluators.report.table_formats import to_latex
from eyechart.evaluators.report.table_formats import to_markdown
from eyechart.evaluators.types import Evaluation

NONE = "\N{EN DASH}"
KAPPA, ALPHA, RHO = "\N{GREEK SMALL LETTER KAPPA}", "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER RHO}"


def evaluation(task, subset, scores, **changes):
    values = {"task": task, "subset": subset, "split": "test", "model": "LLaVA-v1.5", "scores": scores, "settings": {}}
    return Evaluation(**values | changes)


@pytest.fixture
def tables(make_run):
    def make(*evaluations, **others):
        folders = [make_run(*evaluations)] + [make_run(one, name=name) for name, one in others.items()]
        return paper_tables(read_runs(folders))

    return make


def accuracies(names, values, guesses):
    found = zip(names, values, guesses, strict=True)
    return {name: {"accuracy": value / 100, "random_guess": guess / 100, "n": 9} for name, value, guess in found}


def perception(**changes):
    scores = {
        **{"accuracy": 0.6007, "random_guess": 0.3794},
        "by_question_type": accuracies(["yes-or-no", "what", "how"], [64.60, 59.22, 55.76], [50, 28.48, 33.30]),
        "by_concern": accuracies(
            ["in-context other", "other", "distortion", "in-context distortion"],
            [73.76, 67.30, 47.98, 58.90],
            [37.10, 38.50, 37.24, 39.13],
        ),
    }
    return evaluation("q_bench/perception", "llvisionqa", scores, **changes)


def test_q_bench_table_2(tables):
    (table,) = tables(perception())
    assert table.title.startswith("Q-Bench, Table 2: perception")
    assert table.columns == (
        *("Model (variant)", "Yes-or-No", "What", "How"),
        *("Distortion", "Other", "In-context Distortion", "In-context Other", "Overall"),
    )
    assert table.rows == (
        ("random guess", "50.00%", "28.48%", "33.30%", "37.24%", "38.50%", "39.13%", "37.10%", "37.94%"),
        ("LLaVA-v1.5", "64.60%", "59.22%", "55.76%", "47.98%", "67.30%", "58.90%", "73.76%", "60.07%"),
    )


def test_q_bench_table_5_tells_closed_set_inference_from_the_normal_one(tables):
    (table,) = tables(perception(), closed=perception(settings={"inference": "closed-set"}))
    assert table.title.startswith("Q-Bench, Table 5")
    assert [row[0] for row in table.rows] == [
        "random guess",
        "LLaVA-v1.5 (run) (normal)",
        "LLaVA-v1.5 (closed) (close-set)",
    ]


def test_q_bench_table_3(tables):
    def dimension(p0, p1, p2, score):
        return {"p0": p0 / 100, "p1": p1 / 100, "p2": p2 / 100, "score": score, "n": 9}

    scores = {
        "relevance": dimension(10.85, 60.34, 28.81, 1.18),
        "completeness": dimension(27.48, 54.74, 17.78, 0.903),
        "preciseness": dimension(30.51, 26.04, 43.45, 1.1294),
        "sum": 3.2123,
        "judge": "gpt-4",
    }
    (table,) = tables(evaluation("q_bench/description", "lldescribe", scores))
    assert table.rows[0][1:] == (
        *("27.48%", "54.74%", "17.78%", "0.90", "30.51%", "26.04%", "43.45%", "1.13"),
        *("10.85%", "60.34%", "28.81%", "1.18", "3.21"),
    )
    assert table.columns[5] == "Precision P_0" and table.columns[-1] == "Sum."
    assert table.note == "Judged by gpt-4."


def test_q_bench_table_4_and_a_database_without_a_score(tables):
    parts = {"spaq": (0.443, 0.467), "koniq10k": (0.463, 0.459), "kadid10k": (None, 0.44)}
    scores = {"srcc": 0.424, "plcc": 0.445, "by_database": {k: {"srcc": s, "plcc": p} for k, (s, p) in parts.items()}}
    (table,) = tables(evaluation("q_bench/assessment", "average", scores))
    assert table.columns[1:] == (
        *("KONiQ-10k", "SPAQ", "LIVE-FB", "LIVE-itw", "CGIQA-6K", "AGIQA-3K", "KADID-10k", "Average"),
    )
    assert table.rows == (
        ("LLaVA-v1.5", "0.463/0.459", "0.443/0.467", *[f"{NONE}/{NONE}"] * 4, f"{NONE}/0.440", "0.424/0.445"),
    )


def mmbench(**changes):
    l2 = {"coarse perception": 0.443, "fine-grained perception (single-instance)": 0.406, "relation reasoning": 0.139}
    scores = {
        "vanilla_accuracy": 0.569,
        "circular_accuracy": 0.320,
        "by_l2_category": {name: {"circular_accuracy": value} for name, value in l2.items()},
        "by_category": {"image style": {"circular_accuracy": 0.377}, "OCR": {"circular_accuracy": 0.5}},
    }
    return evaluation("mmbench/en", "mmbench", scores, split="dev", **changes)


def test_mmbench_tables(tables):
    found = {table.title.split(":")[0]: table for table in tables(mmbench())}
    both = found["MMBench, Table 2"]
    assert both.columns == ("Eval \\ VLM", "LLaVA-v1.5")
    assert both.rows == (("VanillaEval", "56.9%"), ("CircularEval", "32.0%"), ("Δ", "-24.9%"))
    second = found["MMBench, Table 8 (dev)"]
    assert second.columns == ("VLM", "Overall", "CP", "FP-S", "FP-C", "AR", "LR", "RR")
    assert second.rows == (("LLaVA-v1.5", "32.0%", "44.3%", "40.6%", NONE, NONE, NONE, "13.9%"),)
    leaves = found["MMBench, Table 9"]
    assert leaves.columns[:4] == ("Split", "VLM", "CP", "Image Style")
    assert leaves.rows[0][:4] == ("DEV", "LLaVA-v1.5", "44.3%", "37.7%")
    assert found["MMBench, Table 10"].columns[-1] == "OCR"
    assert list(found) == [f"MMBench, Table {name}" for name in ("2", "8 (dev)", *range(9, 15))]


def test_the_test_split_of_mmbench_is_table_3(tables):
    titles = [table.title for table in tables(dataclasses.replace(mmbench(), split="test"))]
    assert titles[1].startswith("MMBench, Table 3 (test)")


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
    first, second = tables(evaluation("ql_bench/single", "llsavisionqa", scores, split="dev"))
    assert first.columns[1:4] == ("Yes-or-No score_cc", "Yes-or-No score_rc", "What score_cc")
    assert first.columns[-3:] == ("Total score_cc", "Total score_rc", "Total score_sa")
    assert first.rows[0][1:] == (
        *("65.392", "0.000", "68.784", "1.095", "60.572", "0.000"),
        *("64.849", "0.334", "65.183"),
    )
    assert second.title.startswith("QL-Bench, Table III")
    assert second.rows[0][1:] == ("65.392%", "100.000%", "69.546%", "98.905%", "60.572%", "100.000%")
    pair = tables(evaluation("ql_bench/pair", "llsavisionqa", scores, split="dev"))
    assert [table.title[:18] for table in pair] == ["QL-Bench, Table II", "QL-Bench, Table IV"]


def test_aes_bench_tables(tables):
    sources = accuracies(["natural", "artistic", "AI-generated"], [75.67, 72.58, 65.82], [31, 32, 33])
    dimensions = accuracies(["content", "composition", "technical quality"], [65.57, 71.72, 69.02], [30, 30, 30])
    scores = {"accuracy": 0.7208, "random_guess": 0.35, "by_image_source": sources, "by_dimension": dimensions}
    texts = {"relevance": {"score": 1.385}, "precision": {"score": 1.151}, "completeness": {"score": 1.366}}
    found = tables(
        evaluation("aes_bench/perception", "aesbench", scores),
        evaluation("aes_bench/empathy", "aesbench", scores),
        evaluation("aes_bench/assessment", "aesbench", scores),
        evaluation("aes_bench/interpretation", "aesbench", {**texts, "mean": 1.3}),
    )
    perception, empathy, assessment, interpretation = found
    assert perception.columns[1:8] == ("Tec. Qua.", "Col. Lig.", "Comp.", "Content", "NIs", "AIs", "AGIs")
    assert perception.columns[8:] == ("Yes-No", "What", "How", "Why", "Overall")
    assert perception.rows[1][1:8] == ("69.02%", NONE, "71.72%", "65.57%", "75.67%", "72.58%", "65.82%")
    assert empathy.columns[1:5] == ("Emotion", "Interest", "Uniqueness", "Vibe")
    assert assessment.columns == ("MLLM", "NIs", "AIs", "AGIs", "Overall")
    assert assessment.rows[1] == ("LLaVA-v1.5", "75.67%", "72.58%", "65.82%", "72.08%")
    assert interpretation.columns == ("MLLM", "Rele.", "Prec.", "Comp.", "Overall")
    assert interpretation.rows == (("LLaVA-v1.5", "1.385", "1.151", "1.366", "1.300"),)


def pair_row(kappa, alpha, rho):
    return {"consistency": kappa, "accuracy_all": alpha, "plcc_fitted": rho}


def test_2afc_table_ii_has_each_average_below_its_parts(tables):
    table = {
        "SQAD": pair_row(0.8, 0.5, 0.7),
        "kadid10k": pair_row(0.763, 0.540, 0.560),
        "kadis700k": pair_row(0.9, 0.6, 0.8),
        "CSIQ": pair_row(0.778, 0.589, 0.764),
    }
    averages = [
        {"over": ["kadid10k", "CSIQ"], "weights": "n_images", **pair_row(0.77, 0.55, 0.6)},
        {"over": ["SQAD", "kadis700k"], "weights": "n_images", **pair_row(0.85, 0.55, 0.75)},
    ]
    scores = {"consistency": 0.7, "aggregator": "map", "by_pool": {"CSIQ": {"plcc_fitted": 0.764}}}
    variants = {"mle": {"by_pool": {"CSIQ": {"plcc_fitted": None}}}, "mixed": {"by_pool": {}}}
    extras = {"table": table, "averages": averages}
    second, fifth = tables(evaluation("two_afc/coarse", "two_afc", scores, extras=extras, variants=variants))
    assert second.columns == ("Dataset", f"LLaVA-v1.5 {KAPPA}", f"LLaVA-v1.5 {ALPHA}", f"LLaVA-v1.5 {RHO}")
    assert second.rows == (
        ("CSIQ", "0.778", "0.589", "0.764"),
        ("KADID-10k", "0.763", "0.540", "0.560"),
        ("Weighted average", "0.770", "0.550", "0.600"),
        ("KADIS-700k", "0.900", "0.600", "0.800"),
        ("SQAD", "0.800", "0.500", "0.700"),
        ("Weighted average", "0.850", "0.550", "0.750"),
    )
    assert fifth.columns == ("Method", "CSIQ")
    assert fifth.rows == (("MLE", NONE), ("MAP", "0.764"))


def test_2afc_tables_iii_and_iv_of_two_models_side_by_side(tables):
    extras = {
        "table": {"fnoise": pair_row(0.365, 0.198, 0.396), "AWGN": pair_row(0.448, 0.260, 0.543)},
        "averages": [{"over": ["fnoise", "AWGN"], "weights": "equal", **pair_row(0.4, 0.2, 0.5)}],
    }
    one = evaluation("two_afc/fine_levels", "two_afc", {"consistency": 0.4}, extras=extras)
    other = dataclasses.replace(one, model="GPT-4V", extras={"table": {"AWGN": pair_row(0.219, 0.219, 0.815)}})
    third, fourth = tables(one, other=other)
    assert third.columns == ("Type", f"LLaVA-v1.5 {KAPPA}", f"LLaVA-v1.5 {ALPHA}", f"GPT-4V {KAPPA}", f"GPT-4V {ALPHA}")
    assert third.rows == (
        ("AWGN", "0.448", "0.260", "0.219", "0.219"),
        ("Pink", "0.365", "0.198", NONE, NONE),
        ("Average", "0.400", "0.200", NONE, NONE),
    )
    assert fourth.rows[0] == ("AWGN", "0.543", "0.815")


def test_tasks_without_scores_have_no_table(tables):
    assert tables(dataclasses.replace(perception(), scores=None)) == []


TABLE = PaperTable("t", 'Title_1 & "x"', ("Model", "κ"), (("a|b_<i>*\n\x07, \\50%~", "0.5"),), "A note.")


def test_csv_is_read_back_as_it_was():
    assert list(csv.reader(to_csv(TABLE).splitlines(keepends=True))) == [list(TABLE.columns), list(TABLE.rows[0])]


@pytest.mark.parametrize(
    "text", ["=HYPERLINK(1)", "+1+x", "-2+3", "@SUM(A1)", " =1", "\t=1", "\r\n@x", "--", "-", "+x/y"]
)
def test_csv_texts_are_no_formulas(text):
    table = PaperTable("t", "T", ("Model", text), ((text, "0.5"),))
    (_, head), (name, _) = csv.reader(to_csv(table).splitlines(keepends=True))
    assert (head, name) == (f"'{text}", f"'{text}")


@pytest.mark.parametrize(
    "number", ["-24.9%", "-0.123", "-3", "+0.5", "-0.123/-0.456", f"-0.123/{NONE}", f"{NONE}/-0.1"]
)
def test_csv_numbers_stay_numbers(number):
    assert to_csv(PaperTable("t", "T", (number,), ())) == f"{number}\n"


def test_markdown_texts_are_no_markup_and_stay_in_their_cell():
    lines = to_markdown(TABLE).splitlines()
    assert lines[2:5] == ["| Model | κ |", "|---|---|", r"| a\|b\_\<i\>\* , \\50%\~ | 0.5 |"]
    assert lines[-1] == "A note."


def test_latex_texts_are_no_commands():
    latex = to_latex(TABLE)
    assert r"\caption{Title\_1 \& " in latex and "A note.}" in latex
    assert r"Model & $\kappa$ \\" in latex
    assert r"a|b\_<i>* , \textbackslash{}50\%\textasciitilde{} & 0.5 \\" in latex
    assert r"\begin{tabular}{lc}" in latex
