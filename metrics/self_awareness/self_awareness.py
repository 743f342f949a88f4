"""Self-awareness on multiple-choice questions with a refusal option, as an `evaluate` module.

Protocol: QL-Bench, Sec. III (https://arxiv.org/abs/2409.09748), with MMBench's choice extraction, Sec. 3.2
(https://arxiv.org/abs/2307.06281). Departures: see `eyechart.metrics.scoring.choices.self_awareness` and `.reading`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.choices.reading import ExtractionSettings
    from eyechart.metrics.scoring.choices.replies import Extraction
    from eyechart.metrics.scoring.choices.self_awareness import read_self_awareness, self_awareness_scores
    from eyechart.metrics.scoring.inputs import check_gathered, check_groups
    from eyechart.metrics.scoring.judging.replies import Judge, name_or_none
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error

_DESCRIPTION = """
Self-awareness on multiple-choice questions with an "I don't know" option (QL-Bench): the share of questions answered
correctly, plus the share rightly refused. A question is rightly refused if the model refuses it and then answers it
incorrectly without that option. Answers are a model's raw text. The choice is extracted from the text by exact
matching, as a declared answer, or by an optional judge.
"""

_CITATION = """
@article{sun2024explore,
  title={Explore the Hallucination on Low-level Perception for {MLLMs}},
  author={Sun, Yinan and Zhang, Zicheng and Wu, Haoning and Liu, Xiaohong and Lin, Weisi and Zhai, Guangtao and
    Min, Xiongkuo},
  journal={arXiv preprint arXiv:2409.09748},
  year={2024}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (`list` of `str`): Raw replies to the questions with the refusal option; "" for a failed or empty
        response, which is unmatched.
    references (`list` of `str`): Letters of the correct options in `choices`.
    choices (`list` of `list` of `str`): Option texts of each question, in the order shown, including the
        refusal.
    refusals (`list` of `str`): Letters of the refusal options in `choices`.
    forced_predictions (`list` of `str` or `None`): Raw replies to the same questions, asked without the refusal option
        and with the other options in the same order; letters refer to this shorter list. Needed and read only if the
        first reply is the refusal. `None` if the question was not asked again; "" for a failed request, " " for an
        empty reply.
    finish_reasons, forced_finish_reasons (`list` of `str`, optional): How each reply ended: "stop", "length" (cut off),
        "reasoning" (ended before an answer), "refusal" or "content_filter" (both count as refused), or `None` (not
        known). In a reply that was cut off, an option counts only if the reply begins with it or declares it.
    questions (`list` of `str`, optional): Text of each question; needed with a judge.
    groups (`dict` of `str` to `list`, optional): Group name to one value per question; adds `by_<group name>`.
    clusters (`list`, optional): The cluster of each question, such as the name of its image. Answers about one image
        may depend on each other, and the intervals account for that. By default, questions count as independent.
    judge (callable, optional): `judge(messages, n)`, which returns n replies. It is asked if no choice is found.
    judge_template (`str`): "mmbench_choice" (default; the judge names a letter, or X if the reply matches no option) or
        "q_bench_vote" (the judge votes correct or incorrect, so it never finds a refusal).
    rounds (`int`): Number of judge replies per model reply; the most frequent one counts. Default 5.
    fallback (`str`): What an undecided reply counts as: "wrong" (default), or "random", a random choice among the
        options shown and X.
    seed (`int`): Seed of the random choice. Default 0.
    extraction (`str`): "declared" (default) also reads the answer that a verbose reply declares; "strict" uses exact
        matching only, as MMBench describes it.
    unreadable_forced (`str`): How a forced reply that names no option counts: "apart" (default), separately and not in
        `score_rc`, or "wrong", as an incorrect answer, which follows the paper's Eq. 3. "" always counts separately.
    return_items (`bool`): Whether to add `items`. Default False.

Returns:
    score_cc (`float`): Percent of questions answered correctly, from 0 to 100; higher is better.
    score_rc (`float`): Percent of questions rightly refused: refused, and answered incorrectly without the refusal
        option. From 0 to 100; higher is better.
    score_sa (`float`): Their sum, the self-awareness score; higher is better.
    answer_rate (`float`): Share of questions not refused, from 0 to 1.
    answer_accuracy (`float`): Share of correct answers among the questions not refused, from 0 to 1; higher is better.
        nan, with a warning, if every question is refused.
    score_cc_ci95, score_rc_ci95, score_sa_ci95, answer_rate_ci95, answer_accuracy_ci95 (`list` of two `float`): Their
        95 % intervals.
    random_guess (`float`): The `answer_accuracy` expected from guessing without refusing: the mean of 1 / number of the
        other options.
    n, n_refused (`int`): Number of questions, and number of refused questions.
    unmatched (`int`): Questions whose first reply names no option: neither correct nor refused.
    forced_unmatched (`int`): Refused questions whose forced reply names no option; by default they are not in
        `score_rc`.
    extraction (`dict`): Shares of first replies decided by `exact` matching, as `declared` answers, by the `judge` and
        at `random`, and of `unmatched` ones, which are divided into `cut_off`, `unfinished_reasoning`, `refused` and
        `unparseable`.
    forced_extraction (`dict`, only if a question is refused): The same for the forced replies to the refused questions.
    choice_distribution (`dict`): Shares of each letter among `predicted` (first replies, with "none") and `correct`
        choices.
    position_bias (`dict`, only if the correct options have several positions): `recall`, for each letter the share of
        correct answers when the correct option has this letter; `spread`, the standard deviation of recall over
        positions; and `spread_by_chance`, the spread expected by chance from a model without a position preference. A
        `spread` up to that value is no evidence of a preference.
    intervals (`dict`): For each score with an interval, its `kind` and its number of independent `units`.
    by_<group name> (`dict`): The same scores for each group value.
    judge_asked, judge_failed_rounds (`int`, with a judge): Replies the judge was asked about, and unusable judge
        replies.
    judge_unscored (`int`, with a judge): Replies for which the judge gave no usable reply in any round.
    judge_ties (`int`, with a judge): Replies for which the judge's usable replies tied.
    judge, judge_template, judge_template_version, rounds, fallback, seed, extraction_mode (the argument
        `extraction`), unreadable_forced ("wrong"): The settings in use.
    items (`dict` of `list`, with `return_items`): For each question, `choice` and, if refused, `forced_choice`, letters
        in `choices` or `None`; `step` and `forced_step`, their keys in `extraction`; `correct`; `outcome`, "right
        answer", "wrong answer", "right refusal", "wrong refusal" or "unreadable"; `judge_failed_rounds` and
        `forced_judge_failed_rounds`, `None` if no judge was asked.

Examples:
    >>> from eyechart.metrics import load
    >>> metric = load("self_awareness")
    >>> options = ["Bright", "Dark", "Medium", "I don't know"]
    >>> scores = metric.compute(
    ...     predictions=["The answer is B.", "I don't know", "D. I don't know", "The image is bright"],
    ...     references=["B", "A", "C", "B"],
    ...     choices=[options] * 4,
    ...     refusals=["D"] * 4,
    ...     forced_predictions=[None, "Dark", "C", None],
    ...     groups={"question_type": ["how", "how", "what", "what"]},
    ... )
    >>> scores["score_cc"], scores["score_rc"], scores["score_sa"]
    (25.0, 25.0, 50.0)
    >>> scores["answer_rate"], scores["answer_accuracy"], scores["n_refused"]
    (0.5, 0.5, 2)
    >>> scores["by_question_type"]["what"]["score_sa"], scores["by_question_type"]["what"]["n"]
    (0.0, 2)
"""


class SelfAwareness(CheckedColumns, evaluate.Metric):
    """Correct answers and justified refusals on multiple-choice questions with a refusal option."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": text,
                    "references": text,
                    "choices": datasets.Sequence(text),
                    "refusals": text,
                    # Not "string", for which evaluate refuses None in the first row.
                    "forced_predictions": datasets.Value("large_string"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2409.09748", "https://arxiv.org/abs/2307.06281"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        choices: Sequence[Sequence[str]],
        refusals: Sequence[str],
        forced_predictions: Sequence[str | None],
        finish_reasons: Sequence[str | None] | None = None,
        forced_finish_reasons: Sequence[str | None] | None = None,
        questions: Sequence[str] | None = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        clusters: Sequence[Any] | None = None,
        judge: Judge | None = None,
        judge_template: str = "mmbench_choice",
        rounds: int = 5,
        fallback: str = "wrong",
        seed: int = 0,
        extraction: Extraction = "declared",
        unreadable_forced: str = "apart",
        return_items: bool = False,
    ) -> dict[str, Any]:
        ends = {"finish_reasons": finish_reasons, "forced_finish_reasons": forced_finish_reasons}
        check_gathered(
            self.num_process, list(self.features), questions=questions, groups=groups, clusters=clusters, **ends
        )
        checked = check_groups(groups, len(predictions))
        settings = ExtractionSettings(
            name_or_none(judge), judge_template, "unmatched", rounds, fallback, seed, extraction
        )
        items = read_self_awareness(
            predictions,
            references,
            choices,
            refusals,
            forced_predictions,
            settings,
            unreadable_forced,
            questions=questions,
            judge=judge,
            finish_reasons=finish_reasons,
            forced_finish_reasons=forced_finish_reasons,
        )
        scores = self_awareness_scores(items, references, choices, checked, settings, unreadable_forced, clusters)
        return scores | ({"items": items} if return_items else {})
