"""Letter logits of refusable questions: what is asked, their calibration, and abstaining by them."""

import json
import math
from collections import Counter

import datasets
import numpy as np
import pytest

from eyechart.datasets_scripts.common.errors import DataError, ModelError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.comparison.settings import breaking_differences
from eyechart.evaluators.evaluation.data import LoadedData, load_data
from eyechart.evaluators.protocols.choice.calibration import abstention_line
from eyechart.evaluators.report.samples import read_samples
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import collect, read_results
from eyechart.evaluators.runs.folder import write_run
from eyechart.evaluators.runs.table import note_lines
from eyechart.evaluators.tasks import get_task
from tests.evaluators.report.all_charts import task_charts

REFUSAL = "I don't know"
RIGHT = ("Good", "Fair", "Poor")


@pytest.fixture
def refusable(make_picture):
    """Forty questions; the refusal stands first, second, third or last, the right one of Good, Fair, Poor in turn."""
    options = [[*RIGHT[: i % 4], REFUSAL, *RIGHT[i % 4 :]] for i in range(40)]
    rows = {
        "id": [f"q{i}" for i in range(40)],
        "images": [[make_picture(i)] for i in range(40)],
        "question": [f"How is picture {i}?" for i in range(40)],
        "options": options,
        "answer": ["ABCD"[options[i].index(RIGHT[i % 3])] for i in range(40)],
        "refusal": ["ABCD"[options[i].index(REFUSAL)] for i in range(40)],
        "question_type": ["how"] * 40,
        "concern": ["other"] * 40,
    }
    text = datasets.Value("string")
    features = dict.fromkeys(rows, text)
    features |= {"images": datasets.Sequence(datasets.Image()), "options": datasets.Sequence(text)}
    return datasets.Dataset.from_dict(rows, features=datasets.Features(features))


class Model:
    """Refuses every second question, answers Good else, and is surest of Good for the first 20 questions."""

    def __init__(self):
        self.asked = []

    def __call__(self, messages, words=None):
        texts = [part["text"] for part in messages[0]["content"] if part["type"] == "text"]
        number = int(texts[0].removeprefix("How is picture ").removesuffix("? "))
        self.asked.append((number, REFUSAL in texts[1], words))
        if words is None:
            return REFUSAL if number % 2 and REFUSAL in texts[1] else "Good"
        # Three options in the order Good, Fair, Poor: odds of 8 to 1 to 1, or of 2 to 1 to 1.
        return dict(zip(words, (math.log(8 if number < 20 else 2), 0.0, 0.0), strict=True))


def run(model, dataset, *, skip_bad=False, **settings):
    loaded = LoadedData(dataset, "own data", "given", "given")
    backend = FunctionBackend(model) if callable(model) else model
    return evaluator("ql_bench/single", settings=settings).run(backend, loaded, skip_bad=skip_bad)


def test_letters_of_the_options_without_the_refusal_are_asked_for_once(refusable):
    model = Model()
    found = run(model, refusable, letter_logits=True)
    letters = [(number, with_refusal) for number, with_refusal, words in model.asked if words == ("A", "B", "C")]
    assert letters == [(number, False) for number in range(40)]
    assert Counter(line["pass"] for line in found.predictions) == {"main": 40, "letters": 40, "forced": 20}
    line = found.predictions[1]
    assert (line["pass"], line["options"], line["text"]) == ("letters", list(RIGHT), None)
    assert list(line["logits"]) == ["A", "B", "C"] and "outcome" not in line and found.settings["letter_logits"] is True


def test_scores_are_those_without_them(refusable):
    plain, found = run(Model(), refusable), run(Model(), refusable, letter_logits=True)
    np.testing.assert_equal(found.scores, plain.scores)
    assert "calibration" not in plain.diagnostics and plain.settings["letter_logits"] is False
    # So they can be compared.
    one, other = collect([plain, found], [], "2026-01-01").tasks
    assert breaking_differences(one, other) == []


def test_calibration_and_abstention_by_hand(refusable):
    found = run(Model(), refusable, letter_logits=True).diagnostics["calibration"]
    # Good is right for 0, 3, 6, ..., 39: 7 of the first 20, with probability 8 / 10, and 7 of the rest, with 1 / 2.
    assert (found["n"], found["missing"], found["upper_bounds"]) == (40, 0, 0)
    assert (found["accuracy"], found["confidence"]) == pytest.approx((14 / 40, 0.65))
    assert found["ece"] == pytest.approx((0.8 - 0.35) / 2 + (0.5 - 0.35) / 2)
    assert found["intervals"]["ece"] == {"kind": "calibration", "units": 40}
    # Answered: 0, 2, ..., 38, of which 0, 6, ..., 36 are right. At that rate, the first 20 by probability.
    abstention = found["abstention"]
    assert (abstention["answer_rate"], abstention["own_accuracy"]) == (0.5, 7 / 20)
    assert abstention["by_probability"] == pytest.approx(7 / 20)
    assert abstention["difference_ci95"][0] < 0 < abstention["difference_ci95"][1]
    assert abstention["intervals"]["difference"] == {"kind": "bootstrap", "units": 40}


