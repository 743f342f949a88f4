"""Multiple choice, with images, blind, closed-set and with a refusal option, on models whose answers are known."""

import json
from functools import partial

import datasets
import pytest

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.protocols.settings import with_settings
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, Backend, Loss, Response
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scoring.choices.reading import random_choice
from tests.evaluators import running
from tests.evaluators.command_line import invoke
from tests.evaluators.running import notes, predictions
from tests.evaluators.tasks.doors import Judge

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
        "by_question_type": {"how": {"rate": 1.0, "failures": 3, "n": 3}, "what": {"rate": 0.0, "failures": 0, "n": 3}},
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


def test_unknown_tasks_and_arguments_and_bad_rows_are_named(questions):
    with pytest.raises(UsageError, match="did you mean 'q_bench/perception'"):
        evaluator("q_bench/percepton")
    for arguments, message in (
        ({"data": "llvisionqa", "subset": "nonsense"}, "unknown llvisionqa config 'nonsense'"),
        ({"data": None, "split": "dve"}, "did you mean 'dev'"),
        ({"data": questions, "label_mapping": {"A": 0}}, "label_mapping"),
    ):
        with pytest.raises(UsageError, match=message):
            compute(always("A"), **arguments)
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


def test_of_equal_losses_the_first_option_counts_and_of_equal_texts_the_correct_one(questions):
    result = run_losses(questions, lambda id, option: Loss(2.0 if id == "q0" or option == "Poor" else 3.0, 2))
    assert [item.choice for item in result.items] == ["A", "C", "C", "C", "C", "C"]
    assert result.diagnostics["equal_lowest_losses"] == 1
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


@pytest.mark.parametrize(
    ("task", "style"),
    [
        *((name, "default") for name in ("q_bench/perception_pairs", "ql_bench/single", "aes_bench/assessment")),
        *(("q_bench/perception", "vlmevalkit"), ("q_bench/perception_pairs", "lmms-eval")),
    ],
)
def test_the_prompt_is_the_same_without_the_images(task, style):
    given = ({"prompt": style, "blind": is_blind} for is_blind in (False, True))
    seeing, blind = (with_settings(get_task(task).bound(), settings, task) for settings in given)
    (shown,), (hidden,) = seeing.requests(ROW), blind.requests(ROW)
    words = [part for part in shown.prompt if part is not IMAGE]
    assert (hidden.prompt, hidden.images) == (("".join(words),), ())
    assert blind.full_prompt_id == f"{seeing.full_prompt_id}/blind"


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


REFUSAL = "I don't know"
OPTIONS = (["Good", "Fair", "Poor", REFUSAL], ["Good", REFUSAL, "Fair", "Poor"], [REFUSAL, "Good", "Fair", "Poor"])
RIGHT = ("Good", "Fair", "Poor")
run_single = partial(running.run, "ql_bench/single")


@pytest.fixture
def refusable(make_picture):
    """Six questions of two types, the refusal last, second and first, right answers Good, Fair, Poor, Good, ..."""
    rows = (
        {
            "id": f"q{i}",
            "images": [make_picture(i)],
            "question": f"How is picture {i}?",
            "options": options,
            "answer": "ABCD"[options.index(RIGHT[i % 3])],
            "refusal": "ABCD"[options.index(REFUSAL)],
            "question_type": ("how", "what")[i % 2],
            "concern": "other",
        }
        for i, options in enumerate(OPTIONS * 2)
    )
    return running.dataset(rows)


class Model:
    """Gives a fixed reply to each question, and remembers the options of each prompt."""

    def __init__(self, first, forced=()):
        self.first, self.forced = first, forced
        self.shown = []

    def __call__(self, messages):
        texts = [part["text"] for part in messages[0]["content"] if part["type"] == "text"]
        number = int(texts[0].removeprefix("How is picture ").removesuffix("? "))
        self.shown.append((number, texts[1].removeprefix("\nChoose between one of the following options: ")))
        replies = self.first if REFUSAL in texts[1] else self.forced
        return replies[number] if isinstance(replies, dict) else replies


def test_only_refused_questions_are_asked_again_without_the_refusal(refusable):
    model = Model({0: "Good", 1: REFUSAL, 2: "A", 3: "B. Fair", 4: "C", 5: "The answer is Poor."}, {1: "B", 2: "Good"})
    result = run_single(model, refusable)
    assert model.shown[6:] == [(1, "A. Good B. Fair C. Poor"), (2, "A. Good B. Fair C. Poor")]
    # Right: 0, 4 (C is Fair where B is the refusal) and 5. Refused: 1, then right; 2 (A), then wrong.
    assert result.scores["score_cc"] == pytest.approx(300 / 6)
    assert result.scores["score_rc"] == pytest.approx(100 / 6)
    assert result.scores["score_sa"] == pytest.approx(400 / 6)
    assert (result.scores["answer_rate"], result.scores["answer_accuracy"]) == pytest.approx((4 / 6, 3 / 4))
    assert result.scores["random_guess"] == pytest.approx(1 / 3)
    # How: 0 right, 2 rightly refused, 4 right. What: 1 refused, 3 wrong, 5 right.
    by_type = result.scores["by_question_type"]
    assert (by_type["how"]["score_cc"], by_type["how"]["score_rc"]) == pytest.approx((200 / 3, 100 / 3))
    assert (by_type["what"]["score_cc"], by_type["what"]["score_rc"]) == pytest.approx((100 / 3, 0.0))
    assert result.diagnostics == {"forced_asked": 2, "forced_missing": 0}
    forced = [line for line in result.items if line.pass_name == "forced"]
    assert [(line.id, line.answer) for line in forced] == [("q1", "B"), ("q2", "C")]
    assert [line.options for line in forced] == [["Good", "Fair", "Poor"]] * 2
    main = [line for line in result.items if line.pass_name == "main"]
    assert [line.outcome for line in main] == [
        *("right answer", "wrong refusal", "right refusal", "wrong answer", "right answer", "right answer")
    ]
    # The second answers are in the letters of their own options.
    assert [(line.choice, line.correct) for line in forced] == [("B", True), ("A", False)]
    assert [line.self_aware for line in main] == [True, False, True, False, True, True]


