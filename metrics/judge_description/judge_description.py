"""Completeness, preciseness and relevance of image descriptions, scored by a judge, as an `evaluate` module.

Protocols: Q-Bench, Sec. 2.3 and Appendix A.2.2 (https://arxiv.org/abs/2309.14181); AesBench, Sec. 3.4
(https://arxiv.org/abs/2401.08276). Departures: see `eyechart.metrics.scoring.judging.descriptions` and the templates.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.inputs import check_gathered, check_groups
    from eyechart.metrics.scoring.judging.descriptions import description_scores, read_descriptions
    from eyechart.metrics.scoring.judging.lexical import lexical
    from eyechart.metrics.scoring.judging.replies import Judge, judge_name
    from eyechart.metrics.scoring.judging.rounds import JudgeSettings
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error

_DESCRIPTION = """
Scores of free-text image descriptions, given by a judge that compares them with golden descriptions: completeness,
preciseness and relevance, each 0, 1 or 2, averaged over several rounds (Q-Bench), or relevance, precision and
completeness of aesthetic interpretations (AesBench). Without a judge, a small deterministic baseline called "lexical"
is used, and the result names it.
"""

_CITATION = """
@inproceedings{wu2024qbench,
  title={Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision},
  author={Wu, Haoning and Zhang, Zicheng and Zhang, Erli and Chen, Chaofeng and Liao, Liang and others},
  booktitle={International Conference on Learning Representations},
  year={2024}
}
@article{huang2024aesbench,
  title={AesBench: An Expert Benchmark for Multimodal Large Language Models on Image Aesthetics Perception},
  author={Huang, Yipo and Yuan, Quan and Sheng, Xiangfei and Yang, Zhichao and Wu, Haoning and others},
  journal={arXiv preprint arXiv:2401.08276},
  year={2024}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (`list` of `str`): Descriptions; "" for a failed or empty response, which gets 0 in every dimension.
    references (`list` of `str`): Golden descriptions; "" if the description is private. Such rows are left out and
        counted.
    finish_reasons (`list` of `str`, optional): How each description ended: "stop", "length" (cut off), "reasoning"
        (ended before an answer), "refusal" or "content_filter" (both count as refused), or `None` (not known). It does
        not change the judge's scores.
    groups (`dict` of `str` to `list`, optional): Group name to one value per image; adds `by_<group name>`.
    clusters (`list`, optional): The cluster of each row, such as the name of its image. Answers about one image may
        depend on each other, and the intervals account for that. By default, rows count as independent.
    judge (callable, optional): `judge(messages, n)`, which returns n replies. Default: the `lexical` baseline.
    rounds (`int`): Number of judge replies per image and dimension. Default 5.
    template (`str`): "q_bench" (default, the published judge prompts) or "aesbench" (our own judge prompts).
    return_items (`bool`): Whether to add `items`. Default False.

Returns:
    completeness, preciseness, relevance ("q_bench"), or relevance, precision, completeness ("aesbench") (`dict`):
        `score`, the mean over images of each image's mean over its usable rounds, from 0 to 2, higher is better;
        `score_ci95`; `p0`, `p1`, `p2`, the frequencies of the three scores, averaged in the same way; `n`, the number
        of images with a usable round; `failed_rounds`.
    sum (`float`): Sum of the three scores, from 0 to 6.
    mean (`float`): Their mean, from 0 to 2; AesBench's overall score.
    sum_ci95, mean_ci95 (`list` of two `float`): Their 95 % intervals.
    n (`int`): Number of images with a golden description.
    failed_rounds (`int`): Rounds without a reply in the expected form, in all dimensions.
    unscored (`int`): Images without a usable round in at least one dimension.
    empty_predictions (`int`): Number of empty descriptions among the `n`.
    outcomes (`dict`, only if a finish reason is known): Shares of the `n` descriptions that are incomplete: `cut_off`,
        `unfinished_reasoning`, `refused`, and `unparseable` (other empty descriptions).
    without_reference (`int`): Rows left out because they have no golden description.
    intervals (`dict`): For each score with an interval, its `kind` and its number of independent `units`.
    by_<group name> (`dict`): The same scores for each group value.
    judge, template, template_version, wording, rounds: The settings. `wording` is "published" or
        "eyechart".
    items (`dict` of `list`, with `return_items`): For each prediction and dimension, the mean over usable rounds;
        `rounds`, for each dimension (in the order above) the score of each round, `None` for a failed round; and
        `empty_prediction`. All are `None` for a row without a golden description. Also `finish_reason`, for all rows.
    A score is nan, with a warning, if every round failed.

Examples:
    >>> from eyechart.metrics import load
    >>> metric = load("judge_description")
    >>> scores = metric.compute(
    ...     predictions=["The image is dark and noisy.", "A sharp picture of a dog."],
    ...     references=["It is dark, noisy and blurry.", "The dog is sharp, the colors are vivid."],
    ... )
    >>> scores["completeness"]["score"], scores["preciseness"]["score"], scores["relevance"]["score"]
    (1.0, 2.0, 2.0)
    >>> scores["sum"], scores["n"], scores["judge"]
    (5.0, 2, 'lexical')
    >>> def strict(messages, n):
    ...     return ["Score: 0", "Score: 1", "no idea", "Score: 0", "Score: 0"]
    >>> scores = metric.compute(predictions=["It is dark."], references=["It is bright."], judge=strict)
    >>> scores["preciseness"]["score"], scores["preciseness"]["p0"], scores["failed_rounds"], scores["judge"]
    (0.25, 0.75, 3, 'strict')
"""


class JudgeDescription(CheckedColumns, evaluate.Metric):
    """Scores of image descriptions, given by a judge."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
            reference_urls=["https://arxiv.org/abs/2309.14181", "https://arxiv.org/abs/2401.08276"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        finish_reasons: Sequence[str | None] | None = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        clusters: Sequence[Any] | None = None,
        judge: Judge | None = None,
        rounds: int = 5,
        template: str = "q_bench",
        return_items: bool = False,
    ) -> dict[str, Any]:
        columns = {"groups": groups, "clusters": clusters, "finish_reasons": finish_reasons}
        check_gathered(self.num_process, list(self.features), **columns)
        judge = lexical if judge is None else judge
        settings = JudgeSettings(judge_name(judge), rounds)
        checked = check_groups(groups, len(predictions))
        items = read_descriptions(predictions, references, judge, rounds, template, finish_reasons)
        scores = description_scores(items, checked, settings, template, clusters)
        return scores | ({"items": items} if return_items else {})
