import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eyechart.metrics
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies
from eyechart.metrics.scoring.choices.self_awareness import (
    awareness_shares,
    read_self_awareness,
    self_awareness_scores,
    without_refusal,
)
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import Items
from eyechart.metrics.scoring.judging.replies import Judge, name_or_none
from eyechart.metrics.scoring.statistics.intervals import wilson_interval
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval

TYPES = ("yes-or-no", "what", "how")
# Tables I to IV of QL-Bench (arXiv:2409.09748), in percent: score_cc and score_rc by type and in total, then score_sa;
# answer accuracy and answer rate by type. The paper gives the sum of the numbers of questions of each type; all cells
# are multiples of 1 / these.
SIZES = {"single": (1098, 913, 979), "pairs": (811, 587, 601)}
SCORES = {
    "single": """
LLaVA-Next (8B)               65.392  0.000 68.784  1.095 60.572  0.000 64.849  0.334 65.183
LLaVA-Next (13B)              65.483  0.091 60.789  1.533 59.040  0.306 61.940  0.602 62.542
mPLUG-Owl2 (LLaMA2-7B)        65.938  0.000 54.984  4.600 56.691  2.247 59.565  2.140 61.705
mPLUG-Owl (Bloomz-7B)         53.734  0.546 42.607  3.395 39.224  2.554 45.585  2.074 47.659
InstructBLIP (Vicuna-7B)      61.566  0.000 46.440  1.095 45.455  2.962 51.672  1.304 52.976
InstructBLIP (Flan-T5-XL)     62.204  0.273 54.217  2.738 52.809  1.124 56.689  1.304 57.993
InternLM-XComposer2 (7B)      52.732  0.000 56.736 10.515 45.250 11.951 51.505  7.124 58.629
InternLM-XComposer2d5 (7B)    73.133  0.091 72.618  3.176 63.432  0.409 69.799  1.137 70.936
InternLM-XComposer2 (4KHD-7B) 68.488  0.000 74.808  0.438 65.986  0.000 69.599  0.134 69.733
InfiMM (Zephyr-7B)            59.927  0.000 53.779  2.081 44.433  0.919 52.977  0.936 53.913
Fuyu (Persimmon-8B)           59.199  0.091 42.388  1.533 41.369  1.430 48.227  0.970 49.197
Emu2-Chat (LLaMA-33B)         68.488  0.000 61.665  4.053 44.127  6.231 58.428  3.278 61.706
GPT-4V                        68.579  0.091 70.427  1.314 60.572  1.532 66.522  0.936 67.458
GPT-4O                        69.581  1.457 71.303  3.176 59.755  2.656 66.890  2.375 69.265
Gemini-1.5-Pro                58.106  4.736 55.969  6.900 47.804  5.107 54.080  5.518 59.598
""",
    "pairs": """
InfiMM (Zephyr-7B)    54.254  0.000 40.716  2.555 41.597  0.666 46.473  0.950 47.423
mPLUG-Owl (Bloomz-7B) 45.993  1.233 31.516  3.748 39.767  1.331 39.870  2.001 41.871
Emu2-Chat (LLaMA-33B) 49.199  0.000 34.753  4.770 39.767  6.156 42.121  3.252 45.373
GPT-4V                59.556  2.096 59.966  1.022 58.403  1.331 59.330  1.551 60.881
GPT-4O                63.132  2.713 62.521  0.852 62.729  3.661 62.831  2.451 65.282
Gemini-1.5-Pro        52.035 14.797 45.826 14.310 45.258 35.108 48.174 20.760 68.934
""",
}
ANSWERS = {
    "single": """
LLaVA-Next (8B)                65.392 100.000  69.546  98.905  60.572 100.000
LLaVA-Next (13B)               65.542  99.909  61.735  98.467  59.221  99.694
mPLUG-Owl2 (LLaMA2-7B)         65.938 100.000  57.635  95.400  57.994  97.753
mPLUG-Owl (Bloomz-7B)          54.029  99.454  44.104  96.605  40.252  97.446
InstructBLIP (Vicuna-7B)       61.566 100.000  46.955  98.905  46.842  97.038
InstructBLIP (Flan-T5-XL)      62.374  99.727  55.743  97.262  53.409  98.876
InternLM-XComposer2 (7B)       52.732 100.000  63.403  89.485  51.392  88.049
InternLM-XComposer2d5 (7B)     73.200  99.909  75.000  96.824  63.692  99.591
InternLM-XComposer2 (4KHD-7B)  68.488 100.000  75.138  99.562  65.986 100.000
InfiMM (Zephyr-7B)             59.927 100.000  54.922  97.919  44.845  99.081
Fuyu (Persimmon-8B)            59.253  99.909  43.048  98.467  41.969  98.570
Emu2-Chat (LLaMA-33B)          68.488 100.000  64.269  95.947  47.059  93.769
GPT-4V                         68.642  99.909  71.365  98.686  61.515  98.468
GPT-4O                         70.610  98.543  73.643  96.824  61.385  97.344
Gemini-1.5-Pro                 60.994  95.264  60.118  93.100  50.377  94.893
""",
    "pairs": """
InfiMM (Zephyr-7B)     54.254 100.000  41.783  97.445  41.876  99.334
mPLUG-Owl (Bloomz-7B)  46.567  98.767  32.743  96.252  40.304  98.669
Emu2-Chat (LLaMA-33B)  49.199 100.000  36.494  95.230  42.376  93.844
GPT-4V                 60.831  97.904  60.585  98.978  59.191  98.669
GPT-4O                 64.892  97.287  63.058  99.148  65.112  96.339
Gemini-1.5-Pro         61.071  85.203  53.479  85.690  69.744  64.892
""",
}


