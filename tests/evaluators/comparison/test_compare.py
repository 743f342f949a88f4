"""Comparisons of runs whose answers are made up, against SciPy and hand computations."""

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet
from scipy import stats
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import BadResultsError
from eyechart.evaluators.cli import app
from eyechart.evaluators.comparison.compare import Comparison, compare
from eyechart.evaluators.comparison.settings import IGNORED, MATTERS
from eyechart.evaluators.protocols.options import option_names
from eyechart.metrics.scoring.quality.pooling import pool
from tests.evaluators.finished_runs import answer, evaluated, write

OPTIONS = ["Good", "Fair", "Poor"]
LOGITS = [[2, 1], [1, 2], [3, 0]]


def choices(right: str, first: int = 0, **fields: Any) -> Any:
    """Questions answered right ("1") or wrong ("0"), or with nothing ("-")."""
    letters = {"1": "A", "0": "B", "-": None}
    rows = [
        answer(f"q{first + place}", options=OPTIONS, answer="A", extracted=letters[mark])
        for place, mark in enumerate(right)
    ]
    scores = {"accuracy": right.count("1") / len(right), "n": len(right), "fallback": "wrong"}
    return evaluated(**{"predictions": rows, "scores": scores, **fields})


def qualities(logits: Sequence[Sequence[float]], human: Sequence[float], **fields: Any) -> Any:
    rows = [
        answer(f"p{place}", logits={"good": good, "poor": poor}, quality=quality)
        for place, ((good, poor), quality) in enumerate(zip(logits, human, strict=True))
    ]
    pooled = pool(logits)
    scores = {
        "srcc": float(stats.spearmanr(pooled.ranking, human).statistic),
        "plcc": float(stats.pearsonr(pooled.values, human).statistic),
        **{"n": len(rows), "temperature": 100.0, "ties": "exact", "average_over": None},
    }
    settings = {"prediction": "pooled logits of words", "words": "good/poor"}
    made = {"predictions": rows, "scores": scores, "settings": settings}
    return evaluated("q_bench/assessment", "koniq10k", "test", **{**made, **fields})


def descriptions(marks: Sequence[Sequence[float | None]], **scores: Any) -> Any:
    """Descriptions with the marks that a judge gave in each dimension, None where every round failed."""
    names = ("completeness", "preciseness", "relevance")
    rows = [
        answer(
            f"i{place}",
            reference="dark",
            marks={name: mark for name, mark in zip(names, of_image, strict=True) if mark is not None},
        )
        for place, of_image in enumerate(marks)
    ]
    failed = 5 * sum(mark is None for of_image in marks for mark in of_image)
    means = np.nanmean(np.array(marks, dtype=float), axis=0).tolist()
    told = {name: {"score": mean} for name, mean in zip(names, means, strict=True)}
    told |= {"sum": sum(means), "failed_rounds": failed, "template": "q_bench", "judge": "acme/judge"}
    return evaluated("q_bench/description", "lldescribe", "test", predictions=rows, scores=told | scores)


@pytest.fixture
def compared(tmp_path: Path) -> Any:
    def call(first: Sequence[Any], second: Sequence[Any], **arguments: Any) -> Comparison:
        return compare(write(tmp_path / "a", first), write(tmp_path / "b", second), **arguments)

    return call


def test_right_and_wrong_answers(compared: Any) -> None:
    found = compared([choices("1111111100-1")], [choices("1100000001-1")])
    (one,) = found.differences
    assert (one.first, one.second, one.n) == (9 / 12, 4 / 12, 12)
    assert one.only_first == ("q2", "q3", "q4", "q5", "q6", "q7") and one.only_second == ("q9",)
    assert one.difference == pytest.approx(5 / 12)
    assert one.p_value == pytest.approx(stats.binomtest(6, 7).pvalue) == one.p_holm
    # Normal approximation of the paired difference.
    margin = 1.96 * np.std([0, 0, *[1] * 6, 0, -1, 0, 0]) / np.sqrt(12)
    assert np.allclose(one.interval, (5 / 12 - margin, 5 / 12 + margin), atol=0.1)
    assert not found.refused and not found.only_in_one


def test_holm_is_over_all_tests(compared: Any) -> None:
    def runs(*marks: str) -> list[Any]:
        return [choices(one, split=split) for one, split in zip(marks, ("dev", "test"), strict=True)]

    found = compared(runs("1" * 8 + "0", "1" * 7 + "0"), runs("0" * 9, "0" * 7 + "1"))
    raw = [stats.binomtest(8, 8).pvalue, stats.binomtest(7, 8).pvalue]
    assert [one.p_value for one in found.differences] == pytest.approx(raw)
    assert [one.p_holm for one in found.differences] == pytest.approx([2 * raw[0], raw[1]])


