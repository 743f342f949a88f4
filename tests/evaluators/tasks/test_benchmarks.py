"""The tasks of Q-Bench, QL-Bench, AesBench and 2AFC: on demo data, and on real questions, replies and label files."""

import csv
import json
import re
import shutil

import numpy as np
import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, LoadedData, load_data
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.runs.run import ModelRun, execute
from eyechart.evaluators.runs.task_runs import make_task_runs
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from tests.datasets_scripts.common.choice.test_q_bench import released_dev_rows
from tests.evaluators import running
from tests.evaluators.command_line import invoke
from tests.evaluators.tasks.doors import Judge, ran, rows_of, scored, write_lines


def test_the_tiny_model_knows_what_it_was_taught(main_job):
    results = {result.task: result for result in read_results(main_job[1]).tasks}
    assert list(results) == [task.name for task in TASKS]
    scores = {task: result.scores for task, result in results.items()}
    perception = scores["q_bench/perception"]
    assert len(perception["by_concern"]) == 4 and perception["yes_no"]["n_yes"] + perception["yes_no"]["n_no"] == 60
    assert sum(part["n"] for part in perception["by_question_type_by_concern"].values()) == 180
    for task in ("ql_bench/single", "ql_bench/pair"):
        assert {name for name in scores[task] if name.startswith("by_")} == {"by_question_type", "by_concern"}
        assert scores[task]["answer_accuracy"] > scores[task]["random_guess"]
        assert "private test answers" in " ".join(results[task].caveats)
    aesthetics, interpretation = scores["aes_bench/perception"], scores["aes_bench/interpretation"]
    assert aesthetics["accuracy"] > aesthetics["random_guess"]
    assert set(aesthetics["by_image_source"]) == {"natural", "artistic", "AI-generated", "unknown"}
    assert (interpretation["template"], interpretation["judge"]) == ("aesbench", "lexical")
    assert set(interpretation["by_level"]) == {"high", "medium", "low"}
    pairs = scores["two_afc/coarse"]
    assert pairs["consistency"] > 0.9 and pairs["accuracy_all"] > 0.75 and 0.3 < pairs["first_rate"] < 0.7
    assert pairs["draw_rate"] == pairs["unmatched"] == 0


def test_closed_set_inference_runs_from_the_command_line(tmp_path, no_report):
    (closed,), _ = ran(tmp_path, "q_bench/perception", "--limit", 12, "--set", "inference=closed-set")
    assert closed.scores["accuracy"] > closed.scores["random_guess"] + 0.2
    line = rows_of(tmp_path)[0]
    assert line["text"] is None and len(line["losses"]) == len(line["loss_tokens"]) == len(line["options"])
    means = [loss / tokens for loss, tokens in zip(line["losses"], line["loss_tokens"], strict=True)]
    assert "ABCD".index(line["choice"]) == means.index(min(means))


ASSESSMENT = "q_bench/assessment"
DATABASES = {"agi": "agiqa3k", "livec": "live_itw", "cgi": "cgiqa6k"}
PUBLISHED = {
    # For the last, the paper prints 0.244/0.227; this is what the authors' notebook prints.
    "idefics": ("0.562/0.622", "0.409/0.428", "0.199/0.229"),
    "llava_v1.5": ("0.664/0.754", "0.445/0.481", "0.285/0.297"),
    "qwen-vl": ("0.617/0.686", "0.504/0.532", "0.273/0.284"),
    "instructblip_t5": ("0.378/0.400", "0.113/0.113", "0.167/0.188"),
}


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
        assert printed(result.variants["good/poor"]) == {"agi": "0.264/0.281", "livec": "0.017/0.020"}[database]
    else:
        assert result.variants.keys() == {"argmax", "ties=exact"}
    if database == "cgi":
        assert {half: part["n"] for half, part in result.scores["by_subset"].items()} == {"game": 3000, "movie": 3000}


def test_the_command_takes_the_released_file_even_with_its_first_object_twice(reference, tmp_path, no_report):
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


CHOICES = ("aes_bench/perception", "aes_bench/empathy", "aes_bench/assessment")
LEVELS, INTERPRETATION = "aes_bench/assessment", "aes_bench/interpretation"


def aesthetics(name, model, dataset, **options):
    return running.run(name, model, LoadedData(dataset, "aesbench", "test", "given"), **options)


def first_rows(name, count):
    return load_data(get_task(name), DataRequest(is_mini=True)).dataset.select(range(count))


