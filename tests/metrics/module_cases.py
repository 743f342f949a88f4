"""Inputs of every metric module that bring out all that it returns, and its scores computed from items alone."""

from collections.abc import Callable
from functools import cache
from typing import Any

import eyechart.metrics
from eyechart.metrics.scoring.choices.accuracy import choice_scores
from eyechart.metrics.scoring.choices.circular import circular_scores
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies
from eyechart.metrics.scoring.choices.self_awareness import self_awareness_scores
from eyechart.metrics.scoring.inputs import ItemColumns
from eyechart.metrics.scoring.judging.answers import answer_scores
from eyechart.metrics.scoring.judging.descriptions import description_scores
from eyechart.metrics.scoring.judging.replies import JudgeSettings
from eyechart.metrics.scoring.pairs.pools import PairSettings, check_pairs
from eyechart.metrics.scoring.pairs.scores import pair_scores
from eyechart.metrics.scoring.quality.pooling import PoolingSettings
from eyechart.metrics.scoring.quality.scores import QualitySettings, quality_scores

OPTIONS = ["Yes", "No", "Medium", "I don't know"]
VAGUE = "Somewhere in between, I would say"


def votes(messages: list[dict[str, str]], n: int) -> list[str | None]:
    """Right in most rounds; unusable in all of them where the reply asks for it."""
    if "hopeless" in messages[-1]["content"]:
        return ["?"] * n
    return ["Score: 1", "?", "Score: 1", "Score: 2", None][:n]


def letters(messages: list[dict[str, str]], n: int) -> list[str | None]:
    """Names D, or X where the reply asks for it."""
    letter = "X" if "nothing" in messages[-1]["content"] else "D"
    return [letter, "what?", *[letter] * 3][:n]


