from collections import Counter

import numpy as np
import pytest

from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES, LEVELS
from eyechart.datasets_scripts.mini.questions import CONCERNS, DISTORTION_OPTIONS, QUESTION_TYPES, ask
from eyechart.datasets_scripts.mini.scenes import COLORS, POSITIONS, SHAPES, SIZES, draw_scene
from eyechart.metrics.scoring.choices.replies import extract_choice


def questions(kind, concern, count=120):
    for i in range(count):
        rng = np.random.default_rng([i, 3])
        scene = draw_scene(rng)
        distortion, level = DISTORTION_TYPES[i % 10], LEVELS[i // 10 % 5]
        yield scene, distortion, level, ask(scene, distortion, level, rng, question_type=kind, concern=concern)


@pytest.mark.parametrize("kind", QUESTION_TYPES)
@pytest.mark.parametrize("concern", CONCERNS)
def test_every_type_and_concern_can_be_asked(kind, concern):
    counts = {"yes-or-no": {2}, "what": {3, 4}, "how": {3}}[kind]
    answers = Counter()
    for scene, _, _, question in questions(kind, concern):
        assert question.answer in question.options
        assert len(set(question.options)) == len(question.options)
        assert len(question.options) in counts
        assert (question.question_type, question.concern) == (kind, concern)
        assert question.question.endswith("?")
        in_context = concern.startswith("in-context")
        assert (scene.shape in question.question) == in_context
        # What the metrics read as an answer must be the answer.
        letter = extract_choice(question.answer, question.options)
        assert question.options["ABCD".index(letter)] == question.answer
        answers[question.options.index(question.answer)] += 1
    assert all(answers[place] > 10 for place in range(min(counts))), "the right answer stands everywhere"


def test_answers_are_true_of_the_scene():
    for scene, distortion, _, question in questions("what", "distortion"):
        assert question.answer == DISTORTION_OPTIONS[distortion], scene
    for scene, _, _, question in questions("how", "in-context other"):
        assert question.answer.lower() == scene.size
    for scene, _, _, question in questions("how", "other"):
        assert question.answer.lower() == scene.position
    for scene, distortion, _, question in questions("yes-or-no", "distortion"):
        named = DISTORTION_OPTIONS[distortion].lower() in question.question
        assert question.answer == ("Yes" if named else "No"), scene


def test_yes_and_no_are_equally_frequent():
    answers = Counter(q.answer for concern in CONCERNS for *_, q in questions("yes-or-no", concern, 250))
    assert 0.44 < answers["Yes"] / sum(answers.values()) < 0.56


def test_scenes_repeat_by_seed_and_vary_between_seeds():
    assert draw_scene(np.random.default_rng(4)).image.tobytes() == draw_scene(np.random.default_rng(4)).image.tobytes()
    scenes = [draw_scene(np.random.default_rng(i), size=32) for i in range(200)]
    assert len({scene.image.tobytes() for scene in scenes}) == 200
    assert {scene.image.size for scene in scenes} == {(32, 32)}
    assert {scene.shape for scene in scenes} == set(SHAPES)
    assert {scene.color for scene in scenes} == {scene.background for scene in scenes} == set(COLORS)
    assert {scene.position for scene in scenes} == set(POSITIONS)
    assert {scene.size for scene in scenes} == set(SIZES)
    assert all(scene.color != scene.background for scene in scenes)
