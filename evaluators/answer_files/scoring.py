"""Scoring of submitted files, for those who hold the private answers.

What leaves this file is aggregate: accuracy over all questions, and by groups of enough of them. Answers are read into
memory and go nowhere else: no cache, no metric module (which would write them to disk), no per-item output. Errors name
files and row numbers, never what a row holds, and carry no earlier error with them.
"""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.choice.rotations import STRIDE, Pass, numbered_passes, rotate, rotated_letter
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.datasets_scripts.common.files.readers import clean_text
from eyechart.evaluators.answer_files.mmbench import cell_text
from eyechart.evaluators.answer_files.private_files import content_of, json_of, json_rows
from eyechart.evaluators.answer_files.reading import Submitted, read_submission
from eyechart.evaluators.answer_files.texts import golden_texts, score_texts, template_of
from eyechart.metrics.scoring.choices.accuracy import random_guess
from eyechart.metrics.scoring.choices.extraction import named_letters
from eyechart.metrics.scoring.statistics.intervals import wilson_interval

if TYPE_CHECKING:
    from eyechart.evaluators.judging.endpoint_judge import EndpointJudge

SMALLEST_GROUP = 30
"""Groups of fewer questions are not shown: their scores would tell of single answers."""
_MOST_CELL_BYTES = 2**27
_CHOICE_PARTS = ("AesP", "AesE", "AesA1")
_IMAGE = {"q_bench": "img_path", "aesbench": "image"}
"""Where a submission of texts has the image's name, by the judge's template."""
Key = tuple[Any, ...]


@dataclass(frozen=True)
class _Question:
    """One question with its answer, which stays in here."""

    options: tuple[str, ...]
    right: str
    """The right option's letter."""
    groups: Mapping[str, str]

    def __repr__(self) -> str:
        """Nothing of what it holds."""
        return "<question>"


def score_submission(
    submission: Path, answers: Path, judge: "EndpointJudge | None" = None, rounds: int | None = None
) -> dict[str, Any]:
    """Score a file of answers against the private ones.

    Choices are read by exact matching; one that names no option is wrong, and is counted. Texts are judged.

    Args:
        submission: LLVisionQA's JSON, Q-Bench2's JSON Lines, AesBench's JSON, MMBench's XLSX, or LLDescribe's JSON.
        answers: The benchmark's own file with the answers: `llvisionqa_test.json`, `q-bench2-a1-test.jsonl`,
            `AesBench_evaluation.json`, MMBench's TSV, or LLDescribe's golden texts.
        judge: Compares texts with the golden ones, which it is told; None is the `lexical` baseline.
        rounds: Replies asked of the judge; the protocol's 5 by default.

    Returns:
        `accuracy` (of MMBench `circular_accuracy` and `vanilla_accuracy`) with its 95 % Wilson interval,
        `random_guess`, `n`, `unmatched` and `by_<group>`, in which groups of fewer than `SMALLEST_GROUP` questions are
        left out. Of texts what `score_texts` returns.

    Raises:
        DataError: A file cannot be read, or the submission lacks answers or has others.
        ModelError: The judge cannot be asked.
        UsageError: A judge is given, and there are no texts.
    """
    submitted = read_submission(submission.name, content_of(submission))
    if not submitted:
        raise DataError("holds no answers", path=submission)
    template = template_of(submitted, submission)
    if template is None and (judge is not None or rounds is not None):
        raise UsageError("--judge and --rounds have no effect on choices, which are read by exact matching")
    try:
        if template is None:
            return _scored(submitted, submission, answers)
        golden = golden_texts(answers, template)
        _check_keys([(one.question.get(_IMAGE[template]),) for one in submitted], golden, submission)
    except DataError:
        raise
    except Exception as error:
        kind = type(error).__name__
    else:
        pairs = [(one.reply, golden[(one.question[_IMAGE[template]],)]) for one in submitted]
        return score_texts(pairs, template, judge, rounds)
    # Raised out here, as the text of the other error may hold an answer.
    raise DataError(f"is not in the form of the benchmark's file with the answers ({kind})", path=answers)


def _scored(submitted: Sequence[Submitted], submission: Path, answers: Path) -> dict[str, Any]:
    if submission.suffix == ".xlsx":
        return _circular(submitted, answers, submission)
    part = submitted[0].question.get("part")
    if part is None:
        questions, keys = _q_bench_questions(answers), [_q_bench_key(one.question) for one in submitted]
    elif part in _CHOICE_PARTS:
        questions, keys = _aes_bench_questions(answers, part), [(one.question["image"],) for one in submitted]
    else:
        allowed = ", ".join((*_CHOICE_PARTS, "AesI"))
        raise DataError(f"is of the part {part!r}; expected one of {allowed}", path=submission)
    _check_keys(keys, questions, submission)
    chosen = [named_letters(one.reply, questions[key].options) for one, key in zip(submitted, keys, strict=True)]
    right = [questions[key].right in letters for letters, key in zip(chosen, keys, strict=True)]
    sizes = [len(questions[key].options) for key in keys]
    scores = {
        **_share("accuracy", right),
        "random_guess": random_guess(sizes),
        "n": len(right),
        "unmatched": chosen.count(""),
    }
    return scores | _by_group(right, [questions[key] for key in keys], "accuracy")


