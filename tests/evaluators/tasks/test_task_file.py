import shutil
from pathlib import Path

import pytest
import yaml

from eyechart import evaluators
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.comparison.compare import compare
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.requests.types import IMAGE
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import find_tasks
from eyechart.evaluators.tasks.prompts import prompt_function
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import write
from tests.evaluators.report.conftest import paper_tables, task_charts
from tests.evaluators.tasks.doors import (
    N_PHOTOS,
    N_QUESTIONS,
    png,
    write_lines,
    write_pairs,
    write_photos,
    write_questions,
)

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """The examples beside the data that they name."""
    folder = tmp_path_factory.mktemp("own")
    for example in filter(Path.is_file, EXAMPLES.iterdir()):
        shutil.copy(example, folder)
    write_questions(folder)
    write_photos(folder)
    write_pairs(folder)
    return folder


def run(file, function):
    task = evaluator(str(file))
    return task.run(FunctionBackend(function), load_data(task.definition))


def write_task(folder, **changes):
    contents = yaml.safe_load((EXAMPLES / "circular_tsv.yaml").read_text(encoding="utf-8")) | changes
    path = folder / "task.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in contents.items() if value is not None}))
    return path


def test_examples_are_five_of_at_most_fifteen_lines():
    lengths = [len(path.read_text("utf-8").splitlines()) for path in EXAMPLES.iterdir() if path.is_file()]
    assert len(lengths) == 5 and max(lengths) <= 15


def test_questions_in_a_tsv_run_under_circular_eval(examples):
    result = run(examples / "circular_tsv.yaml", lambda messages: "A")
    # "A" is right in the first pass of every third question, and in no other pass of it.
    assert (result.scores["circular_accuracy"], result.scores["vanilla_accuracy"]) == (0.0, 1 / 3)
    # Four of the twelve questions have three options.
    assert (result.scores["n_questions"], result.scores["n_passes"]) == (N_QUESTIONS, 4 * 3 + 8 * 4)
    assert result.scores["random_guess"] == pytest.approx((4 * 3**-3 + 8 * 4**-4) / 12)
    assert result.scores["by_category"].keys() == {"hue", "tone"}
    assert (result.task, result.dataset, result.split) == ("my_questions", "my_questions", "test")
    assert len(result.settings["prompt_id"]) == len("my_questions/12345678")


def test_photos_with_opinion_scores_are_assessed(examples):
    def logits(messages, words):
        return {"good": 1.0, "poor": 0.0, "high": 0.0, "low": 1.0}

    task = evaluator(str(examples / "opinion_scores.yaml"))
    assert [pair.name for pair in task.protocol.word_pairs] == ["good/poor", "high/low"]
    with pytest.warns(UserWarning, match="constant"):
        result = task.run(FunctionBackend(logits), load_data(task.definition))
    assert result.scores["n"] == N_PHOTOS and "high/low" in result.variants
    assert result.settings["word_pair"] == "good/poor" and result.settings["prefill"] == "The quality of the image is"


def test_a_folder_whose_only_split_is_train_runs_without_naming_it(tmp_path):
    (tmp_path / "p").mkdir()
    for i in range(4):
        (tmp_path / "p" / f"{i}.png").write_bytes(png(i))
    write_lines(tmp_path / "p" / "metadata.jsonl", [{"file_name": f"{i}.png", "mos": i} for i in range(4)])
    path = tmp_path / "rate.yaml"
    path.write_text(
        "name: r\nprotocol: quality_assessment\ndata: {path: p}\ncolumns: {quality: mos}\n"
        "prompt: '{image} Rate it.'\nprefill: It is\nword_pairs: [good + fine/poor]\n"
    )
    invoke("run", path, "--out", tmp_path / "run", code=0)
    (result,) = read_results(tmp_path / "run").tasks
    assert result.split == "train" and result.scores["n"] == 4
    done = invoke("run", path, "--out", tmp_path / "none", "--split", "tran", code=2)
    assert "did you mean 'train'?" in done.output
    assert "splits: the only split, or else test" in invoke("tasks", path).output


def test_a_python_file_brings_a_prompt_of_its_own(examples):
    result = run(
        examples / "own_prompt.py", lambda messages: messages[0]["content"][-1]["text"].split(": ")[1].split(",")[0]
    )
    # The first option is right in every third question.
    assert result.scores["accuracy"] == 1 / 3 and result.scores["by_category"].keys() == {"hue", "tone"}
    assert (result.task, result.dataset, result.settings["prompt_id"]) == ("my_prompt", "my_prompt", "my_prompt/1")


