import pytest
import yaml
from hypothesis import given, settings, strategies

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.hub_cards.model_card.card import BEGIN, END, merged_card
from eyechart.hub_cards.model_card.entries import is_ours
from eyechart.hub_cards.model_card.front_matter import split_card, with_results


def entry(value: float, task: str = "q_bench/perception (eyechart)") -> dict:
    return {
        "task": {"type": "image-text-to-text", "name": task},
        "dataset": {"name": "X", "type": "x"},
        "metrics": [{"type": "accuracy", "value": value}],
    }


OTHERS = """\
# licence of the weights
license: mit   # not of the data
model-index:
- name: vlm
  results:
    # measured by hand
    - task: {type: text-generation}
      dataset:
        name: "Wiki"   # the small one
        type: wiki
      metrics:
        - {type: ppl, value: 10.50}
    # the last one
    - task:
        type: other
      dataset: {name: Y, type: y}
      metrics:
        - type: acc
          value: 1e-3
          name: |
            # no comment
            of two lines
tags: [a, 'b']   # two
"""


def test_entries_are_added_and_replaced_and_what_is_around_the_index_stays() -> None:
    once = with_results(OTHERS, "vlm", [entry(0.5)], is_ours)
    assert once.startswith(OTHERS.partition("- name: vlm")[0]) and once.endswith("\ntags: [a, 'b']   # two\n")
    results = yaml.safe_load(once)["model-index"][0]["results"]
    assert [result["task"]["type"] for result in results] == ["text-generation", "other", "image-text-to-text"]
    twice = with_results(once, "vlm", [entry(0.25), entry(1.0, "mmbench/en (eyechart)")], is_ours)
    results = yaml.safe_load(twice)["model-index"][0]["results"]
    assert [result["metrics"][0]["value"] for result in results[2:]] == [0.25, 1.0]
    assert with_results(twice, "vlm", [entry(0.5)], is_ours) == once


@pytest.mark.parametrize(
    ("metadata", "kept"),
    [
        ("", ""),
        ("license: mit # here", "license: mit # here\n"),
        ("license: mit\nmodel-index: []\n# end\n", "license: mit\n"),
        ("license: mit\nmodel-index:\n- name: vlm\n  results: []\n# end\n", "license: mit\n"),
        (
            "model-index: [{name: vlm, results: [{task: {type: t}, dataset: {}, metrics: []}]}]\nz: 1 # one\n",
            "z: 1 # one",
        ),
        ("{license: mit, tags: [a]}", ""),
        ("a: &x [1]\nb: *x\nmodel-index:\n-\n  name: vlm\n  results:\n  -\n    task: {type: t}\n", "b: *x\n"),
        ("model-index:\n- results:\n  - task: {type: t}\n  name: vlm\n", "- results:\n"),
    ],
)
def test_other_styles_lose_no_value(metadata: str, kept: str) -> None:
    before = yaml.safe_load(metadata) or {}
    merged = with_results(metadata, "vlm", [entry(0.5)], is_ours)
    assert kept in merged
    after = yaml.safe_load(merged)
    old = [result for model in before.get("model-index") or [] for result in model["results"]]
    assert after["model-index"] == [{"name": "vlm", "results": [*old, entry(0.5)]}]
    assert {**after, "model-index": 0} == {**before, "model-index": 0}
    assert with_results(merged, "vlm", [entry(0.5)], is_ours) == merged


def test_of_several_models_the_one_of_the_name_gets_the_entries() -> None:
    metadata = "model-index:\n- name: a\n  results:\n  - task: 1\n- name: vlm\n  results:\n  - task: 2\n"
    for name, place in (("vlm", 1), ("b", 0)):
        index = yaml.safe_load(with_results(metadata, name, [entry(0.5)], is_ours))["model-index"]
        assert [len(model["results"]) for model in index] == [1 + (place == number) for number in range(2)]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("a: [", "are not valid YAML"),
        ("- a", "expected `key: value` lines"),
        ("model-index: {name: x}", "expected a list of models"),
        ("model-index: [{name: x, results: 3}]", "expected a list of models"),
        ("model-index: [x]", "Correct or remove it"),
    ],
)
def test_metadata_that_cannot_be_read_are_refused(metadata: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        with_results(metadata, "vlm", [entry(0.5)], is_ours)


@pytest.mark.parametrize("text", ["", "# Only a body\n", "---\nnever closed\n", "\n---\n\n---\nbody", "---\na: 1\n---"])
def test_a_card_in_three_is_the_card(text: str) -> None:
    assert "".join(split_card(text)) == text


def test_line_ends_and_byte_order_marks_stay() -> None:
    card = "---\nlicense: mit\n---\n\n# Model\n"
    plain = merged_card(card, "vlm", [entry(0.5)], "## Section")
    assert plain.startswith("---\nlicense: mit\nmodel-index:\n") and f"# Model\n\n{BEGIN}\n## Section\n{END}\n" in plain
    pairs = merged_card("\ufeff" + card.replace("\n", "\r\n"), "vlm", [entry(0.5)], "## Section")
    assert pairs == "\ufeff" + plain.replace("\n", "\r\n")


def test_a_second_section_takes_the_place_of_the_first() -> None:
    once = merged_card("# Model\n", "vlm", [], "first")
    assert once == f"# Model\n\n{BEGIN}\nfirst\n{END}\n"
    assert merged_card(once + "\nafter\n", "vlm", [], "second") == f"# Model\n\n{BEGIN}\nsecond\n{END}\n\nafter\n"


def test_an_empty_card_gets_metadata_and_section() -> None:
    made = merged_card("", "vlm", [entry(0.5)], "text")
    before, metadata, rest = split_card(made)
    assert before == "---\n" and yaml.safe_load(metadata)["model-index"][0]["name"] == "vlm"
    assert rest == f"---\n\n{BEGIN}\ntext\n{END}\n"


@pytest.mark.parametrize("body", [BEGIN, END, f"{END}{BEGIN}", f"{BEGIN}{END}{END}"])
def test_marks_that_were_edited_are_refused(body: str) -> None:
    with pytest.raises(DataError, match="expected one of each, in this order, or none"):
        merged_card(f"# Model\n{body}\n", "vlm", [], "text")


_VALUES = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.text(max_size=12),
    lambda inner: (
        strategies.lists(inner, max_size=3) | strategies.dictionaries(strategies.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=50)
@given(
    strategies.dictionaries(strategies.text(max_size=6), _VALUES, max_size=4),
    strategies.lists(_VALUES, max_size=3),
    strategies.sampled_from([None, False, True]),
    strategies.integers(0, 4),
)
def test_whatever_the_metadata_hold_is_kept(others: dict, results: list, flow: bool | None, place: int) -> None:
    items = list(others.items())
    data = dict([*items[:place], ("model-index", [{"name": "vlm", "results": [*results, entry(0.1)]}]), *items[place:]])
    metadata = yaml.safe_dump(data, sort_keys=False, default_flow_style=flow, allow_unicode=True)
    # What was written is not always what is read: the writer takes no care of all line ends.
    data = yaml.safe_load(metadata)
    data["model-index"][0]["results"][-1] = entry(0.5)
    merged = yaml.safe_load(with_results(metadata, "vlm", [entry(0.5)], is_ours))
    assert merged == data
    assert list(merged) == list(data)
