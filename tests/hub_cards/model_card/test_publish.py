"""The command and the files that it makes, read by the Hub's own library; uploads to what stands in for the Hub."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries
from typer.testing import CliRunner

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.official import official_counts
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.averages import with_averages
from eyechart.evaluators.evaluation.data import DataRequest, load_data, undecoded_rows
from eyechart.evaluators.tasks.q_bench import DATABASES
from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.model_card.publication import ENTRIES
from eyechart.hub_cards.model_card.section import markdown
from tests.evaluators.finished_runs import ACCURACY, MODEL, answer, evaluated, write
from tests.hub_stand_in import TOKEN, StandIn

CARD = """\
---
license: mit # of the weights
model-index:
- name: their name
  results:
  - task:
      type: text-generation
    dataset:
      name: Wiki
      type: wiki
    metrics:
    - type: perplexity
      value: 10.5
---
# A model
"""
CIRCULAR = {
    "circular_accuracy": 0.5,
    "circular_accuracy_ci95": [0.25, 0.75],
    "vanilla_accuracy": None,
    "n_questions": 1164,
    "n_vanilla": 1164,
}
QUALITY = {"srcc": 0.9, "srcc_ci95": [0.8, 0.95], "plcc": 0.8, "plcc_ci95": [None, None], "n": 10073}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(
        tmp_path / "run",
        [
            evaluated(),
            evaluated("mmbench/en", "mmbench", scores=dict(CIRCULAR), data={"config": "en"}),
            evaluated("q_bench/assessment", "koniq10k", "test", scores=dict(QUALITY)),
        ],
    )


def call(*arguments: Any, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["publish", *map(str, arguments)])
    assert done.exit_code == code, done.output
    assert TOKEN not in done.output
    return done.output


def test_the_files_are_what_the_hub_reads(run: Path, tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text(CARD)
    shown = call(
        *(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", tmp_path / "out"),
        *("--dataset-repo", "llvisionqa=me/qa", "--source", "https://example.org/run"),
    )
    assert "+    - type: accuracy\n+      value: 0.75" in shown and "-license" not in shown
    card = ModelCard.load(tmp_path / "out" / "README.md")
    assert card.data["license"] == "mit" and card.data.model_name == "their name"
    found = [
        (r.dataset_type, r.dataset_config, r.dataset_split, r.metric_type, r.metric_value)
        for r in card.data.eval_results
    ]
    assert found == [
        ("wiki", None, None, "perplexity", 10.5),
        ("me/qa", None, "dev", "accuracy", 0.75),
        ("lmms-lab-encoder/MMBench", "en", "dev", "circular_accuracy", 0.5),
        ("koniq10k", None, "test", "srcc", 0.9),
        ("koniq10k", None, "test", "plcc", 0.8),
    ]
    ours = card.data.eval_results[1]
    assert ours.metric_args == {"n": 1495, "ci95": [0.5, 0.875]} and ours.source_url == "https://example.org/run"
    (entry,) = parse_eval_result_entries(yaml.safe_load((tmp_path / "out" / ENTRIES).read_text()))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("me/qa", "q_bench_perception", 0.75)
    assert entry.date == "2026-11-21T10:00:00+00:00" and entry.source_url == "https://example.org/run"
    assert entry.notes.startswith("accuracy, dev, n = 1495; 95 % interval 0.5 to 0.875; prompt q_bench_a1/2; eyechart ")
    assert "| LLVisionQA (Q-Bench) (dev) | accuracy | 75.00 % | 50.00 to 87.50 | 25.00 % | 1,495 |" in card.text
    assert "| `mmbench/en` | MMBench, en (dev) | CircularEval | 50.00 % |" in card.text
    assert "[Report or logs](https://example.org/run)" in card.text and "/data/release" not in card.text
    assert "not in .eval_results: mmbench/en on mmbench (dev): pass --dataset-repo mmbench=OWNER/NAME" in shown
    assert len(section_of(card.text)) <= 15 and "typer" not in card.text
    again = call(
        *(run, "--model-repo", MODEL, "--card", tmp_path / "out" / "README.md", "--dataset-repo", "llvisionqa=me/qa"),
        *("--source", "https://example.org/run"),
    )
    assert "Nothing to change" in again


def section_of(text: str) -> list[str]:
    """The lines of our section in a card."""
    return text.partition("<!-- eyechart: begin -->\n")[2].partition("\n<!-- eyechart: end -->")[0].splitlines()


def test_a_section_of_every_task_has_no_more_lines(tmp_path: Path) -> None:
    databases = [
        evaluated("q_bench/assessment", name, "test", scores={**QUALITY, "n": official_counts(name, None, "test")[0]})
        for name in DATABASES
    ]
    for one in databases:
        one.scores.update(krcc=0.7, plcc_fitted=0.85)
    parts = [evaluated(f"mine/{part}", f"mine/{part}") for part in range(9)]
    others = [evaluated(f"other_{part}", f"other_{part}") for part in range(9)]
    mmbench = evaluated("mmbench/en", "mmbench", scores=dict(CIRCULAR), data={"config": "en"})
    run = write(tmp_path / "run", [evaluated(), mmbench, *with_averages(databases), *parts, *others])
    (tmp_path / "card.md").write_text(CARD)
    call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", tmp_path / "out")
    card = ModelCard.load(tmp_path / "out" / "README.md")
    lines = section_of(card.text)
    assert len(lines) <= 15
    assert "| Q-Bench | A1 Perception (dev) accuracy 75.00 % (50.00 to 87.50); A3 Assessment (test) SRCC " in card.text
    assert "mine | 0 (dev) accuracy 75.00 %" in card.text and "| 7 more | in this card's metadata |" in card.text
    assert len({result.task_name for result in card.data.eval_results[1:]}) == 21


def test_the_revision_of_the_data_is_published(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [evaluated(data={"revision": "5503434d"})])
    (tmp_path / "card.md").write_text(CARD)
    card = ("--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", tmp_path / "out")
    shown = call(run, *card)
    assert "no link to the run: pass --source URL" in shown and "--dataset-repo llvisionqa=OWNER/NAME" in shown
    ours = ModelCard.load(tmp_path / "out" / "README.md").data.eval_results[1]
    assert (ours.dataset_type, ours.dataset_revision) == ("teowu/LLVisionQA-QBench", "5503434d")
    call(run, *card, "--dataset-repo", "llvisionqa=me/qa@c0ffee", "--source", "https://example.org/run")
    ours = ModelCard.load(tmp_path / "out" / "README.md").data.eval_results[1]
    (entry,) = parse_eval_result_entries(yaml.safe_load((tmp_path / "out" / ENTRIES).read_text()))
    assert (
        (ours.dataset_type, ours.dataset_revision) == (entry.dataset_id, entry.dataset_revision) == ("me/qa", "c0ffee")
    )
    assert (entry.source_url, entry.source_name) == ("https://example.org/run", "eyechart")


def test_a_task_of_ones_own_is_published_with_its_data_as_named(tmp_path: Path) -> None:
    on_hub = evaluated("mmstar", "mmstar", "val", data={"source": "Lin-Chen/MMStar", "revision": "abc"})
    in_file = evaluated("photos", "photos", "test", scores={**QUALITY, "n": 6}, data={"source": "/home/me/p.csv"})
    run = write(tmp_path / "run", [on_hub, in_file])
    (tmp_path / "card.md").write_text(CARD)
    card = ("--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", tmp_path / "out")
    shown = call(run, *card)
    assert "not in .eval_results: mmstar (val), photos (test): your own data are not a benchmark" in shown
    read = ModelCard.load(tmp_path / "out" / "README.md")
    found = [
        (one.task_name, one.dataset_type, one.dataset_name, one.dataset_revision) for one in read.data.eval_results
    ]
    assert found[1:] == [
        ("mmstar (eyechart)", "Lin-Chen/MMStar", "Lin-Chen/MMStar", "abc"),
        *[("photos (eyechart)", "photos", "photos", None)] * 2,
    ]
    assert "| `photos` | test | SRCC | 0.900 |" in read.text and "/home/me" not in read.text
    call(run, *card, "--task", "photos", "--data-name", "My photos")
    ours = ModelCard.load(tmp_path / "out" / "README.md").data.eval_results[1]
    assert (ours.dataset_type, ours.dataset_name) == ("My photos", "My photos")


def test_a_sample_is_in_the_cards_table_alone(tmp_path: Path) -> None:
    """Whoever reads a `model-index` by the name of the dataset would take its value for the benchmark's."""
    sample = {"sample": {"n": 300, "of": 1495, "seed": 0, "strata": ["question_type"]}}
    run = write(tmp_path / "run", [evaluated(settings=sample, scores=ACCURACY | {"n": 300})])
    (tmp_path / "card.md").write_text(CARD)
    options = ("--card", tmp_path / "card.md", "--out", tmp_path / "out", "--dataset-repo", "llvisionqa=me/qa")
    call(run, "--model-repo", MODEL, *options)
    card = ModelCard.load(tmp_path / "out" / "README.md")
    assert [result.dataset_type for result in card.data.eval_results] == ["wiki"]
    assert "LLVisionQA (Q-Bench), sample of 300 from 1,495 (dev) | accuracy | 75.00 %" in card.text
    assert not (tmp_path / "out" / ENTRIES).exists()


