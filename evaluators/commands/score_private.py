"""`eyechart score-private`: submitted files against private answers, for those who hold them."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint.options import DEFAULT_CONCURRENCY
from eyechart.evaluators.commands.arguments import Rounds
from eyechart.evaluators.commands.judge import (
    JudgeConcurrency,
    JudgeCost,
    JudgeName,
    JudgePrice,
    JudgeTemperature,
    JudgeTimeout,
    JudgeTokens,
    JudgeUrl,
    judge_options,
)
from eyechart.evaluators.requests.values import without_nan
from eyechart.evaluators.runs.console import checked


def score_private(
    submission: Annotated[Path, typer.Argument(help="File of answers, as `eyechart submit` makes it.")],
    answers: Annotated[
        Path,
        typer.Argument(
            help="The benchmark's own file with the answers: llvisionqa_test.json, q-bench2-a1-test.jsonl, "
            "AesBench_evaluation.json, a TSV of MMBench, or LLDescribe's golden texts."
        ),
    ],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the scores as JSON too.")] = None,
    judge: JudgeName = None,
    judge_base_url: JudgeUrl = None,
    judge_temperature: JudgeTemperature = None,
    judge_max_tokens: JudgeTokens = None,
    judge_concurrency: JudgeConcurrency = DEFAULT_CONCURRENCY,
    judge_timeout: JudgeTimeout = None,
    judge_max_cost: JudgeCost = None,
    judge_price: JudgePrice = None,
    rounds: Rounds = None,
) -> None:
    """Score a file of answers; prints scores and counts alone, and neither prints nor stores an answer.

    Texts (AesI, LLDescribe) are compared with the golden ones by the judge, whose server sees both.
    """

    def work() -> dict[str, Any]:
        from eyechart.evaluators.answer_files.scoring import score_submission
        from eyechart.evaluators.judging import EndpointJudge

        if out is not None and out.resolve() in (submission.resolve(), answers.resolve()):
            raise UsageError(f"--out is {out}, which is one of the files that are read; name another")
        options = judge_options(
            judge,
            judge_base_url,
            judge_temperature,
            judge_max_tokens,
            judge_concurrency,
            judge_timeout,
            judge_max_cost,
            judge_price,
        )
        # Without a store: nothing of what is judged is kept.
        asked = None if options is None else EndpointJudge(options)
        found: dict[str, Any] = without_nan(score_submission(submission, answers, asked, rounds))
        if out is not None:
            try:
                out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            except OSError as error:
                raise UsageError(f"--out {out} cannot be written: {error.strerror or error}") from error
        return found

    print(json.dumps(checked(work), indent=1))
