"""Settings of protocols; descriptions on judges whose scores are known; empty, endless and nonsensical replies."""

from collections.abc import Callable
from typing import Any

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.protocols.settings import Setting, list_settings, with_settings
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import TASKS, get_task
from tests.evaluators import running


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
    types = {
        "prompt": "default | numerical",
        "max_new_tokens": "whole number",
        "blind": "true | false",
        "exclude_blind_solved": "folder",
        "human_labels": "file",
        "word_pair": "text",
    }
    assert {name: result[name].type for name in types} == types
    assert result["temperature"] == Setting("temperature", "number", 100.0, "Divides the logits before the softmax.")


@pytest.mark.parametrize(
    ("task", "name", "value"),
    [
        ("q_bench/perception", "shuffle_seed", None),
        ("q_bench/perception", "prompt", "answer-mark"),
        ("q_bench/assessment", "temperature", 2),
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
        ("q_bench/assessment", "temperature", (0, -1, True, "2", float("nan"), float("inf"))),
        ("mmbench/en", "blind", (1, "true", None)),
        ("mmbench/en", "fallback", ("randm",)),
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
        ("q_bench/assessment", {"prompt": "numerical", "ties": "paper-code"}, "ties"),
        ("q_bench/assessment", {"inference": "top-token", "temperature": 2.0}, "temperature"),
    ],
)
def test_a_setting_without_effect_is_refused_and_not_in_results(task, given, unused):
    with pytest.raises(UsageError, match=f"{unused}=.* has no effect on {task} with its other settings"):
        change(task, **given)
    others = {name: value for name, value in given.items() if name != unused}
    assert unused not in change(task, **others).settings()


GOLDEN = ["The image is dark and noisy.", "A sharp image with vivid colors.", "It is blurry.", ""]


@pytest.fixture
def described(make_picture):
    """Four pictures, three with a golden text."""
    rows = ({"id": f"d{i}", "image": make_picture(i), "description": text} for i, text in enumerate(GOLDEN))
    return running.dataset(rows)


def describe(dataset, **given):
    return running.run("q_bench/description", lambda messages: "It is dark.", dataset, **given)


def test_a_row_without_a_golden_text_is_asked_and_kept_but_not_scored(described):
    result = describe(described)
    assert result.scores["n"] == 3 and result.scores["without_reference"] == 0
    assert [(item.id, item.reason) for item in result.left_out] == [("d3", "its answer is private")]
    assert [line.text for line in result.items] == ["It is dark."] * 4
    assert [line.label for line in result.items] == [*GOLDEN[:3], None]


def test_judged_scores_go_to_the_rows_that_they_are_of(described):
    """The second row's rounds fail in one dimension; the first has no golden text."""

    def judge(messages, n):
        told = str(messages)
        if "vivid" in told:
            return ["nothing to say"] * n
        return ["Score: 2"] * n if "blurry" in told else ["Score: 0"] * n

    golden = ["", GOLDEN[1], GOLDEN[2], GOLDEN[0]]
    result = describe(described.remove_columns("description").add_column("description", golden), judge=judge, rounds=2)
    scores = [(item.completeness, item.preciseness, item.relevance) for item in result.items]
    # Relevance is judged without the golden text.
    assert scores == [(None, None, None), (None, None, 0.0), (2.0, 2.0, 0.0), (0.0, 0.0, 0.0)]
    assert result.scores["rounds"] == 2


N = 6
REPLIES = {
    "nothing": "",
    "10,000 tokens": "noise " * 10_000,
    "control characters": "\x00\x07\x1b[2J\u202e",
    "a letter beyond the options": "X",
}
UNREAD: dict[str, tuple[dict[str, Any], Callable[[TaskResult], Any]]] = {
    "q_bench/perception": ({}, lambda result: result.scores["extraction"]["unmatched"] * N),
    "mmbench/en": ({}, lambda result: result.scores["choice_distribution"]["predicted"]["none"] * N),
    "ql_bench/single": ({}, lambda result: result.scores["unmatched"]),
    "q_bench/assessment": ({"prompt": "numerical"}, lambda result: result.diagnostics["unread"]),
    "two_afc/coarse": ({}, lambda result: result.scores["draw_rate"] * N),
}


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")
@pytest.mark.parametrize("task", UNREAD)
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_reply_that_says_nothing_is_counted_and_kept(task: str, reply: str) -> None:
    settings, unread = UNREAD[task]
    data = load_data(get_task(task), DataRequest(is_mini=True, limit=N))
    result = running.run(task, lambda messages: reply, data, **settings)
    assert unread(result) == pytest.approx(N)
    assert {(item.text, getattr(item, "choice", None)) for item in result.items} == {(reply, None)}
    if task == "q_bench/assessment":
        assert result.scores is None and not result.complete and len(result.left_out) == N
    else:
        scores = result.scores or {}
        right = [scores[key] for key in ("accuracy", "circular_accuracy", "score_cc", "accuracy_all") if key in scores]
        assert right == [0.0]
