"""Multiple choice without its images: what is asked, what images add, and where such runs are not taken."""

import json

import pytest
from PIL import Image

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.protocols.protocol import setting_fields
from eyechart.evaluators.protocols.settings import with_settings
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.tasks import TASKS, get_task
from tests.evaluators import running
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import write
from tests.evaluators.report.conftest import paper_tables
from tests.evaluators.running import notes

N = 48
ANSWERS = ["ABCD"[number % 4] for number in range(N)]
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
        ("q_bench/perception", "answer-mark", f"{Q_BENCH}\n#Answer:"),
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


def test_losses_are_compared_without_images_too():
    blind = with_settings(get_task("q_bench/perception").bound(), {"blind": True, "inference": "closed-set"}, "q")
    (request,) = blind.requests(ROW)
    assert (request.prompt, request.images) == (("Is it sharp? ",), ())
    assert (request.prefill, request.continuations) == ("#Answer:", tuple(ROW["options"]))
    assert blind.full_prompt_id == "q_bench_a1/2/closed-set/blind"


def test_every_multiple_choice_task_has_the_setting_and_no_other_has_it():
    has_it = {task.name for task in TASKS if "blind" in setting_fields(type(task.protocol))}
    assert has_it == {task.name for task in TASKS if task.protocol.kind == "multiple choice"}
    assert {*PROMPTS, "mmbench/en", "mmbench/cc"} <= has_it


def make_data(**changes):
    """Forty-eight questions with four options, right answers A B C D A B C D ..., each with its own image."""
    columns = {
        "id": [f"q{number}" for number in range(N)],
        "images": [[Image.new("RGB", (8, 8), (number,) * 3)] for number in range(N)],
        "question": [f"What is {number}?" for number in range(N)],
        "options": [["Good", "Fair", "Poor", "I don't know"]] * N,
        "answer": ANSWERS,
        **changes,
    }
    return running.loaded(running.dataset_of(columns))


@pytest.fixture(scope="module")
def data():
    return make_data()


def number_in(messages):
    text = "".join(part.get("text", "") for part in messages[0]["content"])
    return int(text.split("What is ")[1].split("?")[0])


def sees(messages):
    return any(part["type"] == "image" for part in messages[0]["content"])


def run(model, data, task="q_bench/perception", **given):
    return running.run(task, model, data, **given)


def knows(messages):
    return ANSWERS[number_in(messages)]


def looks(messages):
    """Knows all answers where it sees the image, and says A where it does not."""
    return knows(messages) if sees(messages) else "A"


def test_the_blind_run_says_how_it_was_asked(data):
    done = run(looks, data, blind=True)
    assert notes(done) == {"blind": {}}
    assert done.settings["blind"] is True
    assert done.scores["accuracy"] == 0.25
    assert "blind" in notes(run(looks, make_data(answer=[""] * N), blind=True))


def test_a_blind_run_of_mmbench_is_in_the_table_of_appendix_b(data, tmp_path):
    write(tmp_path, [run(looks, data, "mmbench/en", blind=True)])
    tables = paper_tables(read_runs([tmp_path]))
    assert [one.title.partition(":")[0] for one in tables] == ["MMBench, Appendix B, first table", "Position bias"]
    assert all(one.rows[0].labels[0].endswith("(without images)") for one in tables)


def test_a_blind_run_is_compared_with_one_that_sees_if_the_user_allows_it(data, tmp_path):
    folders = [write(tmp_path / str(blind), [run(looks, data, blind=blind)]) for blind in (True, False)]
    allowed = ("--allow", "blind", "--allow", "prompt_id")
    shown = invoke("compare", *folders, *allowed, columns=200, code=0).output
    assert all(number in shown for number in ("25.00", "100.00", "75.00"))


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
    for given, reason in (
        ('blind_prompt: "{image} {options}"', "blind_prompt: must contain {options}, and neither {image}"),
        ('blind_prompt: "{question}"', "blind_prompt: must contain {options}"),
        ('blind_prompt: "{answer} {options}"', "{answer} would show the label to the model"),
    ):
        with pytest.raises(UsageError, match=reason):
            evaluator(own_task(tmp_path, given))