def _rows_in(table: str) -> dict[str, list[float]]:
    """The numbers of each row, by the model's name in front of them."""
    rows = (re.fullmatch(r"(.*?)((?: +[\d.]+)+)", line) for line in table.strip().splitlines())
    return {row[1]: [float(number) for number in row[2].split()] for row in rows}


PUBLISHED = [(images, model) for images, table in SCORES.items() for model in _rows_in(table)]

OPTIONS = ["Bright", "Dark", "Medium", "I don't know"]
VAGUE = "Somewhere in between, I would say"
ROWS: dict[str, Any] = {
    "predictions": ["C", "A"],
    "references": ["C", "C"],
    "choices": [OPTIONS] * 2,
    "refusals": ["D", "D"],
    "forced_predictions": [None, None],
}


def _items(predictions: list[str], forced: list[str | None], judge: Judge | None = None, **settings) -> Items:
    """Of questions whose right option is C and whose refusal is D."""
    n = len(predictions)
    columns = {"questions": ["How is the light?"] * n, "refusals": ["D"] * n, "forced_predictions": forced}
    replies = Replies(predictions, ["C"] * n, [OPTIONS] * n, **columns)
    return read_self_awareness(replies, ExtractionSettings(name_or_none(judge), **settings), judge)


def _scores(items: Items, groups: dict[str, list[str]] | None = None, **settings) -> dict:
    n = len(items["choice"])
    replies = Replies(None, ["C"] * n, [OPTIONS] * n, groups=groups)
    return self_awareness_scores(items, replies, ExtractionSettings(**settings))


def _rows_of(n: int, right: int, rightly_refused: int, answered: int) -> list[tuple[str, str | None]]:
    """First and forced replies of a type of question, C being right and D the refusal."""
    refused = [("D", "A")] * rightly_refused + [("I don't know", "Medium")] * (n - answered - rightly_refused)
    return [("C", None)] * right + [("A", None)] * (answered - right) + refused


@pytest.mark.parametrize(("images", "model"), PUBLISHED)
def test_every_cell_of_the_papers_tables(images: str, model: str) -> None:
    sizes, printed, answers = SIZES[images], *(_rows_in(table[images])[model] for table in (SCORES, ANSWERS))
    rows, groups = [], []
    for kind, n in enumerate(sizes):
        score_cc, score_rc, rate = printed[2 * kind], printed[2 * kind + 1], answers[2 * kind + 1]
        rows += _rows_of(n, *(round(percent * n / 100) for percent in (score_cc, score_rc, rate)))
        groups += [TYPES[kind]] * n
    predictions, forced = map(list, zip(*rows, strict=True))
    found = _scores(_items(predictions, forced), groups={"question_type": groups})
    assert [found["by_question_type"][kind]["n"] for kind in TYPES] == list(sizes)
    for kind, part in enumerate(found["by_question_type"].values()):
        cells = [*printed[2 * kind : 2 * kind + 2], *answers[2 * kind : 2 * kind + 2]]
        percents = [part["score_cc"], part["score_rc"], 100 * part["answer_accuracy"], 100 * part["answer_rate"]]
        assert percents == pytest.approx(cells, abs=0.0005 + 1e-9)
    assert [found["score_cc"], found["score_rc"]] == pytest.approx(printed[6:8], abs=0.0005 + 1e-9)
    # The paper adds the rounded scores.
    assert round(found["score_cc"], 3) + round(found["score_rc"], 3) == pytest.approx(printed[8], abs=1e-9)


