"""CircularEval on functions, files and servers whose answers are known."""

import json
import re

import datasets
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from PIL import Image

from eyechart.datasets_scripts.common.choice.rotations import rotate
from eyechart.datasets_scripts.common.errors import DataError, EndpointError, MissingFileError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.requests.types import Response
from eyechart.evaluators.results.results_file import collect, read_results
from eyechart.evaluators.runs.folder import write_run
from eyechart.evaluators.runs.table import note_lines
from eyechart.metrics.scoring.errors import UndefinedScoreWarning
from tests.evaluators.scripted_server import PATH, completion, json_response, refusal

QUESTIONS = {
    "q2": (["Yes it is", "No it is not"], "B", "OCR"),
    "q3": (["Red", "Green", "Blue"], "A", "OCR"),
    "q4": (["Cat", "Dog", "Cow", "Hen"], "C", "image style"),
}
RIGHT = {id: options["ABCD".index(letter)] for id, (options, letter, _) in QUESTIONS.items()}


def make_data(**changes):
    rows = {
        "id": list(QUESTIONS),
        "images": [[Image.fromarray(np.full((8, 8, 3), 40 * i, dtype=np.uint8))] for i in range(3)],
        "question": [f"What is {id}?" for id in QUESTIONS],
        "hint": ["", "Roses are red.", ""],
        "options": [options for options, _, _ in QUESTIONS.values()],
        "answer": [letter for _, letter, _ in QUESTIONS.values()],
        "category": [category for _, _, category in QUESTIONS.values()],
        **changes,
    }
    texts = {name: datasets.Value("string") for name in rows}
    features = {**texts, "images": datasets.Sequence(datasets.Image()), "options": datasets.Sequence(texts["id"])}
    return LoadedData(datasets.Dataset.from_dict(rows, datasets.Features(features)), "own data", "given", "given")


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


def run(model, data, *, options=None, judge=None, seed=0, name="mmbench/en", **how):
    task = evaluator(name, settings=dict(**(options or {})), judge=judge, seed=seed, **how)
    return task.run(FunctionBackend(model) if callable(model) else model, data)


class Server(FunctionBackend):
    """A function that is asked as a server is: each request is paid for."""

    billed_per_request = True

    def __init__(self, function):
        super().__init__(function)
        self.asked = []

    def answer(self, requests):
        self.asked += [(request.id, request.pass_name) for request in requests]
        yield from super().answer(requests)


def test_the_prompt_shows_image_hint_question_and_options():
    messages = []
    run(lambda given: messages.append(given) or "A", make_data())
    first, *_ = messages
    assert [part["type"] for part in first[0]["content"]] == ["image", "text"]
    end = "Please select the correct answer from the options above. \n"
    assert first[0]["content"][1]["text"] == (f"Question: What is q2?\nOptions:\nA. Yes it is\nB. No it is not\n{end}")
    assert messages[2][0]["content"][1]["text"] == (
        f"Hint: Roses are red.\nQuestion: What is q3?\nOptions:\nA. Red\nB. Green\nC. Blue\n{end}"
    )


def test_a_question_is_asked_once_for_each_rotation(data):
    done = run(knows, data)
    passes = [(row.id, row.pass_name, row.options, row.answer) for row in done.items[2:5]]
    assert passes == [
        ("q3", "main", ["Red", "Green", "Blue"], "A"),
        ("q3", "rotation:1", ["Blue", "Red", "Green"], "B"),
        ("q3", "rotation:2", ["Green", "Blue", "Red"], "C"),
    ]
    assert done.scores["n_passes"] == 2 + 3 + 4
    assert (done.scores["circular_accuracy"], done.scores["vanilla_accuracy"]) == (1.0, 1.0)


def test_circular_and_vanilla_come_from_one_run(data):
    done = run(lambda messages: "A", data)
    # Right in the first pass alone: q3.
    assert (done.scores["circular_accuracy"], done.scores["vanilla_accuracy"]) == (0.0, pytest.approx(1 / 3))
    assert done.scores["random_guess"] == pytest.approx((2**-2 + 3**-3 + 4**-4) / 3)
    assert done.scores["by_category"]["OCR"]["vanilla_accuracy"] == 0.5
    # Columns that the data lack group nothing.
    assert "by_l1_category" not in done.scores
    assert [row.correct for row in done.items] == [
        False,
        True,
        True,
        *[False, False],
        *[False] * 2,
        True,
        False,
    ]


