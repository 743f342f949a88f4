"""The command and the files that it makes, read by the Hub's own library; uploads to what stands in for the Hub."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import nan
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import EvalResult, EvalResultEntry, ModelCard, parse_eval_result_entries

from eyechart.datasets_scripts.official import official_counts
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.results.finished_runs import OFFICIAL
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.tasks.q_bench import DATABASES
from eyechart.hub_cards.model_card.publication import ENTRIES
from eyechart.hub_cards.model_card.section import markdown
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import ACCURACY, MODEL, evaluated, item, write
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
CIRCULAR = {"circular_accuracy": 0.5, "circular_accuracy_ci95": [0.25, 0.75], "vanilla_accuracy": None}
CIRCULAR |= {"n_questions": 1164, "n_vanilla": 1164}
QUALITY = {"srcc": 0.9, "srcc_ci95": [0.8, 0.95], "plcc": 0.8, "plcc_ci95": [nan, nan], "n": 10073}
LEFT_OUT = {"id": "x", "path": None, "reason": "no image"}
REASONS = ("no image", "a broken image", "its answer is private")
LINKED = ("--dataset-repo", "llvisionqa=me/qa", "--source", "https://example.org/run")


def mmbench(config: str = "en", **fields: Any) -> Any:
    scores = CIRCULAR | fields.pop("scores", {})
    data = {"config": config, **fields.pop("data", {})}
    return evaluated(f"mmbench/{config}", "mmbench", scores=scores, data=data, **fields)


def assessed(dataset: str, n: int, **fields: Any) -> Any:
    return evaluated("q_bench/assessment", dataset, "test", scores={**QUALITY, "n": n}, **fields)


def pairs(n: int, **fields: Any) -> Any:
    scores, data = {"accuracy_all": 0.5, "n_pairs": n}, {"config": "coarse"}
    return evaluated("two_afc/coarse", "two_afc", "test", scores=scores, data=data, **fields)


def databases(missing: int = 0) -> list[Any]:
    """Results on the databases of Q-Bench's A3, and their average; the first lacks some images."""
    single = [assessed(name, official_counts(name, None, "test")[0]) for name in DATABASES]
    for result in single:
        result.scores.update(krcc=0.7, plcc_fitted=0.85)
    single[0].scores["n"] -= missing
    return with_averages(single)


def call(*arguments: Any, code: int = 0) -> str:
    done = invoke("publish", *arguments, code=code)
    assert TOKEN not in done.output
    return done.output


@dataclass
class Publication:
    shown: str
    """What the command printed, on one line."""
    out: Path

    @property
    def card(self) -> ModelCard:
        return ModelCard.load(self.out / "README.md")

    @property
    def results(self) -> list[EvalResult]:
        """Our results in the card's metadata."""
        first, *ours = self.card.data.eval_results
        assert first.dataset_type == "wiki"
        return ours

    @property
    def entries(self) -> list[EvalResultEntry]:
        path = self.out / ENTRIES
        return parse_eval_result_entries(yaml.safe_load(path.read_text())) if path.exists() else []

    @property
    def section(self) -> list[str]:
        """The lines of our section in the card."""
        text = (self.out / "README.md").read_text()
        return text.partition("<!-- eyechart: begin -->\n")[2].partition("\n<!-- eyechart: end -->")[0].splitlines()


Publish = Callable[..., Publication]


@pytest.fixture
def publish(tmp_path: Path) -> Publish:
    """Publishes results in a local copy of a card."""
    (tmp_path / "card.md").write_text(CARD)
    numbers = count()

    def run(evaluations: list[Any], *options: Any, code: int = 0, packages: Any = None) -> Publication:
        folder = tmp_path / str(next(numbers))
        write(folder / "run", evaluations, packages)
        local = ("--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", folder / "out")
        shown = call(folder / "run", *local, *options, code=code)
        assert (folder / "out").exists() == (code == 0)
        return Publication(" ".join(shown.split()), folder / "out")

    return run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "run", [evaluated(), mmbench(), assessed("koniq10k", 10073)])


