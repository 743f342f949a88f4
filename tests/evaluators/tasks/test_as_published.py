"""Runs as the papers did them: what that changes, and that the result says so."""

import json

import pytest
from typer.testing import CliRunner

from eyechart import metrics
from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.loading import options_in_force
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.data import DataRequest, LoadedData, load_data
from eyechart.evaluators.evaluation.options import RunOptions
from eyechart.evaluators.results.results_file import collect, read_results
from eyechart.evaluators.runs.folder import write_run
from eyechart.evaluators.runs.plan import check_judging, make_plan
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.evaluators.tasks.as_published import published_data_options, published_settings
from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.checks import misfits
from eyechart.metrics.scoring.choices.reading import random_choice
from tests.evaluators.command_line import invoke


class Judge:
    """Gives every conversation the same replies and counts what it is asked."""

    def __init__(self, reply):
        self.reply, self.asked = reply, []

    def __call__(self, messages, n):
        self.asked.append(n)
        return [self.reply] * n


def load(dataset):
    return LoadedData(dataset, "own data", "given", "given")


def run(task, model, data, judge=None, *, as_published=True, **settings):
    loaded = data if isinstance(data, LoadedData) else load(data)
    made = evaluator(task, settings=settings, judge=judge, as_published=as_published)
    return made.run(model if hasattr(model, "answer") else FunctionBackend(model), loaded)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_papers_settings_differ_from_the_defaults_and_are_in_force(task):
    for one in task.published:
        if one.of_data:
            assert options_in_force(task.data.datasets[0], task.data.config)[one.name] != one.value
        else:
            assert getattr(task.protocol, one.name) != one.value
            assert getattr(evaluator(task.name, as_published=True).protocol, one.name) == one.value


def test_what_each_paper_did_otherwise():
    found = {task.name: {one.name: one.value for one in task.published} for task in TASKS}
    judged = {task.name for task in TASKS if task.published_judge}
    pools = {"undefined_pools": "zero", "pairing": "released"}
    assert found == {
        **{name: {"judge_reads": "all"} for name in ("q_bench/perception", "q_bench/perception_pairs")},
        "q_bench/description": {},
        "q_bench/assessment": {"ties": "paper-code"},
        **{name: {"extraction": "strict", "fallback": "random"} for name in found if name.startswith("mmbench/")},
        **{name: {"unreadable_forced": "wrong"} for name in ("ql_bench/single", "ql_bench/pair")},
        **{name: {"extraction": "strict"} for name in found if name.startswith("aes_bench/")},
        "aes_bench/interpretation": {},
        "two_afc/coarse": {**pools, "mm21_scores": "released"},
        **{name: pools for name in ("two_afc/fine_levels", "two_afc/fine_types", "two_afc/fine_mos")},
    }
    assert judged == {name for name in found if name.startswith(("q_bench/", "mmbench/", "aes_bench/"))} - {
        "q_bench/assessment"
    }


def test_the_judge_reads_every_reply_five_times(questions):
    judge = Judge("Score: 1")
    found = run("q_bench/perception", lambda messages: "C. Poor", questions, judge)
    # Exact matching finds two of six right; the judge, who is not asked by default, says that all are.
    assert (found.scores["accuracy"], found.scores["judge_asked"], found.scores["judge_reads"]) == (1.0, 6, "all")
    assert found.scores["extraction"]["judge"] == 1.0 and judge.asked == [5] * 6
    assert {(line.step, line.correct) for line in found.items} == {("judge", True)}
    assert found.settings["as_published"] == {
        "judge_reads": {"published": "all", "default": "unmatched", "source": "Q-Bench, A.2.1"}
    }
    assert " ".join(found.caveats).startswith("As published: judge_reads=all (default unmatched).")
    default, idle = Judge("Score: 1"), None
    idle = run("q_bench/perception", lambda messages: "C. Poor", questions, default, as_published=False)
    assert idle.scores["accuracy"] == pytest.approx(1 / 3) and not default.asked
    assert "as_published" not in idle.settings and "judge_reads" not in idle.scores


def test_a_reply_that_the_judge_does_not_decide_counts_as_it_was_read(questions):
    found = run("q_bench/perception", lambda messages: "C. Poor", questions, Judge("well"))
    assert (found.scores["accuracy"], found.scores["judge_unscored"]) == (pytest.approx(1 / 3), 6)
    assert found.scores["extraction"]["exact"] == 1.0 and not found.complete
    assert "6 of the 6 replies put to it have no usable round and are scored as without a judge." in found.caveats[-1]


def test_what_the_judge_cannot_read_is_drawn_in_mmbench():
    data = load_data(get_task("mmbench/en"), DataRequest(is_mini=True))
    small = data.with_dataset(data.dataset.select(range(3)))
    found = run("mmbench/en", lambda messages: "some words", small, Judge("nothing to say"))
    assert found.scores["fallback"] == "random" and found.scores["extraction"]["random"] == 1.0
    rows = small.dataset.to_list()
    drawn = [random_choice(len(row["options"]), 0, row["id"]) == row["answer"] for row in rows]
    assert found.scores["vanilla_accuracy"] == pytest.approx(sum(drawn) / 3)
    assert found.settings["as_published"]["fallback"]["source"] == "MMBench, Sec. 3.2, step 3"


