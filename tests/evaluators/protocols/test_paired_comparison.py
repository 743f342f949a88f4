"""Pairs of images on judges whose answers are known, so that every score can be counted by hand."""

import re
from functools import partial

import numpy as np
import pytest
from PIL import Image

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from tests.evaluators import running
from tests.evaluators.running import predictions

# Small sets of images, on which scores are undefined or inflated, are what this file is about.
pytestmark = pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")

QUALITY = [1.0, 2.0, 3.0, 4.0, 4.0, 6.0]
run = partial(running.run, "two_afc/coarse")
RINGS = [(one, (one + step) % 6) for step in (1, 2, 3) for one in range(6)]


def make(pairs, **changed):
    """Pairs of single-coloured pictures, whose red is their number."""
    pictures = {number: Image.new("RGB", (8, 8), (number, 0, 0)) for pair in pairs for number in pair}
    columns = {
        "id": [f"pair {row}" for row in range(len(pairs))],
        "images": [[pictures[one], pictures[other]] for one, other in pairs],
        "first_id": [f"i{one}" for one, _ in pairs],
        "second_id": [f"i{other}" for _, other in pairs],
        "first_quality": [QUALITY[one] for one, _ in pairs],
        "second_quality": [QUALITY[other] for _, other in pairs],
    }
    return running.dataset_of(columns | changed)


class Judge:
    """Answers by the numbers of the images that it is shown, and remembers what it was shown."""

    def __init__(self, answer):
        self.answer = answer
        self.shown = []

    def __call__(self, messages):
        content = messages[0]["content"]
        self.shown.append(tuple(part["image"].getpixel((0, 0))[0] for part in content if part["type"] == "image"))
        return self.answer if isinstance(self.answer, str) else self.answer(*self.shown[-1])


def by_quality(first, second):
    """The better image, the first of equal ones."""
    return "A" if QUALITY[first] >= QUALITY[second] else "B"


def test_every_pair_is_asked_in_both_orders():
    judge = Judge(by_quality)
    result = run(judge, make([(0, 1), (3, 2)]))
    assert judge.shown == [(0, 1), (1, 0), (3, 2), (2, 3)]
    assert [(line.id, line.pass_name, line.first_id, line.second_id) for line in result.items] == [
        ("pair 0", "main", "i0", "i1"),
        ("pair 0", "reversed", "i1", "i0"),
        ("pair 1", "main", "i3", "i2"),
        ("pair 1", "reversed", "i2", "i3"),
    ]
    assert [line.answer for line in result.items] == ["second", "first", "first", "second"]
    # Each reply to a pair stands in the item of its pass; what follows from both, in that of the first.
    assert [item.choice for item in result.items] == ["second", "first", "first", "second"]
    main = [item for item in result.items if item.pass_name == "main"]
    assert [(item.consistent, item.correct) for item in main] == [(True, True)] * 2
    assert result.settings["orders"] == ["main", "reversed"]


def test_every_aggregator_scores_the_same_answers():
    dataset = make(RINGS)
    result = run(Judge(by_quality), dataset)
    assert list(result.variants) == ["mle", "mle_ridge=0.01", "perron", "trueskill"]
    inputs = {
        "predictions": [item.text for item in result.items if item.pass_name == "main"],
        "reversed_predictions": [item.text for item in result.items if item.pass_name == "reversed"],
        **{f"{name}s": list(dataset[name]) for name in ("first_id", "second_id")},
        "first_references": list(dataset["first_quality"]),
        "second_references": list(dataset["second_quality"]),
    }
    metric = metrics.load("paired_comparison")
    for name, scores in {"map": result.scores, **result.variants}.items():
        np.testing.assert_equal(scores, metric.compute(**inputs, aggregator=name.partition("=")[0]))
    chosen = run(Judge(by_quality), dataset, aggregator="perron")
    np.testing.assert_equal(chosen.scores, result.variants["perron"])
    np.testing.assert_equal(chosen.variants["map"], result.scores)


def test_the_mixed_pool_is_a_variant():
    pairs = [(0, 1), (1, 2), (3, 5), (0, 5), (1, 3)]
    pools = ["kadis700k", "kadis700k", "SQAD", "mixed", "mixed"]
    result = run(Judge(by_quality), make(pairs, pool=pools))
    assert result.scores["n_pairs"] == 3 and set(result.scores["by_pool"]) == {"kadis700k", "SQAD"}
    assert result.variants["mixed"]["n_pairs"] == 2 and list(result.variants["mixed"]["by_pool"]) == ["mixed"]
    assert result.diagnostics["table"]["mixed"]["n_pairs"] == 2
    assert [average["over"] for average in result.diagnostics["averages"]] == [["kadis700k", "SQAD", "mixed"]]
    # The images of `mixed` are in other pools too, so its pairs have no verdicts unless they stand alone.
    assert {item.pool for item in result.items if item.consistent is not None} == {"kadis700k", "SQAD"}
    alone = run(Judge(by_quality), make(pairs[3:], pool=pools[3:]))
    assert alone.scores["n_pairs"] == 2 and "mixed" not in alone.variants and alone.diagnostics["averages"] == []
    assert [item.consistent for item in alone.items] == [True, None] * 2
    assert len(result.items) == 10


