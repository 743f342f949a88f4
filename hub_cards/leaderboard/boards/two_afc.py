"""The boards of 2AFC."""

from eyechart.hub_cards.leaderboard.board import Board, Settings
from eyechart.hub_cards.leaderboard.boards.common import ALL, LENGTHS, official_items
from eyechart.hub_cards.leaderboard.columns import number, percent

_PAIRING: Settings = {
    "data.options.rounds": (12,),
    "data.options.pairing": ("random",),
    "data.options.seed": (0,),
    "data.options.databases": ([],),
    "data.options.source": (None,),
    "data.options.sample": (None,),
}
"""How the pairs are drawn from the authors' label files."""


def _pairs(config: str, title: str, about: str, weights: str) -> Board:
    return Board(
        name=f"two_afc/{config}",
        benchmark="2AFC",
        title=title,
        about=about,
        task=f"two_afc/{config}",
        dataset="two_afc",
        split="test",
        settings={
            **ALL,
            **_PAIRING,
            **({"mm21_quality": ("opinion score",)} if config == "coarse" else {}),
            "data.config": (config,),
            "prompt_id": ("two_afc/2",),
            "orders": (["main", "reversed"],),
            "aggregator": ("map",),
            "max_new_tokens": LENGTHS,
        },
        score_settings={"aggregator": ("map",), "pool_weights": (weights,)},
        columns=(
            percent("accuracy_all", "Accuracy, all pairs", "accuracy_all_ci95"),
            percent("consistency", "Consistency", "consistency_ci95"),
            percent("accuracy_consistent", "Accuracy, consistent pairs", "accuracy_consistent_ci95"),
            number("plcc_fitted", "PLCC, fitted"),
            number("srcc", "SRCC", "srcc_ci95"),
            number("plcc", "PLCC", "plcc_ci95"),
        ),
        count="n_pairs",
        items=official_items("two_afc", config, "test"),
    )


BOARDS = (
    _pairs(
        "coarse",
        "Coarse",
        "Which of two images of one database is better, asked in both orders.",
        "images",
    ),
    _pairs(
        "fine_levels",
        "Fine, levels",
        "One content and distortion type at two levels (CSIQ).",
        "equal",
    ),
    _pairs(
        "fine_types",
        "Fine, types",
        "One content and level with two types of distortion (CSIQ).",
        "equal",
    ),
    _pairs("fine_mos", "Fine, scores", "Two images with scores of one interval (SPAQ).", "equal"),
)
