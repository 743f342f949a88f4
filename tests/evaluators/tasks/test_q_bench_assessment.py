"""Q-Bench's assessment on released logits, as answers made elsewhere: Tables 4 and 10."""

import json
from pathlib import Path

import pytest

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.predictions_file import PredictionsFileBackend
from eyechart.evaluators.data import load_data
from eyechart.evaluators.options import TaskOptions
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


def predictions(released: Path, path: Path) -> Path:
    """Released logits, JSON objects one behind the other, as a predictions file."""
    text, decoder, position, lines = released.read_text(), json.JSONDecoder(), 0, []
    while position < len(text.rstrip()):
        row, position = decoder.raw_decode(text, position)
        logits = {key.removeprefix("logit_"): value for key, value in row.items() if key.startswith("logit_")}
        lines.append(json.dumps({"id": row["img_path"], "logits": logits}))
    path.write_text("\n".join(lines))
    return path


def printed(scores):
    return f"{scores['srcc']:.3f}/{scores['plcc']:.3f}"


@pytest.mark.parametrize(("model", "database", "published"), PUBLISHED)
def test_published_scores_come_out_of_released_logits(reference, tmp_path, model, database, published):
    loaded = load_data(get_task(TASK), subset=DATABASES[database], data_dir=reference / "q-bench-a3", images="skip")
    released = predictions(reference / "q-bench-a3-logits" / model / f"{database}.json", tmp_path / "answers.jsonl")
    is_t5 = model == "instructblip_t5"
    options = TaskOptions(words="high/low" if is_t5 else None, ties="released")
    found = evaluator(TASK, options=options).run(PredictionsFileBackend(released), loaded)
    assert printed(found.scores) == published
    assert found.scores["temperature"] == 100.0 and found.scores["n"] == len(loaded.dataset)
    words = {"fine", "bad"} if is_t5 else {"fine", "bad", "high", "low"}
    assert found.extras["words_missing"] == dict.fromkeys(sorted(words), found.scores["n"])
    if is_t5:
        assert found.variants.keys() == {"good/poor", "good+high/poor+low", "argmax", "ties=exact"}
        assert database not in GOOD_POOR_OF_T5 or printed(found.variants["good/poor"]) == GOOD_POOR_OF_T5[database]
    else:
        assert found.variants.keys() == {"argmax", "ties=exact"}
    if database == "cgi":
        assert {half: part["n"] for half, part in found.scores["by_subset"].items()} == {"game": 3000, "movie": 3000}
