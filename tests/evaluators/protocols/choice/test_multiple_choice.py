"""Multiple choice, with images and blind, and closed-set inference on models whose answers are known."""

import json
from functools import partial

import datasets
import pytest

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.protocols.protocol import setting_fields
from eyechart.evaluators.protocols.settings import with_settings
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, Backend, Loss, Response
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.metrics.scoring.choices.reading import random_choice
from tests.evaluators import running
from tests.evaluators.command_line import invoke
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": "llvisionqa", "subset": "nonsense"}, "unknown llvisionqa config 'nonsense'"),
        ({"data": None, "split": "dve"}, "did you mean 'dev'"),
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
    assert judged(["hm"] * 5, fallback="random")[2][4] == "replaced by a random choice"
    _, codes, values, complete = judged(["1", "hm", "hm", "hm", "hm"])
    assert codes == ["judge_failed"] and values[:3] == [12, 15, 0] and complete


def test_groups_may_be_numbers(questions):
    numbered = questions.remove_columns("question_type").add_column("question_type", [0, 1] * 3)
    scores = evaluator("q_bench/perception").compute(lambda messages: "A", numbered)
    assert {name: part["n"] for name, part in scores["by_question_type"].items()} == {"0": 3, "1": 3}


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


def test_the_option_of_the_lowest_loss_per_token_is_the_answer(questions):
    # Per token, Good is best (1.0); the sum of Poor is lower. Right answers are Good, Fair, Poor in turn.
    losses = {"Good": Loss(4.0, 4), "Fair": Loss(9.0, 3), "Poor": Loss(2.0, 1)}
    backend = Losses(lambda id, option: losses[option])
    result = running.run(TASK, backend, questions, inference="closed-set")
    asked = backend.asked[0]
    assert asked.prompt == ("How is picture 0? ", IMAGE) and asked.prefill == "#Answer:"
    assert asked.continuations == asked.options == ("Good", "Fair", "Poor")
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


ROW = {
    "id": "1",
    "images": [object(), object()],
    "question": "Is it sharp?",
    "options": ["Yes", "No", "I don't know"],
    "answer": "A",
    "refusal": "C",
    "hint": "",
}
CHOICES = "A. Yes B. No C. I don't know"
LINES = "A. Yes\nB. No\nC. I don't know"
AES_OPTIONS = "Choose one from the following options:\nA) Yes\nB) No\nC) I don't know"
AES = f"Is it sharp? {AES_OPTIONS}\nYou should output a correct option"
TOOLKIT = f"Question: Is it sharp?\nOptions:\n{LINES}\nPlease select the correct answer from the options above. \n"
Q_BENCH = f"Is it sharp? \nChoose between one of the following options: {CHOICES}"
LETTERS = f"Is it sharp?\n{LINES}\nAnswer with the option's letter from the given choices directly.\n"
PROMPTS = {
    **dict.fromkeys(("q_bench/perception", "q_bench/perception_pairs", "ql_bench/single", "ql_bench/pair"), Q_BENCH),
    **dict.fromkeys(("aes_bench/perception", "aes_bench/empathy"), f"{AES} without explanation."),
    "aes_bench/assessment": f"{AES}.",
}


@pytest.mark.parametrize(
    ("task", "style", "expected"),
    [
        *((task, None, expected) for task, expected in PROMPTS.items()),
        ("q_bench/perception", "vlmevalkit", TOOLKIT),
        ("q_bench/perception_pairs", "lmms-eval", LETTERS),
    ],
)
def test_the_prompt_is_the_same_without_the_images(task, style, expected):
    settings = {"blind": True} | ({"prompt": style} if style else {})
    blind = with_settings(get_task(task).bound(), settings, task)
    (request,) = blind.requests(ROW)
    assert (request.prompt, request.images) == ((expected,), ())
    named = "/".join([get_task(task).protocol.prompt_id, *([style] if style else []), "blind"])
    assert blind.full_prompt_id == named


def test_every_multiple_choice_task_has_the_setting_and_no_other_has_it():
    has_it = {task.name for task in TASKS if "blind" in setting_fields(type(task.protocol))}
    assert has_it == {task.name for task in TASKS if task.protocol.kind == "multiple choice"}
    assert {*PROMPTS, "mmbench/en", "mmbench/cc"} <= has_it


def test_a_blind_run_says_that_no_image_was_shown(questions):
    def looks(messages):
        return "B" if any(part["type"] == "image" for part in messages[0]["content"]) else "A"

    done = run(looks, questions, blind=True)
    assert (notes(done), done.settings["blind"]) == ({"blind": {}}, True)
    assert {item.choice for item in done.items} == {"A"}
    assert "blind" in notes(run(looks, questions.map(lambda row: {"answer": ""}), blind=True))


def test_the_flag_names_tasks_that_need_images(tmp_path):
    done = invoke("run", "aes_bench", "--blind", "--out", tmp_path / "out", code=2)
    assert "blind is only for multiple choice; leave out aes_bench/interpretation" in done.output
    done = invoke("run", "q_bench/perception", "--blind", "--set", "blind=true", "--out", tmp_path / "out", code=2)
    assert "--blind and --set blind are both given" in done.output


def own_task(folder, blind_prompt=""):
    lines = [{"id": "1", "image": "a.png", "question": "Is it {sharp}?", "options": ["Yes", "No"], "answer": "A"}]
    (folder / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    text = "name: own\nprotocol: multiple_choice\ndata: {path: rows.jsonl}\n"
    text += 'prompt: "The image: {image}\\n{question}\\n{options}"\n'
    (folder / "own.yaml").write_text(text + blind_prompt, encoding="utf-8")
    return str(folder / "own.yaml")


def test_an_own_task_leaves_its_images_out_or_has_a_prompt_for_that(tmp_path):
    row = {"id": "1", "images": [object()], "question": "Is it {sharp}?", "options": ["Yes", "No"], "answer": "A"}
    for given, expected in (
        ("", "The image: \nIs it {sharp}?\nA. Yes\nB. No"),
        ('blind_prompt: "Guess. {question}\\n{options}"', "Guess. Is it {sharp}?\nA. Yes\nB. No"),
    ):
        blind = evaluator(own_task(tmp_path, given), settings={"blind": True}).protocol
        assert blind.requests(row)[0].prompt == (expected,)
    for given in ("{image} {options}", "{question}"):
        with pytest.raises(UsageError, match=r"blind_prompt: must contain \{options\}"):
            evaluator(own_task(tmp_path, f'blind_prompt: "{given}"'))
