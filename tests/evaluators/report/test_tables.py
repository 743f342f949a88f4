"""QL-Bench's, AesBench's and 2AFC's tables against rows of the papers, from scores that would give them; files."""

import csv
import dataclasses
import json
import shutil

import pytest

from eyechart.datasets_scripts import mini
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.report.paper_tables import PaperTable
from eyechart.evaluators.report.table_formats import to_csv, to_markdown
from eyechart.evaluators.tasks import get_task
from tests.evaluators.finished_runs import dimension
from tests.evaluators.report.conftest import NONE, PERCEPTION, accuracies, scored

KAPPA, ALPHA, RHO = "\N{GREEK SMALL LETTER KAPPA}", "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER RHO}"


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
    assert first.columns[1:4] == ("Yes-or-No: score_cc (%)", "Yes-or-No: score_rc (%)", "What: score_cc (%)")
    assert first.columns[-3:] == ("Total: score_cc (%)", "Total: score_rc (%)", "Total score_sa (%)")
    assert first.columns[first.headline] == "Total score_sa (%)"
    assert first.rows[0][1:] == (
        *("65.392", "0.000", "68.784", "1.095", "60.572", "0.000"),
        *("64.849", "0.334", "65.183"),
    )
    assert second.title.startswith("QL-Bench, Table III")
    assert second.rows[0][1:] == ("65.392", "100.000", "69.546", "98.905", "60.572", "100.000")
    pair = tables(scored("ql_bench/pair", "llsavisionqa", scores, split="dev"))
    assert [table.title[:18] for table in pair] == ["QL-Bench, Table II", "QL-Bench, Table IV"]


def test_aes_bench_tables(tables):
    sources = accuracies(["natural", "artistic", "AI-generated"], [75.67, 72.58, 65.82], [31, 32, 33])
    dimensions = accuracies(["content", "composition", "technical quality"], [65.57, 71.72, 69.02], [30, 30, 30])
    scores = {"accuracy": 0.7208, "random_guess": 0.35, "by_image_source": sources, "by_dimension": dimensions}
    texts = {"relevance": dimension(1.385), "precision": dimension(1.151), "completeness": dimension(1.366)}
    found = tables(
        scored("aes_bench/perception", "aesbench", scores),
        scored("aes_bench/empathy", "aesbench", scores),
        scored("aes_bench/assessment", "aesbench", scores),
        scored("aes_bench/interpretation", "aesbench", {**texts, "mean": 1.3}),
    )
    perception, empathy, assessment, interpretation = found
    assert perception.groups == [
        ("Perceptual Dimensions", 1, ["Tec. Qua. (%)", "Col. Lig. (%)", "Comp. (%)", "Content (%)"]),
        ("Image Sources", 5, ["NIs (%)", "AIs (%)", "AGIs (%)"]),
        ("Question Types", 8, ["Yes-No (%)", "What (%)", "How (%)", "Why (%)"]),
        ("", 12, ["Overall (%)"]),
    ]
    assert perception.rows[1][1:8] == ("69.02", NONE, "71.72", "65.57", "75.67", "72.58", "65.82")
    assert empathy.groups[0][2] == ["Emotion (%)", "Interest (%)", "Uniqueness (%)", "Vibe (%)"]
    assert assessment.columns == ("MLLM", "NIs (%)", "AIs (%)", "AGIs (%)", "Overall (%)")
    assert assessment.rows[1] == ("LLaVA-v1.5", "75.67", "72.58", "65.82", "72.08")
    assert interpretation.columns == ("MLLM", "Rele.", "Prec.", "Comp.", "Overall")
    assert interpretation.rows == (("LLaVA-v1.5", "1.385", "1.151", "1.366", "1.300"),)


