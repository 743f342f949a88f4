"""CircularEval on functions, files and servers whose answers are known."""

import json
import re
from functools import partial

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from PIL import Image

from eyechart.datasets_scripts.common.choice.passes import rotate
from eyechart.datasets_scripts.common.errors import DataError, MissingFileError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.requests.errors import EndpointError
from eyechart.evaluators.requests.types import Response
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from tests.evaluators import running
from tests.evaluators.finished_runs import write
from tests.evaluators.running import notes, predictions

QUESTIONS = {
    "q2": (["Yes it is", "No it is not"], "B", "OCR"),
    "q3": (["Red", "Green", "Blue"], "A", "OCR"),
    "q4": (["Cat", "Dog", "Cow", "Hen"], "C", "image style"),
}
RIGHT = {id: options["ABCD".index(letter)] for id, (options, letter, _) in QUESTIONS.items()}
PASSES = [(id, rotate(options, number)) for id, (options, _, _) in QUESTIONS.items() for number in range(len(options))]
WITHOUT_BLIND = "without blind-solvable questions"

run = partial(running.run, "mmbench/en")


def make_data(**changes):
    columns = {
        "id": list(QUESTIONS),
        "images": [[Image.new("RGB", (8, 8), (40 * i,) * 3)] for i in range(3)],
        "question": [f"What is {id}?" for id in QUESTIONS],
        "hint": ["", "Roses are red.", ""],
        "options": [options for options, _, _ in QUESTIONS.values()],
        "answer": [letter for _, letter, _ in QUESTIONS.values()],
        "category": [category for _, _, category in QUESTIONS.values()],
        **changes,
    }
    return running.loaded(running.dataset_of(columns))


@pytest.fixture(scope="module")
def data():
    return make_data()


def shown(messages):
    """Id of the question that a prompt asks, and its options as shown."""
    text = "".join(part.get("text", "") for part in messages[0]["content"])
    return text.split("What is ")[1].split("?")[0], re.findall(r"(?m)(?:^|> )[A-D]\. (.*?)(?: <choices end>.*)?$", text)


def knows(messages):
    """Answers with the right letter."""
    id, options = shown(messages)
    return "ABCD"[options.index(RIGHT[id])]


def nothing(messages):
    return "none"


class Server(FunctionBackend):
    """A function that is asked as a server is: each request is paid for."""

    billed_per_request = True

    def __init__(self, function):
        super().__init__(function)
        self.asked = []

    def answer(self, requests):
        self.asked += [(request.id, request.pass_name) for request in requests]
        yield from super().answer(requests)


def test_a_question_is_asked_once_for_each_rotation(data):
    done = run(knows, data)
    assert [(item.id, item.pass_name, item.options, item.answer) for item in done.items[2:5]] == [
        ("q3", "main", ["Red", "Green", "Blue"], "A"),
        ("q3", "rotation:1", ["Blue", "Red", "Green"], "B"),
        ("q3", "rotation:2", ["Green", "Blue", "Red"], "C"),
    ]
    assert {item.label for item in done.items[2:5]} == {"Red"}
    assert [done.scores[key] for key in ("n_passes", "circular_accuracy", "vanilla_accuracy")] == [9, 1.0, 1.0]


def test_servers_are_asked_no_further_after_a_wrong_pass(data):
    def model(messages):
        id, options = shown(messages)
        return knows(messages) if id == "q2" or (id == "q4" and options[0] != "Hen") else "none of them"

    server, everything = Server(model), Server(model)
    done, complete = run(server, data), run(everything, data, early_stop=False)
    first = [("q2", "main"), ("q3", "main"), ("q4", "main")]
    assert server.asked == [*first, ("q2", "rotation:1"), ("q4", "rotation:1")] and len(everything.asked) == 9
    assert done.settings["early_stop"] is True and done.scores["distribution_over"] == "rotation 0"
    keys = ("circular_accuracy", "vanilla_accuracy", "circular_accuracy_ci95", "random_guess", "n_questions")
    assert [done.scores[key] for key in (*keys, "n_vanilla")] == [complete.scores[key] for key in (*keys, "n_vanilla")]
    # Where requests cost nothing, it can be asked for.
    assert [len(run(nothing, data, **given).items) for given in ({}, {"early_stop": True})] == [9, 3]


