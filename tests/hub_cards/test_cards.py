"""Our own cards, whose front matter the Hub and its library read; results put into any card."""

import base64
import io
import re
import shutil
from importlib.resources import files
from pathlib import Path

import PIL.Image
import pytest
import yaml
from datasets import load_dataset
from huggingface_hub import DatasetCard, ModelCard, RepoCard, SpaceCard
from inspect_ai._eval.task.hf import HFTask, _record_to_sample_hf

from eyechart.datasets_scripts import DATASETS, mini
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.tasks import TASKS
from eyechart.hub_cards.model_card.benchmark import benchmark
from eyechart.hub_cards.model_card.entries import task_id
from eyechart.hub_cards.model_card.publication import BEGIN, END, merged_card, read_text
from tests.evaluators.command_line import invoke

HUB_CARDS = Path(str(files("eyechart.hub_cards")))
METRICS = sorted(Path(str(files("eyechart.metrics"))).glob("*/README.md"))
DATASET_CARDS = sorted((HUB_CARDS / "datasets").glob("*.md"))
SPACES = [*METRICS, HUB_CARDS / "leaderboard" / "page" / "README.md"]
MODEL = Path(tiny_vlm.__file__).parent / "README.md"
# What the Hub documents: https://huggingface.co/docs/hub/spaces-config-reference and the metadata of cards.
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
SIZES = {"n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M"}
LICENCES = {"apache-2.0", "mit", "cc-by-nc-sa-4.0", "cc-by-nc-4.0", "cc-by-4.0", "other"}
CATEGORIES = {
    "visual-question-answering",
    "multiple-choice",
    "image-to-text",
    "image-classification",
    "image-text-to-text",
}
DATASET_SECTIONS = (
    *("## Dataset Details", "### Source and licence", "### What is public", "### How to obtain", "## Uses"),
    *("## Dataset Structure", "### Splits", "### Columns", "## Bias, Risks, and Limitations", "Known traps:"),
    "## Citation",
)
METRIC_SECTIONS = (
    *("## Metric description", "## How to use", "## Inputs", "## Output values", "## Values from the paper"),
    *("## Limitations", "## Citation"),
)


def name(path: Path) -> str:
    return path.stem if path.stem != "README" else path.parent.name


def read(kind: type[RepoCard], path: Path) -> RepoCard:
    """A card as the Hub's library reads it; what it writes again must be the same facts."""
    text = path.read_text(encoding="utf-8")
    card = kind.load(path)
    facts = yaml.safe_load(text.split("---\n", 2)[1])
    assert text.startswith("---\n") and facts and card.data.to_dict() == facts
    return card


def in_order(card: RepoCard, sections: tuple[str, ...]) -> None:
    positions = [card.text.find(section) for section in sections]
    assert -1 not in positions and positions == sorted(positions)


def test_every_card_is_looked_at() -> None:
    folders = (HUB_CARDS, *(Path(str(files(f"eyechart.{name}"))) for name in ("metrics", "evaluators")))
    paths = [path for folder in folders for path in folder.rglob("*.md")]
    fronted = {path for path in paths if path.read_text(encoding="utf-8").startswith("---\n")}
    assert fronted == {*DATASET_CARDS, *SPACES, MODEL}
    assert {path.stem for path in DATASET_CARDS} == set(DATASETS)
    modules = {path.stem for path in Path(str(files("eyechart.metrics"))).glob("*/*.py")} - {"__init__"}
    assert {path.parent.name for path in METRICS} <= modules and len(METRICS) == 7


