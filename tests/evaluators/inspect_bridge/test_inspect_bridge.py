import gc
import json
import math
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import chain_of_thought
from PIL import Image

import tests.evaluators.inspect_bridge.bundled_provider  # noqa: F401
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError
from eyechart.evaluators import PredictionsFileBackend, evaluator
from eyechart.evaluators.backends.predictions.formats import read_predictions
from eyechart.evaluators.inspect_bridge import tasks
from eyechart.evaluators.inspect_bridge.logs import write_logs
from eyechart.evaluators.results.results_file import AVERAGE, read_results
from tests.evaluators.command_line import invoke

# inspect-ai leaves its event loop's resources to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(autouse=True)
def _collected():
    """Collects them here, so that their warnings are not those of a later test."""
    yield
    gc.collect()


def evaluate(task, folder, model="bundled/tiny", **options):
    """The log of a task on demo data, as `inspect eval` writes it."""
    inspected = getattr(tasks, task)(**{"data": "mini", **options.pop("task_args", {})})
    (log,) = inspect_eval(inspected, model=model, display="none", log_dir=str(folder), **options)
    return log


def saying(*texts, **fields):
    """A model that says these texts again and again, and what it was asked."""
    asked = []

    def generate(input, tools, tool_choice, config):
        asked.append((input, config))
        text = texts[(len(asked) - 1) % len(texts)]
        if isinstance(text, Exception):
            raise text
        output = ModelOutput.from_content("mockllm", text, **fields)
        output.usage = ModelUsage(input_tokens=5, output_tokens=1, total_tokens=6)
        return output

    return get_model("mockllm/model", custom_outputs=generate, memoize=False), asked


def metrics(log):
    (score,) = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}


