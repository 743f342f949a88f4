"""The environment that the pages assume: a folder with data, models and runs, a server, a judge, the Hub's cache.

The data are small synthetic releases passed with `--data-dir`, so that runs count as runs on real data. The models are
small, with the architecture that their names suggest.
"""

import copy
import csv
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import datasets
import openpyxl
import pytest
import torch
from PIL import Image
from pytest_httpserver import HTTPServer
from transformers import AutoModelForImageTextToText, AutoProcessor
from typer.testing import CliRunner
from werkzeug import Request

from eyechart.datasets_scripts import load_dataset, mini, official
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.answer_files import aes_bench_answer_file
from eyechart.evaluators.cli import app
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.tasks import TASKS
from eyechart.hub_cards.leaderboard import boards
from tests.evaluators.backends import architectures
from tests.evaluators.backends.endpoint.model_server import ModelServer
from tests.evaluators.scripted_server import PATH, Script, completion
from tests.evaluators.tasks.doors import mmbench_rows, write_pairs, write_photos, write_questions, write_release

RELEASES = {
    "LLVisionQA": "llvisionqa",
    "LLDescribe": "lldescribe",
    "Q-Bench2": "llvisionqa_pairs",
    "AesBench": "aesbench",
    "2AFC": "two_afc",
    "koniq": "koniq10k",
    "spaq": "spaq",
    "agiqa": "agiqa3k",
    "tsv": "mmbench",
    "MMBench": "mmbench",
    "release": "aesbench",
}
"""Folders in `path/to`, and the dataset of each."""
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def invoke(*arguments: str) -> None:
    """Run a command in this process and in the current folder; it must succeed."""
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, f"eyechart {' '.join(arguments)}\n{done.output}"


def _build(folder: Path) -> None:
    """Fill the folder, which must be the current folder."""
    releases = Path("path/to")
    releases.mkdir(parents=True)
    for name, dataset in RELEASES.items():
        shutil.copytree(mini.release(dataset), releases / name)
    _models(releases)
    _runs()
    _predictions(releases)
    _answer_file(releases)
    _regressor()
    _seed_bench()
    write_release(releases / "K-MMBench" / "data" / "dev-00000-of-00001.parquet", mmbench_rows())
    write_questions(folder)
    write_photos(folder)
    write_pairs(folder)
    for example in EXAMPLES.iterdir():
        shutil.copy(example, folder)
    for run, model, name in (("mine", "checkpoint", "me/model"), ("theirs", "other", "them/model")):
        given = ("--model", f"path/to/{model}", "--name", name, "--out", f"boards/{run}")
        invoke("run", "opinion_scores.yaml", *given)


def _models(folder: Path) -> None:
    """Two checkpoints with similar but different answers, and an adapter for the first."""
    import peft

    shutil.copytree(tiny_vlm.folder(), folder / "checkpoint")
    shutil.copytree(tiny_vlm.folder(), folder / "base")
    model = AutoModelForImageTextToText.from_pretrained(folder / "base")
    adapted = peft.get_peft_model(copy.deepcopy(model), peft.LoraConfig(r=2, target_modules=["q_proj"]))
    adapted.save_pretrained(folder / "lora")
    drawn = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter += 0.1 * parameter.std() * torch.randn(parameter.shape, generator=drawn)
    model.save_pretrained(folder / "other")
    AutoProcessor.from_pretrained(folder / "base").save_pretrained(folder / "other")


