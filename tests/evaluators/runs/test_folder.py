from eyechart.evaluators.results.results_file import collect, read_results
from eyechart.evaluators.runs.run import write_run
from tests.evaluators.finished_runs import evaluation


def test_files_of_a_run_that_was_here_before_are_removed(tmp_path):
    def write(previous=None, **files):
        contents = {f"{name}.json": content for name, content in files.items()}
        found = evaluation(files=list(contents), contents=contents)
        write_run(tmp_path / "run", collect([found], [], "2026-01-01"), previous)
        return read_results(tmp_path / "run")

    own = tmp_path / "run" / "q_bench" / "assessment" / "kadis700k"
    earlier = write(answers=b"old", more=b"old")
    (own / "notes.txt").write_text("mine")
    write(earlier, answers=b"new")
    assert {path.name: path.read_bytes() for path in own.iterdir()} == {"answers.json": b"new", "notes.txt": b"mine"}
    (tmp_path / "other.json").write_text("mine")
    file = tmp_path / "run" / "results.json"
    file.write_text(file.read_text().replace('"answers.json"', '"../../../../other.json"'))
    write(read_results(tmp_path / "run"))
    assert (tmp_path / "other.json").exists()