@pytest.mark.parametrize(
    ("task", "key"),
    [
        ("q_bench/perception", "accuracy"),
        ("mmbench/en", "circular_accuracy"),
        ("ql_bench/pair", "score_sa"),
        ("q_bench/description", "sum"),
        ("q_bench/assessment", "srcc"),
        ("two_afc/fine_levels", "accuracy_all"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scores_equal_those_of_a_run(task, key, tmp_path):
    log = evaluate(f"{task.replace('/', '_')}", tmp_path / "logs", limit=12)
    assert log.status == "success", log.error
    expected = evaluator(task).compute(data="mini", limit=12)
    values = metrics(log)
    assert next(iter(values)) == key
    assert values[key] == pytest.approx(expected[key], abs=1e-6)
    ends = [value for value in expected[f"{key}_ci95"] if not math.isnan(value)]
    assert [values[f"{key}_{end}"] for end in ("low", "high") if f"{key}_{end}" in values] == pytest.approx(
        ends, abs=1e-6
    )
    # Also from the log, which says all that has to be known.
    path = log.location.removeprefix("file://")
    invoke("score", task, "--predictions", path, "--out", tmp_path / "run", code=0)
    (result,) = [each for each in read_results(tmp_path / "run").tasks if each.dataset != AVERAGE]
    assert result.scores[key] == pytest.approx(values[key])


def test_what_a_model_is_asked_and_what_the_log_shows(tmp_path):
    model, asked = saying("<think>Hm.</think>A")
    log = evaluate("mmbench_en", tmp_path, model, limit=2)
    # One request for each rotation of the options until one is wrong, with the image in place.
    (message,), config = asked[0]
    assert [part.type for part in message.content][:1] == ["image"]
    assert message.content[0].image.startswith("data:image/png;base64,")
    assert (config.temperature, config.max_tokens) == (0.0, 32)
    sample = log.samples[0]
    score = sample.scores["eyechart"]
    assert (score.answer, score.explanation) == ("A", "A")
    items = score.metadata["items"]
    assert [item["pass"] for item in items][:1] == ["main"]
    assert len(sample.messages) == 2 * len(items)
    assert {item["reasoning"] for item in items} == {"Hm."}
    assert sum(len(sample.scores["eyechart"].metadata["items"]) for sample in log.samples) == len(asked)
    assert log.eval.metadata["task"] == "mmbench/en"
    assert log.eval.metadata["extraction"] == "declared"
    assert log.eval.metadata["data"]["is_mini"] is True


def test_a_judge_is_a_model_role(tmp_path):
    model, _ = saying("A sharp and bright picture.")
    judge, conversations = saying("Score: 2")
    log = evaluate("q_bench_description", tmp_path, model, model_roles={"judge": judge}, limit=2)
    assert (metrics(log)["sum"], metrics(log)["n"]) == (6.0, 2.0)
    assert log.samples[0].scores["eyechart"].value == 2.0
    # Two texts, three dimensions, five rounds.
    assert len(conversations) == 2 * 3 * 5


def test_a_task_of_ones_own(tmp_path):
    (tmp_path / "task.yaml").write_text(
        "name: mine\nprotocol: multiple_choice\ndata: {path: rows.jsonl}\n"
        "columns: {images: image, question: question, options: options, answer: answer}\n"
        'prompt: "{images}{question}{options}"\n'
    )
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    lines = [{"id": id, "image": "a.png", "question": "Dark?", "options": ["Yes", "No"], "answer": "A"} for id in "xy"]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    model, _ = saying("A", "B")
    log = evaluate("task_file", tmp_path, model, task_args={"data": None, "file": str(tmp_path / "task.yaml")})
    assert metrics(log)["accuracy"] == 0.5


@pytest.mark.parametrize(
    ("task", "arguments", "named"),
    [
        ("q_bench_perception", {"extractoin": "strict"}, "extraction"),
        ("q_bench_perception", {"inference": "closed-set"}, "losses"),
        ("q_bench_perception", {"split": "train"}, "dev"),
        ("q_bench_perception", {"data": "absent"}, "absent"),
        ("q_bench_perception", {"seed": "x"}, "seed"),
        ("task_file", {"file": "absent.yaml"}, "absent.yaml"),
    ],
)
def test_wrong_arguments_stop_before_the_first_request(task, arguments, named, tmp_path):
    model, asked = saying("A")
    with pytest.raises(PrerequisiteError, match=named):
        evaluate(task, tmp_path, model, task_args=arguments)
    assert asked == []


def test_inspect_finds_the_tasks_by_name(tmp_path):
    command = ["-m", "inspect_ai", "eval", "eyechart/more_a_bench", "--model", "mockllm/model", "-T", "nothing=a"]
    # Elsewhere, because a checkout is not an installed package.
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True)
    assert "unknown setting 'nothing' of more/a_bench" in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("task", "options", "named"),
    [
        # No log-probabilities, no begun replies, two epochs, another solver, no images.
        ("q_bench_assessment", {"model": "bundled/silent"}, "next-token logits.*vllm"),
        ("q_bench_assessment", {}, "The quality of the image is.*vllm"),
        ("q_bench_perception", {"epochs": 2}, "epochs"),
        ("q_bench_perception", {"solver": chain_of_thought()}, "--solver"),
        ("mmbench_en", {"says": ValueError("no images")}, "no images"),
    ],
)
def test_what_inspect_cannot_give_is_an_error_of_the_run(task, options, named, tmp_path):
    model, _ = saying(options.pop("says", "good"))
    log = evaluate(task, tmp_path, **{"model": model, "limit": 1, **options})
    assert log.status == "error"
    assert re.search(named, log.error.message)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A log of inspect-ai, the run that `eyechart score` makes of it, and that run as logs."""
    folder = tmp_path_factory.mktemp("finished")
    model, _ = saying("<think>Hm.</think>A", "B", "The answer is C.")
    log = evaluate("mmbench_en", folder / "logs", model, limit=10)
    path = log.location.removeprefix("file://")
    invoke("score", "mmbench/en", "--predictions", path, "--out", folder / "run", code=0)
    return log, folder / "run", write_logs(folder / "run", folder / "exported")


def test_a_log_is_scored_like_the_run_that_wrote_it(finished):
    log, run, _ = finished
    (result,) = read_results(run).tasks
    expected = metrics(log)
    assert result.scores["circular_accuracy"] == expected["circular_accuracy"]
    ends = expected["circular_accuracy_low"], expected["circular_accuracy_high"]
    assert result.scores["circular_accuracy_ci95"] == pytest.approx(ends)
    assert result.scores["n_questions"] == expected["n"] == 10
    assert result.model == "mockllm/model"
    assert result.settings["model"]["predictions_unused"] == 0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_log_says_how_the_model_was_asked(finished, tmp_path):
    model, _ = saying("A")
    asked = {"blind": True, "prompt": "answer-mark", "split": "test", "seed": 3}
    decoding = {"temperature": 0.5, "system_message": "Be brief.", "frequency_penalty": 1.5}
    log = evaluate("q_bench_perception", tmp_path, model, limit=3, task_args=asked, **decoding)
    path = log.location.removeprefix("file://")
    score = ("score", "q_bench/perception", "--predictions")
    invoke(*score, path, "--set", "extraction=strict", "--out", tmp_path / "run", code=0)
    (result,) = read_results(tmp_path / "run").tasks
    settings = result.settings
    assert (settings["blind"], settings["extraction"], settings["seed"], result.split) == (True, "strict", 3, "test")
    assert settings["prompt_id"] == log.eval.metadata["prompt_id"]
    assert settings["limit"] == 3
    of_model = {name: settings["model"][name] for name in ("sampling", "system_prompt", "generate_config")}
    assert of_model == {
        "sampling": {"temperature": 0.5},
        "system_prompt": "Be brief.",
        "generate_config": {"frequency_penalty": 1.5},
    }
    # Its log, of a blind run, shows no images.
    (blind,) = write_logs(tmp_path / "run", tmp_path / "exported")
    assert {part.type for part in read_eval_log(blind).samples[0].input[0].content} == {"text"}
    # Not with settings of another request, also in Python.
    for changed, named in (("blind=false", "<image>"), ("prompt=default", "Answer"), ("max_new_tokens=5", "32 tokens")):
        refused = invoke(*score, path, "--set", changed, "--out", tmp_path / "refused", code=1)
        assert named in refused.output
    with pytest.raises(UsageError, match="<image>"):
        evaluator("q_bench/perception").compute(PredictionsFileBackend(path), data="mini", split="test", limit=3)
    with pytest.raises(MissingFileError, match=r"absent\.eval"):
        PredictionsFileBackend(tmp_path / "absent.eval")
    # Neither another task nor an exported run, which has its scores already.
    other, _, (exported,) = finished
    refused = invoke(*score, other.location.removeprefix("file://"), code=2)
    assert "is a log of mmbench/en, not of q_bench/perception" in refused.output
    refused = invoke("score", "mmbench/en", "--predictions", exported, code=1)
    assert "does not say how the model was asked" in refused.output


def test_a_run_is_written_as_a_log(finished):
    log, _, (path,) = finished
    exported = read_eval_log(path)
    assert exported.status == "success"
    assert metrics(exported).keys() == metrics(log).keys()
    assert metrics(exported) == pytest.approx(metrics(log))
    before, after = ({sample.id: sample for sample in each.samples} for each in (log, exported))
    assert list(before) == list(after)
    for id, sample in after.items():
        assert sample.input[0].content[0].image.startswith(("data:image/png;base64,", "attachment://"))
        ours, theirs = (each.scores["eyechart"] for each in (sample, before[id]))
        assert (ours.value, ours.answer) == (theirs.value, theirs.answer)
        assert len(sample.events) == len(ours.metadata["items"])
    # And read once more.
    assert len(read_predictions(path)[1]) == len(read_predictions(Path(log.location.removeprefix("file://")))[1])


def _cut(path):
    path.write_bytes(path.read_bytes()[:-500])


def _of_another_version(path):
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for name in ("header.json", "_journal/start.json"):
        if name in files:
            files[name] = json.dumps({**json.loads(files[name]), "version": 99}).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def _of_another_task(path):
    log = read_eval_log(path)
    for sample in log.samples:
        sample.scores = {"match": sample.scores["eyechart"]}
    write_eval_log(log, path)


@pytest.mark.parametrize(
    ("spoil", "named"),
    [(_cut, "cut"), (_of_another_version, "version"), (_of_another_task, "no replies to a task of eyechart")],
)
def test_spoiled_logs(spoil, named, finished, tmp_path):
    path = tmp_path / "log.eval"
    path.write_bytes(finished[2][0].read_bytes())
    spoil(path)
    with pytest.raises(BadAnnotationError, match=named) as caught:
        read_predictions(path)
    assert "log.eval" in str(caught.value)
