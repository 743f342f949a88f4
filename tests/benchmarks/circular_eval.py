"""Time of scoring CircularEval through `compute`, its growth, and that of filtering the whole table per question.

Run it as a script. 12,000 questions in 44,000 passes of free text, in the order of a released file: all passes of
rotation 0, then all of rotation 1. No two questions share an option. The baseline scores the same decisions the way
that toolkits do which hold a run as one table: for each question a filter over all rows. `--questions N` measures N and
2 N. The aim is at most 2.3 times the time for twice as many.
"""

import argparse
import random
import tempfile
import time
from string import ascii_uppercase
from typing import Any

import pandas

import eyechart.metrics
from eyechart.metrics.scoring.choices.replies import extract_choice
from tests.growth import shortest_time

FORMS = (
    "{letter}",
    "{letter}",
    "{letter}. {text}",
    "({letter})",
    "The answer is {letter}.",
    "**Answer:** {letter}",
    "{text}",
    "The image shows {text}.",
    "I would say that it is {text}, judging by what can be seen in the foreground and by the light in the picture.",
    "<think>It may be {other}, but that does not fit what is to be seen.</think>The correct option is {letter}.",
    "It is not {other}, so it must be {text}",
    "It is hard to tell from this picture",
)
ADJECTIVES = ("red", "small", "broken", "wooden", "distant", "shiny", "old", "painted", "open", "heavy")
NOUNS = ("bench", "lantern", "bicycle", "kettle", "window", "harbour", "ladder", "violin", "basket", "clock")


def run(n_questions: int, seed: int = 0) -> dict[str, Any]:
    """Arguments of `circular_eval`: 11 passes for every 3 questions on average, of which 9 in 10 are answered right."""
    rng = random.Random(seed)
    rows = []
    for question in range(n_questions):
        n_options = (2, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4)[question % 12]
        options = [
            f"a {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)} number {question * 4 + option}"
            for option in range(n_options)
        ]
        answer = rng.choice(options)
        for rotation in range(n_options):
            shown = options[rotation:] + options[:rotation]
            said = answer if rng.random() < 0.9 else rng.choice(options)
            other = shown[shown.index(said) - 1]
            reply = rng.choice(FORMS).format(letter=ascii_uppercase[shown.index(said)], text=said, other=other)
            rows.append((rotation, question, reply, ascii_uppercase[shown.index(answer)], shown))
    rows.sort(key=lambda row: row[:2])
    rotations, questions, predictions, references, choices = (list(column) for column in zip(*rows, strict=True))
    sizes = {"category": 20, "l2_category": 6, "l1_category": 2}
    groups = {name: [question % size for question in questions] for name, size in sizes.items()}
    columns = {"predictions": predictions, "references": references, "choices": choices, "groups": groups}
    return columns | {"question_ids": questions, "rotations": rotations}


def filtered(arguments: dict[str, Any]) -> float:
    """CircularEval accuracy by filtering the table for each question."""
    table = pandas.DataFrame({name: arguments[name] for name in arguments if name != "groups"})
    hits = 0
    for question in table["question_ids"].unique():
        passes = table[table["question_ids"] == question].sort_values("rotations")
        hits += all(
            extract_choice(row.predictions, row.choices) == row.references for row in passes.itertuples(index=False)
        )
    return hits / table["question_ids"].nunique()


def main() -> None:
    """Print times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=12_000)
    n = parser.parse_args().questions
    small, large = run(n), run(2 * n)
    with tempfile.TemporaryDirectory() as cache:
        metric = eyechart.metrics.load("circular_eval", cache_dir=cache)
        scores = metric.compute(**small)
        ours, doubled = (shortest_time(lambda rows=rows: metric.compute(**rows), 2) for rows in (small, large))
    start = time.process_time()
    accuracy = filtered(small)
    baseline = time.process_time() - start
    assert accuracy == scores["circular_accuracy"]
    print(f"{scores['n_questions']} questions, {scores['n_passes']} passes: accuracy {accuracy:.4f}")
    print(f"compute                        {ours:6.2f} s")
    print(f"twice as many questions        {doubled:6.2f} s, {doubled / ours:.2f} times as long")
    print(f"filtering the table            {baseline:6.2f} s, {baseline / ours:.1f} times as long")


if __name__ == "__main__":
    main()
