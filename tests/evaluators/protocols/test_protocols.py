"""Settings of protocols; descriptions on judges whose scores are known; empty, endless and nonsensical replies."""

from collections.abc import Callable
from typing import Any

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.protocols.settings import Setting, list_settings, with_settings
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.runs.table import score_table
from eyechart.evaluators.tasks import TASKS, get_task
from tests.evaluators import running
from tests.evaluators.running import notes
from tests.evaluators.table_rows import table_rows


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


# Descriptions

DIMENSIONS = ("completeness", "preciseness", "relevance")
GOLDEN = ["The image is dark and noisy.", "A sharp image with vivid colors.", "It is blurry.", ""]


@pytest.fixture
def described(make_picture):
    """Four pictures, three with a golden text."""
    rows = ({"id": f"d{i}", "image": make_picture(i), "description": text} for i, text in enumerate(GOLDEN))
    return running.dataset(rows)


def describe(dataset, model=lambda messages: "It is dark.", **given):
    return running.run("q_bench/description", model, dataset, **given)


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
    scores = [tuple(getattr(item, name) for name in DIMENSIONS) for item in result.items]
    assert scores == [(None, None, None), (None, None, 0.0), (2.0, 2.0, 0.0), (0.0, 0.0, 0.0)], (
        "relevance is judged without the golden text"
    )


def test_texts_that_a_judge_could_not_score_are_told(described):
    replies = iter(["nonsense"])
    result = describe(described, judge=lambda messages, n: [next(replies, "Score: 1")] * n)
    assert (result.scores["unscored"], result.scores["failed_rounds"]) == (1, 5)
    failed = notes(result)["judge_failed"]
    assert [failed[key] for key in ("failed", "rounds", "without_score", "asked")] == [5, 45, 1, None]
    assert not result.complete


def test_rounds_reach_the_judge_and_the_table_shows_sum_and_dimensions(described):
    asked = []

    def judge(messages, n):
        asked.append(messages[-1]["content"])
        return ["Score: 1"] * n

    result = describe(described, judge=judge, rounds=3)
    assert (result.scores["rounds"], result.scores["failed_rounds"], result.scores["template"]) == (3, 0, "q_bench")
    assert result.settings["judge"] == {"name": "judge"} and len(asked) == 9
    # Relevance is judged without the golden text.
    assert sum("vivid" in text for text in asked) == 2
    rows = {row["score"]: (row["value"], row["n"]) for row in table_rows(score_table([result]))}
    assert rows["sum (0 to 6)"] == ("3.000", "3")
    assert rows["  completeness"] == rows["  preciseness"] == rows["  relevance"] == ("1.000", "3")


# Replies that say nothing

N = 6
REPLIES = {
    "nothing": "",
    "blanks": " \n\t",
    "10,000 tokens": "noise " * 10_000,
    "control characters": "\x00\x07\x1b[2J\u202e",
    "another language": "画面偏暗,噪点很多。",
    "JSON": '{"answer": null}',
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


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_description_is_judged_as_the_text_that_it_is(reply: str) -> None:
    data = load_data(get_task("q_bench/description"), DataRequest(is_mini=True, limit=N))
    result = running.run("q_bench/description", lambda messages: reply, data)
    assert result.scores is not None and {item.text for item in result.items} == {reply}
    assert (result.scores["n"], result.scores["failed_rounds"]) == (N, 0)
    is_empty = not reply.strip()
    assert result.scores["empty_predictions"] == N * is_empty
    assert result.scores["sum"] == 0 if is_empty else 0 <= result.scores["sum"] <= 6


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_top_tokens_choose_no_words_that_they_do_not_say(reply: str) -> None:
    data = load_data(get_task("q_bench/assessment"), DataRequest(is_mini=True, limit=N))
    result = running.run("q_bench/assessment", lambda messages: reply, data, inference="top-token")
    ((token, share),) = result.diagnostics["top_tokens"].items()
    assert share == 1.0 and len(token) <= 40 and result.diagnostics["suggested_word_pair"] is None