def test_shuffled_options_take_their_letters_along(refusable):
    class Knows(Model):
        def __call__(self, messages, words=None):
            if words is None:
                return super().__call__(messages)
            shown = messages[0]["content"][2]["text"].split("options: ")[1]
            return {letter: 5.0 * (f"{letter}. Good" in shown) for letter in words}

    found = run(Knows(), refusable, letter_logits=True, shuffle_seed=3).diagnostics["calibration"]
    assert found["accuracy"] == 14 / 40


def test_what_is_below_the_table_and_in_the_report(tmp_path, refusable):
    found = run(Model(), refusable, letter_logits=True)
    lines = [line for line in note_lines([found]) if "Calibration" in line or "letter probability" in line]
    assert lines[0].startswith("ql_bench/single: Calibration: ECE 30.0 % (")
    assert lines[1].startswith(
        "ql_bench/single: if the model answered as many questions (50.0 %) but chose them by letter probability: "
        "accuracy 35.0 %, with its own refusals 35.0 %, difference 0.0 ("
    )
    write_run(tmp_path / "run", collect([found], [], "2026-01-01"), [found])
    curve = next(chart for chart in task_charts(read_runs([tmp_path / "run"])) if "coverage" in chart.key)
    assert [len(series.values) for series in curve.series] == [10, 10] and "50" in curve.labels
    (point,) = [value for value in curve.series[1].values if math.isfinite(value)]
    assert point == pytest.approx(65) and "own refusals" in curve.series[1].name
    assert "by letter probability: accuracy 35.0 %" in curve.note
    (read,) = read_runs([tmp_path / "run"])
    samples = read_samples(read.answers(next(iter(read.tasks))).rows(range(2)))
    assert [sample["step"] for sample in samples] == ["exact", "scored"]


@pytest.mark.filterwarnings("ignore:.*every question was refused")
def test_a_model_that_refuses_everything_has_calibration_and_no_point(tmp_path, refusable):
    class Refuses(Model):
        def __call__(self, messages, words=None):
            return REFUSAL if words is None else super().__call__(messages, words)

    found = run(Refuses(), refusable, letter_logits=True)
    assert "the model refused every question" in "".join(note_lines([found]))
    write_run(tmp_path / "run", collect([found], [], "2026-01-01"), [found])
    (result,) = read_results(tmp_path / "run").tasks
    assert abstention_line(result.diagnostics["calibration"]["abstention"]).startswith("the model refused every")
    curve = next(chart for chart in task_charts(read_runs([tmp_path / "run"])) if "coverage" in chart.key)
    assert len(curve.series) == 1


def test_what_gives_no_letters_is_refused_or_counted(tmp_path, refusable):
    with pytest.raises(ModelError, match=r"needs a function\(messages, words\)"):
        run(lambda messages: "A", refusable, letter_logits=True)
    lines = [{"id": f"q{i}", "text": "Good"} for i in range(40)]
    lines += [{"id": f"q{i}", "pass": "letters", "logits": {"A": 2.0, "B": 1.0, "C": 0.0}} for i in range(30)]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with pytest.raises(DataError, match="no prediction for id 'q30', pass 'letters'"):
        run(PredictionsFileBackend(path), refusable, letter_logits=True)
    left = run(PredictionsFileBackend(path), refusable, letter_logits=True, skip_bad=True)
    assert left.left_out == [] and left.complete and left.scores["n"] == 40
    assert (left.diagnostics["calibration"]["n"], left.diagnostics["calibration"]["missing"]) == (30, 10)


def test_private_answers_have_no_calibration(refusable):
    found = run(Model(), refusable.map(lambda row: {"answer": ""}), letter_logits=True)
    assert found.scores is None and "calibration" not in found.diagnostics


def test_the_tiny_model_gives_letter_logits():
    loaded = load_data(get_task("ql_bench/single"), is_mini=True)
    made = evaluator("ql_bench/single", settings={"letter_logits": True})
    found = made.run(made.prepare_pipeline(), loaded, limit=24)
    calibration = found.diagnostics["calibration"]
    assert calibration["n"] == found.scores["n"] == 24 and calibration["upper_bounds"] == 0
    assert calibration["accuracy"] > 0.4 and calibration["confidence"] < 1
