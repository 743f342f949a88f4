"""The page, its folder, its samples, and what stands side by side in it."""

import hashlib
import math
import re
from base64 import b64encode

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.report import samples, write_report
from eyechart.evaluators.report.cards import cards
from eyechart.evaluators.report.page import compare_runs
from eyechart.evaluators.report.reported_task import reported_tasks
from eyechart.evaluators.report.samples import collect_samples
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import evaluated, item
from tests.evaluators.report.conftest import PERCEPTION, choice, replaced, scored


def changed(**changes):
    return replaced(PERCEPTION, **changes)


def test_the_page_is_one_whole_file_that_asks_nothing_of_any_network(make_run, read_page):
    folder = make_run(PERCEPTION)
    path = write_report([folder])
    page = read_page(path)
    assert path.name == "report.html" and page.open == []
    for element, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "action", "data"):
            value = attributes.get(name)
            # Only a reader who follows a link leaves the page.
            is_link = (element, name) == ("a", "href") and str(value).startswith("https://")
            assert value is None or value.startswith(("#", "data:")) or is_link, attributes
    assert not re.search(r"url\((?!#)", page.text) and "@import" not in page.text
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; img-src data:")
    script = page.text.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page.text
    ids = [attributes["id"] for _, attributes in page.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    used = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page.text)
    assert {a or b for a, b in used} <= set(ids)
    assert all(set(attributes["aria-labelledby"].split()) <= set(ids) for attributes in page.all("svg"))
    assert page.all("figure") and "currentColor" in page.text
    # Figures and tables are files too.
    names = [f"{figure}.{end}" for figure in ("groups", "radar") for end in ("svg", "pdf", "png")]
    tables = ("table_7", "table_8", "stated_q_bench_perception_dev")
    names += [f"{table}.{end}" for table in tables for end in ("csv", "md", "tex")]
    listed = (folder / "report_files" / "written_by_eyechart.txt").read_text().splitlines()
    assert listed == [f"q_bench_perception_llvisionqa_dev_{name}" for name in names]
    assert all((folder / "report_files" / name).stat().st_size for name in listed)


SCORES = PERCEPTION.scores
CLUSTERED = {"accuracy": {"kind": "wilson-clustered", "units": 2}}
NO_INTERVAL = "65.00 to 85.00"


