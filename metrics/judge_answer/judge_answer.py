"""Judge scores from 1 to 5 for open answers, as an `evaluate` module.

Protocol: MMBench, Appendix D.2 (https://arxiv.org/abs/2307.06281). Departures: see
`eyechart.metrics.scoring.judging.answers`; the judge prompt is our own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.inputs import check_gathered, check_groups
    from eyechart.metrics.scoring.judging.answers import answer_scores, read_answers
    from eyechart.metrics.scoring.judging.lexical import lexical
    from eyechart.metrics.scoring.judging.replies import Judge, judge_name
    from eyechart.metrics.scoring.judging.rounds import JudgeSettings
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error

_DESCRIPTION = """
Scores of open answers, given by a judge that sees the question and the correct answer, from 1 (completely wrong) to 5
(completely correct), and the share of answers that equal the correct one. Without a judge, a small deterministic
baseline called "lexical" is used, and the result names it.
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
    predictions (`list` of `str`): Answers; "" for a failed or empty response, which scores 1.
    references (`list` of `str`): Correct answers; "" if the answer is private. Such rows are left out and counted.
    questions (`list` of `str`): Question of each row.
    groups (`dict` of `str` to `list`, optional): Group name to one value per row; adds `by_<group name>`.
    clusters (`list`, optional): The cluster of each row, such as the name of its image. Answers about one image may
        depend on each other, and the intervals account for that. By default, rows count as independent.
    judge (callable, optional): `judge(messages, n)`, which returns n replies. Default: the `lexical` baseline.
    rounds (`int`): Number of judge replies per row, which are averaged. Default 1, as in the paper.
    return_items (`bool`): Whether to add `items`. Default False.

Returns:
    mean_score (`float`): Mean over rows of each row's mean judge score over its usable rounds, from 1 to 5; higher is
        better.
    mean_score_ci95 (`list` of two `float`): Its 95 % interval.
    score_distribution (`dict`): Share of each score, "1" to "5", averaged in the same way.
    exact_match (`float`): Share of answers that equal the correct answer, ignoring case, surrounding blanks and
        Markdown, and final punctuation; from 0 to 1, higher is better. No judge is involved.
    exact_match_ci95 (`list` of two `float`): Its 95 % interval.
    n (`int`): Number of rows with a correct answer.
    n_scored (`int`): Number of rows with a usable round.
    failed_rounds (`int`): Rounds without a reply in the expected form.
    empty_predictions (`int`): Number of empty answers among the `n` rows.
    without_reference (`int`): Rows left out because they have no correct answer.
    intervals (`dict`): For each score with an interval, its `kind` and its number of independent `units`.
    by_<group name> (`dict`): The same scores for each group value.
    judge, template, template_version, wording, rounds: The settings. `wording` is "eyechart",
        because the paper does not print its judge prompt.
    items (`dict` of `list`, with `return_items`): For each row, `judge_score`, the mean over usable rounds; `rounds`, a
        list that contains one list with the score of each round, `None` for a failed round; `exact_match`; and
        `empty_prediction`. All are `None` for a row without a correct answer.
    `mean_score` is nan, with a warning, if every round failed.

Examples:
    >>> from eyechart.metrics import load
    >>> metric = load("judge_answer")
    >>> scores = metric.compute(
    ...     predictions=["leather bag is on right side", "Plastic.", "It is bright"],
    ...     references=["right", "plastic", "dark"],
    ...     questions=["On which side is the bag?", "What is the pen made of?", "How is the light?"],
    ... )
    >>> round(scores["mean_score"], 3), round(scores["exact_match"], 3), scores["judge"]
    (3.667, 0.333, 'lexical')
    >>> scores["score_distribution"]["5"], scores["n"], scores["failed_rounds"]
    (0.6666666666666666, 3, 0)
"""


class JudgeAnswer(CheckedColumns, evaluate.Metric):
    """Judge scores of open answers."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.Value("string"),
                    "questions": datasets.Value("string"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2307.06281"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        questions: Sequence[str],
        groups: Mapping[str, Sequence[Any]] | None = None,
        clusters: Sequence[Any] | None = None,
        judge: Judge | None = None,
        rounds: int = 1,
        return_items: bool = False,
    ) -> dict[str, Any]:
        check_gathered(self.num_process, list(self.features), groups=groups, clusters=clusters)
        judge = lexical if judge is None else judge
        settings = JudgeSettings(judge_name(judge), rounds)
        checked = check_groups(groups, len(predictions))
        items = read_answers(predictions, references, questions, judge, rounds)
        scores = answer_scores(items, checked, settings, clusters)
        return scores | ({"items": items} if return_items else {})
