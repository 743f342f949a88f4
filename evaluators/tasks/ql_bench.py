"""QL-Bench: Explore the Hallucination on Low-level Perception for MLLMs (https://arxiv.org/abs/2409.09748).

The questions and prompt of Q-Bench A1, with `I don't know` among the options; a refused question is asked again without
it (Sec. III-A). The paper does not say where the refusal is shown: see the dataset option `refusal_position`.
"""

from dataclasses import replace

from eyechart.evaluators.protocols.choice.self_awareness import SelfAwareness
from eyechart.evaluators.protocols.protocol import DEFAULT
from eyechart.evaluators.tasks import q_bench
from eyechart.evaluators.tasks.task import PaperSetting, Task, TaskData

SINGLE = Task(
    name="ql_bench/single",
    title="Single images",
    description="self-awareness: correct answers and correct refusals on LLSAVisionQA, one image",
    paper="QL-Bench (Sun et al., 2024), Sec. III",
    data=TaskData(("llsavisionqa",), ("dev", "test"), "single"),
    protocol=SelfAwareness(
        prompts={DEFAULT: q_bench.perception_prompt}, prompt_id=q_bench.PERCEPTION.protocol.prompt_id
    ),
    groups=("question_type", "concern"),
    published=(PaperSetting("unreadable_forced", "wrong", "QL-Bench, Eq. 3"),),
    note="Dev answers only: Tables I to IV of the paper also count private test answers.",
)

PAIR = replace(
    SINGLE,
    name="ql_bench/pair",
    title="Pairs",
    description="self-awareness: correct answers and correct refusals on LLSAVisionQA, two images",
    data=replace(SINGLE.data, config="pair"),
)
