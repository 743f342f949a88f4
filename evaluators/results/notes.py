"""Notes: what a reader must know about a score, as a code and its values; the words are here and nowhere else."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS, KINDS

_Values = Mapping[str, Any]


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
        words = WORDS[self.code]
        if callable(words):
            return words(self.values)
        return words.format_map({name: _shown(value) for name, value in self.values.items()})

    @property
    def is_incomplete(self) -> bool:
        """Whether it says that the scores do not use all requested answers."""
        return self.code in _INCOMPLETE or any(self.values.get(name) for name in ("incomplete", "without_score"))


def note(code: str, **values: Any) -> Note:
    """A note."""
    return Note(code=code, values=values)


def grouped(pairs: Iterable[tuple[Any, str]]) -> dict[Any, list[str]]:
    """The texts of each key, each once, in the order given: for example the tasks that a note is about."""
    groups: dict[Any, dict[str, None]] = {}
    for key, text in pairs:
        groups.setdefault(key, {})[text] = None
    return {key: list(texts) for key, texts in groups.items()}


_INCOMPLETE = ("average_incomplete", "forced_missing", "incomplete", "judge_lost", "left_out_of_circular", "unusable")
TESTS: Mapping[str, str] = {
    "McNemar, exact": "McNemar's exact test",
    "clustered": "cluster-robust t test, p never below McNemar's",
    "dyadic": "t test robust to shared images, p never below McNemar's",
    **{
        f"paired bootstrap{of}": f"paired bootstrap{of} (Student's t if all resamples have the same sign)"
        for of in ("", " over images", " over pools")
    },
    "swaps": "permutation test that swaps the models' scores on random items",
}
"""The tests of a difference of two runs."""
_DIFFERENCE_INTERVALS: Mapping[str, str] = {
    "paired": "Bonett and Price's interval for a difference of two proportions of the same independent items",
    "paired-unread": "Bonett and Price's interval; images were not read, so questions that share an image count as "
    "independent",
    "student": "Student's t interval of a difference of means, from a variance robust to shared images or clusters",
    "bootstrap": KINDS["bootstrap"],
    "swaps": "from the 5 % bound of the permutation test",
    "none": f"no interval, as there are fewer than {FEW_UNITS} units or the score is undefined",
    "constant": "no interval, as the difference is the same in all resamples, clusters or pairs, so its uncertainty "
    "cannot be estimated",
}


_HIGHER = " scored higher than "


def _shown(value: Any) -> Any:
    """A value in a text."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else value


def _answer_file(v: _Values) -> str:
    problem = f"; do not submit it: {v['problem']}" if v["problem"] else ""
    return f"Answer file: {v['file']}{problem}."


def _as_published(v: _Values) -> str:
    changed = [f"{name}={of['published']} (default {of['default']})" for name, of in v["changed"].items()]
    return f"As published: {', '.join(changed) or 'no setting differs from the defaults'}."


def _cut_off(v: _Values) -> str:
    reasoning = f", {v['reasoning']:,} of them during reasoning" if v["reasoning"] else ""
    unknown = f"; it is unknown how {v['unknown']:,} others ended" if v["unknown"] else ""
    lead = "Incomplete: " if v["incomplete"] else ""
    text = f"{lead}{v['cut']:,} of {v['of']:,} replies were cut off{reasoning}{unknown}."
    if v["limit"] is None:
        return f"{text} Generate these predictions again with a higher token limit."
    if v["allowed"]:
        tokens = f"{v['allowed']:,} tokens instead of {v['limit']:,}"
        return f"{text} The server allowed {tokens}: its context may be too small."
    return f"{text} Use --max-new-tokens above {v['limit']:,} to let them end."


def _judge_failed(v: _Values) -> str:
    failures = {"cut_off": "cut off", "refused": "refused", "malformed": "not in the expected form"}
    reasons = ", ".join(f"{v[key]} {words}" for key, words in failures.items() if v[key])
    text = f"The judge {v['judge']} gave no usable reply in {v['failed']} of {v['rounds']} rounds"
    text += f" ({reasons})." if reasons else "."
    if v["cut_off"]:
        text += f" A judge that reasons first needs --judge-arg max_tokens above {v['max_tokens']}."
    if not v["without_score"]:
        return text
    if v["asked"] is None:
        lost = f"in a dimension, {v['without_score']:,} texts have no usable judge reply; its score is of the others"
    else:
        lost = f"{v['without_score']} of the {v['asked']} replies put to it have no usable round and are {v['become']}"
    return f"{text} Incomplete: {lost}."


def _left_out(v: _Values) -> str:
    return f"{v['n']:,} item{'s' if v['n'] > 1 else ''} left out; the first: '{v['id']}': {v['reason']}."


