"""Multiple choice without its images: what is asked, what images add, and where such runs are not taken."""

import json

import pytest
from PIL import Image

from eyechart.datasets_scripts.common.errors import DataError, MissingFileError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.protocols.protocol import setting_fields
from eyechart.evaluators.protocols.settings import with_settings
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.runs.table import note_lines, score_table
from eyechart.evaluators.tasks import TASKS, get_task
from tests.evaluators import running
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import write
from tests.evaluators.report.conftest import paper_tables
from tests.evaluators.running import notes
from tests.evaluators.table_rows import table_rows

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


def gain_of(model, data, folder, task="q_bench/perception", **more):
    """The gain of a model whose blind run is in a folder."""
    write(folder, [run(model, data, task, blind=True)])
    return run(model, data, task, blind_run=str(folder), **more)


def always_a(messages):
    return "A"


def knows(messages):
    return ANSWERS[number_in(messages)]


def looks(messages):
    """Knows all answers where it sees the image, and says A where it does not."""
    return knows(messages) if sees(messages) else "A"


def guesses(messages):
    """Each letter as often whatever is right, and other ones without the image."""
    return "ABCD"[(number_in(messages) // (4 if sees(messages) else 12)) % 4]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (always_a, (0.0, 0.25, 0.0)),
        (knows, (0.0, 1.0, 0.75)),
        (looks, (0.75, 0.25, 0.0)),
        (guesses, (0.0, 0.25, 0.0)),
        (lambda messages: knows(messages) if sees(messages) else "I cannot see it.", (1.0, 0.0, -0.25)),
    ],
    ids=["always A", "knows all without images", "looks", "guesses", "refuses without images"],
)
def test_gain_and_leak_of_models_that_are_known(data, tmp_path, model, expected):
    done = gain_of(model, data, tmp_path)
    result = done.diagnostics["multimodal_gain"]
    assert tuple(result[name] for name in ("gain", "blind_score", "leak")) == expected
    assert result["gain"] == done.scores["accuracy"] - result["blind_score"]
    assert (result["random_guess"], result["n"], result["score"]) == (0.25, N, "accuracy")
    low, high = result["gain_ci95"]
    assert low < expected[0] < high or high == 1.0 == expected[0]
    assert result["intervals"]["gain"] == {"kind": "paired", "units": N}
    low, high = result["blind_score_ci95"]
    assert result["leak_ci95"] == pytest.approx([low - 0.25, high - 0.25])


def test_the_blind_run_says_how_it_was_asked(data):
    done = run(looks, data, blind=True)
    assert notes(done) == {"blind": {}}
    assert (done.settings["blind"], done.settings["blind_run"]) == (True, None)
    assert done.scores["accuracy"] == 0.25
    assert "blind" in notes(run(looks, make_data(answer=[""] * N), blind=True))


