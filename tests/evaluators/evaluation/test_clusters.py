"""What rows share, from the data to the intervals in the results, and from stored predictions back to the same ones."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.results.results_file import TaskResult, read_results
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scoring.statistics.intervals import wilson_interval
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval
from tests.evaluators import running
from tests.evaluators.command_line import invoke
from tests.evaluators.conftest import picture
from tests.evaluators.finished_runs import write
from tests.evaluators.running import predictions, scores_again
from tests.evaluators.tasks.own_data import write_questions

pytestmark = pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")


def reply(messages: list[dict[str, Any]]) -> str:
    """A letter, the same whenever the same is asked."""
    return "ABC"[hashlib.sha256(json.dumps(messages, default=lambda _: "image").encode()).digest()[0] % 3]


def run(task: str, folder: Path, **data: Any) -> tuple[TaskResult, TaskResult]:
    """A run with images that are read, and what it leaves."""
    bound = evaluator(task)
    result = bound.run(bound.prepare_pipeline(reply), load_data(bound.definition, DataRequest(**data)))
    return result, read_results(write(folder, [result])).tasks[0]


def clusters_of(folder: Path) -> dict[str, str | None]:
    rows = parquet.read_table(folder / "predictions.parquet", columns=["id", "cluster"]).to_pylist()
    return {row["id"]: row["cluster"] for row in rows}


@pytest.mark.parametrize("task", ["mmbench/en", "aes_bench/perception", "q_bench/perception"])
def test_questions_about_one_image_are_a_cluster_in_the_results(task: str, tmp_path: Path) -> None:
    made, result = run(task, tmp_path, is_mini=True)
    loaded = load_data(get_task(task), DataRequest(is_mini=True)).dataset
    found = clusters_of(tmp_path)
    # One name for each image, and another one for another image.
    pairs = {(row["images"][0].convert("RGB").tobytes(), found[row["id"]]) for row in loaded}
    n_images = len({image for image, _ in pairs})
    assert len(pairs) == len({name for _, name in pairs}) == n_images and None not in found.values()
    spec, scores = result.headline_spec(), result.scores
    assert spec is not None and scores is not None
    shares = spec.n(scores) != n_images
    assert shares == (task == "mmbench/en"), "only questions of the mini MMBench share images"
    about = scores["intervals"][spec.key]
    assert about["units"] == n_images and (about["kind"] == "wilson") == (not shares)
    for part in next(value for name, value in scores.items() if name.startswith("by_")).values():
        assert part["intervals"][spec.key]["units"] <= n_images
    # The interval is that of the items, from which the scores are computed again.
    main = [item for item in made.items if item.pass_name == "main"]
    right = [getattr(item, spec.of[0]) for item in main]
    expected = share_interval(right, Clusters.of([item.cluster for item in main], len(main)))
    assert scores[f"{spec.key}_ci95"] == pytest.approx([expected.low, expected.high])
    np.testing.assert_equal(scores_again(tmp_path), made.scores)


def test_a_file_of_predictions_has_no_images_to_read(tmp_path: Path) -> None:
    loaded = load_data(get_task("aes_bench/perception"), DataRequest(is_mini=True)).dataset
    predictions(tmp_path, ({"id": id, "text": "A"} for id in loaded["id"]))
    options = ["--predictions", str(tmp_path / "answers.jsonl"), "--mini", "--out", str(tmp_path / "out")]
    done = invoke("score", "aes_bench/perception", "--verbose", *options, code=0)
    scores = read_results(tmp_path / "out").tasks[0].scores
    assert scores is not None
    assert scores["intervals"]["accuracy"] == {"kind": "wilson-unread", "units": len(loaded)}
    assert scores["accuracy_ci95"] == list(wilson_interval(round(scores["accuracy"] * len(loaded)), len(loaded)))
    assert "images were not read" in " ".join(done.output.split())


OWN = """name: my_questions
protocol: multiple_choice
data: {path: my_questions.tsv}
columns: {id: index, images: image, options: [A, B, C, D]}
prompt: "{images}\\n{question}\\n{options}"
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    write_questions(tmp_path)
    return tmp_path


def test_an_own_benchmark_shares_its_images_or_the_column_that_it_names(own: Path) -> None:
    (own / "task.yaml").write_text(OWN, encoding="utf-8")
    _, result = run(str(own / "task.yaml"), own / "images")
    assert result.scores is not None
    # Twelve questions about ten pictures.
    assert result.scores["intervals"]["accuracy"] == {"kind": "wilson-clustered", "units": 10}
    (own / "task.yaml").write_text(OWN + "cluster: category\n", encoding="utf-8")
    _, result = run(str(own / "task.yaml"), own / "out")
    assert result.scores is not None
    assert result.scores["intervals"]["accuracy"] == {"kind": "wilson-clustered", "units": 2}
    assert set(clusters_of(own / "out").values()) == {"hue", "tone"}
    low, high = result.scores["accuracy_ci95"]
    assert high - low > 0.6, "two scenes say little, however many questions are asked about them"
    table = (own / "my_questions.tsv").read_text(encoding="utf-8")
    (own / "my_questions.tsv").write_text(table.replace("\thue", "\t"), encoding="utf-8")
    run(str(own / "task.yaml"), own / "again")
    assert set(clusters_of(own / "again").values()) == {None, "tone"}


RATINGS = "name: own\nprotocol: quality_assessment\ndata: {path: x.csv}\nprompt: '{images} Rate it.'\n"


@pytest.mark.parametrize(
    ("task", "cluster", "named"),
    [(OWN, "scene", "'scene'"), (OWN, "[scene]", "cluster"), (RATINGS, "scene", "leave cluster out")],
)
def test_a_column_that_is_not_there_or_not_needed_is_refused(own: Path, task: str, cluster: str, named: str) -> None:
    (own / "task.yaml").write_text(f"{task}cluster: {cluster}\n", encoding="utf-8")
    done = invoke("run", own / "task.yaml", "--out", own / "out")
    assert done.exit_code != 0 and named in " ".join(done.output.split())


def test_rows_share_a_cluster_if_they_show_the_same_images_in_the_same_order() -> None:
    first, second = picture(1), picture(2)
    images = [[first, second], [picture(1), picture(2)], [second, first]]
    rows = [
        {"id": f"q{row}", "images": shown, "question": "Which?", "options": ["First", "Second"], "answer": "A"}
        for row, shown in enumerate(images)
    ]
    data = running.dataset(rows)
    one, same, other = (item.cluster for item in running.run("q_bench/perception_pairs", reply, data).items)
    assert one == same is not None and one != other and len(one) == 16
