"""Quality scores from logits, ratings from replies, and the module's scores against published ones."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit

import eyechart.metrics
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreWarning
from eyechart.metrics.scoring.quality.correlation import fit_logistic, logistic4, plcc
from eyechart.metrics.scoring.quality.pooling import ensemble_logits, pool
from eyechart.metrics.scoring.quality.ratings import read_rating

HALF = st.integers(-400, 400).map(lambda eighths: eighths / 8)


@given(st.lists(st.tuples(HALF, HALF), min_size=1, max_size=20), st.sampled_from([1.0, 10.0, 100.0]))
def test_softmax_by_its_formula(pairs: list[tuple[float, float]], temperature: float) -> None:
    expected = [
        math.exp(good / temperature) / (math.exp(good / temperature) + math.exp(poor / temperature))
        for good, poor in pairs
    ]
    exact, released = pool(pairs, temperature=temperature), pool(pairs, temperature=temperature, ties="released")
    assert exact.values == pytest.approx(expected, abs=1e-15)
    assert released.values.tolist() == expected
    assert released.ranking.tolist() == expected
    assert exact.ranking.tolist() == [good - poor for good, poor in pairs]


def test_exact_ties_stay_tied_and_released_ones_split() -> None:
    pairs = [[17.5 + shift, 17.0 + shift] for shift in np.arange(0, 8, 0.125)]
    assert len(set(pool(pairs).ranking.tolist())) == 1
    assert len(set(pool(pairs, ties="released").ranking.tolist())) > 1


def test_argmax() -> None:
    assert pool([[2, 1], [1, 2], [1, 1]], strategy="argmax").values.tolist() == [1.0, 0.0, 0.0]


def test_no_overflow_in_exact_mode() -> None:
    assert pool([[1e6, -1e6], [-1e6, 1e6]], temperature=1.0).values.tolist() == [1.0, 0.0]
    with pytest.raises(InputError, match=r"predictions\[0\] is \[1000000.0, -1000000.0\].*temperature"):
        pool([[1e6, -1e6]], temperature=1.0, ties="released")
    with pytest.raises(InputError, match=r"predictions\[0\]"):
        pool([[-1e6, -1e6]], temperature=1.0, ties="released")


def test_ensemble_is_the_sum_of_each_side() -> None:
    logits = {"good": [1.0, 2.0], "fine": [0.5, 0.25], "poor": [3.0, 1.0], "bad": [1.0, 1.0]}
    assert ensemble_logits(logits, ["good", "fine"], ["poor", "bad"]).tolist() == [[1.5, 4.0], [2.25, 2.0]]


LOGITS = {"good": [1.0, 2.0], "poor": [1.0, 1.0], "short": [1.0]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pool([[1, 2]], temperature=0), "temperature is 0"),
        (lambda: pool([[1, 2]], temperature=float("nan")), "temperature is nan"),
        (lambda: pool([[1, 2]], strategy="softmx"), "Did you mean 'softmax'"),
        (lambda: pool([[1, 2]], ties="exat"), "Did you mean 'exact'"),
        (lambda: pool([[1.0, 2.0], [float("inf"), 1.0]]), r"predictions\[1\] is \[inf, 1.0\]"),
        (lambda: ensemble_logits(LOGITS, [], ["poor"]), "positive is"),
        (lambda: ensemble_logits(LOGITS, ["good", "good"], ["poor"]), "positive is"),
        (lambda: ensemble_logits(LOGITS, ["god"], ["poor"]), "Did you mean 'good'"),
        (lambda: ensemble_logits(LOGITS, ["good"], ["short"]), "short has 1 rows and good has 2"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


READ = {
    1: ["1 " * 10_000, "1 " + " " * 50_000],
    2: ["Quality score: **2** out of 5", "On a scale of 1-5, it is a 2."],
    3: ["The quality of the image is 3."],
    3.5: ["3.5", "3,5", '<answer>{"rating": 3.5}</answer>'],
    4: [
        *("4", " 4.\n", "**4**", "4/5", "- 4", '{"score": 4}', '{"score": 4, "confidence": 2}', "\u8bc4\u5206: 4"),
        *("Rating: 4 (on a scale from 1 to 5)", "I would rate this image a 4 out of 5.", "A 4, I repeat, a 4"),
        *("4 out of 5.0", "4 because of 3 flaws", "Rating...4"),
        *("I think 4", "2 dogs. <answer>3</answer> No: <answer>4</answer>"),
        *("4. The image is sharp, with 2 people in it.", "*" * 50_000 + "4"),
    ],
    5: ["Score: 5", "\uff15"],
    None: [
        *("From 1 to 5, with 5 as highest: 3", "\u8bc4\u5206: 4\u5206", "Between 3 and 4", "3 to 4", "the 4th of 5"),
        *("4.2.1", "<answer>none</answer> 4", "4/10", "2 out of 100", "Score: 3 / 7", "<answer>.5</answer>", "= .5"),
        *("1. Sharpness: good\n2. Noise: low", "0", "6", "-3", "Score: -3", "10/10", "80%", "3.5%", "Good.", "four"),
        *("", "\x00\x1b[2J", "5" * 10_000, "good " * 10_000, "- " * 50_000, "score " * 50_000, "from " * 20_000),
    ],
}


@pytest.mark.parametrize(
    ("text", "rating"),
    [(text, rating) for rating, texts in READ.items() for text in texts],
    ids=lambda value: repr(value)[:40],
)
def test_numbers_are_read_from_replies(text, rating):
    assert read_rating(text) == rating


SETTINGS = {"fit": "logistic4", "average_over": None, "resamples": 1000, "seed": 0}
POOLING = {"temperature": 100.0, "strategy": "softmax", "ties": "exact"}


def _rows(n: int = 60, seed: int = 0) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 2))
    return {"predictions": logits.tolist(), "references": (logits[:, 0] - logits[:, 1] + rng.normal(size=n)).tolist()}


@pytest.fixture
def logits():
    return eyechart.metrics.load("softmax_iqa")


@pytest.fixture
def scores():
    return eyechart.metrics.load("softmax_iqa", "scores")


def test_settings_and_intervals(logits, scores) -> None:
    found = logits.compute(**_rows())
    assert {name: found[name] for name in SETTINGS | POOLING} == SETTINGS | POOLING
    assert found["srcc_ci95"][0] < found["srcc"] < found["srcc_ci95"][1]
    assert found["plcc_ci95"][0] < found["plcc"] < found["plcc_ci95"][1]
    plain = scores.compute(predictions=list(range(40)), references=list(range(40)))
    assert {name: plain.get(name) for name in SETTINGS | POOLING} == SETTINGS | dict.fromkeys(POOLING)


def test_both_configurations_agree(logits, scores) -> None:
    rows = _rows()
    pooled = [1 / (1 + math.exp((poor - good) / 100)) for good, poor in rows["predictions"]]
    given = scores.compute(predictions=pooled, references=rows["references"])
    found = logits.compute(**rows)
    for name in ("srcc", "plcc", "krcc", "plcc_fitted", "rmse_fitted"):
        assert found[name] == pytest.approx(given[name], abs=1e-7)


def test_average_over_is_the_mean_of_the_groups(logits) -> None:
    rows = _rows(100)
    groups = {"subset": ["game"] * 40 + ["movie"] * 60}
    found = logits.compute(**rows, groups=groups, average_over="subset")
    parts = found["by_subset"]
    for name in ("srcc", "plcc", "krcc", "plcc_fitted", "rmse_fitted"):
        assert found[name] == pytest.approx((parts["game"][name] + parts["movie"][name]) / 2)
    assert found["n"] == 100 and found["average_over"] == "subset"
    assert found["srcc_ci95"][0] < found["srcc"] < found["srcc_ci95"][1]
    alone = logits.compute(predictions=rows["predictions"][:40], references=rows["references"][:40])
    assert parts["game"]["srcc"] == alone["srcc"]


def test_temperature_moves_plcc_and_not_srcc(logits) -> None:
    cold, warm = logits.compute(**_rows(), temperature=1.0), logits.compute(**_rows(), temperature=100.0)
    assert cold["srcc"] == warm["srcc"] and cold["plcc"] != warm["plcc"]


def test_the_parameters_give_the_fitted_curve(scores) -> None:
    rng = np.random.default_rng(0)
    x, half = rng.normal(size=200), np.repeat(["a", "b"], 100)
    y = np.tanh(x) + rng.normal(size=200) / 5
    found = scores.compute(predictions=x, references=y, groups={"half": half})
    for part, rows in ((found, half != ""), (found["by_half"]["b"], half == "b")):
        mapped = logistic4(x[rows], *part["fit_parameters"])
        assert np.corrcoef(mapped, y[rows])[0, 1] == pytest.approx(part["plcc_fitted"])
        assert np.sqrt(np.mean((mapped - y[rows]) ** 2)) == pytest.approx(part["rmse_fitted"])
    averaged = scores.compute(predictions=x, references=y, groups={"half": half}, average_over="half")
    assert averaged["fit_parameters"] is None
    five = scores.compute(predictions=x, references=y, fit="logistic5")["fit_parameters"]
    assert len(five) == 5 and all(type(one) is float for one in five)


def test_seed_of_the_bootstrap(logits) -> None:
    first, again, other = (logits.compute(**_rows(), seed=seed) for seed in (1, 1, 2))
    assert first == again and first["srcc_ci95"] != other["srcc_ci95"]


def test_constant_predictions_are_nan_with_a_warning(logits) -> None:
    with pytest.warns(UndefinedScoreWarning, match="overall: nan for srcc, .*: all 40 predictions"):
        found = logits.compute(predictions=[[2, 1]] * 40, references=list(range(40)))
    assert all(math.isnan(found[name]) for name in ("srcc", "plcc", "krcc", "plcc_fitted", "rmse_fitted"))
    assert all(math.isnan(end) for end in found["srcc_ci95"])
    assert found["n"] == 40 and found["fit_parameters"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"predictions": [[1.0, 2.0]] * 59 + [[1.0]]}, r"2 numbers per row; predictions\[59\] is \[1.0\]"),
        ({"groups": {"half": ["a"] * 60}, "average_over": "halves"}, "Did you mean 'half'"),
        ({"average_over": "subset"}, "average_over is 'subset'; allowed: none"),
        ({"resamples": 0}, "resamples is 0"),
    ],
)
def test_bad_input_of_softmax_iqa(logits, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        logits.compute(**(_rows() | arguments))


def test_settings_of_pooling_are_not_for_scores() -> None:
    with pytest.raises(ValueError, match=r"ties is .*; it can be set only with the configuration 'logits'"):
        eyechart.metrics.load("softmax_iqa", "scores").compute(
            predictions=[1.0, 2.0], references=[1.0, 2.0], ties="released"
        )
    with pytest.raises(ValueError, match=r"config_name is 'score'; allowed: 'logits', 'scores'. Did you mean 'scores'"):
        eyechart.metrics.load("softmax_iqa", "score")


PUBLISHED = [
    ("idefics", "agi", 0.562, 0.622),
    ("idefics", "livec", 0.409, 0.428),
    ("idefics", "cgi", 0.199, 0.229),
    ("llava_v1.5", "agi", 0.664, 0.754),
    ("llava_v1.5", "livec", 0.445, 0.481),
    ("llava_v1.5", "cgi", 0.285, 0.297),
    ("qwen-vl", "agi", 0.617, 0.686),
    ("qwen-vl", "livec", 0.504, 0.532),
    ("qwen-vl", "cgi", 0.273, 0.284),
    ("instructblip_t5", "agi", 0.378, 0.400),
    ("instructblip_t5", "livec", 0.113, 0.113),
    ("instructblip_t5", "cgi", 0.167, 0.188),
]


def _released(path: Path) -> list[dict]:
    """A released file is JSON objects one behind the other."""
    text, decoder, position, rows = path.read_text(), json.JSONDecoder(), 0, []
    while position < len(text.rstrip()):
        row, position = decoder.raw_decode(text, position)
        rows.append(row)
    return rows


@pytest.mark.parametrize(("model", "database", "srcc", "plcc"), PUBLISHED)
def test_published_values(logits, reference: Path, model: str, database: str, srcc: float, plcc: float) -> None:
    rows = _released(reference / "q-bench-a3-logits" / model / f"{database}.json")
    positive, negative = ("high", "low") if model == "instructblip_t5" else ("good", "poor")
    groups = {"subset": ["game" if row < 3000 else "movie" for row in range(len(rows))]}
    found = logits.compute(
        predictions=[[row[f"logit_{positive}"], row[f"logit_{negative}"]] for row in rows],
        references=[row["gt_score"] for row in rows],
        ties="released",
        **({"groups": groups, "average_over": "subset"} if database == "cgi" else {}),
        resamples=10,
    )
    assert f"{found['srcc']:.3f}/{found['plcc']:.3f}" == f"{srcc:.3f}/{plcc:.3f}"


@pytest.mark.parametrize(("model", "database"), [cell[:2] for cell in PUBLISHED[3:6]])
def test_a_fifth_parameter_never_loses_and_no_fit_to_the_papers(reference: Path, model: str, database: str) -> None:
    rows = _released(reference / "q-bench-a3-logits" / model / f"{database}.json")
    x = pool([[row["logit_good"], row["logit_poor"]] for row in rows], "softmax").values
    y = np.array([float(row["gt_score"]) for row in rows])
    four, five = fit_logistic(x, y, "logistic4"), fit_logistic(x, y, "logistic5")
    assert abs(plcc(x, y)) <= abs(four.plcc) + 1e-6 and four.plcc <= five.plcc + 1e-9
    assert five.rmse <= four.rmse * (1 + 1e-9)
    start = [y.max(), y.min(), x.mean(), x.std() / 4]
    published, _ = curve_fit(logistic4, x, y, start, maxfev=5000)
    assert four.rmse <= np.sqrt(np.mean((logistic4(x, *published) - y) ** 2)) * (1 + 1e-9)
