"""The page, its folder, and what stands side by side in it."""

import hashlib
import math
import re
from base64 import b64decode, b64encode

import pytest

from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.report import REPORT_FILE, samples, write_report
from eyechart.evaluators.report.page import side_by_side
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.evaluators.report.conftest import NONE, PERCEPTION, choice, replaced
from tests.evaluators.tasks.doors import scored


def changed(**changes):
    return replaced(PERCEPTION, **changes)


def test_the_page_is_one_file_that_asks_nothing_of_any_network(make_run, read_page):
    path = write_report([make_run(PERCEPTION)])
    page = read_page(path)
    assert path.name == "report.html" and page.open == []
    for _, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "action", "data"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), attributes
    assert not re.search(r"url\((?!#)", page.text) and "@import" not in page.text
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; img-src data:")
    script = page.text.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page.text


def test_ids_are_unique_and_every_reference_has_its_target(make_run, read_page):
    page = read_page(write_report([make_run(PERCEPTION)]))
    ids = [attributes["id"] for _, attributes in page.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    used = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page.text)
    assert {a or b for a, b in used} <= set(ids)
    for attributes in page.all("svg"):
        assert set(attributes["aria-labelledby"].split()) <= set(ids)
    # What browser tests and readers hold on to.
    assert {"summary", "paper-1", "samples", "settings", "left-out", "samples-table", "samples-search"} <= set(ids)
    key = "q_bench_perception_llvisionqa_dev"
    assert [a["data-chart"] for a in page.all("figure")] == [f"{key}_groups", f"{key}_radar"]
    tables = [(tag, attributes["data-table"]) for tag, attributes in page.elements if "data-table" in attributes]
    assert tables == [("details", f"{key}_table_7"), ("section", f"{key}_table_8")]
    assert [a["data-filter"] for a in page.all("input") if "data-filter" in a] == ["wrong", "unparsed", "judged"]


SCORES = PERCEPTION.scores
CLUSTERED = {"accuracy": {"kind": "wilson-clustered", "units": 2}}
NO_INTERVAL = "65.00 to 85.00"
REPEATS = {"count": 3, "mean": {"accuracy": 0.75}, "standard_deviation": {"accuracy": 0.02}}


@pytest.mark.parametrize(
    ("fields", "texts", "missing"),
    [
        ({}, ["75.00 %", NO_INTERVAL, "the image is empty", "Bold: best, underlined: second."], []),
        ({"settings": {"limit": 9}}, ["underlined: second; separately for the runs and the published ones."], []),
        ({"warnings": [f"warning {i}" for i in range(20)]}, ["warning 19"], ["more warnings"]),
        ({"warnings": [f"warning {i}" for i in range(5000)]}, ["warning 19", "4,980 more warnings"], ["warning 20"]),
        ({"scores": {**SCORES, "intervals": CLUSTERED}}, ["robust to shared images", "accuracy (2 clusters)."], []),
        ({"scores": {**SCORES, "accuracy": math.nan, "accuracy_ci95": [math.nan] * 2}}, ["undefined"], ["NaN"]),
        ({"scores": {**SCORES, "accuracy_ci95": None}}, ["75.00 %"], [NO_INTERVAL]),
        ({"diagnostics": {"repeats": REPEATS}}, ["SD of 3 repeats", "75.00 % ± 2.00 %", "No interval for mean"], []),
    ],
)
def test_a_page_shows_the_scores_and_what_limits_them(make_run, read_page, fields, texts, missing):
    page = read_page(write_report([make_run(changed(**fields))], files=False))
    assert all(map(page.holds, texts)) and not any(map(page.holds, missing))


def test_runs_of_the_same_model_are_told_apart_by_their_folders_or_places(make_run):
    runs = read_runs([make_run(PERCEPTION), make_run(PERCEPTION, name="again")])
    assert [run.label for run in runs] == ["some/model (run)", "some/model (again)"]
    runs = read_runs([make_run(PERCEPTION, name="first/run"), make_run(PERCEPTION, name="second/run")])
    assert [run.label for run in runs] == ["some/model (run), run 1", "some/model (run), run 2"]


@pytest.mark.parametrize("model", ["/home/me/checkpoints/vlm", "./vlm", "~/models/vlm/", "C:\\models\\vlm"])
def test_a_local_model_is_labelled_by_its_last_component(make_run, model):
    (run,) = read_runs([make_run(changed(model=model))])
    assert run.label == "vlm"


def test_a_run_without_a_task_has_a_report(make_run, read_page):
    page = read_page(write_report([make_run()], samples=0))
    assert page.holds("No task finished")
    assert page.samples["samples"] == []


def test_a_private_split_has_no_scores_and_no_verdicts(make_run, read_page, tmp_path):
    private = changed(scores=None, notes=[note("blind")], items=[choice("a", "A", answer="", choice="A")])
    page = read_page(write_report([make_run(private)]))
    assert page.holds(note("blind").text)
    (sample,) = page.samples["samples"]
    assert "correct" not in sample
    assert page.all("figure") == [] and not (tmp_path / "run" / "report_files").exists()


def test_wrong_use_is_refused(make_run, tmp_path):
    folder = make_run(PERCEPTION)
    with pytest.raises(UsageError, match="samples is -1"):
        write_report([folder], samples=-1)
    with pytest.raises(MissingFileError, match="does not exist"):
        write_report([tmp_path / "nothing"])
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_report([folder], tmp_path / "file")


