"""The tables of QL-Bench."""

from collections.abc import Iterator

from eyechart.evaluators.report.paper_tables.cells import QUESTION_TYPES, PaperTable, Results, decimal, percent, table
from eyechart.evaluators.report.runs import TaskKey


def self_awareness(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """QL-Bench, Tables I and III for single images, II and IV for pairs."""
    first, second = ("I", "III") if key.task == "ql_bench/single" else ("II", "IV")
    paths: list[tuple[str, ...]] = [("by_question_type", name) for name in QUESTION_TYPES]
    columns = [f"{name} score_{part}" for name in (*QUESTION_TYPES.values(), "Total") for part in ("cc", "rc")]
    rows = [
        (
            label,
            *(decimal(3, r.scores, *path, name) for path in (*paths, ()) for name in ("score_cc", "score_rc")),
            decimal(3, r.scores, "score_sa"),
        )
        for label, r in results
    ]
    note = "The papers' tables also count the private test answers." if key.split == "dev" else ""
    title = f"QL-Bench, Table {first}: self-awareness"
    yield table(key, f"table_{first}", title, ("QL-Bench", *columns, "Total score_sa"), rows, note)
    columns = [f"{name} {part}" for name in QUESTION_TYPES.values() for part in ("Answer Acc", "Answer Rate")]
    rows = [
        (
            label,
            *(
                percent(r.scores, *path, name, digits=3)
                for path in paths
                for name in ("answer_accuracy", "answer_rate")
            ),
        )
        for label, r in results
    ]
    title = f"QL-Bench, Table {second}: answer accuracy and answer rate"
    yield table(key, f"table_{second}", title, ("QL-Bench", *columns), rows, note)
