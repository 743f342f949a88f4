"""MMBench: Is Your Multi-modal Model an All-around Player? (https://arxiv.org/abs/2307.06281).

The prompt is that of the authors' VLMEvalKit, with the space and line break at its end; around Chinese questions it is
English too. The blind prompt is that of Appendix B, line breaks included. The paper does not say whether it has hints;
here they are shown before the question. Open questions (Appendix D.2) are asked with nothing added.
"""

from functools import partial

from eyechart.evaluators.answer_files import mmbench_answer_file
from eyechart.evaluators.protocols.choice.circular_eval import CircularEval
from eyechart.evaluators.protocols.protocol import DEFAULT
from eyechart.evaluators.tasks.prompts import (
    LMMS_EVAL,
    VLMEVALKIT,
    lmms_eval_mmbench_cn_prompt,
    lmms_eval_mmbench_prompt,
    prompt_function,
    vlmevalkit_prompt,
)
from eyechart.evaluators.tasks.task import BoardRules, PaperSetting, Task, TaskData

_PAPER = "MMBench (Liu et al., ECCV 2024)"
blind_prompt = prompt_function(
    "\nYou are an AI assistant which is designed to answer questions from people.\n"
    "You will be asked a question and provided several choices,\n"
    "and you need to choose the best choice to answer the question.\n"
    "There is an image associated with the problem, but that is not provided to you,\n"
    "so you need to try your best to hallucinate the image.\n"
    "Again, you can only choose from the provided choices,\n"
    "and output a single uppercase letter (A, B, C, D, etc.). \n\n"
    "Question: <question begins> {hint}{question} <question ends>; \n\n"
    "Choices: <choices begin> {options} <choices end>. \n\n"
    "Your answer:\n",
    hint="{}\n",
)
"""Question and options without the image: Appendix B."""
open_prompt = prompt_function("{image}{hint}{question}", hint="{}\n")
"""Image, hint and question without the options, for answers that a judge grades: Appendix D.2."""


def _task(config: str, title: str, what: str, **public: str) -> Task:
    """A task; `public` says since when the answers of each split have been public, "" if they are not."""
    return Task(
        name=f"mmbench/{config}",
        title=title,
        description=f"CircularEval: multiple choice on {what}",
        paper=f"{_PAPER}, Sec. 3",
        data=TaskData(("mmbench",), tuple(public), config),
        protocol=CircularEval(
            prompts={
                DEFAULT: vlmevalkit_prompt,
                VLMEVALKIT: vlmevalkit_prompt,
                LMMS_EVAL: lmms_eval_mmbench_cn_prompt if config.startswith("c") else lmms_eval_mmbench_prompt,
            },
            prompt_id="mmbench/2",
            blind_prompt=blind_prompt,
            open_prompt=open_prompt,
        ),
        # CCBench has no category levels.
        groups=("l1_category", "l2_category", "category"),
        published=(
            PaperSetting("extraction", "strict", "MMBench, Sec. 3.2, step 1"),
            PaperSetting("fallback", "random", "MMBench, Sec. 3.2, step 3"),
        ),
        published_judge=True,
        board=BoardRules(
            {
                split: f"The {split} answers have been public since {since}, so later models may have seen them."
                for split, since in public.items()
            }
        ),
        answer_file=partial(mmbench_answer_file, config=config),
    )


EN = _task("en", "English", "MMBench, English", dev="2023", test="")
CN = _task("cn", "Chinese", "MMBench, Chinese", dev="October 2023", test="")
EN_V11 = _task("en_v11", "English, version 1.1", "MMBench 1.1, English", dev="April 2024", test="2026")
CN_V11 = _task("cn_v11", "Chinese, version 1.1", "MMBench 1.1, Chinese", dev="April 2024", test="2026")
CC = _task("cc", "CCBench", "CCBench, Chinese culture", dev="October 2023")
