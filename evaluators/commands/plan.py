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

    plans, passed_over = plan_runs(runs, task or [], goal, allow or [])
    power, models = f"power {100 * goal.power:g} %", goal.models
    table = scores_table(
        f"What a paired test at the 5 % level can detect with {power}",
        "score",
        ("items", "detectable", "difference", "power", "items needed"),
    )
    lines = [f"detectable: the smallest true difference that this number of items detects with {power}"]
    if models > 2:
        lines.append(f"p-values are Holm-adjusted over the {comb(models, 2):,} pairs of {models} models")
    if goal.difference is None:
        lines.append(
            "items needed: for the observed differences, which are uncertain; to plan a study, set --difference to the "
            "smallest difference that matters"
        )
    if len(runs) == 1:
        lines.append(
            "one run: the other model's answers are assumed to be independent of this model's; --difference sets its "
            "score, so for percentages, 'detectable' depends on it"
        )
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
        if plan.units != plan.n:
            effective, units = f"{plan.effective_units:,.0f}", f"{plan.units:,}"
            equal = f" (effective number: {effective})" if effective != units else ""
            lines.append(
                f"{plan.title}: the {plan.n:,} items are about {units} images or clusters{equal}; the plan assumes "
                "that further items are spread in the same way"
            )
    console().print(table)
    lines += [f"not planned: {left.title}: {left.reason}" for left in passed_over]
    print_notes(console(), *lines)
