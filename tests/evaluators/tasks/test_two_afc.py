"""The four tasks of 2AFC: on the mini release, on the authors' label files, and on a server."""

import csv

import numpy as np
import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.evaluators.tasks.doors import ran

SIZES = {"CSIQ": 30, "LIVEC": 100, "kadis700k": 100, "SQAD": 100, "mixed": 200}

SMALL = pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")


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


def score(task, reference, file, **options):
    data = load_data(get_task(task), DataRequest(data_dir=reference / "two-afc", images="skip", options=options))
    return evaluator(task).run(PredictionsFileBackend(file), data)


@SMALL
def test_a_simulated_observer_on_five_pools_of_the_real_coarse_list(reference, qualities, tmp_path):
    """An observer whose scores are the opinion scores and half as much noise."""
    rng = np.random.default_rng(0)
    seen = {d: [q for name, q in qualities.items() if name.startswith(f"{d}/")] for d in SIZES}
    spread = {database: np.std(values) for database, values in seen.items() if values}
    seen = {
        name: q + 0.5 * spread.get(name.partition("/")[0], 0) * rng.standard_normal() for name, q in qualities.items()
    }
    result = score("two_afc/coarse", reference, write_scores(tmp_path / "observer.csv", seen), databases=list(SIZES))
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


@SMALL
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
    alone = score("two_afc/coarse", reference, file, **only)
    assert alone.settings["mm21_quality"] == "bitrate" and alone.scores["accuracy_all"] == 1.0
    (caveat,) = alone.caveats
    assert caveat.startswith("MM21 is scored against bitrates") and "mm21_dir" in caveat
    assert 0.5 < result.scores["accuracy_all"] < 0.9


@SMALL
def test_fine_tables_have_the_rows_of_table_3(reference, tmp_path):
    task, parts = "two_afc/fine_mos", [f"interval_{low}" for low in ("1_25", "25_50", "50_75", "75_100")]
    scores = qualities_of(get_task(task).data.config, reference)
    result = score(task, reference, write_scores(tmp_path / "perfect.csv", scores))
    table = result.diagnostics["table"]
    assert {part: row["n_pairs"] for part, row in table.items()} == dict.fromkeys(parts, 144)
    (average,) = result.diagnostics["averages"]
    assert (average["over"], average["weights"]) == (parts, "equal")
    assert average["accuracy_all"] == 1
    assert {part: row["srcc"] for part, row in table.items()} == {
        part: pytest.approx(result.scores["by_pool"][part]["srcc"]) for part in parts
    }


@SMALL
def test_the_command_scores_a_quality_measure(reference, qualities, tmp_path):
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


def test_the_tiny_model_sees_which_image_is_better(tmp_path):
    (coarse, types), output = ran(tmp_path, "two_afc/coarse", "two_afc/fine_types", "--limit", 48)
    assert coarse.scores["consistency"] > 0.9 and coarse.scores["accuracy_all"] > 0.75 and coarse.scores["srcc"] > 0.6
    for result in (coarse, types):
        assert result.scores["draw_rate"] == 0 and result.scores["unmatched"] == 0
        assert 0.3 < result.scores["first_rate"] < 0.7
        assert result.settings["prompt_id"] == "two_afc/2" and result.settings["data"]["options"]["rounds"] == 12
    assert list(types.diagnostics["table"]) == ["level 1", "level 2"]
    assert "pair accuracy" in output