def test_an_unreadable_forced_reply_is_wrong_by_equation_3():
    options, letters = ["High", "Low", "I don't know"], iter("CCCA")
    metric = metrics.load("self_awareness")
    rows = {
        "predictions": list(letters),
        "references": ["A"] * 4,
        "choices": [options] * 4,
        "refusals": ["C"] * 4,
        "forced_predictions": ["B", "neither of them", "", None],
    }
    apart, wrong = metric.compute(**rows), metric.compute(**rows, unreadable_forced="wrong")
    # A missing reply counts as neither.
    assert (apart["score_rc"], wrong["score_rc"]) == (25.0, 50.0)
    assert wrong["score_sa"] == 75.0 and wrong["forced_unmatched"] == apart["forced_unmatched"] == 2
    assert wrong["unreadable_forced"] == "wrong" and "unreadable_forced" not in apart
    # An empty reply of a model is one, and no option.
    rows["forced_predictions"][2] = " "
    assert metric.compute(**rows, unreadable_forced="wrong")["score_rc"] == 75.0
    assert metric.compute(**rows)["score_rc"] == 25.0


@pytest.mark.filterwarnings("ignore:.*because every question was refused")
def test_ql_bench_needs_no_judge():
    rows = load_data(get_task("ql_bench/single"), DataRequest(is_mini=True)).dataset.select(range(4))
    said = {True: "I don't know", False: "hard to tell"}

    def model(messages):
        return said["I don't know" in messages[0]["content"][-1]["text"]]

    found = run("ql_bench/single", model, rows)
    assert found.scores["score_rc"] == 100.0 and found.scores["unreadable_forced"] == "wrong"
    said[False] = ""
    assert run("ql_bench/single", model, rows).scores["score_rc"] == 100.0
    assert run("ql_bench/single", model, rows, as_published=False).scores["score_rc"] == 0.0


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")
def test_undefined_pools_are_zero_and_pairs_those_of_the_authors_seeds(reference, tmp_path):
    answers = tmp_path / "answers.jsonl"
    task = get_task("two_afc/fine_levels")
    how = {"data_dir": reference / "two-afc", "images": "skip"}
    pairs = load_dataset("two_afc", "fine_levels", split="test", options={"pairing": "released"}, **how)
    # Never consistent on white noise, as IDEFICS-Instruct in Table IV, and right elsewhere.
    lines = []
    for row in pairs:
        better = "AB"[row["first_quality"] < row["second_quality"]]
        for name in ("main", "reversed"):
            text = better if name == "main" else "BA"["AB".index(better)]
            lines.append({"id": row["id"], "pass": name, "text": "A" if ".AWGN" in row["pool"] else text})
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = tmp_path / "out"
    data = ("--data-dir", reference / "two-afc", "--out", out)
    done = invoke("score", task.name, "--predictions", answers, *data, "--as-published", code=0)
    assert "As published: undefined_pools=zero (default leave_out), pairing=released (default random)." in " ".join(
        done.output.split()
    )
    (found,) = read_results(out).tasks
    assert found.settings["data"]["options"]["pairing"] == "released"
    assert found.settings["as_published"]["pairing"]["default"] == "random"
    assert found.scores["undefined_pools"] == "zero" and found.scores["n_undefined_pools"] == 4
    table = found.diagnostics["table"]
    assert table["AWGN"]["srcc"] == table["AWGN"]["plcc_fitted"] == 0.0 and table["JPEG"]["srcc"] > 0.8
    (average,) = found.diagnostics["averages"]
    assert average["srcc"] == pytest.approx(sum(row["srcc"] for row in table.values()) / 5)
    assert "srcc" not in average["undefined"]
    # A board takes neither.
    (board,) = [board for board in BOARDS if board.name == task.name]
    assert "run used --as-published; repeat the run without --as-published" in misfits(board, found)


def test_ties_are_ranked_as_the_released_code_does(tmp_path, reference):
    folder = reference / "kadis700k"
    rows = load_dataset("kadis700k", split="test", data_dir=folder, images="skip")
    answers = tmp_path / "answers.jsonl"
    lines = [
        {"id": name, "logits": {"good": 10 + place % 7 / 8, "poor": 9 + place % 5 / 8}}
        for place, name in enumerate(rows["id"])
    ]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    loaded = load_data(get_task("q_bench/assessment"), DataRequest(dataset="kadis700k", data_dir=folder, images="skip"))
    found = run("q_bench/assessment", PredictionsFileBackend(answers), loaded)
    assert (found.scores["ties"], found.settings["ties"]) == (
        "released",
        "paper-code",
    ) and "ties=exact" in found.variants
    assert found.settings["as_published"]["ties"]["default"] == "exact"
    scores = tmp_path / "scores.csv"
    scores.write_text("image,score\n" + "".join(f"{name},{place}\n" for place, name in enumerate(rows["id"])))
    # Scores have no ties of logits, so nothing was changed.
    assert run("q_bench/assessment", PredictionsFileBackend(scores), loaded).settings["as_published"] == {}


