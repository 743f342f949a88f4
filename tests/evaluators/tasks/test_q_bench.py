"""Q-Bench's and QL-Bench's tasks on demo data, and on real questions, replies and logits: Tables 4, 7 and 10."""

import pytest

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from tests.datasets_scripts.common.choice.test_q_bench import released_dev_rows
from tests.evaluators import running
from tests.evaluators.command_line import invoke
from tests.evaluators.tasks.doors import ran, rows_of, write_lines


def test_the_tiny_model_perceives(tmp_path):
    (result,), output = ran(tmp_path, "q_bench/perception", "--limit", 36)
    scores = result.scores
    assert scores["accuracy"] > scores["random_guess"] + 0.2
    assert len(scores["by_concern"]) == 4 and len(scores["by_question_type_by_concern"]) == 12
    assert sum(part["n"] for part in scores["by_question_type_by_concern"].values()) == scores["n"] == 36
    assert scores["yes_no"]["n_yes"] + scores["yes_no"]["n_no"] == 12
    assert "balanced yes/no accuracy" in output and "what, in-context other" not in output


def test_closed_set_inference_runs_from_the_command_line(tmp_path):
    (closed,), _ = ran(tmp_path, "q_bench/perception", "--limit", 24, "--set", "inference=closed-set")
    assert closed.scores["accuracy"] > closed.scores["random_guess"] + 0.2
    line = rows_of(tmp_path)[0]
    assert line["text"] is None and len(line["losses"]) == len(line["loss_tokens"]) == len(line["options"])
    means = [loss / tokens for loss, tokens in zip(line["losses"], line["loss_tokens"], strict=True)]
    assert "ABCD".index(line["choice"]) == means.index(min(means))


def test_the_tiny_model_answers_questions_on_one_image_and_on_two(tmp_path):
    results, output = ran(tmp_path, "ql_bench/single", "ql_bench/pair", "--limit", 30)
    for result in results:
        scores = result.scores
        assert scores["n"] == 30
        assert {name for name in scores if name.startswith("by_")} == {"by_question_type", "by_concern"}
        assert scores["answer_accuracy"] > scores["random_guess"]
        assert scores["score_cc"] == pytest.approx(100 * scores["answer_rate"] * scores["answer_accuracy"])
        assert scores["score_sa"] == scores["score_cc"] + scores["score_rc"]
        assert result.split == "dev" and "private test answers" in " ".join(result.caveats)
    assert "Dev answers only" in output


ASSESSMENT = "q_bench/assessment"
DATABASES = {"agi": "agiqa3k", "livec": "live_itw", "cgi": "cgiqa6k"}
PUBLISHED = {
    # For the last, the paper prints 0.244/0.227; this is what the authors' notebook prints.
    "idefics": ("0.562/0.622", "0.409/0.428", "0.199/0.229"),
    "llava_v1.5": ("0.664/0.754", "0.445/0.481", "0.285/0.297"),
    "qwen-vl": ("0.617/0.686", "0.504/0.532", "0.273/0.284"),
    "instructblip_t5": ("0.378/0.400", "0.113/0.113", "0.167/0.188"),
}
GOOD_POOR_OF_T5 = {"agi": "0.264/0.281", "livec": "0.017/0.020"}


def printed(scores):
    return f"{scores['srcc']:.3f}/{scores['plcc']:.3f}"


def rated(database, folder):
    return load_data(get_task(ASSESSMENT), DataRequest(dataset=DATABASES[database], data_dir=folder, images="skip"))


@pytest.mark.parametrize(
    ("model", "database"),
    [("idefics", "cgi"), ("llava_v1.5", "livec"), ("instructblip_t5", "agi"), ("instructblip_t5", "livec")],
)
def test_published_scores_come_out_of_released_logits(reference, model, database):
    loaded = rated(database, reference / "q-bench-a3")
    released = reference / "q-bench-a3-logits" / model / f"{database}.json"
    is_t5 = model == "instructblip_t5"
    settings = {"word_pair": "high/low" if is_t5 else None, "ties": "paper-code"}
    result = evaluator(ASSESSMENT, settings=settings).run(PredictionsFileBackend(released), loaded)
    assert printed(result.scores) == PUBLISHED[model][list(DATABASES).index(database)]
    assert result.settings["model"]["format"] == "q-bench-logits" and "repeat" not in " ".join(result.caveats)
    assert result.scores["temperature"] == 100.0 and result.scores["n"] == len(loaded.dataset)
    words = {"fine", "bad"} if is_t5 else {"fine", "bad", "high", "low"}
    assert result.diagnostics["words_missing"] == dict.fromkeys(sorted(words), result.scores["n"])
    if is_t5:
        assert result.variants.keys() == {"good/poor", "good+high/poor+low", "argmax", "ties=exact"}
        assert database not in GOOD_POOR_OF_T5 or printed(result.variants["good/poor"]) == GOOD_POOR_OF_T5[database]
    else:
        assert result.variants.keys() == {"argmax", "ties=exact"}
    if database == "cgi":
        assert {half: part["n"] for half, part in result.scores["by_subset"].items()} == {"game": 3000, "movie": 3000}