def test_qualities(compared: Any) -> None:
    rng = np.random.default_rng(0)
    human = np.arange(80.0)
    logits = [np.column_stack([human + rng.normal(0, noise, 80), np.zeros(80)]).tolist() for noise in (5, 60)]
    found = compared(*([qualities(one, human.tolist())] for one in logits))
    by_rank, linear = found.differences
    for one, statistic, pick in ((by_rank, stats.spearmanr, "ranking"), (linear, stats.pearsonr, "values")):
        expected = [statistic(getattr(pool(values), pick), human).statistic for values in logits]
        assert (one.first, one.second) == pytest.approx(expected)
        assert one.interval[0] < one.difference < one.interval[1] and one.interval[0] > 0
        assert one.p_value < 0.01 and one.n == 80 and one.only_first == ()
    assert (by_rank.score, by_rank.test) == ("SRCC", "paired bootstrap")
    assert (linear.score, linear.test) == ("PLCC", "Williams")


def test_equal_predictions_have_no_test_of_plcc(compared: Any) -> None:
    logits = [[float(place), 0.0] for place in range(10)]
    first, second = compared([qualities(logits, range(10))], [qualities(logits, range(10))]).differences
    assert (first.difference, first.p_value) == (0.0, 1.0)
    assert np.isnan(second.p_value) and np.isnan(second.p_holm) and "have no test" in second.note


def rotated(item: str, marks: str) -> list[dict[str, Any]]:
    """Passes of a question with as many options; right "1", wrong "0", not asked " "."""
    names = ["main", "rotation:1", "rotation:2"]
    return [
        answer(item, **{"pass": name}, options=OPTIONS, answer="A", extracted="A", correct=mark == "1")
        for name, mark in zip(names, marks, strict=True)
        if mark != " "
    ]


def test_rotations(compared: Any) -> None:
    def run(*marks: str) -> Any:
        rows = [row for place, one in enumerate(marks) for row in rotated(f"q{place}", one)]
        scores = {
            "circular_accuracy": sum("0" not in one for one in marks) / len(marks),
            "vanilla_accuracy": sum(one[0] == "1" for one in marks) / len(marks),
        }
        return evaluated("mmbench/en", "mmbench", predictions=rows, scores=scores)

    circular, vanilla = compared([run("111", "111", "10 ", "0  ")], [run("110", "111", "111", "000")]).differences
    assert (circular.first, circular.second) == (0.5, 0.5)
    assert circular.only_first == ("q0",) and circular.only_second == ("q2",)
    assert (vanilla.first, vanilla.second) == (0.75, 0.75) and vanilla.only_first == vanilla.only_second == ()


def test_refusals(compared: Any) -> None:
    options = ["Good", "Fair", "I don't know"]

    def run(*replies: tuple[str | None, str | None]) -> Any:
        rows = []
        for place, (first, forced) in enumerate(replies):
            rows.append(answer(f"q{place}", options=options, answer="A", extracted=first))
            if first == "C":
                again = {"pass": "forced", "options": options[:2], "answer": "A", "extracted": forced}
                rows.append(answer(f"q{place}", **again))
        known = sum(first == "A" or (first == "C" and forced == "B") for first, forced in replies)
        return evaluated(
            "ql_bench/single", "llsavisionqa", predictions=rows, scores={"score_sa": 100 * known / len(replies)}
        )

    # Right; refused and wrong; refused though known; refused and unreadable; wrong.
    first = run(("A", None), ("C", "B"), ("C", "A"), ("C", None), ("B", None))
    second = run(("B", None), ("A", None), ("C", "B"), ("C", "B"), ("B", None))
    (one,) = compared([first], [second]).differences
    assert (one.first, one.second) == (0.4, 0.6)
    assert one.only_first == ("q0",) and one.only_second == ("q2", "q3")