def test_servers_are_asked_no_further_after_a_wrong_pass(data):
    def model(messages):
        id, options = shown(messages)
        return knows(messages) if id == "q2" or (id == "q4" and options[0] != "Hen") else "none of them"

    server = Server(model)
    done = run(server, data)
    assert server.asked == [
        *(("q2", "main"), ("q3", "main"), ("q4", "main")),
        *(("q2", "rotation:1"), ("q4", "rotation:1")),
    ]
    assert done.settings["early_stop"] is True
    assert done.scores["distribution_over"] == "rotation 0"
    everything = Server(model)
    complete = run(everything, data, options={"early_stop": False})
    assert len(everything.asked) == 9
    for key in (
        "circular_accuracy",
        "vanilla_accuracy",
        "circular_accuracy_ci95",
        "random_guess",
        "n_questions",
        "n_vanilla",
    ):
        assert done.scores[key] == complete.scores[key], key


def test_early_stop_can_be_asked_for_where_requests_cost_nothing(data):
    assert len(run(lambda messages: "none", data).items) == 9
    assert len(run(lambda messages: "none", data, options={"early_stop": True}).items) == 3


PASSES = [(id, rotate(options, place)) for id, (options, _, _) in QUESTIONS.items() for place in range(len(options))]
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
        options = {"early_stop": early_stop, "fallback": fallback}
        return run(model, data, options=options, judge=judge if judged else None, seed=seed).scores

    stopped, complete = score(True), score(False)
    for key in (
        "circular_accuracy",
        "vanilla_accuracy",
        "circular_accuracy_ci95",
        "vanilla_accuracy_ci95",
        "n_questions",
        "dropped",
    ):
        assert stopped[key] == complete[key], key
    for value, part in complete["by_category"].items():
        assert stopped["by_category"][value]["circular_accuracy"] == part["circular_accuracy"]


def test_the_judge_that_stops_a_question_is_asked_once(data):
    """A judge that changes its mind cannot make the metric lack passes of a question."""
    told = []

    def fickle(messages, n):
        told.append(messages)
        return ["X" if len(told) % 2 else "A"] * n

    done = run(Server(lambda messages: "the first"), data, judge=fickle)
    texts = [json.dumps(messages) for messages in told]
    assert len(texts) == len(set(texts)) == len(done.items)
    assert done.scores["judge_asked"] == len(done.items)


def nonzero(shares):
    return {name: share for name, share in shares.items() if share}


def test_three_steps_of_extraction(data):
    def model(messages):
        id, _ = shown(messages)
        return {"q2": knows(messages), "q3": "a crimson one", "q4": "no idea"}[id]

    def judge(messages, n):
        text = messages[-1]["content"]
        if "crimson" not in text:
            # The three other rotations of q4 have no reply that can be read.
            return ["X" if "Options: <data>A. Cat" in text else "no"] * n
        options = text.rpartition("Options:")[2]
        return [options[options.index("Red") - 3]] * n

    alone = run(model, data).scores
    assert nonzero(alone["extraction"]) == {"exact": 2 / 9, "unmatched": 7 / 9, "unparseable": 7 / 9}
    assert alone["circular_accuracy"] == pytest.approx(1 / 3)
    done = run(model, data, judge=judge, options={"fallback": "random"})
    assert nonzero(done.scores["extraction"]) == {"exact": 2 / 9, "judge": 4 / 9, "random": 3 / 9}
    assert done.scores["circular_accuracy"] == pytest.approx(2 / 3)
    assert (done.scores["judge_template"], done.scores["rounds"]) == ("mmbench_choice", 1)
    assert [row.step for row in done.items] == ["exact"] * 2 + ["judge"] * 4 + ["random"] * 3
    x = done.items[5]
    assert (x["id"], x["choice"], x["correct"]) == ("q4", None, False), "an answer, which matches no option"
    again = run(model, data, judge=judge, options={"fallback": "random"})
    assert [row.choice for row in again.items] == [row.choice for row in done.items]
    assert run(model, data, judge=judge, options={"rounds": 3}).scores["rounds"] == 3


def write_answers(path, answers):
    path.write_text("".join(json.dumps(row) + "\n" for row in answers), encoding="utf-8")
    return PredictionsFileBackend(path)


def answers(**texts):
    """Rows for passes given as `q3_1="Red"`."""
    rows = []
    for name, text in texts.items():
        id, _, place = name.partition("_")
        rows.append({"id": id, "pass": f"rotation:{place}" if place != "0" else "main", "text": text})
    return rows