def _nonzero(shares: dict[str, float]) -> dict[str, float]:
    return {name: share for name, share in shares.items() if share}


def test_by_hand() -> None:
    first = ["C", "D", "Medium", "I don't know", "A", "D", VAGUE, "D"]
    forced = [None, "Bright", "A", "The answer is C.", None, VAGUE, None, ""]
    items = _items(first, forced)
    assert items["forced_choice"] == [None, "A", None, "C", None, None, None, None]
    assert items["outcome"] == [
        *("right answer", "right refusal", "right answer", "wrong refusal"),
        *("wrong answer", "unreadable", "unreadable", "unreadable"),
    ]
    found = _scores(items, groups={"half": ["first"] * 4 + ["second"] * 4})
    assert (found["score_cc"], found["score_rc"], found["score_sa"]) == (25.0, 12.5, 37.5)
    assert (found["answer_rate"], found["answer_accuracy"]) == (0.5, 0.5)
    assert (found["n"], found["n_refused"], found["unmatched"], found["forced_unmatched"]) == (8, 4, 1, 2)
    assert found["score_sa_ci95"] == pytest.approx([100 * end for end in wilson_interval(3, 8)])
    assert found["answer_accuracy_ci95"] == list(wilson_interval(2, 4))
    assert _nonzero(found["extraction"]) == {"exact": 0.875, "unmatched": 0.125, "unparseable": 0.125}
    assert _nonzero(found["forced_extraction"]) == {"exact": 0.5, "unmatched": 0.5, "unparseable": 0.5}
    assert found["choice_distribution"]["predicted"] == {"A": 0.125, "B": 0.0, "C": 0.25, "D": 0.5, "none": 0.125}
    assert found["random_guess"] == pytest.approx(1 / 3)
    halves = found["by_half"]
    assert (halves["first"]["score_sa"], halves["second"]["score_sa"]) == (75.0, 0.0)
    assert (halves["first"]["forced_unmatched"], halves["second"]["forced_unmatched"]) == (0, 2)


@pytest.mark.parametrize(("place", "refusal"), [(0, "A"), (1, "B"), (3, "D")])
def test_letters_of_the_forced_pass_are_those_of_the_shorter_list(place: int, refusal: str) -> None:
    others = OPTIONS[:3]
    options = [*others[:place], OPTIONS[3], *others[place:]]
    assert without_refusal(options, refusal) == others
    reference = "ABCD"[options.index("Medium")]
    for forced, right in (("C", True), ("Medium", True), ("B", False), ("D", False)):
        replies = Replies([refusal], [reference], [options], refusals=[refusal], forced_predictions=[forced])
        items = read_self_awareness(replies)
        assert items["outcome"] == ["wrong refusal" if right else "unreadable" if forced == "D" else "right refusal"]
        assert right == (items["forced_choice"] == [reference])


REPLIES = st.sampled_from(["A", "C", "Medium", "D", "I don't know", VAGUE, "", "A or B"])


@given(st.lists(st.tuples(REPLIES, REPLIES), min_size=1, max_size=12))
@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.UndefinedScoreWarning")
def test_every_question_has_one_outcome(replies: list[tuple[str, str]]) -> None:
    first, forced = map(list, zip(*replies, strict=True))
    items = _items(first, forced)
    found, outcomes = _scores(items), items["outcome"]
    n = found["n"]
    assert round(found["score_cc"] * n / 100) == outcomes.count("right answer") == items["choice"].count("C")
    assert round(found["score_rc"] * n / 100) == outcomes.count("right refusal")
    assert (
        found["n_refused"]
        == outcomes.count("right refusal") + outcomes.count("wrong refusal") + found["forced_unmatched"]
    )
    assert found["unmatched"] + found["forced_unmatched"] == outcomes.count("unreadable")


def test_a_judge_reads_both_items() -> None:
    asked = []

    def judge(messages: list[dict[str, str]], n: int) -> list[str]:
        asked.append(messages[-1]["content"])
        return ["D" if "I don't know" in asked[-1] else "B"] * n

    items = _items(["I cannot tell", "C"], [VAGUE, None], judge=judge)
    assert items["choice"] == ["D", "C"] and items["forced_choice"] == ["B", None]
    assert len(asked) == 2 and "C. Medium D. I don't know" in asked[0] and "I don't know" not in asked[1]
    found = _scores(items)
    assert found["score_rc"] == 50.0
    assert found["extraction"]["judge"] == 0.5 and found["forced_extraction"]["judge"] == 1.0