# Right answers are common, or hardly a question would be right in all passes.
FATES = st.sampled_from(
    ["right", "right", "judged right", "judged right", "wrong", "judged wrong", "X", "X", "lost", "empty"]
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fates=st.lists(FATES, min_size=len(PASSES), max_size=len(PASSES)),
    judged=st.booleans(),
    fallback=st.sampled_from(["wrong", "random"]),
    seed=st.integers(0, 99),
)
def test_early_stop_changes_no_score(data, fates, judged, fallback, seed):
    def letter(number, right):
        id, options = PASSES[number]
        return "ABCD"[[option == RIGHT[id] for option in options].index(right)]

    def model(messages):
        id, options = shown(messages)
        number = PASSES.index((id, tuple(options)))
        if fates[number] in ("right", "wrong"):
            return letter(number, fates[number] == "right")
        return "" if fates[number] == "empty" else f"hm, number {number}"

    def judge(messages, n):
        number = int(re.findall(r"hm, number (\d)", messages[-1]["content"])[0])
        fate = fates[number].removeprefix("judged ")
        return [letter(number, fate == "right") if fate in ("right", "wrong") else fate] * n

    def score(early_stop):
        scores = run(
            model, data, early_stop=early_stop, fallback=fallback, judge=judge if judged else None, seed=seed
        ).scores
        keys = [f"{name}_accuracy{end}" for name in ("circular", "vanilla") for end in ("", "_ci95")]
        parts = [part["circular_accuracy"] for part in scores["by_category"].values()]
        return {key: scores[key] for key in (*keys, "n_questions", "dropped")}, parts

    assert score(True) == score(False)


class Failing(Server):
    """A server that gives no answer to some passes and a wrong one to others."""

    def __init__(self, fates):
        super().__init__(knows)
        self.fates = fates

    def answer(self, requests):
        for request in requests:
            fate = self.fates[PASSES.index((request.id, tuple(request.options)))]
            error = EndpointError("timed out") if fate == "failed" else None
            right = "ABCD"[request.options.index(RIGHT[request.id])]
            yield Response(request, text=None if error else right if fate == "right" else "none", error=error)


@pytest.mark.filterwarnings("ignore:category=")
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["right", "right", "wrong", "failed"]), min_size=len(PASSES), max_size=len(PASSES)))
@example(["right"] * 5 + ["wrong", "failed", "right", "right"])
@example(["right"] * 5 + ["right", "failed", "right", "wrong"])
@example(["right"] * 5 + ["failed"] * 4)
def test_early_stop_changes_no_score_of_a_server_that_fails(data, fates):
    def score(early_stop):
        result = run(Failing(fates), data, early_stop=early_stop, skip_bad=True)
        assert len(result.left_out) + result.scores["n_questions"] + result.scores["dropped"] == len(QUESTIONS)
        return {
            name: result.scores[name] for name in ("circular_accuracy", "vanilla_accuracy", "n_questions", "dropped")
        }

    by_question = [[fate for fate, (of, _) in zip(fates, PASSES, strict=True) if of == id] for id in QUESTIONS]
    decided = [fates for fates in by_question if "wrong" in fates or "failed" not in fates]
    assume(decided and any(fates[0] != "failed" for fates in by_question))
    stopped = score(True)
    assert stopped == score(False)
    assert stopped["circular_accuracy"] == sum("wrong" not in fates for fates in decided) / len(decided)


