"""`eyechart plan`: how many items are needed to detect a difference between two models."""

from math import comb
from pathlib import Path
from typing import Annotated

import typer

from eyechart.evaluators.evaluation.options import Goal, Texts, cli_option
from eyechart.evaluators.runs.console import add_heading, add_scores, console, print_notes, scores_table
from eyechart.metrics.scores import spec


def plan(
    runs: Annotated[list[Path], typer.Argument(metavar="A [B]", help="Folders of two runs, or one and --difference.")],
    task: Annotated[Texts, cli_option("Plan only this task. Repeatable.")] = None,
    *,
    goal: Goal,
    allow: Annotated[Texts, cli_option("Plan even if this setting differs. Repeatable.", metavar="SETTING")] = None,
) -> None:
    """Plan how many items the paired tests of `eyechart compare` need to detect a difference.

    Two runs show how often models like these are correct on the same items. With one run, the other model is assumed to
    be correct independently of it; models that agree more often need fewer items.
    """
    from eyechart.evaluators.comparison.planning import plan_runs
    from eyechart.evaluators.results.notes import note

    plans, passed_over = plan_runs(runs, task or [], goal, allow or [])
    table = scores_table(
        f"What a paired test at the 5 % level can detect with power {100 * goal.power:g} %",
        "score",
        ("items", "detectable", "difference", "power", "items needed"),
    )
    notes = [note("detectable", power=f"{100 * goal.power:g}")]
    if goal.models > 2:
        notes.append(note("planned_pairs", pairs=comb(goal.models, 2), models=goal.models))
    if goal.difference is None:
        notes.append(note("observed_difference"))
    if len(runs) == 1:
        notes.append(note("supposed_model"))
    for plan in plans:
        shown = spec(plan.key).shown
        add_heading(table, plan.title)
        add_scores(
            table,
            plan.score,
            f"{plan.at:,}",
            "nothing" if plan.detectable is None else shown(plan.detectable),
            shown(abs(plan.difference)),
            f"{100 * plan.power:.0f} %",
            "none" if plan.difference == 0 else "over 10,000,000" if plan.needed is None else f"{plan.needed:,}",
        )
        if (units := round(plan.units)) < plan.n:
            notes.append(note("planned_units", title=plan.title, n=plan.n, units=units))
    console().print(table)
    notes += [note("passed_over", what="planned", title=left.title, reason=left.reason) for left in passed_over]
    print_notes(console(), *(each.text for each in notes))
