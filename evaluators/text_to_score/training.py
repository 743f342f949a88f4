"""Training a regressor with transformers' `Trainer`."""

import contextlib
import dataclasses
import math
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.evaluators.backends.local.loading import model_fingerprint
from eyechart.evaluators.text_to_score.regressor import (
    Record,
    TextToScore,
    check_texts,
    make_empty_folder,
    warn_of_truncation,
)
from eyechart.evaluators.text_to_score.settings import TrainingSettings
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_PACKAGES = ("eyechart", "accelerate", "numpy", "tokenizers", "torch", "transformers")


def train(
    descriptions: Sequence[str],
    scores: Sequence[float],
    settings: TrainingSettings | None = None,
    out: str | Path | None = None,
) -> TextToScore:
    """Fine-tune an encoder on (description, score) pairs.

    The scores are standardised by their mean and standard deviation, and the loss is the mean squared error. No files
    other than `out` are left behind.

    Args:
        descriptions: n texts, none of them blank.
        scores: n finite numbers in any unit, not all equal.
        settings: How to train; None is the defaults.
        out: New or empty folder to save the regressor in; None saves nothing.

    Raises:
        UsageError: Texts, scores or settings are unusable, or `out` is not empty.
        ModelError: The encoder cannot be loaded, or training produced non-finite weights.

    Warns:
        TruncatedTextWarning: Descriptions are longer than `settings.max_length`.
    """
    settings = settings or TrainingSettings()
    targets = check_pairs(descriptions, scores)
    if out is not None:
        make_empty_folder(out)
    mean, deviation = float(targets.mean()), float(targets.std())
    with _seeded(settings.seed):
        model, tokenizer = _load_encoder(settings)
        fingerprint = model_fingerprint(settings.model, model)
        warn_of_truncation(tokenizer, descriptions, settings.max_length)
        rows = [
            {**tokenizer(text, truncation=True, max_length=settings.max_length), "labels": target}
            for text, target in zip(descriptions, ((targets - mean) / deviation).tolist(), strict=True)
        ]
        _fit(model, tokenizer, rows, settings)
    record = Record(
        mean=mean,
        standard_deviation=deviation,
        descriptions=len(rows),
        settings=dataclasses.asdict(settings),
        base_model={"name": settings.model, "architecture": type(model).__name__, "fingerprint": fingerprint},
        versions=package_versions(),
    )
    regressor = TextToScore(model, tokenizer, record)
    if out is not None:
        regressor.save(out)
    return regressor


def check_pairs(descriptions: Sequence[str], scores: Sequence[float]) -> FloatArray:
    """The scores as an array, as long as the descriptions.

    Raises:
        UsageError: A text is blank, the lengths differ, a score is not a finite number, or all scores are equal.
    """
    check_texts("descriptions", descriptions)
    try:
        check_lengths(scores=scores, descriptions=descriptions)
        values = check_numbers("scores", scores)
    except InputError as error:
        raise UsageError(str(error)) from error
    if (values == values[0]).all():
        raise UsageError(f"scores are all {values[0]}; expected at least two different scores to learn from.")
    return values


def package_versions() -> dict[str, str]:
    """Versions of the packages that affect training."""
    return {package: metadata.version(package) for package in _PACKAGES}


def _load_encoder(settings: TrainingSettings) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """The encoder with a new one-output head, and its tokenizer."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    name, length = settings.model, settings.max_length
    if name.startswith((".", os.path.sep)) and not os.path.isdir(name):
        raise ModelError(f"model folder '{name}' does not exist.")
    origin = {"revision": settings.revision, "trust_remote_code": False}
    verbosity = logging.get_verbosity()
    # It would warn that the head is new, which is intended.
    logging.set_verbosity_error()
    try:
        # Training needs float32, in whatever format the weights are stored.
        model = AutoModelForSequenceClassification.from_pretrained(
            name, num_labels=1, problem_type="regression", dtype="float32", **origin
        )
        tokenizer = AutoTokenizer.from_pretrained(name, **origin)
    # Loading runs code of many libraries; whatever it raises, the user needs the model's name with it.
    except Exception as error:
        raise ModelError(f"encoder '{name}' cannot be loaded: {type(error).__name__}: {error}") from error
    finally:
        logging.set_verbosity(verbosity)
    # Encoders differ in how many of their configuration's positions are for tokens, so a text is tried.
    longest = tokenizer("a " * length, truncation=True, max_length=length, return_tensors="pt", verbose=False)
    try:
        with torch.inference_mode():
            model.eval()(**longest)
    except (IndexError, RuntimeError) as error:
        raise UsageError(
            f"max_length={length} is not allowed; encoder '{name}' cannot read that many tokens ({error})."
        ) from error
    return model, tokenizer


def _fit(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    rows: list[dict[str, Any]],
    settings: TrainingSettings,
) -> None:
    import torch
    from transformers import DataCollatorWithPadding, PrinterCallback, Trainer, TrainingArguments

    steps = settings.epochs * math.ceil(len(rows) / settings.batch_size)
    # The Trainer requires a folder even if it writes nothing.
    with tempfile.TemporaryDirectory(prefix="eyechart-") as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            warmup_steps=int(settings.warmup * steps),
            weight_decay=settings.weight_decay,
            per_device_train_batch_size=settings.batch_size,
            seed=settings.seed,
            use_cpu=settings.cpu_only,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=not sys.stderr.isatty(),
            # Without an accelerator there is nothing to pin memory for, and torch warns.
            dataloader_pin_memory=not settings.cpu_only and torch.accelerator.is_available(),
        )
        trainer = Trainer(model, arguments, DataCollatorWithPadding(tokenizer), train_dataset=rows)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    # Switches off dropout.
    model.eval()
    if not all(bool(torch.isfinite(values).all()) for values in model.parameters()):
        raise ModelError(f"training diverged with learning_rate={settings.learning_rate}; try a smaller value.")


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the process-wide generators, which the Trainer and new heads use, and restore them afterwards."""
    import torch
    from transformers import set_seed

    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        set_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
