"""AesBench: An Expert Benchmark for MLLMs on Image Aesthetics Perception (https://arxiv.org/abs/2401.08276).

The default prompts are those of the released code (`eval/` of https://github.com/yipoh/AesBench), first the text, then
the image; options are shown exactly as released, some without a space after the bracket. A reply that names no option
is put to a judge, if there is one (Sec. 3.1); the paper does not print its prompt, so that of Q-Bench is used. The
random-guess rows of Tables 2 and 3 contradict each other, so the chance level is computed.

The interpretation question states the level that the assessment question asks for. Therefore, runs with both ask
assessment first, each question is a separate conversation, and an assessment question that states a level is refused.
"""

import re
from dataclasses import replace
from functools import partial

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.answer_files import aes_bench_answer_file
from eyechart.evaluators.protocols.choice.multiple_choice import MultipleChoice
from eyechart.evaluators.protocols.description import Description
from eyechart.evaluators.protocols.protocol import DEFAULT, PromptFunction, check_texts
from eyechart.evaluators.requests.types import IMAGE, Prompt, Row
from eyechart.evaluators.tasks.prompts import VLMEVALKIT, listed_options, prompt_function, vlmevalkit_prompt
from eyechart.evaluators.tasks.task import BoardRules, PaperSetting, Task, TaskData

_PAPER = "AesBench (Huang et al., 2024)"
_ON_REQUEST = "The authors provide the answers on request, so only people who have them can submit entries."
_LABEL = re.compile(r"^[A-Z]\)\s*")
_LEVEL = re.compile(r"\bwith (high|medium|low) aesthetics\b", re.IGNORECASE)


def _released_prompt(instruction: str) -> PromptFunction:
    """Question, options, instruction, image, as the released code sends them."""

    def prompt(row: Row) -> Prompt:
        released = row.get("released_options") or ""
        texts = [_LABEL.sub("", line.strip()) for line in released.splitlines() if line.strip()]
        # Keep the release's labels and spaces, unless the options were changed or reordered.
        shown = released if texts and texts == list(row["options"]) else listed_options(row, "{}) {}")
        return (f"{row['question']} Choose one from the following options:\n{shown}\n{instruction}", IMAGE)

    return prompt


choice_prompt = _released_prompt("You should output a correct option without explanation.")
"""`eval_AesP.py` and `eval_AesE.py` of the released code."""
assessment_prompt = _released_prompt("You should output a correct option.")
"""`eval_AesA1.py` of the released code."""
interpretation_prompt = prompt_function("{question}{image}")
"""Question (it states the true aesthetic level) and image: `eval_AesI.py` of the released code."""


def paper_prompt(row: Row) -> Prompt:
    """Question, image, options on one line, instruction: AesBench, Sec. 3.1 and 3.3."""
    # The line ends in a full stop, and some options already do.
    listed = listed_options(row, "{}) {}", separator=" ").removesuffix(".")
    options = f" Choose one from the following options: {listed}."
    return (f"{row['question']} ", IMAGE, f"{options} You should output the correct option without explanation.")


def check_no_level(row: Row) -> None:
    """Raise `DataError` for a question that states an aesthetic level, as the question of the interpretation does."""
    for text in (row["question"], row.get("hint") or "", *row["options"]):
        if stated := _LEVEL.search(text):
            raise DataError(f"{text!r} states the aesthetic level ({stated[0]!r}) that the question asks for")


PERCEPTION = Task(
    name="aes_bench/perception",
    title="AesP Perception",
    description="aesthetic perception: multiple choice on technical quality, color, composition, content (AesP)",
    paper=f"{_PAPER}, Sec. 3.1",
    data=TaskData(("aesbench",), ("test",), "perception"),
    protocol=MultipleChoice(
        prompts={DEFAULT: choice_prompt, "paper": paper_prompt, VLMEVALKIT: vlmevalkit_prompt},
        prompt_id="aes_bench_choice/2",
        judge_template="q_bench_vote",
        by_response=True,
    ),
    groups=("dimension", "image_source", "question_type"),
    published=(PaperSetting("extraction", "strict", "AesBench, Sec. 3.1"),),
    published_judge=True,
    board=BoardRules({"test": _ON_REQUEST}),
    answer_file=partial(aes_bench_answer_file, "AesP"),
)

EMPATHY = replace(
    PERCEPTION,
    name="aes_bench/empathy",
    title="AesE Empathy",
    description="aesthetic empathy: multiple choice on emotion, interest, uniqueness, vibe (AesE)",
    paper=f"{_PAPER}, Sec. 3.2",
    data=replace(PERCEPTION.data, config="empathy"),
    answer_file=partial(aes_bench_answer_file, "AesE"),
)

ASSESSMENT = replace(
    PERCEPTION,
    name="aes_bench/assessment",
    title="AesA Assessment",
    description="aesthetic assessment: high, medium or low (AesA)",
    paper=f"{_PAPER}, Sec. 3.3",
    data=replace(PERCEPTION.data, config="assessment"),
    protocol=replace(
        PERCEPTION.protocol,
        prompts={DEFAULT: assessment_prompt, "paper": paper_prompt, VLMEVALKIT: vlmevalkit_prompt},
        prompt_id="aes_bench_assessment/1",
    ),
    groups=("image_source",),
    check=check_no_level,
    board=BoardRules({"test": _ON_REQUEST}, without=("yes_no.mean",)),
    answer_file=partial(aes_bench_answer_file, "AesA1"),
)

INTERPRETATION = Task(
    name="aes_bench/interpretation",
    title="AesI Interpretation",
    description="aesthetic interpretation: reasons for a given level, compared with the experts' by a judge (AesI)",
    paper=f"{_PAPER}, Sec. 3.4",
    data=replace(PERCEPTION.data, config="interpretation"),
    protocol=Description(
        prompts={DEFAULT: interpretation_prompt}, prompt_id="aes_bench_interpretation/2", template="aesbench"
    ),
    groups=("level",),
    published_judge=True,
    # The question is the complete prompt.
    check=lambda row: check_texts(row, "question"),
    after=("aes_bench/assessment",),
    board=BoardRules(
        {"test": f"{_ON_REQUEST} The paper does not print its judge prompt, so eyechart uses its own."},
        without=("sum", "preciseness.score"),
    ),
    answer_file=partial(aes_bench_answer_file, "AesI"),
)
