"""QL-Bench: Explore the Hallucination on Low-level Perception for MLLMs (https://arxiv.org/abs/2409.09748).

The questions of Q-Bench A1 and of its pairs, in the same prompt, with `I don't know` among the options; one that the
model refuses is asked again without it (Sec. III-A). Where the refusal stands among the options, which the paper does
not say, is an option of the data set (`refusal_position`), as in `eyechart run ql_bench/single
--data-option refusal_position=first`.
"""

from dataclasses import replace

from eyechart.evaluators.protocols.choice.self_awareness import SelfAwareness
from eyechart.evaluators.protocols.protocol import DEFAULT
from eyechart.evaluators.tasks import q_bench
from eyechart.evaluators.tasks.task import Published, Task, TaskData

SINGLE = Task(
    name="ql_bench/single",
    description="self-awareness: right answers and right refusals on LLSAVisionQA, one image",
    paper="QL-Bench (Sun et al., 2024), Sec. III",
    data=TaskData(("llsavisionqa",), ("dev", "test"), "single"),
    protocol=SelfAwareness(
        prompts={DEFAULT: q_bench.perception_prompt}, prompt_id=q_bench.PERCEPTION.protocol.prompt_id
    ),
    groups=("question_type", "concern"),
    published=(Published("unreadable_forced", "wrong", "QL-Bench, Eq. 3"),),
    note="Only the dev answers are public. Tables I to IV of the paper also count the private test answers, so these "
    "scores are not comparable with them.",
)

PAIR = replace(
    SINGLE,
    name="ql_bench/pair",
    description="self-awareness: right answers and right refusals on LLSAVisionQA, two images",
    data=replace(SINGLE.data, config="pair"),
)