def test_questions_about_one_image_are_one_unit(tmp_path):
    image = [[Image.new("RGB", (8, 8), (number // 2,) * 3)] for number in range(N)]
    result = gain_of(looks, make_data(images=image), tmp_path).diagnostics["multimodal_gain"]
    assert result["intervals"]["gain"] == {"kind": "paired-clustered", "units": N // 2}


def test_the_gain_of_circular_eval_is_of_questions_right_in_every_pass(data, tmp_path):
    def reads(messages):
        text = messages[0]["content"][-1]["text"]
        right = ["Good", "Fair", "Poor", "I don't know"][number_in(messages) % 4]
        return right if sees(messages) or number_in(messages) < 12 else text.split("A. ")[1].split("\n")[0]

    done = gain_of(reads, data, tmp_path, "mmbench/en")
    result = done.diagnostics["multimodal_gain"]
    assert (result["gain"], result["blind_score"], result["score"]) == (0.75, 0.25, "circular_accuracy")
    assert result["random_guess"] == done.scores["random_guess"] == 4**-4


def test_the_gain_of_self_awareness_is_of_right_answers(tmp_path):
    """Without images the model refuses, which can be right, and is no right answer."""
    answers = ["ABC"[number % 3] for number in range(N)]
    data = make_data(answer=answers, refusal=["D"] * N)

    def refuses(messages):
        return answers[number_in(messages)] if sees(messages) else "I don't know"

    with pytest.warns(UserWarning, match="every question was refused"):
        done = gain_of(refuses, data, tmp_path, "ql_bench/single")
    result = done.diagnostics["multimodal_gain"]
    assert (result["gain"], result["blind_score"], result["score"]) == (1.0, 0.0, "score_cc")
    assert result["leak"] == pytest.approx(-1 / 3)
    (blind,) = read_results(tmp_path).tasks
    assert "blind" in notes(blind)


def test_what_cannot_be_compared(data, tmp_path):
    write(tmp_path / "seeing", [run(looks, data)])
    with pytest.raises(
        UsageError, match=r"blind_run='.*seeing' has no scores of a blind run; found: q_bench/perception"
    ):
        run(looks, data, blind_run=str(tmp_path / "seeing"))
    with pytest.raises(MissingFileError, match="blind_run must name the folder of a finished run"):
        run(looks, data, blind_run=str(tmp_path))
    gain_of(looks, data, tmp_path / "blind")
    folder = str(tmp_path / "blind")
    with pytest.raises(UsageError, match="blind and blind_run cannot be combined; leave out blind"):
        run(looks, data, blind=True, blind_run=folder)
    with pytest.raises(
        UsageError, match=r"has no blind run of aes_bench/empathy .*; found blind runs of: q_bench/perception"
    ):
        run(looks, data, "aes_bench/empathy", blind_run=folder)
    others = make_data(question=[f"What is {number}?" for number in range(N - 1)] + [f"What is {N - 1}? Say."])
    with pytest.raises(DataError, match=r"item 'q47'.*the blind run did not ask this question"):
        run(looks, others, blind_run=folder)
    assert run(looks, others, blind_run=folder, skip_bad=True).diagnostics["multimodal_gain"]["n"] == N - 1
    none = make_data(id=[f"other {number}" for number in range(N)])
    assert "multimodal_gain" not in run(looks, none, blind_run=folder, skip_bad=True).diagnostics


def test_table_and_report_show_the_gain(data, tmp_path):
    done = gain_of(looks, data, tmp_path / "blind").model_copy(update={"model": "seeing"})
    rows = {row["score"]: row for row in table_rows(score_table([done]))}
    assert {"score without images", "multimodal gain", "leak"} <= set(rows)
    gain = rows["multimodal gain"]
    # 37/50 - 1/50 = 0.72, give or take 1.96 sqrt((0.76 - 0.72^2) / 50).
    assert (gain["value"], gain["95 % interval"]) == ("75.00 %", "58.38 to 85.62")
    assert any("so the gain compares two models" in line for line in note_lines([done]))
    write(tmp_path / "seeing", [done])
    tables = paper_tables(read_runs([tmp_path / "seeing", tmp_path / "blind"]))
    (table,) = [one for one in tables if "Multimodal gain" in one.title]
    assert table.columns[1:3] == ["Without images (%)", "Gain (%)"]
    assert [cell.text for cell in table.rows[0].cells[:2]] == ["25.00", "75.00"]
    assert table.rows[0].cells[1].interval == "[58.38, 85.62]"
    seeing, blind = next(one for one in tables if "Position bias" in one.title).rows
    assert [cell.text for cell in seeing.cells] == [*["100.00"] * 4, "0.00", "0.00"]
    assert blind.labels[0].endswith("(without images)")
    assert [cell.text for cell in blind.cells[:5]] == ["100.00", "0.00", "0.00", "0.00", "43.30"]


@pytest.mark.slow
def test_the_flag_sets_it_for_all_multiple_choice(tmp_path):
    tasks = ("q_bench/perception", "ql_bench/single", "mmbench/en", "aes_bench/assessment")
    blind_run, out = tmp_path / "blind", tmp_path / "out"
    for options in (("--blind", "--out", blind_run), ("--set", f"blind_run={blind_run}", "--no-store", "--out", out)):
        invoke("run", *tasks, "--limit", 8, *options, code=0)
    for blind, seeing in zip(read_results(blind_run).tasks, read_results(out).tasks, strict=True):
        result = seeing.diagnostics["multimodal_gain"]
        of = 0.01 if result["score"] == "score_cc" else 1
        assert blind.settings["blind"] is True
        assert result["blind_score"] == pytest.approx(of * blind.scores[result["score"]])
        assert result["gain"] == pytest.approx(of * seeing.scores[result["score"]] - result["blind_score"])
    assert "Multimodal gain and leak" in (out / "report.html").read_text(encoding="utf-8")


def test_a_blind_run_of_mmbench_is_in_the_table_of_appendix_b(data, tmp_path):
    gain_of(looks, data, tmp_path, "mmbench/en")
    tables = paper_tables(read_runs([tmp_path]))
    assert [one.title.partition(":")[0] for one in tables] == ["MMBench, Appendix B, first table", "Position bias"]
    assert all(one.rows[0].labels[0].endswith("(without images)") for one in tables)


def test_the_flag_names_tasks_that_need_images(tmp_path):
    done = invoke("run", "aes_bench", "--blind", "--out", tmp_path / "out", code=2)
    assert "--blind is only for multiple choice; leave out aes_bench/interpretation" in done.output
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
