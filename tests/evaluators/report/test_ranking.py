"""Best and second best values, and the papers' rows below those of runs."""

import dataclasses

import pytest

from eyechart.evaluators.report.latex import to_latex
from eyechart.evaluators.report.paper_tables import PaperTable
from eyechart.evaluators.report.paper_tables.ranking import BEST, SECOND, ranks
from eyechart.evaluators.report.table_formats import to_csv, to_markdown
from eyechart.evaluators.tasks.q_bench import DATABASES, WORD_PAIRS
from tests.evaluators.report.conftest import PERCEPTION, scored

PUBLISHED = (("random guess", "99"), ("Old", "40"), ("Older", "30"))


def table(*values, **changes):
    rows = tuple((f"m{place}", value) for place, value in enumerate(values))
    return dataclasses.replace(PaperTable("t", "T", ("Model", "Overall"), rows), **changes)


def test_equal_values_share_a_rank_and_one_model_alone_has_none():
    assert ranks(table("50", "70", "70", "\N{EN DASH}")) == {(1, 1, 0): BEST, (2, 1, 0): BEST, (0, 1, 0): SECOND}
    assert ranks(table("50")) == {}


def test_the_paper_s_rows_are_ranked_with_the_runs_where_they_are_comparable():
    assert ranks(table("35", published=PUBLISHED, is_comparable=True)) == {(2, 1, 0): BEST, (0, 1, 0): SECOND}
    assert ranks(table("35", published=PUBLISHED)) == {(2, 1, 0): BEST, (3, 1, 0): SECOND}


def test_both_numbers_of_a_cell_have_ranks_of_their_own():
    assert ranks(table("0.5/0.1", "0.4/0.2")) == {
        **{(0, 1, 0): BEST, (1, 1, 0): SECOND},
        **{(1, 1, 1): BEST, (0, 1, 1): SECOND},
    }


def test_models_across_are_ranked_in_each_row():
    across = PaperTable("t", "T", ("Part", "a x", "a y", "b x", "b y"), (("p", "1", "4", "2", "3"),), across=2)
    assert ranks(across) == {(0, 3, 0): BEST, (0, 1, 0): SECOND, (0, 2, 0): BEST, (0, 4, 0): SECOND}
    published = dataclasses.replace(across, published_columns=2)
    assert ranks(published) == {}


def test_latex_has_bold_and_underlined_values_and_the_paper_s_rows_below_a_rule():
    latex = to_latex(table("35", published=PUBLISHED, is_comparable=True, source="From a paper."))
    assert r"m0 & \underline{35} \\" in latex and r"Old & \textbf{40} \\" in latex
    assert latex.index("m0") < latex.index(r"\midrule", latex.index("m0")) < latex.index("random guess")
    assert "From a paper." in latex
    assert "Old,40" in to_csv(table("35", published=PUBLISHED))
    assert "| Old | 40 |" in to_markdown(table("35", published=PUBLISHED))


def test_a_run_s_table_has_the_paper_s_rows(tables):
    first, *_ = tables(PERCEPTION)
    assert first.source == "Published values: Q-Bench (Wu et al., ICLR 2024), Table 7."
    assert first.is_comparable and len(first.published) == 15
    assert first.published[3][0] == "InternLM-XComposer-VL (InternLM)" and first.published[3][-1] == "65.35"
    limited = dataclasses.replace(PERCEPTION, settings={**PERCEPTION.settings, "limit": 9})
    assert not next(iter(tables(limited))).is_comparable


def test_pairs_of_images_have_no_rows_of_single_ones(tables):
    first, *_ = tables(dataclasses.replace(PERCEPTION, task="q_bench/perception_pairs"))
    assert (first.published, first.source) == ((), "")


def test_assessment_has_both_correlations_in_a_cell(tables):
    both = {"srcc": 0.5, "plcc": 0.25}
    ways = {name: both for name in ("argmax", *(pair.name for pair in WORD_PAIRS[1:]))}
    found = tables(
        *(
            scored("q_bench/assessment", name, both, variants=ways, settings={"word_pair": WORD_PAIRS[0].name})
            for name in (*DATABASES, "average")
        )
    )
    by_number = {one.title.split(":")[0]: one for one in found}
    assert by_number["Q-Bench, Table 4"].published[0][:2] == ("NIQE", "0.316/0.377")
    assert by_number["Q-Bench, Table 9"].published[0][:2] == ("Shikra (Vicuna-7B)", "argmax")
    assert by_number["Q-Bench, Table 11"].published[0][1] == "good\N{LEFT RIGHT ARROW}poor"
    assert all(len(row) == len(one.columns) for one in found for row in one.published)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_other_splits_than_the_paper_s_are_named(tables, split):
    scores = {"score_sa": 50.0, "score_cc": 40.0, "score_rc": 10.0, "n": 9}
    first, *_ = tables(scored("ql_bench/single", "llsavisionqa", scores, split=split))
    assert first.source.endswith(f"Table I (split: dev and test; the runs use {split}).") and not first.is_comparable
