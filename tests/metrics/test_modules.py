"""What every metric module promises, checked on the examples that its card shows as JSON."""

import ast
import inspect
import json
import re
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
from eyechart.metrics.scoring.errors import ScoringWarning

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


def _first_column(card: str, heading: str) -> list[str]:
    """What a table of a card names in its first column."""
    part = card.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in part.splitlines() if line.startswith("|")]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize("name", NAMES)
def test_cards_describe_the_arguments(name: str) -> None:
    metric = eyechart.metrics.load(name)
    parameters = inspect.signature(metric._compute).parameters
    assert _first_column(cards.card(name), "Inputs") == list(parameters)
    required = {key for key, value in parameters.items() if value.default is value.empty}
    assert set(metric._feature_names()) >= required
    described = metric.inputs_description
    assert all(re.search(rf"^    (.*, )?{key}(, .*)? \(.+\): ", described, re.MULTILINE) for key in parameters)
    assert metric.description and metric.citation.startswith("@") and "metric.compute(" in described


def test_cards_describe_the_result(case: Case) -> None:
    outputs = _first_column(cards.card(case.name), "Output values")
    groups = {f"by_{name}" for name in case.arguments.get("groups", {})}
    assert set(case.load().compute(**case.arguments)) - groups <= set(outputs)
    assert not groups or "by_<group>" in outputs


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