COMPLETE = {"q2_0": "B", "q2_1": "A", "q3_0": "A", "q3_1": "B", "q3_2": "C"}


def test_a_wrong_pass_is_enough_whatever_else_is_missing(tmp_path, data):
    # Of q4 the first pass is missing too.
    backend = write_answers(tmp_path / "a.jsonl", answers(**COMPLETE, q4_2="C"))
    with pytest.warns(UndefinedScoreWarning, match="image style: vanilla_accuracy"):
        done = run(backend, data)
    assert done.scores["circular_accuracy"] == pytest.approx(2 / 3)
    assert (done.scores["n_questions"], done.scores["n_vanilla"], done.scores["dropped"]) == (3, 2, 0)
    assert done.left_out == []


def test_right_passes_without_the_others_are_an_error_or_dropped(tmp_path, data):
    backend = write_answers(tmp_path / "a.jsonl", answers(**COMPLETE, q4_0="C", q4_2="Cow"))
    with pytest.raises(
        DataError, match=r"question 'q4' has no rotation 1, 3, and its other passes are correct; .*--skip-bad"
    ):
        run(backend, data)
    with pytest.warns(UndefinedScoreWarning, match="image style: circular_accuracy"):
        done = run(backend, data, skip_bad=True)
    assert (done.scores["circular_accuracy"], done.scores["n_questions"], done.scores["dropped"]) == (1.0, 2, 1)
    assert (done.scores["vanilla_accuracy"], done.scores["n_vanilla"]) == (1.0, 3)
    assert done.settings["missing"] == "drop"
    assert not done.complete
    assert any("1 question left out of CircularEval: not every pass" in line for line in note_lines([done]))


def test_a_question_without_any_answer_is_an_error_or_left_out(tmp_path, data):
    backend = write_answers(tmp_path / "a.jsonl", answers(**COMPLETE))
    with pytest.raises(DataError, match=r"'q4'.*no prediction for id 'q4', pass 'main'"):
        run(backend, data)
    done = run(backend, data, skip_bad=True)
    assert (done.scores["n_questions"], done.scores["dropped"]) == (2, 0)
    assert [item.id for item in done.left_out] == ["q4"]


def test_an_answer_that_cannot_be_used_is_no_missing_one(tmp_path, data):
    rows = answers(**COMPLETE, q4_0="A")
    rows[-1] |= {"options": ["Cat", "Dog", "Cow", "Pig"]}
    backend = write_answers(tmp_path / "a.jsonl", rows)
    with pytest.raises(DataError, match=r"'q4'.*differ from the question's"):
        run(backend, data)
    assert [item.id for item in run(backend, data, skip_bad=True).left_out] == ["q4"]


def test_options_as_another_tool_showed_them_may_turn_the_other_way(tmp_path, data):
    rows = answers(q2_0="B", q2_1="A", q3_0="A", q3_1="B", q3_2="C", q4_0="D")
    rows[3]["options"], rows[4]["options"] = ["Blue", "Red", "Green"], ["Green", "Blue", "Red"]
    done = run(write_answers(tmp_path / "a.jsonl", rows), data)
    assert done.scores["circular_accuracy"] == pytest.approx(2 / 3)


def test_a_server_that_fails_in_a_later_pass_leaves_the_question_open(http):
    data = make_data(category=["OCR"] * 3)

    def respond(request):
        messages = json.loads(request.data)["messages"]
        id, options = shown(messages)
        return refusal(400) if (id, options[0]) == ("q4", "Dog") else json_response(completion(knows(messages)))

    http.expect_request(PATH, method="POST").respond_with_handler(respond)
    server = OpenAIBackend("m", EndpointOptions(base_url=http.url_for("/v1"), max_retries=0))
    with pytest.raises(DataError, match=r"item 'q4'.*400"):
        run(server, data)
    done = run(server, data, skip_bad=True)
    assert (done.scores["circular_accuracy"], done.scores["n_questions"], done.scores["dropped"]) == (1.0, 2, 1)
    assert ["400" in (line.error or "") for line in done.items if line.id == "q4"].count(True) == 1


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
        found = run(Failing(fates), data, options={"early_stop": early_stop}, skip_bad=True)
        assert len(found.left_out) + found.scores["n_questions"] + found.scores["dropped"] == len(QUESTIONS)
        return {
            name: found.scores[name] for name in ("circular_accuracy", "vanilla_accuracy", "n_questions", "dropped")
        }

    of_question = [[fate for fate, (of, _) in zip(fates, PASSES, strict=True) if of == id] for id in QUESTIONS]
    decided = [of_one for of_one in of_question if "wrong" in of_one or "failed" not in of_one]
    assume(decided and any(of_one[0] != "failed" for of_one in of_question))
    stopped = score(True)
    assert stopped == score(False)
    assert stopped["circular_accuracy"] == sum("wrong" not in of_one for of_one in decided) / len(decided)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "A",
        "A B C D",
        "word " * 10_000,
        "\x00\x07\x1b[31m",
        "答案很难说",
        '{"answer": null}',
        "<think>A</think>",
        "X",
    ],
    ids=["nothing", "letter", "all", "long", "control", "language", "json", "reasoning", "x"],
)
def test_bad_answers_are_counted(data, reply):
    done = run(lambda messages: reply, data)
    assert done.scores["circular_accuracy"] == 0.0
    assert done.scores["extraction"]["unmatched"] == (0.0 if reply == "A" else 1.0)
    assert done.scores["choice_distribution"]["predicted"]["none"] == done.scores["extraction"]["unmatched"]


