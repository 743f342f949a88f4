"""Multiple choice, closed-set inference and the evaluator's `compute` on models whose answers are known."""

import functools
from functools import partial

import datasets
import pytest

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, Backend, Loss, Response
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scoring.choices.reading import random_choice
from eyechart.metrics.scoring.errors import LostRoundsWarning
from tests.evaluators import running
from tests.evaluators.running import notes

TASK = "q_bench/perception"
run = partial(running.run, TASK)


def always(letter):
    return lambda messages: letter


def says(replies):
    """A model that gives one reply after the other."""
    left = iter(replies)
    return lambda messages: next(left)


def compute(model, data, **arguments):
    return evaluator(TASK).compute(model, data, **arguments)


def options_in(messages):
    text = "".join(part["text"] for part in messages[0]["content"] if part["type"] == "text")
    shown = text.split("following options: ")[1]
    return [part[3:] for part in shown.replace(" B. ", "|B. ").replace(" C. ", "|C. ").split("|")]


def test_compute_returns_the_metrics_scores_and_evaluates_timings(questions):
    result = compute(always("A"), questions)
    assert (result["accuracy"], result["random_guess"]) == pytest.approx((2 / 6, 1 / 3))
    assert result["by_question_type"]["how"]["n"] == 3
    assert {"total_time_in_seconds", "samples_per_second", "latency_in_seconds"} <= set(result)
    for metric in ("choice_accuracy", metrics.load("choice_accuracy")):
        assert compute(always("A"), questions, metric=metric)["accuracy"] == result["accuracy"]


def test_a_model_that_knows_the_answer_is_right_in_any_option_order(questions):
    right = {f"How is picture {i}? ": ["Good", "Fair", "Poor"][i % 3] for i in range(6)}

    def model(messages):
        return "ABC"[options_in(messages).index(right[messages[0]["content"][0]["text"]])]

    for seed in (None, 0, 1, 2):
        assert run(model, questions, shuffle_seed=seed).scores["accuracy"] == 1.0


def test_shuffled_orders_depend_on_the_question_and_not_on_the_visit(questions):
    def orders(dataset, seed):
        return {item.id: tuple(item.options) for item in run(always("A"), dataset, shuffle_seed=seed).items}

    assert orders(questions, 3) == orders(questions.select(range(5, -1, -1)), 3) != orders(questions, 4)
    assert len(set(orders(questions, 3).values())) > 1


def test_type_by_concern_is_a_breakdown_where_both_columns_are_there(questions):
    scores = run(always("A"), questions).scores
    assert set(scores["by_question_type_by_concern"]) == {"how, other", "what, other"}
    assert scores["by_question_type_by_concern"]["how, other"] == scores["by_question_type"]["how"]
    scores = run(always("A"), questions.remove_columns("concern")).scores
    assert {name for name in scores if name.startswith("by_")} == {"by_question_type"}


def test_prompt_failures_are_counted_overall_and_by_type(questions):
    replies = ["D. Excellent", "The answer is B.", "Excellent", "A", "", "Poor"]
    failed = run(says(replies), questions).diagnostics["prompt_failure"]
    assert failed == {
        **{"rate": 0.5, "failures": 3, "n": 6, "by_concern": {"other": {"rate": 0.5, "failures": 3, "n": 6}}},
        "by_question_type": {
            "how": {"rate": 1.0, "failures": 3, "n": 3},
            "what": {"rate": 0.0, "failures": 0, "n": 3},
        },
    }
    # They need no public answers.
    private = questions.map(lambda row: {"answer": ""})
    assert run(always("No idea"), private).diagnostics["prompt_failure"]["rate"] == 1.0


