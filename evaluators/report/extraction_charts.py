"""Charts of how replies become choices: MMBench, Fig. 4 and 5."""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.report.charts import WHISKERS, Chart, Series
from eyechart.evaluators.report.scores import Scored, interval, number
from eyechart.evaluators.results.finished_runs import TaskKey

_TRUTH = "right answers"
_NONE = "none"
_READ = {"after_exact": "not parsed by exact matching", "all": "all replies"}
"""Groups of the replies that human annotators labelled."""


def choice_distribution(key: TaskKey, scored: Scored) -> Chart | None:
    """How often each letter is chosen, and how often it is right: MMBench, Fig. 4."""
    found = [
        (label, result.scores)
        for label, result in scored
        if result.scores and "circular_accuracy" in result.scores and "choice_distribution" in result.scores
    ]
    if not found:
        return None
    shares = {label: scores["choice_distribution"] for label, scores in found}
    letters = sorted({letter for of_run in shares.values() for letter in of_run["correct"]})
    if any(number(of_run["predicted"], _NONE) > 0 for of_run in shares.values()):
        letters.append(_NONE)

    def along(of_run: Mapping[str, Any]) -> tuple[float, ...]:
        # A run may lack some letters; "none" is never a correct answer.
        return tuple(100 * number({letter: 0, **of_run}, letter) for letter in letters)

    truths = {label: along(of_run["correct"]) for label, of_run in shares.items()}
    # Runs on the same questions have the same correct answers.
    if len(set(truths.values())) == 1:
        series = [Series(_TRUTH, next(iter(truths.values())))]
    else:
        series = [Series(f"{label}: {_TRUTH}", values) for label, values in truths.items()]
    series += [Series(label, along(of_run["predicted"])) for label, of_run in shares.items()]
    over = " or ".join(dict.fromkeys(str(scores.get("distribution_over")) for _, scores in found))
    return Chart(
        key=key.file_name("choices"),
        kind="bars",
        title="choice distribution",
        labels=tuple(letters),
        series=tuple(series),
        unit="share of replies, in %",
        note=f"As in MMBench, Fig. 4. Computed over {over}.",
        is_extra=True,
    )


def agreement_with_people(key: TaskKey, scored: Scored) -> Chart | None:
    """How often the parsed letter agrees with that of human annotators: MMBench, Fig. 5."""
    found = [
        (label, result.scores or {}, result.diagnostics["extractor_agreement"])
        for label, result in scored
        if "extractor_agreement" in result.diagnostics
    ]
    if not found:
        return None
    series = []
    for label, scores, agreement in found:
        reader = scores.get("judge") or "no judge"
        values = tuple(100 * number(agreement, name, "agreement") for name in _READ)
        ends = (interval(agreement, name, "agreement") for name in _READ)
        in_percent = tuple(pair and (100 * pair[0], 100 * pair[1]) for pair in ends)
        series.append(Series(f"{reader} on {label}", values, in_percent))
    counts = [[f"{(agreement[name] or {}).get('n', 0)}" for name in _READ] for _, _, agreement in found]
    of = "; ".join(dict.fromkeys(" and ".join(of_run) for of_run in counts))
    return Chart(
        key=key.file_name("agreement"),
        kind="bars",
        title="agreement with human annotators",
        labels=tuple(_READ.values()),
        series=tuple(series),
        unit="same choice, in % of replies",
        note=f"As in MMBench, Fig. 5, which has only the first group. {of} replies were labelled by human annotators. "
        f"{WHISKERS}",
        limits=(0, 100),
        is_extra=True,
    )