@pytest.mark.parametrize("path", DATASET_CARDS, ids=name)
def test_a_data_set(path: Path) -> None:
    card, subset = read(DatasetCard, path), DATASETS[path.stem]
    facts = card.data
    assert facts.license in LICENCES and facts.pretty_name
    # Where the Hub knows no name for a licence, it asks for a name and a link.
    assert facts.license != "other" or (facts.license_name and facts.license_link.startswith("http"))
    assert set(facts.size_categories) <= SIZES and set(facts.task_categories or []) <= CATEGORIES
    assert all(re.fullmatch("[a-z]{2}", language) for language in facts.language or [])
    in_order(card, DATASET_SECTIONS)
    assert not subset.on_hub or f"https://huggingface.co/datasets/{subset.on_hub})" in card.text
    assert f'load_dataset("{path.stem}"' in card.text and card.text.count("```bibtex") >= 1
    splits = card.text.partition("### Splits")[2].partition("### ")[0]
    assert all(f"`{split}`" in splits for split in subset.private or ("test",))
    assert len(subset.configs) == 1 or all(f"`{config}`" in splits for config in subset.configs)
    assert re.search(r"\d", splits) and "- " in card.text.partition("Known traps:")[2].partition("## ")[0]
    public = card.text.partition("### What is public\n")[2].partition("### ")[0]
    assert re.search(r"since (\d+ [A-Z][a-z]+ )?20\d\d|release date unknown", public) and "https://" in public
    assert not subset.private or "private" in public or "No file with answers" in public


@pytest.mark.parametrize("path", SPACES, ids=name)
def test_a_space(path: Path) -> None:
    facts = read(SpaceCard, path).data
    assert facts["title"] and facts["emoji"] and facts["license"] in LICENCES
    assert {facts["colorFrom"], facts["colorTo"]} <= COLOURS and type(facts["pinned"]) is bool
    assert len(facts.get("short_description", "")) <= 60
    assert facts["sdk"] in ("gradio", "static")
    if facts["sdk"] == "gradio":
        # The command writes the app of a metric.
        assert re.fullmatch(r"\d+\.\d+\.\d+", facts["sdk_version"]) and facts["app_file"] == "app.py"
    else:
        assert (path.parent / facts.get("app_file", "index.html")).is_file()


@pytest.mark.parametrize("path", METRICS, ids=name)
def test_a_metric(path: Path) -> None:
    card = read(SpaceCard, path)
    assert card.data["tags"] == ["evaluate", "metric"] and card.data["description"]
    in_order(card, METRIC_SECTIONS)
    assert f'load("{path.parent.name}"' in card.text


def test_the_model() -> None:
    facts = read(ModelCard, MODEL).data
    assert facts.license in LICENCES and facts.library_name == "transformers" and facts.pipeline_tag in CATEGORIES


SECTION = f"{BEGIN}\ntext\n{END}\n"
OTHERS = """\
license: mit   # not of the data
model-index:
- name: vlm
  results:
  - {task: {type: text-generation}, dataset: {name: "Wiki", type: wiki}, metrics: [{type: ppl, value: 10.50}]}
  - task: {type: other}
    metrics: [{type: acc, value: 1e-3, name: "# no\\n comment"}]
tags: [a, 'b']
"""


def entry(value: float, task: str = "q_bench/perception (eyechart)") -> dict:
    return {
        "task": {"type": "image-text-to-text", "name": task},
        "dataset": {"name": "X", "type": "x"},
        "metrics": [{"type": "accuracy", "value": value}],
    }


def with_results(metadata: str, model: str, *entries: dict) -> str:
    """The metadata of a card with results."""
    card = merged_card(f"---\n{metadata.removesuffix(chr(10))}\n---\n# Model\n", model, entries, "text")
    assert card.startswith("---\n") and card.endswith(f"\n---\n# Model\n\n{SECTION}")
    return card.removeprefix("---\n").removesuffix(f"---\n# Model\n\n{SECTION}")


def test_results_are_added_and_replaced_and_other_values_stay() -> None:
    once = with_results(OTHERS, "vlm", entry(0.5))
    before, after = yaml.safe_load(OTHERS), yaml.safe_load(once)
    assert after.pop("model-index") == [
        {"name": "vlm", "results": [*before.pop("model-index")[0]["results"], entry(0.5)]}
    ]
    assert [*after.items()] == [*before.items()]
    twice = with_results(once, "vlm", entry(0.25), entry(1.0, "mmbench/en (eyechart)"))
    results = yaml.safe_load(twice)["model-index"][0]["results"]
    assert [result["metrics"][0]["value"] for result in results[2:]] == [0.25, 1.0]
    assert with_results(twice, "vlm", entry(0.5)) == once


