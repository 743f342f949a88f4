import pytest

from eyechart.evaluators.runs.table import caveat_lines
from eyechart.evaluators.runs.verdict import verdict_lines
from tests.evaluators.finished_runs import ACCURACY, evaluated

AT_CHANCE = ACCURACY | {"accuracy_ci95": [0.2, 0.6]}
WITHOUT_INTERVAL = {key: value for key, value in ACCURACY.items() if key != "accuracy_ci95"}
NAMES = ["koniq10k", "spaq", "live_fb", "live_itw"]
ABOVE = "Better than chance, by the 95 % interval: "


@pytest.mark.parametrize(
    ("evaluations", "lines"),
    [
        ([evaluated()], [f"{ABOVE}q_bench/perception: accuracy."]),
        (
            [evaluated(dataset="spaq"), evaluated(dataset="koniq10k")],
            [f"{ABOVE}q_bench/perception on spaq: accuracy; q_bench/perception on koniq10k: accuracy."],
        ),
        ([evaluated(name) for name in NAMES], [f"{ABOVE}all 4 headline scores with a chance level."]),
        (
            [evaluated(), evaluated("aes_bench/empathy", scores=AT_CHANCE), evaluated("own", scores=WITHOUT_INTERVAL)],
            [f"{ABOVE}1 of 2 headline scores with a chance level; not: aes_bench/empathy: accuracy."],
        ),
        (
            [evaluated(scores=AT_CHANCE)],
            ["No better than chance, by the 95 % interval: q_bench/perception: accuracy."],
        ),
        (
            [evaluated(scores=ACCURACY | {"yes_no": {"mean": 0.5, "mean_ci95": [0.4, 0.6], "n_yes": 9, "n_no": 9}})],
            [
                f"{ABOVE}q_bench/perception: accuracy.",
                "Other scores no better than chance: q_bench/perception: balanced yes/no accuracy.",
            ],
        ),
        (
            [*(evaluated(dataset=name) for name in NAMES), evaluated(dataset="average")],
            [f"{ABOVE}q_bench/perception (average): accuracy."],
        ),
        ([evaluated(scores=None), evaluated(scores=WITHOUT_INTERVAL)], []),
        ([], []),
    ],
)
def test_the_verdict_counts_headline_scores_with_interval_and_chance_level(evaluations, lines):
    assert verdict_lines(evaluations) == lines


def test_the_last_lines_are_about_synthetic_data_and_the_verdict():
    *_, data, verdict = caveat_lines([evaluated(data={"is_mini": True}, caveats=["A caveat."])])
    assert verdict == f"{ABOVE}q_bench/perception: accuracy." and data.startswith("The data are synthetic demo data")
