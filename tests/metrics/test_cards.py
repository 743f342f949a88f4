"""What the metrics' cards, docstrings and the table of scores say, and what the metrics return."""

import inspect
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import eyechart.metrics
from eyechart.metrics import cards
from eyechart.metrics.score_check import contradictions, misfits
from eyechart.metrics.score_spec import Unit
from eyechart.metrics.scores import INTERVALS, NAMED, SCORES, headline, spec, specs_in, specs_of
from eyechart.metrics.scoring.statistics.intervals import KINDS
from tests.metrics.module_cases import CASES, computed

pytestmark = pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")

NAMES = eyechart.metrics.list_metrics()
TABLES = Path(__file__).parents[2] / "evaluators" / "published" / "tables"
HEADINGS = ("Metric description", "Inputs", "Output values", "Values from the paper", "Limitations", "Citation")


def section(name: str, heading: str) -> str:
    return re.split("^## ", cards.card(name).partition(f"## {heading}")[2], flags=re.MULTILINE)[0]


def first_column(name: str, heading: str) -> list[str]:
    """What a table of a card names in its first column."""
    cells = [line.split("|")[1] for line in section(name, heading).splitlines() if line.startswith("|")]
    return [key for cell in cells for key in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize("name", NAMES)
def test_sections(name: str) -> None:
    front = (Path(eyechart.metrics.__file__).parent / name / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert all(entry in front for entry in ("title:", "sdk: gradio", "app_file: app.py", "- evaluate", "- metric"))
    assert all(section(name, heading) for heading in HEADINGS)


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_card(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", cards.card(name), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    printed = [
        line.partition("  # ")[2] for block in blocks for line in block.splitlines() if line.startswith("print(")
    ]
    assert printed and capsys.readouterr().out.splitlines() == printed


@pytest.mark.parametrize("name", NAMES)
def test_arguments(name: str) -> None:
    metric = eyechart.metrics.load(name)
    parameters = inspect.signature(metric._compute).parameters
    assert first_column(name, "Inputs") == list(parameters)
    required = {key for key, value in parameters.items() if value.default is value.empty}
    assert set(metric._feature_names()) >= required
    described = metric.inputs_description
    assert all(re.search(rf"^    (.*, )?{key}(, .*)? \(.+\): ", described, re.MULTILINE) for key in parameters)
    assert metric.description and metric.citation.startswith("@") and "metric.compute(" in described


@pytest.fixture(scope="module")
def published() -> dict[str, set[float]]:
    """All values of a model in the papers' tables, under its name in small letters."""
    values: dict[str, set[float]] = {}
    for file in sorted(TABLES.glob("*.json")):
        for row in json.loads(file.read_text(encoding="utf-8"))["rows"]:
            values.setdefault(row["model"].lower(), set()).update(row["values"])
    return values


# MMBench's Table 4 belongs to no board.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "judge_answer"])
def test_values_from_the_papers(name: str, published: dict[str, set[float]]) -> None:
    lines = [line for line in section(name, "Values from the paper").splitlines() if re.search(r"^\|.*\d", line)]
    rows = [line.strip("| ").split("|") for line in lines if not line.startswith("| model ")]
    assert len(rows) > 3
    for model, *cells in rows:
        # Papers write "GPT-4V (Closed-Source Model)" in one table and "GPT-4V" in the next.
        start = model.partition(" (")[0].strip(" *").lower()
        known = set().union(*(values for full, values in published.items() if full.startswith(start)))
        # What stands in brackets is no figure of a paper.
        quoted = [float(number) for cell in cells for number in re.findall(r"\d*\.\d+", re.sub(r"\(.*?\)", "", cell))]
        assert quoted and set(quoted) <= known, (model, set(quoted) - known)


FOLDER = Path(eyechart.metrics.__file__).parent
SCORING = sorted(path for path in (FOLDER / "scoring").rglob("*.py") if path.stem != "__init__")
MODULES = [
    "eyechart.metrics",
    "eyechart.metrics.cards",
    "eyechart.metrics.scores",
    "eyechart.metrics.score_check",
    "eyechart.metrics.space",
    *("eyechart.metrics." + ".".join(path.relative_to(FOLDER).with_suffix("").parts) for path in SCORING),
]


def test_importing_loads_nothing_heavy() -> None:
    """In one process, as starting one takes longest: what each module adds is written down."""
    code = f"""
import importlib, sys
for name in {MODULES}:
    importlib.import_module(name)
    print(name, *(m for m in ("torch", "transformers", "evaluate", "datasets") if m in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == MODULES


BREAKDOWN = "by_"
ASKED = ("judge", "judge_template", "judge_template_version", "rounds")
RESAMPLED = ("resamples", "seed")
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "choice_accuracy": ("extraction_mode", "fallback", "seed", *ASKED, "judge_reads"),
    "circular_eval": ("distribution_over", "missing", "extraction_mode", "fallback", "seed", *ASKED),
    "self_awareness": ("extraction_mode", "fallback", "seed", *ASKED, "unreadable_forced"),
    "softmax_iqa": ("temperature", "strategy", "ties", "fit", "fit_parameters", "average_over", *RESAMPLED),
    "judge_description": ("judge", "template", "template_version", "wording", "rounds"),
    "judge_answer": ("judge", "template", "template_version", "wording", "rounds"),
    "paired_comparison": ("aggregator", "order_seed", "ridge", "pool_weights", "undefined_pools", "fit", *RESAMPLED),
}
"""What each module returns that is no score: settings, texts about them, and what the fit is."""


def _keys(scores: Mapping[str, Any], module: str, prefix: str = "") -> Iterator[str]:
    """The dotted keys of all numbers, for all items and for groups; those of named mappings once."""
    for name, value in scores.items():
        key = f"{prefix}{name}"
        if key in ("items", INTERVALS) or key in SETTINGS[module]:
            continue
        if name.startswith(BREAKDOWN):
            for part in value.values():
                yield from _keys(part, module)
        elif isinstance(value, Mapping) and key not in NAMED:
            yield from _keys(value, module, f"{key}.")
        else:
            yield key


def _of_module(module: str) -> list[dict[str, Any]]:
    return [computed(name) for name, (of, *_) in CASES.items() if of == module]


@pytest.mark.parametrize("module", NAMES)
def test_what_a_module_returns_is_what_the_table_declares(module: str) -> None:
    found = {key for scores in _of_module(module) for key in _keys(scores, module)}
    specs = specs_of(module)
    declared = {one.key for one in specs} | {f"{one.key}_ci95" for one in specs if one.has_interval}
    declared |= {key for key, (modules, _) in NAMED.items() if module in modules}
    assert found == declared
    given = {key for scores in _of_module(module) for key in scores}
    # Settings of other aggregators and of the random choice.
    assert set(SETTINGS[module]) - given <= {"order_seed", "ridge", "seed"}


@pytest.mark.parametrize("name", CASES)
def test_what_a_module_returns_passes_the_check(name: str) -> None:
    scores = {key: value for key, value in computed(name).items() if key != "items"}
    assert [*misfits(scores), *contradictions(scores)] == []
    assert list(misfits(json.loads(json.dumps(scores).replace("NaN", "null")))) == []


@pytest.mark.parametrize("name", CASES)
def test_intervals_have_the_keys_of_their_scores_and_chance_levels_and_counts_are_there(name: str) -> None:
    module, scores = CASES[name][0], computed(name)
    parts = [part for key, values in scores.items() if key.startswith(BREAKDOWN) for part in values.values()]
    for part in (scores, *parts, *scores.get("by_pool", {}).values()):
        assert set(part[INTERVALS]) == {one.key for one in specs_in(part) if one.has_interval}
        assert {key for key in _keys(part, module) if key.endswith("ci95")} == {
            f"{key}_ci95" for key in part[INTERVALS]
        }
        for key, about in part[INTERVALS].items():
            assert about["kind"] in KINDS and about["units"] <= 2 * spec(key, module).n(part)
            bounds = spec(key, module).bounds(part)
            assert all(map(math.isnan, bounds)) == KINDS[about["kind"]].startswith("no interval")
    for found in specs_in(scores):
        assert module in found.modules
        assert found.n(scores) is not None or not found.counts
        assert (found.bounds(scores) is None) == (not found.has_interval) == (found.key not in scores[INTERVALS])
        assert (found.chance_level(scores) is None) == (found.chance is None)
    for part in parts:
        assert headline(module) in specs_in(part)


def test_every_number_that_the_table_shows_has_an_interval_or_a_reason_for_none() -> None:
    for one in SCORES:
        shown = (one.in_table or one.above_zero) and one.unit is not Unit.COUNT
        assert not shown or one.has_interval != bool(one.no_interval), one.key
        assert not (one.has_interval and one.no_interval), one.key


@pytest.mark.parametrize("module", NAMES)
def test_cards_say_what_each_score_estimates(module: str) -> None:
    part = section(module, "What the scores estimate")
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| `") or "'s `" in line]
    stated = {key: row[-1].strip("| ") for row in rows for key in re.findall(r"`([^`]+)`", row[0])}
    for one in specs_of(module):
        key = "score" if one.key.endswith(".score") else one.key
        if one.unit is not Unit.COUNT and not re.match(r"(forced_)?extraction\.|.*\.p\d", key):
            assert key in stated, key
            assert stated[key].startswith("none") == (not one.has_interval), key
    assert "Assumptions, and where the intervals fail:" in part


@pytest.mark.parametrize("module", NAMES)
def test_each_module_has_one_headline_which_comes_first(module: str) -> None:
    first, *others = specs_of(module)
    assert first is headline(module) and not any(one.headline for one in others)


def test_a_key_that_two_modules_have_is_that_of_the_module() -> None:
    assert spec("srcc", "paired_comparison").counts == ("n_images",) and spec("srcc", "softmax_iqa").counts == ("n",)
    with pytest.raises(KeyError, match="'acuracy'"):
        spec("acuracy")


def _stated(cell: str) -> tuple[float | None, float | None, bool | None]:
    """Range and direction in a card's words."""
    ends = re.search(r"(-?\d+) (?:to (\d+)|upwards)", cell)
    better = True if "higher is better" in cell else False if "lower is better" in cell else None
    if ends is None:
        return (0.0, 1.0, better) if "shares" in cell else (None, None, better)
    return float(ends[1]), float(ends[2]) if ends[2] else math.inf, better


def _card_rows(module: str) -> Iterator[tuple[list[str], str]]:
    """The keys and the range of each row of a card's table of outputs; those of a dimension by their whole key."""
    for line in section(module, "Output values").splitlines():
        if line.startswith("| ") and not line.startswith("| key"):
            keys, stated = line.split("|")[1:3]
            inner = "relevance." if keys.strip().startswith("&nbsp;") else ""
            yield [inner + key for key in re.findall(r"`([^`]+)`", keys)], stated


@pytest.mark.parametrize("module", NAMES)
def test_cards_state_range_and_direction_as_the_table_does(module: str) -> None:
    declared = {one.key: one for one in specs_of(module) if one.unit is not Unit.COUNT}
    seen = set()
    for keys, cell in _card_rows(module):
        for key in set(keys) & set(declared):
            low, high, better = _stated(cell)
            one = declared[key]
            assert (low, high, better) == (one.low, one.high, one.higher_is_better), key
            seen.add(key)
    assert {key for key in declared if "." not in key} <= seen


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"accuracy": "0.5"}, "scores.accuracy is '0.5'; expected a number from 0 to 1"),
        ({"accuracy": True}, "accuracy is True"),
        ({"srcc": -1.01}, "a number from -1 to 1"),
        ({"rmse_fitted": 10**400}, "a number of at least 0"),
        ({"n": -1}, "n is -1; expected a whole number of at least 0"),
        ({"n": 2.5}, "n is 2.5"),
        ({"accuracy_ci95": [0.9, 0.1]}, "the lower end first"),
        ({"sum_ci95": [0, 7]}, "[low, high], a number from 0 to 6"),
        ({"yes_no": 0.5}, "an object with mean, yes, no, all, n_yes, n_no"),
        ({"extraction": {"exact": 1}}, "an object with exact, declared, judge, random, unmatched, cut_off, "),
        ({"outcomes": {"cut_off": 1}}, "an object with cut_off, unfinished_reasoning, refused, unparseable"),
        ({"choice_distribution": {"predicted": {"A": 2}, "correct": {}}}, "A is 2; expected a number from 0"),
        ({"scores": {"pool": {"image": 101}}}, "scores.scores.pool.image is 101; expected a number from 0 to 100"),
        ({"fit_parameters": [1, 2, 3]}, "the four or five parameters of a logistic"),
        ({"fit_parameters": [1, 2, 3, None]}, "the four or five parameters of a logistic"),
        ({"by_type": {"what": {"accuracy": 2}}}, "scores.by_type.what.accuracy is 2; expected a number from 0 to 1"),
        ({"intervals": [1]}, "scores.intervals is [1]; expected an object"),
        ({"intervals": {"n": {"kind": "wilson", "units": 1}}}, "'n'; expected a score with an interval"),
        (
            {"intervals": {"accuracy": "wilson"}},
            "scores.intervals.accuracy is 'wilson'; expected a kind, one of wilson",
        ),
        ({"intervals": {"accuracy": {"kind": "wilson"}}}, "accuracy.units is None; expected a whole number"),
    ],
)
def test_scores_out_of_their_range_or_form_are_misfits(scores: dict[str, Any], expected: str) -> None:
    (found,) = misfits(scores)
    assert expected in found


def test_undefined_values_and_rounding_fit() -> None:
    scores = {"krcc": 1.0000000000000002, "srcc": None, "plcc": math.nan, "srcc_ci95": None, "plcc_ci95": [None, None]}
    assert list(misfits(scores)) == []
    assert list(misfits({"agreement": 7, "judge": "me"})) == [], "not declared here"


def test_values_as_text() -> None:
    values = {"accuracy": 0.12345, "score_cc": 12.345, "mean_score": 4.5, "n": 12345}
    assert [spec(key).shown(value) for key, value in values.items()] == ["12.35 %", "12.35 %", "4.500", "12,345"]
    assert spec("accuracy").shown(None) == "" and spec("accuracy").shown(math.nan) == "undefined"