CHOICES = {
    "predictions": ["A", "It is medium", VAGUE, "hopeless", "", "No"],
    "references": ["A", "B", "C", "A", "B", "B"],
    "choices": [OPTIONS, OPTIONS, OPTIONS[:3], OPTIONS, OPTIONS, OPTIONS[:2]],
    "groups": {"kind": ["x", "x", "y", "y", "z", "z"]},
    "clusters": ["cat.jpg", "cat.jpg", "dog.jpg", None, "dog.jpg", 7],
}
VOTE = {"judge": votes, "judge_template": "q_bench_vote", "questions": ["How?"] * 6, "rounds": 5}
PASSES = {
    "predictions": ["A", "B", "C", VAGUE, "A", "nothing"],
    "references": ["A", "B", "C", "A", "A", "B"],
    "choices": [["x", "y"], ["y", "x"], OPTIONS[:3], OPTIONS[:3], ["x", "y"], ["y", "x"]],
    "question_ids": ["p", "p", "q", "q", "r", "r"],
    "rotations": [0, 1, 0, 1, 0, 1],
    "groups": {"kind": ["x", "x", "y", "y", "z", "z"]},
    "clusters": ["cat.jpg", "cat.jpg", "cat.jpg", "cat.jpg", "dog.jpg", "dog.jpg"],
}
REFUSALS = {
    "predictions": ["A", "D", "D", "D", VAGUE, "I don't know", "nothing"],
    "references": ["A"] * 6 + ["B"],
    "choices": [OPTIONS] * 7,
    "refusals": ["D"] * 7,
    "forced_predictions": [None, "A", "B", VAGUE, "C", "", "A"],
    "groups": {"kind": ["x", "x", "x", "y", "y", "z", "z"]},
    "clusters": [1, 1, 1, 2, 2, 2, 2],
}
TEXTS = {
    "predictions": ["It is dark and noisy.", "A sharp dog.", "", "hopeless", "It is bright."],
    "references": ["It is dark.", "", "A cat.", "A bird.", "It is bright."],
    "clusters": ["a", "a", "b", "b", "c"],
}
QUALITY = {
    "references": [float(level % 7) for level in range(24)],
    "groups": {"half": ["a"] * 12 + ["b"] * 12},
    "resamples": 20,
    "seed": 3,
}
IMAGES = [f"image {number}" for number in range(8)]
PAIRS = [(one, other) for one in range(8) for other in range(one + 1, 8)]
COMPARED = {
    "predictions": ["A" if one % 3 else "B" if one else "neither" for one, _ in PAIRS],
    "reversed_predictions": ["B" if other % 2 else "the first image" for _, other in PAIRS],
    "first_ids": [IMAGES[one] for one, _ in PAIRS],
    "second_ids": [IMAGES[other] for _, other in PAIRS],
    "first_references": [float(one // 2) for one, _ in PAIRS],
    "second_references": [float(other // 2) for _, other in PAIRS],
    "resamples": 20,
}
POOLS = {"pool_ids": ["even" if one % 2 else "odd" for one, _ in PAIRS]}


def _replies(given: dict[str, Any]) -> Replies:
    columns = ("question_ids", "rotations", "pass_counts", "groups", "clusters")
    return Replies(None, given["references"], given["choices"], **{name: given.get(name) for name in columns})


def _choices(items: ItemColumns, given: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return choice_scores(items, _replies(given), ExtractionSettings(**settings))


def _circular(items: ItemColumns, given: dict[str, Any], missing: str = "error", **settings: Any) -> dict[str, Any]:
    return circular_scores(items, _replies(given), missing, ExtractionSettings(**settings))


def _refusals(items: ItemColumns, given: dict[str, Any], **settings: Any) -> dict[str, Any]:
    unreadable = settings.pop("unreadable_forced", "apart")
    return self_awareness_scores(items, _replies(given), ExtractionSettings(**settings), unreadable)


def _quality(items: ItemColumns, given: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return quality_scores(items, given["references"], given["groups"], QualitySettings(**settings))


def _descriptions(items: ItemColumns, given: dict[str, Any], template: str, **settings: Any) -> dict[str, Any]:
    return description_scores(items, given.get("groups"), JudgeSettings(**settings), template, given["clusters"])


def _answers(items: ItemColumns, given: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return answer_scores(items, given.get("groups"), JudgeSettings(**settings), given["clusters"])


def _pairs(items: ItemColumns, given: dict[str, Any], **settings: Any) -> dict[str, Any]:
    names = ("first_ids", "second_ids", "first_references", "second_references", "pool_ids")
    pairs = check_pairs(*(given.get(name) for name in names))
    return pair_scores(items, pairs, PairSettings(**settings))


CASES: dict[str, tuple[str, dict[str, Any], Callable[..., dict[str, Any]], dict[str, Any]]] = {
    "choice_accuracy": ("choice_accuracy", CHOICES, _choices, {}),
    "choice_accuracy, random": (
        "choice_accuracy",
        CHOICES | {"fallback": "random", "seed": 4},
        _choices,
        {"fallback": "random", "seed": 4},
    ),
    "choice_accuracy, judge": (
        "choice_accuracy",
        CHOICES | VOTE | {"judge_reads": "all"},
        _choices,
        {"judge": "votes", "judge_template": "q_bench_vote", "judge_reads": "all"},
    ),
    "circular_eval": ("circular_eval", PASSES | {"missing": "drop"}, _circular, {"missing": "drop"}),
    "circular_eval, judge": (
        "circular_eval",
        PASSES | {"judge": letters, "questions": ["How?"] * 6, "pass_counts": [2] * 6},
        _circular,
        {"judge": "letters"},
    ),
    "self_awareness": ("self_awareness", REFUSALS, _refusals, {}),
    "self_awareness, judge": (
        "self_awareness",
        REFUSALS | {"judge": letters, "questions": ["How?"] * 7, "unreadable_forced": "wrong"},
        _refusals,
        {"judge": "letters", "unreadable_forced": "wrong"},
    ),
    "softmax_iqa": (
        "softmax_iqa",
        QUALITY | {"predictions": [[level / 3, 1.0] for level in range(24)], "average_over": "half"},
        _quality,
        {"average_over": "half", "resamples": 20, "seed": 3, "pooling": PoolingSettings()},
    ),
    "judge_description": (
        "judge_description",
        TEXTS
        | {
            "judge": votes,
            "groups": {"kind": ["x", "x", "x", "y", "z"]},
            "finish_reasons": ["length", "length", "stop", "refusal", None],
        },
        _descriptions,
        {"judge": "votes", "template": "q_bench"},
    ),
    "judge_description, aesbench": (
        "judge_description",
        TEXTS | {"template": "aesbench", "rounds": 2},
        _descriptions,
        {"judge": "lexical", "template": "aesbench", "rounds": 2},
    ),
    "judge_answer": (
        "judge_answer",
        TEXTS | {"questions": ["How is it?"] * 5, "judge": votes, "rounds": 3},
        _answers,
        {"judge": "votes", "rounds": 3},
    ),
    "paired_comparison": ("paired_comparison", COMPARED, _pairs, {"resamples": 20}),
    "paired_comparison, pools": (
        "paired_comparison",
        COMPARED | POOLS | {"aggregator": "perron", "pool_weights": "images"},
        _pairs,
        {"resamples": 20, "aggregator": "perron", "pool_weights": "images"},
    ),
}


@cache
def computed(name: str) -> dict[str, Any]:
    """What the module of a case returns, with items."""
    module, given, *_ = CASES[name]
    return eyechart.metrics.load(module).compute(**given, return_items=True)