def test_the_files_are_what_the_hub_reads(run: Path, tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text(CARD)
    shown = call(run, "--model-repo", MODEL, "--card", tmp_path / "card.md", "--out", tmp_path / "out", *LINKED)
    assert "+    - type: accuracy\n+      value: 0.75" in shown
    assert "not in .eval_results: mmbench/en on mmbench (dev): pass --dataset-repo mmbench=OWNER/NAME" in shown
    done = Publication(shown, tmp_path / "out")
    assert done.card.data["license"] == "mit" and done.card.data.model_name == "their name"
    values = [(r.dataset_type, r.dataset_config, r.dataset_split, r.metric_type, r.metric_value) for r in done.results]
    assert values == [
        ("me/qa", None, "dev", "accuracy", 0.75),
        ("lmms-lab-encoder/MMBench", "en", "dev", "circular_accuracy", 0.5),
        *(("koniq10k", None, "test", "srcc", 0.9), ("koniq10k", None, "test", "plcc", 0.8)),
    ]
    first = done.results[0]
    assert first.metric_args == {"n": 1495, "ci95": [0.5, 0.875]} and first.source_url == "https://example.org/run"
    (entry,) = done.entries
    assert (entry.dataset_id, entry.task_id, entry.value) == ("me/qa", "q_bench_perception", 0.75)
    assert (entry.source_url, entry.source_name) == ("https://example.org/run", "eyechart")
    assert entry.date == "2026-11-21T10:00:00+00:00"
    assert entry.notes.startswith("accuracy, dev, n = 1495; 95 % interval 0.5 to 0.875; prompt q_bench_a1/2; eyechart ")
    text = "\n".join(done.section)
    assert "| LLVisionQA (Q-Bench) (dev) | accuracy | 75.00 % | 50.00 to 87.50 | 25.00 % | 1,495 |" in text
    assert "| `mmbench/en` | MMBench, en (dev) | CircularEval | 50.00 % |" in text
    assert "[Report or logs](https://example.org/run)" in text and "/data/release" not in text
    assert len(done.section) <= 15 and "typer" not in text
    again = call(run, "--model-repo", MODEL, "--card", tmp_path / "out" / "README.md", *LINKED)
    assert "Nothing to change" in again


def test_a_section_of_every_task_has_no_more_lines(publish: Publish) -> None:
    others = [evaluated(name, name) for part in range(9) for name in (f"mine/{part}", f"other_{part}")]
    done = publish([evaluated(), mmbench(), *databases(), *others])
    text = "\n".join(done.section)
    assert len(done.section) <= 15
    assert "| Q-Bench | A1 Perception (dev) accuracy 75.00 % (50.00 to 87.50); A3 Assessment (test) SRCC " in text
    assert "mine | 0 (dev) accuracy 75.00 %" in text and "| 7 more | in this card's metadata |" in text
    assert len({result.task_name for result in done.results}) == 2 + 1 + 18


def test_the_revision_of_the_data_is_published(publish: Publish) -> None:
    results = [evaluated(data={"revision": "5503434d"})]
    done = publish(results)
    assert "no link to the run: pass --source URL" in done.shown
    assert (done.results[0].dataset_type, done.results[0].dataset_revision) == ("teowu/LLVisionQA-QBench", "5503434d")
    done = publish(results, "--dataset-repo", "llvisionqa=me/qa@c0ffee")
    for entry in (done.results[0], done.entries[0]):
        assert entry.dataset_revision == "c0ffee"


def test_a_task_file_s_data_are_published_as_named_there(publish: Publish) -> None:
    on_hub = evaluated("mmstar", "mmstar", "val", data={"source": "Lin-Chen/MMStar", "revision": "abc"})
    photos = {"scores": {**QUALITY, "n": 6}, "data": {"source": "/home/me/p.csv", "rows": 6}}
    results = [on_hub, evaluated("photos", "photos", "test", **photos)]
    done = publish(results)
    assert "not in .eval_results: mmstar (val), photos (test): your own data are not a benchmark" in done.shown
    assert [(r.task_name, r.dataset_type, r.dataset_name, r.dataset_revision) for r in done.results] == [
        ("mmstar (eyechart)", "Lin-Chen/MMStar", "Lin-Chen/MMStar", "abc"),
        *[("photos (eyechart)", "photos", "photos", None)] * 2,
    ]
    assert "| `photos` | test | SRCC | 0.900 |" in done.card.text and "/home/me" not in done.card.text
    ours = publish(results, "--task", "photos", "--data-name", "My photos").results[0]
    assert (ours.dataset_type, ours.dataset_name) == ("My photos", "My photos")


SAMPLE = {"sample": {"n": 300, "of": 1495, "seed": 0, "strata": ["question_type"]}}


@pytest.mark.parametrize(
    ("result", "row"),
    [
        (evaluated(scores={**ACCURACY, "accuracy": None}), "LLVisionQA (Q-Bench) (dev) | accuracy |"),
        # Whoever reads a `model-index` by the name of the dataset would take its value for the benchmark's.
        (
            evaluated(settings=SAMPLE, scores=ACCURACY | {"n": 300}),
            ", sample of 300 from 1,495 (dev) | accuracy | 75.00 %",
        ),
    ],
)
def test_a_sample_or_an_undefined_score_is_in_the_cards_table_alone(publish: Publish, result: Any, row: str) -> None:
    done = publish([result], *LINKED)
    assert (done.results, done.entries) == ([], []) and row in done.card.text


def with_model(**model: Any) -> Any:
    return evaluated(settings={"model": {"name": MODEL, **model}})


SERVED = {"backend": "openai", "served": ["else.gguf"]}
SAMPLED = [note("sampled", sampling={"temperature": 0.7, "top_p": 0.9, "seed": 0}), note("repeats", repeats=5)]


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (with_model(backend="predictions_file"), "are precomputed: eyechart did not run the model and cannot"),
        (with_model(**SERVED, served_name="else.gguf"), "accuracy"),
        (evaluated(notes=SAMPLED), "default is greedy decoding; The scores are from the first of 5 repeats; mean"),
        (
            evaluated(left_out=[LEFT_OUT | {"reason": text} for text in REASONS], scores={**ACCURACY, "n": 1493}),
            "items left out: 2",
        ),
        (evaluated(settings={"judge": {"name": "qwen"}, "max_new_tokens": 4096}), "judge qwen; max_new_tokens 4096;"),
        (evaluated(scores={**ACCURACY, "accuracy_ci95": [0.5, nan]}), "accuracy | 75.00 % | | 25.00 %"),
    ],
)
def test_card_and_entries_say_how_a_result_was_made(publish: Publish, result: Any, shown: str) -> None:
    done = publish([result], "--allow-left-out", *LINKED)
    text = " ".join([done.card.text.replace("\\_", "_"), done.entries[0].notes or ""])
    assert shown in " ".join(text.split()) and "nan" not in text
    assert ("are precomputed" in text) == ("are precomputed" in shown)


