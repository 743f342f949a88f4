"""2AFC Prompting of Large Multimodal Models for Image Quality Assessment (https://arxiv.org/abs/2402.01162).

The default prompt is that of the released code (`LMMs/GPT4V.py` of https://github.com/h4nwei/2AFC-LMMs), "paper" that
of Sec. III-A. Images are ranked within pools: a database (coarse, Table II), one content under one distortion type, one
content at one distortion level, or one interval of scores (fine, Tables III and IV).
"""

from dataclasses import replace

from eyechart.evaluators.protocols.paired_comparison import PairedComparison
from eyechart.evaluators.protocols.protocol import DEFAULT
from eyechart.evaluators.requests.types import IMAGE, Prompt, Row
from eyechart.evaluators.tasks.prompts import prompt_function
from eyechart.evaluators.tasks.task import BoardRules, PaperSetting, Task, TaskData

_PAPER = "2AFC (Zhu et al., IEEE TCSVT 2024)"


def released_prompt(row: Row) -> Prompt:
    """Each image followed by its name, then the question with its options: `GPT4V.chat` of the released code."""
    return (
        IMAGE,
        "This is the first image",
        IMAGE,
        "This is the second image",
        "Which image has a better visual quality? A. The first image. B. The second image. Answer with the option's "
        "letter from the given choices directly.",
    )


paper_prompt = prompt_function(
    "This is the first image:{image}This is the second image:{image}Which image has better visual quality?"
)
"""The name of each image followed by the image, then the question: 2AFC, Sec. III-A."""


_PUBLISHED = (
    PaperSetting("undefined_pools", "zero", "2AFC, Table IV"),
    PaperSetting("pairing", "released", "TwoAFC.py of the released code", of_data=True),
)

COARSE = Task(
    name="two_afc/coarse",
    title="Coarse pairs",
    description="which of two images is better: pairs from the same database",
    paper=f"{_PAPER}, Sec. III-B",
    data=TaskData(("two_afc",), ("test",), "coarse"),
    protocol=PairedComparison(
        prompts={DEFAULT: released_prompt, "paper": paper_prompt},
        prompt_id="two_afc/2",
        # The averages of Table II.
        pool_weights="images",
    ),
    published=(*_PUBLISHED, PaperSetting("mm21_scores", "released", "the released label file", of_data=True)),
    board=BoardRules(settings={"mm21_quality": "opinion score"}),
)

FINE_LEVELS = replace(
    COARSE,
    name="two_afc/fine_levels",
    title="Fine pairs, levels",
    description="which of two images is better: same content and distortion type, different levels",
    paper=f"{_PAPER}, Sec. III-C",
    data=replace(COARSE.data, config="fine_levels"),
    # Tables III and IV weight pools equally, in their rows and in their averages.
    protocol=replace(COARSE.protocol, pool_weights="equal", part_of_pool=lambda pool: pool.rpartition(".")[2]),
    published=_PUBLISHED,
    board=BoardRules(),
)

FINE_TYPES = replace(
    FINE_LEVELS,
    name="two_afc/fine_types",
    title="Fine pairs, types",
    description="which of two images is better: same content and distortion level, different types",
    data=replace(COARSE.data, config="fine_types"),
    protocol=replace(FINE_LEVELS.protocol, part_of_pool=lambda pool: f"level {pool.rpartition('.')[2]}"),
)

FINE_MOS = replace(
    FINE_LEVELS,
    name="two_afc/fine_mos",
    title="Fine pairs, opinion scores",
    description="which of two images is better: scores in the same interval",
    data=replace(COARSE.data, config="fine_mos"),
    protocol=replace(FINE_LEVELS.protocol, part_of_pool=None),
)
