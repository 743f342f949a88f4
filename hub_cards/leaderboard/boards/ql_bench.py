"""The boards of QL-Bench."""

from eyechart.hub_cards.leaderboard.board import Board, Settings
from eyechart.hub_cards.leaderboard.boards.common import CHOICE, NO_GUESS, TYPES, official_items
from eyechart.hub_cards.leaderboard.columns import Column, broken_down, percent


def _without_options(settings: Settings) -> Settings:
    return {name: allowed for name, allowed in settings.items() if name != "data.options"}


def _points(name: str, label: str) -> Column:
    """A column for a score that is a percentage as it stands."""
    return Column(name, label, (name,), (f"{name}_ci95",), digits=2, unit="%")


_AWARENESS = _points("score_sa", "Self-awareness")


def _self_awareness(config: str, title: str) -> Board:
    return Board(
        name=f"ql_bench/{config}",
        benchmark="QL-Bench",
        title=title,
        about='Right answers and right refusals, in percent, where "I don\'t know" is among the options.',
        task=f"ql_bench/{config}",
        dataset="llsavisionqa",
        split="dev",
        settings={
            **_without_options(CHOICE),
            "data.options.refusal_position": ("last",),
            "data.config": (config,),
            "prompt_id": ("q_bench_a1/2",),
            "fallback": ("wrong",),
        },
        score_settings=NO_GUESS,
        columns=(
            _AWARENESS,
            _points("score_cc", "Right answers"),
            _points("score_rc", "Right refusals"),
            percent("answer_rate", "Answer rate", "answer_rate_ci95"),
            percent("answer_accuracy", "Answer accuracy", "answer_accuracy_ci95"),
            *broken_down(_AWARENESS, "by type", "by_question_type", TYPES),
        ),
        count="n",
        items=official_items("llsavisionqa", config, "dev"),
    )


BOARDS = (_self_awareness("single", "Single images"), _self_awareness("pair", "Pairs"))