@pytest.mark.parametrize(
    ("fields", "texts", "missing"),
    [
        ({}, ["75.00 %", NO_INTERVAL, "the image is empty", "Bold: best, underlined: second."], []),
        ({"warnings": [f"warning {i}" for i in range(5000)]}, ["warning 19", "4,980 more warnings"], ["warning 20"]),
        ({"scores": {**SCORES, "intervals": CLUSTERED}}, ["robust to shared images", "accuracy (2 clusters)."], []),
        ({"scores": {**SCORES, "accuracy": math.nan, "accuracy_ci95": [math.nan] * 2}}, ["undefined"], ["NaN"]),
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
    (run,) = read_runs([make_run(changed(model="C:\\models\\vlm"))])
    assert run.label == "vlm"


def test_a_private_split_has_no_scores_and_no_verdicts(make_run, read_page, tmp_path):
    private = changed(scores=None, notes=[note("blind")], items=[choice("a", "A", answer="", choice="A")])
    page = read_page(write_report([make_run(private)]))
    assert page.holds(note("blind").text)
    (sample,) = page.samples["samples"]
    assert "correct" not in sample
    assert page.all("figure") == [] and not (tmp_path / "run" / "report_files").exists()


def test_long_answers_are_cut_where_the_page_would_grow(make_run, read_page, monkeypatch):
    monkeypatch.setattr(samples, "_TEXT_BUDGET", 60_000)
    predictions = [choice(f"{i:05}", "A" * 3_000, choice="A") for i in range(200)]
    page = read_page(write_report([make_run(changed(items=predictions))], samples=200, files=False))
    assert len(page.samples["samples"]) == 200 and len(page.text) < 8e5
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
    # Only of the task whose data are unknown.
    assert sum("no images: " in text for text in page.texts) == 1 and max(map(len, images)) < 1_500
    assert page.holds("51 of 61 samples shown, at most 50 per task: incorrect and unparsed replies first.")


def test_a_report_of_several_runs_leaves_the_page_of_each_as_it_is(make_run, tmp_path, monkeypatch):
    first, second = make_run(PERCEPTION), make_run(PERCEPTION, name="second")
    alone = write_report([first]).read_text()
    monkeypatch.chdir(tmp_path)
    done = invoke("report", first, second, "--no-files", "--samples", 1)
    assert done.output == "The report is in eyechart_report/report.html\n"
    assert (tmp_path / "eyechart_report" / "report.html").exists()
    assert (first / "report.html").read_text() == alone
    assert not (second / "report.html").exists()


def compared(folders):
    runs = read_runs(folders)
    return compare_runs(runs, reported_tasks(runs))


def samples_of(folders, limit):
    runs = read_runs(folders)
    return collect_samples(runs, reported_tasks(runs), limit)


def answers(right, name, **changes):
    """A run that answers some of 40 questions right."""
    predictions = [choice(f"q{i}", "A" if i < right else "B", choice="A" if i < right else "B") for i in range(40)]
    scores = {**PERCEPTION.scores, "accuracy": right / 40}
    return replaced(PERCEPTION, model=name, items=predictions, scores=scores, **changes)


@pytest.fixture
def three(make_run):
    return [make_run(answers(right, name), name=name) for right, name in ((36, "good"), (35, "fair"), (10, "poor"))]


def test_tests_say_which_runs_differ(three):
    found = compared(three)
    text = "good scored higher than poor (p < 0.0001); fair scored higher than poor (p < 0.0001)"
    assert found.verdicts == {text: ["Q-Bench A1 Perception (LLVisionQA, dev)"]}
    assert found.pairs == 3
    row = found.rows[1]
    assert row[2] == "good \N{MINUS SIGN} poor"
    assert row[3:6] == ("90.00 %", "25.00 %", "+65.00 points") and row[-2:] == ("26 / 0", "40")


def test_caveats_of_all_runs_are_said_once(make_run, read_page, tmp_path):
    one = replaced(PERCEPTION, notes=[note("blind")])
    other = replaced(PERCEPTION, model="other", notes=[note("blind"), note("average_incomplete")])
    page = read_page(
        write_report([make_run(one), make_run(other, name="other")], tmp_path / "new" / "both", files=False)
    )
    assert page.texts[0].startswith("some/model and other ")
    assert page.texts.count(note("blind").text) == 1 and page.holds(f"other: {note('average_incomplete').text}")


def test_answers_to_a_question_stand_together_and_disagreements_come_first(three):
    assert samples_of(three[:2], 30).part.endswith("disagreements, then incorrect and unparsed replies first.")
    found = samples_of(three, 30).rows
    assert [(row["id"], row["run"]) for row in found[:4]] == [("q10", 0), ("q10", 1), ("q10", 2), ("q11", 0)]
    assert [row["id"] for row in found[::3] if row.get("disagree")] == [f"q{i}" for i in range(10, 36)]


def test_options_in_another_order_are_the_same_choice(make_run):
    same = [choice("a", "A", choice="A"), choice("b", "A", choice="A")]
    turned = [choice("a", "B", choice="B", answer="B", options=["No", "Yes"]), choice("b", "B", choice="B")]
    both = [replaced(PERCEPTION, items=rows) for rows in (same, turned)]
    runs = [make_run(one, name=name) for one, name in zip(both, ("same", "turned"), strict=True)]
    rows = samples_of(runs, 9).rows
    assert {row["id"]: bool(row.get("disagree")) for row in rows} == {"a": False, "b": True}
    assert [row["options"] for row in rows if row["id"] == "a"] == [["Yes", "No"], ["No", "Yes"]]


def test_runs_are_called_by_the_names_that_are_given(three, read_page, tmp_path):
    names = ("--name", "A <b>", "--name", "B", "--name", "C")
    invoke("report", *three, "--out", tmp_path / "out", "--no-files", *names, code=0)
    page = read_page(tmp_path / "out" / "report.html")
    assert page.samples["runs"] == ["A <b>", "B", "C"] and page.texts[0].startswith("3 runs compared")
    with pytest.raises(UsageError, match=r"names is .*; give 3 different names, one per run in order"):
        write_report(three, names=["same", "same", "other"])
    assert page.holds("A <b> scored higher than C (p < 0.0001)") and not page.holds("good")


MINI = {"data": {"source": "synthetic demo data", "is_mini": True}}


@pytest.fixture
def card_scores(read_all):
    """The scores on the cards of a run, by the titles of their tasks."""

    def make(*evaluations, **others):
        head = cards(reported_tasks(read_all(*evaluations, **others)))
        return {score.task.title: score for scores in head.values() for score in scores}

    return make


def test_a_card_has_the_headline_its_interval_chance_and_the_best_published_value(card_scores):
    score = card_scores(PERCEPTION)["A1 Perception"]
    (value,) = score.values
    assert (score.task.headline.label, score.task.data) == ("accuracy", "LLVisionQA, dev")
    assert (value.text, value.between, score.chance) == ("75.00 %", "65.00 to 85.00 %", 0.5)
    # Q-Bench, Table 7: the highest of its models, not of its people or guesses.
    assert score.best_text == "65.35 %, InternLM-XComposer-VL (InternLM), Table 7"
    assert score.scale == (0, 1) and score.ticks == [(0, "0"), (0.5, "50"), (1, "100 %")]


@pytest.mark.parametrize(
    ("task", "dataset", "split", "scores", "published"),
    [
        ("q_bench/assessment", "spaq", "test", {"srcc": 0.5, "n": 9}, "0.730, InternLM-XComposer-VL"),
        ("ql_bench/single", "llsavisionqa", "dev", {"score_sa": 50.0, "n": 9}, "70.94 %, InternLM-XComposer2d5"),
        ("two_afc/coarse", "two_afc", "test", {"accuracy_all": 0.5, "n_pairs": 9}, "64.60 %, GPT-4V, Table II; "),
        ("q_bench/perception_pairs", "llvisionqa_pairs", "dev", {"accuracy": 0.5, "n": 9}, ""),
    ],
)
def test_the_best_published_value_is_of_the_same_data(card_scores, task, dataset, split, scores, published):
    (score,) = card_scores(scored(task, dataset, scores, split=split)).values()
    assert score.best_text.startswith(published) and bool(score.best) == bool(published)


def test_word_overlap_is_not_compared_with_published_values(card_scores):
    scores = {"sum": 3.0, "n": 9, "judge": "lexical"}
    score = card_scores(scored("q_bench/description", "lldescribe", scores, headline="sum"))["A2 Description"]
    assert score.best is None and score.note.startswith("Scored by word overlap")


def test_synthetic_data_are_named_once_at_the_top(make_run, read_page):
    both = [
        replaced(PERCEPTION, settings=MINI),
        evaluated("ql_bench/single", "llsavisionqa", scores={"score_sa": 50.0, "n": 9}),
    ]
    page = read_page(write_report([make_run(*both, name="both")], files=False))
    assert page.holds("Synthetic demo data (Q-Bench A1 Perception (LLVisionQA, dev)): not comparable")


@pytest.fixture
def sampled(make_run):
    return lambda evaluation, limit=100: samples_of([make_run(evaluation)], limit)


def verdicts(found):
    return {row["id"]: (row["step"], row.get("correct")) for row in found.rows}


def with_items(*predictions):
    return replaced(PERCEPTION, items=list(predictions), settings={})


def test_wrong_and_unmatched_ones_come_first_each_in_the_order_of_the_data(sampled):
    shown = sampled(PERCEPTION)
    assert list(verdicts(shown)) == ["wrong", "unmatched", "right", "judged"]
    assert [*verdicts(shown).values()] == [("exact", False), ("unparseable", False), ("exact", True), ("judge", True)]
    assert shown.part == "" and [note.rpartition(":")[2] for note in shown.notes] == [
        " the data are no longer at 'given'."
    ]
    assert shown.rows[0] == {
        **{"run": 0, "task": 0, "id": "wrong", "pass": "main", "answer": "A", "choice": "B", "step": "exact"},
        **{"question": "Is wrong sharp?", "text": "B", "options": ["Yes", "No"], "correct": False},
        **{"images": None, "disagree": False},
    }


def test_the_cap_is_for_each_task_and_noted(sampled):
    shown = sampled(PERCEPTION, limit=3)
    assert [row["id"] for row in shown.rows] == ["wrong", "unmatched", "right"]
    assert shown.part == "3 of 4 samples shown, at most 3 per task: incorrect and unparsed replies first."
    none = sampled(PERCEPTION, limit=0)
    assert none.rows == none.notes == [] and none.part == ""


@pytest.mark.parametrize(
    ("sample", "verdict"),
    [
        (choice("a", "?", answer=""), ("unparseable", None)),
        (choice("a", "", finish_reason="reasoning", step=None, correct=None), ("unfinished_reasoning", None)),
        (choice("a", None, choice="B", losses=[2.0, 1.0], loss_tokens=[1, 1]), ("option with the lowest loss", False)),
    ],
)
def test_private_answers_have_no_verdict_and_losses_are_named(sampled, sample, verdict):
    assert verdicts(sampled(with_items(sample))) == {"a": verdict}


def plain(id="a", **fields):
    return item(id, **{"text": "Sharp.", "question": None} | fields)


@pytest.mark.parametrize(
    ("columns", "step"),
    [
        ({"label": "Blurry.", "rounds": [[2, 1], [1, 1]], "completeness": 1.5}, "scored as text"),
        ({"label": "Blurry.", "rounds": [[2]], "completeness": 2.0, "finish_reason": "length"}, "cut_off"),
        ({"label": "Blurry.", "rounds": [[0]], "finish_reason": "refusal"}, "refused"),
        ({"label": ""}, "not scored: the reference is private"),
        ({"label": "2", "own_score": 0.5, "correct": True}, "numeric score"),
        ({"quality": 3.0, "quality_score": 4.0, "label": "3"}, "numeric score"),
        ({"logits": {"good": 1.0, "poor": 0.0}}, "numeric score"),
        ({"quality": 3.0, "text": "<think>It is"}, "unfinished_reasoning"),
    ],
)
def test_texts_are_judged_and_numbers_are_scores(sampled, columns, step):
    (row,) = sampled(with_items(plain(**columns))).rows
    assert row["step"] == step and "correct" not in row
    assert row.get("reference") == (None if "quality" in columns else columns.get("label", "Good"))
    assert row.get("judge_scores", {}) == {name: columns[name] for name in ("completeness",) if name in columns}
    assert (row.get("predicted"), row.get("human")) == (columns.get("quality_score"), columns.get("quality"))


def test_a_pair_is_one_sample_with_both_orders(sampled):
    """The choices name the images as the first order shows them."""

    def pair(id, choice, other, **fields):
        step = "unparseable" if other is None else "exact"
        first = plain(id=id, first_id="x", second_id="y", answer="first", choice=choice, step="exact", **fields)
        second = {"first_id": "y", "second_id": "x", "answer": "second", "choice": other, "step": step, "text": "Both."}
        return [first, plain(id=id, pass_name="reversed", **second)]

    pairs = [
        *pair("same", "first", "second", correct=True, consistent=True),
        *pair("unread", "first", None, correct=False, consistent=False),
        *pair("flipped", "second", "second", correct=False, consistent=False),
        *pair("equal", "first", "first", consistent=False),
    ]
    rows = sampled(with_items(*pairs)).rows
    found = {row["id"]: (row["choice"], row["swapped"].get("choice"), row.get("consistent")) for row in rows}
    # Incorrect, inconsistent and unparsed ones come first.
    assert list(found.items()) == [
        *[("unread", ("image 1", None, None)), ("flipped", ("image 2", "image 1", False))],
        *[("equal", ("image 1", "image 2", False)), ("same", ("image 1", "image 1", True))],
    ]
    assert {(row["text"], row["swapped"]["text"], row["answer"]) for row in rows} == {("Sharp.", "Both.", "image 1")}


def test_a_refused_question_says_what_came_of_it(sampled):
    first = choice("a", "C", choice="C", outcome="right refusal")
    forced = choice("a", "Perhaps.", pass_name="forced", step="judge", correct=None)
    rows = sampled(with_items(first, forced, choice("a", "C", choice="C", pass_name="rotation:1", correct=None))).rows
    assert {row["pass"]: row["step"] for row in rows} == {"main": "exact", "forced": "judge", "rotation:1": "exact"}
    assert {row["outcome"] for row in rows} == {"right refusal"}
