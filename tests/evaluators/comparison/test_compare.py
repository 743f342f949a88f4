"""Comparisons of runs whose answers are made up, against SciPy and hand computations."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from eyechart.evaluators.comparison.compare import Comparison, compare
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS, description_scores
from eyechart.metrics.scoring.judging.replies import JudgeSettings
from eyechart.metrics.scoring.quality.pooling import pool
from tests.evaluators import running
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import evaluated, item, write

# The scores of most runs are not compared.
pytestmark = pytest.mark.usefixtures("any_scores")

OPTIONS = ["Good", "Fair", "Poor"]


def choices(right: str, clusters: Sequence[str | None] = (), first: int = 0, **fields: Any) -> Any:
    """Questions answered right ("1") or wrong ("0"), or with nothing ("-"), and what they share."""
    letters = {"1": "A", "0": "B", "-": None}
    shared = clusters or [None] * len(right)
    rows = [
        item(f"q{row}", options=OPTIONS, answer="A", choice=letters[mark], correct=mark == "1", cluster=cluster)
        for row, (mark, cluster) in enumerate(zip(right, shared, strict=True), first)
    ]
    scores = {"accuracy": right.count("1") / len(right), "n": len(right), "fallback": "wrong"}
    return evaluated(**{"items": rows, "scores": scores, **fields})


def qualities(logits: Sequence[Sequence[float]], human: Sequence[float], **fields: Any) -> Any:
    pooled = pool(logits)
    columns = zip(pooled.values.tolist(), pooled.ranking.tolist(), human, strict=True)
    rows = [
        item(f"p{row}", quality_score=value, rank_score=rank, quality=quality, label=str(quality))
        for row, (value, rank, quality) in enumerate(columns)
    ]
    scores = {"srcc": 0.5, "plcc": 0.5, "n": len(rows), "average_over": None}
    made = {"items": rows, "scores": scores, "settings": {"protocol": "quality_assessment"}}
    return evaluated("q_bench/assessment", "koniq10k", "test", **{**made, **fields})


def noisy(noise: float, n: int, rng: np.random.Generator, **fields: Any) -> Any:
    """Predicted qualities of `n` images that differ from their opinion scores by noise."""
    human = np.arange(float(n))
    return qualities(np.column_stack([human + rng.normal(0, noise, n), np.zeros(n)]).tolist(), human.tolist(), **fields)


def descriptions(rounds: Sequence[Sequence[Sequence[int | None]]], clusters: Sequence[str] = (), **changes: Any) -> Any:
    """Descriptions with a judge's scores in each round of each dimension, and what they share."""
    n = len(rounds)
    columns = {"rounds": list(map(list, rounds)), "empty_prediction": [False] * n, "finish_reason": [None] * n}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = description_scores(columns, None, JudgeSettings("acme/judge"))
    items = []
    for row, of_row in enumerate(columns["rounds"]):
        read = [[score for score in scores if score is not None] for scores in of_row]
        means = [sum(scores) / len(scores) if scores else None for scores in read]
        fields = dict(zip(DIMENSIONS["q_bench"], means, strict=True)) | {"cluster": clusters[row] if clusters else None}
        items.append(item(f"i{row}", label="dark", rounds=of_row, **fields))
    values = {"items": items, "scores": scores | changes, "settings": {"protocol": "description"}, "headline": "sum"}
    return evaluated("q_bench/description", "lldescribe", "test", **values)


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
    # Bonett and Price (2012), Eq. 3: shares of 14, with one more in either cell that differs.
    gained, lost = 7 / 14, 2 / 14
    margin = stats.norm.ppf(0.975) * np.sqrt((gained + lost - (gained - lost) ** 2) / 14)
    assert one.difference_ci95 == pytest.approx((gained - lost - margin, gained - lost + margin))
    assert (one.interval_kind, one.units) == ("paired-unread", 12)
    assert not found.refused and not found.only_in_one


def test_questions_that_share_images_are_tested_over_images(compared: Any) -> None:
    """120 questions about 60 images; where the first model is right alone, it is so about the whole image."""
    first, second = "11" * 30 + "00" * 10 + "11" * 20, "11" * 30 + "11" * 2 + "00" * 28
    clusters = [f"image {place // 2}" for place in range(120)]
    (one,) = compared([choices(first, clusters)], [choices(second, clusters)]).differences
    gaps = (np.array(list(first), dtype=float) - np.array(list(second), dtype=float))[::2]
    # All questions of an image are alike, so this is Student's test over images.
    expected = stats.ttest_1samp(gaps, 0)
    assert (one.test, one.n) == ("clustered", 120)
    assert one.p_value == pytest.approx(expected.pvalue)
    assert one.difference_ci95 == pytest.approx(tuple(expected.confidence_interval()))
    # One of the runs is of a version that did not write them.
    assert compared([choices(first)], [choices(second, clusters)]).differences == (one,)
    (alone,) = compared([choices(first)], [choices(second)]).differences
    assert alone.test == "McNemar, exact" and alone.p_value < one.p_value