def test_pairs(compared: Any) -> None:
    def run(*replies: tuple[str | None, str | None], answers: str = "fffe", first: int = 0) -> Any:
        right = {"f": ("first", "second"), "e": ("", "")}

        def images(place: int) -> dict[str, str]:
            return {"first_id": f"i{place}", "second_id": f"i{place + 1}"}

        rows = [
            answer(f"p{first + place}", **{"pass": name}, answer=told, extracted=reply, **images(first + place))
            for place, (pair, kind) in enumerate(zip(replies, answers, strict=True))
            for name, reply, told in zip(("main", "reversed"), pair, right[kind], strict=True)
        ]
        agreed = [None not in pair and pair[0] != pair[1] for pair in replies]
        good = [
            ok and pair[0] == "first" for ok, pair, kind in zip(agreed, replies, answers, strict=True) if kind == "f"
        ]
        scores = {"consistency": sum(agreed) / len(agreed), "accuracy_all": sum(good) / len(good)}
        return evaluated("two_afc/coarse", "two_afc", "test", predictions=rows, scores=scores)

    first = run(("first", "second"), ("second", "first"), ("first", "first"), ("first", "second"))
    second = run(("first", "second"), ("first", "second"), (None, "second"), (None, None))
    consistent, right = compared([first], [second]).differences
    assert (consistent.first, consistent.second, consistent.only_first) == (0.75, 0.5, ("p3",))
    assert "rankings and their correlations are not compared" in consistent.note
    assert (right.first, right.second, right.n, right.only_second) == (1 / 3, 2 / 3, 3, ("p1",))
    told = ("first", "second")
    # The one pair that both have is of equal quality, of which neither image is the right one.
    consistent, right = compared(
        [run(told, told, answers="fe")], [run(told, told, answers="ef", first=1)], common=True
    ).differences
    assert consistent.n == 1 and "at least 3 images; there are 2" in consistent.note
    assert right.n == 0 and math.isnan(right.difference) and "empty" in right.note


@pytest.mark.parametrize(
    ("settings", "data", "name"),
    [
        ({"prompt_id": "q_bench_a1/2/answer-mark"}, {}, "prompt_id"),
        ({"shuffle_seed": 3}, {}, "shuffle_seed"),
        ({"max_new_tokens": 512}, {}, "max_new_tokens"),
        ({"judge": {"name": "other"}}, {}, "judge.name"),
        ({"a_setting_of_tomorrow": 1}, {}, "a_setting_of_tomorrow"),
        ({}, {"is_mini": True}, "data.is_mini"),
        ({}, {"options": {"refusal_position": 0}}, "data.options"),
    ],
)
def test_settings_that_break_comparability(compared: Any, settings: dict, data: dict, name: str) -> None:
    runs = [choices("1100")], [choices("1010", settings=settings, data=data)]
    found = compared(*runs)
    assert not found.differences
    assert found.refused[0].reasons[0].startswith(f"{name} is ") and len(found.refused[0].reasons) == 1
    assert len(compared(*runs, allowed=[name]).differences) == 1


def test_settings_that_do_not(compared: Any) -> None:
    settings = {"seed": 7, "limit": 4, "model": {"dtype": "float16"}, "judge": {"cost": 1.5}}
    second = choices("1010", settings=settings, data={"source": "/elsewhere", "rows": 9})
    assert len(compared([choices("1100")], [second]).differences) == 1
    assert len(compared([choices("1100", settings={"judge": {"cost": 2}})], [second]).differences) == 1


def test_the_table_names_every_option_of_tasks() -> None:
    elsewhere = {"prompt": "prompt_id"}
    assert {elsewhere.get(name, name) for name in option_names()} <= MATTERS.keys() | IGNORED.keys()
    assert not MATTERS.keys() & IGNORED.keys()


def test_other_items(compared: Any) -> None:
    runs = [choices("110011")], [choices("1010", first=2)]
    (refused,) = compared(*runs).refused
    assert refused.reasons == (
        "other items: the first has 6 items and the second 4, 4 of them in common; --common compares these",
    )
    (one,) = compared(*runs, common=True).differences
    assert (one.first, one.second, one.n) == (0.5, 0.5, 4)
    (refused,) = compared([choices("11")], [choices("11", first=5)], common=True).refused
    assert refused.reasons == ("they have no item in common",)


def test_the_same_question_in_another_order_is_the_same(compared: Any) -> None:
    turned = choices("10")
    for row in turned.predictions:
        row.update(options=["Poor", "Fair", "Good"], answer="C", extracted="C" if row["choice"] == "A" else "A")
    assert len(compared([choices("10")], [turned]).differences) == 1
    for row in turned.predictions:
        row["options"] = ["Poor", "Good", "Fair"]
    (refused,) = compared([choices("10")], [turned]).refused
    assert "2 items, 'q0' first, have another right answer" in refused.reasons[0]