def test_the_judge_that_stops_a_question_is_asked_once(data):
    """A judge that changes its mind cannot make the metric lack passes of a question."""
    asked = []

    def fickle(messages, n):
        asked.append(json.dumps(messages))
        return ["X" if len(asked) % 2 else "A"] * n

    done = run(Server(lambda messages: "the first"), data, judge=fickle)
    assert len(asked) == len(set(asked)) == len(done.items) == done.scores["judge_asked"]


def answers(**texts):
    """Rows for passes given as `q3_1="Red"`."""
    parts = [(*name.split("_"), text) for name, text in texts.items()]
    return [
        {"id": id, "pass": "main" if number == "0" else f"rotation:{number}", "text": text}
        for id, number, text in parts
    ]


COMPLETE = {"q2_0": "B", "q2_1": "A", "q3_0": "A", "q3_1": "B", "q3_2": "C"}


def test_right_passes_without_the_others_are_an_error_or_dropped(tmp_path, data):
    backend = predictions(tmp_path, answers(**COMPLETE, q4_0="C", q4_2="Cow"))
    with pytest.raises(DataError, match=r"'q4' has no rotation 1, 3, and its other passes are correct; .*--skip-bad"):
        run(backend, data)
    with pytest.warns(UndefinedScoreWarning, match="image style: circular_accuracy"):
        done = run(backend, data, skip_bad=True)
    assert (done.scores["circular_accuracy"], done.scores["n_questions"], done.scores["dropped"]) == (1.0, 2, 1)
    assert (done.scores["vanilla_accuracy"], done.scores["n_vanilla"]) == (1.0, 3)
    assert done.settings["missing"] == "drop" and not done.complete
    assert notes(done)["left_out_of_circular"] == {"questions": 1}


def test_a_question_without_a_usable_answer_is_an_error_or_left_out(tmp_path, data):
    others = [*answers(**COMPLETE), {"id": "q4", "text": "A", "options": ["Cat", "Dog", "Cow", "Pig"]}]
    for rows, reason in ((answers(**COMPLETE), "no prediction for id 'q4', pass 'main'"), (others, "differ from")):
        backend = predictions(tmp_path, rows)
        with pytest.raises(DataError, match=f"'q4'.*{reason}"):
            run(backend, data)
        done = run(backend, data, skip_bad=True)
        assert (done.scores["n_questions"], done.scores["dropped"]) == (2, 0)
        assert [item.id for item in done.left_out] == ["q4"]


def blind_run(folder, data, name="mmbench/en"):
    def solves_one(messages):
        return knows(messages) if shown(messages)[0] == "q3" else "A"

    return str(write(folder, [running.run(name, solves_one, data, blind=True)]))


def test_questions_that_are_solved_blind_are_removed(tmp_path, data):
    folder = blind_run(tmp_path / "blind", data)

    def model(messages):
        return knows(messages) if shown(messages)[0] != "q4" else "A"

    done = run(model, data, exclude_blind_solved=folder)
    assert done.scores["circular_accuracy"] == pytest.approx(2 / 3)
    rest = done.variants[WITHOUT_BLIND]
    assert (rest["circular_accuracy"], rest["n_questions"], rest["n_vanilla"]) == (0.5, 2, 2)
    assert rest["random_guess"] == pytest.approx((2**-2 + 4**-4) / 2)
    removal, blind = done.diagnostics["exclude_blind_solved"], done.settings["exclude_blind_solved"]
    assert removal == {"model": blind["model"], "removed": 1, "not_asked": 0, "of": 3}
    assert blind == {"model": blind["model"], "folder": "blind", "solved": 1, "of": 3}
    assert "solves_one" in blind["model"] and WITHOUT_BLIND not in run(model, data).variants


