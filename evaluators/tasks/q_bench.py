"""Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision (https://arxiv.org/abs/2309.14181).

A1 perception follows Sec. 2.2.3: question, image, lettered options in the release's order. A judge, if there is one,
votes five times on replies that name no option (A.2.1). The pairs of Q-Bench2 (https://arxiv.org/abs/2402.07116) are
asked with the same prompt and two images in place of one. A2 description follows Sec. 2.3. A3 assessment follows
Sec. 2.4.2 with one departure that the released code makes too: logits are divided by 100 before the softmax of Eq. 1.
Without it, the published PLCC cannot be reproduced. A3 runs on the seven databases of Table 4, over which the paper
averages.

The prompt of A1 is the paper's; the released example (`example_code_for_idefics/a1_perception_demo.py` of
https://github.com/Q-Future/Q-Bench) is worded differently. The prompts of A2 and A3 are in the paper and in the
released code, which puts the image directly after the text.
"""

from dataclasses import replace
from string import ascii_uppercase

from eyechart.evaluators.answer_files.q_bench import description_answer_file, pair_answer_file, perception_answer_file
from eyechart.evaluators.protocols.choice.multiple_choice import MultipleChoice
from eyechart.evaluators.protocols.description import Description
from eyechart.evaluators.protocols.protocol import DEFAULT
from eyechart.evaluators.protocols.quality.assessment import NUMERICAL, QualityAssessment
from eyechart.evaluators.protocols.quality.word_pairs import WordPair
from eyechart.evaluators.requests.types import IMAGE, Prompt, Row
from eyechart.evaluators.tasks.task import BoardRules, Published, Task, TaskData
from eyechart.evaluators.tasks.toolkit_prompts import LMMS_EVAL, VLMEVALKIT, lmms_eval_q_bench_prompt, vlmevalkit_prompt

_PAPER = "Q-Bench (Wu et al., ICLR 2024)"
DATABASES = {
    "koniq10k": "KonIQ-10k",
    "spaq": "SPAQ",
    "live_fb": "LIVE-FB",
    "live_itw": "LIVE-itw",
    "cgiqa6k": "CGIQA-6K",
    "agiqa3k": "AGIQA-3K",
    "kadid10k": "KADID-10k",
}
"""The databases over which A3 is averaged: Q-Bench, Table 4."""
WORD_PAIRS = (
    WordPair(("good",), ("poor",)),
    WordPair(("fine",), ("bad",)),
    WordPair(("high",), ("low",)),
    WordPair(("good", "high"), ("poor", "low")),
    WordPair(("good", "fine"), ("poor", "bad")),
    WordPair(("good", "high", "fine"), ("poor", "low", "bad")),
)
"""The pair of Eq. 1, then those of Table 11; high and low are also the pair of Eq. 3."""


def perception_prompt(row: Row) -> Prompt:
    """Question, image(s), options: Q-Bench, Sec. 2.2.3."""
    options = " ".join(f"{letter}. {option}" for letter, option in zip(ascii_uppercase, row["options"], strict=False))
    images = (IMAGE,) * len(row["images"])
    return (f"{row['question']} ", *images, f"\nChoose between one of the following options: {options}")


def answer_mark_prompt(row: Row) -> Prompt:
    """The same with `#Answer:` at the end, so that models name one of the options: Q-Bench, A.2.1."""
    *before, options = perception_prompt(row)
    return (*before, f"{options}\n#Answer:")


def open_prompt(row: Row) -> Prompt:
    """Question, image(s), no options: Q-Bench, A.2.1."""
    return (f"{row['question']} ", *(IMAGE,) * len(row["images"]))


def description_prompt(row: Row) -> Prompt:
    """Instruction, image: Q-Bench, A.2.2, and `a2_description_demo.py` of the released code."""
    return ("Describe the quality, aesthetics and other low-level appearance of the image in details.", IMAGE)


def assessment_prompt(row: Row) -> Prompt:
    """Direct instruction, image: Q-Bench, Fig. 4, and `a3_assessment_all.py` of the released code."""
    return ("Rate the quality of the image.", IMAGE)


def numerical_prompt(row: Row) -> Prompt:
    """Numerical instruction, image: Q-Bench, Sec. 2.4.1."""
    return ("Score the quality of the image from 1 to 5, with 1 as lowest and 5 as highest.", IMAGE)


PERCEPTION = Task(
    name="q_bench/perception",
    title="A1 Perception",
    description="low-level perception: multiple choice on LLVisionQA (A1)",
    paper=f"{_PAPER}, Sec. 2.2",
    data=TaskData(("llvisionqa",), ("dev", "test")),
    protocol=MultipleChoice(
        prompts={
            DEFAULT: perception_prompt,
            "answer-mark": answer_mark_prompt,
            VLMEVALKIT: vlmevalkit_prompt,
            LMMS_EVAL: lmms_eval_q_bench_prompt,
        },
        prompt_id="q_bench_a1/2",
        open_prompt=open_prompt,
        open_prefill="#Answer:",
        judge_template="q_bench_vote",
        crossed=(("question_type", "concern"),),
    ),
    groups=("question_type", "concern"),
    published=(Published("judge_reads", "all", "Q-Bench, A.2.1"),),
    published_judge=True,
    answer_file=perception_answer_file,
)

PERCEPTION_PAIRS = replace(
    PERCEPTION,
    name="q_bench/perception_pairs",
    title="A1 Perception of pairs",
    description="low-level perception: multiple choice on two images (A1 of Q-Bench2)",
    paper="Q-Bench2 (Zhang et al., 2024), A1",
    data=TaskData(("llvisionqa_pairs",), ("dev", "test")),
    answer_file=pair_answer_file,
)

DESCRIPTION = Task(
    name="q_bench/description",
    title="A2 Description",
    description="low-level description: texts on LLDescribe, compared with golden descriptions by a judge (A2)",
    paper=f"{_PAPER}, Sec. 2.3",
    data=TaskData(("lldescribe",), ("test",)),
    protocol=Description(prompts={DEFAULT: description_prompt}, prompt_id="q_bench_a2/2"),
    headline="sum",
    published_judge=True,
    board=BoardRules(
        {"test": "The experts' texts are private, so only people who have them can submit entries."},
        without=("mean", "precision.score"),
    ),
    answer_file=description_answer_file,
)

ASSESSMENT = Task(
    name="q_bench/assessment",
    title="A3 Assessment",
    description="quality assessment: softmax of good and poor, correlated with opinion scores (A3)",
    paper=f"{_PAPER}, Sec. 2.4",
    data=TaskData((*DATABASES, "kadis700k", "csiq", "mm21", "sqad"), ("test",), run_on=tuple(DATABASES)),
    protocol=QualityAssessment(
        prompts={DEFAULT: assessment_prompt, NUMERICAL: numerical_prompt},
        prompt_id="q_bench_a3/2",
        prefill="The quality of the image is",
        word_pairs=WORD_PAIRS,
        # CGIQA-6K's two halves: Q-Bench, A.2.3.
        average_over="subset",
    ),
    groups=("subset", "distortion_type", "distortion_level"),
    published=(Published("ties", "paper-code", "a3_assessment_all.py of the released code"),),
)