def test_convergence_needs_rounds_and_ends_at_the_score():
    assert "convergence" not in run(Judge(by_quality), make(RINGS)).diagnostics
    result = run(Judge(lambda *pair: by_quality(*pair) if 0 in pair else "A"), make(RINGS, round=sorted([3, 4, 7] * 6)))
    curve, bound = result.diagnostics["convergence"]["curve"], result.diagnostics["convergence"]["upper_bound"]
    assert [(part["rounds"], part["n_pairs"], part["n_images"]) for part in curve] == [
        *((1, 6, 6), (2, 12, 6), (3, 18, 6))
    ]
    assert {name: curve[-1][name] for name in ("srcc", "plcc")} == {
        name: result.scores[name] for name in ("srcc", "plcc")
    }
    assert bound[-1]["srcc"] > 0.95 > curve[-1]["srcc"]
    assert "limit" not in result.diagnostics["convergence"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"second_id": ["i1", "i1"]}, "first_id and second_id are both 'i1'; expected two different images"),
        ({"id": ["pair 0", "pair 0"]}, "duplicate id"),
    ],
)
def test_a_row_that_cannot_be_scored_is_refused_or_left_out(changed, reason):
    dataset = make([(0, 1), (1, 2)], **{"pool": ["sea", "sea"]} | changed)
    judge = Judge(by_quality)
    with pytest.raises(DataError, match=reason):
        run(judge, dataset)
    assert not judge.shown
    result = run(judge, dataset, skip_bad=True)
    assert result.scores["n_pairs"] == 1 and len(result.left_out) == 1
    assert re.search(reason, result.left_out[0].reason)


def answers(pairs):
    return [
        {"id": f"pair {row}", "pass": name, "text": by_quality(*pair[::step])}
        for row, pair in enumerate(pairs)
        for name, step in (("reversed", -1), ("main", 1))
    ]


def test_a_pair_with_one_answer_is_left_out(tmp_path):
    file = predictions(tmp_path, answers(RINGS)[1:])
    with pytest.raises(DataError, match="no prediction for id 'pair 0', pass 'reversed'; passes in the file: main"):
        run(file, make(RINGS))
    result = run(file, make(RINGS), skip_bad=True)
    assert result.scores["n_pairs"] == len(RINGS) - 1
    assert [item.id for item in result.left_out] == ["pair 0"]


def test_scores_of_images_answer_pairs(tmp_path):
    file = tmp_path / "niqe.csv"
    scores = dict(enumerate(QUALITY)) | {17: 3}
    file.write_text("image,score\n" + "".join(f"i{image},{score}\n" for image, score in scores.items()))
    result = run(PredictionsFileBackend(file), make(RINGS, round=[0] * 18))
    # Images 3 and 4 are equally good, so that both orders of their one pair are a draw.
    assert result.scores["consistency"] == pytest.approx(17 / 18)
    assert result.scores["accuracy_all"] == 1 and result.scores["unmatched"] == 1
    assert result.scores["first_rate"] == result.scores["second_rate"] == pytest.approx(17 / 36)
    assert {item.label for item in result.items if not item.answer} == {"i3 equals i4"}
    limit = result.diagnostics["convergence"]["limit"]
    assert (limit["srcc"], limit["plcc"], limit["n_images"]) == pytest.approx((1, 1, 6))
    # A fit to six images says little.
    assert np.isnan(limit["plcc_fitted"])
    np.testing.assert_equal(
        result.diagnostics["convergence"]["curve"], result.diagnostics["convergence"]["upper_bound"]
    )
    model = result.settings["model"]
    assert (model["format"], model["predictions_unused"], model["lower_is_better"]) == ("quality-scores", 1, False)


def test_an_image_without_a_score_leaves_out_its_pairs(tmp_path):
    file = predictions(tmp_path, ({"id": f"i{image}", "score": score} for image, score in enumerate(QUALITY[:5])))
    with pytest.raises(DataError, match=r"item 'pair 4': .*no score for image 'i5'"):
        run(file, make(RINGS))
    result = run(file, make(RINGS), skip_bad=True)
    assert result.scores["n_images"] == 5
    assert [item.id for item in result.left_out] == [f"pair {row}" for row, pair in enumerate(RINGS) if 5 in pair]