@pytest.mark.parametrize(
    "metadata",
    [
        *("\n", "license: mit # here", "license: mit\nmodel-index: []\n# end\n", "{license: mit, tags: [a]}"),
        "'model-index':\n- name: vlm\n\n  results: []\nz: 1 # one\n",
        "? model-index\n: [{name: vlm, results: []}]\n",
        "a: &x [1]\nb: *x\nd: 2025-01-02\nmodel-index:\n-\n  name: vlm\n  results:\n  -\n    task: {type: t}\n",
        'license: "No"\nmodel-index:\n- results:\n  - task: {type: t, name: "a b 中"}\n  name: vlm\n',
    ],
)
def test_other_styles_lose_no_value(metadata: str) -> None:
    before = yaml.safe_load(metadata) or {}
    merged = with_results(metadata, "vlm", entry(0.5))
    after = yaml.safe_load(merged)
    old = [result for model in before.get("model-index") or [] for result in model["results"]]
    assert after["model-index"] == [{"name": "vlm", "results": [*old, entry(0.5)]}]
    assert {**after, "model-index": 0} == {**before, "model-index": 0} and merged.count("model-index") == 1
    assert with_results(merged, "vlm", entry(0.5)) == merged


def test_of_several_models_the_one_with_the_name_gets_the_results() -> None:
    metadata = "model-index:\n- name: a\n  results:\n  - task: 1\n- name: vlm\n  results:\n  - task: 2\n"
    index = yaml.safe_load(with_results(metadata, "vlm", entry(0.5)))["model-index"]
    assert [len(model["results"]) for model in index] == [1, 2]


@pytest.mark.parametrize(
    "card",
    [
        *("---\na: [\n---\n", "---\n- a\n---\n", "---\n1: a\n---\n", "---\nd: 2025-99-99\n---\n"),
        "---\nmodel-index: {name: x}\n---\n",
        *("---\nmodel-index: [{name: x, results: 3}]\n---\n", "---\nmodel-index: [x]\n---\n"),
        *(f"# Model\n{marks}\n" for marks in (BEGIN, END, f"{END}{BEGIN}", f"{BEGIN}{END}{END}")),
    ],
)
def test_metadata_and_marks_that_cannot_be_read_are_refused(card: str) -> None:
    with pytest.raises(DataError, match="the card"):
        merged_card(card, "vlm", [entry(0.5)], "text")


@pytest.mark.parametrize("card", ["", "# A body\n", "---\nnever closed\n", "\n---\n\n---\nbody", "---\na: 1\n---"])
def test_a_card_without_results_gets_a_section_that_later_ones_replace(card: str) -> None:
    once = merged_card(card, "vlm", [], "text")
    assert once == (f"{card.rstrip()}\n\n" if card else "") + SECTION
    assert merged_card(f"{once}\nafter\n", "vlm", [], "new") == f"{once.replace('text', 'new')}\nafter\n"


@pytest.mark.parametrize("body", ["", "# A body\n"])
def test_a_card_without_metadata_gets_them(body: str) -> None:
    before, metadata, rest = merged_card(body, "vlm", [entry(0.5)], "text").split("---\n", 2)
    assert not before and yaml.safe_load(metadata) == {"model-index": [{"name": "vlm", "results": [entry(0.5)]}]}
    assert rest == (f"\n{body}" if body else "") + f"\n{SECTION}"