def test_long_answers_are_cut_where_the_page_would_grow(make_run, read_page):
    predictions = [choice(f"{i:05}", "A" * 3_000, choice="A") for i in range(10_000)]
    page = read_page(write_report([make_run(changed(items=predictions))], samples=10_000, files=False))
    assert len(page.samples["samples"]) == 10_000 and len(page.text) < 5e6
    assert page.holds("Texts are cut after 62 characters; predictions.parquet has the full texts.")


def test_images_are_left_out_where_the_page_would_grow(make_run, read_page, monkeypatch):
    # For each of two tasks 3,000 characters, and at most 50 samples.
    monkeypatch.setattr(samples, "IMAGE_BUDGET", 6_000)
    loaded = load_data(get_task("q_bench/perception"), DataRequest(is_mini=True))
    predictions = [choice(id, "A", choice="A") for id in loaded.dataset["id"][:60]]
    run = make_run(
        changed(items=predictions, settings={"data": loaded.describe()}),
        changed(items=[choice("other", "A", choice="A")], dataset="other"),
    )
    page = read_page(write_report([run], files=False))
    places = [place for sample in page.samples["samples"][:-1] for place in sample.get("images") or [None]]
    images = page.samples["images"]
    assert sum(map(len, images[:-1])) < 3_000 <= sum(map(len, images))
    assert places == [*range(len(images)), *[None] * (50 - len(images))]
    assert page.holds(f"{50 - len(images)} images are left out to keep the page small")
    assert page.holds("Table 7: Perception, dev subset (LLVisionQA, dev)")
    # Only of the task whose data are unknown.
    assert sum("no images: " in text for text in page.texts) == 1 and max(map(len, images)) < 1_500
    assert page.holds("51 of 61 samples shown, at most 50 per task: incorrect and unparsed replies first.")


def test_data_that_are_gone_are_said_to_be_gone(make_run, read_page, tmp_path):
    settings = {"data": {"source": str(tmp_path / "gone"), "is_mini": False}}
    page = read_page(write_report([make_run(changed(settings=settings))], files=False))
    assert page.holds("the data are no longer at ")
    (tmp_path / "gone").mkdir()
    page = read_page(write_report([tmp_path / "run"], files=False))
    assert page.holds("the data can no longer be read: MissingFileError")


def test_a_report_of_several_runs_leaves_the_page_of_each_as_it_is(make_run, tmp_path, monkeypatch):
    first, second = make_run(PERCEPTION), make_run(PERCEPTION, name="second")
    alone = write_report([first]).read_text()
    monkeypatch.chdir(tmp_path)
    done = invoke("report", first, second, "--no-files", "--samples", 1)
    assert done.output == "The report is in eyechart_report/report.html\n"
    assert (tmp_path / "eyechart_report" / "report.html").exists()
    assert (first / "report.html").read_text() == alone
    assert not (second / "report.html").exists()


def test_figures_and_tables_are_files_too(make_run):
    folder = make_run(PERCEPTION)
    write_report([folder])
    names = [f"{figure}.{end}" for figure in ("groups", "radar") for end in ("svg", "pdf", "png")]
    names += [f"table_{number}.{end}" for number in (7, 8) for end in ("csv", "md", "tex")]
    content = {path.name: path.read_bytes() for path in (folder / "report_files").iterdir()}
    listed = content.pop("written_by_eyechart.txt").decode().splitlines()
    assert listed == [f"q_bench_perception_llvisionqa_dev_{name}" for name in names] and set(listed) == content.keys()
    for name, drawn in content.items():
        # 3.25 inches, of 300 pixels or 72 units each: a column of a paper.
        assert not name.endswith("png") or (drawn[:4] == b"\x89PNG" and int.from_bytes(drawn[16:20]) == 975)
        assert not name.endswith("pdf") or (drawn[:4] == b"%PDF" and b"/MediaBox [ 0 0 234 " in drawn)


def test_settings_are_compared_among_the_runs_that_have_the_task():
    rows = side_by_side([{"seed": 0, "data": {"rows": 9}}, None])
    assert rows == [("seed", ["0", NONE], False), ("data.rows", ["9", NONE], False)]
    rows = side_by_side([{"seed": 0, "prefill": "A", "limit": 9}, {"seed": 1, "limit": 9}])
    assert rows == [("seed", ["0", "1"], True), ("prefill", ["A", ""], True), ("limit", ["9", "9"], False)]


def test_a_run_has_its_report_with_images(tmp_path, read_page):
    rows = load_data(get_task("q_bench/perception"), DataRequest(is_mini=True)).dataset.select(range(3))
    wrong = "B" if rows["answer"][2] == "A" else "A"
    answers = zip(rows["id"], [*rows["answer"][:2], wrong], strict=True)
    lines = [{"id": id, "text": text} for id, text in answers]
    _, output = scored(tmp_path, "q_bench/perception", lines, "--mini", "--limit", 3)
    assert f"Report:  {tmp_path / 'scored' / REPORT_FILE}" in output
    page = read_page(tmp_path / "scored" / REPORT_FILE)
    assert [sample["correct"] for sample in page.samples["samples"]] == [False, True, True]
    images = [b64decode(image.removeprefix("data:image/webp;base64,")) for image in page.samples["images"]]
    assert len(images) == 3 and all(image[:4] == b"RIFF" and len(image) < 10_000 for image in images)
    assert not (tmp_path / "scored" / "report_files").exists()
