"""Accuracy of multiple-choice answers given as free text, as an `evaluate` module.

Protocols: Q-Bench, Sec. 2.2 (https://arxiv.org/abs/2309.14181), with MMBench's choice extraction, Sec. 3.2
(https://arxiv.org/abs/2307.06281). Departures: see `eyechart.metrics.scoring.choices.reading` and `.accuracy`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.choices.accuracy import choice_scores
    from eyechart.metrics.scoring.choices.reading import ExtractionSettings, read_choices
    from eyechart.metrics.scoring.choices.replies import Extraction
    from eyechart.metrics.scoring.inputs import check_gathered, check_groups
    from eyechart.metrics.scoring.judging.replies import Judge, name_or_none
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error

_DESCRIPTION = """
Share of multiple-choice questions answered correctly. Answers are a model's raw text. The choice is extracted from the
text by exact matching, as a declared answer, or by an optional judge. A text that names no option counts as incorrect
and is reported.
"""

_CITATION = """
@inproceedings{wu2024qbench,
  title={Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision},
  author={Wu, Haoning and Zhang, Zicheng and Zhang, Erli and Chen, Chaofeng and Liao, Liang and others},
  booktitle={International Conference on Learning Representations},
  year={2024}
}
@inproceedings{liu2024mmbench,
  title={MMBench: Is Your Multi-modal Model an All-around Player?},
  author={Liu, Yuan and Duan, Haodong and Zhang, Yuanhan and Li, Bo and Zhang, Songyang and others},
  booktitle={European Conference on Computer Vision},
  year={2024}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (`list` of `str`): Raw replies of the model; "" for a failed or empty response, which is unmatched.
    references (`list` of `str`): Letters of the correct options; "AC" if A and C are both accepted.
    choices (`list` of `list` of `str`): Option texts of each row, in the order shown.
    finish_reasons (`list` of `str`, optional): How each reply ended: "stop", "length" (cut off), "reasoning" (ended
        before an answer), "refusal" or "content_filter" (both count as refused), or `None` (not known). In a reply that
        was cut off, an option counts only if the reply begins with it or declares it.
    questions (`list` of `str`, optional): Question of each row; needed with a judge.
    groups (`dict` of `str` to `list`, optional): Group name to one value per row; adds `by_<group name>`.
    clusters (`list`, optional): The cluster of each row, such as the name of its image. Answers about one image may
        depend on each other, and the intervals account for that. By default, rows count as independent.
    judge (callable, optional): `judge(messages, n)`, which returns n replies. It is asked if no choice is found.
    judge_template (`str`): "mmbench_choice" (default; the judge names a letter, or X if the reply matches no option and
        so is incorrect) or "q_bench_vote" (the judge votes correct or incorrect).
    rounds (`int`): Number of judge replies per row; the most frequent one counts. Default 5.
    judge_reads (`str`): Which replies the judge reads: "unmatched" (default), only those in which no choice was found,
        or "all", as in Q-Bench, A.2.1. With "all", a row without a verdict (only unusable judge replies, or a tie)
        counts as without a judge. It has no effect without a judge.
    fallback (`str`): What an undecided row counts as: "wrong" (default), or "random", a random choice among the options
        and X.
    seed (`int`): Seed of the random choice. Default 0.
    extraction (`str`): "declared" (default) also reads the answer that a verbose reply declares; "strict" uses exact
        matching only, as MMBench describes it.
    return_items (`bool`): Whether to add `items`. Default False.

Returns:
    accuracy (`float`): Share of correct answers, from 0 to 1; higher is better.
    accuracy_ci95 (`list` of two `float`): Its 95 % interval.
    random_guess (`float`): Accuracy expected from guessing, the mean of 1 / number of options.
    n (`int`): Number of rows.
    yes_no (`dict`, only if a correct answer is yes or no): Accuracy by correct answer, `yes` and `no`; their `mean`
        (balanced accuracy) with `mean_ci95`; the accuracy on `all` of these rows; `n_yes` and `n_no`.
    extraction (`dict`): Shares of rows decided by `exact` matching, as `declared` answers, by the `judge` and at
        `random`, and of `unmatched` rows, which are divided into `cut_off`, `unfinished_reasoning`, `refused` and
        `unparseable`.
    choice_distribution (`dict`): Shares of each letter among `predicted` (with "none") and `correct` choices.
    position_bias (`dict`, only if the correct options have several positions): `recall`, for each letter the share of
        correct answers when the correct option has this letter; `spread`, the standard deviation of recall over
        positions; and `spread_by_chance`, the spread expected by chance from a model without a position preference. A
        `spread` up to that value is no evidence of a preference.
    intervals (`dict`): For each score with an interval, its `kind` and its number of independent `units`.
    by_<group name> (`dict`): The same scores for each group value.
    judge_asked, judge_failed_rounds (`int`, with a judge): Rows the judge was asked about, and its unusable replies.
    judge_unscored (`int`, with a judge): Rows for which the judge gave no usable reply in any round.
    judge_ties (`int`, with a judge): Rows for which the judge's usable replies tied.
    judge, judge_template, judge_template_version, judge_reads ("all"), rounds, fallback, seed, extraction_mode (the
        argument `extraction`): The settings in use.
    items (`dict` of `list`, with `return_items`): For each row, `choice`, a letter or `None`; `step`, its key in
        `extraction`; `correct`; and `judge_failed_rounds`, `None` if no judge was asked.

Examples:
    >>> from eyechart.metrics import load
    >>> metric = load("choice_accuracy")
    >>> options = ["Bright", "Dark", "Medium"]
    >>> scores = metric.compute(
    ...     predictions=["The answer is B.", "The image is bright", "I cannot tell", "Dark"],
    ...     references=["B", "C", "A", "B"],
    ...     choices=[options] * 4,
    ...     groups={"question_type": ["how", "how", "what", "what"]},
    ... )
    >>> scores["accuracy"], [round(end, 3) for end in scores["accuracy_ci95"]], round(scores["random_guess"], 3)
    (0.5, [0.15, 0.85], 0.333)
    >>> {name: share for name, share in scores["extraction"].items() if share}
    {'exact': 0.75, 'unmatched': 0.25, 'unparseable': 0.25}
    >>> scores["by_question_type"]["what"]["accuracy"], scores["by_question_type"]["what"]["n"]
    (0.5, 2)
"""


class ChoiceAccuracy(CheckedColumns, evaluate.Metric):
    """Accuracy of free-text multiple-choice answers."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.Value("string"),
                    "choices": datasets.Sequence(datasets.Value("string")),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2309.14181", "https://arxiv.org/abs/2307.06281"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        choices: Sequence[Sequence[str]],
        finish_reasons: Sequence[str | None] | None = None,
        questions: Sequence[str] | None = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        clusters: Sequence[Any] | None = None,
        judge: Judge | None = None,
        judge_template: str = "mmbench_choice",
        rounds: int = 5,
        judge_reads: str = "unmatched",
        fallback: str = "wrong",
        seed: int = 0,
        extraction: Extraction = "declared",
        return_items: bool = False,
    ) -> dict[str, Any]:
        columns = {"questions": questions, "groups": groups, "clusters": clusters, "finish_reasons": finish_reasons}
        check_gathered(self.num_process, list(self.features), **columns)
        checked = check_groups(groups, len(predictions))
        settings = ExtractionSettings(
            name_or_none(judge), judge_template, judge_reads, rounds, fallback, seed, extraction
        )
        items = read_choices(
            predictions,
            references,
            choices,
            settings,
            questions=questions,
            judge=judge,
            finish_reasons=finish_reasons,
            several=True,
        )
        scores = choice_scores(items, references, choices, checked, settings, clusters)
        return scores | ({"items": items} if return_items else {})
