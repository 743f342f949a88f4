"""The options of sampling."""

import pytest

from eyechart.evaluators.results.finished_runs import read_runs
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


def test_the_bundled_model_samples_its_replies(tmp_path):
    asked = ("--mini", "--limit", 12, "--temperature", 2, "--model-arg", "sampling_seed=1", "--model-arg", "top_p=0.9")
    done = invoke("run", "q_bench/perception", *asked, "--repeats", 3, "--no-store", "--out", tmp_path, code=0)
    (run,) = read_runs([tmp_path])
    (result,) = run.tasks.values()
    assert result.settings["model"]["sampling"] == {"temperature": 2.0, "top_p": 0.9, "seed": 1}
    assert (result.settings["repeats"], result.diagnostics["repeats"]["count"]) == (3, 3)
    assert "mean ± SD of 3 repeats" in " ".join(done.output.split())
    texts = [[row["text"] for row in run.predictions.to_pylist() if row["repeat"] == number] for number in (1, 2, 3)]
    assert len(set(map(tuple, texts))) == 3, "each repeat has replies of its own"
    assert "mean ± SD of 3 repeats" in (tmp_path / "report.html").read_text(encoding="utf-8")
