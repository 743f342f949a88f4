"""The tables of AesBench."""

from collections.abc import Iterator

from eyechart.evaluators.report.paper_tables.cells import Column, PaperTable, Results, choice_table, score_table
from eyechart.evaluators.report.scores import judged_by
from eyechart.evaluators.results.finished_runs import TaskKey

_PERCEPTUAL = {
    "technical quality": "Tec. Qua.",
    "color and light": "Col. Lig.",
    "composition": "Comp.",
    "content": "Content",
}
_EMPATHIC = {"emotion": "Emotion", "interest": "Interest", "uniqueness": "Uniqueness", "vibe": "Vibe"}
_SOURCES = {"natural": "NIs", "artistic": "AIs", "AI-generated": "AGIs"}
_AES_TYPES = {"yes-or-no": "Yes-No", "what": "What", "how": "How", "why": "Why"}
_GROUPS = {("image_source", "Image Sources"): _SOURCES, ("question_type", "Question Types"): _AES_TYPES}


def perception(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """AesBench, Table 2."""
    groups = {("dimension", "Perceptual Dimensions"): _PERCEPTUAL, **_GROUPS}
    yield choice_table(key, "table_2", "AesBench, Table 2: aesthetic perception", "MLLM", groups, results)


def empathy(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """AesBench, Table 3."""
    groups = {("dimension", "Empathy Dimensions"): _EMPATHIC, **_GROUPS}
    yield choice_table(key, "table_3", "AesBench, Table 3: aesthetic empathy", "MLLM", groups, results)


def assessment(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """AesBench, Table 4."""
    groups = {("image_source", ""): _SOURCES}
    yield choice_table(key, "table_4", "AesBench, Table 4: aesthetic assessment", "MLLM", groups, results)


def interpretation(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """AesBench, Table 5."""
    heads = {"relevance": "Rele.", "precision": "Prec.", "completeness": "Comp."}
    columns = [*(Column(head, (name, "score"), 3) for name, head in heads.items()), Column("Overall", ("mean",), 3)]
    title = "AesBench, Table 5: aesthetic interpretation"
    yield score_table(key, "table_5", title, "MLLM", columns, results, judged_by(results))
