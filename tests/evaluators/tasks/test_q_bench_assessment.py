"""Q-Bench's assessment on released logits, as precomputed predictions: Tables 4 and 10."""

import pytest
from typer.testing import CliRunner

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import get_task

TASK = "q_bench/assessment"
DATABASES = {"agi": "agiqa3k", "livec": "live_itw", "cgi": "cgiqa6k"}
PUBLISHED = [
    ("idefics", "agi", "0.562/0.622"),
    ("idefics", "livec", "0.409/0.428"),
    # The paper prints 0.244/0.227; this is what the authors' notebook prints.
    ("idefics", "cgi", "0.199/0.229"),
    ("llava_v1.5", "agi", "0.664/0.754"),
    ("llava_v1.5", "livec", "0.445/0.481"),
    ("llava_v1.5", "cgi", "0.285/0.297"),
    ("qwen-vl", "agi", "0.617/0.686"),
    ("qwen-vl", "livec", "0.504/0.532"),
    ("qwen-vl", "cgi", "0.273/0.284"),
    ("instructblip_t5", "agi", "0.378/0.400"),
    ("instructblip_t5", "livec", "0.113/0.113"),
    ("instructblip_t5", "cgi", "0.167/0.188"),
]
GOOD_POOR_OF_T5 = {"agi": "0.264/0.281", "livec": "0.017/0.020"}


def printed(scores):
    return f"{scores['srcc']:.3f}/{scores['plcc']:.3f}"


@pytest.mark.parametrize(("model", "database", "published"), PUBLISHED)
def test_published_scores_come_out_of_released_logits(reference, model, database, published):
    loaded = load_data(
        get_task(TASK), DataRequest(dataset=DATABASES[database], data_dir=reference / "q-bench-a3", images="skip")
    )
    released = reference / "q-bench-a3-logits" / model / f"{database}.json"
    is_t5 = model == "instructblip_t5"
    options = {"word_pair": "high/low" if is_t5 else None, "ties": "paper-code"}
    found = evaluator(TASK, settings=options).run(PredictionsFileBackend(released), loaded)
    assert printed(found.scores) == published
    assert found.settings["model"]["format"] == "q-bench-logits" and "repeat" not in " ".join(found.caveats)
    assert found.scores["temperature"] == 100.0 and found.scores["n"] == len(loaded.dataset)
    words = {"fine", "bad"} if is_t5 else {"fine", "bad", "high", "low"}
    assert found.diagnostics["words_missing"] == dict.fromkeys(sorted(words), found.scores["n"])
    if is_t5:
        assert found.variants.keys() == {"good/poor", "good+high/poor+low", "argmax", "ties=exact"}
        assert database not in GOOD_POOR_OF_T5 or printed(found.variants["good/poor"]) == GOOD_POOR_OF_T5[database]
    else:
        assert found.variants.keys() == {"argmax", "ties=exact"}
    if database == "cgi":
        assert {half: part["n"] for half, part in found.scores["by_subset"].items()} == {"game": 3000, "movie": 3000}


def test_the_command_takes_the_released_file_even_with_its_first_object_twice(reference, tmp_path):
    """As the files of InstructBLIP-Vicuna have it; also as data, since each object holds its opinion score."""
    text = (reference / "q-bench-a3-logits" / "idefics" / "agi.json").read_text()
    (tmp_path / "agi.json").write_text(text[: text.index("}") + 1] + text)
    command = ["score", TASK, "--dataset", "agiqa3k", "--set", "ties=paper-code"]
    folders = [
        "--predictions",
        tmp_path / "agi.json",
        "--data-dir",
        reference / "q-bench-a3",
        "--out",
        tmp_path / "out",
    ]
    done = CliRunner().invoke(app, [*command, *map(str, folders)])
    assert done.exit_code == 0, done.output
    (task,) = read_results(tmp_path / "out").tasks
    assert (printed(task.scores), task.scores["n"]) == ("0.562/0.622", 2982)
    assert task.settings["model"]["predictions_repeated"] == 1 and task.settings["model"]["predictions_unused"] == 0
    assert "1 rows of agi.json repeat others; equal rows count once." in " ".join(done.output.split())

    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "agi.json").write_text(text)
    own = load_data(get_task(TASK), DataRequest(dataset="agiqa3k", data_dir=tmp_path / "release", images="skip"))
    listed = load_data(get_task(TASK), DataRequest(dataset="agiqa3k", data_dir=reference / "q-bench-a3", images="skip"))
    assert own.dataset["quality"][:] == listed.dataset["quality"][:]
