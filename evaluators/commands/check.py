"""`eyechart check`: scores against thresholds and an earlier run, for continuous integration."""

import os
from pathlib import Path
from typing import Annotated

import typer

from eyechart.datasets_scripts.common.whole import write_whole, writing
from eyechart.evaluators.evaluation.options import Requirements, cli_option
from eyechart.evaluators.runs.console import console, print_line

_STYLES = {"passed": "green", "failed": "red", "error": "red", "skipped": "yellow"}
_SUMMARY_HELP = "Write a Markdown summary. The file in $GITHUB_STEP_SUMMARY is appended to."


def check(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    *,
    required: Requirements,
    junit: Annotated[Path | None, cli_option("Write the checks as JUnit XML.", metavar="FILE")] = None,
    summary: Annotated[Path | None, cli_option(_SUMMARY_HELP, metavar="FILE")] = None,
) -> None:
    """Check a run against thresholds and an earlier run, for CI.

    A check fails only if the difference is significant. The exit code is 1 if a check fails or cannot be made.
    """
    from eyechart.evaluators.comparison.checks import check_run
    from eyechart.evaluators.report.check_files import passed_words, to_junit, to_summary

    checks = check_run(run, required)
    if junit is not None:
        with writing(f"--junit {junit}"):
            write_whole(junit, to_junit(checks))
    if summary is not None:
        with writing(f"--summary {summary}"):
            text = to_summary(checks)
            if os.environ.get("GITHUB_STEP_SUMMARY") == str(summary):
                # What earlier commands of the step wrote stays.
                text = f"{summary.read_text(encoding='utf-8') if summary.exists() else ''}{text}\n"
            write_whole(summary, text)
    for each in checks:
        print_line(console(), each.text, _STYLES[each.outcome])
    print_line(console(), passed_words(checks))
    if any(each.outcome in ("failed", "error") for each in checks):
        raise typer.Exit(1)