def test_line_ends_stay(tmp_path: Path) -> None:
    card = "---\nlicense: mit\n---\n\n# Model\n"
    plain = merged_card(card, "vlm", [entry(0.5)], "text")
    assert plain.startswith("---\nlicense: mit\nmodel-index:\n") and plain.endswith(f"# Model\n\n{SECTION}")
    assert merged_card(card.replace("\n", "\r\n"), "vlm", [entry(0.5)], "text") == plain.replace("\n", "\r\n")
    # With a byte order mark, the card would seem to have no metadata.
    (tmp_path / "README.md").write_bytes(b"\xef\xbb\xbf" + card.encode())
    assert read_text(tmp_path / "README.md", "README.md") == card


@pytest.mark.parametrize("subset", DATASETS)
def test_every_task_has_its_leaderboard_and_every_leaderboard_a_score(subset: str) -> None:
    tasks = [task for task in TASKS if subset in task.data.datasets]
    configs = DATASETS[subset].configs
    if not tasks:
        with pytest.raises(UsageError, match="cannot be a benchmark"):
            benchmark(subset, configs)
        return
    contents = benchmark(subset, configs, i_have_the_rights=True)
    assert set(contents) == {"name", "description", "evaluation_framework", "tasks"}
    ids = [entry["id"] for entry in contents["tasks"]]
    assert len(set(ids)) == len(ids) and set(ids) >= {task_id(task.name, task.data.splits[0]) for task in tasks}
    assert {entry["config"] for entry in contents["tasks"]} <= set(configs)
    try:
        public = benchmark(subset, configs)["tasks"]
    except UsageError:
        assert set(DATASETS[subset].private) >= {split for task in tasks for split in task.data.splits}
    else:
        assert all(entry["split"] not in DATASETS[subset].private_splits(entry["config"]) for entry in public)


def test_the_command_writes_it(tmp_path: Path) -> None:
    # In the layout of the real release, and not in the folder of mini releases.
    release = shutil.copytree(mini.release("llvisionqa"), tmp_path / "release")
    command = ["export", "llvisionqa", "--data-dir", str(release), "--benchmark", "--out", str(tmp_path / "out")]
    invoke(*command, code=0)
    contents = yaml.safe_load((tmp_path / "out" / "eval.yaml").read_text())
    assert contents["name"] == "LLVisionQA (Q-Bench)" and contents["evaluation_framework"] == "inspect-ai"
    (task,) = contents["tasks"]
    assert (task["id"], task["config"], task["split"]) == ("q_bench_perception", "default", "dev")
    # As `inspect eval hf/OWNER/NAME` reads them.
    form = HFTask.model_validate(task)
    data = load_dataset(str(tmp_path / "out"), split="dev")
    sample = _record_to_sample_hf(data[0], form.field_spec)
    text, image = sample.input[0].content
    assert (text.text, sample.choices, sample.target) == (data[0]["question"], data[0]["options"], data[0]["answer"])
    kind, _, encoded = image.image.partition(";base64,")
    assert kind == "data:image/png"
    assert PIL.Image.open(io.BytesIO(base64.b64decode(encoded))).tobytes() == data[0]["images"][0].tobytes()


def test_other_tasks_wait_until_eyechart_is_listed(tmp_path: Path) -> None:
    release = shutil.copytree(mini.release("llvisionqa_pairs"), tmp_path / "release")
    command = ["export", "llvisionqa_pairs", "--data-dir", str(release), "--benchmark", "--out", str(tmp_path / "out")]
    invoke(*command, code=0)
    contents = yaml.safe_load((tmp_path / "out" / "eval.yaml").read_text())
    assert contents["evaluation_framework"] == "eyechart"
    assert "input_image" not in load_dataset(str(tmp_path / "out"), split="dev").column_names


@pytest.mark.parametrize("folder", [False, True])
def test_a_mini_release_is_no_benchmark(tmp_path: Path, folder: bool) -> None:
    given = ["--data-dir", str(mini.release("llvisionqa"))] if folder else ["--mini"]
    done = invoke("export", "llvisionqa", "--benchmark", *given, "--out", tmp_path / "out", code=2)
    assert "--benchmark is not for synthetic demo data" in done.output
    assert not (tmp_path / "out").exists()
