import pytest

from eyechart.evaluators.results.results_file import collect
from eyechart.evaluators.runs.folder import are_replaced, write_run
from tests.evaluators.finished_runs import evaluated
from tests.evaluators.finished_task import evaluation


def test_files_of_a_run_that_was_here_before_are_removed(tmp_path):
    def write(**files):
        contents = {f"{name}.json": content for name, content in files.items()}
        found = evaluation(files=list(contents), contents=contents)
        write_run(tmp_path / "run", collect([found], [], "2026-01-01"), [found])

    own = tmp_path / "run" / "q_bench" / "assessment" / "kadis700k"
    write(answers=b"old", more=b"old")
    (own / "notes.txt").write_text("mine")
    write(answers=b"new")
    assert {path.name: path.read_bytes() for path in own.iterdir()} == {"answers.json": b"new", "notes.txt": b"mine"}
    (tmp_path / "other.json").write_text("mine")
    file = tmp_path / "run" / "results.json"
    file.write_text(file.read_text().replace('"answers.json"', '"../../../../other.json"'))
    write()
    assert (tmp_path / "other.json").exists()


OTHER = evaluated("aes_bench/empathy", "aesbench")


@pytest.mark.parametrize(
    ("previous", "new", "expected"),
    [
        ([evaluated()], [evaluated()], False),
        ([evaluated()], [evaluated(), OTHER], False),
        ([], [evaluated()], False),
        ([evaluated(), OTHER], [evaluated()], True),
        ([evaluated()], [OTHER], True),
        ([evaluated()], [evaluated(settings={"limit": 4})], True),
        ([evaluated(settings={"model": {"name": "a"}})], [evaluated(settings={"model": {"name": "b"}})], True),
        (
            [evaluated(settings={"judge": {"name": "j", "cost": 1.0}})],
            [evaluated(settings={"judge": {"name": "j", "cost": 2.0}})],
            False,
        ),
    ],
)
def test_results_are_replaced_by_those_of_other_tasks_settings_or_models(previous, new, expected):
    assert are_replaced(collect(previous, [], "2026-01-01"), collect(new, [], "2026-01-02")) is expected