def test_explicit_answers_are_compared_and_ambiguous_ones_put_to_a_judge():
    dataset = first_rows(LEVELS, 6)
    levels = ("High", "Medium", "Low")
    right = [levels["ABC".index(letter)] for letter in dataset["answer"]]
    wrong = {"High": "Low", "Medium": "High", "Low": "Medium"}
    replies = [f"{dataset['answer'][0]}) {right[0]}", right[1], wrong[right[2]]]
    replies += ["It is rather lovely.", "somewhere between high and low", ""]

    def ask(judge):
        left = iter(replies)
        return aesthetics(LEVELS, lambda messages: next(left), dataset, judge=judge).scores

    alone = ask(None)
    assert alone["accuracy"] == pytest.approx(2 / 6)
    shares = {name: share for name, share in alone["extraction"].items() if share}
    assert shares == {"exact": 0.5, "unmatched": 0.5, "unparseable": 0.5}
    parts = alone["by_response"]
    assert (parts["explicit"]["n"], parts["explicit"]["accuracy"]) == (3, pytest.approx(2 / 3))
    assert (parts["ambiguous"]["n"], parts["ambiguous"]["accuracy"]) == (3, 0.0)
    judge = Judge("Result: 1")
    judged = ask(judge)
    # Nobody is asked about an empty reply.
    assert judged["judge_asked"] == len(judge.asked) == 2
    assert judged["by_response"]["explicit"] == parts["explicit"]
    assert judged["by_response"]["ambiguous"]["accuracy"] == pytest.approx(2 / 3)
    assert judged["accuracy"] == pytest.approx(4 / 6) and judged["judge_template"] == "q_bench_vote"
    seen = judge.asked[0][0][-1]["content"]
    assert "It is rather lovely." in seen and right[3] in seen and "aesthetic quality" in seen
    assert ask(Judge("Result: 0"))["accuracy"] == pytest.approx(2 / 6)


@pytest.mark.parametrize("column", ["question", "options"])
def test_an_assessment_that_states_a_level_is_refused(column):
    level = "This is an image With High aesthetics"
    value = [level, "Medium", "Low"] if column == "options" else level
    broken = first_rows(LEVELS, 2).map(lambda row, index: {column: value} if index else {}, with_indices=True)
    with pytest.raises(DataError, match="states the aesthetic level"):
        aesthetics(LEVELS, lambda messages: pytest.fail("asked"), broken)
    result = aesthetics(LEVELS, lambda messages: "A", broken, skip_bad=True)
    assert result.scores["n"] == 1 and "With High aesthetics" in result.left_out[0].reason


class Recorder(FunctionBackend):
    """Remembers what was asked together."""

    def __init__(self):
        super().__init__(lambda messages: "A")
        self.asked = []

    def answer(self, requests):
        self.asked.append(list(requests))
        return super().answer(requests)


def test_no_run_asks_an_interpretation_before_or_together_with_an_assessment(tmp_path, no_report):
    recorder = Recorder()
    task_runs = make_task_runs([INTERPRETATION, LEVELS], DataRequest(limit=5, is_mini=True))
    known = {task.name: task for task in TASKS}
    # What others come after comes after nothing itself, which one look at the order could not settle.
    assert all(not known[name].after for task in TASKS for name in task.after)
    assert execute(task_runs, ModelRun(lambda device: recorder, tmp_path))
    states_level = [
        {bool(re.search("with (high|medium|low) aesthetics", request.prompt[0])) for request in wave}
        for wave in recorder.asked
    ]
    assert states_level == [{False}, {True}]
    assert [result.task for result in read_results(tmp_path).tasks] == [LEVELS, INTERPRETATION]


def test_the_released_sample_is_answered_in_its_form(reference, tmp_path, no_report):
    file = reference / "aesbench" / "AesBench_evaluation.sample3.json"
    folder = tmp_path / "release"
    folder.mkdir()
    shutil.copy(file, folder / "AesBench_evaluation.json")
    entries = json.loads(file.read_text("utf-8"))
    for name, part in zip((*CHOICES, INTERPRETATION), ("AesP", "AesE", "AesA1", "AesI"), strict=True):
        result, _ = scored(tmp_path, name, [{"id": id, "text": "A) 好"} for id in entries], "--data-dir", folder)
        written = json.loads((tmp_path / "scored" / name / "aesbench" / f"test_{part}.json").read_text("utf-8"))
        assert written == {id: {f"{part}_response": "A) 好"} for id in entries} and result.scores is None


SIZES = {"CSIQ": 30, "LIVEC": 100, "kadis700k": 100, "SQAD": 100, "mixed": 200}
SMALL_POOLS = pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")


def qualities_of(config, reference):
    """Image id to quality, of all images that the label file lists."""
    data = load_dataset("two_afc", config, split="test", data_dir=reference / "two-afc", images="skip")
    sides = [zip(list(data[f"{side}_id"]), list(data[f"{side}_quality"]), strict=True) for side in ("first", "second")]
    return dict(pair for side in sides for pair in side)


@pytest.fixture(scope="module")
def qualities(reference):
    return qualities_of("coarse", reference)


def write_scores(path, scores):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("image", "score"), *scores.items()])
    return path


def score_images(task, reference, file, **options):
    data = load_data(get_task(task), DataRequest(data_dir=reference / "two-afc", images="skip", options=options))
    return evaluator(task).run(PredictionsFileBackend(file), data)


