import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import curve_fit

import eyechart.metrics
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from eyechart.metrics.scoring.quality.correlation import fit_logistic, logistic4, plcc
from eyechart.metrics.scoring.quality.pooling import pool

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
def test_bad_input(logits, arguments: dict, message: str) -> None:
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