def test_scores_of_few_clusters_are_known_without_a_test(tmp_path: Path) -> None:
    """One cluster holds most of the items: only the test and the interval are impossible."""
    clusters = ["a"] * 15 + list("bcdef")
    runs = [choices(right, clusters, model=name) for name, right in (("a", "1" * 20), ("b", "1" * 5 + "0" * 15))]
    folders = [str(write(tmp_path / str(place), [run])) for place, run in enumerate(runs)]
    done = invoke("compare", *folders, columns=200, code=0)
    assert not any(words in done.output for words in ("undefined", "nan", "each score by itself"))
    shown = ("100.00 %", "25.00 %", "+75.00 points", "15 / 0", "a test over clusters needs at least 3 of about equal")
    assert all(words in done.output for words in shown)
    third = str(write(tmp_path / "third", [choices("1" * 9 + "0" * 11, clusters, model="c")]))
    done = invoke("compare", *folders, third, columns=200)
    assert "not ranked: q_bench/perception" in done.output and "two runs cannot be tested: a test over" in done.output
    assert "flipped" not in done.output


def test_qualities(compared: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    human = np.arange(80.0)
    logits = [np.column_stack([human + rng.normal(0, noise, 80), np.zeros(80)]).tolist() for noise in (5, 60)]
    found = compared(*([qualities(one, human.tolist())] for one in logits))
    by_rank, linear = found.differences
    for one, statistic, pick in ((by_rank, stats.spearmanr, "ranking"), (linear, stats.pearsonr, "values")):
        expected = [statistic(getattr(pool(values), pick), human).statistic for values in logits]
        assert (one.first, one.second) == pytest.approx(expected)
        assert one.difference_ci95[0] < one.difference < one.difference_ci95[1] and one.difference_ci95[0] > 0
        assert one.p_value < 0.01 and one.n == 80 and one.only_first == ()
    assert (by_rank.score, by_rank.test) == ("SRCC", "paired bootstrap")
    assert (linear.score, linear.test) == ("PLCC", "swaps")
    lines = call(tmp_path / "a", tmp_path / "b").splitlines()
    assert sum("scored higher than" in line for line in lines) == 1, "only the headline has a verdict"


def test_pairs(compared: Any) -> None:
    def run(marks: str, first: int = 0) -> Any:
        """Consistent and right "1", consistent and wrong "0", inconsistent "-"; of equal quality "e" or "x"."""
        verdicts = {"1": (True, True), "0": (True, False), "-": (False, False), "e": (True, None), "x": (False, None)}
        names = ("consistent", "correct", "first_id", "second_id")
        columns = [(*verdicts[mark], f"i{row}", f"i{row + 1}") for row, mark in enumerate(marks, first)]
        items = [item(f"q{row}", **dict(zip(names, of, strict=True))) for row, of in enumerate(columns, first)]
        # A second pass over each has no part in what is compared.
        items += [replace(one, pass_name="again", **dict.fromkeys(names)) for one in items]
        scores = {"consistency": 0.5, "accuracy_all": 0.5, "n_pairs": 4}
        return evaluated("two_afc/coarse", "own", items=items, scores=scores, settings={"protocol": "two_afc/coarse"})

    consistent, right = compared([run("10-e")], [run("11-x")]).differences
    assert (consistent.first, consistent.second, consistent.only_first) == (0.75, 0.5, ("q3",))
    assert consistent.note == ""
    assert (right.first, right.second, right.n, right.only_second) == (1 / 3, 2 / 3, 3, ("q1",))
    # The one pair that both have is of equal quality, of which neither image is the right one.
    (consistent,) = compared([run("1e")], [run("e1", first=1)], common=True).differences
    assert (consistent.key, consistent.n) == ("consistency", 1) and "at least 3 images; there are 2" in consistent.note


def reply(messages: Any, words: Sequence[str] | None = None) -> Any:
    """Letters or logits that depend on the question and the image."""
    parts = messages[0]["content"]
    image = next(part["image"] for part in parts if part["type"] == "image")
    shade = sum(image.convert("L").resize((1, 1)).tobytes())
    if words is not None:
        return {word: float(shade % (7 + place)) for place, word in enumerate(words)}
    return "ABCD"[(shade + len(str(parts[-1]))) % 3]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("task", "scores"),
    [
        *(("q_bench/perception", ["accuracy"]), ("q_bench/description", ["sum"]), ("q_bench/assessment", ["srcc"])),
        *(("ql_bench/single", ["score_sa"]), ("mmbench/en", ["circular_accuracy", "vanilla_accuracy"])),
        ("aes_bench/interpretation", ["mean"]),
        ("two_afc/fine_mos", ["consistency", "accuracy_all", "srcc", "plcc"]),
    ],
)
def test_what_the_items_of_a_real_run_give_is_its_score(tmp_path: Path, task: str, scores: list[str]) -> None:
    run = running.run(task, reply, load_data(get_task(task), DataRequest(is_mini=True, limit=40)))
    folders = [write(tmp_path / name, [run]) for name in "ab"]
    found = {one.key: one.first for one in compare(*folders).differences}
    assert {key: found[key] for key in scores} == pytest.approx({key: run.scores[key] for key in scores})


