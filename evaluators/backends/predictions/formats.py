"""The formats of predictions files, recognized by suffix and columns, in one table: `FORMATS`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from pydantic import BaseModel, ValidationError

from eyechart.datasets_scripts.common.choice.aesthetics import PARTS
from eyechart.datasets_scripts.common.choice.passes import STRIDE
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.csv_text import unescaped
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    Row,
    iterate_jsonl_rows,
    iterate_table,
    number_field,
    read_json_object,
    read_json_rows,
)
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from eyechart.evaluators.backends.predictions.inspect_log import SUFFIX, read_inspect_log
from eyechart.evaluators.backends.predictions.prediction import MAIN, OWN_KEYS, Fields, Prediction, prediction, text_of
from eyechart.evaluators.requests.values import brief

XLSX = ".xlsx"
# VLMEvalKit's note if a server gave no reply.
_FAILED = "Failed to obtain answer"
# What pandas and the datasets on the Hub write for an option that a question does not have.
_NO_OPTION = ("", "nan", "N/A")
_LOGIT = "logit_"


class _OwnRow(Prediction, BaseModel, strict=True):
    """Validates a row of eyechart's own format."""


@dataclass(frozen=True)
class Format:
    """The file format of one tool; its rows, rearranged, have one of the columns in `item` and one in `reply`.

    The column `index` is a number, which grows by one million for each pass. `options` is a column with a list; without
    one, the options as shown are in the columns `A`, `B`, ... or `option0`, `option1`, ....
    """

    name: str
    suffixes: tuple[str, ...]
    item: tuple[str, ...]
    reply: tuple[str, ...]
    options: str = ""
    rearrange: Callable[[Fields], Fields] = dict
    config: str | None = None

    def missing(self, row: Fields) -> list[str]:
        """The columns, each with its alternatives, that a row lacks."""
        return [" or ".join(names) for names in (self.item, self.reply) if not any(name in row for name in names)]

    def read(self, raw: Fields, path: Path, number: int) -> Fields:
        """The fields of a row's `Prediction`; raises ValueError or BadAnnotationError for a malformed one."""
        row = self.rearrange(raw)
        column = next(column for column in self.item if column in row)
        index, pass_name = _index_and_pass(row) if column == "index" else (None, MAIN)
        item = _name(row, column) if index is None else str(index)
        finite = partial(number_field, row, path=str(path), number=number)
        if self.reply[0] == "score":
            return {"id": item, "score": finite("score")}
        if self.reply[0].startswith(_LOGIT):
            columns = [text_of(name) for name in row if name.startswith(_LOGIT)]
            return {"id": item, "logits": {name.removeprefix(_LOGIT): finite(name) for name in columns}}
        problem = ""
        try:
            text = text_of(row[self.reply[0]])
        except ValueError as error:
            if self.name != "vlmevalkit":
                raise
            # A spreadsheet program may have changed single cells: only this item has no reply.
            text, problem = "", f"'{self.reply[0]}': {error}"
        if text.strip().startswith(_FAILED):
            problem = f"only the tool's note {text.strip()!r}"
        return {
            "id": item,
            "pass_name": pass_name,
            "text": text,
            "options": _options(row, self.options),
            "reasoning": text_of(row.get("thinking")),
            "image": text_of(row.get("image_path")).strip(),
            "question": text_of(row.get("question")),
            "index": _whole_number(raw, "doc_id") if "doc_id" in self.item else index,
            "problem": problem,
        }


def read_predictions(path: Path) -> tuple[Format, list[Prediction]]:
    """Read a file: its format, recognized by the columns of the first row, and its rows in file order, at least one."""
    suffix = path.suffix.lower()
    if path.is_dir() or (path.exists() and suffix not in _READERS):
        problem = "this is a folder" if path.is_dir() else f"unknown suffix {path.suffix!r}"
        reason = f"{problem}; expected {', '.join(_READERS)}, a predictions file; see `eyechart score --help`"
        raise BadAnnotationError(reason, path=path)
    if not path.exists():
        raise MissingFileError("the predictions file does not exist", path=path)
    recognized: Format | None = None
    predictions = []
    for number, row in _READERS[suffix](str(path)):
        try:
            if ROW_ERROR in row:
                raise ValueError(row[ROW_ERROR])
            recognized = recognized or _recognize(suffix, row)
            # eyechart's own format has more specific messages.
            for columns in () if recognized is OWN else recognized.missing(row):
                raise ValueError(f"missing '{columns}', which earlier rows have ({recognized.name})")
            fields = _read_own(row) if recognized is OWN else recognized.read(row, path, number)
            predictions.append(prediction({**fields, "row": number}))
        except ValueError as error:
            raise BadAnnotationError(str(error), path=path, row=number) from error
    if recognized is None:
        raise BadAnnotationError("the predictions file is empty", path=path)
    return recognized, predictions


