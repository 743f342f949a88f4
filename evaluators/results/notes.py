"""Notes: what a reader must know about a score, as a code and its values; the words are here and nowhere else."""

from collections.abc import Callable, Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from eyechart.metrics.scoring.statistics.intervals import KINDS


class Note(BaseModel):
    """One finding about a result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str
    """One of `WORDS`."""
    values: dict[str, Any] = {}
    """The values that its words need."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse a code without words, or values that do not fit them."""
        try:
            self.text  # noqa: B018
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"no note {self.code!r:.40} with the values {self.values!r:.200}") from error
        return self

    @property
    def text(self) -> str:
        """The note in words."""
        return WORDS[self.code](self.values)


_BEYOND = " (Student's t if all resamples have the same sign)"
TESTS: Mapping[str, str] = {
    "McNemar, exact": "McNemar's exact test",
    "clustered": "cluster-robust t test, p never below McNemar's",
    "dyadic": "t test robust to shared images, p never below McNemar's",
    "paired bootstrap": "paired bootstrap" + _BEYOND,
    "paired bootstrap over images": "paired bootstrap over images" + _BEYOND,
    "paired bootstrap over pools": "paired bootstrap over pools" + _BEYOND,
    "swaps": "permutation test that swaps the models' scores on random items",
}
"""The tests of a difference of two runs."""
DIFFERENCE_INTERVALS: Mapping[str, str] = {
    **{kind: KINDS[kind] for kind in ("paired", "paired-unread", "bootstrap", "none")},
    "student-clustered": "Student's t interval of a difference of means, from a cluster-robust variance",
    "student-dyadic": "Student's t interval of a difference of means, from a variance robust to shared images",
    "swaps": "from the 5 % bound of the permutation test",
    "constant": "no interval, as the difference is the same in all resamples, clusters or pairs, so its uncertainty "
    "cannot be estimated",
}
"""The kinds of 95 % intervals of such a difference."""


def note(code: str, **values: Any) -> Note:
    """A note."""
    return Note(code=code, values=values)


def _count(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}"


def _as_published(v: Mapping[str, Any]) -> str:
    changed = [f"{name}={one['published']} (default {one['default']})" for name, one in v["changed"].items()]
    return f"As published: {', '.join(changed) or 'no setting differs from the defaults'}."


def _cut_off(v: Mapping[str, Any]) -> str:
    reasoning = f", {v['reasoning']:,} of them during reasoning" if v["reasoning"] else ""
    unknown = f"; it is unknown how {_count(v['unknown'], 'other', 'others')} ended" if v["unknown"] else ""
    lead = "Incomplete: " if v["incomplete"] else ""
    found = f"{lead}{v['cut']:,} of {v['of']:,} replies were cut off{reasoning}{unknown}."
    if v["limit"] is None:
        return f"{found} Generate these predictions again with a higher token limit."
    if v["allowed"]:
        tokens = f"{v['allowed']:,} tokens instead of {v['limit']:,}"
        return f"{found} The server allowed {tokens}: its context may be too small."
    return f"{found} Use --max-new-tokens above {v['limit']:,} to let them end."


def _judge_failed(v: Mapping[str, Any]) -> str:
    reasons = [f"{v[key]} {words}" for key, words in _JUDGE_FAILURES.items() if v[key]]
    text = f"The judge {v['judge']} gave no usable reply in {v['failed']} of {v['rounds']} rounds"
    text += f" ({', '.join(reasons)})." if reasons else "."
    if v["cut_off"]:
        text += f" A judge that reasons first needs --judge-arg max_tokens above {v['max_tokens']}."
    if not v["without_score"]:
        return text
    if v["asked"] is None:
        texts = _count(v["without_score"], "text", "texts")
        become = f"no usable judge reply for {texts} in a dimension, which is scored from the other texts only"
    else:
        become = (
            f"{v['without_score']} of the {v['asked']} replies put to it have no usable round and are {v['become']}"
        )
    return f"{text} Incomplete: {become}."


