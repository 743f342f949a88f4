"""The options of sampling."""

import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.chat_options import Sampling
from eyechart.evaluators.cli import app
from eyechart.evaluators.commands.sampling import SamplingArguments
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import read_results
from eyechart.hub_cards.recomputing import Recomputing


def test_a_temperature_above_0_draws_and_0_does_not():
    assert SamplingArguments().options() is None
    assert SamplingArguments(temperature=0.0).options() is None
    assert SamplingArguments(temperature=0.7).options() == Sampling(0.7, 1.0, 0)
    assert SamplingArguments(temperature=0.7, top_p=0.9, sampling_seed=4).options() == Sampling(0.7, 0.9, 4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"top_p": 0.9}, "--top-p 0.9 has no effect at temperature 0; add a --temperature above 0"),
        ({"temperature": 0.0, "sampling_seed": 0}, "--sampling-seed 0 has no effect at temperature 0"),
        ({"temperature": 0.7, "top_p": 0.0}, "top_p=0.0 is not allowed"),
        ({"repeats": 3}, "--repeats 3 needs a --temperature above 0, such as 0.7: .* all repeats would be equal"),
        ({"repeats": 2, "temperature": 0.0}, "--repeats 2 needs a --temperature above 0"),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        SamplingArguments(**given).options()


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_repeats_that_would_be_equal_end_before_anything_is_loaded(tmp_path):
    for task, options, said in (
        ("q_bench/perception", ["--repeats", "3"], "--repeats 3 needs a --temperature above 0"),
        ("q_bench/assessment", ["--repeats", "3", "--temperature", "1"], "not allowed for q_bench/assessment: it asks"),
    ):
        done = invoke("run", task, "--model", tmp_path / "nowhere", "--mini", *options)
        assert done.exit_code == 2 and said in " ".join(done.output.replace("│", " ").split())
    assert invoke("score", "q_bench/perception", "--predictions", "x", "--repeats", "2").exit_code == 2


def test_the_bundled_model_is_repeated_resumed_and_scored_again(tmp_path, monkeypatch):
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    asked = ("run", "q_bench/perception", "--mini", "--limit", "12", "--temperature", "2", "--sampling-seed", "1")
    done = invoke(*asked, "--repeats", "2", "--out", tmp_path / "two")
    assert done.exit_code == 0, done.output
    (result,) = read_results(tmp_path / "two").tasks
    assert result.settings["model"]["sampling"] == {"temperature": 2.0, "top_p": 1.0, "seed": 1}
    assert (result.settings["repeats"], result.diagnostics["repeats"]["count"]) == (2, 2)
    assert result.timings["answers_from_store"] == 0
    assert "mean ± SD of 2 repeats" in " ".join(done.output.split()) and "pass@K" in done.output
    done = invoke(*asked, "--repeats", "3", "--out", tmp_path / "three")
    assert done.exit_code == 0, done.output
    (more,) = read_results(tmp_path / "three").tasks
    assert more.timings["answers_from_store"] == 24 and more.scores == result.scores
    (run,) = read_runs([tmp_path / "three"])
    assert run.predictions.num_rows == 36
    texts = [[row["text"] for row in run.predictions.to_pylist() if row["repeat"] == number] for number in (1, 2, 3)]
    assert len(set(map(tuple, texts))) == 3, "each repeat has replies of its own"
    (key,) = run.tasks
    check = Recomputing(run).check(key)
    assert check.discrepancies == () and not check.unchecked
    assert "mean ± SD of 3 repeats" in (tmp_path / "three" / "report.html").read_text(encoding="utf-8")
