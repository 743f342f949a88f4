"""AesBench: An Expert Benchmark for MLLMs on Image Aesthetics Perception (https://arxiv.org/abs/2401.08276).

Perception, empathy and assessment are multiple choice (Sec. 3.1 to 3.3) in the words of the released code, which has "a
correct option" where the paper prints "the correct option". The image comes first, as the chat formats of most models
have it; the paper shows it between question and options, and the code sends it behind the text. The wording `paper` is
that of the paper in words and place. For assessment the code has a shorter instruction, without "without explanation",
which the paper has there too: that is the wording `released`. Options are shown one a line, all with a blank after the
bracket, which some of the release lack. Interpretation asks the release's question as it is.

An answer that names an option is explicit and compared directly; any other is ambiguous, and put to a judge where there
is one (Sec. 3.1). The judge votes on question, right answer and reply; the paper does not print its prompt, so that of
Q-Bench is used. The random-guess rows of Tables 2 and 3 contradict each other and are not used: the level is computed.

The question of interpretation states the true aesthetic level, which assessment asks for. So assessment comes first in
every run that holds both, each question is a conversation of its own, and an assessment that states a level is refused.
"""

import re
from dataclasses import replace
from string import ascii_uppercase

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.row_checks import check_texts
from eyechart.evaluators.submissions import aes_bench as submissions
from eyechart.evaluators.tasks.task import Kind
from eyechart.evaluators.tasks.task import Task
from eyechart.evaluators.types import IMAGE
from eyechart.evaluators.types import Prompt
from eyechart.evaluators.types import Row

_PAPER = "AesBench (Huang et al., 2024)"
_LEVEL = re.compile(r"\bwith (high|medium|low) aesthetics\b", re.IGNORECASE)


def choice_prompt(row: Row) -> Prompt:
    """Image, question, options, instruction, in the words of the released code."""
    return (IMAGE, f"\n{row['question']} {_options(row)}You should output a correct option without explanation.")


def paper_prompt(row: Row) -> Prompt:
    """Question, image, options, instruction: AesBench, Sec. 3.1."""
    return (
        f"{row['question']} ",
        IMAGE,
        f" {_options(row)}You should output the correct option without explanation.",
    )


def released_assessment_prompt(row: Row) -> Prompt:
    """As `choice_prompt`, with the shorter instruction that the released code has for assessment."""
    return (IMAGE, f"\n{row['question']} {_options(row)}You should output a correct option.")


def interpretation_prompt(row: Row) -> Prompt:
    """Image, question, which states the true aesthetic level: AesBench, Sec. 3.4."""
    return (IMAGE, f"\n{row['question']}")


def check_no_level(row: Row) -> None:
    """Refuse a question that gives its answer away.

    Raises:
        DataError: Question, hint or options state an aesthetic level in the words of the interpretation's question.
    """
    for text in (row["question"], row.get("hint") or "", *row["options"]):
        stated = _LEVEL.search(text)
        if stated:
            raise DataError(f"{text!r} states the aesthetic level ({stated[0]!r}) that the question asks for")


def check_question(row: Row) -> None:
    """Refuse a row without the question that the prompt of interpretation is.

    Raises:
        DataError: Its question is no text.
    """
    check_texts(row, "question")


def _options(row: Row) -> str:
    lettered = zip(ascii_uppercase, row["options"], strict=False)
    lines = "".join(f"{letter}) {option}\n" for letter, option in lettered)
    return f"Choose one from the following options:\n{lines}"


PERCEPTION = Task(
    name="aes_bench/perception",
    description="aesthetic perception: multiple choice on technical quality, color, composition, content (AesP)",
    paper=f"{_PAPER}, Sec. 3.1",
    evaluator=Kind.MULTIPLE_CHOICE,
    subsets=("aesbench",),
    splits=("test",),
    config="perception",
    metric="choice_accuracy",
    metric_config=None,
    prompt=choice_prompt,
    prompt_id="aes_bench_choice/1",
    wordings={"paper": paper_prompt},
    groups=("dimension", "image_source", "question_type"),
    metric_arguments={"judge_template": "q_bench_vote"},
    by_response=True,
    submission=submissions.perception_submission,
)

EMPATHY = replace(
    PERCEPTION,
    name="aes_bench/empathy",
    description="aesthetic empathy: multiple choice on emotion, interest, uniqueness, vibe (AesE)",
    paper=f"{_PAPER}, Sec. 3.2",
    config="empathy",
    submission=submissions.empathy_submission,
)

ASSESSMENT = replace(
    PERCEPTION,
    name="aes_bench/assessment",
    description="aesthetic assessment: high, medium or low (AesA)",
    paper=f"{_PAPER}, Sec. 3.3",
    config="assessment",
    wordings={"paper": paper_prompt, "released": released_assessment_prompt},
    groups=("image_source",),
    check=check_no_level,
    submission=submissions.assessment_submission,
)

INTERPRETATION = Task(
    name="aes_bench/interpretation",
    description="aesthetic interpretation: reasons for a given level against experts' ones, by a judge (AesI)",
    paper=f"{_PAPER}, Sec. 3.4",
    evaluator=Kind.DESCRIPTION,
    subsets=("aesbench",),
    splits=("test",),
    config="interpretation",
    metric="judge_description",
    metric_config=None,
    prompt=interpretation_prompt,
    prompt_id="aes_bench_interpretation/1",
    groups=("level",),
    max_new_tokens=512,
    metric_arguments={"template": "aesbench"},
    check=check_question,
    after=("aes_bench/assessment",),
    submission=submissions.interpretation_submission,
)