_JUDGE_FAILURES = {"cut_off": "cut off", "refused": "refused", "malformed": "not in the expected form"}


def _unusable(v: Mapping[str, Any]) -> str:
    rest = "so there is no score" if v["unusable"] == v["of"] else "and the scores are computed from the others"
    return f"{v['unusable']} of {v['of']} answers cannot be scored, {rest}; the first: '{v['id']}': {v['reason']}."


def _private(v: Mapping[str, Any]) -> str:
    data = f"{v['dataset']} ({v['split']})"
    why = f"The answers of {data} are private" if v["is_private"] else f"This copy of {data} contains no answers"
    kept = f"{why}, so there is no score; the predictions of {v['items']} items were kept."
    return f"{kept} {v['advice']}" if v["advice"] else kept


def _unparsed(v: Mapping[str, Any]) -> str:
    cut = f" ({v['cut']:,} cut off)" if v["cut"] else ""
    become = ", so their pairs are not consistent" if v["pairs"] else " and count as incorrect"
    return f"{v['unparsed']:,} of {v['of']:,} replies could not be parsed{cut}{become}."


def _sample(v: Mapping[str, Any]) -> str:
    by = f", by {' and '.join(v['strata'])}" if v["strata"] else ""
    return (
        f"Sample of {v['n']:,} from {v['of']:,} items (seed {v['seed']}{by}); intervals are for the score on all items."
    )


def _of_scores(v: Mapping[str, Any]) -> str:
    """Scores by the task that they belong to."""
    return "; ".join(f"{title}: {' / '.join(scores)}" for title, scores in v["scores"].items())


def _difference_interval(v: Mapping[str, Any]) -> str:
    words = DIFFERENCE_INTERVALS[v["kind"]]
    kind = f"N{words[1:]}" if words.startswith("no interval") else f"95 % interval: {words}"
    return f"{kind}: {_of_scores(v)}."


def _synthetic(v: Mapping[str, Any]) -> str:
    of_tasks = f" of {', '.join(v['tasks'])}" if v["tasks"] else ""
    return f"The data{of_tasks} are synthetic demo data, so the scores are not comparable with published ones."


def _verdict(v: Mapping[str, Any]) -> str:
    words = f"{v['higher']} (by {v['by'].lstrip('+-')}" if v["higher"] else f"no significant difference ({v['by']}"
    return f"{v['task']}: {words}, {v['p']})"


def _interval(v: Mapping[str, Any]) -> str:
    words = KINDS[v["kind"]]
    lead = "95 % " if words.startswith("Wilson") else ""
    return f"{lead}{words if lead else words[0].upper() + words[1:]}: {'; '.join(v['scores'])}."


def _chance(v: Mapping[str, Any]) -> str:
    n = len(v["above"]) + len(v["below"])
    if n == 1:
        return f"{'Better' if v['above'] else 'Not better'} than chance: {[*v['above'], *v['below']][0]}."
    others = f" Not better: {', '.join(v['below'])}." if v["below"] else ""
    count = f"{len(v['above'])} of {n}" if v["below"] else f"all {n}"
    return f"Better than chance: {count} scores with a chance level.{others}"


def _mostly_unparsed(v: Mapping[str, Any]) -> str:
    incomplete = "are cut off or empty" if v["are_texts"] else "could not be parsed"
    return f"{v['unparsed']:,} of {v['of']:,} replies {incomplete}: the score does not describe the model."


def _of_tasks(reason: str) -> Callable[[Mapping[str, Any]], str]:
    """Why scores have no interval, with their tasks if there are several."""
    return lambda v: f"No interval{reason}{': ' if v['tasks'] else ''}{', '.join(v['tasks'])}."


def _repeated_rows(v: Mapping[str, Any]) -> str:
    rows, others = ("1 row", "repeats another") if v["rows"] == 1 else (f"{v['rows']} rows", "repeat others")
    return f"{rows} of {v['file']} {others}; equal rows count once."


WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "as_published": _as_published,
    "average_incomplete": lambda v: "The average includes scores of incomplete evaluations.",
    "average_missing": lambda v: f"No average over the {v['of']} databases: no scores on {', '.join(v['missing'])}.",
    "average_repeated": lambda v: (
        f"No average over the {v['of']} databases: more than one result on {', '.join(v['repeated'])}."
    ),
    "bitrates": lambda v: (
        "MM21 is scored against bitrates, as in the authors' label file, not against opinion scores; so are the "
        "averages that include MM21. For opinion scores, add LICQA's lists: --data-arg mm21_dir=FOLDER."
    ),
    "blind": lambda v: "The model was not shown the images.",
    "chance": _chance,
    "cut_off": _cut_off,
    "left_out_of_circular": lambda v: (
        f"{_count(v['questions'], 'question', 'questions')} left out of CircularEval: not every pass has a reply, and "
        "no pass is wrong."
    ),
    "difference_interval": _difference_interval,
    "few_decide": lambda v: "A few images, such as outliers, decide the PLCC: look at them before you rely on it.",
    "forced_missing": lambda v: (
        f"{v['missing']} of {v['asked']} refused questions have no second reply and count as incorrect refusals."
    ),
    "interval": _interval,
    "interval_of_averages": _of_tasks(", as averages are over parts that may share images"),
    "interval_of_spread": _of_tasks(" for mean ± SD, which describes how repeats of the same items differ"),
    "judge_failed": _judge_failed,
    "judge_lost": lambda v: (
        f"Incomplete: the judge {v['judge']} gave no reply in {v['rounds']} rounds, which count as failed; the first "
        f"reason: {v['reason']}."
    ),
    "judge_served": lambda v: (
        f"The judge's server answered as {', '.join(map(repr, v['served']))}, but {v['judge']!r} was requested."
    ),
    "mostly_unparsed": _mostly_unparsed,
    "no_interval": lambda v: f"No interval, as {v['kind']}: {'; '.join(v['scores'])}.",
    "overlap": lambda v: (
        "Overlapping intervals of A and B do not mean a tie: use the interval and p of the difference."
    ),
    "plain_intervals": lambda v: f"All other 95 % intervals: {'; '.join(KINDS[kind] for kind in v['kinds'])}.",
    "private": _private,
    "provider_decoding": lambda v: (
        "The provider chose the decoding: no temperature was sent. Asking again may give other replies."
    ),
    "reasons": lambda v: (
        f"The model reasons before it answers, so its replies may be {v['limit']:,} tokens long instead of "
        f"{v['usual']}; --max-new-tokens changes this limit."
    ),
    "repeated_rows": _repeated_rows,
    "repeats": lambda v: (
        f"The scores are from the first of {v['repeats']} repeats; mean and spread are over all of them."
    ),
    "sample": _sample,
    "sampled": lambda v: (
        f"Replies were sampled ({', '.join(f'{name}={value}' for name, value in v['sampling'].items())}); the default "
        "is greedy decoding."
    ),
    "served": lambda v: (
        f"The server answered as {', '.join(map(repr, v['served']))}, but {v['model']!r} was requested. If they are "
        "the same model, run again with --model-arg served_name=NAME (stored answers are reused); until then the "
        "result cannot be published."
    ),
    "still_reasons": lambda v: (
        f"{v['reasoning']:,} of {v['of']:,} replies contain reasoning: the setting thinking=False had no effect."
    ),
    "student_interval": lambda v: (
        "A Student's t interval can exclude 0 even if p is above 0.05, because p is never below McNemar's p."
    ),
    "synthetic": _synthetic,
    "task": lambda v: str(v["note"]),
    "test": lambda v: f"p: {TESTS[v['kind']]}: {_of_scores(v)}.",
    "top_token": lambda v: (
        "This run gives no score; it counts the most probable tokens to choose a word pair "
        + (f"(suggested: --set word_pair={v['pair']})." if v["pair"] else "(no token is a word of a known pair).")
    ),
    "unparsed": _unparsed,
    "unusable": _unusable,
    "verdict": _verdict,
}
"""The words of each note, by its code."""
