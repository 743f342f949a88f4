import datasets
import pytest

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.runs.table import note_lines
from eyechart.metrics.scoring.choices.reading import random_choice
from eyechart.metrics.scoring.errors import LostRoundsWarning


def always(letter):
    return lambda messages: letter


def load(dataset):
    return LoadedData(dataset, "own data", "given", "given")


def options_in(messages):
    text = "".join(part["text"] for part in messages[0]["content"] if part["type"] == "text")
    shown = text.split("following options: ")[1]
    return [part[3:] for part in shown.replace(" B. ", "|B. ").replace(" C. ", "|C. ").split("|")]


def test_the_prompt_is_question_image_options(questions):
    seen = []
    evaluator("q_bench/perception").compute(lambda messages: seen.append(messages) or "A", questions)
    content = seen[0][0]["content"]
    assert [part["type"] for part in content] == ["text", "image", "text"]
    assert content[0]["text"] == "How is picture 0? "
    assert content[2]["text"] == "\nChoose between one of the following options: A. Good B. Fair C. Poor"
    assert content[1]["image"].size == (32, 32)


def test_compute_returns_the_metrics_scores_and_evaluates_timings(questions):
    result = evaluator("q_bench/perception").compute(always("A"), questions)
    assert result["accuracy"] == pytest.approx(2 / 6)
    assert result["random_guess"] == pytest.approx(1 / 3)
    assert result["by_question_type"]["how"]["n"] == 3
    assert {"total_time_in_seconds", "samples_per_second", "latency_in_seconds"} <= set(result)


def test_texts_and_letters_are_extracted(questions):
    replies = iter(["Good", "The answer is B.", "**C**", "It is good.", "no idea", "C) Poor"])
    result = evaluator("q_bench/perception").compute(lambda messages: next(replies), questions)
    assert result["accuracy"] == pytest.approx(5 / 6)
    assert result["extraction"]["unmatched"] == pytest.approx(1 / 6)


def test_a_model_that_knows_the_answer_is_right_in_any_option_order(questions):
    right = {f"How is picture {i}? ": ["Good", "Fair", "Poor"][i % 3] for i in range(6)}

    def model(messages):
        wanted = right[messages[0]["content"][0]["text"]]
        return "ABC"[options_in(messages).index(wanted)]

    for seed in (None, 0, 1, 2):
        assert (
            evaluator("q_bench/perception", settings=dict(shuffle_seed=seed)).compute(model, questions)["accuracy"]
            == 1.0
        )


def test_shuffled_orders_depend_on_the_question_and_not_on_the_visit(questions):
    def orders(dataset, seed):
        run = evaluator("q_bench/perception", settings=dict(shuffle_seed=seed)).run(
            FunctionBackend(always("A")), load(dataset)
        )
        return {p.id: tuple(p.options) for p in run.items}

    reversed_rows = questions.select(range(5, -1, -1))
    assert orders(questions, 3) == orders(reversed_rows, 3)
    assert orders(questions, 3) != orders(questions, 4)
    assert len(set(orders(questions, 3).values())) > 1


def run(dataset, model, *, judge=None, **options):
    made = evaluator("q_bench/perception", settings=options, judge=judge)
    return made.run(FunctionBackend(model), load(dataset))


def test_the_answer_mark_is_another_wording_of_the_prompt(questions):
    seen = []
    settings = run(questions, lambda messages: seen.append(messages) or "A", prompt="answer-mark").settings
    assert seen[0][0]["content"][2]["text"].endswith("A. Good B. Fair C. Poor\n#Answer:")
    assert settings["prompt_id"] == "q_bench_a1/2/answer-mark"
    with pytest.raises(UsageError, match="did you mean 'answer-mark'"):
        run(questions, always("A"), prompt="answer_mark")


def test_type_by_concern_is_a_breakdown_where_both_columns_are_there(questions):
    scores = run(questions, always("A")).scores
    assert set(scores["by_question_type_by_concern"]) == {"how, other", "what, other"}
    assert scores["by_question_type_by_concern"]["how, other"] == scores["by_question_type"]["how"]
    scores = run(questions.remove_columns("concern"), always("A")).scores
    assert {name for name in scores if name.startswith("by_")} == {"by_question_type"}


