"""Measures the tiny model on held-out scenes: `python -m tests.tiny_vlm.measure [FOLDER]`.

Prints the values of the model's card. Every measure has its own scenes, from seeds that neither the training nor the
synthetic demo data use; all ten distortions and five levels are equally likely.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import numpy as np
from PIL import Image

from eyechart.datasets_scripts.mini.q_bench import released_options
from eyechart.datasets_scripts.mini.questions import CONCERNS, Question, ask, ask_assessment
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.requests.types import Backend, Prompt, Request
from eyechart.evaluators.tasks.aes_bench import assessment_prompt
from eyechart.evaluators.tasks.prompts import vlmevalkit_prompt
from eyechart.evaluators.tasks.q_bench import ASSESSMENT, perception_prompt
from eyechart.evaluators.tasks.two_afc import released_prompt
from eyechart.evaluators.tiny_vlm import NAME
from eyechart.metrics.scoring.choices.replies import extract_choice
from eyechart.metrics.scoring.quality.correlation import srcc
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations
from eyechart.metrics.scoring.statistics.intervals import percentile_interval, wilson_interval
from tests.tiny_vlm.corpus import ask_ability
from tests.tiny_vlm.samples import HELD_OUT_SEED, Sample, draw_ability_sample, draw_pair, draw_samples

_Asked = tuple[Image.Image, dict[str, Any], str]
"""An image, question and options as in a row, and the text of the correct option."""


@dataclass(frozen=True)
class Measure:
    """One value with its 95 % interval."""

    name: str
    value: float
    interval: tuple[float, float]
    n: int


def measure(backend: Backend, n: int = 600) -> list[Measure]:
    """Measure a model on `n` held-out items per measure.

    Args:
        backend: What answers.
        n: Items per measure: questions, images or pairs.

    Returns:
        Accuracies (fractions; with CircularEval, all rotations of the options must be answered correctly), the SRCC of
        the softmax score with the known level (counted downwards, so that +1 is best), and the pair accuracy (both
        orders must be correct).
    """
    return [
        _questions(backend, "what-questions", ("what",), n, part=1),
        _questions(backend, "yes-or-no questions", ("yes-or-no",), n, part=2),
        _questions(backend, "how-questions", ("how",), n, part=3),
        _circular(backend, n, part=4),
        _quality(backend, n, part=5),
        _pairs(backend, n, part=6),
        _abilities(backend, "MMBench's abilities, CircularEval", n, part=9, english_share=1.0),
        _abilities(backend, "the same in Chinese", n, part=10, english_share=0.0),
        _pair_questions(backend, n, part=11),
        _aesthetic_levels(backend, n, part=12),
    ]


def main() -> None:
    """Reads the command line and prints the measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=NAME, help="model folder; the bundled model by default")
    parser.add_argument("--n", type=int, default=600, help="items per measure")
    arguments = parser.parse_args()
    for result in measure(resolve_backend(arguments.folder, batch_size=32), arguments.n):
        low, high = result.interval
        print(f"{result.name:48} {result.value:.3f}  [{low:.3f}, {high:.3f}]  n = {result.n}")


def _samples(n: int, part: int) -> list[Sample]:
    return [draw_samples(HELD_OUT_SEED + part, index)[0] for index in range(n)]


def _ask_all(backend: Backend, requests: Sequence[Request]) -> dict[tuple[str, str], str]:
    return {(r.request.id, r.request.pass_name): r.text or "" for r in backend.answer(requests)}


def _accuracy(name: str, right: Sequence[bool]) -> Measure:
    return Measure(name, float(np.mean(right)), wilson_interval(sum(right), len(right)), len(right))