def test_a_paper_that_had_a_judge_is_not_repeated_without_one(questions):
    with pytest.raises(UsageError, match=r"as_published needs a judge for q_bench/perception.*Give --judge"):
        run("q_bench/perception", lambda messages: "A", questions)
    plan = make_plan(["ql_bench/single", "mmbench/en"], options=RunOptions(as_published=True))
    with pytest.raises(UsageError, match="as_published needs a judge for mmbench/en"):
        check_judging(plan, is_judged=False)
    check_judging(plan, is_judged=True)
    done = invoke("run", "q_bench/perception", "--as-published")
    assert done.exit_code == 2 and "needs a judge for q_bench/perception" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("q_bench/assessment", {"ties": "exact"}, "as_published and ties='exact' are both given"),
        ("mmbench/en", {"fallback": "wrong"}, "as_published and fallback='wrong' are both given"),
        ("q_bench/perception", {"rounds": 1}, "as_published and rounds=1 are both given"),
        ("q_bench/perception", {"shuffle_seed": 1}, "as_published and shuffle_seed=1 are both given"),
        ("q_bench/assessment", {"temperature": 1.0}, r"as_published and temperature=1\.0 are both given"),
        ("two_afc/coarse", {"aggregator": "trueskill"}, "as_published and aggregator='trueskill' are both given"),
    ],
)
def test_what_the_paper_decides_cannot_be_given_too(task, options, message):
    with pytest.raises(UsageError, match=message):
        evaluator(task, settings=options, as_published=True)


def test_data_that_are_not_the_papers_are_refused(reference, tmp_path):
    task = get_task("two_afc/fine_mos")
    assert published_data_options(task, {"mm21_dir": "x"}) == {"pairing": "released", "mm21_dir": "x"}
    with pytest.raises(UsageError, match="as_published and the data option rounds=3 are both given"):
        published_data_options(task, {"rounds": 3})
    (planned,) = make_plan([task.name], options=RunOptions(as_published=True))
    assert planned.data.options == {"pairing": "released"}
    with pytest.raises(UsageError, match="as_published and the data option pairing='random' are both given"):
        make_plan([task.name], DataRequest(options={"pairing": "random"}), RunOptions(as_published=True))
    loaded = load_data(task, DataRequest(data_dir=reference / "two-afc", images="skip"))
    scores = tmp_path / "scores.csv"
    names = {*loaded.dataset["first_id"], *loaded.dataset["second_id"]}
    scores.write_text("image,score\n" + "".join(f"{name},{place}\n" for place, name in enumerate(sorted(names))))
    with pytest.raises(UsageError, match=r"needs data loaded with pairing='released'; found 'random'\. Load it"):
        run(task.name, PredictionsFileBackend(scores), loaded)


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")
def test_settings_without_an_effect_are_not_listed(photographs):
    found = run("q_bench/assessment", lambda messages: "3", photographs.select(range(3)), prompt="numerical")
    assert found.settings["as_published"] == {} and "ties" not in found.settings
    assert " ".join(found.caveats).startswith("As published: no setting differs from the defaults.")


def test_closed_set_inference_has_no_judge_to_repeat(questions):
    made = evaluator("q_bench/perception", settings={"inference": "closed-set"}, as_published=True)
    assert published_settings(get_task("q_bench/perception"), made.protocol, "given", {}) == {}
    assert not made.protocol.is_judged


def test_compute_loads_the_papers_pairs():
    default, published = (
        evaluator("two_afc/fine_types", as_published=flag).load_data("mini:two_afc", subset="fine_types")
        for flag in (False, True)
    )
    assert list(default["first_id"]) != list(published["first_id"])


def test_boards_take_results_of_the_defaults_alone():
    assert all(board.settings["as_published"] == (None,) for board in BOARDS)


@pytest.mark.filterwarnings("ignore:.*because every question was refused")
def test_finished_runs_as_published_give_their_own_scores_again(tmp_path):
    """By what `compare` and `publish` read: with Eq. 3 an unreadable second reply is a right refusal."""
    rows = load_data(get_task("ql_bench/single"), DataRequest(is_mini=True)).dataset.select(range(12))
    said = {True: "I don't know", False: "hard to tell"}
    for name in ("a", "b"):
        done = run("ql_bench/single", lambda messages: said["I don't know" in messages[0]["content"][-1]["text"]], rows)
        write_run(tmp_path / name, collect([done], [], "2026-01-01"), [done])
    compared = CliRunner().invoke(app, ["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    assert compared.exit_code == 0 and "not compared" not in compared.output, compared.output
