"""`eyechart text-to-score`: scores from descriptions, by a regressor that is trained on scored descriptions."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.evaluators.runs.console import checked, console, print_line
from eyechart.evaluators.text_to_score.settings import TrainingSettings

if TYPE_CHECKING:
    from eyechart.evaluators.text_to_score.regressor import Progress
    from eyechart.evaluators.text_to_score.validation import CrossValidation

app = typer.Typer(
    help="Scores from descriptions: train a regressor, apply it, validate it.",
    no_args_is_help=True,
    add_completion=False,
)

_DEFAULT = TrainingSettings()

Data = Annotated[
    Path, typer.Argument(help="CSV or JSON Lines with id (of the image; it may repeat), description, score.")
]
Model = Annotated[str, typer.Option(help="Model id or folder of the encoder to begin with.")]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit of a model on the Hub.")]
Epochs = Annotated[int, typer.Option(help="How often training sees every description.")]
LearningRate = Annotated[float, typer.Option(help="Learning rate at its highest.")]
Warmup = Annotated[float, typer.Option(help="Share of the steps in which the learning rate rises.")]
WeightDecay = Annotated[float, typer.Option(help="Weight decay of AdamW.")]
BatchSize = Annotated[int, typer.Option(help="Descriptions per step on each device.")]
MaxLength = Annotated[int, typer.Option(help="Tokens that are read of each description.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
CpuOnly = Annotated[bool, typer.Option("--cpu-only", help="Use the CPU even where there is an accelerator.")]


@app.command()
def train(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the regressor; must not exist or be empty.")],
    model: Model = _DEFAULT.model,
    revision: Revision = _DEFAULT.revision,
    epochs: Epochs = _DEFAULT.epochs,
    learning_rate: LearningRate = _DEFAULT.learning_rate,
    warmup: Warmup = _DEFAULT.warmup,
    weight_decay: WeightDecay = _DEFAULT.weight_decay,
    batch_size: BatchSize = _DEFAULT.batch_size,
    max_length: MaxLength = _DEFAULT.max_length,
    seed: Seed = _DEFAULT.seed,
    cpu_only: CpuOnly = False,
) -> None:
    """Train a regressor on descriptions with scores, and save it."""

    def work() -> int:
        from eyechart.evaluators.text_to_score.files import read_pairs
        from eyechart.evaluators.text_to_score.training import train as train_regressor

        settings = TrainingSettings(
            model,
            revision,
            epochs,
            learning_rate,
            warmup,
            weight_decay,
            batch_size,
            max_length,
            seed=seed,
            cpu_only=cpu_only,
        )
        pairs = read_pairs(data)
        with _shown("training") as progress:
            train_regressor(pairs.descriptions, pairs.scores, settings, out, progress=progress)
        return len(pairs.ids)

    print(f"Trained on {checked(work)} descriptions; the regressor is in {out}")


@app.command()
def apply(
    regressor: Annotated[Path, typer.Argument(help="Folder that `text-to-score train` wrote.")],
    texts: Annotated[
        Path,
        typer.Argument(help="Folder of a run, its predictions.parquet, or CSV or JSON Lines with id and description."),
    ],
    out: Annotated[Path, typer.Option(help="CSV to write, for `eyechart score q_bench/assessment --predictions`.")],
    task: Annotated[
        str | None, typer.Option(help="Which answers of a run to take, where it has those of two tasks.")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Texts per forward pass.")] = 32,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out empty texts; count them.")] = False,
    cpu_only: CpuOnly = False,
) -> None:
    """Turn descriptions into scores."""

    def work() -> int:
        from eyechart.evaluators.text_to_score.files import LEVEL_TOLD, make_parent, read_texts, write_scores
        from eyechart.evaluators.text_to_score.regressor import TextToScore

        found = read_texts(texts, task)
        if found.empty and not skip_bad:
            reason = (
                f"{len(found.empty)} texts are empty, that of id '{found.empty[0]}' first; --skip-bad leaves them out"
            )
            raise BadAnnotationError(reason, path=texts)
        make_parent(out)
        with _shown("predicting") as progress:
            loaded = TextToScore.load(regressor, cpu_only=cpu_only)
            scores = loaded.predict(found.texts, batch_size=batch_size, progress=progress)
        write_scores(out, found.ids, scores.tolist())
        for name in found.empty:
            _tell(f"left out: id '{name}': the text is empty")
        if found.task == LEVEL_TOLD:
            _tell(f"the question of {LEVEL_TOLD} states the true level: these scores do not measure what the model saw")
        return len(found.ids)

    print(f"{checked(work)} scores are in {out}")


@app.command()
def validate(
    data: Data,
    folds: Annotated[
        int, typer.Option(help="Parts, each predicted by a regressor trained on the others.")
    ] = _DEFAULT.folds,
    out: Annotated[Path | None, typer.Option(help="JSON to write: scores, settings and every prediction.")] = None,
    model: Model = _DEFAULT.model,
    revision: Revision = _DEFAULT.revision,
    epochs: Epochs = _DEFAULT.epochs,
    learning_rate: LearningRate = _DEFAULT.learning_rate,
    warmup: Warmup = _DEFAULT.warmup,
    weight_decay: WeightDecay = _DEFAULT.weight_decay,
    batch_size: BatchSize = _DEFAULT.batch_size,
    max_length: MaxLength = _DEFAULT.max_length,
    seed: Seed = _DEFAULT.seed,
    cpu_only: CpuOnly = False,
) -> None:
    """Cross-validate: how well scores of unseen images are predicted."""

    def work() -> "CrossValidation":
        from eyechart.evaluators.text_to_score.files import make_parent, read_pairs, write_validation
        from eyechart.evaluators.text_to_score.validation import cross_validate

        settings = TrainingSettings(
            model, revision, epochs, learning_rate, warmup, weight_decay, batch_size, max_length, folds, seed, cpu_only
        )
        pairs = read_pairs(data)
        if out is not None:
            make_parent(out)
        with _shown("cross-validating") as progress:
            found = cross_validate(pairs.descriptions, pairs.scores, settings, image_ids=pairs.ids, progress=progress)
        if out is not None:
            write_validation(out, pairs, found)
        return found

    _print_table(checked(work).scores)


def _print_table(scores: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table()
    for column in ("fold", "n", "SRCC", "PLCC"):
        table.add_column(column, justify="right")
    for fold, part in sorted(scores["by_fold"].items(), key=lambda item: int(item[0])):
        table.add_row(fold, str(part["n"]), f"{part['srcc']:.3f}", f"{part['plcc']:.3f}")
    table.add_section()
    table.add_row("all", str(scores["n"]), f"{scores['srcc']:.3f}", f"{scores['plcc']:.3f}")
    console().print(table)


@contextlib.contextmanager
def _shown(what: str) -> "Iterator[Progress]":
    """A bar on a terminal, which the progress given moves; warnings are told when the work is done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from transformers.utils import logging

    messages = console(stderr=True)
    # Bars of loading and saving would break ours, and fill a log file with control characters.
    logging.disable_progress_bar()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        warnings.catch_warnings(record=True) as caught,
        Progress(*columns, console=messages, transient=True, disable=not messages.is_terminal) as bar,
    ):
        warnings.simplefilter("default")
        shown = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(shown, completed=done, total=total)
    for text in dict.fromkeys(str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)):
        _tell(f"warning: {text}")


def _tell(text: str) -> None:
    print_line(console(stderr=True), text)
