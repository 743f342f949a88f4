"""Predict scores from descriptions: train, apply or cross-validate a regressor."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.evaluators.evaluation.options import cli_option
from eyechart.evaluators.runs.console import console, print_line, print_table, say
from eyechart.evaluators.text_to_score import TrainingSettings
from eyechart.metrics.scores import specs_in

Data = Annotated[Path, typer.Argument(help="CSV or JSON Lines with id (may repeat), description, score.")]


def train(
    data: Data,
    out: Annotated[Path, cli_option("Folder for the regressor. It must not exist or must be empty.")],
    settings: TrainingSettings,
) -> None:
    """Train a regressor on scored descriptions, and save it."""
    from eyechart.evaluators.text_to_score.files import read_pairs
    from eyechart.evaluators.text_to_score.regressor import train as train_regressor

    pairs = read_pairs(data)
    with _warnings_shown():
        train_regressor(list(pairs["description"]), list(pairs["score"]), settings, out)
    say(f"Trained on {len(pairs)} descriptions; the regressor is in {out}")


def apply(
    regressor: Annotated[Path, typer.Argument(help="Folder that `text-to-score train` wrote.")],
    texts: Annotated[
        Path,
        typer.Argument(help="Folder of a run, its predictions.parquet, or CSV or JSON Lines with id, description."),
    ],
    out: Annotated[Path, cli_option("CSV file to write, for `eyechart score TASK --predictions`.")],
    task: Annotated[str | None, cli_option("Task whose answers to use, if the run has several tasks.")] = None,
    batch_size: Annotated[int, cli_option("Texts per forward pass.", min=1)] = 32,
    skip_bad: Annotated[bool, cli_option("Leave out empty texts, and list them.", "--skip-bad")] = False,
    cpu_only: Annotated[bool, cli_option("Use the CPU even if an accelerator is available.", "--cpu-only")] = False,
) -> None:
    """Turn descriptions into scores."""
    from eyechart.evaluators.tasks import known_task
    from eyechart.evaluators.text_to_score.files import make_parent, read_texts, write_scores
    from eyechart.evaluators.text_to_score.regressor import TextToScore

    descriptions, used_task = read_texts(texts, task)
    empty = [name for name, text in descriptions.items() if not text]
    if empty and not skip_bad:
        reason = f"{len(empty)} texts are empty, the first with id '{empty[0]}'; --skip-bad leaves them out"
        raise BadAnnotationError(reason, path=texts)
    for name in empty:
        del descriptions[name]
    make_parent(out)
    with _warnings_shown():
        scorer = TextToScore.load(regressor, cpu_only=cpu_only)
        scores = scorer.predict(list(descriptions.values()), batch_size=batch_size)
    write_scores(out, list(descriptions), scores.tolist())
    for name in empty:
        print_line(console(stderr=True), f"left out: id '{name}': the text is empty")
    source = known_task(used_task or "")
    if source is not None and source.after:
        asked = f"the questions of {source.name} state what {source.after[0]} asks for"
        print_line(console(stderr=True), f"{asked}, so these scores do not measure what the model saw")
    say(f"{len(descriptions)} scores are in {out}")


def validate(
    data: Data,
    settings: TrainingSettings,
    folds: Annotated[int, cli_option("Number of folds.")] = 5,
    out: Annotated[Path | None, cli_option("JSON file to write, with scores, settings and all predictions.")] = None,
) -> None:
    """Cross-validate: measure how well the scores of unseen images are predicted."""
    from eyechart.evaluators.text_to_score.files import make_parent, read_pairs, write_validation
    from eyechart.evaluators.text_to_score.regressor import cross_validate

    pairs = read_pairs(data)
    if out is not None:
        make_parent(out)
    with _warnings_shown():
        descriptions, ratings, ids = (list(pairs[name]) for name in ("description", "score", "id"))
        validation = cross_validate(descriptions, ratings, settings, folds=folds, image_ids=ids)
    if out is not None:
        write_validation(out, pairs, validation)
    scores = validation.scores
    specs = [spec for spec in specs_in(scores) if spec.correlation]
    by_fold = sorted(scores["by_fold"].items(), key=lambda fold: int(fold[0]))
    rows = [
        (fold, str(part["n"]), *(spec.shown(spec.value(part)) for spec in specs))
        for fold, part in (*by_fold, ("all", scores))
    ]
    print_table(("fold", "n", *(spec.label for spec in specs)), rows)


COMMANDS = (train, apply, validate)


@contextlib.contextmanager
def _warnings_shown() -> Iterator[None]:
    """Print each warning once, when the work is done."""
    from transformers.utils import logging

    # Bars of model loading, and that the head of an encoder is new; the training has its own bar.
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)):
        print_line(console(stderr=True), f"warning: {text}")
