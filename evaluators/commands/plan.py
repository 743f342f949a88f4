"""`eyechart plan`: how many items show a difference between two models."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eyechart.evaluators.runs.console import checked, console, print_note

if TYPE_CHECKING:
    from eyechart.evaluators.comparison.planning import Plans


def plan(
    runs: Annotated[
        list[Path], typer.Argument(metavar="A [B]", help="Folders of two finished runs, or of one with --difference.")
    ],
    task: Annotated[list[str] | None, typer.Option(help="Plan only this task. Repeatable.")] = None,
    difference: Annotated[
        float | None,
        typer.Option(help="The true difference to be shown, such as 0.02 for 2 %. Default: that of the two runs."),
    ] = None,
    n: Annotated[int | None, typer.Option("--n", help="Number of items. Default: those of the runs.")] = None,
    power: Annotated[float, typer.Option(help="The chance to find the difference.")] = 0.8,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="SETTING", help="Plan although this setting differs. Repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """How many items show a difference, and which difference they show, by the paired tests of `eyechart compare`.

    Two runs tell how often models like these are right on the same items. With one run, the other model is supposed to
    be right independently of it, so that fewer items will do where models agree.
    """

    def work() -> "Plans":
        from eyechart.evaluators.comparison.planning import plan_runs

        given: Any = {"n": n, "power": power, "allowed": allow or [], "seed": seed}
        return plan_runs(runs, task or [], difference=difference, **given)

    from eyechart.evaluators.runs.layout import add_heading, add_scores, scores_table
    from eyechart.metrics.scores import spec

    found = checked(work)
    title = f"What a paired test at the 5 % level finds with power {100 * power:g} %"
    table = scores_table(title, "score", ("items", "they show", "difference", "its power", "items for it"))
    for one in found.plans:
        shown = spec(one.key).shown
        add_heading(table, one.task, f"{one.dataset} ({one.split})")
        add_scores(
            table,
            one.score,
            f"{one.at:,}",
            "nothing" if one.detectable is None else shown(one.detectable),
            shown(abs(one.difference)),
            f"{100 * one.power:.0f} %",
            "none" if one.difference == 0 else "over 10,000,000" if one.needed is None else f"{one.needed:,}",
        )
    console().print(table)
    _say("they show: the smallest true difference that this number of items shows with this power")
    if len(runs) == 1:
        _say("one run: nothing is known of the other model, so its answers count as independent of this one's")
        _say(
            "one run: for shares, what the items show also depends on --difference, which sets the other model's score"
        )
    for one in found.plans:
        if one.units < one.n:
            kind = "images" if one.key in ("consistency", "accuracy_all") else "images or clusters"
            about = "one image or cluster" if one.units == 1 else f"{one.units:,} {kind}"
            counted = f"{one.effective_units:,.0f}"
            equal = f", which count as {counted}" if counted != f"{one.units:,}" else ""
            _say(f"{one.task} on {one.dataset}: {one.n:,} items about {about}{equal}; more are to be like them")
    for one in found.plans:
        if one.exceeds_discordance:
            _say(
                f"{one.task} on {one.dataset}: the runs disagree on a smaller share of the items than this difference; "
                "the plan supposes that they disagree on just as many, always in favour of the same model"
            )
    for left in found.passed_over:
        _say(f"not planned: {left.title}: {left.reason}")


def _say(text: str) -> None:
    print_note(console(), text)