def test_a_judge_votes_five_times_on_replies_that_name_no_option(questions):
    asked = []

    def judge(messages, n):
        asked.append((messages, n))
        right = "Splendid" in messages[-1]["content"]
        return ["Score: 1" if right else "Score: 0"] * 3 + ["Score: 0", "hm"]

    result = run(says(["Splendid", "B", "Awful", "C", "Awful", "C"]), questions, judge=judge)
    assert result.scores["accuracy"] == pytest.approx(3 / 6)
    assert {name: share for name, share in result.scores["extraction"].items() if share} == {"exact": 0.5, "judge": 0.5}
    assert (result.scores["judge_template"], result.scores["rounds"]) == ("q_bench_vote", 5)
    assert (result.scores["judge_asked"], result.scores["judge_failed_rounds"]) == (3, 3)
    assert result.settings["judge"] == {"name": "judge"}
    assert [n for _, n in asked] == [5, 5, 5]
    assert "How is picture 0" in asked[0][0][-1]["content"] and "Good" in asked[0][0][-1]["content"]
    # Prompt failures are what the model said, whatever a judge makes of it.
    assert result.diagnostics["prompt_failure"]["rate"] == 0.5


def test_private_answers_give_no_score_but_keep_the_items(questions):
    private = questions.map(lambda row: {"answer": ""})
    result = run(always("B"), private)
    assert result.scores is None and notes(result)["private"]["items"] == 6
    assert [item.choice for item in result.items] == ["B"] * 6
    with pytest.raises(DataError, match="private"):
        compute(always("B"), private)
    mixed = questions.map(lambda row: {"answer": "" if row["id"] == "q0" else row["answer"]})
    result = run(always("B"), mixed)
    assert result.scores["n"] == 5
    assert [(item.id, item.reason) for item in result.left_out] == [("q0", "its answer is private")]


def test_columns_of_other_names_are_renamed_and_unknown_or_missing_ones_named(questions):
    renamed = questions.rename_column("answer", "label")
    assert compute(always("A"), renamed, label_column="label")["n"] == 6
    with pytest.raises(UsageError, match="did you mean 'label'"):
        compute(always("A"), renamed, label_column="lable")
    missing = r"missing column 'options' \(needed by q_bench/perception\); did you mean 'option'\? found: "
    with pytest.raises(UsageError, match=missing):
        compute(always("A"), questions.rename_column("options", "option"))


def test_the_hooks_of_evaluates_evaluator_work():
    task = evaluator(TASK)
    assert task.prepare_pipeline(always("A")).name.endswith("<lambda>")
    assert len(task.load_data("mini", split="dev")) == 180
    assert task.prepare_metric(None).name == "choice_accuracy"


class Model:
    """A model without its processor."""

    config = None

    def generate(self):
        raise AssertionError

    def __call__(self, messages):
        raise AssertionError


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": "llvisionqa", "subset": "nonsense"}, "unknown llvisionqa config 'nonsense'"),
        ({"data": None, "split": "dve"}, "did you mean 'dev'"),
        ({"model_or_pipeline": Model()}, "model_or_pipeline=Model is not supported"),
        ({"strategy": "bootstrap"}, "strategy"),
        ({"label_mapping": {"A": 0}}, "label_mapping"),
    ],
)
def test_arguments_that_cannot_hold_are_refused(questions, arguments, message):
    with pytest.raises(UsageError, match=message):
        evaluator(TASK).compute(**{"model_or_pipeline": always("A"), "data": questions, **arguments})


def test_unknown_tasks_and_bad_rows_are_named(questions):
    with pytest.raises(UsageError, match="did you mean 'q_bench/perception'"):
        evaluator("q_bench/percepton")
    with pytest.raises(DataError, match="'q0'"):
        run(always("A"), datasets.concatenate_datasets([questions, questions]))
    with pytest.raises(DataError, match=r"q2.*'D'"):
        run(always("B"), questions.map(lambda row: {"answer": "D" if row["id"] == "q2" else "A"}))


def test_items_say_by_which_step_an_answer_was_read(questions):
    asked = []

    def judge(messages, n):
        asked.append(messages)
        return ["1" if "second" in messages[-1]["content"] else "0"] * n

    def read(**options):
        done = run(says(["A", "the second one", "", "B. Fair", "nothing of these", "C"]), questions, **options)
        return done, [(item.choice, item.step, item.correct) for item in done.items]

    unread, right, wrong = (None, "unparseable", False), ("A", "exact", True), ("B", "exact", False)
    assert read()[1] == [right, unread, unread, wrong, unread, ("C", "exact", True)]
    done, steps = read(judge=judge)
    assert steps == [right, ("B", "judge", True), unread, wrong, (None, "judge", False), ("C", "exact", True)]
    assert done.scores["accuracy"] == pytest.approx(sum(correct for *_, correct in steps) / 6)
    assert len(asked) == done.scores["judge_asked"] == 2
    _, steps = read(fallback="random")
    assert [step for _, step, _ in steps] == ["exact", "random", "random", "exact", "random", "exact"]
    assert [steps[row][0] for row in (1, 2, 4)] == [random_choice(3, 0, f"q{row}") for row in (1, 2, 4)]