@pytest.mark.parametrize(
    ("settings", "data", "name"),
    [
        *(({"prompt_id": "x/2"}, {}, "prompt_id"), ({"a_setting_of_tomorrow": 1}, {}, "a_setting_of_tomorrow")),
        ({"judge": {"name": "other"}}, {}, "judge.name"),
        *(({}, {"is_mini": True}, "data.is_mini"), ({}, {"options": {"refusal_position": 0}}, "data.options")),
    ],
)
def test_some_settings_break_comparability(compared: Any, settings: dict, data: dict, name: str) -> None:
    runs = [choices("1100")], [choices("1010", settings=settings, data=data)]
    found = compared(*runs)
    assert not found.differences
    assert found.refused[0].reasons[0].startswith(f"{name} is ") and len(found.refused[0].reasons) == 1
    assert len(compared(*runs, allowed=[name]).differences) == 1
    settings = {"seed": 7, "limit": 4, "model": {"dtype": "float16"}, "judge": {"cost": 1.5}}
    other = choices("1010", settings=settings, data={"source": "/elsewhere", "rows": 9})
    assert len(compared([choices("1100")], [other]).differences) == 1
    # The name of a judge may be in the scores alone.
    (refused,) = compared(*([descriptions([[[2]] * 3], judge=judge)] for judge in ("one", "other"))).refused
    assert refused.reasons[0].startswith("scores.judge is 'one'")


def test_other_settings_are_named_even_if_the_scores_agree(tmp_path: Path) -> None:
    prompts = {"a": None, "b": "Be short.", "c": None}
    folders = []
    for name, prompt in prompts.items():
        model = {"backend": "function", "system_prompt": prompt, "sampling": {"temperature": len(prompt or "")}}
        settings = {"model": model, "prompt_id": f"x/{prompt}"}
        folders.append(write(tmp_path / name, [choices("1", settings=settings, model=name)]))
    shown = call(*folders, "--allow", "prompt_id")
    for pair in ("a and b", "b and c"):
        words = "prompt_id, model.system_prompt, model.sampling"
        assert f"{pair} also differ in {words}, which can change scores." in shown
    assert "a and c also" not in shown


def test_other_items(compared: Any) -> None:
    runs = [choices("110011")], [choices("1010", first=2)]
    (refused,) = compared(*runs).refused
    assert "A has 6 items and B 4, 4 of them in common; --common compares only these" in refused.reasons[0]
    (one,) = compared(*runs, common=True).differences
    assert (one.first, one.second, one.n) == (0.5, 0.5, 4)
    (refused,) = compared([choices("11")], [choices("11", first=5)], common=True).refused
    assert refused.reasons == ("the runs have no items in common",)


def test_the_same_question_in_another_order_is_the_same(compared: Any) -> None:
    turned = [replace(one, options=["Poor", "Fair", "Good"], answer="C") for one in choices("10").items]
    changed = [replace(one, label=label) for one, label in zip(turned, ("Fair", "Poor"), strict=True)]
    assert len(compared([choices("10")], [choices("10", items=turned)]).differences) == 1
    (refused,) = compared([choices("10")], [choices("10", items=changed)]).refused
    assert "labels of 2 items differ (first: 'q0')" in refused.reasons[0]