def test_private_answers_are_asked_in_all_passes(data):
    private = make_data(answer=["", "", ""])
    server = Server(lambda messages: "A")
    done = run(server, private)
    assert len(server.asked) == 9
    assert done.scores is None and done.files == {}
    assert done.diagnostics["answer_file"] == {"passes": 9, "missing": 0, "changed": 0}
    assert not any("correct" in row for row in done.items)
    mixed = run(lambda messages: "A", make_data(answer=["", "A", "C"]))
    assert mixed.scores["n_questions"] == 2


def test_settings_say_how_it_was_asked(data):
    done = run(knows, data, options={"fallback": "random", "max_new_tokens": 64}, seed=3)
    expected = {"prompt_id": "mmbench/2", "blind": False, "early_stop": False, "fallback": "random", "seed": 3}
    expected |= {"missing": "error", "max_new_tokens": 64, "exclude_blind_solved": None, "human_labels": None}
    assert expected.items() <= done.settings.items()
    with pytest.raises(UsageError, match="unknown setting 'shuffle_seed' of mmbench/en"):
        evaluator("mmbench/en", settings=dict(shuffle_seed=1))


def test_a_blind_run_shows_no_image(data):
    seen = []
    done = run(lambda messages: seen.append(messages) or knows(messages), data, options={"blind": True})
    (content,) = seen[2][0]["content"]
    assert content["type"] == "text"
    assert content["text"].startswith("\nYou are an AI assistant which is designed to answer questions from people.\n")
    assert "so you need to try your best to hallucinate the image.\n" in content["text"]
    asked = "<question begins> Roses are red.\nWhat is q3? <question ends>"
    assert (
        f"Question: {asked}; \n\nChoices: <choices begin> A. Red\nB. Green\nC. Blue <choices end>. \n\n"
        in (content["text"])
    )
    assert content["text"].endswith("Your answer:\n")
    assert (done.settings["prompt_id"], done.settings["blind"]) == ("mmbench/2/blind", True)
    assert done.scores["circular_accuracy"] == 1.0


def test_a_blind_run_needs_no_image(data):
    none = data.with_dataset(data.dataset.remove_columns("images").add_column("images", [[], [], []]))
    assert run(knows, none, options={"blind": True}).scores["circular_accuracy"] == 1.0


def test_servers_are_asked_blind_without_images(http, data):
    bodies = []

    def respond(request):
        bodies.append(json.loads(request.data))
        return json_response(completion("A"))

    http.expect_request(PATH, method="POST").respond_with_handler(respond)
    server = OpenAIBackend("m", EndpointOptions(base_url=http.url_for("/v1"), max_retries=0))
    run(server, data, options={"blind": True})
    assert len(bodies) == 4
    assert {part["type"] for body in bodies for part in body["messages"][0]["content"]} == {"text"}


def blind_run(folder, data, model=None, name="mmbench/en"):
    def solves_one(messages):
        return knows(messages) if shown(messages)[0] == "q3" else "A"

    done = run(model or solves_one, data, options={"blind": True}, name=name)
    write_run(folder, collect([done], [], "2024-01-01"), [done])
    return str(folder)


def blind_model(folder):
    (task,) = read_results(folder).tasks
    assert " ".join(task.caveats) == "The model was not shown the images."
    return task.model


