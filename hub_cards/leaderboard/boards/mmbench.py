"""The boards of MMBench."""

from dataclasses import replace

from eyechart.datasets_scripts.common.choice.abilities import L2_CODES
from eyechart.hub_cards.leaderboard.board import Board
from eyechart.hub_cards.leaderboard.boards.common import LENGTHS, NO_GUESS, RELEASE, official_items
from eyechart.hub_cards.leaderboard.columns import broken_down, percent

_MEANINGS = "; ".join(f"{label}: {ability}" for ability, label in L2_CODES.items())
_CIRCULAR = percent("circular_accuracy", "CircularEval", "circular_ci95")


_PUBLIC = {
    ("en", "dev"): "2023",
    ("cn", "dev"): "October 2023",
    ("en_v11", "dev"): "April 2024",
    ("cn_v11", "dev"): "April 2024",
    ("en_v11", "test"): "2026",
    ("cn_v11", "test"): "2026",
    ("cc", "dev"): "October 2023",
}
"""Since when the answers are public; the data set's card says from where."""


def _circular(config: str, title: str, split: str = "dev") -> Board:
    by_ability = () if config == "cc" else broken_down(_CIRCULAR, "by ability", "by_l2_category", L2_CODES)
    parts = [replace(column, about=column.path[1]) for column in by_ability]
    public = f"The {split} answers are public since {_PUBLIC[config, split]}: later models may have seen them."
    return Board(
        name=f"mmbench/{config}" if split == "dev" else f"mmbench/{config}_{split}",
        benchmark="MMBench",
        title=title,
        about="Multiple choice; a question counts only if it is answered right in every pass over it.",
        task=f"mmbench/{config}",
        dataset="mmbench",
        split=split,
        settings={
            **RELEASE,
            "data.config": (config,),
            "prompt_id": ("mmbench/2",),
            "passes": ("release", "rotations"),
            "blind": (False,),
            "fallback": ("wrong",),
            "rounds": (1,),
            "missing": ("error",),
            "max_new_tokens": LENGTHS,
        },
        score_settings={**NO_GUESS, "dropped": (0,)},
        columns=(_CIRCULAR, percent("vanilla_accuracy", "VanillaEval", "vanilla_ci95"), *parts),
        count="n_questions",
        items=official_items("mmbench", config, split),
        note=f"{public} Abilities: {_MEANINGS}." if parts else public,
    )


BOARDS = (
    _circular("en", "English"),
    _circular("cn", "Chinese"),
    _circular("en_v11", "English, version 1.1"),
    _circular("cn_v11", "Chinese, version 1.1"),
    _circular("en_v11", "English, version 1.1, test", "test"),
    _circular("cn_v11", "Chinese, version 1.1, test", "test"),
    _circular("cc", "CCBench"),
)
