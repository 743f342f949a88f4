"""Cards of datasets, metrics, the model and Spaces: sections, and front matter that the Hub and its library read."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from huggingface_hub import DatasetCard, ModelCard, RepoCard, SpaceCard

from eyechart.datasets_scripts import DATASETS
from eyechart.evaluators import tiny_vlm

HUB_CARDS = Path(str(files("eyechart.hub_cards")))
METRICS = sorted(Path(str(files("eyechart.metrics"))).glob("*/README.md"))
DATASET_CARDS = sorted((HUB_CARDS / "datasets").glob("*.md"))
SPACES = [*METRICS, HUB_CARDS / "leaderboard" / "page" / "README.md"]
MODEL = Path(tiny_vlm.__file__).parent / "README.md"
# What the Hub documents: https://huggingface.co/docs/hub/spaces-config-reference and the metadata of cards.
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
SIZES = {"n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M"}
LICENCES = {"apache-2.0", "mit", "cc-by-nc-sa-4.0", "cc-by-nc-4.0", "cc-by-4.0", "other"}
TASKS = {"visual-question-answering", "multiple-choice", "image-to-text", "image-classification", "image-text-to-text"}
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
    assert set(facts.size_categories) <= SIZES and set(facts.task_categories or []) <= TASKS
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
    assert facts.license in LICENCES and facts.library_name == "transformers" and facts.pipeline_tag in TASKS
