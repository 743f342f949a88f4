"""Scores of submitted texts by a judge, for those who hold the golden ones.

A judge is told the golden texts; one on somebody else's server sees them. What leaves this file is aggregate: no text,
no mark of a single image, and nothing that the judge's server says, which may quote what it was sent.
"""

import csv
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import DataError, ModelError
from eyechart.datasets_scripts.common.files.readers import clean_text
from eyechart.evaluators.answer_files.private_files import json_of, json_rows
from eyechart.evaluators.answer_files.reading import Submitted
from eyechart.metrics.scoring.judging.descriptions import description_scores, read_descriptions
from eyechart.metrics.scoring.judging.lexical import lexical
from eyechart.metrics.scoring.judging.replies import judge_name
from eyechart.metrics.scoring.judging.rounds import JudgeSettings

if TYPE_CHECKING:
    from eyechart.evaluators.judging.endpoint_judge import EndpointJudge

_TEXT_PART = "AesI"
_ROUNDS = 5
_NOT_TOLD = ("image_scores",)


def template_of(submitted: Sequence[Submitted], submission: Path) -> str | None:
    """Which of the judge's templates a submission's texts call for; None if it holds choices.

    Raises:
        DataError: It holds answers of several parts.
    """
    kinds = [(one.question.get("part"), "img_path" in one.question and len(one.question) == 1) for one in submitted]
    other = next((number for number, kind in enumerate(kinds, 1) if kind != kinds[0]), None)
    if other is not None:
        raise DataError("holds answers of several parts; give one file for each", path=submission, row=other)
    part, is_description = kinds[0]
    return "aesbench" if part == _TEXT_PART else "q_bench" if is_description else None


def golden_texts(answers: Path, template: str) -> dict[tuple[Any, ...], str]:
    """The golden texts by their images' names.

    Args:
        answers: `AesBench_evaluation.json`; for LLDescribe a JSON list, JSON Lines, or CSV, as the data set reads them.
        template: What `template_of` returned.

    Raises:
        DataError: It cannot be read, or an image has no text.
    """
    from eyechart.datasets_scripts.aesbench.aesbench import interpretation_text
    from eyechart.datasets_scripts.lldescribe.lldescribe import NAME_KEYS, TEXT_KEYS

    found = {}
    if template == "aesbench":
        for number, (image, entry) in enumerate(json_of(answers).items(), 1):
            found[(clean_text(image),)] = _golden(interpretation_text(clean_text(image), entry), answers, number)
        return found
    for number, row in _csv_rows(answers) if answers.suffix.lower() == ".csv" else json_rows(answers):
        names, texts = ([row[key] for key in keys if key in row] for keys in (NAME_KEYS, TEXT_KEYS))
        if len(names) != 1 or len(texts) != 1:
            expected = f"one of {', '.join(NAME_KEYS)} and one of {', '.join(TEXT_KEYS)}"
            raise DataError(f"is not in the form of golden texts: expected {expected}", path=answers, row=number)
        found[(clean_text(str(names[0])),)] = _golden(texts[0], answers, number)
    return found


def score_texts(
    pairs: Sequence[tuple[str, str]],
    template: str,
    judge: "EndpointJudge | None",
    rounds: int | None,
) -> dict[str, Any]:
    """Compare texts with golden ones.

    Args:
        pairs: Each text with the golden one.
        template: What `template_of` returned.
        judge: Asked without a store; None is the `lexical` baseline.
        rounds: Replies asked of the judge; the protocol's 5 by default.

    Returns:
        Of each dimension `score`, from 0 to 2, with its interval and the frequencies of 0, 1 and 2; their `sum` and
        `mean`; `n`, counts of failures, and all settings. `judge_settings` is how the judge was asked, and whether
        rounds were lost.

    Raises:
        ModelError: The judge cannot be asked.
    """
    asked_judge = lexical if judge is None else judge
    name = judge_name(asked_judge)
    texts, golden = [text for text, _ in pairs], [reference for _, reference in pairs]
    try:
        with warnings.catch_warnings():
            # Warnings of lost rounds hold what the server said; the counts below tell of all.
            warnings.simplefilter("ignore")
            items = read_descriptions(texts, golden, asked_judge, rounds or _ROUNDS, template)
            scores = description_scores(items, None, JudgeSettings(name, rounds or _ROUNDS), template)
    except ModelError as error:
        kind = type(error)
    else:
        told = {key: value for key, value in scores.items() if key not in _NOT_TOLD}
        asked = {} if judge is None else {k: v for k, v in judge.settings().items() if k != "reason"}
        return told | {"judge_settings": asked}
    # Raised out here, as the other error may quote what the judge was sent.
    raise kind(
        f"the judge {name!r} cannot be asked. What its server says is not shown, as it may quote "
        "the golden texts; to see it, ask the judge about public data, with eyechart score"
    )


def _golden(text: Any, path: Path, number: int) -> str:
    if not isinstance(text, str) or not text.strip():
        raise DataError("has no golden text; give the file that holds them all", path=path, row=number)
    return clean_text(text)


def _csv_rows(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(enumerate(csv.DictReader(file), 2))