@pytest.mark.parametrize(
    ("extraction", "step", "accuracy"), [("declared", "declared", 2 / 6), ("strict", "unparseable", 0.0)]
)
def test_verbose_replies_are_read_as_the_result_says(questions, extraction, step, accuracy):
    reply = "B and C are too much for this picture. Therefore, the correct answer is (A)."
    done = run(always(reply), questions, **({} if extraction == "declared" else {"extraction": extraction}))
    assert done.settings["extraction"] == done.scores["extraction_mode"] == extraction
    assert {item.step for item in done.items} == {step}
    assert done.scores["accuracy"] == pytest.approx(accuracy) and done.scores["extraction"][step] == 1.0


def test_a_judge_that_talks_nonsense_leaves_an_incomplete_result(questions):
    def judged(replies, **options):
        model = says(["A", "Splendid", "Awful", "A", "Splendid", "C"])
        result = run(model, questions, judge=lambda messages, n: replies[:n], **options)
        about = notes(result).get("judge_failed", {})
        keys = ("failed", "rounds", "without_score", "asked", "become")
        return result, list(notes(result)), [about.get(key) for key in keys], result.complete

    result, codes, values, complete = judged(["As a language model"] * 5)
    assert result.scores["accuracy"] == pytest.approx(3 / 6) and not complete
    assert codes == ["judge_failed", "unparsed"] and values == [15, 15, 3, 3, "counted as incorrect"]
    _, codes, values, complete = judged(["hm"] * 5, fallback="random")
    assert codes == ["judge_failed"] and values[4] == "replaced by a random choice" and not complete
    _, codes, values, complete = judged(["1", "hm", "hm", "hm", "hm"])
    assert codes == ["judge_failed"] and values[:3] == [12, 15, 0] and complete
    assert judged(["1"] * 5)[1:] == ([], [None] * 5, True)


def test_what_a_judge_raises_is_told(questions):
    def broken(messages, n):
        raise ConnectionError("the judge's line is down")

    with pytest.warns(LostRoundsWarning, match='ConnectionError: "the judge\'s line is down"') as caught:
        result = run(always("Splendid"), questions, judge=broken)
    failed = notes(result)["judge_failed"]
    assert len(caught) == 1 and (failed["failed"], failed["rounds"], result.complete) == (30, 30, False)


def test_groups_may_be_numbers(questions):
    numbered = questions.remove_columns("question_type").add_column("question_type", [0, 1] * 3)
    scores = evaluator("q_bench/perception").compute(lambda messages: "A", numbered)
    assert {name: part["n"] for name, part in scores["by_question_type"].items()} == {"0": 3, "1": 3}


# Closed-set inference


class Losses(Backend):
    """A backend that knows the losses of options."""

    name = "losses"
    needs_images = True

    def __init__(self, of):
        self.of, self.asked = of, []

    def check(self, output_type):
        pass

    def settings(self):
        return {}

    def answer(self, requests):
        self.asked += requests
        for request in requests:
            yield Response(request, losses=tuple(self.of(request.id, option) for option in request.continuations))


def run_losses(questions, of):
    return running.run(TASK, Losses(of), questions, inference="closed-set")


def test_the_model_sees_no_options_and_is_asked_for_their_losses(questions):
    backend = Losses(lambda id, option: Loss(1.0, 1))
    running.run(TASK, backend, questions, inference="closed-set")
    first = backend.asked[0]
    assert first.prompt == ("How is picture 0? ", IMAGE) and first.prefill == "#Answer:"
    assert first.continuations == first.options == ("Good", "Fair", "Poor")