def test_descriptions_by_a_judges_scores(compared: Any) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, (60, 3, 5))
    second = np.clip(first - rng.integers(-1, 3, (60, 3, 5)), 0, 2)
    total, *dimensions = compared([descriptions(first.tolist())], [descriptions(second.tolist())]).differences
    gap = (first - second).mean(axis=2).sum(axis=1)
    assert (total.score, total.test, total.n) == ("sum (0 to 6)", "paired bootstrap", 60)
    assert total.first == pytest.approx(first.mean(axis=2).sum(axis=1).mean())
    assert total.difference == pytest.approx(gap.mean())
    expected = stats.bootstrap((gap,), np.mean, method="percentile", rng=rng).confidence_interval
    assert total.difference_ci95 == pytest.approx(tuple(expected), abs=0.03)
    assert total.p_value < 0.01
    assert [one.score for one in dimensions] == ["completeness", "preciseness", "relevance"]
    assert [one.difference for one in dimensions] == pytest.approx((first - second).mean(axis=(0, 2)).tolist())


def test_results_without_scores_or_items_are_refused(compared: Any) -> None:
    unjudged = evaluated("q_bench/description", "lldescribe", settings={"protocol": "description"})
    unknown = evaluated("own", "own", settings={"protocol": "riddles"}, items=[item("x")])
    (private,) = compared([choices("1100")], [choices("1100", scores=None)]).refused
    assert (
        private.reasons[0].endswith("no score, for example because the answers are private")
        and not private.can_be_allowed
    )
    (no_rows, other) = compared([unjudged, unknown], [unjudged, unknown]).refused
    assert "no predictions, so single items cannot be compared" in no_rows.reasons[0]
    assert "cannot be computed from single items" in other.reasons[0]


def call(*arguments: Any, code: int = 0) -> str:
    return invoke("compare", *arguments, code=code).output


def test_the_command(tmp_path: Path) -> None:
    first, second = (write(tmp_path / of, [choices(of)]) for of in ("1" * 9 + "0", "0" * 10))
    shown = call(first, second, "--out", tmp_path / "found.json")
    place = shown.index("  accuracy")
    first_line, second_line, *_ = (line.split() for line in shown[place:].splitlines())
    assert first_line == ["accuracy", "90.00", "%", "+90.00", "points", "0.0039", "9", "/", "0", "10"]
    assert second_line[:2] == ["0.00", "%"]
    below = [line for line in shown.splitlines() if not line.startswith(" ")][1:]
    assert below[0] == "q_bench/perception: A scored higher than B (by 90.00 points, p = 0.0039)"
    assert "synthetic" not in shown and "q0" not in shown and "Holm" not in shown
    assert "To list the items that flipped, use --out FILE.csv." in call(first, second)
    assert "\np: McNemar's exact test" in shown and "Bonett and Price's interval" in shown
    (found,) = json.loads((tmp_path / "found.json").read_text())["differences"]
    assert found["only_first"] == [f"q{place}" for place in range(9)] and found["p_value"] == pytest.approx(0.00390625)
    call(first, second, "--out", tmp_path / "found.csv")
    header, flip, *others = (tmp_path / "found.csv").read_text().splitlines()
    assert header == "task,dataset,split,score,id,correct_in" and len(others) == 8
    assert flip == "q_bench/perception,llvisionqa,dev,accuracy,q0,A"


def test_tasks_on_several_data_are_named_with_them(tmp_path: Path) -> None:
    results = [choices("1" * 9, data={"is_mini": True}), choices("1" * 9, split="test")]
    shown = call(*(write(tmp_path / name, results) for name in "ab"))
    for title in (f"q_bench/perception on llvisionqa ({split})" for split in ("dev", "test")):
        assert f"{title}: no significant difference (+0.00 points, p = 1.0000)" in shown
    assert "Synthetic demo data (q_bench/perception on llvisionqa (dev)): not comparable" in shown


def test_runs_with_other_settings_need_allow(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [choices("1100")])
    other = write(tmp_path / "b", [choices("1100", settings={"blind": True})])
    shown = call(first, other, code=1)
    assert shown.count(": q_bench/perception on llvisionqa (dev): blind is None in A and True in B") == 1
    assert "--allow SETTING" in shown and "flips" not in shown
    call(first, other, "--allow", "blind")
    styled = write(tmp_path / "styled", [choices("1100", settings={"prompt_id": "x", "judge": {"temperature": 1.0}})])
    assert "not compared" in call(first, styled, "--allow", "prompt_id", code=1)
    call(first, styled, "--allow", "--prompt-style", "--allow", "--judge-temperature")
    assert "did you mean 'blind'?" in call(first, other, "--allow", "blnd", code=2)
    assert "one of .json, .csv" in call(first, other, "--allow", "blind", "--out", tmp_path / "x.txt", code=2)
    alone = write(tmp_path / "c", [choices("1100", split="test")])
    assert "nothing to compare" in call(first, alone, code=2)