def test_a_push_is_one_commit_upon_what_was_read(hub: StandIn, run: Path) -> None:
    files = {"README.md": CARD.encode(), "weights.bin": b"1"}
    hub.make(MODEL, files)
    base, repo = hub.revision(MODEL), hub.repos[MODEL]
    shown = call(run, "--model-repo", MODEL)
    assert "Nothing was written. Use --push to write to the Hub" in shown and "--- a/README.md" in shown
    assert repo["files"] == files and not repo["commits"]
    shown = call(run, "--model-repo", MODEL, "--push", "--dataset-repo", "llvisionqa=me/qa")
    assert f"Published: {hub.address}/{MODEL}/commit/1" in shown
    assert repo["commits"] == ["Evaluation results from eyechart"] and repo["parents"] == [base]
    assert sorted(repo["files"]) == [ENTRIES, "README.md", "weights.bin"]
    assert "Nothing to change" in call(run, "--model-repo", MODEL, "--push", "--dataset-repo", "llvisionqa=me/qa")
    # Without the dataset's repository there is no entry any more.
    call(run, "--model-repo", MODEL, "--push", "--task", "mmbench/en")
    assert repo["files"][ENTRIES] == b"[]\n" and b"koniq10k" not in repo["files"]["README.md"]
    assert b"perplexity" in repo["files"]["README.md"] and len(repo["commits"]) == 2


FILES = ("results.json", "predictions.parquet", "report.html")


def test_runs_and_reports_go_into_a_bucket(
    hub: StandIn, run: Path, monkeypatch: pytest.MonkeyPatch, any_scores: None
) -> None:
    hub.make(MODEL, {})
    hub.make("me/qa", {"a": b"1"})
    sent: dict[str, Any] = {}
    # What takes the files is a service of its own.
    monkeypatch.setattr("huggingface_hub.HfApi.batch_bucket_files", lambda self, id, add: sent.update(id=id, add=add))
    given = ("--logs", "hf://buckets/me/evals/2026", "--dataset-repo", "llvisionqa=me/qa")
    shown = call(run, "--model-repo", MODEL, *given)
    page = f"{hub.address}/buckets/me/evals/tree/2026/{run.name}"
    assert page in shown and not sent and not hub.buckets
    shown = call(run, "--model-repo", MODEL, *given, "--push")
    assert sent["id"] == "me/evals" and hub.buckets == {"me/evals": "private"}
    assert [place for _, place in sent["add"]] == [f"2026/{run.name}/{name}" for name in FILES]
    assert all(Path(file).is_file() for file, _ in sent["add"])
    (entry, *_) = yaml.safe_load(hub.repos[MODEL]["files"][ENTRIES])
    assert entry["dataset"]["revision"] == hub.revision("me/qa")
    assert entry["source"]["url"] == page
    # Several runs have the folder above theirs in common.
    other = write(run.parent / "other", [mmbench("cn")])
    shown = call(run, other, "--model-repo", MODEL, *given)
    assert f"+      url: {hub.address}/buckets/me/evals/tree/2026\n" in shown and f"+      url: {page}" not in shown


