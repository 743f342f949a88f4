"""What every metric module promises, checked on the examples that its card shows as JSON."""

import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets
import evaluate
import numpy as np
import pytest

import eyechart.metrics
from eyechart.metrics import cards, load, space
from eyechart.metrics.columns import check_columns
from eyechart.metrics.scoring.choices.self_awareness import OUTCOMES
from eyechart.metrics.scoring.errors import InputError, ScoringWarning, SmallSampleWarning
from eyechart.metrics.scoring.inputs import check_groups, check_numbers
from tests.metrics import module_cases
from tests.metrics.test_cards import first_column

pytestmark = pytest.mark.datasets36
ROOT = Path(__file__).parents[2]
NAMES = eyechart.metrics.list_metrics()
CONFIGURATIONS = {name: space.CONFIGURATIONS.get(name, (None,)) for name in NAMES}
CASES = [(name, configuration, row) for name in NAMES for row, configuration in enumerate(CONFIGURATIONS[name])]


class Case:
    """A metric with the example of its card."""

    def __init__(self, name: str, configuration: str | None, row: int) -> None:
        self.name, self.configuration = name, configuration
        shown = cards.examples(name)
        assert len(shown) == len(CONFIGURATIONS[name]), "the card shows one JSON example per configuration"
        self.arguments: dict[str, Any] = shown[row]

    @cached_property
    def scores(self) -> str:
        """Those of the example, as text."""
        return _text(self.load().compute(**self.arguments))

    def load(self) -> evaluate.EvaluationModule:
        return eyechart.metrics.load(self.name, self.configuration)

    def columns(self) -> dict[str, list]:
        """The arguments that `evaluate` gathers."""
        return {name: self.arguments[name] for name in self.load()._feature_names()}

    def others(self) -> dict[str, Any]:
        return {name: value for name, value in self.arguments.items() if name not in self.columns()}


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(map(str, filter(None, case[:2]))))
def case(request: pytest.FixtureRequest) -> Case:
    return Case(*request.param)


@pytest.fixture(autouse=True)
def _examples_are_small() -> Iterator[None]:
    """A card's example may be too small for an interval or a fit; that a metric then warns is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoringWarning)
        yield


def _text(scores: dict[str, Any] | None) -> str:
    """Scores as text, because nan differs from itself."""
    return json.dumps(scores, sort_keys=True)


def test_scores_of_the_example(case: Case) -> None:
    scores = case.load().compute(**case.arguments)
    # Plain Python with text keys.
    assert _text(json.loads(_text(scores))) == _text(scores)
    assert any(name == "n" or name.startswith("n_") for name in scores)
    groups = {f"by_{name}" for name in case.arguments.get("groups", {})}
    assert all(scores[name] for name in groups)
    stated = first_column(case.name, "Output values")
    assert set(scores) <= {*stated, *groups} and (not groups or "by_<group>" in stated)
    assert case.scores == _text(scores)


def test_loads_from_the_checkout(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    monkeypatch.chdir(ROOT)
    metric = evaluate.load(f"metrics/{case.name}", case.configuration)
    assert metric.name == case.name
    assert _text(metric.compute(**case.arguments)) == case.scores


def test_a_checkout_that_is_not_installed_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "metrics", tmp_path / "metrics")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith(("eyechart.", "evaluate_modules."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "eyechart", None)
    for name in NAMES:
        with pytest.raises(ImportError, match=r"(?s)eyechart.*pip install -c constr"):
            evaluate.load(f"metrics/{name}")


def test_dataset_columns(case: Case) -> None:
    rows = datasets.Dataset.from_dict(case.columns())
    groups = datasets.Dataset.from_dict(case.arguments.get("groups", {}))
    arguments = case.others() | {name: rows[name] for name in rows.column_names}
    if "groups" in arguments:
        arguments["groups"] = {name: groups[name] for name in groups.column_names}
    assert _text(case.load().compute(**arguments)) == case.scores


def test_batches_equal_one_call(case: Case) -> None:
    metric, columns = case.load(), case.columns()
    n = len(columns["predictions"])
    assert n > 2
    for start, stop in ((0, 1), (1, 3), (3, n)):
        if start < stop:
            metric.add_batch(**{name: column[start:stop] for name, column in columns.items()})
    assert _text(metric.compute(**case.others())) == case.scores


def test_combine_modules_with_equal_inputs() -> None:
    by_features: dict[str, list[Case]] = {}
    for arguments in CASES:
        found = Case(*arguments)
        by_features.setdefault(str(found.load().features), []).append(found)
    for cases in by_features.values():
        modules = {f"{found.name}_{found.configuration}": found.load() for found in cases}
        combined = evaluate.combine(modules, force_prefix=True).compute(**cases[0].columns())
        for prefix, found in zip(modules, cases, strict=True):
            alone = found.load().compute(**cases[0].columns())
            assert _text({key: combined[f"{prefix}_{key}"] for key in alone}) == _text(alone)


def test_works_again_after_an_error(case: Case) -> None:
    metric = case.load()
    with pytest.raises(ValueError, match="empty"):
        metric.compute(**{name: [] for name in case.columns()})
    assert _text(metric.compute(**case.arguments)) == case.scores


_OTHER_PROCESS = """
import json
import sys

