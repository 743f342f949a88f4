"""Tables as CSV, Markdown and LaTeX: texts stay texts, and the document that includes all tables compiles."""

import csv
import dataclasses
import re
import shutil
import subprocess

import pytest

from eyechart.datasets_scripts.common.files.csv_text import csv_text
from eyechart.evaluators.published.rendering import BEST, SECOND, Cell, Head, Row, Table
from eyechart.evaluators.report.tables import to_latex, to_markdown
from eyechart.evaluators.results.finished_runs import read_runs
from tests.evaluators.command_line import invoke
from tests.evaluators.report.conftest import paper_tables

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
