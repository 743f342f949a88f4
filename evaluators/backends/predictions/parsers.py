"""One prediction of a file, and one parser for each tool, which makes it of a row.

A parser raises `ValueError` (of which pydantic's errors are a kind) for a malformed row.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from eyechart.datasets_scripts.common.choice.rotations import STRIDE
from eyechart.evaluators.requests.values import brief, is_unicode

MAIN = "main"
Fields = Mapping[str, Any]
"""A row of a file."""
IMAGE_NAMES = ("id", "image", "image_name", "name", "filename")
"""Possible columns of image names in a file of scores; the first one that exists is used."""
# VLMEvalKit's note if a server gave no reply.
_FAILED = "Failed to obtain answer"
_LOGIT = "logit_"


@dataclass(frozen=True)
class Prediction:
    """One row of a predictions file."""

    names: tuple[str, ...]
    """Possible names of the item in the data; first the tool's own id, which all passes over an item share."""
    row: int = 0
    """Number of the row or line in the file."""
    pass_name: str = MAIN
    """Name of the pass over the item: "main", "rotation:1", "forced", "reversed"."""
    text: str | None = None
    """The reply; "" if it is empty. None if the file has logits or scores."""
    logits: Mapping[str, float] | None = None
    """Next-token logit of each word."""
    score: float | None = None
    """A quality score, unchanged from the file."""
    options: tuple[str, ...] | None = None
    """The options as they were shown, "" for an option that is empty in the file. None if the file has no options; they
    are then in the release's order."""
    question: str = ""
    """The question, if the file has it."""
    index: int | None = None
    """The tool's number of the item, in the order of the tool's data; None if the tool has no numbers."""
    reasoning: str | None = None
    """The model's reasoning, if the file has it in a separate column."""
    finish_reason: str | None = None
    """How the reply ended, if the file has it."""
    problem: str = ""
    """Why the reply cannot be used; "" if it can."""
    failure: str = ""
    """The tool's note that it got no reply; "" if it got one."""


def parse_eyechart(row: Fields) -> Prediction:
    """The format of eyechart: JSON Lines, one object for each item and pass.

    `id` is the row's id, `pass` the name of the pass ("main" if absent), and the prediction is `text`, `logits` ({word:
    value}) or `score`. `options` are the options as they were shown; without `options`, letters refer to the release's
    order. `reasoning` is the model's reasoning before its answer, and `finish_reason` how the text ended: "length" if
    it was truncated.
    """
    try:
        line = _Line.model_validate(row)
    except ValidationError as error:
        problem = error.errors()[0]
        raise ValueError(f"'{problem['loc'][0]}' is {brief(problem['input'])}: {problem['msg']}") from error
    if line.text is None and line.logits is None and line.score is None:
        raise ValueError("missing 'text', 'logits' or 'score'")
    return Prediction(
        names=(str(line.id),),
        pass_name=line.pass_name,
        text=line.text,
        logits=line.logits,
        score=line.score,
        options=None if line.options is None else tuple(line.options),
        reasoning=line.reasoning or None,
        finish_reason=line.finish_reason or None,
    )


def parse_vlmevalkit(row: Fields) -> Prediction:
    """VLMEvalKit's files (https://github.com/open-compass/VLMEvalKit), and MMBench's answer file.

    A row has the columns of the tool's dataset (`index`, `question`, `hint`, `A` to `D`, `answer`, ...) and
    `prediction`. `thinking`, if present, is the reasoning, which is not part of the reply. The options are as they were
    shown. Each further pass over a question adds one million to `index`; `g_index`, if present, is the number of the
    question.
    """
    base, pass_name = _base_and_pass(row)
    image = text_of(row.get("image_path"))
    try:
        text, problem = text_of(row["prediction"]), ""
    except ValueError as error:
        text, problem = "", f"'prediction': {error}"
    return Prediction(
        names=(str(base), image) if image else (str(base),),
        pass_name=pass_name,
        text=text,
        options=_lettered_options(row),
        question=text_of(row.get("question")),
        index=base,
        reasoning=text_of(row.get("thinking")) or None,
        problem=problem,
        failure=text.strip() if text.strip().startswith(_FAILED) else "",
    )