def _private(v: _Values) -> str:
    data = f"{v['dataset']} ({v['split']})"
    why = f"The answers of {data} are private" if v["is_private"] else f"This copy of {data} contains no answers"
    return f"{why}, so there is no score; the predictions of {v['items']} items were kept. {v['advice']}".strip()


def _sample(v: _Values) -> str:
    by = f", by {' and '.join(v['strata'])}" if v["strata"] else ""
    return f"Sample of {v['n']:,} from {v['of']:,} items (seed {v['seed']}{by})."


def _of_scores(v: _Values) -> str:
    """Scores by the task that they belong to."""
    return "; ".join(f"{title}: {' / '.join(scores)}" for title, scores in v["scores"].items())


def _difference_interval(v: _Values) -> str:
    words = _DIFFERENCE_INTERVALS[v["kind"]]
    kind = f"N{words[1:]}" if words.startswith("no interval") else f"95 % interval: {words}"
    return f"{kind}: {_of_scores(v)}."


def _interval(v: _Values) -> str:
    words = KINDS[v["kind"]]
    words = f"95 % {words}" if words.startswith("Wilson") else words[0].upper() + words[1:]
    return f"{words}: {'; '.join(v['scores'])}."


def _chance(v: _Values) -> str:
    above, below = v["above"], ", ".join(v["below"])
    if not above:
        return f"Not better than chance{': ' if below else ''}{below}."
    n = len(above) + len(v["below"])
    if below:
        return f"Better than chance: {len(above)} of {n} scores with a chance level. Not better: {below}."
    return f"Better than chance: {above[0] if n == 1 else f'all {n} scores with a chance level'}."


def _verdict(v: _Values) -> str:
    by = f"by {v['by'].lstrip('+-')}" if v["ordered"] else v["by"]
    return f"{v['task']}: {_HIGHER.join(v['ordered']) or 'no significant difference'} ({by}, {v['p']})"


def _verdict_of_runs(v: _Values) -> str:
    differences = [f"{_HIGHER.join(runs)} ({p})" for runs, p in v["ordered"]]
    # If some runs were not compared, the text names those that were.
    between = f" between {' or '.join(v['compared'])}" if v["refused"] else ""
    parts = ["; ".join(differences) or f"No significant difference{between}"] if v["compared"] else []
    return ". ".join([*parts, *([f"Not compared: {'; '.join(v['refused'])}"] if v["refused"] else [])])


def _synthetic(v: _Values) -> str:
    of = f" ({', '.join(v['tasks'])})" if v["tasks"] else ""
    return f"Synthetic demo data{of}: not comparable with papers. Name a --model for real data."


def _unparsed(v: _Values) -> str:
    cut = f" ({v['cut']:,} cut off)" if v["cut"] else ""
    become = ", so their pairs are not consistent" if v["pairs"] else " and count as incorrect"
    return f"{v['unparsed']:,} of {v['of']:,} replies could not be parsed{cut}{become}."


def _mostly_unparsed(v: _Values) -> str:
    incomplete = "are cut off or empty" if v["are_texts"] else "could not be parsed"
    return f"{_shown(v['unparsed'])} of {_shown(v['of'])} replies {incomplete}: the score does not describe the model."


def _sampled(v: _Values) -> str:
    sampling = ", ".join(f"{name}={value}" for name, value in v["sampling"].items())
    return f"Replies were sampled ({sampling}); the default is greedy decoding."


def _of_tasks(v: _Values, words: str) -> str:
    return f"{words}{': ' if v['tasks'] else ''}{', '.join(v['tasks'])}."