def test_the_option_of_the_lowest_loss_per_token_is_the_answer(questions):
    # Per token, Good is best (1.0); the sum of Poor is lower. Right answers are Good, Fair, Poor in turn.
    losses = {"Good": Loss(4.0, 4), "Fair": Loss(9.0, 3), "Poor": Loss(2.0, 1)}
    result = run_losses(questions, lambda id, option: losses[option])
    assert result.scores["accuracy"] == pytest.approx(2 / 6)
    assert result.scores["choice_distribution"]["predicted"]["A"] == 1.0
    item = result.items[0]
    assert (item.choice, item.losses, item.loss_tokens) == ("A", [4.0, 9.0, 2.0], [4, 3, 1])
    assert result.settings["inference"] == "closed-set" and result.variants == {}
    assert result.settings["prompt_id"].endswith("/closed-set") and result.settings["prefill"] == "#Answer:"


def test_of_equal_losses_the_first_option_counts_and_the_questions_are_counted(questions):
    result = run_losses(questions, lambda id, option: Loss(2.0 if id == "q0" or option == "Poor" else 3.0, 2))
    assert [item.choice for item in result.items] == ["A", "C", "C", "C", "C", "C"]
    assert result.diagnostics["equal_lowest_losses"] == 1


def test_of_options_with_the_same_text_the_correct_one_is_chosen(questions):
    repeated = questions.map(lambda row: {"options": ["Good", "Good", "Poor"], "answer": "B"})
    result = run_losses(repeated, lambda id, option: Loss(1.0 if option == "Good" else 2.0, 1))
    assert result.scores["accuracy"] == 1.0 and {item.choice for item in result.items} == {"B"}


def test_an_answer_file_has_the_release_s_letter_and_the_text_of_the_lowest_loss(questions):
    task = evaluator(TASK, settings={"inference": "closed-set", "shuffle_seed": 3})
    private = questions.map(lambda row: {"answer": ""})
    backend = Losses(lambda id, option: Loss(1.0 if option == "Fair" else 2.0, 1))
    result = task.run(backend, running.loaded(private))
    assert any(item.options != ["Good", "Fair", "Poor"] for item in result.items)
    assert [reply for _, reply in task.protocol.released(list(private), result.items)] == ["B. Fair"] * 6


def test_what_gives_no_losses_is_refused(tmp_path, questions):
    file = running.predictions(tmp_path, [{"id": "q0", "text": "A"}])
    for model in (lambda messages: "A", file):
        with pytest.raises(ModelError, match="losses of given continuations"):
            evaluator(TASK, settings={"inference": "closed-set"}).compute(model, questions)


@pytest.mark.parametrize("task", [TASK, "q_bench/perception_pairs"])
def test_the_tiny_models_losses_are_those_of_a_plain_loop(task):
    data = load_data(get_task(task), DataRequest(is_mini=True, limit=8))
    bound = evaluator(task, settings={"inference": "closed-set"})
    result = bound.run(bound.prepare_pipeline(), data)
    for item, row in zip(result.items, data.dataset, strict=False):
        totals, counts = plain_losses(row["question"], row["images"], row["options"])
        assert item.losses == pytest.approx(totals, abs=1e-3)
        assert item.loss_tokens == counts
        means = [total / count for total, count in zip(totals, counts, strict=True)]
        assert item.choice == "ABCD"[means.index(min(means))]
    assert result.scores["accuracy"] > result.scores["random_guess"]


def plain_losses(question, images, options):
    """Loss and number of tokens of each option behind `#Answer:`, one forward pass each."""
    import torch

    model, processor = tiny()
    content = [{"type": "text", "text": f"{question} "}, *({"type": "image"} for _ in images)]
    chat = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": [{"type": "text", "text": "#Answer:"}]},
    ]
    text = processor.apply_chat_template(chat, tokenize=False, continue_final_message=True)
    before = processor(text=text, images=images, return_tensors="pt")["input_ids"].shape[1]
    totals, counts = [], []
    for option in options:
        inputs = processor(text=f"{text} {option}", images=images, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**inputs).logits[0, before - 1 : -1]
        tokens = inputs["input_ids"][0, before:]
        totals.append(torch.nn.functional.cross_entropy(logits, tokens, reduction="sum").item())
        counts.append(len(tokens))
    return totals, counts


@functools.cache
def tiny():
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from eyechart.evaluators import tiny_vlm

    folder = tiny_vlm.folder()
    return AutoModelForImageTextToText.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