def parse_lmms_eval(row: Fields) -> Prediction:
    """Samples that lmms-eval logs (https://github.com/EvolvingLMMs-Lab/lmms-eval): `<date>_samples_<task>.jsonl`.

    An object has `doc_id` (the position in the dataset), `doc` (the row without its images), `target`, `input` and
    `filtered_resps` (the reply, or a list with only the reply). Some versions leave out `doc`; the row's id is then in
    the entry of the task's metric, such as `qbench_acc` or `submission`. Rows are those of the datasets on the Hub:
    Q-Bench has `id` and `option0` to `option3`, MMBench has `index` and `A` to `D`.
    """
    document = row.get("doc")
    if not isinstance(document, dict):
        parts = [value for value in row.values() if isinstance(value, dict) and ("index" in value or "id" in value)]
        document = max(parts, key=len, default={})
    index = _whole_number(row, "doc_id")
    name, pass_name = text_of(document.get("id")) or f"doc_id {index}", MAIN
    if "index" in document:
        base, pass_name = _base_and_pass(document)
        name = str(base)
    numbered = [text_of(document[key]) for key in takewhile(document.__contains__, map("option{}".format, range(26)))]
    reply = row.get("filtered_resps", row.get("resps"))
    while isinstance(reply, list) and len(reply) == 1:
        reply = reply[0]
    if not isinstance(reply, str):
        raise ValueError(f"'filtered_resps' is {brief(reply)}; expected a single string")
    return Prediction(
        names=(name,),
        pass_name=pass_name,
        text=text_of(reply),
        options=_without_padding(numbered, ["", "N/A"]) if numbered else _lettered_options(document),
        question=text_of(document.get("question")),
        index=index,
    )


def parse_llava(row: Fields) -> Prediction:
    """LLaVA's answers to MMBench (https://github.com/haotian-liu/LLaVA, `model_vqa_mmbench`): JSON Lines.

    An object has `question_id` (the row's index), `round_id` (the rotation), `prompt`, `text` (the reply), `options` as
    they were shown, and `option_char`, the letter of each option in the first round. In prompts, options are lettered
    in the order shown, after the line of the question.
    """
    base, pass_name = _base_and_pass(row, "question_id", _whole_number(row, "round_id"))
    options = _text_list(row, "options") or None
    before, found, _ = text_of(row.get("prompt")).rpartition(f"\nA. {options[0]}" if options else "\0")
    return Prediction(
        names=(str(base),),
        pass_name=pass_name,
        text=text_of(row["text"]),
        options=options,
        question=before.rstrip().rpartition("\n")[2] if found else "",
        index=base,
    )


def parse_q_bench_answers(row: Fields) -> Prediction:
    """Answer files of Q-Bench, Q-Bench2 and LLDescribe, as `evaluators.answer_files` writes them.

    A row is one of the release's test file (`img_path`; `question`, `candidates`) with the reply as `response`. Options
    are in the release's order. eyechart's id of a second question about an image differs from that of the first, so
    both ids are tried, and the question decides.
    """
    image, question = _name(row, "img_path"), text_of(row.get("question"))
    if "_cat_" in image:
        image = image.removesuffix(".jpg")
    return Prediction(
        # The first name distinguishes questions about the same image.
        names=(f"{image}: {question}", image) if question else (image,),
        text=text_of(row["response"]),
        options=None if row.get("candidates") is None else _text_list(row, "candidates"),
        question=question,
    )


def parse_aes_bench_answers(row: Fields) -> Prediction:
    """Answer files of AesBench: the reply about one image, under `AesP_response` or the key of another part."""
    answers = [value for key, value in row.items() if key != "image"]
    if len(answers) != 1:
        raise ValueError(f"{len(answers)} values for an image; expected only its reply")
    return Prediction(names=(_name(row, "image"),), text=text_of(answers[0]))


