"""The tables of AesBench."""

from collections.abc import Iterator

from eyechart.evaluators.report.paper_tables.cells import PaperTable, Results, choice_table, decimal, judges, table
from eyechart.evaluators.report.runs import TaskKey

_PERCEPTUAL = {
    "technical quality": "Tec. Qua.",
    "color and light": "Col. Lig.",
    "composition": "Comp.",
    "content": "Content",
}
_EMPATHIC = {"emotion": "Emotion", "interest": "Interest", "uniqueness": "Uniqueness", "vibe": "Vibe"}
_SOURCES = {"natural": "NIs", "artistic": "AIs", "AI-generated": "AGIs"}
_AES_TYPES = {"yes-or-no": "Yes-No", "what": "What", "how": "How", "why": "Why"}


def perception(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """AesBench, Table 2."""
    groups = {"dimension": _PERCEPTUAL, "image_source": _SOURCES, "question_type": _AES_TYPES}
    yield choice_table(key, "AesBench, Table 2: aesthetic perception", "MLLM", groups, results, "table_2")


def empathy(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """AesBench, Table 3."""
    groups = {"dimension": _EMPATHIC, "image_source": _SOURCES, "question_type": _AES_TYPES}
    yield choice_table(key, "AesBench, Table 3: aesthetic empathy", "MLLM", groups, results, "table_3")


def assessment(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """AesBench, Table 4."""
    groups = {"image_source": _SOURCES}
    yield choice_table(key, "AesBench, Table 4: aesthetic assessment", "MLLM", groups, results, "table_4")


def interpretation(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """AesBench, Table 5."""
    names = ("relevance", "precision", "completeness")
    rows = [
        (label, *(decimal(3, r.scores, name, "score") for name in names), decimal(3, r.scores, "mean"))
        for label, r in results
    ]
    columns = ("MLLM", "Rele.", "Prec.", "Comp.", "Overall")
    title = "AesBench, Table 5: aesthetic interpretation"
    yield table(key, "table_5", title, columns, rows, judges(results))