def test_a_pull_request_leaves_the_repository_alone(hub: StandIn, run: Path) -> None:
    hub.make(MODEL, {})
    shown = call(run, "--model-repo", MODEL, "--push", "--create-pr")
    assert f"Published: {hub.address}/{MODEL}/discussions/1" in shown
    assert hub.repos[MODEL]["pull_requests"] == 1 and hub.repos[MODEL]["files"] == {}


def test_the_hub_refuses(hub: StandIn, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "could not be read" in call(run, "--model-repo", MODEL, code=1)
    assert "is not a valid repository name" in call(run, "--model-repo", "a/b/c", "--same-model", code=2)
    hub.make(MODEL, {})
    ticks = count()
    monkeypatch.setattr(StandIn, "revision", lambda self, name: f"{next(ticks):040x}")
    assert "was not changed: " in call(run, "--model-repo", MODEL, "--push", code=1)
    monkeypatch.setenv("HF_TOKEN", "hf_of_another")
    shown = call(run, "--model-repo", MODEL, "--push", code=1)
    assert "401" in shown and "hf_of_another" not in shown
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "use --card FILE with a local copy" in call(run, "--model-repo", MODEL, code=1)


def test_a_card_that_cannot_be_read_is_left_alone(hub: StandIn, run: Path) -> None:
    hub.make(MODEL, {"README.md": b"# caf\xe9"})
    assert "not UTF-8" in call(run, "--model-repo", MODEL, "--push", code=1)
    assert hub.repos[MODEL]["files"] == {"README.md": b"# caf\xe9"}


SYNTHETIC = "the data are synthetic demo data, or the settings do not say"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (evaluated(data={"is_mini": True}), SYNTHETIC),
        (evaluated(settings={"limit": 5}), "run used --limit 5; repeat the run without --limit"),
        (evaluated(complete=False, notes=[note("forced_missing", missing=1, asked=12)]), "incomplete: 1 of 12 refused"),
        (evaluated(scores={"sum": 1.0, "judge": "lexical"}), "scored by word overlap (`lexical`)"),
        (evaluated(left_out=[LEFT_OUT]), "1 rows were left out; use --allow-left-out"),
        (evaluated(scores={**ACCURACY, "n": 1494}), "the result is on 1,494 items, but llvisionqa (dev) has 1,495."),
        (evaluated(data={"source": "given"}), "the data were a `Dataset` object, which may not be llvisionqa"),
        # One database of 2AFC, and a file of a version whose number of questions is not known.
        (pairs(180), "the result is on 180 items, but two_afc (test) has 5,148. Run"),
        (mmbench("en_v11", data={"source": "/data"}), "the data are from a folder, and the number of"),
        (with_model(**SERVED, served_name=None), f"The server answered as 'else.gguf', but '{MODEL}' was requested"),
        (evaluated(items=[item("q1", options=["x", "y"], answer="A")]), "scores.accuracy is 0.75; its pred"),
    ],
)
def test_one_refused_result_leaves_the_others_publishable(publish: Publish, result: Any, reason: str) -> None:
    shown = publish([result, mmbench()], code=2).shown
    title = f"{result.task} on {result.dataset} ({result.split})"
    assert f"1 of 2 results cannot be published: {title}: {reason}" in " ".join(shown.split())
    assert "To publish the others: --task mmbench/en" in shown


def test_a_refusal_gives_all_reasons_at_once(publish: Publish) -> None:
    results = [evaluated(left_out=[LEFT_OUT], scores={**ACCURACY, "n": 6}, data={"rows": 7})]
    publish([*results, mmbench()], "--task", "mmbench/en")
    shown = publish(results, "--model-repo", "acme/zoo", code=2).shown
    assert all(option in shown for option in ("--same-model", "--allow-left-out", "--data-name NAME"))
    options = ("--same-model", "--allow-left-out", "--data-name", "six photos")
    assert "| six photos (dev) | accuracy |" in publish(results, "--model-repo", "acme/zoo", *options).card.text


