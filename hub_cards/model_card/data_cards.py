"""What the cards of our data sets tell."""

from importlib.resources import files

from eyechart.datasets_scripts.catalog import DATASETS


def pretty_name(subset: str) -> str:
    """What a data set's card calls it; our own name where there is no card."""
    from huggingface_hub import DatasetCard

    if subset not in DATASETS:
        return subset
    card = files("eyechart.hub_cards") / "datasets" / f"{subset}.md"
    return str(DatasetCard(card.read_text(encoding="utf-8")).data["pretty_name"])
