"""The boards of AesBench."""

from eyechart.hub_cards.leaderboard.board import Board
from eyechart.hub_cards.leaderboard.boards.common import (
    ACCURACY,
    CHOICE,
    JUDGED,
    NO_GUESS,
    RELEASE,
    TYPES,
    official_items,
    rated,
)
from eyechart.hub_cards.leaderboard.columns import Column, broken_down, number

_SOURCES = {"natural": "Natural", "artistic": "Artistic", "AI-generated": "AI-generated"}
_BY_SOURCE = broken_down(ACCURACY, "by source", "by_image_source", _SOURCES)
_BY_ALL_TYPES = broken_down(ACCURACY, "by type", "by_question_type", {**TYPES, "why": "Why"})
_PRIVATE = "The answers are given on request: entries come from those who hold them."


def _aesthetics(
    config: str, title: str, about: str, parts: tuple[Column, ...], prompt_id: str = "aes_bench_choice/2"
) -> Board:
    return Board(
        name=f"aes_bench/{config}",
        benchmark="AesBench",
        title=title,
        about=about,
        task=f"aes_bench/{config}",
        dataset="aesbench",
        split="test",
        settings={**CHOICE, "data.config": (config,), "prompt_id": (prompt_id,)},
        score_settings=NO_GUESS,
        columns=(ACCURACY, *parts),
        count="n",
        items=official_items("aesbench", config, "test"),
        note=_PRIVATE,
    )


BOARDS = (
    _aesthetics(
        "perception", "AesP perception", "Multiple choice on what makes an image's look.", (*_BY_SOURCE, *_BY_ALL_TYPES)
    ),
    _aesthetics(
        "empathy", "AesE empathy", "Multiple choice on what an image makes people feel.", (*_BY_SOURCE, *_BY_ALL_TYPES)
    ),
    _aesthetics(
        "assessment", "AesA assessment", "High, medium or low aesthetics.", _BY_SOURCE, "aes_bench_assessment/1"
    ),
    Board(
        name="aes_bench/interpretation",
        benchmark="AesBench",
        title="AesI interpretation",
        about="Reasons for a given aesthetic level, rated by a judge against experts' ones: three scores from 0 to 2.",
        task="aes_bench/interpretation",
        dataset="aesbench",
        split="test",
        settings={
            **RELEASE,
            "data.config": ("interpretation",),
            "prompt_id": ("aes_bench_interpretation/2",),
            "prefill": ("",),
            "max_new_tokens": (512,),
        },
        score_settings={"template": ("aesbench",), "rounds": (5,)},
        columns=(number("mean", "Mean", "mean_ci95"), *rated("relevance", "precision", "completeness")),
        count="n",
        items=official_items("aesbench", "interpretation", "test"),
        judged=True,
        note=f"{JUDGED} {_PRIVATE} The paper does not print its judge's instruction, so it is not the one used here.",
    ),
)
