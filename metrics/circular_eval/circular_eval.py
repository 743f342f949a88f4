"""CircularEval of multiple-choice answers given as free text, as an `evaluate` module.

Protocol: MMBench, Sec. 3.1 and 3.2 (https://arxiv.org/abs/2307.06281). Departures: see
`eyechart.metrics.scoring.choices.circular`, `.circular_passes` and `.reading`.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from eyechart.metrics.columns import CheckedColumns
from eyechart.metrics.scoring.choices.circular import MISSING
from eyechart.metrics.scoring.choices.circular import read_circular
from eyechart.metrics.scoring.choices.circular import circular_scores
from eyechart.metrics.scoring.choices.circular_passes import check_question_groups
from eyechart.metrics.scoring.choices.circular_passes import find_questions
from eyechart.metrics.scoring.choices.reading import ExtractionSettings
from eyechart.metrics.scoring.choices.reading import check_replies
from eyechart.metrics.scoring.choices.replies import Extraction
from eyechart.metrics.scoring.inputs import check_gathered
from eyechart.metrics.scoring.inputs import check_groups
from eyechart.metrics.scoring.inputs import check_member
from eyechart.metrics.scoring.judging.replies import Judge
from eyechart.metrics.scoring.judging.replies import name_or_none

_DESCRIPTION = """
Share of multiple-choice questions that are answered right in every pass, each with the options in another order
(CircularEval), and the share answered right in the first pass (VanillaEval). Answers are a model's raw text, from which
the choice is extracted by exact matching, as a declared answer, or by an optional judge.
"""

_CITATION = """
@inproceedings{liu2024mmbench,
  title={MMBench: Is Your Multi-modal Model an All-around Player?},
  author={Liu, Yuan and Duan, Haodong and Zhang, Yuanhan and Li, Bo and Zhang, Songyang and others},
  booktitle={European Conference on Computer Vision},
  year={2024}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (`list` of `str`): Raw replies, one per pass; "" for a failed or empty response, which is unmatched.
    references (`list` of `str`): Letters of the correct options, as shown in the pass.
    choices (`list` of `list` of `str`): Option texts of each pass, in the order shown. They may repeat: a reply by
        letter is compared by letter; a reply by a text that stands twice is right if one of its places is.
    question_ids (`list` of `str` or `int`): Which question each pass asks.
    rotations (`list` of `int`): Number of each pass of its question; 0 is the first one. Passes need not be rotations.
    pass_counts (`list` of `int`, optional): How many passes the question of each row has. By default as many as there
        are options that change their place between the passes given; of a single pass, as many as there are options.
    finish_reasons (`list` of `str`, optional): How each reply ended: "stop", "length" (cut off), "reasoning" (before
        its answer), "refusal" or "content_filter" (both refused), or `None`. A reply that was cut off names an option
        only if it begins with it or declares it.
    questions (`list` of `str`, optional): Question of each pass; needed with a judge.
    groups (`dict` of `str` to `list`, optional): Group name to one value per pass, the same in all passes of a
        question; adds `by_<group name>`.
    clusters (`list`, optional): What each pass shares with others, such as the name of its image: answers about one
        image depend on each other, and the intervals allow for that. Without it, questions count as independent.
    judge (callable, optional): `judge(messages, n)` returning n replies; asked where no choice is found otherwise.
    judge_template (`str`): "mmbench_choice" (default; the judge names a letter, or X for a reply that matches no option
        and so is wrong) or "q_bench_vote" (it votes right or wrong).
    rounds (`int`): Replies asked of the judge per pass; the most frequent one counts. Default 5.
    fallback (`str`): What an undecided pass becomes: "wrong" (default), or "random", a choice among the options and X.
    seed (`int`): Seed of the random choice, together with question and rotation. Default 0.
    extraction (`str`): "declared" (default) also reads answers that a verbose reply declares, "strict" applies exact
        matching alone, as MMBench describes it.
    missing (`str`): What becomes of a question whose observed passes are all right but not all there: "error" (default)
        or "drop", which leaves it out. A question with a wrong pass is wrong, whatever else is missing.
    return_items (`bool`): Whether to add `items`. Default False.

Returns:
    circular_accuracy (`float`): Share of questions that are right in every pass, from 0 to 1; higher is better.
    circular_ci95 (`list` of two `float`): Its 95 % interval.
    vanilla_accuracy (`float`): Share of questions that are right in rotation 0, of those where it was asked.
    vanilla_ci95 (`list` of two `float`): Its 95 % interval.
    random_guess (`float`): Circular accuracy expected from guessing: the mean over the questions of the product over
        their passes of 1/options, so N^-N for N passes of N options.
    n_questions (`int`): Questions in `circular_accuracy`; in a group also as `n`.
    n_vanilla (`int`): Questions in `vanilla_accuracy`.
    n_passes (`int`): Passes given.
    dropped (`int`): Questions left out of `circular_accuracy` by `missing="drop"`.
    extraction (`dict`): Shares of passes decided by `exact` matching, as `declared` answers, by the `judge`, at
        `random`, and `unmatched` ones, and of the last `cut_off`, `unfinished_reasoning`, `refused`, `unparseable`.
    choice_distribution (`dict`): Shares of each letter among `predicted` (with "none") and `correct` choices.
    position_bias (`dict`, where right options stand at several positions): `recall`, letter to share of right answers
        where the right option stood there; its `spread`, the standard deviation over positions; and
        `spread_by_chance`, the spread of a model without a preference, up to which it says nothing.
    position_free_accuracy, flip_rate (`float`, where no pass is missing): Share of questions that the majority of the
        passes answers right, by the content of the option, where m contents with as many votes count 1/m; and share of
        questions whose answers, as contents, differ between passes, lower is better.
    position_free_accuracy_ci95, flip_rate_ci95 (`list` of two `float`): Their 95 % intervals.
    distribution_over (`str`): What the three cover: "all passes", or "rotation 0" where passes are missing.
    intervals (`dict`): For each score with an interval its `kind` and the number of independent `units` behind it.
    by_<group name> (`dict`): The same scores for each value of the group.
    judge_asked, judge_failed_rounds (`int`, with a judge): Passes the judge was asked about, and its unusable replies.
    judge_unscored (`int`, with a judge): Passes it gave no usable reply to in any round.
    missing, judge, judge_template, judge_template_version, rounds, fallback, seed, extraction_mode (the argument
        `extraction`): The settings that apply.
    items (`dict` of `list`, with `return_items`): For each pass `choice`, a letter or `None`; `step`, its key in
        `extraction`; `correct`; `judge_failed_rounds`, `None` where no judge was asked;
        `circular_correct`, whether its question is right in every pass, `None` where that is left out.

Examples:
    >>> from eyechart.metrics import load
    >>> metric = load("circular_eval")
    >>> scores = metric.compute(
    ...     predictions=["A", "The answer is B.", "Cat", "A. Dog"],
    ...     references=["A", "B", "A", "B"],
    ...     choices=[["Red", "Blue"], ["Blue", "Red"], ["Cat", "Dog"], ["Dog", "Cat"]],
    ...     question_ids=["q1", "q1", "q2", "q2"],
    ...     rotations=[0, 1, 0, 1],
    ...     groups={"category": ["colour", "colour", "object", "object"]},
    ... )
    >>> scores["circular_accuracy"], scores["vanilla_accuracy"], scores["random_guess"]
    (0.5, 1.0, 0.25)
    >>> scores["n_questions"], scores["n_passes"], scores["distribution_over"]
    (2, 4, 'all passes')
    >>> scores["by_category"]["object"]["circular_accuracy"]
    0.0
"""


class CircularEval(CheckedColumns, evaluate.Metric):
    """Share of questions answered right in every pass."""

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
                    # Not "string", for which evaluate refuses whole numbers.
                    "question_ids": datasets.Value("large_string"),
                    "rotations": datasets.Value("int64"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2307.06281"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        choices: Sequence[Sequence[str]],
        question_ids: Sequence[str],
        rotations: Sequence[int],
        pass_counts: Sequence[int] | None = None,
        finish_reasons: Sequence[str | None] | None = None,
        questions: Sequence[str] | None = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        clusters: Sequence[Any] | None = None,
        judge: Judge | None = None,
        judge_template: str = "mmbench_choice",
        rounds: int = 5,
        fallback: str = "wrong",
        seed: int = 0,
        extraction: Extraction = "declared",
        missing: str = "error",
        return_items: bool = False,
    ) -> dict[str, Any]:
        columns = {"questions": questions, "groups": groups, "clusters": clusters, "finish_reasons": finish_reasons}
        check_gathered(self.num_process, list(self.features), pass_counts=pass_counts, **columns)
        checked = check_groups(groups, len(predictions))
        settings = ExtractionSettings(
            name_or_none(judge), judge_template, "unmatched", rounds, fallback, seed, extraction
        )
        # What needs no choice is checked before a judge is asked, whose replies may cost money.
        check_member("missing", missing, MISSING)
        check_replies(predictions, references, choices)
        passes = find_questions(question_ids, rotations, choices, pass_counts)
        check_question_groups(checked, passes)
        items = read_circular(
            predictions,
            references,
            choices,
            passes,
            missing,
            settings,
            questions=questions,
            judge=judge,
            finish_reasons=finish_reasons,
        )
        scores = circular_scores(items, passes, references, choices, checked, missing, settings, clusters)
        return scores | ({"items": items} if return_items else {})
