"""`eyechart plan`: how many items are needed to detect a difference between two models."""

from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.evaluators.commands.command import Command
from eyechart.evaluators.runs.console import checked, console, print_note

if TYPE_CHECKING:
    from eyechart.evaluators.comparison.planning import Plan


app = typer.Typer(add_completion=False)


@app.command(cls=Command)
def plan(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="A [B]", help="Folders of two finished runs; or of one run, with --difference."),
    ],
    task: Annotated[list[str] | None, typer.Option(help="Plan only this task. Repeatable.")] = None,
    difference: Annotated[
        float | None,
        typer.Option(help="True difference to detect, such as 0.02 for 2 % (default: that between the two runs)."),
    ] = None,
    n: Annotated[int | None, typer.Option("--n", help="Number of items (default: those of the runs).")] = None,
    power: Annotated[float, typer.Option(help="Probability of detecting the difference.")] = 0.8,
    models: Annotated[
        int, typer.Option(help="Number of models that you will compare in pairs, with adjusted p-values.")
    ] = 2,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="SETTING", help="Plan even if this setting differs. Repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for the bootstrap.")] = 0,
) -> None:
    """Plan how many items the paired tests of `eyechart compare` need to detect a difference.

    Two runs show how often models like these are correct on the same items. With one run, the other model is assumed to
    be correct independently of it; models that agree more often need fewer items.
    """
    from eyechart.evaluators.comparison.planning import Goal, plan_runs
    from eyechart.evaluators.runs.console import add_heading, add_scores, scores_table
    from eyechart.metrics.scores import spec

    plans = checked(lambda: plan_runs(runs, task or [], Goal(difference, n, power, models, seed), allow or []))
    is_observed = any(one.needed_ci95 for one in plans.plans)
    table = scores_table(
        f"What a paired test at the 5 % level can detect with power {100 * power:g} %",
        "score",
        ("items", "detectable", "difference", "power", "items needed" + "\n95 % interval" * is_observed),
    )
    for one in plans.plans:
        shown = spec(one.key).shown
        needed = "none" if one.difference == 0 else _items(one.needed)
        add_heading(table, one.title)
        add_scores(
            table,
            one.score,
            f"{one.at:,}",
            "nothing" if one.detectable is None else shown(one.detectable),
            shown(abs(one.difference)),
            f"{100 * one.power:.0f} %",
            needed + (f"\n{' to '.join(map(_items, one.needed_ci95))}" if one.needed_ci95 else ""),
        )
    console().print(table)
    lines = [f"detectable: the smallest true difference that this number of items detects with power {100 * power:g} %"]
    if models > 2:
        lines.append(f"p-values are Holm-adjusted over the {comb(models, 2):,} pairs of {models} models")
    if is_observed:
        lines.append(
            "items needed: for the observed differences, which are uncertain; to plan a study, set --difference to the "
            "smallest difference that matters"
        )
    if len(runs) == 1:
        lines.append(
            "one run: the other model's answers are assumed to be independent of this model's; --difference sets its "
            "score, so for percentages, 'detectable' depends on it"
        )
    for one in plans.plans:
        lines += [f"{one.title}: {text}" for text in (_about_units(one), _about_discordance(one)) if text]
    lines += [f"not planned: {left.title}: {left.reason}" for left in plans.passed_over]
    for line in lines:
        print_note(console(), line)


def _about_units(plan: "Plan") -> str:
    """What the items share; "" if nothing."""
    if plan.units == plan.n:
        return ""
    about = "one image or cluster" if plan.units == 1 else f"{plan.units:,} images or clusters"
    effective = f"{plan.effective_units:,.0f}"
    equal = f" (effective number: {effective})" if effective != f"{plan.units:,}" else ""
    return (
        f"the {plan.n:,} items are about {about}{equal}; the plan assumes that further items are spread in the same way"
    )


def _about_discordance(plan: "Plan") -> str:
    if not plan.exceeds_discordance:
        return ""
    return (
        "the runs disagree on a smaller share of the items than this difference; the plan assumes that they disagree "
        "on exactly this share, always in favour of the same model"
    )


def _items(needed: int | None) -> str:
    return "over 10,000,000" if needed is None else f"{needed:,}"
