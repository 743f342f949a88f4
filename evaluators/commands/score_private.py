"""`eyechart score-private`: submitted files against private answers, for those who hold them."""

import json
from pathlib import Path
from typing import Annotated
from typing import Any

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.runs.console import checked


def score_private(
    submission: Annotated[Path, typer.Argument(help="File of answers, as `eyechart submit` makes it.")],
    answers: Annotated[
        Path,
        typer.Argument(
            help="The benchmark's own file with the answers: llvisionqa_test.json, q-bench2-a1-test.jsonl, "
            "AesBench_evaluation.json, or a TSV of MMBench."
        ),
    ],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the scores as JSON too.")] = None,
) -> None:
    """Score a file of answers; prints accuracies and counts alone, and neither prints nor stores an answer."""

    def work() -> dict[str, Any]:
        from eyechart.evaluators.submissions.scoring import score_submission

        if out is not None and out.resolve() in (submission.resolve(), answers.resolve()):
            raise UsageError(f"--out is {out}, which is one of the files that are read; name another")
        found = score_submission(submission, answers)
        if out is not None:
            try:
                out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            except OSError as error:
                raise UsageError(f"--out {out} cannot be written: {error.strerror or error}") from error
        return found

    print(json.dumps(checked(work), indent=1))
