"""Questions about drawn scenes, in the types and concerns of Q-Bench (Sec. 2.2), Q-Bench2's pairs and AesBench.

An in-context question names the main object instead of the image. Half of the pairs' questions compare the images, half
ask about both (https://arxiv.org/abs/2402.07116). Functions draw from their generator in a fixed order, which the
bundled model's training and the numbers of its card depend on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eyechart.datasets_scripts.mini.scenes import DISTORTION_TYPES, LEVELS, SCENE_FACTS, Look, Scene, draw_scene

QUESTION_TYPES = ("yes-or-no", "what", "how")
AESTHETIC_TYPES = (*QUESTION_TYPES, "why")
CONCERNS = ("distortion", "other", "in-context distortion", "in-context other")
PAIR_CONCERNS = ("compare distortion", "compare other", "joint distortion", "joint other")
"""In the order of the demo data's codes; the release's own are not documented."""
SEVERITY = ("", "Slight", "Slight", "Moderate", "Severe", "Severe")
QUALITY = ("", "Good", "Medium", "Medium", "Poor", "Poor")
AESTHETICS = ("", "High", "Medium", "Medium", "Low", "Low")
"""Words by the level of the distortion."""
FEELINGS = {"red": "excitement", "green": "freshness", "blue": "calm", "yellow": "joy", "purple": "mystery"}
"""The feeling that a background of each colour is taken to evoke."""
# The option text of each distortion type, as in Q-Bench's questions, and what a description says of it.
_DISTORTIONS = {
    "blur": ("Out-of-focus blur", "The edges are blurry and the texture is lost."),
    "motion blur": ("Motion blur", "The object is blurred along one direction."),
    "white noise": ("White noise", "The image is noisy all over."),
    "salt-and-pepper noise": ("Salt-and-pepper noise", "Black and white dots of noise cover the image."),
    "JPEG compression": ("Compression artifacts", "Blocky artifacts are visible along the edges."),
    "darkening": ("Underexposure", "The lighting is dark."),
    "over-exposure": ("Overexposure", "The bright areas are overexposed."),
    "desaturation": ("Faded colors", "The colors are faded."),
    "low contrast": ("Low contrast", "The contrast is low and the image looks flat."),
    "pixelation": ("Pixelation", "The image is pixelated and lacks detail."),
}
DISTORTION_OPTIONS = {kind: option for kind, (option, _) in _DISTORTIONS.items()}
_VALUES = {
    "kind": list(DISTORTION_OPTIONS.values()),
    "severity": ["Slight", "Moderate", "Severe"],
    "quality": ["Good", "Medium", "Poor"],
    **{fact: [value.capitalize() for value in values] for fact, values in SCENE_FACTS.items()},
}
# Distortions that leave too little colour to ask about it.
_COLORLESS = ("desaturation", "over-exposure", "darkening", "low contrast")
# The text of a question and the fact that it asks for; "" for a comparison. A yes-or-no question names a value.
_QUESTIONS = {
    ("distortion", "yes-or-no"): ("Is the {subject} degraded by {value}?", "kind"),
    ("distortion", "what"): ("What distortion degrades the quality of the {subject}?", "kind"),
    ("distortion", "how"): ("How severe is the distortion of the {subject}?", "severity"),
    ("other", "yes-or-no"): ("Is the main object in the {value} of the image?", "position"),
    ("other", "what"): ("What shape is the main object in the image?", "shape"),
    ("other", "how"): ("How is the main object placed in the image?", "position"),
    ("in-context other", "yes-or-no"): ("Is the {subject} {value}?", "color"),
    ("in-context other", "what"): ("What color is the {subject}?", "color"),
    ("in-context other", "how"): ("How large is the {subject}?", "size"),
    ("compare distortion", "yes-or-no"): ("Is the first image of better quality than the second image?", ""),
    ("compare distortion", "what"): ("Which distortion does the second image have, but not the first image?", "kind"),
    ("compare distortion", "how"): ("Compared to the first image, how is the quality of the second image?", ""),
    ("compare other", "yes-or-no"): ("Is the main object of the first image larger than that of the second image?", ""),
    ("compare other", "what"): ("What shape is the main object of the second image?", "shape"),
    ("compare other", "how"): ("Compared to the first image, how large is the main object of the second image?", ""),
    ("joint distortion", "yes-or-no"): ("Are both images degraded by {value}?", "kind"),
    ("joint distortion", "what"): ("Which distortion do both images have?", "kind"),
    ("joint distortion", "how"): ("How severe are the distortions of both images?", "severity"),
    ("joint other", "yes-or-no"): ("Is the main object a {subject} in both images?", ""),
    ("joint other", "what"): ("What shape is the main object of both images?", "shape"),
    ("joint other", "how"): ("How is the main object placed in both images?", "position"),
}


@dataclass(frozen=True)
class Question:
    """One multiple-choice question: its text, the options in the order shown, and the text of the right one."""

    question: str
    options: tuple[str, ...]
    answer: str


def ask(look: Look, rng: np.random.Generator, question_type: str, concern: str) -> Question:
    """Ask about a scene, by one of `AESTHETIC_TYPES` and `CONCERNS`; "why" asks for the distortion in any case."""
    if question_type == "why":
        reasons = {kind: f"Because of {option.lower()}" for kind, option in DISTORTION_OPTIONS.items()}
        options = _with_wrong(reasons[look.distortion_type], list(reasons.values()), rng, 4)
        return _shuffled("Why is the aesthetic perception of the image affected?", options, options[0], rng)
    text, fact = _QUESTIONS[concern.replace("in-context distortion", "distortion"), question_type]
    if fact == "severity" and rng.random() >= 0.5:
        text, fact = "How is the quality of the {subject}?", "quality"
    colorless = look.distortion_type in _COLORLESS
    if fact == "color" and question_type == "yes-or-no" and (colorless or rng.random() >= 0.5):
        fact = "size"
    elif fact == "color" and question_type == "what" and colorless:
        text, fact = "What is the position of the {subject}?", "position"
    subject = look.scene.shape if concern.startswith("in-context") else "image"
    return _ask_fact(text.replace("{subject}", subject), look, fact, question_type, rng)


def ask_pair(rng: np.random.Generator, question_type: str, concern: str) -> tuple[tuple[Look, Look], Question]:
    """Draw two images and a question about them, of one of `QUESTION_TYPES` and one of `PAIR_CONCERNS`."""
    text, fact = _QUESTIONS[concern, question_type]
    first = draw_look(rng)
    match concern, question_type:
        case "compare distortion", "what":
            others = [kind for kind in DISTORTION_TYPES if kind != first.distortion_type]
            second = draw_look(rng, first.scene, str(rng.choice(others)))
        case "compare distortion", _:
            first, second = (replace(first, level=int(level)) for level in rng.choice(LEVELS, 2, replace=False))
            if question_type == "how" and rng.random() < 0.2:
                second = first
        case "compare other", _:
            second = draw_look(rng)
        case "joint distortion", "how":
            second = draw_look(rng, level=first.level)
        case "joint distortion", _:
            second = draw_look(rng, kind=first.distortion_type)
        case "joint other", "yes-or-no":
            second = draw_look(rng, first.scene if rng.random() < 0.5 else None)
        case "joint other", "what":
            # The bundled model was trained on options that were drawn before the second image.
            shapes = _with_wrong(first.scene.shape.capitalize(), _VALUES["shape"], rng)
            second = draw_look(rng, first.scene)
            return (first, second), _shuffled(text, shapes, shapes[0], rng)
        case _:
            second = draw_look(rng, first.scene)
    if fact:
        return (first, second), _ask_fact(text, second, fact, question_type, rng)
    by_quality = concern == "compare distortion"
    ranks = [-look.level if by_quality else SCENE_FACTS["size"].index(look.scene.size) for look in (first, second)]
    if question_type == "how":
        options = ["Better", "Similar", "Worse"] if by_quality else ["Larger", "Similar", "Smaller"]
        answer = options[1 - int(np.sign(ranks[1] - ranks[0]))]
    else:
        alike, options = first.scene.shape == second.scene.shape, ["Yes", "No"]
        answer = "Yes" if (alike if concern == "joint other" else ranks[0] > ranks[1]) else "No"
    return (first, second), _shuffled(text.format(subject=first.scene.shape), options, answer, rng)


def ask_empathy(scene: Scene, rng: np.random.Generator, question_type: str) -> Question:
    """Ask for the feeling that the background evokes; `question_type` is one of `AESTHETIC_TYPES`."""
    color, feeling = scene.background, FEELINGS[scene.background]
    if question_type == "yes-or-no":
        asked, answer = _yes_no(color, list(FEELINGS), rng)
        return Question(f"Does the image evoke {FEELINGS[asked]} by its {asked} background?", ("Yes", "No"), answer)
    text, wording = {
        "what": ("What does the background of the image evoke?", "{feeling}, as {color} does"),
        "how": ("How does the image evoke aesthetic emotions?", "By the {feeling} of its {color} background"),
        "why": (f"Why does the image evoke {feeling}?", "Because its background is {color}"),
    }[question_type]
    texts = {other: wording.format(color=other, feeling=FEELINGS[other]) for other in FEELINGS}
    texts = {other: text[0].upper() + text[1:] for other, text in texts.items()}
    return _shuffled(text, _with_wrong(texts[color], list(texts.values()), rng), texts[color], rng)


def ask_assessment(level: int) -> Question:
    """Ask for the aesthetic level of an image whose distortion has this level."""
    return Question("How is the aesthetic quality of this image?", ("High", "Medium", "Low"), AESTHETICS[level])


def interpretation_question(level: int) -> str:
    """The request for reasons, which states the aesthetic level of an image whose distortion has this level."""
    return (
        f"This is an image with {AESTHETICS[level].lower()} aesthetics, please explain the reasons that are related to "
        "the aesthetic quality."
    )


def describe(look: Look) -> str:
    """Describe in a few sentences the content and the quality of a distorted scene."""
    scene, (option, effect) = look.scene, _DISTORTIONS[look.distortion_type]
    return (
        f"The image shows a {scene.size} {scene.color} {scene.shape} on a {scene.background} background. {effect} "
        f"It suffers from {SEVERITY[look.level].lower()} {option.lower()}. Overall, the quality of the image is "
        f"{QUALITY[look.level].lower()}."
    )


def draw_look(
    rng: np.random.Generator, scene: Scene | None = None, kind: str | None = None, level: int | None = None
) -> Look:
    """Draw a scene and its distortion, except for what is given."""
    return Look(scene or draw_scene(rng), kind or str(rng.choice(DISTORTION_TYPES)), level or int(rng.choice(LEVELS)))


def _ask_fact(text: str, look: Look, fact: str, question_type: str, rng: np.random.Generator) -> Question:
    option, level, values = DISTORTION_OPTIONS[look.distortion_type], look.level, _VALUES[fact]
    words = {"kind": option, "severity": SEVERITY[level], "quality": QUALITY[level]}
    truth = words.get(fact) or getattr(look.scene, fact).capitalize()
    if question_type == "yes-or-no":
        asked, answer = _yes_no(truth, values, rng)
        return _shuffled(text.format(value=asked.lower()), ("Yes", "No"), answer, rng)
    if len(values) > 3:
        values = _with_wrong(truth, values, rng)
    return _shuffled(text, values, truth, rng)


def _shuffled(text: str, options: Sequence[str], answer: str, rng: np.random.Generator) -> Question:
    return Question(text, tuple(options[i] for i in rng.permutation(len(options))), answer)


def _with_wrong(answer: str, values: Sequence[str], rng: np.random.Generator, count: int = 0) -> list[str]:
    """The answer and other values; three or four in all, unless `count` says how many."""
    count = count or int(rng.integers(3, 5))
    others = [value for value in values if value != answer]
    return [answer, *(others[i] for i in rng.permutation(len(others))[: count - 1])]


def _yes_no(truth: str, values: Sequence[str], rng: np.random.Generator) -> tuple[str, str]:
    """The value to ask about, and the answer: yes and no are equally frequent."""
    if rng.random() < 0.5:
        return truth, "Yes"
    return str(rng.choice([value for value in values if value != truth])), "No"