def test_descriptions_by_a_judges_marks(compared: Any) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 11, (60, 3)) / 5
    second = np.clip(first - rng.integers(-1, 4, (60, 3)) / 5, 0, 2)
    total, *dimensions = compared([descriptions(first.tolist())], [descriptions(second.tolist())]).differences
    gap = (first - second).sum(axis=1)
    assert (total.score, total.test, total.n) == ("sum, mean over images", "paired bootstrap", 60)
    assert total.first == pytest.approx(first.sum(axis=1).mean())
    assert total.difference == pytest.approx(gap.mean())
    expected = stats.bootstrap((gap,), np.mean, method="percentile", rng=rng).confidence_interval
    assert total.interval == pytest.approx(tuple(expected), abs=0.03)
    assert total.p_value < 0.01
    assert [one.score.partition(",")[0] for one in dimensions] == ["completeness", "preciseness", "relevance"]
    assert [one.difference for one in dimensions] == pytest.approx((first - second).mean(axis=0).tolist())


def test_descriptions_without_a_mark_are_left_out(compared: Any) -> None:
    first, second = [[2, 1, 1], [1, None, 2], [0, 1, 2]], [[1, 1, 1], [1, 1, 1], [2, None, 1]]
    total, complete, precise, relevant = compared([descriptions(first)], [descriptions(second)]).differences
    assert (total.n, total.difference) == (1, 1.0)
    assert (complete.n, precise.n, relevant.n) == (3, 1, 3)
    assert complete.difference == pytest.approx((3 - 4) / 3)
    nothing = compared([descriptions([[1, None, 1], [1, 1, 1]])], [descriptions([[1, 1, 1], [1, None, 1]])])
    assert "empty" in nothing.differences[0].note and nothing.differences[1].p_value == 1.0


def test_descriptions_of_another_judge_or_with_edited_marks_are_refused(compared: Any) -> None:
    marks = [[2, 1, 1], [1, 0, 2]]
    (refused,) = compared([descriptions(marks)], [descriptions(marks, judge="other/judge")]).refused
    assert refused.reasons[0].startswith("scores.judge is 'acme/judge'")
    (refused,) = compared([descriptions(marks)], [descriptions(marks, sum=5.0)]).refused
    assert "its predictions give 3.5 as sum and its results say 5.0; neither file is to be" in refused.reasons[0]


def test_what_the_predictions_do_not_tell(compared: Any) -> None:
    extraction = {"exact": 0.75, "judge": 0.0, "random": 0.25, "unmatched": 0.0}
    judged = choices("110-", scores={"accuracy": 0.75, "n": 4, "fallback": "wrong", "extraction": extraction})
    described = evaluated("q_bench/description", "lldescribe", scores={"sum": 1.0}, predictions=[answer("x")])
    private = evaluated("mmbench/en", "mmbench", scores=None)
    found = compared([judged, described, private], [choices("1100"), described, private])
    reasons = [refused.reasons[0] for refused in found.refused]
    assert "chance decided some answers" in reasons[0]
    assert "hold no marks of a judge" in reasons[1] and "there is no score" in reasons[2]


@pytest.mark.parametrize(
    ("edited", "reason"),
    [
        (
            choices("1100", scores={"accuracy": 0.75, "fallback": "wrong"}),
            "give 0.5 as accuracy and its results say 0.75",
        ),
        (
            qualities([[2, 1], [1, 2], [3, 0]], [1, 2, 3], scores={"srcc": 0.9, "n": 3}),
            "as srcc and its results say 0.9",
        ),
        (qualities([[2, 1], [1, 2], [3, 0]], [1, 2, 3], scores={"srcc": 0.5, "n": 4}), "3 as n and its results say 4"),
    ],
)
def test_results_that_contradict_their_predictions(compared: Any, edited: Any, reason: str) -> None:
    (refused,) = compared([edited], [edited]).refused
    assert reason in refused.reasons[0] and "neither file is to be edited" in refused.reasons[0]


@pytest.mark.parametrize(
    ("scores", "logits"),
    [({"temperature": 0.0}, [[2, 1], [1, 2]]), ({"ties": "foo"}, [[2, 1], [1, 2]]), ({}, [[1, 1], [1, 1]])],
)
def test_predictions_without_a_score(compared: Any, scores: dict, logits: list) -> None:
    known = {"srcc": 0.5, "n": 2, "temperature": 100.0, "ties": "exact"}
    human = [1.0, 2.0]
    rows = [
        answer(f"p{place}", logits=dict(zip(("good", "poor"), pair, strict=True))) for place, pair in enumerate(logits)
    ]
    for row, quality in zip(rows, human, strict=True):
        row["quality"] = quality
    settings = {"word_pair": "good/poor"}
    run = evaluated(
        "q_bench/assessment", "koniq10k", "test", predictions=rows, scores=known | scores, settings=settings
    )
    (refused,) = compared([run], [run]).refused
    assert "its predictions give no score: " in refused.reasons[0]


