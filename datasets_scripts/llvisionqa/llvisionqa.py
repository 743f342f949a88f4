"""LLVisionQA, the perception part of Q-Bench: multiple-choice questions about low-level vision.

Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision, https://arxiv.org/abs/2309.14181,
Sec. 2.2. 1,495 questions each in `dev` and `test`, 2 to 4 options, one correct; the answers of `test` are private.

Layouts that are read, see `common/choice/q_bench.py`: the release; the Hub's Parquet form `q-future/Q-Bench-HF`;
VLMEvalKit's tables, from https://huggingface.co/datasets/zhangzicheng/qbench_tsv.
"""

from types import MappingProxyType

from eyechart.datasets_scripts.common.choice.q_bench import QuestionBuilder, QuestionSet

CONCERNS = ("distortion", "other", "in-context distortion", "in-context other")
"""Meaning of `concern`, in code order (checked on the release: 514, 432, 304 and 245 questions in dev)."""
QUESTIONS = QuestionSet(
    title="LLVisionQA",
    hub="https://huggingface.co/datasets/teowu/LLVisionQA-QBench",
    license="cc-by-nc-sa-4.0",
    files=MappingProxyType({"dev": "llvisionqa_dev.json", "test": "llvisionqa_test.json"}),
    image_archive="images_llvisionqa.tar",
    image_folders=("", "images_llvisionqa", "images"),
    image_columns=("image",),
    image_names=lambda img_path: [img_path],
    concerns=CONCERNS,
    tables=MappingProxyType({"dev": "Q-Bench1_VAL.tsv", "test": "Q-Bench1_TEST.tsv"}),
)


class LLVisionQA(QuestionBuilder):
    """Loads LLVisionQA from its release, from its Parquet form, or from the Hub."""

    QUESTION_SETS = MappingProxyType({"default": QUESTIONS})