def test_what_a_judge_reads_as_the_refusal_is_asked_again(refusable):
    replies = {0: "Good", 1: "hard to say", 2: "", 3: REFUSAL, 4: "Poor", 5: "one of them"}
    model, judge = Model(replies, dict.fromkeys(range(6), "Good")), Judge("B")
    result = run_single(model, refusable, judge=judge)
    # An empty reply goes to no judge. B is the refusal of question 1, and not of question 5.
    assert [number for number, shown in model.shown if REFUSAL not in shown] == [1, 3]
    assert result.scores["n_refused"] == 2 and result.scores["score_rc"] == pytest.approx(100 / 6)
    assert result.scores["judge_asked"] == 2 and result.scores["unmatched"] == 1
    assert result.settings["judge"] == {"name": "Judge"}
    assert run_single(Model(replies, "Good"), refusable, judge=Judge("B"), rounds=3).scores["rounds"] == 3


def test_where_the_refusal_is_drawn_the_question_is_asked_again(refusable):
    result = run_single(Model("no idea", "Good"), refusable, fallback="random")
    drawn = [line.choice == line.refusal for line in result.items if line.pass_name == "main"]
    assert 0 < result.diagnostics["forced_asked"] == sum(drawn) == result.scores["n_refused"] < 6
    assert result.scores["extraction"]["random"] == 1.0 and result.settings["fallback"] == "random"
    assert run_single(Model("no idea"), refusable).diagnostics["forced_asked"] == 0


def test_a_predictions_file_needs_the_second_pass_of_refused_questions(tmp_path, refusable):
    first = [{"id": f"q{i}", "text": REFUSAL if i < 2 else "Good"} for i in range(6)]
    forced = [{"id": f"q{i}", "pass": "forced", "text": "A"} for i in (0, 1, 4)]
    result = run_single(predictions(tmp_path, [*forced, *first]), refusable)
    assert result.scores["n_refused"] == 2 and result.scores["score_rc"] == pytest.approx(100 / 6)
    assert result.settings["model"]["predictions_unused"] == 1
    with pytest.raises(
        DataError, match=r"item 'q1'.*no prediction for id 'q1', pass 'forced'; passes in the file: main"
    ):
        run_single(predictions(tmp_path, [forced[0], *first]), refusable)
    left = run_single(predictions(tmp_path, [forced[0], *first]), refusable, skip_bad=True)
    # Left out, it would raise the answer rate, as only refused questions have a second pass.
    assert left.left_out == [] and left.diagnostics == {"forced_asked": 2, "forced_missing": 1}
    assert not left.complete and result.complete
    assert notes(left)["forced_missing"] == {"missing": 1, "asked": 2}
    assert (left.scores["n"], left.scores["n_refused"], left.scores["forced_unmatched"]) == (6, 2, 1)
    assert left.scores["answer_rate"] == result.scores["answer_rate"]
    # As well where only a judge finds a refusal.
    lines = [{"id": f"q{i}", "text": "hard to say" if i == 0 else "Good"} for i in range(6)]
    with pytest.raises(DataError, match="no prediction for id 'q0', pass 'forced'"):
        run_single(predictions(tmp_path, lines), refusable, judge=Judge("D"))


@pytest.mark.parametrize("reply", ["", "weder noch"])
def test_unreadable_second_answers_are_counted_apart(refusable, reply):
    first = dict.fromkeys(range(6), "Good") | {0: REFUSAL, 1: REFUSAL}
    scores = run_single(Model(first, reply), refusable).scores
    assert (scores["n_refused"], scores["forced_unmatched"], scores["score_rc"]) == (2, 2, 0.0)
    wrong = run_single(Model(first, reply), refusable, unreadable_forced="wrong").scores
    assert wrong["score_rc"] == pytest.approx(200 / 6)


@pytest.mark.parametrize("refusal", ["", "E", "A"])
def test_a_refusal_that_is_no_letter_of_another_option_is_an_error_naming_the_row(refusable, refusal):
    broken = refusable.select([0]).map(lambda row: {"refusal": refusal})
    with pytest.raises(DataError, match=rf"q0.*column 'refusal' is '{refusal}'"):
        run_single(Model("Good"), broken)
    alone = broken.map(lambda row: {"options": [REFUSAL], "answer": "", "refusal": "A"})
    with pytest.raises(DataError, match="at least two options"):
        run_single(Model("Good"), alone)