def test_public_names_are_all_there():
    classes = set(evaluators.__all__) - {"IMAGE"}
    assert {getattr(evaluators, name).__name__ for name in classes} == classes and evaluators.IMAGE is IMAGE
    assert {protocol.__name__ for protocol in PROTOCOLS.values()} < classes


def test_a_report_made_in_another_folder_finds_the_images(examples, tmp_path, monkeypatch):
    monkeypatch.chdir(examples)
    invoke("run", "circular_tsv.yaml", "--limit", 2, "--out", tmp_path / "run", code=0)
    (result,) = read_results(tmp_path / "run").tasks
    assert result.settings["data"]["source"] == str(examples / "my_questions.tsv")
    monkeypatch.chdir(tmp_path)
    invoke("report", "run", "--out", "report", code=0)
    assert "data:image" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


def test_tasks_prints_an_own_task_in_full(examples):
    shown = invoke("tasks", examples / "circular_tsv.yaml", code=0)
    for text in ("my_questions", "<image>", "A. red", "Answer with the letter", "early_stop", "circular_accuracy *"):
        assert text in shown.output
    # It has no prompt for open answers; without images it asks in the words of its own prompt.
    assert "what the model sees, blind=true" in shown.output and "grade_open_answers" not in shown.output
    own, ours = (invoke("tasks", name).output for name in (examples / "own_prompt.py", "q_bench/perception"))
    assert "fallback" in own and "closed-set" not in own and "closed-set" in ours


DESCRIBE = """from eyechart.evaluators import IMAGE, Description, Task, TaskData

TASK = Task(
    name="mine",
    data=TaskData(("mine",), path="mine.jsonl"),
    protocol=Description(prompts={"default": lambda row: (IMAGE, "Describe it.")}, prompt_id="mine/1"),
    groups=("room",),
    headline="HEADLINE",
)
"""


def test_a_headline_of_ones_own_is_in_the_results_comparison_and_report(tmp_path):
    rows = [{"image": f"{i}.png", "description": "Dark and blurry.", "room": "ab"[i % 2]} for i in range(4)]
    for i in range(4):
        (tmp_path / f"{i}.png").write_bytes(png(i))
    write_lines(tmp_path / "mine.jsonl", rows)
    path = tmp_path / "mine.py"
    path.write_text(DESCRIBE.replace("HEADLINE", "sum"))
    texts = {"one": "It is dark.", "other": "It is sharp."}
    folders = [write(tmp_path / name, [run(path, lambda messages, text=text: text)]) for name, text in texts.items()]
    assert all(read_results(folder).tasks[0].headline == "sum" for folder in folders)
    (table,) = [table for table in paper_tables(read_runs(folders)) if "room" in table.title]
    (chart,) = [chart for chart in task_charts(read_runs(folders)) if " by " in chart.title]
    assert table.title.startswith("sum (0 to 6) by room") and chart.unit == "sum (0 to 6)"
    assert compare(*folders).differences[0].score == "sum (0 to 6)"
    path.write_text(DESCRIBE.replace("HEADLINE", "summ"))
    with pytest.raises(UsageError, match=r"mine\.py: unknown headline 'summ' of mine; did you mean 'sum'\?"):
        find_tasks(str(path))


