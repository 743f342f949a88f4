"""The options of sampling."""

import pytest

from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import read_results
from eyechart.hub_cards.recomputing import Recomputing
from tests.evaluators.command_line import invoke


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--model-arg", "top_p=0.9"], "--model-arg top_p has no effect at temperature 0; add a --temperature above 0"),
        (["--temperature", 0, "--model-arg", "sampling_seed=0"], "--model-arg sampling_seed has no effect"),
        (["--temperature", 0.7, "--model-arg", "top_p=0"], "top_p=0.0 is not allowed"),
        (["--repeats", 3], "--repeats 3 needs a --temperature above 0, such as 0.7"),
        (["--repeats", 2, "--temperature", 0], "--repeats 2 needs a --temperature above 0"),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(given, said, tmp_path):
    done = invoke("run", "q_bench/perception", "--mini", *given, "--out", tmp_path / "out", code=2)
    assert said in done.output and not (tmp_path / "out").exists()


def test_the_bundled_model_is_repeated_resumed_and_scored_again(tmp_path, monkeypatch):
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    asked = ("run", "q_bench/perception", "--mini", "--limit", "12", "--temperature", "2")
    asked = (*asked, "--model-arg", "sampling_seed=1", "--model-arg", "top_p=0.9")
    done = invoke(*asked, "--repeats", "2", "--out", tmp_path / "two", code=0)
    (result,) = read_results(tmp_path / "two").tasks
    assert result.settings["model"]["sampling"] == {"temperature": 2.0, "top_p": 0.9, "seed": 1}
    assert (result.settings["repeats"], result.diagnostics["repeats"]["count"]) == (2, 2)
    assert result.timings["answers_from_store"] == 0
    assert "mean ± SD of 2 repeats" in " ".join(done.output.split())
    invoke(*asked, "--repeats", "3", "--out", tmp_path / "three", code=0)
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
