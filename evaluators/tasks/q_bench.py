"""Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision (https://arxiv.org/abs/2309.14181).

A1 has the prompt of Sec. 2.2.3, not the differently worded one of the released `a1_perception_demo.py`
(https://github.com/Q-Future/Q-Bench); a judge, if there is one, votes five times on replies that name no option
(A.2.1). Q-Bench2 (https://arxiv.org/abs/2402.07116) asks about two images with the same prompt. A2 follows Sec. 2.3. A3
follows Sec. 2.4.2, but divides logits by 100 before the softmax of Eq. 1, as the released code does: without that, the
published PLCC cannot be reproduced. In A2 and A3, the image comes directly after the text, as in the released code.
"""

from dataclasses import replace

from eyechart.evaluators.answer_files import description_answer_file, pair_answer_file, perception_answer_file
from eyechart.evaluators.protocols.choice.multiple_choice import MultipleChoice
from eyechart.evaluators.protocols.description import Description
from eyechart.evaluators.protocols.protocol import DEFAULT
from eyechart.evaluators.protocols.quality_assessment import ANSWER_TAG, NUMERICAL, QualityAssessment, WordPair
from eyechart.evaluators.tasks.prompts import (
    LMMS_EVAL,
    VLMEVALKIT,
    lmms_eval_q_bench_prompt,
    prompt_function,
    vlmevalkit_prompt,
)
from eyechart.evaluators.tasks.task import BoardRules, PaperSetting, Task, TaskData

_PAPER = "Q-Bench (Wu et al., ICLR 2024)"
DATABASES = ("koniq10k", "spaq", "live_fb", "live_itw", "cgiqa6k", "agiqa3k", "kadid10k")
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


_ASKED = "{question} {images}\nChoose between one of the following options: {options}"
perception_prompt = prompt_function(_ASKED, separator=" ")
"""Question, image(s), options: Q-Bench, Sec. 2.2.3."""


PERCEPTION = Task(
    name="q_bench/perception",
    title="A1 Perception",
    description="low-level perception: multiple choice on LLVisionQA (A1)",
    paper=f"{_PAPER}, Sec. 2.2",
    data=TaskData(("llvisionqa",), ("dev", "test")),
    protocol=MultipleChoice(
        prompts={
            DEFAULT: perception_prompt,
            # A.2.1: models then name one of the options.
            "answer-mark": prompt_function(f"{_ASKED}\n#Answer:", separator=" "),
            VLMEVALKIT: vlmevalkit_prompt,
            LMMS_EVAL: lmms_eval_q_bench_prompt,
        },
        prompt_id="q_bench_a1/2",
        # A.2.1.
        open_prompt=prompt_function("{question} {images}"),
        open_prefill="#Answer:",
        judge_template="q_bench_vote",
        crossed=(("question_type", "concern"),),
    ),
    groups=("question_type", "concern"),
    published=(PaperSetting("judge_reads", "all", "Q-Bench, A.2.1"),),
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
    protocol=Description(
        # A.2.2, and `a2_description_demo.py` of the released code.
        prompts={
            DEFAULT: prompt_function(
                "Describe the quality, aesthetics and other low-level appearance of the image in details.{image}"
            )
        },
        prompt_id="q_bench_a2/2",
    ),
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
    data=TaskData((*DATABASES, "kadis700k", "csiq", "mm21", "sqad"), ("test",), run_on=DATABASES),
    protocol=QualityAssessment(
        prompts={
            # Fig. 4, and `a3_assessment_all.py` of the released code.
            DEFAULT: prompt_function("Rate the quality of the image.{image}"),
            # Sec. 2.4.1.
            NUMERICAL: prompt_function(
                "Score the quality of the image from 1 to 5, with 1 as lowest and 5 as highest.{image}"
            ),
            # `q_align/evaluate/scorer.py` of https://github.com/Q-Future/Q-Align, for `levels`.
            "q-align": prompt_function("How would you rate the quality of this image?\n{image}"),
            # https://github.com/TianheWu/VisualQuality-R1, whose question is Q-Insight's.
            ANSWER_TAG: prompt_function(
                "{image}You are doing the image quality assessment task. Here is the question: What is your overall "
                "rating on the quality of this picture? The rating should be a float between 1 and 5, rounded to two "
                "decimal places, with 1 representing very poor quality and 5 representing excellent quality. First "
                "output the thinking process in <think> </think> tags and then output the final answer with only one "
                "score in <answer> </answer> tags."
            ),
        },
        prompt_id="q_bench_a3/2",
        prefill="The quality of the image is",
        word_pairs=WORD_PAIRS,
        # CGIQA-6K's two halves: Q-Bench, A.2.3.
        average_over="subset",
    ),
    groups=("subset", "distortion_type", "distortion_level"),
    published=(PaperSetting("ties", "paper-code", "a3_assessment_all.py of the released code"),),
)