def test_the_command_takes_the_released_file_even_with_its_first_object_twice(reference, tmp_path):
    """As the files of InstructBLIP-Vicuna have it."""
    text = (reference / "q-bench-a3-logits" / "idefics" / "agi.json").read_text()
    (tmp_path / "agi.json").write_text(text[: text.index("}") + 1] + text)
    options = ("--dataset", "agiqa3k", "--set", "ties=paper-code", "--data-dir", reference / "q-bench-a3")
    out = ("--predictions", tmp_path / "agi.json", "--out", tmp_path / "out")
    done = invoke("score", ASSESSMENT, *options, *out, code=0)
    (result,) = read_results(tmp_path / "out").tasks
    assert (printed(result.scores), result.scores["n"]) == ("0.562/0.622", 2982)
    assert result.settings["model"]["predictions_repeated"] == 1 and result.settings["model"]["predictions_unused"] == 0
    assert "agi.json repeat others; equal rows count once." in " ".join(done.output.split())


@pytest.fixture(scope="module")
def rows(reference):
    """Q-Bench2's 1,000 released dev rows, among them options that repeat and a single option."""
    return released_dev_rows(reference)


@pytest.fixture(scope="module")
def release(rows, tmp_path_factory):
    return write_lines(tmp_path_factory.mktemp("q_bench2") / "q-bench2-a1-dev.jsonl", rows).parent


def score(task, release, tmp_path, replies, *, forced=(), **settings):
    """Score one reply for each row, in their order, and those without the refusal."""
    data = load_data(get_task(task), DataRequest(split="dev", data_dir=release, images="skip"))
    ids = data.dataset["id"]
    lines = [{"id": id, "text": reply} for id, reply in zip(ids, replies, strict=True)]
    lines += [{"id": id, "pass": "forced", "text": reply} for id, reply in zip(ids, forced, strict=False)]
    result = running.run(task, running.predictions(tmp_path, lines), data, **settings)
    assert result.complete and result.left_out == []
    return result.scores


def test_every_row_is_scored(rows, release, tmp_path):
    texts = [row["correct_ans"] for row in rows]
    for replies in (texts, [row["correct_choice"] for row in rows]):
        scores = score("q_bench/perception_pairs", release, tmp_path, replies)
        assert (scores["n"], scores["accuracy"]) == (1000, 1.0)
    always = score("q_bench/perception_pairs", release, tmp_path, ["B"] * 1000)
    assert always["accuracy"] == sum(row["correct_choice"] == "B" for row in rows) / 1000
    assert always["random_guess"] == pytest.approx(sum(1 / len(row["candidates"]) for row in rows) / 1000)
    # Shuffled as well, a text names its option wherever it stands.
    assert score("q_bench/perception_pairs", release, tmp_path, texts, shuffle_seed=3)["accuracy"] == 1.0


def test_every_row_can_be_refused(rows, release, tmp_path):
    refused = ["I don't know"] * 1000
    wrong = [next((text for text in row["candidates"] if text != row["correct_ans"]), "") for row in rows]
    with pytest.warns(UndefinedScoreWarning, match="every question was refused"):
        scores = score("ql_bench/pair", release, tmp_path, refused, forced=wrong)
    # The single option and the pair of equal ones have no wrong option: these two replies are unreadable.
    assert (scores["n"], scores["n_refused"], scores["forced_unmatched"]) == (1000, 1000, 2)
    assert scores["score_rc"] == scores["score_sa"] == pytest.approx(99.8)
    right = score("ql_bench/pair", release, tmp_path, [row["correct_ans"] for row in rows])
    assert (right["n"], right["score_cc"]) == (1000, 100.0)
