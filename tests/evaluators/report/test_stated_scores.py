"""Scores that models' authors stated: each has a source, and reports show them apart from the paper's and unranked."""

import math
import re
from collections import Counter
from pathlib import Path

import pytest

from eyechart.evaluators.published import STATED, best_in_paper, published_tables
from eyechart.evaluators.report import write_report
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scores import spec
from tests.evaluators.report.conftest import scored

PAGE = Path(__file__).parents[3] / "docs" / "papers" / "index.md"
TABLES = {name: table for name, table in published_tables().items() if table.is_stated}
ROWS = [pytest.param(table, row, id=f"{name}-{row.model}") for name, table in TABLES.items() for row in table.rows]
ENGLISH = scored("mmbench/en", "mmbench", {"circular_accuracy": 0.9, "n_questions": 1_164}, split="dev", model="mine")


@pytest.mark.parametrize(("table", "row"), ROWS)
def test_every_score_has_an_address_a_date_settings_and_a_possible_value(table, row):
    assert re.fullmatch(r"https://[a-z.]+/\S+", row.url)
    assert re.fullmatch(r"202[56]-(0[1-9]|1[0-2])(-([0-2]\d|3[01]))?", row.date)
    assert row.settings == row.settings.strip() != ""
    values = [value for value in row.values if not math.isnan(value)]
    assert len(row.values) == len(table.columns) and values
    assert all(0 < value <= (100 if table.unit == "percent" else 1) for value in values)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_of_stated_scores_is_of_one_task_and_split_and_of_no_paper(table):
    (name,) = table.tasks
    data = get_task(name).data
    assert table.split in (*data.splits, data.split) and table.splits in ([], [table.split])
    assert len({row.model for row in table.rows}) == len(table.rows)
    assert (table.paper, table.best_for, table.note, table.set_apart) == ("", {}, STATED, STATED)


def test_only_stated_scores_have_sources_of_their_own():
    others = [row for table in published_tables().values() if not table.is_stated for row in table.rows]
    assert others and not any(row.url or row.date or row.settings for row in others)
    assert not any(math.isnan(value) for row in others for value in row.values)


def test_the_docs_count_them():
    counts = Counter()
    for table in TABLES.values():
        counts[table.tasks[0]] += sum(not math.isnan(value) for row in table.rows for value in row.values)
    listed = re.findall(r"(?m)^\| `([\w/]+)`.*\| (\d+) \|$", PAGE.read_text(encoding="utf-8"))
    assert {task: int(count) for task, count in listed} == counts


def test_the_report_shows_them_with_their_mark_and_links_and_without_a_rank(make_run, read_page):
    folder = make_run(ENGLISH)
    page = read_page(write_report([folder]))
    assert page.holds("Stated by the authors, dev set") and page.holds(STATED)
    rows = TABLES["stated_mmbench_en_dev"].rows
    links = {attributes.get("href") for attributes in page.all("a")}
    assert {row.url for row in rows} <= links
    # The run and the paper's table come first, and the paper's best value is not one of the stated.
    assert page.text.index("CircularEval, dev set") < page.text.index("Stated by the authors, dev set")
    best = best_in_paper("mmbench/en", "mmbench", "dev", spec("circular_accuracy", "circular_eval"))
    assert (best.value, best.model) == (0.606, "Qwen-VL-Chat")
    (markdown,) = (folder / "report_files").glob("*stated*.md")
    lines = [line for line in markdown.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert lines[0] == "| Model | Stated on | Settings | Source | Overall \\(%\\) |"
    assert lines[2] == "| mine |  |  |  | 90.00 |"
    assert lines[3].endswith("| https://arxiv.org/abs/2509.16197 | 78.1 |") and len(lines) == 3 + len(rows)
    (latex,) = (folder / "report_files").glob("*stated*.tex")
    text = latex.read_text(encoding="utf-8")
    assert "\\midrule\nManzano-3B" in text and not re.search(r"\\(textbf|underline)", text)


def test_two_runs_are_ranked_among_themselves_alone(make_run):
    other = ENGLISH.model_copy(update={"model": "other", "scores": {"circular_accuracy": 0.5, "n_questions": 1_164}})
    path = write_report([make_run(ENGLISH), make_run(other, name="other")])
    (latex,) = path.parent.glob("**/*stated*.tex")
    text = latex.read_text(encoding="utf-8")
    assert re.findall(r"\\(?:textbf|underline)\{([\d.]+)\}", text) == ["90.00", "50.00"]


@pytest.mark.parametrize("change", [{"split": "test"}, {"settings": {"blind": True}}, {"task": "mmbench/cn"}])
def test_other_splits_tasks_and_blind_runs_have_other_tables(make_run, read_page, change):
    page = read_page(write_report([make_run(ENGLISH.model_copy(update=change))]))
    assert "Manzano" not in page.text