WORDS: Mapping[str, str | Callable[[_Values], str]] = {
    "adjusted_p_values": "p (Holm): Holm-adjusted over the {pairs} pairs of runs, for each score by itself",
    "agreement": "The parsed letter agrees with the human label in {share} of {n} replies.",
    "allow": "To compare despite a different setting, use --allow SETTING; the difference includes its effect.",
    "also_differ": "{first} and {second} also differ in {settings}, which can change scores.",
    "answer_file": _answer_file,
    "as_published": _as_published,
    "average_incomplete": "The average includes scores of incomplete evaluations.",
    "average_missing": "No average over the {of} databases: no scores on {missing}.",
    "bitrates": "MM21 is scored against bitrates, as in the authors' label file, not against opinion scores; so are "
    "the averages that include MM21. For opinion scores, add LICQA's lists: --data-arg mm21_dir=FOLDER.",
    "blind": "The model was not shown the images.",
    "by_words": "Scored by word overlap, not by a --judge: not comparable with papers.",
    "chance": _chance,
    "cut_off": _cut_off,
    "detectable": "detectable: the smallest true difference that this number of items detects with power {power} %",
    "difference_interval": _difference_interval,
    "few_decide": "A few images, such as outliers, decide the PLCC: look at them before you rely on it.",
    "flips": "flips: correct only in A / correct only in B",
    "forced_missing": "{missing} of {asked} refused questions have no second reply and count as incorrect refusals.",
    "incomplete": "The scores are incomplete: some items were not asked.",
    "interval": _interval,
    "interval_of_averages": lambda v: _of_tasks(v, "No interval, as averages are over parts that may share images"),
    "interval_of_spread": lambda v: _of_tasks(
        v, "No interval for mean ± SD, which describes how repeats of the same items differ"
    ),
    "judge_failed": _judge_failed,
    "judge_lost": "Incomplete: the judge {judge} gave no reply in {rounds} rounds, which count as failed; the first "
    "reason: {reason}.",
    "judge_served": "The judge's server answered as '{served}', but {judge!r} was requested.",
    "left_out": _left_out,
    "left_out_of_circular": "{questions} questions left out of CircularEval: not every pass has a reply, and no pass "
    "is wrong.",
    "mostly_unparsed": _mostly_unparsed,
    "no_score": "This task has no score.",
    "no_interval": lambda v: f"No interval, as {v['kind']}: {'; '.join(v['scores'])}.",
    "observed_difference": "items needed: for the observed differences, which are uncertain; to plan a study, set "
    "--difference to the smallest difference that matters",
    "only_in_one": "{first} with {second}: only in one run: {tasks}",
    "overlap": "Overlapping intervals of A and B do not mean a tie: use the interval and p of the difference.",
    "own_data": "The data are the publisher's own, not a benchmark's.",
    "p_values": "p: each score by itself; of 20 equal scores, one has p < 0.05 by chance",
    "partial": lambda v: f"{v['run']} is on a part of the data: {'; '.join(v['parts'])}.",
    "passed_over": "not {what}: {title}: {reason}",
    "places": lambda v: (
        "Runs share a place (1 is the best) unless a paired test finds a difference (p < 0.05, Holm-adjusted over "
        f"{' or '.join(map(_shown, v['pairs']))} pairs)."
    ),
    "plain_intervals": lambda v: f"All other 95 % intervals: {'; '.join(KINDS[kind] for kind in v['kinds'])}.",
    "planned_pairs": "p-values are Holm-adjusted over the {pairs} pairs of {models} models",
    "planned_units": "{title}: the {n} items share images or clusters, which count as {units} of equal size; the plan "
    "assumes that further items are spread in the same way",
    "precomputed": "The predictions are precomputed: eyechart did not run the model and cannot verify the prompt.",
    "private": _private,
    "provider_decoding": "The provider chose the decoding: no temperature was sent. Asking again may give other "
    "replies.",
    "reasons": "The model reasons before it answers, so its replies may be {limit} tokens long instead of {usual}; "
    "--max-new-tokens changes this limit.",
    "repeated_rows": "{rows} rows of {file} repeat others; equal rows count once.",
    "repeats": "The scores are from the first of {repeats} repeats; mean and spread are over all of them.",
    "sample": _sample,
    "sampled": _sampled,
    "served": "The server answered as '{served}', but {model!r} was requested. If they are the same model, run again "
    "with --model-arg served_name=NAME (stored answers are reused); until then the result cannot be published.",
    "still_reasons": "{reasoning} of {of} replies contain reasoning: the setting thinking=False had no effect.",
    "student_interval": "A Student's t interval can exclude 0 even if p is above 0.05, because p is never below "
    "McNemar's p.",
    "stated": "The scores are those that the entry states: they were not computed from its replies.",
    "supposed_model": "one run: the other model's answers are assumed to be independent of this model's; --difference "
    "sets its score, so for percentages, 'detectable' depends on it",
    "synthetic": _synthetic,
    "task": "{note}",
    "task_file": "defined by a task file of the publisher",
    "test": lambda v: f"p: {TESTS[v['kind']]}: {_of_scores(v)}.",
    "top_token": lambda v: (
        "This run gives no score; it counts the most probable tokens to choose a word pair "
        + (f"(suggested: --set word_pair={v['pair']})." if v["pair"] else "(no token is a word of a known pair).")
    ),
    "undefined_difference": "{title}: {scores}: {reason}",
    "unparsed": _unparsed,
    "unused_rows": "{unused} of {of} predictions in {file} match no item of this run.",
    "unusable": lambda v: (
        f"{v['unusable']} of {v['of']} answers cannot be scored"
        f"{'; scores are of the others' if v['unusable'] != v['of'] else ''}. The first: '{v['id']}': {v['reason']}."
    ),
    "verdict": _verdict,
    "verdict_of_runs": _verdict_of_runs,
    "warnings": "Warnings during scoring: {n}; the first: {first}.",
}
"""The words of each note by its code: a template of its values, or a function of them."""
