"""Scoring of submitted files, for those who hold the private answers.

What leaves this file is aggregate: accuracy over all questions, and by groups of enough of them. Answers are read into
memory and go nowhere else: no cache, no metric module (which would write them to disk), no per-item output. Errors name
files and row numbers, never what a row holds, and carry no earlier error with them.
"""

import csv
import json
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.readers import clean_text
from eyechart.evaluators.submissions.mmbench import cell_text
from eyechart.evaluators.submissions.reading import Submitted
from eyechart.evaluators.submissions.reading import read_submission
from eyechart.metrics.scoring.accuracy import random_guess
from eyechart.metrics.scoring.choices import extract_choice
from eyechart.metrics.scoring.circular import circular_random_guess
from eyechart.metrics.scoring.intervals import wilson_interval

SMALLEST_GROUP = 30
"""Groups of fewer questions are not shown: their scores would tell of single answers."""
_ROTATION = 1_000_000
_MOST_CELL_BYTES = 2**27
_CHOICE_PARTS = ("AesP", "AesE", "AesA1")
Key = tuple[Any, ...]


@dataclass(frozen=True)
class _Question:
    """One question with its answer, which stays in here."""

    options: tuple[str, ...]
    right: str
    """The right option's text."""
    groups: Mapping[str, str]

    def __repr__(self) -> str:
        """Nothing of what it holds."""
        return "<question>"


def score_submission(submission: Path, answers: Path) -> dict[str, Any]:
    """Score a file of answers against the private ones.

    Replies are read by exact matching; without a judge, one that names no option is wrong, and is counted.

    Args:
        submission: LLVisionQA's JSON, Q-Bench2's JSON Lines, AesBench's JSON, or MMBench's XLSX.
        answers: The benchmark's own file with the answers: `llvisionqa_test.json`, `q-bench2-a1-test.jsonl`,
            `AesBench_evaluation.json`, or MMBench's TSV.

    Returns:
        `accuracy` (of MMBench `circular_accuracy` and `vanilla_accuracy`) with its 95 % Wilson interval,
        `random_guess`, `n`, `unmatched` and `by_<group>`, in which groups of fewer than `SMALLEST_GROUP` questions are
        left out.

    Raises:
        DataError: A file cannot be read, the submission lacks answers or has others, or its part has no options.
    """
    submitted = read_submission(submission.name, _content(submission))
    if not submitted:
        raise DataError("holds no answers", path=submission)
    try:
        return _scored(submitted, submission, answers)
    except DataError:
        raise
    except Exception as error:
        kind = type(error).__name__
    # Raised out here, as the text of the other error may hold an answer.
    raise DataError(f"is not in the form of the benchmark's file with the answers ({kind})", path=answers)


def _scored(submitted: Sequence[Submitted], submission: Path, answers: Path) -> dict[str, Any]:
    if submission.suffix == ".xlsx":
        questions = _mmbench_questions(answers)
        return _circular(submitted, questions, submission)
    part = submitted[0].question.get("part")
    other = next((n for n, one in enumerate(submitted, 1) if one.question.get("part") != part), None)
    if other is not None:
        raise DataError("holds answers of several parts; give one file for each", path=submission, row=other)
    if part is None:
        questions, keys = _q_bench_questions(answers), [_q_bench_key(one.question) for one in submitted]
    elif part in _CHOICE_PARTS:
        questions, keys = _aes_bench_questions(answers, part), [(one.question["image"],) for one in submitted]
    else:
        raise DataError(f"is of the part {part!r}, whose texts a judge scores; use eyechart score", path=submission)
    _check_keys(keys, questions, submission)
    chosen = [extract_choice(one.reply, questions[key].options) for one, key in zip(submitted, keys, strict=True)]
    right = [_is_right(letter, questions[key]) for letter, key in zip(chosen, keys, strict=True)]
    sizes = [len(questions[key].options) for key in keys]
    scores = {
        **_share("accuracy", right),
        "random_guess": random_guess(sizes),
        "n": len(right),
        "unmatched": chosen.count(None),
    }
    return scores | _by_group(right, [questions[key] for key in keys], "accuracy")


def _circular(submitted: Sequence[Submitted], questions: Mapping[Key, _Question], submission: Path) -> dict[str, Any]:
    """CircularEval: right in every rotation; VanillaEval: unrotated."""
    passes: dict[Key, dict[int, bool]] = {}
    unmatched = 0
    for number, one in enumerate(submitted, 2):
        try:
            rotation, index = divmod(int(one.question["index"]), _ROTATION)
        except (TypeError, ValueError):
            raise DataError("its index is no whole number", path=submission, row=number) from None
        question = questions.get((index,))
        shown = [clean_text(str(one.question[at])) for at in "ABCD" if one.question.get(at) not in (None, "")]
        if question is None or sorted(shown) != sorted(question.options):
            raise DataError("its index and options are none of the benchmark's", path=submission, row=number)
        letter = extract_choice(one.reply, shown)
        unmatched += letter is None
        is_right = letter is not None and shown[ascii_uppercase.index(letter)] == question.right
        if rotation in passes.setdefault((index,), {}):
            raise DataError("is there twice", path=submission, row=number)
        passes[(index,)][rotation] = is_right
    lacking = [key for key, question in questions.items() if len(passes.get(key, ())) != len(question.options)]
    if lacking:
        raise DataError(f"lacks passes of {len(lacking)} of {len(questions)} questions", path=submission)
    keys = list(questions)
    circular = [all(passes[key].values()) for key in keys]
    scores = {
        **_share("circular_accuracy", circular),
        **_share("vanilla_accuracy", [passes[key].get(0, False) for key in keys]),
        "random_guess": circular_random_guess([len(questions[key].options) for key in keys]),
        "n": len(keys),
        "unmatched": unmatched,
    }
    return scores | _by_group(circular, [questions[key] for key in keys], "circular_accuracy")