def _circular(submitted: Sequence[Submitted], answers: Path, submission: Path) -> dict[str, Any]:
    """CircularEval: right in every pass of the release; VanillaEval: in the first."""
    questions = _mmbench_questions(answers)
    passes = {index: (id, turn) for id, of_id in questions.items() for turn, (index, _) in of_id.items()}
    right: dict[int, dict[int, bool]] = {id: {} for id in questions}
    unmatched = 0
    for number, one in enumerate(submitted, 2):
        try:
            id, turn = passes[int(one.question["index"])]
        except (KeyError, TypeError, ValueError):
            raise DataError("its index is none of the benchmark's", path=submission, row=number) from None
        question = questions[id][turn][1]
        shown = [clean_text(str(one.question[at])) for at in "ABCD" if one.question.get(at) not in (None, "")]
        if tuple(shown) != question.options:
            raise DataError("its options are not those of the row of its index", path=submission, row=number)
        if turn in right[id]:
            raise DataError("is there twice", path=submission, row=number)
        letters = named_letters(one.reply, shown)
        unmatched += not letters
        right[id][turn] = question.right in letters
    lacking = [id for id, of_id in questions.items() if len(right[id]) != len(of_id)]
    if lacking:
        raise DataError(f"lacks passes of {len(lacking)} of {len(questions)} questions", path=submission)
    circular = [all(of_id.values()) for of_id in right.values()]
    chances = [1 / math.prod(len(one.options) for _, one in of_id.values()) for of_id in questions.values()]
    scores = {
        **_share("circular_accuracy", circular),
        **_share("vanilla_accuracy", [of_id[0] for of_id in right.values()]),
        "random_guess": sum(chances) / len(chances),
        "n": len(questions),
        "unmatched": unmatched,
    }
    return scores | _by_group(circular, [of_id[0][1] for of_id in questions.values()], "circular_accuracy")


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


def _check_keys(keys: Sequence[Key], questions: Mapping[Key, Any], submission: Path) -> None:
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
    from eyechart.datasets_scripts.common.choice.q_bench import QUESTION_TYPES

    found = {}
    for number, row in json_rows(path):
        options, text = _texts(row.get("candidates") or ()), clean_text(str(row.get("correct_ans")))
        right = row.get("correct_choice") or (ascii_uppercase[options.index(text)] if text in options else "")
        _check_question(options, right, path, number)
        groups = {"question_type": QUESTION_TYPES[row["type"]], "concern": f"code {row['concern']}"}
        found[_q_bench_key(row)] = _Question(options, right, groups)
    return found


def _aes_bench_questions(path: Path, part: str) -> dict[Key, _Question]:
    from eyechart.datasets_scripts.aesbench.aesbench import answered_question

    found = {}
    for number, (image, entry) in enumerate(json_of(path).items(), 1):
        row = answered_question(clean_text(image), entry, part)
        if row is None:
            raise DataError(f"has no question with an answer under {part}", path=path, row=number)
        groups = {"image_source": row["image_source"] or "not told"}
        found[(row["id"],)] = _Question(tuple(row["options"]), row["answer"], groups)
    return found


def _mmbench_questions(path: Path) -> dict[int, dict[int, tuple[int, _Question]]]:
    """By question and number of the pass, the index of its row and what it shows."""
    # Cells hold images.
    csv.field_size_limit(_MOST_CELL_BYTES)
    rows: dict[int, Pass] = {}
    categories: dict[int, str] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t"), 2):
            options = _cells(row[letter] for letter in "ABCD" if row.get(letter) not in (None, "", "nan"))
            _check_question(options, row["answer"], path, number)
            group = int(row["g_index"]) if row.get("g_index") else None
            one = Pass(int(row["index"]), row["question"], "", options, row["answer"], group)
            if rows.setdefault(one.index, one) != one:
                raise DataError("has an index that an earlier row has with other contents", path=path, row=number)
            categories[one.question_id] = row["category"]
    found: dict[int, dict[int, tuple[int, _Question]]] = {}
    for id, passes in numbered_passes(rows.values()).items():
        groups = {"category": categories[id]}
        found[id] = {turn: (one.index, _Question(one.options, one.answer, groups)) for turn, one in passes.items()}
    if any(len(passes) > 1 for passes in found.values()):
        return found
    return {id: _turned(id, passes) for id, passes in found.items()}


def _turned(id: int, passes: Mapping[int, tuple[int, _Question]]) -> dict[int, tuple[int, _Question]]:
    """The passes that are made of a first one."""
    first = passes[0][1]
    count = len(first.options)
    return {
        turn: (
            id + turn * STRIDE,
            _Question(rotate(first.options, turn), rotated_letter(first.right, turn, count), first.groups),
        )
        for turn in range(count)
    }


def _cells(values: Iterable[Any]) -> tuple[str, ...]:
    """Options as they were written into a submission's cells."""
    return tuple(clean_text(cell_text(clean_text(str(value)))) for value in values)


def _check_question(options: Sequence[str], right: Any, path: Path, number: int) -> None:
    if not options or right not in list(ascii_uppercase[: len(options)]):
        raise DataError(
            "has no answer that is one of its options; give the file with the answers", path=path, row=number
        )