def _read_own(row: Fields) -> Fields:
    try:
        valid = _OwnRow.model_validate({key: row[key] for key in OWN_KEYS if key in row})
    except ValidationError as error:
        problem = error.errors()[0]
        raise ValueError(f"'{problem['loc'][0]}' is {brief(problem['input'])}: {problem['msg']}") from error
    if valid.text is None and valid.logits is None and valid.score is None:
        raise ValueError("missing 'text', 'logits' or 'score'")
    return vars(valid)


def _rearrange_lmms_eval(row: Fields) -> Fields:
    """The task's row, which is `doc` or, in some versions, in the entry of the task's metric; and the only reply."""
    document = row.get("doc")
    if not isinstance(document, dict):
        parts = [value for value in row.values() if isinstance(value, dict) and ("index" in value or "id" in value)]
        document = max(parts, key=len, default={})
    reply = row.get("filtered_resps", row.get("resps"))
    while isinstance(reply, list) and len(reply) == 1:
        reply = reply[0]
    if not isinstance(reply, str):
        raise ValueError(f"'filtered_resps' is {brief(reply)}; expected a single string")
    name = text_of(document.get("id")) or f"doc_id {row.get('doc_id')}"
    return {**document, "doc_id": name, "filtered_resps": reply}


def _rearrange_q_bench(row: Fields) -> Fields:
    """Both of eyechart's ids: that of a second question about an image differs, and the question decides."""
    image, question = _name(row, "img_path"), text_of(row.get("question"))
    if "_cat_" in image:
        image = image.removesuffix(".jpg")
    return {**row, "img_path": f"{image}: {question}", "image_path": image} if question else {**row, "img_path": image}


OWN = Format("eyechart", (".jsonl", SUFFIX), ("id",), ("text", "logits", "score"))
"""eyechart's own format, in which items have eyechart's ids."""

FORMATS = (
    OWN,
    # VLMEvalKit (https://github.com/open-compass/VLMEvalKit) and MMBench's answer file: the columns of the tool's
    # dataset (`question`, `A` to `D` as shown, ...). `thinking` is the reasoning, which is not part of the reply;
    # `g_index` is the number of the question, if the index of the first pass is another.
    Format("vlmevalkit", (XLSX, ".tsv", ".json"), ("index",), ("prediction",)),
    # Samples that lmms-eval logs (https://github.com/EvolvingLMMs-Lab/lmms-eval), `<date>_samples_<task>.jsonl`: the
    # rows of the datasets on the Hub. Q-Bench has `id` and `option0` to `option3`, MMBench `index` and `A` to `D`.
    Format("lmms-eval", (".jsonl",), ("index", "doc_id"), ("filtered_resps", "resps"), rearrange=_rearrange_lmms_eval),
    # Q-Bench's authors (https://github.com/Q-Future/Q-Bench, `leaderboards/IQA_outputs`): the logit of each word, and
    # `gt_score`, which eyechart reads from the data. The files of InstructBLIP-Vicuna have their first object twice,
    # and the published numbers count it twice: the published SRCC of 0.629 on AGIQA-3K is 0.628 here.
    Format("q-bench-logits", (".json", ".jsonl"), ("img_path",), ("logit_good", "logit_high")),
    # Answer files of Q-Bench, Q-Bench2 and LLDescribe: rows of the release's test file with the reply.
    Format("q-bench-answers", (".json", ".jsonl"), ("img_path",), ("response",), "candidates", _rearrange_q_bench),
    *(
        Format(f"aesbench-{config}-answers", (".json",), ("image",), (f"{part}_response",), config=config)
        for config, part in PARTS.items()
    ),
    # Scores of any quality metric.
    Format("quality-scores", (".csv",), ("id", "image", "image_name", "name", "filename"), ("score",)),
)


