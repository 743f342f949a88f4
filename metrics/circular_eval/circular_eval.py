"""CircularEval of multiple-choice answers given as free text, as an `evaluate` module.

Protocol: MMBench, Sec. 3.1 and 3.2 (https://arxiv.org/abs/2307.06281). Departures: see
`eyechart.metrics.scoring.choices.circular`, `.circular_passes` and `.reading`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.choices.circular import MISSING, circular_scores, read_circular
    from eyechart.metrics.scoring.choices.circular_passes import check_question_groups, find_questions
    from eyechart.metrics.scoring.choices.reading import ExtractionSettings, check_replies
    from eyechart.metrics.scoring.choices.replies import Extraction
    from eyechart.metrics.scoring.inputs import check_gathered, check_groups, check_member
    from eyechart.metrics.scoring.judging.replies import Judge, name_or_none
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error

_DESCRIPTION = """
Share of multiple-choice questions answered correctly in every pass, with the options in a different order in each pass
(CircularEval), and share answered correctly in the first pass (VanillaEval). Answers are a model's raw text. The choice
is extracted from the text by exact matching, as a declared answer, or by an optional judge.
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
    choices (`list` of `list` of `str`): Option texts of each pass, in the order shown. Texts may repeat: a reply that
        gives a letter is compared by letter; a reply that gives a repeated text is correct if one of the options with
        this text is correct.
    question_ids (`list` of `str` or `int`): Which question each pass asks.
    rotations (`list` of `int`): Number of the pass within its question, from 0 (the first pass). The options of a pass
        may be in any order, not only rotated.
    pass_counts (`list` of `int`, optional): Total number of passes of each row's question. By default, the number of
        options that change position between the given passes; if only one pass is given, the number of options.
    finish_reasons (`list` of `str`, optional): How each reply ended: "stop", "length" (cut off), "reasoning" (ended
        before an answer), "refusal" or "content_filter" (both count as refused), or `None` (not known). In a reply that
        was cut off, an option counts only if the reply begins with it or declares it.
    questions (`list` of `str`, optional): Question of each pass; needed with a judge.
    groups (`dict` of `str` to `list`, optional): Group name to one value per pass, the same in all passes of a
        question; adds `by_<group name>`.
    clusters (`list`, optional): The cluster of each pass's question, such as the name of its image. Answers about one
        image may depend on each other, and the intervals account for that. By default, questions count as independent.
    judge (callable, optional): `judge(messages, n)`, which returns n replies. It is asked if no choice is found.
    judge_template (`str`): "mmbench_choice" (default; the judge names a letter, or X if the reply matches no option and
        so is incorrect) or "q_bench_vote" (the judge votes correct or incorrect).
    rounds (`int`): Number of judge replies per pass; the most frequent one counts. Default 5.
    fallback (`str`): What an undecided pass counts as: "wrong" (default), or "random", a random choice among the
        options and X.
    seed (`int`): Seed of the random choice, which also depends on question and rotation. Default 0.
    extraction (`str`): "declared" (default) also reads the answer that a verbose reply declares; "strict" uses exact
        matching only, as MMBench describes it.
    missing (`str`): What happens to a question with missing passes whose given passes are all correct: "error"
        (default), or "drop", which leaves it out. A question with an incorrect pass is incorrect, even if other passes
        are missing.
    return_items (`bool`): Whether to add `items`. Default False.

Returns:
    circular_accuracy (`float`): Share of questions answered correctly in every pass, from 0 to 1; higher is better.
    circular_accuracy_ci95 (`list` of two `float`): Its 95 % interval.
    vanilla_accuracy (`float`): Share of questions answered correctly in rotation 0, among the questions for which it
        was asked.
    vanilla_accuracy_ci95 (`list` of two `float`): Its 95 % interval.
    random_guess (`float`): Circular accuracy expected from guessing: the mean over questions of the product of 1 /
        number of options over the question's passes. For N passes of N options, this product is N^-N.
    n_questions (`int`): Number of questions in `circular_accuracy`; in a group also as `n`.
    n_vanilla (`int`): Number of questions in `vanilla_accuracy`.
    n_passes (`int`): Number of given passes.
    dropped (`int`): Number of questions that `missing="drop"` leaves out of `circular_accuracy`.
    extraction (`dict`): Shares of passes decided by `exact` matching, as `declared` answers, by the `judge` and at
        `random`, and of `unmatched` passes, which are divided into `cut_off`, `unfinished_reasoning`, `refused` and
        `unparseable`.
    choice_distribution (`dict`): Shares of each letter among `predicted` (with "none") and `correct` choices.
    position_bias (`dict`, only if the correct options have several positions): `recall`, for each letter the share of
        correct answers when the correct option has this letter; `spread`, the standard deviation of recall over
        positions; and `spread_by_chance`, the spread expected by chance from a model without a position preference. A
        `spread` up to that value is no evidence of a preference.
    position_free_accuracy (`float`, only if no pass is missing): Share of questions for which the majority of passes
        chooses the correct option, compared by option text; if m texts have equally many votes, the correct one counts
        1/m. Higher is better.
    flip_rate (`float`, only if no pass is missing): Share of questions whose answer, as an option text, differs between
        passes. Lower is better.
    position_free_accuracy_ci95, flip_rate_ci95 (`list` of two `float`): Their 95 % intervals.
    distribution_over (`str`): Which passes `extraction`, `choice_distribution` and `position_bias` cover: "all passes",
        or "rotation 0" if passes are missing.
    intervals (`dict`): For each score with an interval, its `kind` and its number of independent `units`.
    by_<group name> (`dict`): The same scores for each group value.
    judge_asked, judge_failed_rounds (`int`, with a judge): Passes the judge was asked about, and its unusable replies.
    judge_unscored (`int`, with a judge): Passes for which the judge gave no usable reply in any round.
    judge_ties (`int`, with a judge): Passes for which the judge's usable replies tied.
    missing, judge, judge_template, judge_template_version, rounds, fallback, seed, extraction_mode (the argument
        `extraction`): The settings in use.
    items (`dict` of `list`, with `return_items`): For each pass, `choice`, a letter or `None`; `step`, its key in
        `extraction`; `correct`; `judge_failed_rounds`, `None` if no judge was asked; and `circular_correct`, whether
        its question is answered correctly in every pass, `None` if the question is left out.

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
    """Share of questions answered correctly in every pass."""

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
        # A judge's replies may cost money, so everything that does not depend on them is checked first.
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