def test_another_run_is_no_blind_run(tmp_path, data):
    with pytest.raises(MissingFileError, match="every finished run has"):
        run(knows, data, exclude_blind_solved=str(tmp_path))
    seeing = write(tmp_path / "seeing", [run(knows, data)])
    with pytest.raises(UsageError, match=r"found: mmbench/en\. Run .*--set blind=true"):
        run(knows, data, exclude_blind_solved=str(seeing))
    other, server = blind_run(tmp_path / "other", data, name="mmbench/cn"), Server(knows)
    with pytest.raises(
        UsageError, match=r"no blind run of mmbench/en on .* \(given\); found .*: mmbench/cn on .* \(given\)"
    ):
        run(server, data, exclude_blind_solved=other)
    assert server.asked == []
    others = make_data(question=["What is q2?", "What is q3??", "What is q4?"])
    with pytest.raises(DataError, match=r"item 'q3'.*the blind run did not ask this question"):
        run(knows, others, exclude_blind_solved=blind_run(tmp_path / "blind", data))


def test_open_answers_are_graded(data):
    asked = []

    def model(messages):
        id, options = shown(messages)
        return knows(messages) if options else {"q2": "no it is not.", "q3": "crimson", "q4": "a hen"}[id]

    def judge(messages, n):
        asked.append(messages[-1]["content"])
        marks = {"no it is": 5, "crimson": 4, "a hen": 1}
        return [f"Score: {next(mark for text, mark in marks.items() if text in asked[-1])}"] * n

    done = run(model, data, grade_open_answers=True, judge=judge)
    marks = done.variants["grades of open answers"]
    assert (marks["mean_score"], marks["exact_match"], marks["n"]) == (pytest.approx(10 / 3), pytest.approx(1 / 3), 3)
    assert marks["by_category"]["OCR"]["mean_score"] == 4.5
    assert "What is q3?" in asked[1] and "Red" in asked[1]
    # The passes with options are scored as ever.
    assert (done.scores["circular_accuracy"], done.scores["n_passes"]) == (1.0, 9)
    assert [item.label for item in done.items if item.pass_name == "open"] == list(RIGHT.values())
    seen = []
    server = Server(lambda messages: seen.append(messages) or model(messages))
    graded = run(server, data, grade_open_answers=True).variants["grades of open answers"]
    assert graded["judge"] == "lexical"
    # Asked without options.
    assert [pass_name for _, pass_name in server.asked[:6]] == ["main", "open"] * 3
    assert seen[3][0]["content"][1]["text"] == "Roses are red.\nWhat is q3?"
    with pytest.raises(UsageError, match="blind and grade_open_answers cannot be combined"):
        evaluator("mmbench/en", settings=dict(blind=True, grade_open_answers=True))


def test_the_agreement_with_human_labels(tmp_path, data):
    def agreement(name, text, **options):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return run(model, data, human_labels=str(tmp_path / name), **options)

    def model(messages):
        return {"q2": "B", "q3": "crimson", "q4": "some animal"}[shown(messages)[0]]

    def judge(messages, n):
        return ["A" if "crimson" in messages[-1]["content"] else "X"] * n

    lines = "id,pass,letter\nq2,,B\nq3,main,B\nq3,rotation:1,A\nq4,main,X\nq4,rotation:9,A\n"
    done = agreement("letters.csv", lines, judge=judge)
    result = done.diagnostics["extractor_agreement"]
    assert (result["all"]["agreement"], result["all"]["n"], result["unused"]) == (0.75, 4, 1)
    after = result["after_exact"]
    assert (after["agreement"], after["n"]) == (pytest.approx(2 / 3), 3)
    assert (after["one_says_x"], after["different_letters"]) == (0.0, pytest.approx(1 / 3))
    assert done.settings["human_labels"] == {"file": "letters.csv", "letters": 5}
    other = agreement("letters.jsonl", '{"id": "other", "letter": "A"}').diagnostics["extractor_agreement"]
    assert other == {"all": None, "after_exact": None, "unused": 1}
    server = Server(knows)
    (tmp_path / "twice.csv").write_text("id,letter\nq2,A\nq2,B\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"row 3.*repeated id 'q2' with pass 'main'"):
        run(server, data, human_labels=str(tmp_path / "twice.csv"))
    assert server.asked == []