@pytest.mark.parametrize(("vote", "score_rc"), [("Score: 0", 100.0), ("Score: 1", 0.0), ("no idea", 0.0)])
@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.UndefinedScoreWarning")
def test_a_vote_says_whether_the_forced_reply_is_right(vote: str, score_rc: float) -> None:
    items = _items(["D"], [VAGUE], judge=lambda messages, n: [vote] * n, judge_template="q_bench_vote")
    found = _scores(items, judge_template="q_bench_vote")
    assert found["score_rc"] == score_rc and found["forced_unmatched"] == (vote == "no idea")


def test_the_judge_is_not_asked_where_a_forced_reply_is_missing() -> None:
    def judge(messages: list[dict[str, str]], n: int) -> list[str]:
        raise AssertionError("asked")

    with pytest.raises(InputError, match=r"forced_predictions\[1\] is None, but predictions\[1\] chooses the refusal"):
        _items([VAGUE, "D"], [None, None], judge=judge)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"refusals": ["D"]}, "refusals has 1 rows and predictions has 2; row 1"),
        ({"references": ["C", "BC"]}, r"references\[1\] is 'BC'"),
        ({"refusals": ["D", "E"]}, r"refusals\[1\] is 'E'; allowed: A to D"),
        ({"refusals": ["D", "C"]}, r"references\[1\] is 'C' and refusals\[1\] is 'C'"),
        ({"predictions": ["C", "D"]}, r"forced_predictions\[1\] is None, but predictions\[1\] chooses the refusal 'D'"),
        ({"unreadable_forced": "right"}, "unreadable_forced is 'right'; allowed: 'apart', 'wrong'"),
    ],
)
def test_bad_rows(arguments: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        eyechart.metrics.load("self_awareness").compute(**ROWS | arguments)


def test_an_unreadable_forced_reply_is_wrong_by_equation_3() -> None:
    metric = eyechart.metrics.load("self_awareness")
    rows: dict[str, list] = {
        "predictions": list("CCCA"),
        "references": ["A"] * 4,
        "choices": [["High", "Low", "I don't know"]] * 4,
        "refusals": ["C"] * 4,
        "forced_predictions": ["B", "neither of them", "", None],
    }
    apart, wrong = metric.compute(**rows), metric.compute(**rows, unreadable_forced="wrong")
    # A missing reply counts as neither.
    assert (apart["score_rc"], wrong["score_rc"]) == (25.0, 50.0)
    assert wrong["score_sa"] == 75.0 and wrong["forced_unmatched"] == apart["forced_unmatched"] == 2
    assert wrong["unreadable_forced"] == "wrong" and "unreadable_forced" not in apart
    # An empty reply of a model is one, and no option.
    rows["forced_predictions"][2] = " "
    assert metric.compute(**rows, unreadable_forced="wrong")["score_rc"] == 75.0
    assert metric.compute(**rows)["score_rc"] == 25.0


def test_questions_about_one_image_depend_on_each_other() -> None:
    """60 images with two questions each; both are right or both are wrong, and one image's are refused."""
    right = np.repeat(np.arange(60) % 3 > 0, 2)
    outcomes = np.where(right, "right answer", "wrong answer").astype(object)
    refused = np.arange(120) < 2
    outcomes[:2] = "right refusal", "wrong refusal"
    clusters = Clusters.of([number // 2 for number in range(120)], 120)
    found = awareness_shares(refused, outcomes.tolist(), clusters)
    # Both answers about an image are alike, so an image counts as one item.
    assert found["intervals"]["score_cc"] == {"kind": "wilson-clustered", "units": 60}
    assert found["intervals"]["answer_accuracy"] == {"kind": "wilson-clustered", "units": 59}
    for name, flags, rows, scale in (
        ("score_cc", right & ~refused, np.arange(120), 100),
        ("score_rc", np.arange(120) == 0, np.arange(120), 100),
        ("score_sa", (right & ~refused) | (np.arange(120) == 0), np.arange(120), 100),
        ("answer_rate", ~refused, np.arange(120), 1),
        ("answer_accuracy", right[2:], np.arange(2, 120), 1),
    ):
        expected = share_interval(flags, clusters.select(rows))
        assert found[f"{name}_ci95"] == pytest.approx([scale * expected.low, scale * expected.high])
    alone = awareness_shares(refused, outcomes.tolist(), Clusters.of(None, 120))
    assert np.ptp(found["score_cc_ci95"]) > 1.3 * np.ptp(alone["score_cc_ci95"])
    assert {one["kind"] for one in alone["intervals"].values()} == {"wilson"}
