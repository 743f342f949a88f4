"""Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision (https://arxiv.org/abs/2309.14181).

A1 perception follows Sec. 2.2.3: question, image, lettered options, answered in the release's option order. A3
assessment follows Sec. 2.4.2 with one departure that the released code makes too: logits are divided by 100 before the
softmax of Eq. 1, without which the published PLCC cannot be reproduced.
"""

from string import ascii_uppercase

from eyechart.evaluators.tasks.task import Kind
from eyechart.evaluators.tasks.task import Task
from eyechart.evaluators.types import IMAGE
from eyechart.evaluators.types import Prompt
from eyechart.evaluators.types import Row

_PAPER = "Q-Bench (Wu et al., ICLR 2024)"


def perception_prompt(row: Row) -> Prompt:
    """Question, image(s), options: Q-Bench, Sec. 2.2.3."""
    options = " ".join(f"{letter}. {option}" for letter, option in zip(ascii_uppercase, row["options"], strict=False))
    images = (IMAGE,) * len(row["images"])
    return (f"{row['question']}\n", *images, f"\nChoose between one of the following options: {options}")


def assessment_prompt(row: Row) -> Prompt:
    """Instruction, image: Q-Bench, Fig. 4."""
    return ("Rate the quality of the image.\n", IMAGE)


PERCEPTION = Task(
    name="q_bench/perception",
    description="low-level perception: multiple choice on LLVisionQA (A1)",
    paper=f"{_PAPER}, Sec. 2.2",
    evaluator=Kind.MULTIPLE_CHOICE,
    subsets=("llvisionqa",),
    splits=("dev", "test"),
    metric="choice_accuracy",
    metric_config=None,
    prompt=perception_prompt,
    prompt_id="q_bench_a1/1",
    groups=("question_type", "concern"),
    max_new_tokens=32,
)

ASSESSMENT = Task(
    name="q_bench/assessment",
    description="quality assessment: softmax of good and poor against opinion scores (A3)",
    paper=f"{_PAPER}, Sec. 2.4",
    evaluator=Kind.QUALITY_ASSESSMENT,
    subsets=("kadis700k",),
    splits=("test",),
    metric="softmax_iqa",
    metric_config="logits",
    prompt=assessment_prompt,
    prompt_id="q_bench_a3/1",
    prefill="The quality of the image is",
    words=("good", "poor"),
)