def parse_q_bench_logits(row: Fields) -> Prediction:
    """Logits as released by the authors of Q-Bench (https://github.com/Q-Future/Q-Bench, `leaderboards/IQA_outputs`).

    An object has `img_path`, `gt_score` (the opinion score; eyechart reads it from the data instead) and `logit_<word>`
    for each word: good and poor, for some models also high and low or excellent. The files of InstructBLIP-Vicuna have
    their first object twice, and the published numbers count it twice: the published SRCC of 0.629 on AGIQA-3K is 0.628
    here; all other scores of that model agree to three decimals.
    """
    logits = {key.removeprefix(_LOGIT): _number(row, key) for key in row if key.startswith(_LOGIT)}
    return Prediction(names=(_name(row, "img_path"),), logits=logits)


def parse_quality_scores(row: Fields) -> Prediction:
    """Scores of any quality metric: a column of image names and the column `score`."""
    column = next(name for name in IMAGE_NAMES if name in row)
    return Prediction(names=(_name(row, column),), score=_number(row, "score"))


def text_of(value: Any) -> str:
    """The text of a cell: "" for an empty one, numbers as a spreadsheet shows them.

    Raises:
        ValueError: The value is a date, a list or similar, or not valid Unicode.

    Examples:
        >>> text_of(float("nan")), text_of(3.0), text_of(True), text_of(" A ")
        ('', '3', 'True', ' A ')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool | int | float) or (isinstance(value, str) and is_unicode(value)):
        return str(value)
    if hasattr(value, "isoformat"):
        raise ValueError(
            f"expected text, found the date or time {value.isoformat()}; a spreadsheet program probably converted the "
            "reply, so store the column as text"
        )
    raise ValueError(f"expected text, found {brief(value)}")


_Text = Annotated[str, AfterValidator(text_of)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Line(BaseModel):
    model_config = ConfigDict(strict=True)

    id: Annotated[_Text, Field(min_length=1)] | int
    pass_name: Annotated[_Text, Field(min_length=1)] = Field(default=MAIN, alias="pass")
    text: _Text | None = None
    logits: dict[str, _Finite] | None = None
    score: _Finite | None = None
    options: list[_Text] | None = None
    reasoning: _Text | None = None
    finish_reason: _Text | None = None


def _name(row: Fields, column: str) -> str:
    name = text_of(row[column]).strip()
    if not name:
        raise ValueError(f"'{column}' is empty")
    return name


def _text_list(row: Fields, column: str) -> tuple[str, ...]:
    if not isinstance(row[column], list):
        raise ValueError(f"'{column}' is {brief(row[column])}; expected a list of strings")
    return tuple(map(text_of, row[column]))


def _whole_number(row: Fields, column: str) -> int:
    text = text_of(row.get(column)).strip()
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"'{column}' is {brief(row.get(column))}; expected a whole number")
    return int(text)


def _number(row: Fields, column: str) -> float:
    try:
        number = float(text_of(row[column]))
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"'{column}' is {brief(row[column])}; expected a finite number")
    return number


def _base_and_pass(row: Fields, column: str = "index", round_number: int = 0) -> tuple[int, str]:
    """The number of the question, and the name of the pass: the index grows by one million for each pass."""
    index = _whole_number(row, column)
    group = _whole_number(row, "g_index") if text_of(row.get("g_index")) else None
    rotation, rest = divmod(index - (group or 0), STRIDE)
    if group is not None and (rest or rotation < 0):
        raise ValueError(f"index {index} is not a pass of the question with g_index {group}")
    if rotation and round_number:
        raise ValueError(f"index {index} means pass {rotation}, but the row also has round_id {round_number}")
    rotation = rotation or round_number
    return rest if group is None else group, f"rotation:{rotation}" if rotation else MAIN


def _lettered_options(row: Fields) -> tuple[str, ...] | None:
    """The options in columns A, B, ...; pandas writes an empty cell as "nan"."""
    return _without_padding(
        [text_of(row[letter]) for letter in takewhile(row.__contains__, ascii_uppercase)], ["", "nan"]
    )


def _without_padding(options: Sequence[str], padding: Collection[str]) -> tuple[str, ...] | None:
    """The options without texts at the end that mean that there is none; None if there are no options."""
    texts = [option.strip() for option in options]
    while texts and texts[-1] in padding:
        texts.pop()
    return tuple(texts) or None