def _is_right(letter: str | None, question: _Question) -> bool:
    return letter is not None and question.options[ascii_uppercase.index(letter)] == question.right


def _share(name: str, right: Sequence[bool]) -> dict[str, Any]:
    low, high = wilson_interval(sum(right), len(right))
    return {name: sum(right) / len(right), f"{name}_ci95": [low, high]}


def _by_group(right: Sequence[bool], questions: Sequence[_Question], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for group in questions[0].groups:
        rows: dict[str, list[bool]] = {}
        for is_right, question in zip(right, questions, strict=True):
            rows.setdefault(question.groups[group], []).append(is_right)
        # With one small group left out, the others and the whole would tell its score.
        small = [value for value, flags in rows.items() if len(flags) < SMALLEST_GROUP]
        shown = {value: flags for value, flags in rows.items() if value not in small} if len(small) != 1 else {}
        parts = {value: {**_share(name, flags), "n": len(flags)} for value, flags in sorted(shown.items())}
        if parts:
            found[f"by_{group}"] = parts
    return found


def _check_keys(keys: Sequence[Key], questions: Mapping[Key, _Question], submission: Path) -> None:
    strange = next((number for number, key in enumerate(keys, 1) if key not in questions), None)
    if strange is not None:
        raise DataError("is about no question of the answers file", path=submission, row=strange)
    if len(set(keys)) < len(keys):
        raise DataError(f"answers {len(keys) - len(set(keys))} questions twice", path=submission)
    if len(keys) < len(questions):
        raise DataError(f"answers {len(keys)} of {len(questions)} questions", path=submission)


def _q_bench_key(row: Mapping[str, Any]) -> Key:
    return (row.get("img_path"), clean_text(str(row.get("question"))), _texts(row.get("candidates") or ()))


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    """Texts as the loading scripts clean them, and so as submissions hold them."""
    return tuple(clean_text(str(value)) for value in values)


def _q_bench_questions(path: Path) -> dict[Key, _Question]:
    from eyechart.datasets_scripts.common.q_bench import QUESTION_TYPES

    found = {}
    for number, row in _json_rows(path):
        options, right = _texts(row.get("candidates") or ()), clean_text(str(row.get("correct_ans")))
        _check_question(options, right, path, number)
        groups = {"question_type": QUESTION_TYPES[row["type"]], "concern": f"code {row['concern']}"}
        found[_q_bench_key(row)] = _Question(options, right, groups)
    return found


def _aes_bench_questions(path: Path, part: str) -> dict[Key, _Question]:
    from eyechart.datasets_scripts.aesbench.aesbench import answered_question

    found = {}
    for number, (image, entry) in enumerate(_json(path).items(), 1):
        row = answered_question(clean_text(image), entry, part)
        if row is None:
            raise DataError(f"has no question with an answer under {part}", path=path, row=number)
        options, right = tuple(row["options"]), row["options"][ascii_uppercase.index(row["answer"])]
        found[(row["id"],)] = _Question(options, right, {"image_source": row["image_source"] or "not told"})
    return found


def _mmbench_questions(path: Path) -> dict[Key, _Question]:
    # Cells hold images.
    csv.field_size_limit(_MOST_CELL_BYTES)
    found = {}
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t"), 2):
            rotation, index = divmod(int(row["index"]), _ROTATION)
            if rotation:
                continue
            texts = {letter: row.get(letter) for letter in "ABCD" if row.get(letter) not in (None, "", "nan")}
            options, right = _cells(texts.values()), "".join(_cells([texts.get(row.get("answer") or "") or ""]))
            _check_question(options, right, path, number)
            found[(index,)] = _Question(options, right, {"category": row["category"]})
    return found


def _cells(values: Iterable[Any]) -> tuple[str, ...]:
    """Options as they were written into a submission's cells."""
    return tuple(clean_text(cell_text(clean_text(str(value)))) for value in values)


def _check_question(options: Sequence[str], right: Any, path: Path, number: int) -> None:
    if len(options) < 2 or len(set(options)) < len(options) or right not in options:
        raise DataError(
            "has no answer that is one of its options; give the file with the answers", path=path, row=number
        )


def _json_rows(path: Path) -> list[tuple[int, Any]]:
    if path.suffix == ".jsonl":
        # A text in a line may hold what `splitlines` takes for the end of one, as U+2028.
        lines = _content(path).decode().split("\n")
        return [(number, _parsed(line, path)) for number, line in enumerate(lines, 1) if line.strip()]
    return list(enumerate(_json(path), 1))


def _json(path: Path) -> Any:
    return _parsed(_content(path).decode(), path)


def _parsed(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        # The error holds the text; it is left behind here.
        pass
    raise DataError("cannot be read as JSON", path=path)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise MissingFileError(f"cannot be read: {error.strerror}", path=path) from None
