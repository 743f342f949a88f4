from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from eyechart.datasets_scripts.mini.pair_questions import PAIR_CONCERNS, PairQuestion, ask_pair
from eyechart.datasets_scripts.mini.questions import DISTORTION_OPTIONS, QUESTION_TYPES, severity
from eyechart.datasets_scripts.mini.scenes import SIZES
from eyechart.metrics.scoring.choices.replies import extract_choice


def questions(kind: str, concern: str, count: int = 60) -> Iterator[PairQuestion]:
    for index in range(count):
        yield ask_pair(np.random.default_rng([index, 5]), question_type=kind, concern=concern)


@pytest.mark.parametrize("kind", QUESTION_TYPES)
@pytest.mark.parametrize("concern", PAIR_CONCERNS)
def test_every_type_and_concern_can_be_asked(kind: str, concern: str) -> None:
    counts = {"yes-or-no": {2}, "what": {3, 4}, "how": {3}}[kind]
    places = Counter()
    for asked in questions(kind, concern):
        assert len(asked.options) in counts and len(set(asked.options)) == len(asked.options)
        assert asked.question.endswith("?")
        # What the metrics read as an answer must be the answer.
        letter = extract_choice(asked.answer, asked.options)
        assert asked.options["ABCD".index(letter)] == asked.answer
        places[asked.options.index(asked.answer)] += 1
    assert all(places[place] > 5 for place in range(min(counts))), "the right answer stands everywhere"


def test_comparisons_are_true_of_what_is_drawn() -> None:
    for asked in questions("how", "compared distortion"):
        first, second = asked.looks
        assert (first.scene, first.distortion_type) == (second.scene, second.distortion_type)
        expected = "Similar" if first.level == second.level else "Worse" if first.level < second.level else "Better"
        assert asked.answer == expected
    for asked in questions("yes-or-no", "compared distortion"):
        first, second = asked.looks
        assert first.level != second.level and (asked.answer == "Yes") == (first.level < second.level)
    for asked in questions("what", "compared distortion"):
        first, second = asked.looks
        assert first.distortion_type != second.distortion_type
        assert asked.answer == DISTORTION_OPTIONS[second.distortion_type]
    for asked in questions("how", "compared other"):
        sizes = [SIZES.index(look.scene.size) for look in asked.looks]
        assert asked.answer == ("Smaller", "Similar", "Larger")[int(np.sign(sizes[1] - sizes[0])) + 1]
    for asked in questions("yes-or-no", "compared other"):
        sizes = [SIZES.index(look.scene.size) for look in asked.looks]
        assert (asked.answer == "Yes") == (sizes[0] > sizes[1])
    for asked in questions("what", "compared other"):
        assert asked.answer.lower() == asked.looks[1].scene.shape


def test_joint_questions_hold_for_both_images() -> None:
    for asked in questions("yes-or-no", "joint distortion"):
        kinds = {DISTORTION_OPTIONS[look.distortion_type].lower() for look in asked.looks}
        named = asked.question.partition("degraded by ")[2].rstrip("?")
        assert (asked.answer == "Yes") == (kinds == {named})
    for asked in questions("what", "joint distortion"):
        assert {DISTORTION_OPTIONS[look.distortion_type] for look in asked.looks} == {asked.answer}
    for asked in questions("how", "joint distortion"):
        assert {severity(look.level) for look in asked.looks} == {asked.answer}
    for asked in questions("yes-or-no", "joint other"):
        shapes = {look.scene.shape for look in asked.looks}
        assert asked.looks[0].scene.shape in asked.question and (asked.answer == "Yes") == (len(shapes) == 1)
    for asked in questions("what", "joint other"):
        assert {look.scene.shape for look in asked.looks} == {asked.answer.lower()}
    for asked in questions("how", "joint other"):
        assert {look.scene.position for look in asked.looks} == {asked.answer.lower()}


@pytest.mark.parametrize("concern", PAIR_CONCERNS)
def test_yes_and_no_are_about_equally_frequent(concern: str) -> None:
    answers = Counter(asked.answer for asked in questions("yes-or-no", concern, 80))
    assert 0.25 < answers["Yes"] / answers.total() < 0.75