def test_results_that_their_predictions_contradict_are_refused(tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text(CARD)
    run = write(tmp_path / "run", [evaluated(predictions=[answer("q1", options=["x", "y"], answer="A")])])
    shown = call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", code=2)
    assert "scores.accuracy is 0.75; its predictions give 1.0" in shown and "more of this kind" in shown


def test_precomputed_predictions_are_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text(CARD)
    model = {"backend": "predictions_file", "name": MODEL, "format": "eyechart"}
    run = write(tmp_path / "run", [evaluated(settings={"model": model})])
    shown = call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md")
    assert "precomputed predictions; eyechart did not run the model and cannot verify the prompt." in shown


def test_an_answer_under_another_name_is_published_only_where_that_is_confirmed(tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text(CARD)
    model = {"backend": "openai", "name": MODEL, "served": ["something-else.gguf"], "served_name": None}
    run = write(tmp_path / "run", [evaluated(settings={"model": model})])
    shown = call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", code=2)
    assert f"answered as 'something-else.gguf', but '{MODEL}' was requested" in shown and "--served-name NAME" in shown
    confirmed = {**model, "served_name": "something-else.gguf"}
    run = write(tmp_path / "confirmed", [evaluated(settings={"model": confirmed})])
    assert "accuracy" in call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md")


def test_replies_drawn_at_random_are_said_to_be(tmp_path: Path) -> None:
    sampling = {"temperature": 0.7, "top_p": 0.9, "seed": 0}
    drawn = evaluated(settings={"model": {"name": MODEL, "decoding": "sampling", "sampling": sampling}, "repeats": 5})
    run = write(tmp_path / "run", [drawn])
    (tmp_path / "card.md").write_text(CARD)
    card = ("--card", tmp_path / "card.md", "--out", tmp_path / "out")
    call(run, "--model-repo", MODEL, "--dataset-repo", "llvisionqa=me/qa", *card)
    (entry,) = parse_eval_result_entries(yaml.safe_load((tmp_path / "out" / ENTRIES).read_text()))
    assert "sampled at temperature 0.7, top_p 0.9, first of 5 repeats;" in entry.notes
    text = (tmp_path / "out" / "README.md").read_text()
    assert "sampled at temperature 0.7" in text and "first of 5 repeats" in text


def test_a_dry_run_writes_nothing(hub: StandIn, run: Path) -> None:
    hub.make(MODEL, {"README.md": CARD.encode()})
    shown = call(run, "--model-repo", MODEL)
    assert "Nothing was written. Use --push to write to the Hub" in shown and "--- a/README.md" in shown
    assert hub.repos[MODEL]["files"] == {"README.md": CARD.encode()} and not hub.repos[MODEL]["commits"]


def test_a_push_is_one_commit_upon_what_was_read(hub: StandIn, run: Path) -> None:
    hub.make(MODEL, {"README.md": CARD.encode(), "weights.bin": b"1"})
    base = hub.revision(MODEL)
    shown = call(run, "--model-repo", MODEL, "--push", "--dataset-repo", "llvisionqa=me/qa")
    repo = hub.repos[MODEL]
    assert f"Published: {hub.address}/{MODEL}/commit/1" in shown
    assert repo["commits"] == ["Evaluation results from eyechart"] and repo["parents"] == [base]
    assert sorted(repo["files"]) == [ENTRIES, "README.md", "weights.bin"]
    assert "Nothing to change" in call(run, "--model-repo", MODEL, "--push", "--dataset-repo", "llvisionqa=me/qa")
    # Without the dataset's repository there is no entry any more.
    shown = call(run, "--model-repo", MODEL, "--push", "--task", "mmbench/en")
    assert repo["files"][ENTRIES] == b"[]\n" and b"koniq10k" not in repo["files"]["README.md"]
    assert b"perplexity" in repo["files"]["README.md"] and len(repo["commits"]) == 2


def test_a_pull_request_leaves_the_repository_alone(hub: StandIn, run: Path) -> None:
    hub.make(MODEL, {})
    shown = call(run, "--model-repo", MODEL, "--push", "--create-pr")
    assert f"Published: {hub.address}/{MODEL}/discussions/1" in shown
    assert hub.repos[MODEL]["pull_requests"] == 1 and hub.repos[MODEL]["files"] == {}


def test_the_hub_refuses(hub: StandIn, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "could not be read" in call(run, "--model-repo", MODEL, code=1)
    assert "is not a valid repository name" in call(run, "--model-repo", "a/b/c", "--same-model", code=2)
    hub.make(MODEL, {})
    monkeypatch.setattr(
        StandIn, "revision", lambda self, name: f"{len(self.repos[name]['commits']) + next(ticks):040x}"
    )
    ticks = iter(range(100))
    assert "was not changed: " in call(run, "--model-repo", MODEL, "--push", code=1)
    monkeypatch.setenv("HF_TOKEN", "hf_of_another")
    shown = call(run, "--model-repo", MODEL, "--push", code=1)
    assert "401" in shown and "hf_of_another" not in shown
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "use --card FILE with a local copy" in call(run, "--model-repo", MODEL, code=1)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"data": {"is_mini": True}}, "the data are synthetic demo data"),
        ({"data": {"is_mini": "no"}}, "the data are synthetic demo data"),
        ({"data": {"source": str(mini.release("llvisionqa"))}}, "the data are synthetic demo data"),
        ({"settings": {"limit": 5}}, "run used --limit 5; repeat the run without --limit"),
        ({"settings": {"blind": True}}, "the questions were asked without the images; repeat the run without --blind"),
        ({"scores": None, "caveats": ["The answers are private."]}, "no score: The answers are private."),
        ({"scores": {}}, "no score; results files must not be edited"),
        ({"complete": False, "caveats": ["1 of 12 answers cannot be scored."]}, "incomplete: 1 of 12 answers"),
        ({"scores": {"sum": 1.0, "judge": "lexical"}}, "scored by word overlap (`lexical`)"),
        ({"left_out": [{"id": "x", "path": None, "reason": "no image"}]}, "1 rows were left out; use --allow-left-out"),
        ({"scores": {**ACCURACY, "n": 400}}, "the result is on 400 items, but llvisionqa (dev) has 1,495. Run"),
        ({"scores": {**ACCURACY, "n": 1496}}, "the result is on 1,496 items, but llvisionqa (dev) has 1,495. Run"),
        ({"data": {"source": "given"}}, "the data were a `Dataset` object, which may not be llvisionqa"),
    ],
)
def test_what_must_not_be_published(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    run = write(tmp_path, [evaluated(**fields), evaluated("mmbench/en", "mmbench", scores=dict(CIRCULAR))])
    (tmp_path / "card.md").write_text(CARD)
    shown = call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", tmp_path / "out", code=2)
    assert (
        "1 of 2 results cannot be published" in shown and f"q_bench/perception on llvisionqa (dev): {reason}" in shown
    )
    assert "To publish the others: --task mmbench/en" in shown and not (tmp_path / "out").exists()
    call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--task", "mmbench/en")


@pytest.mark.parametrize(
    ("count", "code", "shown"),
    [
        (1164, 0, "| 1,164 |"),
        (1176, 2, "the result is on 1,176 items of an earlier release, but mmbench (dev) has 1,164. Run"),
    ],
)
def test_of_a_split_that_was_released_twice_the_present_release_is_published(
    tmp_path: Path, count: int, code: int, shown: str
) -> None:
    scores = {**CIRCULAR, "n_questions": count}
    run = write(tmp_path, [evaluated("mmbench/en", "mmbench", scores=scores, data={"config": "en"})])
    (tmp_path / "card.md").write_text(CARD)
    assert shown in call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", code=code)
    # A board decides in the same way.
    (board,) = [one for one in BOARDS if one.task.name == "mmbench/en" and one.split == "dev"]
    assert (board.items == count) == (code == 0)


def test_an_average_is_of_all_images_of_its_databases(tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text(CARD)
    scores = {**QUALITY, "krcc": 0.7, "plcc_fitted": 0.85}
    for missing, code in ((0, 0), (12, 2)):
        made = [
            evaluated(
                "q_bench/assessment", name, "test", scores={**scores, "n": official_counts(name, None, "test")[0]}
            )
            for name in DATABASES
        ]
        made[0].scores["n"] -= missing
        run = write(tmp_path / str(missing), with_averages(made))
        shown = call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", code=code)
        assert ("the result is on 81,272 items, but average (test) has 81,284" in shown) == bool(code)


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """A run of six photographs of one's own."""
    data = {"source": "/home/me/my holidays", "rows": 6}
    made = evaluated("q_bench/assessment", "kadis700k", "test", scores={**QUALITY, "n": 6}, data=data)
    (tmp_path / "card.md").write_text(CARD)
    return write(tmp_path / "run", [made])


def test_own_data_are_published_under_a_name_of_their_own(photographs: Path, tmp_path: Path) -> None:
    arguments = (photographs, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", tmp_path / "out")
    shown = " ".join(call(*arguments, code=2).split())
    assert (
        "the result is on 6 items, but kadis700k (test) has 100" in shown
        and "a name that is not a benchmark's: --data-name NAME" in shown
    )
    call(*arguments, "--data-name", "my holidays", "--dataset-repo", "kadis700k=me/kadis")
    text = (tmp_path / "out" / "README.md").read_text()
    ours = ModelCard.load(tmp_path / "out" / "README.md").data.eval_results[1]
    assert (ours.dataset_type, ours.dataset_name) == ("my holidays", "my holidays")
    assert "| my holidays (test) | SRCC |" in text and "the publisher's own data, not a benchmark's" in text
    assert "KADIS" not in text and "/home/me" not in text and not (tmp_path / "out" / ENTRIES).exists()


@pytest.mark.parametrize("name", ["LLVisionQA", "koniq_10k", "MMBench"])
def test_own_data_have_no_name_of_a_benchmark(tmp_path: Path, name: str) -> None:
    run = write(tmp_path / "run", [evaluated()])
    (tmp_path / "card.md").write_text(CARD)
    shown = call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--data-name", name, code=2)
    assert f"{name!r} is like the name of a benchmark; choose another with --data-name NAME" in shown


def test_a_refusal_gives_all_reasons_at_once(tmp_path: Path) -> None:
    left_out = [{"id": "x", "path": None, "reason": "no image"}]
    run = write(tmp_path / "run", [evaluated(left_out=left_out, scores={**ACCURACY, "n": 6})])
    (tmp_path / "card.md").write_text(CARD)
    shown = call(run, "--model-repo", "acme/other", "--card", tmp_path / "card.md", code=2)
    assert all(option in shown for option in ("--same-model", "--allow-left-out", "--data-name NAME"))
    options = ("--same-model", "--allow-left-out", "--data-name", "six photos")
    call(run, "--model-repo", "acme/other", "--card", tmp_path / "card.md", *options)


def test_rows_left_out_are_told(tmp_path: Path) -> None:
    left_out = [
        {"id": "x", "path": None, "reason": "no image"},
        {"id": "y", "path": None, "reason": "its answer is private"},
    ]
    run = write(tmp_path, [evaluated(left_out=left_out, scores={**ACCURACY, "n": 1494})])
    (tmp_path / "card.md").write_text(CARD)
    shown = call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--allow-left-out")
    assert "1 row left out" in shown


def test_texts_of_a_run_stay_texts(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script> | [x](javascript:1) <!-- eyechart: end --> \x1b[2J"
    settings = {"judge": {"name": evil}, "extraction": "/home/me/secret/file.csv"}
    run = write(tmp_path, [evaluated(caveats=[evil], settings=settings, model=MODEL)], {"eyechart": evil})
    (tmp_path / "card.md").write_text(CARD)
    shown = call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text()
    assert "<script" not in text and text.count("<!-- eyechart: end -->") == 1 and "/home/me" not in text
    assert "\\[x\\](javascript:1)" in text and "file.csv" in text and "\x1b" not in shown + text
    (row,) = [line for line in text.splitlines() if line.startswith("| `q_bench/perception`")]
    assert len(row.replace("\\|", "").split("|")) == 9 and len(section_of(text)) <= 15


def test_a_card_says_what_intervals_rest_on(tmp_path: Path) -> None:
    about = {"accuracy": {"kind": "wilson-clustered", "units": 1169}}
    run = write(tmp_path, [evaluated(scores={**ACCURACY, "intervals": about})])
    (tmp_path / "card.md").write_text(CARD)
    shown = call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md")
    assert (
        "with a cluster-robust variance (effective number of items): q\\_bench/perception: accuracy (1,169 clusters)."
        in shown
    )


def test_undefined_intervals_are_left_out(tmp_path: Path) -> None:
    run = write(tmp_path, [evaluated(scores={**ACCURACY, "accuracy_ci95": None})])
    (tmp_path / "card.md").write_text(CARD)
    call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text()
    assert "75.00 %" in text and "nan" not in text


@pytest.mark.parametrize("subset", ["x" * 400, "../model_card/section", "<b>\x00"])
def test_a_data_set_that_is_none_of_ours_is_named_as_it_is(tmp_path: Path, subset: str) -> None:
    run = write(tmp_path, [evaluated(dataset=subset)])
    (tmp_path / "card.md").write_text(CARD)
    call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", tmp_path / "out")
    assert markdown(subset) in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--push", "--card", "x"], "leave out one"),
        (["--create-pr"], "--create-pr has no effect without --push"),
        (["--task", "mmbench/cn"], "unknown task 'mmbench/cn' in these runs; did you mean 'mmbench/en'"),
        (["--dataset-repo", "llvisionqa"], "is not DATASET=ID or DATASET=ID@REVISION"),
        (["--dataset-repo", "llvisonqa=me/x"], "did you mean 'llvisionqa'"),
        (["--source", "report.html"], "--source 'report.html' is not the address of a web page"),
        (["--model-repo", "acme/other"], "the run's model is 'acme/vlm', but the repository is 'acme/other'"),
    ],
)
def test_wrong_usage(run: Path, arguments: list[str], message: str) -> None:
    assert message in call(run, "--model-repo", MODEL, *arguments, code=2)


def test_several_runs_are_of_one_model_and_of_each_task_once(run: Path, tmp_path: Path) -> None:
    other = write(
        tmp_path / "other", [evaluated("mmbench/cn", "mmbench", scores=dict(CIRCULAR), data={"config": "cn"})]
    )
    (tmp_path / "card.md").write_text(CARD)
    card = ("--model-repo", MODEL, "--card", tmp_path / "card.md")
    assert "mmbench/cn" in call(run, other, *card)
    twice = write(tmp_path / "twice", [evaluated(scores=ACCURACY | {"accuracy": 0.5})])
    assert "is in the runs twice" in call(run, twice, *card, code=2)
    foreign = write(
        tmp_path / "foreign", [evaluated("mmbench/cn", "mmbench", scores=dict(CIRCULAR), model="acme/other")]
    )
    assert "of several models" in call(run, foreign, *card, code=2)
    assert "does not exist" in call(tmp_path / "nowhere", *card, code=1)
    assert "cannot be read as a card" in call(run, "--model-repo", MODEL, "--card", tmp_path / "none.md", code=1)


def test_a_card_that_cannot_be_read_is_left_alone(hub: StandIn, run: Path) -> None:
    for content, message in ((b"# caf\xe9", "not UTF-8"), (b"---\na: [\n---\n", "metadata are not valid YAML")):
        hub.make(MODEL, {"README.md": content})
        assert message in call(run, "--model-repo", MODEL, "--push", code=1)
        assert hub.repos[MODEL]["files"] == {"README.md": content}


def test_results_without_settings_or_of_another_schema(run: Path, tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text(CARD)
    card = ("--model-repo", MODEL, "--card", tmp_path / "card.md")
    path = run / "results.json"
    whole = json.loads(path.read_text())
    for task in whole["tasks"]:
        task["settings"] = {}
    path.write_text(json.dumps(whole))
    assert "the settings do not describe the data" in call(run, *card, code=2)
    path.write_text(json.dumps({**whole, "schema": 9}))
    assert "its schema is 9" in call(run, *card, code=1)
    path.write_text("{")
    assert "cannot be read as results" in call(run, *card, code=1)


@pytest.mark.parametrize(
    ("task", "options", "data", "reason"),
    [
        (
            "mmbench/en_v11",
            {},
            "MMBench_DEV_EN_V11.tsv",
            r"the number of items of mmbench \(dev\) is unknown; run it without",
        ),
        (
            "two_afc/coarse",
            {"databases": ["CSIQ"]},
            "two-afc",
            r"the result is on 180 items, but two_afc \(test\) has 5,148",
        ),
    ],
)
def test_a_part_of_a_benchmark_is_not_published_under_its_name(
    reference: Path, tmp_path: Path, task: str, options: dict[str, Any], data: str, reason: str
) -> None:
    """Of real runs: six questions in the file of version 1.1, whose number is not known; one database of 2AFC."""
    folder = reference / data
    if task.startswith("mmbench"):
        folder = tmp_path / "own"
        folder.mkdir()
        csv.field_size_limit(10**8)
        with open(reference / "mmbench" / "MMBench_DEV_EN_20230712.tsv", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file, delimiter="\t") if int(row["index"]) % 10**6 in range(1, 9)]
        with open(folder / data, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
            writer.writeheader()
            writer.writerows(rows)
    own = evaluator(task)
    loaded = load_data(own.definition, DataRequest(data_dir=folder, options=options, images="skip"))
    done = own.run(PredictionsFileBackend(_answers(own, loaded, tmp_path)), loaded)
    run = write(tmp_path / "run", [done])
    (tmp_path / "card.md").write_text(CARD)
    arguments = ("--model-repo", MODEL, "--card", tmp_path / "card.md")
    assert re.search(reason, " ".join(call(run, *arguments, code=2).split()))


def _answers(own: Any, loaded: Any, folder: Path) -> Path:
    """A letter for every request that the rows make."""
    lines = [
        json.dumps({"id": request.id, "pass": request.pass_name, "text": "A" if request.pass_name == "main" else "B"})
        for row in undecoded_rows(loaded.dataset)
        for request in own.protocol.requests(row)
    ]
    (folder / "answers.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "answers.jsonl"