MINE = """from eyechart.evaluators import IMAGE, MultipleChoice, Task, TaskData

def ask(row):
    return (IMAGE, row["question"])

DATA = TaskData(path="my_questions.tsv", columns={"images": "image", "options": ["A", "B", "C", "D"]})
TASK = Task(name="mine", data=DATA, protocol=MultipleChoice(prompts={"default": ask}, prompt_id="mine/1"))
"""


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("(IMAGE, row", "(row", r"the prompt of mine returns 'Which colour is 0\?'; expected a tuple"),
        ('["question"]', '["answer"]', r"\{answer\} would show the label"),
        ("(IMAGE, row", "(IMAGE, 1 / 0, row", r"the prompt of mine fails on row '1': ZeroDivisionError: division by"),
    ],
)
def test_a_prompt_of_ones_own_that_is_wrong_is_no_fault_of_a_row(examples, written, instead, message):
    path = examples / "mine.py"
    path.write_text(MINE.replace(written, instead))
    with pytest.raises(UsageError, match=message) as caught:
        run(path, lambda messages: pytest.fail("asked"))
    assert "skip" not in caught.value.explain()
    done = invoke("run", path, "--out", examples / "none", code=2)
    assert "Traceback" not in done.output and not (examples / "none").exists()


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("def ask", "1 / 0\ndef ask", "the task file cannot be run: ZeroDivisionError: division by zero"),
        ("def ask", "from eyechart.evaluators import evaluator\nevaluator('x')\ndef ask", "mine.py: unknown task 'x'"),
        ("data=DATA", "data=DATA, group='room'", "unknown key 'group'; did you mean 'groups'"),
        ('path="my_questions.tsv", ', "", "data of mine: missing path or datasets"),
        ('prompt_id="mine/1"', "prompt_id='mine/1', shufle_seed=3", "unknown key 'shufle_seed'; did you mean 'shuf"),
        (', prompt_id="mine/1"', "", "MultipleChoice: prompt_id: "),
        ('"default"', '"mine"', "unknown value 'default' of prompt; available: mine"),
    ],
)
def test_malformed_python_files_are_refused_in_plain_words(tmp_path, written, instead, message):
    path = tmp_path / "mine.py"
    path.write_text(MINE.replace(written, instead))
    with pytest.raises(UsageError, match=r"mine\.py") as caught:
        find_tasks(str(path))
    assert message in str(caught.value) and ("cannot be run" in str(caught.value)) == ("cannot be run" in message)


@pytest.mark.parametrize(
    ("template", "row", "expected"),
    [
        ("{images}\n{question}", {"images": [1, 2], "question": "Q"}, (IMAGE, IMAGE, "\nQ")),
        ("{image} {image}", {"images": [1, 2]}, (IMAGE, " ", IMAGE)),
        ("{question}\n{options}", {"question": "{x}", "options": ["a", "b"]}, ("{x}\nA. a\nB. b",)),
        ("{{}} {level}", {"level": 3}, ("{} 3",)),
    ],
)
def test_templates_become_prompts(template, row, expected):
    assert prompt_function(template)(row) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol": "circular"}, "unknown protocol 'circular'; did you mean 'circular_eval'?"),
        ({"prompt": "{images} {options} {0!r}"}, "is not a valid template"),
        ({"prompt": "{question} {options}"}, "prompt: the images are missing"),
        ({"prompt": "{images} {question}"}, "prompt: circular_eval needs {options}"),
        ({"promt": "x"}, "unknown key 'promt'; did you mean 'prompt'? Available: name, protocol, data, prompt"),
        ({"data": {"path": "a.tsv", "splt": "x"}}, "data: unknown key 'splt'; did you mean 'split'?"),
        ({"settings": {"erly_stop": True}}, "unknown setting 'erly_stop' of my_questions; did you mean 'early_stop'?"),
        ({"word_pairs": ["good/poor"]}, "protocol circular_eval does not take word_pairs"),
        *(({"word_pairs": [pair]}, f"found {pair!r}") for pair in ("good", "good+bad/bad")),
        *(
            ({"hint": hint}, f"hint: write a text with one {{}} for the hint, such as 'Hint: {{}} '; found {hint!r}")
            for hint in ("Hint", "{hint}", "{} {}")
        ),
        ({"data": {"path": "a.tsv", "empty": "N/A"}}, "data.empty: Input should be a valid list; found 'N/A'"),
        ({"protocol": "description"}, "description has no options; leave out"),
        ({"protocol": "quality_assessment", "prompt": "{images}", "groups": None, "cluster": "x"}, "leave cluster out"),
        ({"protocol": "paired_comparison", "prompt": "{images}"}, "groups: paired_comparison is broken down only by"),
        ({"name": "mmbench/en"}, "'mmbench/en' is the name of an eyechart task"),
    ],
)
def test_malformed_files_are_refused(tmp_path, changes, message):
    path = write_task(tmp_path, **changes)
    with pytest.raises(UsageError, match=r"task\.yaml") as caught:
        find_tasks(str(path))
    assert message in str(caught.value)


def test_a_missing_column_is_named_before_a_model_is_asked(examples, tmp_path):
    shutil.copy(examples / "my_questions.tsv", tmp_path)
    path = write_task(tmp_path, columns={"images": "picture", "options": ["A", "B"]})
    with pytest.raises((DataError, UsageError), match=r"missing column 'picture'.*found: index, image"):
        run(path, lambda messages: pytest.fail("asked"))
    with pytest.raises(UsageError, match="'ql_bench' means 2 tasks; name one of: ql_bench/single, ql_bench/pair"):
        evaluator("ql_bench")