def _recognize(suffix: str, row: Fields) -> Format:
    """The only format that fits a file with this suffix and first row; raises ValueError otherwise."""
    of_suffix = [form for form in FORMATS if suffix in form.suffixes]
    fitting = [form for form in of_suffix if not form.missing(row)]
    if len(fitting) == 1:
        return fitting[0]
    known = "; ".join(f"{', '.join(form.missing({}))} ({form.name})" for form in of_suffix)
    problem = f"several formats fit ({', '.join(form.name for form in fitting)})" if fitting else "unknown format"
    columns = ", ".join(map(repr, row)) or "no columns"
    raise ValueError(f"{problem}; found: {columns}. Expected columns of a {suffix} file: {known}")


def _name(row: Fields, column: str) -> str:
    name = text_of(row[column]).strip()
    if not name:
        raise ValueError(f"'{column}' is empty")
    return name


def _options(row: Fields, column: str) -> tuple[str, ...] | None:
    if row.get(column) is not None:
        if not isinstance(row[column], list):
            raise ValueError(f"'{column}' is {brief(row[column])}; expected a list of strings")
        return tuple(map(text_of, row[column])) or None
    for columns in (map("option{}".format, range(26)), ascii_uppercase):
        texts = [text_of(row[name]).strip() for name in takewhile(row.__contains__, columns)]
        while texts and texts[-1] in _NO_OPTION:
            texts.pop()
        if texts:
            return tuple(texts)
    return None


def _whole_number(row: Fields, column: str) -> int:
    text = text_of(row.get(column)).strip()
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"'{column}' is {brief(row.get(column))}; expected a whole number")
    return int(text)


def _index_and_pass(row: Fields) -> tuple[int, str]:
    """The number of the question, and the name of the pass."""
    index = _whole_number(row, "index")
    group = _whole_number(row, "g_index") if text_of(row.get("g_index")) else None
    rotation, rest = divmod(index - (group or 0), STRIDE)
    if group is not None and (rest or rotation < 0):
        raise ValueError(f"index {index} is not a pass of the question with g_index {group}")
    return rest if group is None else group, f"rotation:{rotation}" if rotation else MAIN


def _read_json(path: str) -> Iterable[Row]:
    rows = iter(read_json_rows(path))
    first = list(islice(rows, 2))
    entries = first[0][1] if len(first) == 1 else {}
    if not entries or not all(
        isinstance(entry, dict) and any(key.endswith("_response") for key in entry) for entry in entries.values()
    ):
        return chain(first, rows)
    # AesBench's answer file: one object with an entry for each image name, which has only the reply.
    return [
        (number, {"image": name, **entry} if len(entry) == 1 else {ROW_ERROR: f"{len(entry)} values for an image"})
        for number, (name, entry) in enumerate(read_json_object(path).items(), 1)
    ]


def _read_xlsx(path: str) -> Iterator[Row]:
    from openpyxl.utils.escape import unescape

    def plain(value: Any) -> Any:
        # XLSX writes control characters as _x000D_; openpyxl returns an array formula as an object.
        value = getattr(value, "text", value)
        return unescape(value) if isinstance(value, str) else value

    # A reply that begins with "=" may have become a formula, whose value is not the reply.
    rows = read_xlsx_rows(path, (), formulas=True)
    return ((number, {name: plain(value) for name, value in row.items()}) for number, row in rows)


def _read_csv(path: str) -> Iterator[Row]:
    return ((number, {name: unescaped(text) for name, text in row.items()}) for number, row in iterate_table(path, ()))


_READERS: Mapping[str, Callable[[str], Iterable[Row]]] = {
    ".jsonl": iterate_jsonl_rows,
    ".json": _read_json,
    XLSX: _read_xlsx,
    ".tsv": lambda path: iterate_table(path, (), delimiter="\t", image_columns=["image"], images=False),
    ".csv": _read_csv,
    SUFFIX: read_inspect_log,
}
