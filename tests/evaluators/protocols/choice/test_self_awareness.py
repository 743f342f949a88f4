"""Questions with a refusal option on models whose answers are known, so that every score can be counted by hand."""

from functools import partial

import pytest

from eyechart.datasets_scripts.common.errors import DataError
from tests.evaluators import running
from tests.evaluators.running import notes, predictions
from tests.evaluators.tasks.doors import Judge

REFUSAL = "I don't know"
OPTIONS = (["Good", "Fair", "Poor", REFUSAL], ["Good", REFUSAL, "Fair", "Poor"], [REFUSAL, "Good", "Fair", "Poor"])
RIGHT = ("Good", "Fair", "Poor")
run = partial(running.run, "ql_bench/single")


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
    """Says what it is told to, by question, and remembers the options of each prompt."""

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
    result = run(model, refusable)
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
        *("right answer", "wrong refusal", "right refusal", "wrong answer", "right answer", "right answer"),
    ]
    # The second answers are in the letters of their own options.
    assert [(line.choice, line.correct) for line in forced] == [("B", True), ("A", False)]
    assert [line.self_aware for line in main] == [True, False, True, False, True, True]


def test_what_a_judge_reads_as_the_refusal_is_asked_again(refusable):
    replies = {0: "Good", 1: "hard to say", 2: "", 3: REFUSAL, 4: "Poor", 5: "one of them"}
    model, judge = Model(replies, dict.fromkeys(range(6), "Good")), Judge("B")
    result = run(model, refusable, judge=judge)
    # An empty reply goes to no judge. B is the refusal of question 1, and not of question 5.
    assert [number for number, shown in model.shown if REFUSAL not in shown] == [1, 3]
    assert result.scores["n_refused"] == 2 and result.scores["score_rc"] == pytest.approx(100 / 6)
    assert result.scores["judge_asked"] == 2 and result.scores["unmatched"] == 1
    assert result.settings["judge"] == {"name": "Judge"}
    assert run(Model(replies, "Good"), refusable, judge=Judge("B"), rounds=3).scores["rounds"] == 3


def test_where_the_refusal_is_drawn_the_question_is_asked_again(refusable):
    result = run(Model("no idea", "Good"), refusable, fallback="random")
    drawn = [line.choice == line.refusal for line in result.items if line.pass_name == "main"]
    assert 0 < result.diagnostics["forced_asked"] == sum(drawn) == result.scores["n_refused"] < 6
    assert result.scores["extraction"]["random"] == 1.0 and result.settings["fallback"] == "random"
    assert run(Model("no idea"), refusable).diagnostics["forced_asked"] == 0


def test_a_predictions_file_needs_the_second_pass_of_refused_questions(tmp_path, refusable):
    first = [{"id": f"q{i}", "text": REFUSAL if i < 2 else "Good"} for i in range(6)]
    forced = [{"id": f"q{i}", "pass": "forced", "text": "A"} for i in (0, 1, 4)]
    result = run(predictions(tmp_path, [*forced, *first]), refusable)
    assert result.scores["n_refused"] == 2 and result.scores["score_rc"] == pytest.approx(100 / 6)
    assert result.settings["model"]["predictions_unused"] == 1
    with pytest.raises(
        DataError, match=r"item 'q1'.*no prediction for id 'q1', pass 'forced'; passes in the file: main"
    ):
        run(predictions(tmp_path, [forced[0], *first]), refusable)
    left = run(predictions(tmp_path, [forced[0], *first]), refusable, skip_bad=True)
    # Left out, it would raise the answer rate, as only refused questions have a second pass.
    assert left.left_out == [] and left.diagnostics == {"forced_asked": 2, "forced_missing": 1}
    assert not left.complete and result.complete
    assert notes(left)["forced_missing"] == {"missing": 1, "asked": 2}
    assert (left.scores["n"], left.scores["n_refused"], left.scores["forced_unmatched"]) == (6, 2, 1)
    assert left.scores["answer_rate"] == result.scores["answer_rate"]
    # As well where only a judge finds a refusal.
    lines = [{"id": f"q{i}", "text": "hard to say" if i == 0 else "Good"} for i in range(6)]
    with pytest.raises(DataError, match="no prediction for id 'q0', pass 'forced'"):
        run(predictions(tmp_path, lines), refusable, judge=Judge("D"))


@pytest.mark.parametrize("reply", ["", "weder noch"])
def test_unreadable_second_answers_are_counted_apart(refusable, reply):
    first = dict.fromkeys(range(6), "Good") | {0: REFUSAL, 1: REFUSAL}
    scores = run(Model(first, reply), refusable).scores
    assert (scores["n_refused"], scores["forced_unmatched"], scores["score_rc"]) == (2, 2, 0.0)
    wrong = run(Model(first, reply), refusable, unreadable_forced="wrong").scores
    assert wrong["score_rc"] == pytest.approx(200 / 6)


@pytest.mark.parametrize("refusal", ["", "E", "A"])
def test_a_refusal_that_is_no_letter_of_another_option_is_an_error_naming_the_row(refusable, refusal):
    broken = refusable.select([0]).map(lambda row: {"refusal": refusal})
    with pytest.raises(DataError, match=rf"q0.*column 'refusal' is '{refusal}'"):
        run(Model("Good"), broken)
    alone = broken.map(lambda row: {"options": [REFUSAL], "answer": "", "refusal": "A"})
    with pytest.raises(DataError, match="at least two options"):
        run(Model("Good"), alone)