def test_questions_that_are_solved_blind_are_removed(tmp_path, data):
    folder = blind_run(tmp_path / "blind", data)

    def model(messages):
        return knows(messages) if shown(messages)[0] != "q4" else "A"

    done = run(model, data, options={"exclude_blind_solved": folder})
    assert done.scores["circular_accuracy"] == pytest.approx(2 / 3)
    rest = done.variants["without blind-solvable questions"]
    assert (rest["circular_accuracy"], rest["n_questions"], rest["n_vanilla"]) == (0.5, 2, 2)
    assert rest["random_guess"] == pytest.approx((2**-2 + 4**-4) / 2)
    assert done.diagnostics["exclude_blind_solved"] == {
        "model": blind_model(folder),
        "removed": 1,
        "not_asked": 0,
        "of": 3,
    }
    blind = done.settings["exclude_blind_solved"]
    assert blind == {"model": blind_model(folder), "folder": "blind", "solved": 1, "of": 3}
    assert "without blind-solvable questions" not in run(model, data).variants


def test_nothing_is_scored_where_all_questions_are_solved_blind(tmp_path, data):
    done = run(knows, data, options={"exclude_blind_solved": blind_run(tmp_path / "blind", data, knows)})
    assert done.variants == {}
    assert done.diagnostics["exclude_blind_solved"]["removed"] == 3


def test_another_run_is_no_blind_run(tmp_path, data):
    with pytest.raises(MissingFileError, match="folder of a finished run"):
        run(knows, data, options={"exclude_blind_solved": str(tmp_path)})
    seeing = run(knows, data)
    write_run(tmp_path / "seeing", collect([seeing], [], "2024-01-01"), [seeing])
    with pytest.raises(UsageError, match=r"found: mmbench/en\. Run .*--set blind=true"):
        run(knows, data, options={"exclude_blind_solved": str(tmp_path / "seeing")})
    other = blind_run(tmp_path / "other", data, name="mmbench/cn")
    server = Server(knows)
    with pytest.raises(UsageError, match=r"no blind run of mmbench/en \(given\); found .*: mmbench/cn \(given\)"):
        run(server, data, options={"exclude_blind_solved": other})
    assert server.asked == []
    others = make_data(question=["What is q2?", "What is q3??", "What is q4?"])
    with pytest.raises(DataError, match=r"item 'q3'.*the blind run did not ask this question"):
        run(knows, others, options={"exclude_blind_solved": blind_run(tmp_path / "blind", data)})
    done = run(knows, others, options={"exclude_blind_solved": str(tmp_path / "blind")}, skip_bad=True)
    # Of q3 the blind run knows only another question.
    assert (
        done.diagnostics["exclude_blind_solved"]["removed"],
        done.diagnostics["exclude_blind_solved"]["not_asked"],
    ) == (0, 1)
    assert done.variants["without blind-solvable questions"]["n_questions"] == 2
    (tmp_path / "blind" / "results.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be read as results"):
        run(knows, data, options={"exclude_blind_solved": str(tmp_path / "blind")})


def test_open_answers_are_graded(data):
    told = []

    def model(messages):
        id, options = shown(messages)
        return knows(messages) if options else {"q2": "no it is not.", "q3": "crimson", "q4": "a hen"}[id]

    def judge(messages, n):
        told.append(messages[-1]["content"])
        marks = {"no it is": 5, "crimson": 4, "a hen": 1}
        return [f"Score: {next(mark for text, mark in marks.items() if text in told[-1])}"] * n

    done = run(model, data, options={"grade_open_answers": True}, judge=judge)
    marks = done.variants["grades of open answers"]
    assert (marks["mean_score"], marks["exact_match"], marks["n"]) == (pytest.approx(10 / 3), pytest.approx(1 / 3), 3)
    assert marks["by_category"]["OCR"]["mean_score"] == 4.5
    assert "What is q3?" in told[1] and "Red" in told[1]
    # The passes with options are scored as ever.
    assert (done.scores["circular_accuracy"], done.scores["n_passes"]) == (1.0, 9)
    opened = [row for row in done.items if row.pass_name == "open"]
    assert [row.label for row in opened] == list(RIGHT.values())
    lexical = run(model, data, options={"grade_open_answers": True}).variants["grades of open answers"]
    assert lexical["judge"] == "lexical"


