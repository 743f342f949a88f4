"""The boards of Q-Bench."""

from eyechart.hub_cards.leaderboard.board import Board, Settings
from eyechart.hub_cards.leaderboard.boards.common import (
    ACCURACY,
    ALL,
    CHOICE,
    JUDGED,
    NO_GUESS,
    RELEASE,
    TYPES,
    official_items,
    rated,
)
from eyechart.hub_cards.leaderboard.columns import Column, broken_down, number

_CONCERNS = {
    "distortion": "Distortion",
    "other": "Other",
    "in-context distortion": "In-context distortion",
    "in-context other": "In-context other",
}
_UNBIASED = Column("yes_no", "Yes/no, unbiased", ("yes_no", "mean"), scale=100, digits=2, unit="%")


def _perception(name: str, title: str, about: str, dataset: str, parts: tuple[Column, ...]) -> Board:
    return Board(
        name=name,
        benchmark="Q-Bench",
        title=title,
        about=about,
        task=name,
        dataset=dataset,
        split="dev",
        settings={**CHOICE, "prompt_id": ("q_bench_a1/2",)},
        score_settings=NO_GUESS,
        columns=(ACCURACY, _UNBIASED, *parts),
        count="n",
        items=official_items(dataset, None, "dev"),
    )


_BY_TYPE = broken_down(ACCURACY, "by type", "by_question_type", TYPES)
_PERCEPTION = (
    _perception(
        "q_bench/perception",
        "A1 perception",
        "Multiple choice on the low-level look of single images.",
        "llvisionqa",
        (*_BY_TYPE, *broken_down(ACCURACY, "by concern", "by_concern", _CONCERNS)),
    ),
    _perception(
        "q_bench/perception_pairs",
        "A1 perception, pairs",
        "The same on two images.",
        "llvisionqa_pairs",
        _BY_TYPE,
    ),
)
_DESCRIPTION = Board(
    name="q_bench/description",
    benchmark="Q-Bench",
    title="A2 description",
    about="Descriptions of images, rated by a judge against experts' texts: three scores from 0 to 2 and their sum.",
    task="q_bench/description",
    dataset="lldescribe",
    split="test",
    settings={**RELEASE, "prompt_id": ("q_bench_a2/2",), "prefill": ("",), "max_new_tokens": (512,)},
    score_settings={"template": ("q_bench",), "wording": ("published",), "rounds": (5,)},
    columns=(number("sum", "Sum", "sum_ci95"), *rated("completeness", "preciseness", "relevance")),
    count="n",
    items=official_items("lldescribe", None, "test"),
    judged=True,
    note=f"{JUDGED} The experts' texts are private: entries come from those who hold them.",
)
_DATABASES = {
    "koniq10k": "KonIQ-10k",
    "spaq": "SPAQ",
    "live_fb": "LIVE-FB",
    "live_itw": "LIVE-itw",
    "cgiqa6k": "CGIQA-6K",
    "agiqa3k": "AGIQA-3K",
    "kadid10k": "KADID-10k",
}
"""The databases of A3 and what they are called."""
_QUALITY: Settings = {
    "prompt_id": ("q_bench_a3/2",),
    "prefill": ("The quality of the image is",),
    "prediction": ("pooled logits of words",),
    "word_pair": ("good/poor",),
    "temperature": (100.0,),
    "ties": ("exact",),
}
_SRCC, _PLCC = number("srcc", "SRCC"), number("plcc", "PLCC")
_ASSESSMENT = (
    Board(
        name="q_bench/assessment",
        benchmark="Q-Bench",
        title="A3 assessment, average",
        about="Correlation of predicted and human quality, the plain mean over seven databases.",
        task="q_bench/assessment",
        dataset="average",
        split="test",
        settings={**ALL, **_QUALITY, "average": ("plain mean over databases",), "databases": (list(_DATABASES),)},
        columns=(
            *(_SRCC, _PLCC, number("plcc_fitted", "PLCC, fitted")),
            *broken_down(_SRCC, "SRCC by database", "by_database", _DATABASES),
            *broken_down(_PLCC, "PLCC by database", "by_database", _DATABASES),
        ),
        count="n",
        items=sum(official_items(key, None, "test") or 0 for key in _DATABASES),
        note="An average of databases has no interval, so only scores that are equal as printed share a rank.",
    ),
    *(
        Board(
            name=f"q_bench/assessment/{key}",
            benchmark="Q-Bench",
            title=f"A3, {name}",
            about=f"Correlation of predicted and human quality on {name}.",
            task="q_bench/assessment",
            dataset=key,
            split="test",
            settings={**RELEASE, **_QUALITY, "data.config": (None,)},
            columns=(
                number("srcc", "SRCC", "srcc_ci95"),
                number("plcc", "PLCC", "plcc_ci95"),
                number("plcc_fitted", "PLCC, fitted"),
                number("krcc", "KRCC"),
            ),
            count="n",
            items=official_items(key, None, "test"),
        )
        for key, name in _DATABASES.items()
    ),
)
BOARDS = (*_PERCEPTION, _DESCRIPTION, *_ASSESSMENT)