@SMALL_POOLS
def test_a_simulated_observer_on_five_pools_of_the_real_coarse_list(reference, qualities, tmp_path):
    """An observer whose scores are the opinion scores and half as much noise."""
    rng = np.random.default_rng(0)
    seen = {d: [q for name, q in qualities.items() if name.startswith(f"{d}/")] for d in SIZES}
    spread = {database: np.std(values) for database, values in seen.items() if values}
    seen = {
        name: q + 0.5 * spread.get(name.partition("/")[0], 0) * rng.standard_normal() for name, q in qualities.items()
    }
    result = score_images(
        "two_afc/coarse", reference, write_scores(tmp_path / "observer.csv", seen), databases=list(SIZES)
    )
    scores, table = result.scores, result.diagnostics["table"]
    assert {part: row["n_images"] for part, row in table.items()} == SIZES
    assert {part: row["n_pairs"] for part, row in table.items()} == {part: 12 * (n // 2) for part, n in SIZES.items()}
    assert (scores["n_images"], scores["n_pools"], scores["consistency"]) == (330, 4, 1.0)
    items = [item for item in result.items if item.pass_name == "main" and not item.id.startswith("mixed")]
    assert scores["accuracy_all"] == np.mean([item.answer == item.choice for item in items if item.answer])
    assert 0.75 < scores["accuracy_all"] < 0.95 and scores["pool_weights"] == "images"
    for database in SIZES:
        pool = (result.variants["mixed"] if database == "mixed" else scores)["by_pool"][database]
        for name in ("consistency", "accuracy_all", "plcc_fitted", "srcc", "srcc_ci95"):
            assert table[database][name] == pytest.approx(pool[name])
    assert list(result.variants) == ["mle", "mle_ridge=0.01", "perron", "trueskill", "mixed"]
    assert [average["over"] for average in result.diagnostics["averages"]][1] == ["kadis700k", "SQAD", "mixed"]


@SMALL_POOLS
def test_licqas_lists_make_mm21s_qualities_opinion_scores(reference, qualities, tmp_path):
    """Beside the label file; the chosen scores are those of the fourth column, checked against the third."""
    for part in ("train", "val", "test"):
        (tmp_path / f"{part}.csv").symlink_to(reference / "iqa-annotations" / f"licqa_exp1_{part}.csv")
    (tmp_path / "Coarse_grained_mixed.json").symlink_to(reference / "two-afc" / "Coarse_grained_mixed.json")
    mm21 = {name: value for name, value in qualities.items() if name.startswith("MM21/")}
    file = write_scores(tmp_path / "bitrates.csv", mm21)
    only = {"databases": ["MM21"]}
    data = load_data(get_task("two_afc/coarse"), DataRequest(data_dir=tmp_path, images="skip", options=only))
    result = evaluator("two_afc/coarse").run(PredictionsFileBackend(file), data)
    assert (result.settings["mm21_quality"], result.caveats) == ("opinion score", [])
    alone = score_images("two_afc/coarse", reference, file, **only)
    assert alone.settings["mm21_quality"] == "bitrate" and alone.scores["accuracy_all"] == 1.0
    (caveat,) = alone.caveats
    assert caveat.startswith("MM21 is scored against bitrates") and "mm21_dir" in caveat
    assert 0.5 < result.scores["accuracy_all"] < 0.9


@SMALL_POOLS
def test_fine_tables_have_the_rows_of_table_3(reference, tmp_path):
    task, parts = "two_afc/fine_mos", [f"interval_{low}" for low in ("1_25", "25_50", "50_75", "75_100")]
    scores = qualities_of(get_task(task).data.config, reference)
    result = score_images(task, reference, write_scores(tmp_path / "perfect.csv", scores))
    table = result.diagnostics["table"]
    assert {part: row["n_pairs"] for part, row in table.items()} == dict.fromkeys(parts, 144)
    (average,) = result.diagnostics["averages"]
    assert (average["over"], average["weights"]) == (parts, "equal")
    assert average["accuracy_all"] == 1
    assert {part: row["srcc"] for part, row in table.items()} == {
        part: pytest.approx(result.scores["by_pool"][part]["srcc"]) for part in parts
    }


@SMALL_POOLS
def test_the_command_scores_a_quality_measure(reference, qualities, tmp_path, no_report):
    # As NIQE does, it names files alone, and lower is better.
    niqe = {name.rpartition("/")[2]: -quality for name, quality in qualities.items() if name[:4] in ("spaq", "CSIQ")}
    file, out = write_scores(tmp_path / "niqe.csv", niqe), tmp_path / "out"
    options = ("--lower-is-better", "--data-dir", reference / "two-afc", "--data-arg", 'databases=["spaq", "CSIQ"]')
    done = invoke("score", "two_afc/coarse", "--predictions", file, *options, "--verbose", "--out", out, code=0)
    (task,) = read_results(out).tasks
    assert (task.model, task.scores["n_images"], task.scores["accuracy_all"]) == ("niqe", 190, 1.0)
    assert "mixed" not in task.variants
    assert [average["over"] for average in task.diagnostics["averages"]] == [["CSIQ", "spaq"]]
    for line in ("spaq: pair accuracy", "average of 2, CSIQ to spaq:", "first-position preference"):
        assert line in done.output
    assert task.diagnostics["convergence"]["limit"]["srcc"] == pytest.approx(1)
