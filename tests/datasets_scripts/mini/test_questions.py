"""Questions are well formed, and their answers are true of what is drawn."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from eyechart.datasets_scripts.mini.questions import (
    CONCERNS,
    DISTORTION_OPTIONS,
    PAIR_CONCERNS,
    QUESTION_TYPES,
    SEVERITY,
    Question,
    ask,
    ask_pair,
)
from eyechart.datasets_scripts.mini.scenes import DISTORTION_TYPES, LEVELS, SCENE_FACTS, Look, draw_scene
from eyechart.metrics.scoring.choices.replies import extract_choice


@cache
def drawn(kind: str, concern: str) -> list[tuple[tuple[Look, ...], Question]]:
    """Return questions with the one or two images that they are about."""
    asked = []
    for i in range(120):
        if concern in PAIR_CONCERNS:
            asked.append(ask_pair(np.random.default_rng([i, 5]), kind, concern))
        else:
            rng = np.random.default_rng([i, 3])
            look = Look(draw_scene(rng), DISTORTION_TYPES[i % 10], LEVELS[i // 10 % 5])
            asked.append(((look,), ask(look, rng, kind, concern)))
    return asked


@pytest.mark.parametrize("kind", QUESTION_TYPES)
@pytest.mark.parametrize("concern", CONCERNS + PAIR_CONCERNS)
def test_every_type_and_concern_can_be_asked(kind: str, concern: str) -> None:
    counts = {"yes-or-no": {2}, "what": {3, 4}, "how": {3}}[kind]
    places: Counter[int] = Counter()
    for looks, asked in drawn(kind, concern):
        assert len(asked.options) in counts and len(set(asked.options)) == len(asked.options)
        assert asked.question.endswith("?")
        if concern in CONCERNS:
            assert (looks[0].scene.shape in asked.question) == concern.startswith("in-context")
        # What the metrics read as an answer must be the answer.
        letter = extract_choice(asked.answer, asked.options)
        assert letter and asked.options["ABCD".index(letter)] == asked.answer
        places[asked.options.index(asked.answer)] += 1
    assert all(places[place] > 10 for place in range(min(counts))), "the right answer stands everywhere"


@pytest.mark.parametrize(
    ("kind", "concern", "fact"),
    [
        ("what", "distortion", lambda look: DISTORTION_OPTIONS[look.distortion_type]),
        ("how", "in-context other", lambda look: look.scene.size),
        ("how", "other", lambda look: look.scene.position),
        ("what", "compare distortion", lambda look: DISTORTION_OPTIONS[look.distortion_type]),
        ("what", "compare other", lambda look: look.scene.shape),
        ("what", "joint distortion", lambda look: DISTORTION_OPTIONS[look.distortion_type]),
        ("how", "joint distortion", lambda look: SEVERITY[look.level]),
        ("what", "joint other", lambda look: look.scene.shape),
        ("how", "joint other", lambda look: look.scene.position),
    ],
)
def test_answers_are_true_of_the_image(kind, concern, fact) -> None:
    for looks, asked in drawn(kind, concern):
        assert fact(looks[-1]).lower() == asked.answer.lower()
        if concern.startswith("joint"):
            assert fact(looks[0]) == fact(looks[1])
        if (kind, concern) == ("what", "compare distortion"):
            assert fact(looks[0]) != fact(looks[1])


def test_comparisons_are_true_of_what_is_drawn() -> None:
    for (first, second), asked in drawn("how", "compare distortion"):
        assert (first.scene, first.distortion_type) == (second.scene, second.distortion_type)
        assert asked.answer == ("Better", "Similar", "Worse")[int(np.sign(second.level - first.level)) + 1]
    for (first, second), asked in drawn("yes-or-no", "compare distortion"):
        assert first.level != second.level and (asked.answer == "Yes") == (first.level < second.level)
    for looks, asked in drawn("how", "compare other"):
        sizes = [SCENE_FACTS["size"].index(look.scene.size) for look in looks]
        assert asked.answer == ("Smaller", "Similar", "Larger")[int(np.sign(sizes[1] - sizes[0])) + 1]
    for looks, asked in drawn("yes-or-no", "compare other"):
        sizes = [SCENE_FACTS["size"].index(look.scene.size) for look in looks]
        assert (asked.answer == "Yes") == (sizes[0] > sizes[1])


def test_yes_and_no_are_true_of_what_is_named() -> None:
    for concern in ("distortion", "joint distortion"):
        for looks, asked in drawn("yes-or-no", concern):
            named = asked.question.partition("degraded by ")[2].rstrip("?")
            kinds = {DISTORTION_OPTIONS[look.distortion_type].lower() for look in looks}
            assert (asked.answer == "Yes") == (kinds == {named})
    for (first, second), asked in drawn("yes-or-no", "joint other"):
        assert first.scene.shape in asked.question
        assert (asked.answer == "Yes") == (first.scene.shape == second.scene.shape)


def test_yes_and_no_are_about_equally_frequent() -> None:
    answers = Counter(asked.answer for concern in CONCERNS for _, asked in drawn("yes-or-no", concern))
    assert 0.44 < answers["Yes"] / answers.total() < 0.56
    for concern in PAIR_CONCERNS:
        answers = Counter(asked.answer for _, asked in drawn("yes-or-no", concern))
        assert 0.25 < answers["Yes"] / answers.total() < 0.75
