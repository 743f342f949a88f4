import pytest

from eyechart.evaluators.results.served import is_served_name, judge_served_caveat, served_caveat, unconfirmed_names


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o", "gpt-4o-2024-11-20"),
        ("gpt-4", "gpt-4-0613"),
        ("claude-sonnet-4", "claude-sonnet-4-20250514"),
        ("mistral-large-latest", "mistral-large-2411"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen/qwen2.5-vl-7b-instruct"),
        ("org/model", "org/model@main"),
    ],
)
def test_the_same_name_a_dated_one_and_a_revision_are_what_was_asked_for(asked, served):
    assert is_served_name(asked, served)


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("no/such-model", "tiny-f32.gguf"),
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4o", "gpt-4o-mini-2024-07-18"),
        ("gpt-4o-2024-11-20", "gpt-4o-2024-08-06"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("qwen2-vl", "qwen2-vl-7b"),
        ("qwen2-vl", "qwen2-vl-72"),
        ("model", "other/model"),
        ("model", ""),
        ("", "model"),
    ],
)
def test_other_names_are_not(asked, served):
    assert not is_served_name(asked, served)


def test_a_confirmed_name_is_no_caveat():
    model = {"name": "no/such-model", "served": ["tiny-f32.gguf"]}
    assert "answered as 'tiny-f32.gguf', but 'no/such-model' was requested" in served_caveat({"model": model})
    assert served_caveat({"model": {**model, "served_name": "tiny-f32.gguf"}}) == ""
    other = {"model": {**model, "served_name": "large.gguf"}}
    assert unconfirmed_names(other) == ["tiny-f32.gguf"], "a name that is confirmed and not served confirms nothing"


@pytest.mark.parametrize("settings", [{}, {"model": None}, {"model": {"served": 5}}, {"model": {"name": "m"}}], ids=str)
def test_results_without_served_names_have_none_unconfirmed(settings):
    assert unconfirmed_names(settings) == [] and served_caveat(settings) == ""


@pytest.mark.parametrize(
    ("judge", "caveat"),
    [
        ({}, ""),
        ({"name": "lexical"}, ""),
        ({"name": "gpt-4o", "served": ["gpt-4o-2024-11-20"]}, ""),
        (
            {"name": "gpt-4o", "served": ["gpt-4o", "tiny.gguf"]},
            "The judge's server answered as 'tiny.gguf', but 'gpt-4o' was requested.",
        ),
    ],
    ids=str,
)
def test_a_judge_that_answers_under_another_name_is_told_of(judge, caveat):
    assert judge_served_caveat(judge) == caveat