def _runs() -> None:
    """Runs of both models, and of the first model without images, on private questions and on descriptions."""
    small = ["run", "q_bench/perception", "mmbench/en", "q_bench/assessment"]
    for folder in ("llvisionqa=path/to/LLVisionQA", "mmbench=path/to/tsv", "koniq10k=path/to/koniq"):
        small += ["--data-dir", folder]
    models = {"mine": ("path/to/checkpoint", "me/model"), "theirs": ("path/to/other", "them/model")}
    for run, (model, name) in models.items():
        invoke(*small, "--model", model, "--name", name, "--out", f"eyechart_runs/{run}")
        shutil.copytree(f"eyechart_runs/{run}", f"entries/{run}")
    shutil.copytree("eyechart_runs/theirs", "eyechart_runs/third")
    for step, run in ((500, "theirs"), (1000, "mine")):
        shutil.copytree(f"eyechart_runs/{run}", f"vlm/checkpoint-{step}")
    task = ("run", "q_bench/perception", "--model", "path/to/checkpoint", "--data-dir", "path/to/LLVisionQA")
    invoke(*task, "--out", "seeing")
    invoke(*task, "--blind", "--out", "blind")
    invoke(*task, "--split", "test", "--out", "eyechart_runs/private")
    task = ("run", "q_bench/description", "--model", "path/to/checkpoint", "--data-dir", "path/to/LLDescribe")
    invoke(*task, "--limit", "12", "--out", "eyechart_runs/described")