def test_predictions_of_an_earlier_version_lack_columns(tmp_path: Path) -> None:
    folders = [write(tmp_path / name, [choices("1100")]) for name in "ab"]
    for folder in folders:
        file = folder / "predictions.parquet"
        parquet.write_table(parquet.read_table(file).drop_columns(["correct", "extracted", "answer"]), file)
    (refused,) = compare(*folders).refused
    assert "no item with a public answer" in refused.reasons[0]
    table = parquet.read_table(file)
    place = table.schema.get_field_index("pass")
    parquet.write_table(table.set_column(place, "pass", pyarrow.nulls(len(table), pyarrow.string())), file)
    with pytest.raises(BadResultsError, match="has no pass in some or all rows"):
        compare(*folders)


def test_hostile_texts_do_not_reach_the_terminal(tmp_path: Path) -> None:
    hostile = "q\x1b]0;pwned\x07\x1b[2J[red]"
    runs = []
    for name, right in (("a", "10"), ("b", "01")):
        made = choices(right, subset=hostile, split=hostile)
        made.predictions[0]["id"] = hostile
        runs.append(write(tmp_path / name, [replace(made, model=hostile)]))
    shown = call(*runs)
    assert "\x1b" not in shown and "\x07" not in shown and "[red]" in shown
    newer = json.loads((runs[1] / "results.json").read_text()) | {"schema": 2}
    (runs[1] / "results.json").write_text(json.dumps(newer))
    assert "its schema is 2" in call(*runs, code=1)


def call(*arguments: Any, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.parametrize("scored", [0, 1])
def test_a_private_split_has_nothing_to_compare(compared: Any, scored: int) -> None:
    private = choices("1100", scores=None)
    found = compared([choices("1100") if scored else private], [private])
    (refused,) = found.refused
    assert refused.reasons[0].endswith("there is no score, as of a private split, so nothing says what is right")
    assert not refused.can_be_allowed and not found.differences


def test_the_command(tmp_path: Path) -> None:
    first, second = (
        write(tmp_path / name, [choices(marks)]) for name, marks in (("a", "1" * 9 + "0"), ("b", "0" * 10))
    )
    shown = call(first, second, "--out", tmp_path / "found.json")
    assert "│ 0.900 │  0.000 │     +0.900 │" in shown and "0.0039" in shown and "9 / 0" in shown
    assert "right in the first run alone: q0, q1, q2, q3, q4 and 4 more" in shown
    (found,) = json.loads((tmp_path / "found.json").read_text())["differences"]
    assert found["only_first"] == [f"q{place}" for place in range(9)] and found["p_value"] == pytest.approx(0.00390625)
    call(first, second, "--out", tmp_path / "found.csv")
    rows = list(csv.DictReader((tmp_path / "found.csv").read_text().splitlines()))
    assert len(rows) == 9 and rows[0] == {
        **{"task": "q_bench/perception", "subset": "llvisionqa", "split": "dev"},
        **{"score": "accuracy", "id": "q0", "right_in": "first"},
    }
    assert shown == call(first, second, "--out", tmp_path / "found.json")


def test_what_the_command_refuses(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [choices("1100")])
    other = write(tmp_path / "b", [choices("1100", settings={"blind": True})])
    shown = call(first, other, code=1)
    assert "not compared: q_bench/perception on llvisionqa (dev): blind is None in the first and True in the" in shown
    assert "--allow SETTING" in shown
    call(first, other, "--allow", "blind")
    assert "did you mean 'blind'?" in call(first, other, "--allow", "blnd", code=2)
    assert "unknown task" in call(first, other, "--task", "q_bench/x", code=2)
    assert "the ending must be one of .json, .csv" in call(
        first, other, "--allow", "blind", "--out", tmp_path / "x.txt", code=2
    )
    assert "seed" in call(first, other, "--seed", "-1", code=2)
    assert "not there" in call(first, tmp_path / "nowhere", code=1)
    alone = write(tmp_path / "c", [choices("1100", split="test")])
    assert "nothing to compare" in call(first, alone, code=2)