def _draw_questions(types: tuple[str, ...], n: int, part: int) -> list[tuple[Sample, Question]]:
    rng = np.random.default_rng([HELD_OUT_SEED + part, n])
    drawn = []
    for i, sample in enumerate(_samples(n, part)):
        kind, concern = types[i % len(types)], CONCERNS[i // len(types) % len(CONCERNS)]
        drawn.append((sample, ask(sample, rng, kind, concern)))
    return drawn


def _is_right(text: str, answer: str, options: Sequence[str]) -> bool:
    letter = extract_choice(text, list(options))
    return letter is not None and options[ascii_uppercase.index(letter)] == answer


def _questions(backend: Backend, name: str, types: tuple[str, ...], n: int, part: int) -> Measure:
    drawn = _draw_questions(types, n, part)
    requests = []
    for i, (sample, question) in enumerate(drawn):
        row = {"question": question.question, "options": question.options, "images": [sample.image]}
        requests.append(Request(str(i), perception_prompt(row), (sample.image,), options=question.options))
    texts = _ask_all(backend, requests)
    right = [_is_right(texts[str(i), "main"], q.answer, q.options) for i, (_, q) in enumerate(drawn)]
    return _accuracy(name, right)


def _circular(backend: Backend, n: int, part: int) -> Measure:
    drawn = [
        (sample.image, {"question": question.question, "options": list(question.options)}, question.answer)
        for sample, question in _draw_questions(("what", "how"), n, part)
    ]
    name = "CircularEval, questions with 3 or 4 options"
    return _in_all_rotations(backend, name, drawn, lambda row: perception_prompt({**row, "images": [None]}))


def _abilities(backend: Backend, name: str, n: int, part: int, english_share: float) -> Measure:
    rng = np.random.default_rng([HELD_OUT_SEED + part, n])
    samples = [draw_ability_sample(HELD_OUT_SEED + part, index) for index in range(n)]
    drawn = [(sample.image, *ask_ability(sample, rng, english_share)) for sample in samples]
    return _in_all_rotations(backend, name, drawn, vlmevalkit_prompt)


def _in_all_rotations(
    backend: Backend, name: str, drawn: Sequence[_Asked], make_prompt: Callable[[dict[str, Any]], Prompt]
) -> Measure:
    """MMBench, Sec. 4.1: a question counts only if it is answered correctly in every rotation of its options."""
    requests = []
    for i, (image, row, _) in enumerate(drawn):
        for r, _ in enumerate(row["options"]):
            options = _turned(row, r)
            prompt = make_prompt({**row, "options": options})
            requests.append(Request(str(i), prompt, (image,), options=options, pass_name=f"rotation:{r}"))
    texts = _ask_all(backend, requests)
    right = [
        all(_is_right(texts[str(i), f"rotation:{r}"], answer, _turned(row, r)) for r, _ in enumerate(row["options"]))
        for i, (_, row, answer) in enumerate(drawn)
    ]
    return _accuracy(name, right)


def _turned(row: dict[str, Any], places: int) -> tuple[str, ...]:
    return tuple(row["options"][places:] + row["options"][:places])


def _pair_questions(backend: Backend, n: int, part: int) -> Measure:
    pairs = [draw_pair(HELD_OUT_SEED + part, index) for index in range(n)]
    requests = []
    for i, pair in enumerate(pairs):
        row = {"question": pair.asked.question, "options": pair.asked.options, "images": pair.samples}
        images = tuple(sample.image for sample in pair.samples)
        requests.append(Request(str(i), perception_prompt(row), images, options=pair.asked.options))
    texts = _ask_all(backend, requests)
    right = [_is_right(texts[str(i), "main"], pair.asked.answer, pair.asked.options) for i, pair in enumerate(pairs)]
    return _accuracy("questions on two images", right)


def _aesthetic_levels(backend: Backend, n: int, part: int) -> Measure:
    asked = [(sample, ask_assessment(sample.level)) for sample in _samples(n, part)]
    requests = []
    for i, (sample, question) in enumerate(asked):
        row = {"question": question.question, "options": question.options}
        row["released_options"] = released_options(question.options)
        requests.append(Request(str(i), assessment_prompt(row), (sample.image,), options=question.options))
    texts = _ask_all(backend, requests)
    right = [_is_right(texts[str(i), "main"], one.answer, one.options) for i, (_, one) in enumerate(asked)]
    return _accuracy("aesthetic level", right)


def _quality(backend: Backend, n: int, part: int) -> Measure:
    samples = _samples(n, part)
    protocol = ASSESSMENT.protocol
    words = protocol.word_pairs[0].words
    requests = [
        Request(str(i), protocol.prompt_of({}), (s.image,), prefill=protocol.prefill, words=words)
        for i, s in enumerate(samples)
    ]
    good, poor = words
    answers = {r.request.id: r.logits or {} for r in backend.answer(requests)}
    predicted = np.array([answers[str(i)][good] - answers[str(i)][poor] for i in range(n)])
    known = -np.array([sample.level for sample in samples], dtype=float)
    replicates, _ = bootstrap_correlations(predicted, known, np.random.default_rng(0))
    interval = percentile_interval(replicates, n)
    return Measure(
        "SRCC of the softmax score with the known level", srcc(predicted, known), (interval.low, interval.high), n
    )


def _pairs(backend: Backend, n: int, part: int) -> Measure:
    """2AFC: both orders of each pair are asked, and both answers must be correct."""
    samples = _samples(3 * n, part)
    drawn = [(a, b) for a, b in zip(samples[::2], samples[1::2], strict=False) if a.level != b.level]
    pairs = drawn[:n]
    requests = [
        Request(str(i), released_prompt({}), (pair[order].image, pair[1 - order].image), pass_name=f"order:{order}")
        for i, pair in enumerate(pairs)
        for order in (0, 1)
    ]
    texts = _ask_all(backend, requests)
    right = []
    for i, (first, second) in enumerate(pairs):
        expected = ("A", "B") if first.level < second.level else ("B", "A")
        options = ["The first image.", "The second image."]
        right.append(all(extract_choice(texts[str(i), f"order:{o}"], options) == expected[o] for o in (0, 1)))
    return _accuracy("pair comparison, correct in both orders", right)


if __name__ == "__main__":
    main()
