"""Tables as LaTeX: the document that includes all of them compiles, and none is wider than the page."""

import dataclasses
import re
import shutil
import subprocess

import pytest
from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from eyechart.evaluators.report.latex import to_latex
from eyechart.evaluators.report.paper_tables import PaperTable, paper_tables
from eyechart.evaluators.results.finished_runs import TaskKey, read_runs

TABLE = PaperTable("t", "T", ("Model", "a"), (("m", "0.5"),))
DOCUMENT = r"""\documentclass[10pt,twocolumn]{article}
\usepackage[letterpaper,margin=0.75in,columnsep=0.25in]{geometry}
\usepackage{booktabs,graphicx}
\begin{document}
%s
\end{document}
"""
NAMES = (r"org/model_B & 100 % #1 {x} ~y ^z \w $ <a|b> --c", "[5] *best*", "Qwen2.5-VL-7B-Instruct-of-a-very-long-name")


def changed(**fields):
    return to_latex(dataclasses.replace(TABLE, **fields))


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
def test_texts_are_no_commands(text, escaped):
    latex = changed(title=text, rows=((text, "0.5"),))
    assert rf"    {escaped} & 0.5 \\" in latex
    assert rf"\caption{{{escaped}.}}" in latex


def test_values_have_their_sign_and_their_unit():
    assert r"m & $-$24.9\,\% \\" in changed(rows=(("m", "-24.9 %"),))
    assert r"m & $-$0.5 to $-$0.1 \\" in changed(rows=(("m", "-0.5 to -0.1"),))
    assert r"n & \underline{$-$0.2}/0.1 \\" in changed(rows=(("m", "-0.1"), ("n", "-0.2/0.1")))


def test_heads_that_begin_alike_stand_below_what_they_share():
    heads = ("Model", "Yes-or-No: score_cc", "Yes-or-No: score_rc", "Overall", "The mean of all")
    lines = changed(columns=heads, rows=(("m", "1", "2", "3", "4"),)).splitlines()
    assert r"     & \multicolumn{2}{c}{Yes-or-No} &  &  \\" in lines
    assert r"    \cmidrule(lr){2-3}" in lines
    broken = r"\begin{tabular}[b]{@{}c@{}}The mean \\ of all\end{tabular}"
    assert rf"    Model & score$_{{cc}}$ & score$_{{rc}}$ & Overall & {broken} \\" in lines


def test_texts_are_to_the_left_and_scores_centred():
    rows = (("m", "argmax", "0.5"),)
    assert r"\begin{tabular}{llc}" in changed(columns=("Model", "Strategy", "a"), rows=rows, labels=2)
    assert r"\begin{tabular}{lc@{\hspace{2em}}c}" in changed(
        columns=("", "a", "b"), rows=(("m", "1", "2"),), published_columns=1
    )


def test_a_wide_table_spans_both_columns_and_none_is_wider_than_its_place():
    narrow, wide = changed(), changed(columns=("Model", *"abcdefghijklm"), rows=(("m", *["0.500"] * 13),))
    assert r"\begin{table}" in narrow and r"\begin{table*}" in wide and r"\end{table*}" in wide
    assert all(r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{" in one for one in (narrow, wide))


def test_the_file_says_how_to_include_it_and_has_a_label():
    lines = changed(key="q_bench_table_7").splitlines()
    assert lines[0] == r"% In the preamble: \usepackage{booktabs,graphicx}. In the text: \input{q_bench_table_7.tex}"
    assert r"  \label{tab:q_bench_table_7}" in lines
    assert "XeLaTeX" not in lines[1]
    assert "XeLaTeX" in changed(rows=(("\N{CJK UNIFIED IDEOGRAPH-6A21}", "0.5"),)).splitlines()[1]


def test_the_caption_names_paper_task_and_data():
    key = TaskKey("mmbench/cn", "mmbench", "dev")
    assert r"\caption{MMBench: Position bias (Chinese; dev).}" in changed(title="Position bias", key_of_task=key)
    assert r"\caption{own: Scores (test).}" in changed(title="Scores", key_of_task=TaskKey("own", "own", "test"))


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is missing: on Debian, texlive-latex-recommended"
)
@pytest.mark.parametrize("count", [1, 3])
def test_every_table_compiles(count, all_tasks, tmp_path):
    runs = [dataclasses.replace(run, label=name) for run, name in zip([all_tasks] * count, NAMES, strict=False)]
    tables = paper_tables(runs)
    assert len({table.key for table in tables}) == len(tables) > 60
    for table in tables:
        (tmp_path / f"{table.key}.tex").write_text(to_latex(table), encoding="utf-8")
    inputs = [rf"\input{{{table.key}.tex}}" + r"\clearpage" * (place % 3 == 2) for place, table in enumerate(tables)]
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
    done = CliRunner().invoke(app, ["run", "--limit", "4", "--out", str(folder)])
    assert done.exit_code == 0, done.output
    return read_runs([folder])[0]
