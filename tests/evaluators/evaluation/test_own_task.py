"""What `compute` refuses of a task of one's own, by the same checks as `eyechart run`."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import EyechartError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.data import DataRequest
from eyechart.evaluators.runs.plan import make_plan
from tests.evaluators.tasks.own_data import N_QUESTIONS, write_questions

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
DATA = "data: {path: my_questions.tsv}"


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Tasks beside the data that they name, or do not."""
    folder = tmp_path_factory.mktemp("own")
    for name in ("circular_tsv.yaml", "own_prompt.py"):
        shutil.copy(EXAMPLES / name, folder)
    text = (EXAMPLES / "circular_tsv.yaml").read_text(encoding="utf-8")
    assert DATA in text
    (folder / "named.yaml").write_text(text.replace(DATA, "data: {path: my_questions.tsv, split: val}"))
    (folder / "absent.yaml").write_text(text.replace(DATA, "data: {path: absent.tsv}"))
    write_questions(folder)
    return folder


def compute(file, **arguments):
    return evaluator(str(file)).compute(FunctionBackend(lambda messages: "A"), **arguments)


@pytest.mark.parametrize(
    ("file", "subset", "split", "message"),
    [
        ("circular_tsv.yaml", "photos", None, "dataset 'photos' of my_questions; available: my_questions"),
        ("circular_tsv.yaml", None, "tset", "unknown split 'tset' of my_questions; did you mean 'test'?"),
        ("own_prompt.py", None, "train", "unknown split 'train' of my_prompt; available: test"),
        ("named.yaml", None, "test", "unknown split 'test' of my_questions; available: val"),
        ("circular_tsv.yaml", None, "test[:3]", "unknown split 'test[:3]' of my_questions"),
        ("absent.yaml", None, None, "absent.tsv: the file does not exist"),
    ],
)
def test_what_own_data_lack_is_refused_in_the_words_of_a_run(own, file, subset, split, message):
    with pytest.raises(EyechartError) as refused:
        compute(own / file, subset=subset, split=split)
    assert message in str(refused.value)
    options = [text for name, value in (("--dataset", subset), ("--split", split)) if value for text in (name, value)]
    done = CliRunner().invoke(app, ["run", str(own / file), *options, "--out", str(own / "none")])
    # Among several tasks, it says nothing of one of them.
    assert message.replace("'photos' of my_questions", "'photos'") in " ".join(done.output.split())
    assert done.exit_code != 0 and not (own / "none").exists()


@pytest.mark.parametrize("data", ["mini", "mini:llvisionqa"])
def test_own_data_have_no_synthetic_ones(own, data):
    with pytest.raises(UsageError, match="'mini' is not available for your own task my_questions; leave it out"):
        compute(own / "circular_tsv.yaml", data=data)


@pytest.mark.parametrize(
    "names", [{}, {"subset": "my_questions"}, {"data": "my_questions"}, {"split": "test"}], ids=str
)
def test_the_names_of_own_data_are_taken(own, names):
    found = compute(own / "circular_tsv.yaml", **names)
    assert found["n_questions"] == N_QUESTIONS and found["is_mini"] is False


def test_another_file_may_be_another_split(own):
    (planned,) = make_plan(
        [str(own / "named.yaml")], DataRequest(split="test"), data_dirs=[str(own / "my_questions.tsv")]
    )
    assert planned.data.split == "test"


def test_a_run_as_published_is_of_a_papers_task(own):
    with pytest.raises(UsageError, match=r"as_published is only for tasks from papers; .* your own task my_questions"):
        evaluator(str(own / "circular_tsv.yaml"), as_published=True)
