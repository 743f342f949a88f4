"""The tables of QL-Bench."""

from collections.abc import Iterator

from eyechart.evaluators.report.paper_tables.cells import QUESTION_TYPES, Column, PaperTable, Results, score_table
from eyechart.evaluators.results.finished_runs import TaskKey

_PARTS = {**{head: ("by_question_type", name) for name, head in QUESTION_TYPES.items()}, "Total": ()}


def self_awareness(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """QL-Bench, Tables I and III for single images, II and IV for pairs."""
    first, second = ("I", "III") if key.task == "ql_bench/single" else ("II", "IV")
    note = "The paper's table also includes the private test answers." if key.split == "dev" else ""
    scores = [
        Column(score, (*path, score), 3, head) for head, path in _PARTS.items() for score in ("score_cc", "score_rc")
    ]
    scores.append(Column("Total score_sa", ("score_sa",), 3))
    title = f"QL-Bench, Table {first}: self-awareness"
    yield score_table(key, f"table_{first}", title, "QL-Bench", scores, results, note)
    rates = [
        Column(text, (*path, score), 3, head)
        for head, path in _PARTS.items()
        for score, text in (("answer_accuracy", "Answer Acc"), ("answer_rate", "Answer Rate"))
        if path
    ]
    title = f"QL-Bench, Table {second}: answer accuracy and answer rate"
    yield score_table(key, f"table_{second}", title, "QL-Bench", rates, results, note)
