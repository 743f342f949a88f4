"""Self-awareness of answers to questions that can be refused, as an `evaluate` module.

Protocol: QL-Bench, Sec. III (https://arxiv.org/abs/2409.09748), with MMBench's choice extraction, Sec. 3.2
(https://arxiv.org/abs/2307.06281). Departures: see `eyechart.metrics.scoring.choices.self_awareness` and `.reading`.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from eyechart.metrics.columns import CheckedColumns
from eyechart.metrics.scoring.choices.reading import ExtractionSettings
from eyechart.metrics.scoring.choices.self_awareness import read_self_awareness
from eyechart.metrics.scoring.choices.self_awareness import self_awareness_scores
from eyechart.metrics.scoring.choices.replies import Extraction
from eyechart.metrics.scoring.inputs import check_gathered
from eyechart.metrics.scoring.inputs import check_groups
from eyechart.metrics.scoring.judging.replies import Judge
from eyechart.metrics.scoring.judging.replies import name_or_none

_DESCRIPTION = """
Self-awareness on multiple-choice questions with an "I don't know" option (QL-Bench): the share of questions answered
right, plus the share rightly refused, that is, refused and then answered wrong when the option is taken away. Answers
are a model's raw text, from which the choice is extracted by exact matching, as a declared answer, or by an
optional judge.
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
    choices (`list` of `list` of `str`): Option texts of each question, in the order shown, the refusal among them.
    refusals (`list` of `str`): Letters of the refusal options in `choices`.
    forced_predictions (`list` of `str` or `None`): Raw replies to the same questions without the refusal option, the
        others in the same order; letters mean places in that shorter list. `None` where not asked, which is an error
        where the first reply is the refusal. Read only there; "" for a request that failed, " " for an empty reply.
    finish_reasons, forced_finish_reasons (`list` of `str`, optional): How each reply ended: "stop", "length" (cut off),
        "reasoning" (before its answer), "refusal" or "content_filter" (both refused), or `None`. A reply that was cut
        off names an option only if it begins with it or declares it.
    questions (`list` of `str`, optional): Text of each question; needed with a judge.
    groups (`dict` of `str` to `list`, optional): Group name to one value per question; adds `by_<group name>`.
    clusters (`list`, optional): What each question shares with others, such as the name of its image: answers about one
        image depend on each other, and the intervals allow for that. Without it, questions count as independent.
    judge (callable, optional): `judge(messages, n)` returning n replies; asked where no choice is found otherwise.
    judge_template (`str`): "mmbench_choice" (default; the judge names a letter, or X for a reply that names no option)
        or "q_bench_vote" (it votes right or wrong, so it never finds a refusal).
    rounds (`int`): Replies asked of the judge per reply; the most frequent one counts. Default 5.
    fallback (`str`): What an undecided reply becomes: "wrong" (default), or "random", a choice among the options shown
        and X.
    seed (`int`): Seed of the random choice. Default 0.
    extraction (`str`): "declared" (default) also reads answers that a verbose reply declares, "strict" applies exact
        matching alone, as MMBench describes it.
    unreadable_forced (`str`): What a forced reply that names no option is: "apart" (default), not in `score_rc`, or
        "wrong", as the paper's Eq. 3 has it. "" stays apart.
    return_items (`bool`): Whether to add `items`. Default False.

Returns:
    score_cc (`float`): Percent of questions answered right, from 0 to 100; higher is better.
    score_rc (`float`): Percent of questions rightly refused: refused, and answered wrong without the refusal option.
        From 0 to 100; higher is better.
    score_sa (`float`): Their sum, the self-awareness score; higher is better.
    answer_rate (`float`): Share of questions not refused, from 0 to 1.
    answer_accuracy (`float`): Right answers as a share of the questions not refused, from 0 to 1; higher is better.
        nan, with a warning, where every question is refused.
    score_cc_ci95, score_rc_ci95, score_sa_ci95, answer_rate_ci95, answer_accuracy_ci95 (`list` of two `float`): Their
        95 % intervals.
    random_guess (`float`): Answer accuracy expected from guessing without refusing, the mean of 1 / number of other
        options.
    n, n_refused (`int`): Number of questions, and of those refused.
    unmatched (`int`): Questions whose first reply names no option: neither right nor refused.
    forced_unmatched (`int`): Refused questions whose forced reply names no option: not in `score_rc`.
    extraction (`dict`): Shares of first replies decided by `exact` matching, as `declared` answers, by the
        `judge`, at `random`, and `unmatched`; of the last, `cut_off`, `unfinished_reasoning`, `refused`, `unparseable`.
    forced_extraction (`dict`, where a question is refused): The same of the forced replies to the refused questions.
    choice_distribution (`dict`): Shares of each letter among `predicted` (first replies, with "none") and `correct`
        choices.
    position_bias (`dict`, where right options stand at several positions): `recall`, letter to share of right answers
        where the right option stood there; its `spread`, the standard deviation over positions; and
        `spread_by_chance`, the spread of a model without a preference, up to which it says nothing.
    intervals (`dict`): For each score with an interval its `kind` and the number of independent `units` behind it.
    by_<group name> (`dict`): The same scores for each value of the group.
    judge_asked, judge_failed_rounds (`int`, with a judge): Replies the judge was asked about, and its unusable ones.
    judge_unscored (`int`, with a judge): Replies about which it said nothing usable in any round.
    judge, judge_template, judge_template_version, rounds, fallback, seed, extraction_mode (the argument
        `extraction`), unreadable_forced ("wrong"): The settings that apply.
    items (`dict` of `list`, with `return_items`): For each question `choice` and, where refused, `forced_choice`,
        letters in `choices` or `None`; `step` and `forced_step`, their keys in `extraction`; `correct`;
        `outcome`, "right answer", "wrong answer", "right refusal", "wrong refusal" or "unreadable";
        `judge_failed_rounds` and `forced_judge_failed_rounds`, `None` where no judge was asked.

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
    """Right answers and right refusals to multiple-choice questions with a refusal option."""

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