def test_open_answers_are_asked_without_options_and_needed(tmp_path, data):
    seen = []
    server = Server(lambda messages: seen.append(messages) or "A")
    run(server, data, options={"grade_open_answers": True})
    assert [pass_name for _, pass_name in server.asked[:6]] == ["main", "open"] * 3
    assert seen[3][0]["content"][1]["text"] == "Roses are red.\nWhat is q3?"
    rows = [*answers(**COMPLETE, q4_0="A"), *({"id": id, "pass": "open", "text": "x"} for id in ("q2", "q3"))]
    with pytest.raises(DataError, match="id 'q4', pass 'open'"):
        run(write_answers(tmp_path / "a.jsonl", rows), data, options={"grade_open_answers": True})
    with pytest.raises(UsageError, match="blind and grade_open_answers cannot be combined"):
        evaluator("mmbench/en", settings=dict(blind=True, grade_open_answers=True))


def test_the_agreement_with_human_labels(tmp_path, data):
    def model(messages):
        return {"q2": "B", "q3": "crimson", "q4": "some animal"}[shown(messages)[0]]

    def judge(messages, n):
        return ["A" if "crimson" in messages[-1]["content"] else "X"] * n

    path = tmp_path / "letters.csv"
    path.write_text("id,pass,letter\nq2,,B\nq3,main,B\nq3,rotation:1,A\nq4,main,X\nq4,rotation:9,A\n", encoding="utf-8")
    done = run(model, data, judge=judge, options={"human_labels": str(path)})
    found = done.diagnostics["extractor_agreement"]
    assert (found["all"]["agreement"], found["all"]["n"], found["unused"]) == (0.75, 4, 1)
    after = found["after_exact"]
    assert (after["agreement"], after["n"]) == (pytest.approx(2 / 3), 3)
    assert (after["one_says_x"], after["different_letters"]) == (0.0, pytest.approx(1 / 3))
    assert done.settings["human_labels"] == {"file": "letters.csv", "letters": 5}
    lines = [{"id": "q2", "letter": "B"}, {"id": "q3", "pass": "rotation:2", "letter": "X"}]
    (tmp_path / "letters.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    options = {"human_labels": str(tmp_path / "letters.jsonl")}
    alone = run(model, data, options=options).diagnostics["extractor_agreement"]
    assert (alone["all"]["agreement"], alone["after_exact"]["n"]) == (1.0, 1)
    (tmp_path / "letters.jsonl").write_text('{"id": "other", "letter": "A"}')
    other = run(model, data, options=options).diagnostics["extractor_agreement"]
    assert other == {"all": None, "after_exact": None, "unused": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,pass\nq2,main\n", "letter"),
        ("id,letter\nq2,yes\n", "'letter' is 'yes'; expected a letter from A to Z"),
        ("id,letter\nq2,A\nq2,B\n", "row 3.*repeated id 'q2' with pass 'main'"),
        ("id,letter\n,A\n", "'id' is missing or empty"),
        ("id,letter\n", "the file of human labels is empty"),
    ],
    ids=["column", "letter", "twice", "no id", "empty"],
)
def test_malformed_human_labels_are_refused_before_anything_is_asked(tmp_path, data, text, message):
    path = tmp_path / "letters.csv"
    path.write_text(text, encoding="utf-8")
    server = Server(knows)
    with pytest.raises(DataError, match=message):
        run(server, data, options={"human_labels": str(path)})
    assert server.asked == []


def test_human_labels_of_another_kind_are_refused(tmp_path, data):
    with pytest.raises(MissingFileError):
        run(knows, data, options={"human_labels": str(tmp_path / "letters.csv")})
    (tmp_path / "letters.txt").write_text("q2 A", encoding="utf-8")
    with pytest.raises(DataError, match=r"are \.csv or \.jsonl files"):
        run(knows, data, options={"human_labels": str(tmp_path / "letters.txt")})


def test_replies_without_an_option_are_told_of_what_the_shares_cover(data):
    told = "{0} of {0} replies could not be parsed and count as incorrect."
    assert run(lambda messages: "none", data).caveats == [told.format(9)]
    assert run(lambda messages: "none", data, options={"early_stop": True}).caveats == [told.format(3)]


def test_a_judge_without_a_usable_reply_leaves_an_incomplete_result(data):
    done = run(knows, data, judge=lambda messages, n: ["B and C"] * n)
    assert (" ".join(done.caveats), done.complete) == ("", True), "nothing was put to it"
    done = run(lambda messages: "none", data, judge=lambda messages, n: ["B and C"] * n)
    assert done.scores["judge_unscored"] == 9 and not done.complete
    assert "gave no usable reply in 9 of 9 rounds" in " ".join(done.caveats)