def test_prompt_failures_are_counted_overall_and_by_type(questions):
    replies = iter(["D. Excellent", "The answer is B.", "Excellent", "A", "", "Poor"])
    failed = run(questions, lambda messages: next(replies)).diagnostics["prompt_failure"]
    assert {key: failed[key] for key in ("rate", "failures", "n")} == {"rate": 0.5, "failures": 3, "n": 6}
    assert failed["by_question_type"] == {
        "how": {"rate": 1.0, "failures": 3, "n": 3},
        "what": {"rate": 0.0, "failures": 0, "n": 3},
    }


def test_prompt_failures_need_no_public_answers(questions):
    private = questions.map(lambda row: {"answer": ""})
    assert run(private, always("No idea")).diagnostics["prompt_failure"]["rate"] == 1.0


BAD_ANSWERS = {
    "nothing": ("", None),
    "blanks": (" \n\t", None),
    "the same letter": ("B", "B"),
    "10,000 tokens": ("noise " * 10_000, None),
    "control characters": ("\x00\x07\x1b[2J\u202e", None),
    "another language": ("画面偏暗,噪点很多。", None),
    "a letter in another language": ("答案是C。", "C"),
    "JSON": ('{"answer": null}', None),
    "a letter beyond the options": ("D. Excellent", None),
}


