import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.commands.arguments import parse_pairs


def test_values_are_json_and_else_text():
    given = ["rounds=3", "blind=true", "shuffle_seed=null", "prompt=answer-mark", "words=a=b", "empty="]
    assert parse_pairs("--set", given) == {
        "rounds": 3,
        "blind": True,
        "shuffle_seed": None,
        "prompt": "answer-mark",
        "words": "a=b",
        "empty": "",
    }


@pytest.mark.parametrize("given", [["rounds"], ["rounds=1", "rounds=2"]])
def test_a_value_without_a_name_and_a_name_given_twice_are_refused(given):
    with pytest.raises(UsageError, match=r"--set 'rounds.*' is not NAME=VALUE, or gives NAME twice"):
        parse_pairs("--set", given)