def test_the_present_release_and_all_images_of_an_average_count(publish: Publish) -> None:
    assert "| 1,164 |" in publish([mmbench(), mmbench("en_v11", data={"source": OFFICIAL})]).card.text
    shown = publish([mmbench(scores={"n_questions": 1176})], code=2).shown
    assert "the result is on 1,176 items of an earlier release, but mmbench (dev) has 1,164. Run" in shown
    shown = publish(databases(missing=12), code=2).shown
    assert "the result is on 81,272 items, but average (test) has 81,284" in shown
    # An image of 2AFC that is missing leaves out a pair in each round at most.
    for missing, code in ((12, 0), (13, 2)):
        publish([pairs(5148 - missing, left_out=[LEFT_OUT])], "--allow-left-out", code=code)


def test_own_data_are_published_under_a_name_of_their_own(publish: Publish) -> None:
    results = [assessed("kadis700k", 6, data={"source": "/home/me/my holidays", "rows": 6})]
    shown = publish(results, code=2).shown
    assert "the result is on 6 items, but kadis700k (test) has 100" in shown
    assert "a name that is not a benchmark's: --data-name NAME" in shown
    done = publish(results, "--data-name", "my holidays", "--dataset-repo", "kadis700k=me/kadis")
    text, ours = done.card.text, done.results[0]
    assert (ours.dataset_type, ours.dataset_name, done.entries) == ("my holidays", "my holidays", [])
    assert "| my holidays (test) | SRCC |" in text and "The data are the publisher's own, not a benchmark's" in text
    assert "KADIS" not in text and "/home/me" not in text
    averaged = databases()[-3:]
    assert publish(averaged, "--data-name", "my holidays").card.text.count("| `q_bench/assessment` |") == 2
    assert "results of none" in publish(averaged[2:], "--data-name", "my holidays", code=2).shown
    shown = publish(results, "--data-name", "koniq_10k", code=2).shown
    assert "'koniq_10k' is like the name of a benchmark; choose another with --data-name NAME" in shown


def test_texts_of_a_run_stay_texts(publish: Publish) -> None:
    evil = "<script>alert(1)</script> | [x](javascript:1) <!-- eyechart: end --> \x1b[2J"
    settings = {"judge": {"name": evil}, "extraction": "/home/me/secret/file.csv"}
    result = evaluated(notes=[note("average_missing", of=7, missing=[evil])], settings=settings)
    done = publish([result], packages={"eyechart": evil})
    text = done.card.text
    assert "<script" not in text and text.count("<!-- eyechart: end -->") == 1 and "/home/me" not in text
    assert "\\[x\\](javascript:1)" in text and "file.csv" in text and "\x1b" not in done.shown + text
    (row,) = [line for line in text.splitlines() if line.startswith("| `q_bench/perception`")]
    assert len(row.replace("\\|", "").split("|")) == 9 and len(done.section) <= 15
    for dataset in ("x" * 400, "../model_card/section", "<b>\x00"):
        assert markdown(dataset) in publish([evaluated(dataset=dataset)]).card.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--create-pr"], "--create-pr has no effect without --push"),
        (["--task", "mmbench/cn"], "unknown task 'mmbench/cn' in these runs; did you mean 'mmbench/en'"),
        (["--dataset-repo", "llvisionqa"], "is not DATASET=ID or DATASET=ID@REVISION"),
        (["--model-repo", "acme/other"], "the run's model is 'acme/vlm', but the repository is 'acme/other'"),
    ],
)
def test_wrong_usage(run: Path, arguments: list[str], message: str) -> None:
    assert message in call(run, "--model-repo", MODEL, *arguments, code=2)


def test_several_runs_are_of_one_model_and_of_each_task_once(run: Path, tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text("# A model\n")
    card = ("--model-repo", MODEL, "--card", tmp_path / "card.md")
    shown = call(run, write(tmp_path / "other", [mmbench("cn")]), *card)
    assert "mmbench/cn" in shown and "+- name: vlm\n" in shown
    assert "is in the runs twice" in call(run, write(tmp_path / "twice", [evaluated()]), *card, code=2)
    foreign = write(tmp_path / "foreign", [mmbench("cn", model="acme/other")])
    assert "a repository has one model" in call(run, foreign, *card, code=2)
    assert "does not exist" in call(tmp_path / "nowhere", *card, code=1)
    assert "none.md: cannot be read" in call(run, "--model-repo", MODEL, "--card", tmp_path / "none.md", code=1)