@pytest.mark.parametrize(("answer", "letter"), BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_a_bad_answer_is_unmatched_and_counted(questions, answer, letter):
    found = run(questions, always(answer))
    assert found.scores["n"] == 6
    assert found.scores["accuracy"] == pytest.approx(0 if letter is None else 2 / 6)
    assert found.scores["extraction"]["unmatched"] == found.diagnostics["prompt_failure"]["rate"] == (letter is None)
    assert {(line.text, line.choice) for line in found.items} == {(answer, letter)}


def test_a_judge_votes_five_times_on_replies_that_name_no_option(questions):
    asked = []

    def judge(messages, n):
        asked.append((messages, n))
        right = "Splendid" in messages[-1]["content"]
        return ["Score: 1" if right else "Score: 0"] * 3 + ["Score: 0", "hm"]

    replies = iter(["Splendid", "B", "Awful", "C", "Awful", "C"])
    found = run(questions, lambda messages: next(replies), judge=judge)
    assert found.scores["accuracy"] == pytest.approx(3 / 6)
    assert {name: share for name, share in found.scores["extraction"].items() if share} == {"exact": 0.5, "judge": 0.5}
    assert (found.scores["judge_template"], found.scores["rounds"]) == ("q_bench_vote", 5)
    assert (found.scores["judge_asked"], found.scores["judge_failed_rounds"]) == (3, 3)
    assert found.settings["judge"] == {"name": "judge"}
    assert [n for _, n in asked] == [5, 5, 5]
    assert "How is picture 0" in asked[0][0][-1]["content"] and "Good" in asked[0][0][-1]["content"]
    # Prompt failures are what the model said, whatever a judge makes of it.
    assert found.diagnostics["prompt_failure"]["rate"] == 0.5


def test_rounds_and_fallback_reach_the_metric(questions):
    found = run(questions, always("Splendid"), judge=lambda messages, n: ["Score: 1"] * n, rounds=3)
    assert (found.scores["rounds"], found.scores["accuracy"]) == (3, 1.0)
    found = run(questions, always("Splendid"), fallback="random")
    assert (found.scores["fallback"], found.scores["extraction"]["random"]) == ("random", 1.0)


def test_private_answers_give_no_score_but_keep_the_predictions(questions):
    private = questions.map(lambda row: {"answer": ""})
    run = evaluator("q_bench/perception").run(FunctionBackend(always("B")), load(private))
    assert run.scores is None
    assert "private" in " ".join(run.caveats)
    assert [p.choice for p in run.items] == ["B"] * 6
    with pytest.raises(DataError, match="private"):
        evaluator("q_bench/perception").compute(always("B"), private)


def test_single_private_answers_are_left_out_and_listed(questions):
    answers = ["", "B", "C", "A", "B", "C"]
    mixed = questions.remove_columns("answer").add_column("answer", answers)
    run = evaluator("q_bench/perception").run(FunctionBackend(always("B")), load(mixed))
    assert run.scores["n"] == 5
    assert [(item.id, item.reason) for item in run.left_out] == [("q0", "its answer is private")]


def test_an_answer_that_is_no_letter_of_the_options_is_an_error_naming_the_row(questions):
    broken = questions.remove_columns("answer").add_column("answer", ["A", "B", "D", "A", "B", "C"])
    with pytest.raises(DataError, match=r"q2.*'D'"):
        evaluator("q_bench/perception").compute(always("B"), broken)


def test_a_missing_column_is_named(questions):
    with pytest.raises(
        UsageError, match=r"missing column 'options' \(needed by q_bench/perception\); did you mean 'option'\? found: "
    ):
        evaluator("q_bench/perception").compute(always("A"), questions.rename_column("options", "option"))


def test_columns_of_other_names_are_renamed_and_unknown_ones_named(questions):
    renamed = questions.rename_column("answer", "label")
    task = evaluator("q_bench/perception")
    assert task.compute(always("A"), renamed, label_column="label")["n"] == 6
    with pytest.raises(UsageError, match="did you mean 'label'"):
        task.compute(always("A"), renamed, label_column="lable")


def test_the_hooks_of_evaluates_evaluator_work():
    task = evaluator("q_bench/perception")
    assert task.prepare_pipeline(always("A")).name.endswith("<lambda>")
    assert len(task.load_data("mini", split="dev")) == 180
    assert task.prepare_metric(None).name == "choice_accuracy"


def test_a_subset_that_the_data_set_does_not_have_is_refused():
    with pytest.raises(UsageError, match="unknown llvisionqa config 'nonsense'"):
        evaluator("q_bench/perception").compute(always("A"), "llvisionqa", subset="nonsense")


def test_a_bare_model_is_refused(questions):
    class Model:
        config = None

        def generate(self):
            raise AssertionError

        def __call__(self, messages):
            raise AssertionError

    with pytest.raises(UsageError, match="Model is a model without its processor"):
        evaluator("q_bench/perception").compute(Model(), questions)


def test_repeated_ids_are_an_error(questions):
    with pytest.raises(DataError, match="'q0'"):
        evaluator("q_bench/perception").compute(always("A"), datasets.concatenate_datasets([questions, questions]))


@pytest.mark.parametrize(
    "argument",
    [{"strategy": "bootstrap"}, {"confidence_level": 0.9}, {"tokenizer": "x"}, {"label_mapping": {"A": 0}}],
    ids=str,
)
def test_arguments_of_evaluate_that_cannot_hold_are_refused(questions, argument):
    with pytest.raises(UsageError, match=next(iter(argument))):
        evaluator("q_bench/perception").compute(always("A"), questions, **argument)


def test_a_metric_may_be_given_by_name_or_object(questions):
    from eyechart import metrics

    task = evaluator("q_bench/perception")
    by_name = task.compute(always("A"), questions, metric="choice_accuracy")
    by_object = task.compute(always("A"), questions, metric=metrics.load("choice_accuracy"))
    assert by_name["accuracy"] == by_object["accuracy"] == pytest.approx(2 / 6)


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'q_bench/perception'"):
        evaluator("q_bench/percepton")
    with pytest.raises(UsageError, match="unknown setting 'shuffle_seed' of q_bench/assessment"):
        evaluator("q_bench/assessment", settings=dict(shuffle_seed=1))
    with pytest.raises(UsageError, match="did you mean 'dev'"):
        evaluator("q_bench/perception").compute(always("A"), split="dve")


def test_predictions_tell_by_which_step_an_answer_was_read(questions):
    replies = ["A", "the second one", "", "B. Fair", "nothing of these", "C"]
    asked = []

    def judge(messages, n):
        asked.append(messages)
        return ["1" if "second" in messages[-1]["content"] else "0"] * n

    def read(**settings):
        said = iter(replies)
        bound = evaluator("q_bench/perception", **settings)
        run = bound.run(FunctionBackend(lambda messages: next(said)), load(questions))
        return run, [(p.choice, p.step, p.correct) for p in run.items]

    run, steps = read()
    unread, right, wrong = (None, "unparseable", False), ("A", "exact", True), ("B", "exact", False)
    assert steps == [right, unread, unread, wrong, unread, ("C", "exact", True)]
    run, steps = read(judge=judge)
    assert steps == [right, ("B", "judge", True), unread, wrong, (None, "judge", False), ("C", "exact", True)]
    assert run.scores["accuracy"] == pytest.approx(sum(correct for *_, correct in steps) / 6)
    assert len(asked) == run.scores["judge_asked"] == 2
    _, steps = read(settings=dict(fallback="random"))
    assert [step for _, step, _ in steps] == ["exact", "random", "random", "exact", "random", "exact"]
    assert [steps[place][0] for place in (1, 2, 4)] == [random_choice(3, 0, f"q{place}") for place in (1, 2, 4)]


@pytest.mark.parametrize(
    ("extraction", "step", "accuracy"), [("declared", "declared", 2 / 6), ("strict", "unparseable", 0.0)]
)
def test_verbose_replies_are_read_as_the_result_says(questions, extraction, step, accuracy):
    reply = "B and C are too much for this picture. Therefore, the correct answer is (A)."
    bound = evaluator("q_bench/perception", settings={} if extraction == "declared" else {"extraction": extraction})
    done = bound.run(FunctionBackend(lambda messages: reply), load(questions))
    assert done.settings["extraction"] == done.scores["extraction_mode"] == extraction
    assert {line.step for line in done.items} == {step}
    assert done.scores["accuracy"] == pytest.approx(accuracy) and done.scores["extraction"][step] == 1.0


def test_a_judge_that_talks_nonsense_leaves_an_incomplete_result(questions):
    replies = ["A", "Splendid", "Awful", "A", "Splendid", "C"]

    def judged(judge, **options):
        said = iter(replies)
        return run(questions, lambda messages: next(said), judge=judge, **options)

    found = judged(lambda messages, n: ["As a language model"] * n)
    assert found.scores["accuracy"] == pytest.approx(3 / 6) and not found.complete
    assert " ".join(found.caveats) == (
        "The judge <lambda> gave no usable reply in 15 of 15 rounds. Incomplete: 3 of the 3 replies put to it have no "
        "usable round and are counted as incorrect. 3 of 6 replies could not be parsed and count as incorrect."
    )
    assert [line.removeprefix("q_bench/perception: ") for line in note_lines([found])][:2] == found.caveats
    found = judged(lambda messages, n: ["hm"] * n, fallback="random")
    assert (
        "are replaced by a random choice" in " ".join(found.caveats)
        and "parsed" not in " ".join(found.caveats)
        and not found.complete
    )
    found = judged(lambda messages, n: ["1", "hm", "hm", "hm", "hm"])
    assert " ".join(found.caveats) == "The judge <lambda> gave no usable reply in 12 of 15 rounds." and found.complete
    found = judged(lambda messages, n: ["1"] * n)
    assert " ".join(found.caveats) == "" and found.complete


def test_what_a_judge_raises_is_told(questions):
    def broken(messages, n):
        raise ConnectionError("the judge's line is down")

    with pytest.warns(LostRoundsWarning, match='ConnectionError: "the judge\'s line is down"') as caught:
        found = run(questions, always("Splendid"), judge=broken)
    assert len(caught) == 1
    assert "in 30 of 30 rounds" in " ".join(found.caveats) and not found.complete


@pytest.mark.parametrize(("unread", "told"), [(0, ""), (1, "1 of 6 replies"), (6, "6 of 6 replies")])
def test_many_replies_without_an_option_are_told(questions, unread, told):
    replies = iter(["no idea"] * unread + ["A"] * 6)
    found = run(questions, lambda messages: next(replies))
    assert told in " ".join(found.caveats) and bool(told) == bool(" ".join(found.caveats)) and found.complete