def _predictions(releases: Path) -> None:
    """Predictions in the formats of several tools, and descriptions with scores."""
    rows = load_dataset("llvisionqa", split="dev", data_dir=releases / "LLVisionQA", images="skip")
    lines = [json.dumps({"id": row["id"], "text": "B"}) for row in rows]
    Path("answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with (releases / "tsv" / "MMBench_DEV_EN.tsv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    book = openpyxl.Workbook()
    columns = [name for name in table[0] if name != "image"]
    book.active.append([*columns, "prediction"])
    for line in table:
        book.active.append([*(line[name] for name in columns), "A"])
    book.save("LLaVA_MMBench_DEV_EN.xlsx")
    ids = load_dataset("koniq10k", split="test", data_dir=releases / "koniq", images="skip")["id"]
    for path, head in (("niqe.csv", "image,score"), ("scores.csv", "id,score")):
        values = "\n".join(f"{name},{len(ids) - place}" for place, name in enumerate(ids))
        Path(path).write_text(f"{head}\n{values}\n", encoding="utf-8")
    logits = load_dataset("agiqa3k", split="test", data_dir=releases / "agiqa", images="skip")
    Path("IQA_outputs/idefics").mkdir(parents=True)
    texts = [
        json.dumps({"img_path": row["id"], "gt_score": row["quality"], "logit_good": row["quality"], "logit_poor": 1})
        for row in logits
    ]
    Path("IQA_outputs/idefics/agi.json").write_text("".join(texts), encoding="utf-8")
    texts = load_dataset("aesbench", "interpretation", split="test", data_dir=releases / "AesBench", images="skip")
    with open("pairs.csv", "w", newline="", encoding="utf-8") as file:
        written = csv.writer(file)
        written.writerow(["id", "description", "score"])
        written.writerows((row["id"], row["description"], place % 7) for place, row in enumerate(texts))


def _answer_file(releases: Path) -> None:
    """An answer file for AesBench, as written by `eyechart submit`."""
    rows = load_dataset("aesbench", "empathy", split="test", data_dir=releases / "AesBench", images="skip")
    ((name, content),) = aes_bench_answer_file("AesE", rows, ["A"] * len(rows)).items()
    Path(name).write_bytes(content)


def _regressor() -> None:
    """A regressor, as trained by `eyechart text-to-score train`."""
    with tempfile.TemporaryDirectory() as folder:
        for part in _bert():
            part.save_pretrained(folder)
        invoke("text-to-score", "train", "pairs.csv", "--model", folder, "--epochs", "1", "--out", "regressor")


def _seed_bench() -> None:
    """A table with the columns of SEED-Bench's Parquet files, except those for videos."""
    words = ("red", "green", "blue", "black")
    row: dict[str, Any] = {"answer": "A", **{f"choice_{at}": word for at, word in zip("abcd", words, strict=True)}}
    row |= {"data_type": "image", "question": "Which colour is it?", "question_id": "101669"}
    features = datasets.Features({**dict.fromkeys(row, datasets.Value("string")), "image": [datasets.Image()]})
    row["image"] = [Image.new("RGB", (32, 32), "red")]
    datasets.Dataset.from_list([row], features=features).to_parquet("seed.parquet")


def _fill_cache(cache: Path) -> None:
    """Put small models into an offline Hub cache, under the names used on the pages."""
    makers: dict[str, Callable[[], Any]] = {
        "llava-hf/llava-1.5-7b-hf": architectures.llava,
        "openai/clip-vit-large-patch14": _clip,
        "google-bert/bert-base-uncased": _bert,
    }
    for name, make in makers.items():
        with torch.random.fork_rng():
            torch.manual_seed(0)
            parts = make()
        folder = cache / f"models--{name.replace('/', '--')}"
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text("0" * 40)
        for part in parts:
            part.save_pretrained(folder / "snapshots" / ("0" * 40))


def _clip() -> tuple[Any, ...]:
    from transformers import CLIPProcessor

    model, words, images = architectures.dual_encoder("clip")
    return model, CLIPProcessor(images, words)


def _bert() -> tuple[Any, ...]:
    from transformers import BertConfig, BertModel

    words = architectures.tokenizer({"cls_token": "[CLS]", "sep_token": "[SEP]"})
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    return BertModel(BertConfig(vocab_size=len(words), max_position_embeddings=256, **sizes)), words


@pytest.fixture(scope="session")
def _prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.chdir(folder)
        patch.setattr("eyechart.evaluators.runs.run._write_report", lambda *arguments: True)
        _build(folder)
    return folder


@pytest.fixture(scope="session")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("hub")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _fill_cache(folder)
    return folder


def judged(request: Request) -> Any:
    """The requested number of judge replies, in the format that the template requires."""
    body = json.loads(request.data)
    prompt = str(body["messages"][-1]["content"])
    forms = (("format: Score:", "Score: 2"), ("Your output:", "A"))
    reply = next((form for asked, form in forms if asked in prompt), "1")
    return completion(*[reply] * body.get("n", 1))


@pytest.fixture(scope="session")
def addresses() -> Iterator[dict[str, str]]:
    """The addresses of the server and the judge on the pages, and the ones that replace them in a test."""
    folder = tiny_vlm.folder()
    with warnings.catch_warnings(), HTTPServer(threaded=True) as server, HTTPServer(threaded=True) as judge:
        warnings.simplefilter("ignore")
        tiny = ModelServer(AutoModelForImageTextToText.from_pretrained(folder), AutoProcessor.from_pretrained(folder))
        server.expect_request(PATH, method="POST").respond_with_handler(tiny.respond)
        server.expect_request("/tokenize", method="POST").respond_with_handler(tiny.tokenize)
        Script(judge).say(judged)
        yield {"http://127.0.0.1:8000/v1": server.url_for("/v1"), "http://127.0.0.1:8001/v1": judge.url_for("/v1")}


@pytest.fixture
def folder(_prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the prepared folder as the current folder; models and releases, which no test changes, are links."""
    for path in _prepared.iterdir():
        if path.name == "path":
            (tmp_path / path.name).symlink_to(path)
        elif path.is_dir():
            shutil.copytree(path, tmp_path / path.name)
        else:
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def offline_hub(_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the models named on the pages into the Hub's cache."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(_cache))
    monkeypatch.setattr("transformers.utils.hub.constants.HF_HUB_CACHE", str(_cache))


@pytest.fixture
def official_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the item counts of the small releases official, so that their runs can be published."""
    counts: dict[tuple[str, str, str], Any] = dict(official.OFFICIAL)
    (run,) = read_runs(["eyechart_runs/mine"])
    for result in run.results.tasks:
        config = result.settings["data"]["config"] or "default"
        n = result.scores.get("n_questions") or result.scores["n"]
        counts[result.dataset, config, result.split] = (n,)
    monkeypatch.setattr(official, "OFFICIAL", MappingProxyType(counts))
    again = (board for task in TASKS for board in boards._boards(task))
    for board, with_counts in zip(boards.BOARDS, again, strict=True):
        monkeypatch.setitem(vars(board), "items", with_counts.items)


@pytest.fixture
def at_hand(folder: Path, addresses: dict[str, str], offline_hub: None, official_counts: None) -> Callable[[str], str]:
    """Replaces the addresses in a page's text by the test's addresses."""

    def put(text: str) -> str:
        for shown, own in addresses.items():
            text = text.replace(shown, own)
        return text

    return put