from eyechart.metrics import load

# Anything else that is printed goes where errors go, so that each line of the output is one result.
output, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    name, configuration, cache, arguments = json.loads(line)
    metric = load(name, configuration, num_process=2, process_id=1, experiment_id="two", cache_dir=cache)
    print(json.dumps(metric.compute(**arguments)), file=output, flush=True)
"""


@pytest.fixture(scope="module")
def other_process() -> Iterator[subprocess.Popen[str]]:
    """Computes the second half of all metrics, as starting it takes longer than what it computes."""
    command = [sys.executable, "-c", _OTHER_PROCESS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        yield other


@pytest.mark.slow
def test_two_processes(case: Case, tmp_path: Path, other_process: subprocess.Popen[str]) -> None:
    columns = case.columns()
    first, second = ({name: column[part] for name, column in columns.items()} for part in (slice(2), slice(2, None)))
    other_process.stdin.write(json.dumps([case.name, case.configuration, str(tmp_path), second]) + "\n")
    other_process.stdin.flush()
    shared = {"num_process": 2, "process_id": 0, "experiment_id": "two", "cache_dir": str(tmp_path)}
    main = eyechart.metrics.load(case.name, case.configuration, **shared)
    assert _text(main.compute(**first)) == _text(case.load().compute(**columns))
    assert json.loads(other_process.stdout.readline()) is None


def test_arguments_by_row_are_refused_with_two_processes(case: Case) -> None:
    metric = case.load()
    metric.num_process = 2
    per_row = [name for name, value in case.others().items() if isinstance(value, list | dict)]
    for name in per_row:
        with pytest.raises(ValueError, match=f"{name} cannot be used with num_process > 1"):
            metric.compute(**case.columns(), **{name: case.arguments[name]})


@pytest.mark.parametrize("name", module_cases.CASES)
def test_scores_follow_from_the_items(name: str) -> None:
    module, given, scores_of, settings = module_cases.CASES[name]
    whole = dict(module_cases.computed(name))
    items = whole.pop("items")
    assert _text(whole) == _text(eyechart.metrics.load(module).compute(**given))
    assert {len(column) for column in items.values()} == {len(given["predictions"])}
    stored = json.loads(json.dumps(items))
    assert stored == items and "nan" not in json.dumps(items).lower(), "plain values, and None for nothing"
    assert _text(scores_of(stored, given, **settings)) == _text(whole)


def test_items_by_hand() -> None:
    def items(name: str) -> dict[str, list[Any]]:
        return module_cases.computed(name)["items"]

    assert items("choice_accuracy, judge") == {
        "choice": ["A", "B", "C", None, None, "B"],
        "step": ["judge", "judge", "judge", "unparseable", "unparseable", "judge"],
        "correct": [True, True, True, False, False, True],
        "judge_failed_rounds": [3, 3, 3, 5, None, 3],
    }
    assert items("circular_eval")["circular_correct"] == [True, True, False, False, False, False]
    judged = items("self_awareness, judge")
    assert judged["forced_choice"][:5] == [None, "A", "B", None, "C"]
    assert judged["outcome"] == [OUTCOMES[place] for place in (0, 3, 2, 2, 2, 4, 4)]
    described = items("judge_description")
    assert described["completeness"] == [4 / 3, None, 0.0, None, 4 / 3]
    assert described["rounds"][1] is None and described["rounds"][0][0] == [1, None, 1, 2, None]
    assert described["empty_prediction"] == [False, None, True, False, False]
    assert items("judge_answer")["exact_match"] == [False, None, False, False, True]


def test_a_question_without_all_its_passes_is_dropped_in_every_row() -> None:
    given = {"predictions": ["x", "y"], "references": ["A", "A"], "choices": [["x", "y"], ["y", "x"]]}
    found = eyechart.metrics.load("circular_eval").compute(
        **given, question_ids=["p", "q"], rotations=[0, 0], missing="drop", return_items=True
    )
    assert found["items"]["circular_correct"] == [None, None] and found["dropped"] == 2


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"'choise_accuracy'.*Did you mean 'choice_accuracy'"):
        eyechart.metrics.load("choise_accuracy")


_TEXT, _NUMBER = datasets.Value("string"), datasets.Value("float64")
_FEATURES = {
    "texts": _TEXT,
    "options": datasets.Sequence(_TEXT),
    "ids": datasets.Value("large_string"),
    "places": datasets.Value("int64"),
    "scores": _NUMBER,
    "logits": datasets.Sequence(_NUMBER),
}
_SOUND: dict[str, Any] = {
    "texts": ["a", ""],
    "options": [["x", "y"], ("z",)],
    "ids": ["p", None],
    "places": [0, np.int64(1)],
    "scores": [1, np.float32(2.5)],
    "logits": [[1.0, 2], np.array([1.0, float("nan")])],
}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"ids": [1, 2], "places": [0.0, 1.0]},
        {"scores": np.array([1.0, 2.0], dtype=np.float16)},
        {"logits": np.ones((2, 2))},
        {"options": [[], ["x"]]},
        {"places": ["0", "1 "], "scores": ["2.82 ", "nan"], "logits": [["1.5", 2], [1, 2]]},
        {name: [] for name in _SOUND},
    ],
)
def test_sound(given: Mapping[str, Any]) -> None:
    assert list(check_columns(_SOUND | given, _FEATURES)) == list(_SOUND)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"texts": "ab"}, "texts must be a list .* it is 'ab'"),
        ({"places": [0]}, "places has 1 rows and texts has 2; row 1 is the first without a partner"),
        ({"texts": [None, "a"]}, r'texts\[0\] is None; it must be a string \(use "" for an empty text\)'),
        ({"texts": ["a", {"error": "no reply"}]}, r"texts\[1\] is {'error': 'no reply'}; it must be a string"),
        ({"options": [["x"], "xy"]}, r"options\[1\] is 'xy'; it must be a list of strings"),
        ({"options": [["x"], ["x", 1]]}, r"options\[1\] is \['x', 1\]; it must be a list of strings"),
        ({"ids": ["p", 1.5]}, r"ids\[1\] is 1.5; it must be a string or a whole number"),
        ({"places": [0, "1.5"]}, r"places\[1\] is '1.5'; it must be a whole number"),
        ({"scores": [1, "good"]}, r"scores\[1\] is 'good'; it must be a number"),
        ({"logits": [[1, 2], [1, "a"]]}, r"logits\[1\] is \[1, 'a'\]; it must be a list of numbers"),
    ],
)
def test_malformed(given: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_columns(_SOUND | given, _FEATURES)


def test_nothing_is_kept_of_a_refused_batch() -> None:
    metric = load("softmax_iqa", "scores")
    metric.add_batch(predictions=[1.0, 2.0], references=[1.0, 2.0])
    for wrong in ([3.0], ["low", 4.0]):
        with pytest.raises(InputError, match="references"):
            metric.add_batch(predictions=[3.0, 4.0], references=wrong)
    metric.add(prediction=3.0, reference=3.0)
    with pytest.raises(InputError, match=r"references\[0\] is 'high'"):
        metric.add(prediction=3.0, reference="high")
    metric.add_batch(predictions=[4.0, 7.0], references=[4.0, 5.0])
    with pytest.warns(SmallSampleWarning):
        assert metric.compute()["n"] == 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_numbers("x", "12"), "x"),
        (lambda: check_numbers("x", [1, [2]]), "x"),
        (lambda: check_numbers("x", [1, 2, "three"]), r"x\[2\] is 'three'"),
        (lambda: check_numbers("x", [[1, 2], None], columns=2), r"x\[1\] is None"),
        (lambda: check_numbers("x", [[1, 2], [1, np.nan]], columns=2), r"x\[1\] is \[1.0, nan\]"),
        (lambda: check_groups(["a"], 2), "groups must map"),
        (lambda: check_groups({"kind": "ab"}, 2), r"groups\['kind'\] must be a list"),
        (lambda: check_groups({"kind": ["a"]}, 2), r"groups\['kind'\] has 1 rows and predictions has 2; row 1"),
    ],
)
def test_numbers_and_groups_that_are_none(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