def test_groups_given_beside_a_release_fill_the_columns_of_table_2(tables, tmp_path):
    """Every second question is right of those on composition, which are all artistic, and none of the others."""
    release = shutil.copytree(mini.release("aesbench"), tmp_path / "release")
    names = list(json.loads((release / "AesBench_evaluation.json").read_text(encoding="utf-8")))[:24]
    dimensions = ["composition", "content", "technical quality", "composition", "color and light", "Content"] * 4
    lines = [
        f"{name},AesP,{dimension},{'artistic' if dimension == 'composition' else 'natural'},why\n"
        for name, dimension in zip(names, dimensions, strict=True)
    ]
    (release / "AesBench_groups.csv").write_text("image,task,dimension,source,type\n" + "".join(lines))
    data = load_data(get_task("aes_bench/perception"), DataRequest(data_dir=release, limit=24))
    questions = iter(zip(dimensions, data.dataset["answer"][:24], strict=True))
    seen = []

    def model(messages):
        dimension, answer = next(questions)
        seen.append(dimension)
        right = dimension == "composition" and seen.count(dimension) % 2
        return answer if right else "B" if answer == "A" else "A"

    table, _ = tables(evaluator("aes_bench/perception").run(FunctionBackend(model), data))
    dimensions_and_sources = ("0.00", "0.00", "50.00", "0.00", "0.00", "50.00", NONE)
    assert table.rows[1][1:] == (*dimensions_and_sources, NONE, NONE, NONE, "16.67", "16.67")
    levels = [1 / len(options) for options in data.dataset["options"][:24]]
    of_content = [level for level, dimension in zip(levels, dimensions, strict=True) if "ontent" in dimension]
    assert table.rows[0][4] == f"{100 * sum(of_content) / 8:.2f}"


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
    variants["mle_ridge=0.01"] = {"by_pool": {"CSIQ": {"plcc_fitted": 0.75}}, "ridge": 0.01}
    extras = {"table": table, "averages": averages}
    second, fifth = tables(scored("two_afc/coarse", "two_afc", scores, diagnostics=extras, variants=variants))
    assert second.columns[:4] == ("Dataset", f"LLaVA-v1.5: {KAPPA}", f"LLaVA-v1.5: {ALPHA}", f"LLaVA-v1.5: {RHO}")
    assert second.groups[1] == ("IDEFICS-Instruct", 4, [KAPPA, ALPHA, RHO])
    assert second.published_columns == 15
    assert [row[:7] for row in second.rows] == [
        ("CSIQ", "0.778", "0.589", "0.764", "0.206", "0.094", "0.670"),
        ("KADID-10k", "0.763", "0.540", "0.560", "0.202", "0.102", "0.552"),
        ("Weighted average", "0.770", "0.550", "0.600", "0.286", "0.137", "0.470"),
        ("KADIS-700k", "0.900", "0.600", "0.800", "0.191", "0.112", "0.635"),
        ("SQAD", "0.800", "0.500", "0.700", "0.326", "0.190", "0.746"),
        ("Weighted average", "0.850", "0.550", "0.750", "0.289", "0.136", "0.629"),
    ]
    assert fifth.columns == ("Method", "CSIQ")
    assert fifth.rows == (("MLE", NONE), ("MLE, ridge 0.01", "0.750"), ("MAP", "0.764"))


def test_2afc_table_v_is_one_file_per_run(tables):
    scores = {"consistency": 0.7, "aggregator": "map", "by_pool": {"CSIQ": {"plcc_fitted": 0.5}}}
    one = scored("two_afc/coarse", "two_afc", scores)
    found = tables(one, other=dataclasses.replace(one, model="GPT-4V"))
    fifths = [(table.key, table.title[-10:]) for table in found if "Table V:" in table.title]
    assert fifths == [
        ("two_afc_coarse_two_afc_test_table_V_run_1", "LLaVA-v1.5"),
        ("two_afc_coarse_two_afc_test_table_V_run_2", " of GPT-4V"),
    ]


def test_2afc_tables_iii_and_iv_of_two_models_side_by_side(tables):
    extras = {
        "table": {"fnoise": pair_row(0.365, 0.198, 0.396), "AWGN": pair_row(0.448, 0.260, 0.543)},
        "averages": [{"over": ["fnoise", "AWGN"], "weights": "equal", **pair_row(0.4, 0.2, 0.5)}],
    }
    one = scored("two_afc/fine_levels", "two_afc", {"consistency": 0.4}, diagnostics=extras)
    other = dataclasses.replace(one, model="GPT-4V", diagnostics={"table": {"AWGN": pair_row(0.219, 0.219, 0.815)}})
    third, fourth = tables(one, other=other)
    heads = ("Type", f"LLaVA-v1.5: {KAPPA}", f"LLaVA-v1.5: {ALPHA}", f"GPT-4V: {KAPPA}", f"GPT-4V: {ALPHA}")
    assert third.columns[:5] == heads and third.columns[-1] == f"Single subject: {ALPHA}"
    assert third.published_columns == 12
    assert [row[:5] for row in third.rows] == [
        ("AWGN", "0.448", "0.260", "0.219", "0.219"),
        ("Pink", "0.365", "0.198", NONE, NONE),
        ("Average", "0.400", "0.200", NONE, NONE),
    ]
    # IDEFICS-Instruct has no correlation there, which is not no value.
    assert fourth.rows[0][:4] == ("AWGN", "0.543", "0.815", "0.000") and NONE not in fourth.rows[0]


def test_tasks_without_scores_have_no_table(tables):
    assert tables(dataclasses.replace(PERCEPTION, scores=None)) == []


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


@pytest.mark.parametrize("number", ["-24.9", "-0.123", "-3", "+0.5", "-0.123/-0.456", f"-0.123/{NONE}", f"{NONE}/-0.1"])
def test_csv_numbers_stay_numbers(number):
    assert to_csv(PaperTable("t", "T", (number,), ())) == f"{number}\n"


def test_markdown_texts_are_no_markup_and_stay_in_their_cell():
    lines = to_markdown(TABLE).splitlines()
    assert lines[2:5] == ["| Model | κ |", "|---|---|", r"| a\|b\_\<i\>\* , \\50%\~ | 0.5 |"]
    assert lines[-1] == "A note."
