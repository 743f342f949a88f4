"""What every metric module promises, checked on the examples that its card shows as JSON."""

import ast
import json
import math
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import evaluate
import pytest

import eyechart.metrics
from eyechart.metrics import cards, space
from eyechart.metrics.scoring.choices.self_awareness import OUTCOMES
from eyechart.metrics.scoring.errors import ScoringWarning
from eyechart.metrics.scoring.quality.scores import QualitySettings, quality_scores
from tests.metrics import module_cases

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

    def load(self) -> evaluate.EvaluationModule:
        return eyechart.metrics.load(self.name, self.configuration)

    def columns(self) -> dict[str, list]:
        """The arguments that `evaluate` gathers."""
        return {name: self.arguments[name] for name in self.load()._feature_names()}

    def others(self) -> dict[str, Any]:
        return {name: value for name, value in self.arguments.items() if name not in self.columns()}


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, filter(None, case[:2]))))
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
    for name in case.arguments.get("groups", {}):
        assert scores[f"by_{name}"]
    assert _text(case.load().compute(**case.arguments)) == _text(scores)


def test_loads_from_the_checkout(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    monkeypatch.chdir(ROOT)
    metric = evaluate.load(f"metrics/{case.name}", case.configuration)
    assert metric.name == case.name
    assert _text(metric.compute(**case.arguments)) == _text(case.load().compute(**case.arguments))


def test_a_checkout_that_is_not_installed_says_what_to_do(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "metrics", tmp_path / "metrics")
    code = f"""
import sys
import evaluate
sys.modules["eyechart"] = None
for name in {NAMES}:
    try:
        evaluate.load(f"metrics/{{name}}")
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(NAMES) and all("eyechart" in line and "pip install -c constr" in line for line in lines)


def test_dataset_columns(case: Case) -> None:
    rows = datasets.Dataset.from_dict(case.columns())
    groups = datasets.Dataset.from_dict(case.arguments.get("groups", {}))
    arguments = case.others() | {name: rows[name] for name in rows.column_names}
    if "groups" in arguments:
        arguments["groups"] = {name: groups[name] for name in groups.column_names}
    assert _text(case.load().compute(**arguments)) == _text(case.load().compute(**case.arguments))


def test_batches_equal_one_call(case: Case) -> None:
    metric, columns = case.load(), case.columns()
    n = len(columns["predictions"])
    assert n > 2
    for start, stop in ((0, 1), (1, 3), (3, n)):
        if start < stop:
            metric.add_batch(**{name: column[start:stop] for name, column in columns.items()})
    assert _text(metric.compute(**case.others())) == _text(case.load().compute(**case.arguments))


def test_combine(case: Case) -> None:
    alone = case.load().compute(**case.arguments)
    both = evaluate.combine({"first": case.load(), "second": case.load()}).compute(**case.arguments)
    assert _text(both) == _text({f"{prefix}_{key}": alone[key] for prefix in ("first", "second") for key in alone})


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
    assert _text(metric.compute(**case.arguments)) == _text(case.load().compute(**case.arguments))


@pytest.mark.slow
def test_two_processes(case: Case, tmp_path: Path, two_processes) -> None:
    columns = case.columns()
    halves = [{name: column[part] for name, column in columns.items()} for part in (slice(0, 2), slice(2, None))]
    main, other = two_processes(case.name, case.configuration, tmp_path, halves)
    assert _text(main) == _text(case.load().compute(**columns))
    assert other is None


def test_what_two_processes_cannot_gather(case: Case) -> None:
    metric = case.load()
    metric.num_process = 2
    per_row = [name for name, value in case.others().items() if isinstance(value, list | dict)]
    for name in per_row:
        with pytest.raises(ValueError, match=f"{name} cannot be used with num_process > 1"):
            metric.compute(**case.columns(), **{name: case.arguments[name]})


@pytest.mark.parametrize("name", NAMES)
def test_module_file(name: str) -> None:
    tree = ast.parse((ROOT / "metrics" / name / f"{name}.py").read_text(encoding="utf-8"))
    # `evaluate` 0.4.6 reads unindented imports line by line and takes the first module class that it finds.
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert node.lineno == node.end_lineno
    (module,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert ast.unparse(module.bases[-1]).startswith("evaluate.")
    (compute,) = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "_compute"]
    assert compute.args.kwarg is None and compute.args.vararg is None


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


def test_scores_given_as_they_are() -> None:
    given = module_cases.QUALITY | {"predictions": [math.sin(level) for level in range(24)]}
    whole = eyechart.metrics.load("softmax_iqa", "scores").compute(**given, return_items=True)
    items = whole.pop("items")
    assert items == {"quality_score": given["predictions"], "rank_score": given["predictions"]}
    settings = QualitySettings(resamples=20, seed=3)
    assert _text(quality_scores(items, given["references"], given["groups"], settings)) == _text(whole)


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
    assert items("circular_eval, judge")["step"] == ["exact"] * 3 + ["unparseable", "exact", "judge"]
    refused = items("self_awareness")
    assert refused["forced_choice"] == [None, "A", "B", None, None, None, None]
    assert refused["outcome"] == [OUTCOMES[place] for place in (0, 3, 2, 4, 4, 4, 4)]
    judged = items("self_awareness, judge")
    assert judged["forced_choice"][:5] == [None, "A", "B", None, "C"]
    assert judged["outcome"] == [OUTCOMES[place] for place in (0, 3, 2, 2, 2, 4, 4)]
    described = items("judge_description")
    assert described["completeness"] == [4 / 3, None, 0.0, None, 4 / 3]
    assert described["rounds"][1] is None and described["rounds"][0][0] == [1, None, 1, 2, None]
    assert described["empty_prediction"] == [False, None, True, False, False]
    assert described["finish_reason"] == ["length", "length", "stop", "refusal", None]
    assert items("judge_answer")["exact_match"] == [False, None, False, False, True]
    compared = items("paired_comparison")
    assert compared["choice"][0] is None and compared["correct"][0] is None and not compared["consistent"][0]


def test_a_question_without_all_its_passes_is_dropped_in_every_row() -> None:
    given = {"predictions": ["x", "y"], "references": ["A", "A"], "choices": [["x", "y"], ["y", "x"]]}
    found = eyechart.metrics.load("circular_eval").compute(
        **given, question_ids=["p", "q"], rotations=[0, 0], missing="drop", return_items=True
    )
    assert found["items"]["circular_correct"] == [None, None] and found["dropped"] == 2


def test_list() -> None:
    assert {"choice_accuracy", "softmax_iqa"} <= set(eyechart.metrics.list_metrics())
    assert "scoring" not in eyechart.metrics.list_metrics()


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match="'choise_accuracy'.*Did you mean 'choice_accuracy'"):
        eyechart.metrics.load("choise_accuracy")
