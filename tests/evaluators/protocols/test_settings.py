"""Settings of protocols: what help texts say of them, and which values are taken."""

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.protocols.settings import Setting, list_settings, with_settings
from eyechart.evaluators.tasks import TASKS, get_task


def change(task, **given):
    return with_settings(get_task(task).protocol, given, task)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_setting_has_a_type_and_a_meaning(task):
    settings = list_settings(task.protocol)
    assert "max_new_tokens" in {one.name for one in settings}
    for one in settings:
        assert one.type and "<" not in one.type and one.meaning.endswith("."), one
        length = {"max_new_tokens": task.protocol.reply_length}
        assert one.default == length.get(one.name, getattr(task.protocol, one.name))


def test_types_are_named_as_they_are_given():
    result = {
        setting.name: setting
        for name in ("mmbench/en", "q_bench/assessment")
        for setting in list_settings(get_task(name).protocol)
    }
    assert {name: one.type for name, one in result.items()} == {
        "prompt": "default | numerical",
        "max_new_tokens": "whole number",
        "rounds": "whole number",
        "blind": "true | false",
        "grade_open_answers": "true | false",
        "early_stop": "true | false",
        "exclude_blind_solved": "folder",
        "human_labels": "file",
        "extraction": "declared | strict",
        "fallback": "wrong | random",
        "inference": "logits | top-token",
        "word_pair": "text",
        "temperature": "number",
        "ties": "exact | paper-code",
    }
    assert result["max_new_tokens"].default == 32
    assert "blind" in {setting.name for setting in list_settings(change("mmbench/en", blind=True))}
    assert result["temperature"] == Setting("temperature", "number", 100.0, "Divides the logits before the softmax.")


@pytest.mark.parametrize(
    ("task", "name", "value"),
    [
        ("q_bench/perception", "max_new_tokens", 4096),
        ("q_bench/perception", "shuffle_seed", 0),
        ("q_bench/perception", "shuffle_seed", None),
        ("q_bench/perception", "prompt", "answer-mark"),
        ("q_bench/assessment", "temperature", 2),
        ("q_bench/assessment", "word_pair", "high/low"),
        ("mmbench/en", "early_stop", False),
        ("two_afc/coarse", "aggregator", "mle_ridge"),
    ],
)
def test_an_allowed_value_changes_one_setting_and_the_result_names_it(task, name, value):
    changed = change(task, **{name: value})
    before, after = get_task(task).protocol.settings(), changed.settings()
    named = "prompt_id" if name == "prompt" else name
    assert getattr(changed, name) == value
    assert {key for key in after if after[key] != before[key]} <= {named}
    assert after[named] == (f"{before[named]}/{value}" if name == "prompt" else value)


@pytest.mark.parametrize(
    ("task", "name", "values"),
    [
        ("q_bench/perception", "max_new_tokens", (0, 1.5, True, "64")),
        ("q_bench/perception", "shuffle_seed", (-1, True, "7")),
        ("q_bench/assessment", "temperature", (0, -1, True, "2", float("nan"), float("inf"))),
        ("q_bench/assessment", "word_pair", (3,)),
        ("mmbench/en", "blind", (1, "true", "yes", None)),
        ("mmbench/en", "early_stop", ("no",)),
        ("mmbench/en", "fallback", ("randm",)),
        ("q_bench/perception", "prompt", (3,)),
        ("mmbench/en", "exclude_blind_solved", (3,)),
        ("mmbench/en", "human_labels", (3,)),
    ],
)
def test_any_other_value_is_refused_by_name(task, name, values):
    for value in values:
        with pytest.raises(UsageError) as caught:
            change(task, **{name: value})
        assert str(caught.value).startswith(f"{task}: {name}: ") and repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("task", "given", "message"),
    [
        ("q_bench/perception", {"prompt": "answer_mark"}, "unknown value 'answer_mark' of prompt; did you mean"),
        ("q_bench/perception", {"max_tokens": 3}, "'max_tokens' of q_bench/perception; did you mean 'max_new_tokens'"),
        ("q_bench/description", {"shuffle_seed": 1}, "unknown setting 'shuffle_seed' of q_bench/description"),
        # What a task or a run fixes is no setting.
        ("q_bench/perception", {"seed": 3}, "unknown setting 'seed' of q_bench/perception"),
    ],
)
def test_a_protocols_own_check_speaks_for_itself(task, given, message):
    with pytest.raises(UsageError, match=message) as caught:
        change(task, **given)
    assert "Value error" not in str(caught.value)


@pytest.mark.parametrize(
    ("task", "given", "unused"),
    [
        # Even where it is the default: who writes it thinks that it matters.
        ("q_bench/perception", {"inference": "closed-set", "rounds": 5}, "rounds"),
        ("q_bench/assessment", {"max_new_tokens": 4}, "max_new_tokens"),
        ("q_bench/assessment", {"prompt": "numerical", "ties": "paper-code"}, "ties"),
        ("q_bench/assessment", {"inference": "top-token", "temperature": 2.0}, "temperature"),
    ],
)
def test_a_setting_without_effect_is_refused_and_not_in_results(task, given, unused):
    with pytest.raises(UsageError, match=f"{unused}=.* has no effect on {task} with its other settings"):
        change(task, **given)
    others = {name: value for name, value in given.items() if name != unused}
    assert unused not in change(task, **others).settings()
