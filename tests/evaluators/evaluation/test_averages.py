import numpy as np
import pytest

from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import DataRequest
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.results.items import Item
from eyechart.evaluators.results.results_file import TaskResult, read_results
from eyechart.evaluators.runs.run import ModelRun, execute
from eyechart.evaluators.runs.task_runs import make_task_runs
from eyechart.evaluators.tasks.q_bench import DATABASES
from tests.evaluators.published_rows import published_row, published_table
from tests.evaluators.running import notes

# Q-Bench, Table 11: SRCC and PLCC of LLaVA-v1.5 (13B) with good and poor on each database, and their average.
ROW = published_row(published_table("q_bench/assessment", "Table 11"), "LLaVA-v1.5 (Vicuna-v1.5-13B), good/poor")
*PARTS, AVERAGE = zip([*ROW.values()][::2], [*ROW.values()][1::2], strict=True)
PUBLISHED = dict(zip(DATABASES, PARTS, strict=True))


def evaluation(database, srcc=0.5, plcc=0.5, **changes):
    scores = {"srcc": srcc, "plcc": plcc, "krcc": 0.1, "plcc_fitted": 0.6, "rmse_fitted": 3.0, "n": 10}
    given = TaskResult(
        task="q_bench/assessment",
        dataset=database,
        split="test",
        model="a",
        scores=scores,
        settings={"word_pair": "good/poor", "data": {"is_mini": False}, "model": {"asked": database}},
        variants={"high/low": {**scores, "srcc": srcc / 2}, **({"argmax": scores} if database != "spaq" else {})},
    )
    return given.model_copy(update=changes)


def averages(evaluations):
    return [result for result in with_averages(evaluations) if result.dataset == "average"]


def seven(**changes):
    return [evaluation(name, *PUBLISHED[name], **changes) for name in DATABASES]


def test_the_average_is_that_of_the_paper():
    (found,) = averages(seven())
    # The paper's own average rests on more digits than it prints.
    assert (found.scores["srcc"], found.scores["plcc"]) == pytest.approx(AVERAGE, abs=0.001)
    assert found.scores["n"] == 70
    shown = {name: part["srcc"] for name, part in found.scores["by_database"].items()}
    assert shown == {name: srcc for name, (srcc, _) in PUBLISHED.items()}
    assert found.variants.keys() == {"high/low"}, "the variants that all databases have"
    assert found.variants["high/low"]["srcc"] == pytest.approx(found.scores["srcc"] / 2)
    # Errors are in the units of each database.
    assert "rmse_fitted" not in found.scores
    assert (found.dataset, found.split, found.model, found.complete, found.notes) == ("average", "test", "a", True, [])
    assert found.settings["word_pair"] == "good/poor" and found.settings["databases"] == list(DATABASES)
    assert found.settings["data"]["is_mini"] is False


def test_the_interval_of_an_average_has_the_units_of_all_its_parts():
    scores = {"srcc": 0.5, "srcc_ci95": [0.4, 0.6], "plcc": 0.5, "krcc": 0.1, "plcc_fitted": 0.6, "n": 30}
    scores["intervals"] = {"srcc": {"kind": "bootstrap", "units": 30}}
    (found,) = averages([evaluation(name, scores=scores, variants={}) for name in DATABASES])
    assert found.scores["intervals"]["srcc"] == {"kind": "mean", "units": 210}


@pytest.mark.parametrize(
    ("evaluations", "code", "values"),
    [
        *((seven()[:n], "average_missing", {"of": 7, "missing": list(DATABASES)[n:]}) for n in (2, 6)),
        ([*seven()[:6], evaluation("kadid10k", scores=None)], "average_missing", {"of": 7, "missing": ["kadid10k"]}),
        ([*seven()[:6], evaluation("kadid10k", complete=False)], "average_incomplete", {}),
    ],
)
def test_databases_without_one_complete_score_are_named(evaluations, code, values):
    (found,) = averages(evaluations)
    assert notes(found) == {code: values}
    if code == "average_incomplete":
        assert found.scores is not None and not found.complete
    else:
        assert found.scores is None and found.variants == {}


def test_a_database_alone_and_others_than_the_seven_are_not_averaged():
    assert averages(seven(scores=None, variants={})) == []
    assert averages([evaluation("koniq10k"), evaluation("kadis700k"), evaluation("csiq")]) == []


def test_an_undefined_score_makes_the_mean_undefined():
    (found,) = averages([*seven()[:6], evaluation("kadid10k", float("nan"), 0.4)])
    assert np.isnan(found.scores["srcc"]) and not np.isnan(found.scores["plcc"])


def test_other_settings_and_models_have_their_own_averages_behind_their_own_databases():
    high = seven(settings={"word_pair": "high/low", "data": {"is_mini": True}, "model": {}})
    other = seven(model="b")
    found = with_averages([*seven(), *high, evaluation("csiq"), *other])
    rows = [(e.model, e.settings["word_pair"]) for e in found if e.dataset == "average"]
    assert rows == [("a", "good/poor"), ("a", "high/low"), ("b", "good/poor")]
    assert [place for place, e in enumerate(found) if e.dataset == "average"] == [7, 15, 24]
    assert [e.settings["data"]["is_mini"] for e in found if e.dataset == "average"] == [False, True, False]


def test_an_average_of_samples_counts_each_image_once():
    settings = {**evaluation("spaq").settings, "sample": {"n": 10, "of": 50, "seed": 0}}
    repeated = [Item(f"{number}", "main", repeat=repeat) for number in range(4) for repeat in range(3)]
    (average,) = averages(
        [evaluation(name, settings=settings) for name in DATABASES[1:]] + [evaluation(DATABASES[0], items=repeated)]
    )
    assert average.settings["sample"] == {"n": 64, "of": 304, "seed": 0}


def run_all(folder, **data_dirs):
    """All seven on a function that looks at no image."""
    numbers = np.random.default_rng(0)
    model = FunctionBackend(lambda messages, words: dict(zip(words, numbers.normal(size=len(words)), strict=True)))
    folders = [f"{name}={path}" for name, path in data_dirs.items()]
    request = DataRequest(is_mini=True, limit=12)
    task_runs = make_task_runs(["q_bench/assessment"], request, datasets=DATABASES, data_dirs=folders)
    done = execute(task_runs, ModelRun(lambda device: model, folder))
    return done, read_results(folder).tasks


def test_a_run_on_all_seven_prints_and_writes_their_average(tmp_path, capsys):
    done, (*databases, average) = run_all(tmp_path)
    assert done and [task.dataset for task in databases] == list(DATABASES)
    assert average.scores["srcc"] == pytest.approx(np.mean([task.scores["srcc"] for task in databases]))
    assert average.scores["n"] == 7 * 12
    assert average.variants["good+fine/poor+bad"]["plcc"] == pytest.approx(
        np.mean([task.variants["good+fine/poor+bad"]["plcc"] for task in databases])
    )
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("q_bench/assessment "))
    # Below the average of a single task stand its databases.
    assert [line.split()[0] for line in lines if line.startswith("  ") and "SRCC" in line] == list(DATABASES)
    assert f"{average.scores['srcc']:.3f}" in row and row.rstrip().endswith(" 84")


def test_a_run_in_which_one_of_the_seven_fails_says_that_it_is_missing(tmp_path, capsys):
    done, (*databases, average) = run_all(tmp_path, spaq=str(tmp_path / "nowhere"))
    assert not done and len(databases) == 6
    assert average.scores is None
    assert "No average over the 7 databases: no scores on spaq." in capsys.readouterr().out
