"""Samples that lmms-eval logs (https://github.com/EvolvingLMMs-Lab/lmms-eval): `<date>_samples_<task>.jsonl`.

An object has `doc_id` (the row's position in the dataset), `doc` (the row without its images), `target`, `input` and
`filtered_resps` (the reply, or a list with only the reply). Some versions leave out `doc`; the row's id is then in the
entry of the task's metric, such as `qbench_acc` or `submission`. Rows are those of the datasets on the Hub: Q-Bench has
`id` and `option0` to `option3`, MMBench has `index` and `A` to `D`.
"""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from eyechart.evaluators.backends.predictions.cells import text_of, whole_number_of
from eyechart.evaluators.backends.predictions.prediction import MAIN, Prediction, base_and_pass, without_padding
from eyechart.evaluators.backends.predictions.vlmevalkit import group_of, lettered_options
from eyechart.evaluators.requests.values import brief

_OPTIONS = [f"option{number}" for number in range(26)]


def parse(row: Mapping[str, Any]) -> Prediction:
    """Parse one object; raises ValueError if it is malformed."""
    place = whole_number_of(row, "doc_id")
    document = _document(row)
    names: tuple[str, ...] = (f"doc_id {place}",)
    pass_name = MAIN
    if "index" in document:
        base, pass_name = base_and_pass(whole_number_of(document, "index"), group=group_of(document))
        names = (str(base),)
    elif text_of(document.get("id")):
        names = (text_of(document["id"]),)
    return Prediction(
        names=names,
        pass_name=pass_name,
        text=_answer(row.get("filtered_resps", row.get("resps"))),
        options=_options(document),
        question=text_of(document.get("question")),
        place=place,
    )


def _document(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The dataset's row, or the part of it in the entry of the task's metric."""
    if isinstance(row.get("doc"), dict):
        return row["doc"]
    kept = [value for value in row.values() if isinstance(value, dict) and ("index" in value or "id" in value)]
    return max(kept, key=len, default={})


def _options(document: Mapping[str, Any]) -> tuple[str, ...] | None:
    if _OPTIONS[0] not in document:
        return lettered_options(document)
    options = [text_of(document[name]) for name in takewhile(document.__contains__, _OPTIONS)]
    return without_padding(options, ["", "N/A"])


def _answer(responses: Any) -> str:
    while isinstance(responses, list) and len(responses) == 1:
        responses = responses[0]
    if not isinstance(responses, str):
        raise ValueError(f"'filtered_resps' is {brief(responses)}; expected a single string")
    return text_of(responses)
