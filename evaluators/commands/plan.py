"""`eyechart plan`: how many items are needed to detect a difference between two models."""

from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eyechart.evaluators.runs.console import checked, console, print_note

if TYPE_CHECKING:
    from eyechart.evaluators.comparison.planning import Plans


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

    def work() -> "Plans":
        from eyechart.evaluators.comparison.planning import plan_runs

        given: Any = {"n": n, "power": power, "models": models, "allowed": allow or [], "seed": seed}
        return plan_runs(runs, task or [], difference=difference, **given)

    from eyechart.evaluators.runs.layout import add_heading, add_scores, scores_table
    from eyechart.metrics.scores import spec

    found = checked(work)
    title = f"What a paired test at the 5 % level can detect with power {100 * power:g} %"
    is_observed = any(one.needed_ci95 for one in found.plans)
    last = "items needed\n95 % interval" if is_observed else "items needed"
    table = scores_table(title, "score", ("items", "detectable", "difference", "power", last))
    for one in found.plans:
        shown = spec(one.key).shown
        add_heading(table, one.title)
        add_scores(
            table,
            one.score,
            f"{one.at:,}",
            "nothing" if one.detectable is None else shown(one.detectable),
            shown(abs(one.difference)),
            f"{100 * one.power:.0f} %",
            ("none" if one.difference == 0 else _items(one.needed))
            + ("\n" + " to ".join(map(_items, one.needed_ci95)) if one.needed_ci95 else ""),
        )
    console().print(table)
    _say(f"detectable: the smallest true difference that this number of items detects with power {100 * power:g} %")
    if models > 2:
        _say(f"p-values are Holm-adjusted over the {comb(models, 2):,} pairs of {models} models")
    if is_observed:
        _say(
            "items needed: for the observed differences, which are uncertain; to plan a study, set --difference to the "
            "smallest difference that matters"
        )
    if len(runs) == 1:
        _say(
            "one run: the other model is unknown, so its answers are assumed to be independent of this model's answers"
        )
        _say("one run: --difference sets the other model's assumed score; for percentages, 'detectable' depends on it")
    for one in found.plans:
        if one.units < one.n:
            kind = "images" if one.key in ("consistency", "accuracy_all") else "images or clusters"
            about = "one image or cluster" if one.units == 1 else f"{one.units:,} {kind}"
            counted = f"{one.effective_units:,.0f}"
            equal = f" (effective number: {counted})" if counted != f"{one.units:,}" else ""
            _say(
                f"{one.title}: the {one.n:,} items are about {about}{equal}; the plan assumes that "
                "further items are spread in the same way"
            )
    for one in found.plans:
        if one.exceeds_discordance:
            _say(
                f"{one.title}: the runs disagree on a smaller share of the items than this difference; "
                "the plan assumes that they disagree on exactly this share, always in favour of the same model"
            )
    for left in found.passed_over:
        _say(f"not planned: {left.title}: {left.reason}")


def _items(needed: int | None) -> str:
    return "over 10,000,000" if needed is None else f"{needed:,}"


def _say(text: str) -> None:
    print_note(console(), text)
