import pytest

from eyechart.evaluators.results.sources import is_served_name, served_notes, unconfirmed_names


@pytest.mark.parametrize(
    ("asked", "served", "is_same"),
    [
        ("gpt-4o", "gpt-4o", True),
        ("gpt-4o", "gpt-4o-2024-11-20", True),
        ("gpt-4", "gpt-4-0613", True),
        ("claude-sonnet-4", "claude-sonnet-4-20250514", True),
        ("mistral-large-latest", "mistral-large-2411", True),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen/qwen2.5-vl-7b-instruct", True),
        ("org/model", "org/model@main", True),
        ("no/such-model", "tiny-f32.gguf", False),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", False),
        ("gpt-4o-2024-11-20", "gpt-4o-2024-08-06", False),
        ("gpt-4o-2024-11-20", "gpt-4o", False),
        ("qwen2-vl", "qwen2-vl-7b", False),
        ("qwen2-vl", "qwen2-vl-72", False),
        ("model", "other/model", False),
        ("model", "", False),
        ("", "model", False),
    ],
)
def test_the_same_name_a_dated_one_and_a_revision_are_what_was_asked_for(asked, served, is_same):
    assert is_served_name(asked, served) is is_same


MODEL = {"name": "no/such-model", "served": ["tiny-f32.gguf"]}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"model": None}, []),
        ({"model": {"served": 5}}, []),
        ({"model": {"name": "m"}}, []),
        ({"model": MODEL}, [("served", ["tiny-f32.gguf"])]),
        ({"model": MODEL | {"served_name": "tiny-f32.gguf"}}, []),
        # A name that is confirmed and not served confirms nothing.
        ({"model": MODEL | {"served_name": "large.gguf"}}, [("served", ["tiny-f32.gguf"])]),
        ({"judge": {"name": "lexical"}}, []),
        ({"judge": {"name": "gpt-4o", "served": ["gpt-4o-2024-11-20"]}}, []),
        ({"judge": {"name": "gpt-4o", "served": ["gpt-4o", "tiny.gguf"]}}, [("judge_served", ["tiny.gguf"])]),
    ],
    ids=str,
)
def test_names_that_were_neither_requested_nor_confirmed_are_noted(settings, expected):
    assert [(note.code, note.values["served"]) for note in served_notes(settings)] == expected
    assert unconfirmed_names(settings) == [name for code, names in expected if code == "served" for name in names]
