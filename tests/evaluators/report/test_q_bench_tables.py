"""Q-Bench's tables: rows of the paper, from scores that would give them, and real runs against other computations."""

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy import stats

from eyechart.datasets_scripts import mini
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.averages import with_averages
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import get_task
from tests.evaluators.finished_runs import dimension
from tests.evaluators.report.conftest import NONE, accuracies, scored

DATABASES = ("koniq10k", "spaq", "live_fb", "live_itw", "cgiqa6k", "agiqa3k", "kadid10k", "average")
HEADS = ("KonIQ-10k", "SPAQ", "LIVE-FB", "LIVE-itw", "CGIQA-6K", "AGIQA-3K", "KADID-10k", "Average")


def perception(**changes):
    scores = {
        **{"accuracy": 0.6007, "random_guess": 0.3794},
        "by_question_type": accuracies(["yes-or-no", "what", "how"], [64.60, 59.22, 55.76], [50, 28.48, 33.30]),
        "by_concern": accuracies(
            ["in-context other", "other", "distortion", "in-context distortion"],
            [73.76, 67.30, 47.98, 58.90],
            [37.10, 38.50, 37.24, 39.13],
        ),
    }
    return dataclasses.replace(scored("q_bench/perception", "llvisionqa", scores), **changes)


def test_q_bench_table_2(tables):
    (table,) = tables(perception())
    assert table.key == "q_bench_perception_llvisionqa_test_table_2"
    assert table.title.startswith("Q-Bench, Table 2: perception")
    concerns = ["Distortion (%)", "Other (%)", "In-context Distortion (%)", "In-context Other (%)"]
    assert table.columns[0] == "Model (variant)"
    assert table.groups == [
        ("Question Types", 1, ["Yes-or-No (%)", "What (%)", "How (%)"]),
        ("Quadrants of Low-level Concerns", 4, concerns),
        ("", 8, ["Overall (%)"]),
    ]
    assert table.rows == (
        ("chance level", "50.00", "28.48", "33.30", "37.24", "38.50", "39.13", "37.10", "37.94"),
        ("LLaVA-v1.5", "64.60", "59.22", "55.76", "47.98", "67.30", "58.90", "73.76", "60.07"),
    )


def test_the_dev_split_is_table_7_with_its_own_chance_level(tables):
    groups = ("yes-or-no", "what", "how"), ("distortion", "other", "in-context distortion", "in-context other")
    scores = {
        **{"accuracy": 0.5866, "random_guess": 0.3780},
        "by_question_type": accuracies(groups[0], [66.36, 58.19, 50.51], [50, 27.86, 33.31]),
        "by_concern": accuracies(groups[1], [49.42, 65.74, 54.61, 70.61], [37.89, 38.48, 38.28, 35.82]),
    }
    (table,) = tables(perception(split="dev", scores=scores))
    assert table.whole_title == "Q-Bench, Table 7: perception (LLVisionQA, dev)"
    assert table.rows == (
        ("chance level", "50.00", "27.86", "33.31", "37.89", "38.48", "38.28", "35.82", "37.80"),
        ("LLaVA-v1.5", "66.36", "58.19", "50.51", "49.42", "65.74", "54.61", "70.61", "58.66"),
    )


def test_pairs_are_not_called_single_images(tables):
    scores = perception().scores | {"yes_no": yes_no(0.75, 0.5)}
    found = tables(perception(task="q_bench/perception_pairs", split="dev", scores=scores))
    titles = ("Table 7: perception", "Table 8: yes/no questions")
    for table, title in zip(found, titles, strict=True):
        assert table.title == f"Q-Bench, {title}, for image pairs"
    # One of the real pairs has a single option, so that a guess is right more often than in half of them.
    assert [row[0] for row in found[1].rows] == ["LLaVA-v1.5"]


def test_q_bench_table_5_tells_closed_set_inference_from_the_normal_one(tables):
    closed = perception(settings={"inference": "closed-set"})
    main, table = tables(perception(), closed=closed)
    assert table.title.startswith("Q-Bench, Table 5")
    assert [row[0] for row in table.rows] == [
        "chance level",
        "LLaVA-v1.5 (run) (normal)",
        "LLaVA-v1.5 (closed) (close-set)",
    ]
    assert main.title.startswith("Q-Bench, Table 2")
    assert [row[0] for row in main.rows] == ["chance level", "LLaVA-v1.5 (run)"]
    assert [table.title[:16] for table in tables(closed)] == ["Q-Bench, Table 5"]


def yes_no(yes, no, both=0.6533, n_no=58):
    mean = None if None in (yes, no) else (yes + no) / 2
    return {"yes": yes, "no": no, "all": both, "mean": mean, "n_yes": 92, "n_no": n_no}


def test_q_bench_table_8_has_all_questions_between_the_two_answers(tables):
    scores = {"accuracy": 0.7, "random_guess": 0.38, "yes_no": yes_no(0.75, 0.5)}
    other = perception(
        model="other", split="dev", scores={"accuracy": 0.7, "yes_no": yes_no(1.0, None, both=1.0, n_no=0)}
    )
    _, table = tables(perception(split="dev", scores=scores), other=other)
    assert table.title.startswith("Q-Bench, Table 8: yes/no questions")
    assert table.columns == (
        "Model (variant)",
        "all (%)",
        "correct answer: Yes (%)",
        "correct answer: No (%)",
        "mean (%)",
        "de-biased #",
    )
    assert table.rows == (
        ("chance level", "50.00", "50.00", "50.00", "50.00", NONE),
        ("LLaVA-v1.5", "65.33", "75.00", "50.00", "62.50", "1"),
        ("other", "100.00", "100.00", NONE, NONE, NONE),
    )


def test_q_bench_table_3(tables):
    def judged(p0, p1, p2, score):
        return dimension(score, p0=p0 / 100, p1=p1 / 100, p2=p2 / 100)

    scores = {
        "relevance": judged(10.85, 60.34, 28.81, 1.18),
        "completeness": judged(27.48, 54.74, 17.78, 0.903),
        "preciseness": judged(30.51, 26.04, 43.45, 1.1294),
        "sum": 3.2123,
        "judge": "gpt-4",
    }
    (table,) = tables(scored("q_bench/description", "lldescribe", scores))
    assert table.rows[0][1:] == (
        *("27.48", "54.74", "17.78", "0.90", "30.51", "26.04", "43.45", "1.13"),
        *("10.85", "60.34", "28.81", "1.18", "3.21"),
    )
    assert table.columns[5] == "Precision: P_0 (%)" and table.columns[-1] == "Sum."
    assert table.note == "Judged by gpt-4."


def test_tables_7_and_8_of_the_real_dev_split(tables, reference, tmp_path):
    """A model that always says A, against counts from the release; the paper's chance level is truncated."""
    rows = json.loads((reference / "llvisionqa" / "llvisionqa_dev.json").read_text(encoding="utf-8"))
    data = load_data(get_task("q_bench/perception"), DataRequest(data_dir=reference / "llvisionqa", images="skip"))
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": id, "text": "A"}) + "\n" for id in data.dataset["id"]))
    done = evaluator("q_bench/perception").run(PredictionsFileBackend(answers), data)
    seventh, eighth, _ = tables(done)

    def share(chosen):
        return f"{100 * sum(row['candidates'][0] == row['correct_ans'] for row in chosen) / len(chosen):.2f}"

    by_type = [share([row for row in rows if row["type"] == kind]) for kind in range(3)]
    by_concern = [share([row for row in rows if row["concern"] == concern]) for concern in range(4)]
    assert seventh.rows[1][1:] == (*by_type, *by_concern, share(rows))
    paper = (50.00, 27.86, 33.31, 37.89, 38.48, 38.28, 35.82, 37.80)
    assert [float(cell) for cell in seventh.rows[0][1:]] == pytest.approx(paper, abs=0.0101)
    yes, no = ([row for row in rows if row["correct_ans"] == answer] for answer in ("Yes", "No"))
    assert (len(yes), len(no), {len(row["candidates"]) for row in yes + no}) == (315, 234, {2})
    assert eighth.rows[1][1:4] == (share(yes + no), share(yes), share(no))


def on_databases(scores, variants=None, **settings):
    """Results on databases and their average, of texts as the paper prints them: SRCC/PLCC in its order."""

    def of(text):
        return dict(zip(("srcc", "plcc"), map(float, text.split("/")), strict=True))

    columns = {name: text.split() for name, text in (variants or {}).items()}
    return [
        scored(
            "q_bench/assessment",
            database,
            of(text),
            settings={"word_pair": "good/poor", **settings, "data": {"source": database}},
            variants={name: of(texts[place]) for name, texts in columns.items()},
        )
        for place, (database, text) in enumerate(zip(DATABASES, scores.split(), strict=False))
    ]


# Table 11, LLaVA-v1.5 (13B), with the values of CGIQA-6K and AGIQA-3K under their own headings.
GOOD_POOR = "0.448/0.460 0.563/0.584 0.310/0.339 0.445/0.481 0.285/0.297 0.664/0.754 0.390/0.400 0.444/0.473"
HIGH_LOW = "0.456/0.482 0.529/0.553 0.286/0.306 0.489/0.513 0.276/0.284 0.683/0.752 0.316/0.331 0.434/0.460"
ENSEMBLE = "0.463/0.483 0.579/0.596 0.321/0.356 0.467/0.505 0.326/0.339 0.670/0.762 0.420/0.426 0.464/0.495"


def test_q_bench_table_4_leaves_open_what_a_run_lacks(tables):
    *parts, average = on_databases(GOOD_POOR)
    (table,) = tables(*parts, average)
    assert table.columns == ("Model / Dataset", *HEADS)
    assert table.rows == (("LLaVA-v1.5", *GOOD_POOR.split()),)
    assert table.key == "q_bench_assessment_average_test_table_4"
    parts[1].scores["srcc"] = None
    (table,) = tables(parts[1])
    assert table.rows == (("LLaVA-v1.5", f"{NONE}/{NONE}", f"{NONE}/0.584", *[f"{NONE}/{NONE}"] * 6),)


def test_databases_outside_the_paper_have_no_table_4(tables):
    assert tables(scored("q_bench/assessment", "csiq", {"srcc": 0.5, "plcc": 0.5})) == []


def test_q_bench_table_9_has_argmax_above_softmax(tables):
    # Table 9, mPLUG-Owl; it leaves CGIQA-6K out.
    argmax = "0.111/0.154 0.463/0.469 0.081/0.123 0.169/0.237 0.9/0.9 0.410/0.466 0.203/0.204 0.9/0.9"
    softmax = "0.409/0.427 0.634/0.644 0.241/0.271 0.437/0.487 0.9/0.9 0.687/0.711 0.466/0.486 0.9/0.9"
    _, table = tables(*on_databases(softmax, {"argmax": argmax}))
    assert table.title.startswith("Q-Bench, Table 9: argmax and softmax")
    assert table.columns == ("Model / Dataset", "Strategy", *HEADS[:4], *HEADS[5:7])
    assert table.rows == (
        ("LLaVA-v1.5", "argmax", *argmax.replace("0.9/0.9", "").split()),
        ("LLaVA-v1.5", "softmax", *softmax.replace("0.9/0.9", "").split()),
    )
    assert table.note == "From the logits of good↔poor."


@pytest.mark.parametrize("words", ["good/poor", "high/low"])
def test_q_bench_table_10_is_the_same_whichever_words_make_the_scores(tables, words):
    both = {"good/poor": GOOD_POOR, "high/low": HIGH_LOW}
    own = both.pop(words)
    _, table, _ = tables(*on_databases(own, both, word_pair=words))
    assert table.title.startswith("Q-Bench, Table 10")
    assert table.columns == ("Model / Dataset", "tokens", *HEADS[:4], *HEADS[5:7])

    def of_six(text):
        return [cell for place, cell in enumerate(text.split()[:7]) if place != 4]

    assert table.rows == (
        ("LLaVA-v1.5", "good↔poor", *of_six(GOOD_POOR)),
        ("LLaVA-v1.5", "high↔low", *of_six(HIGH_LOW)),
    )


def test_q_bench_table_11_has_a_row_for_each_ensemble(tables):
    variants = {"high/low": HIGH_LOW, "good+fine/poor+bad": ENSEMBLE}
    table = tables(*on_databases(GOOD_POOR, variants))[-1]
    assert table.title.startswith("Q-Bench, Table 11: ensembles of synonyms")
    assert table.columns == ("Model", "Prompt / Dataset", *HEADS)
    rows = {row[1]: row[2:] for row in table.rows}
    assert list(rows) == [
        *("good↔poor", "fine↔bad", "high↔low"),
        *("good+high↔poor+low", "good+fine↔poor+bad", "good+high+fine↔poor+low+bad"),
    ]
    assert rows["good↔poor"] == tuple(GOOD_POOR.split())
    assert rows["high↔low"] == tuple(HIGH_LOW.split())
    assert rows["good+fine↔poor+bad"] == tuple(ENSEMBLE.split())
    assert rows["fine↔bad"] == (f"{NONE}/{NONE}",) * 8


def test_results_of_other_words_in_one_run_are_another_row(tables):
    table, *_ = tables(*on_databases(GOOD_POOR), *on_databases(HIGH_LOW, word_pair="high/low"))
    assert table.rows == (
        ("LLaVA-v1.5, good↔poor", *GOOD_POOR.split()),
        ("LLaVA-v1.5, high↔low", *HIGH_LOW.split()),
    )


def test_the_tables_of_a_real_run_are_those_of_scipy(tables):
    """Cells from logits that are computed anew from the images, with words in which the answers differ."""
    seen, human, found = {}, {}, []

    def logits(messages, words):
        image = np.asarray(messages[0]["content"][1]["image"].convert("L"), dtype=float)
        deviation, mean = image.std() - 50, image.mean() - 128
        values = {word: math.sin(place) * deviation + math.cos(place) * mean for place, word in enumerate(words)}
        seen[database].append(values)
        return values

    for database in ("spaq", "kadid10k"):
        request = DataRequest(dataset=database, data_dir=mini.release(database), limit=40)
        data = load_data(get_task("q_bench/assessment"), request)
        seen[database], human[database] = [], data.dataset["quality"][:40]
        found.append(evaluator("q_bench/assessment").run(FunctionBackend(logits), data))
    fourth, ninth, tenth, eleventh = tables(*with_averages(found))

    def cell(database, positive, negative, strategy="softmax"):
        rows = seen[database]
        x = np.array([sum(row[w] for w in positive) - sum(row[w] for w in negative) for row in rows])
        q = (x > 0).astype(float) if strategy == "argmax" else 1 / (1 + np.exp(-x / 100))
        return "/".join(f"{measure(q, human[database]).statistic:.3f}" for measure in (stats.spearmanr, stats.pearsonr))

    none = f"{NONE}/{NONE}"
    good_poor = [cell(name, ["good"], ["poor"]) for name in seen]
    assert fourth.rows[0][1:] == (none, good_poor[0], *[none] * 4, good_poor[1], none)
    assert [row[3] for row in ninth.rows] == [cell("spaq", ["good"], ["poor"], "argmax"), good_poor[0]]
    assert [row[-1] for row in tenth.rows] == [good_poor[1], cell("kadid10k", ["high"], ["low"])]
    assert eleventh.rows[5][3] == cell("spaq", ["good", "high", "fine"], ["poor", "low", "bad"])
    assert eleventh.rows[5][8] == cell("kadid10k", ["good", "high", "fine"], ["poor", "low", "bad"])


def released(path):
    """The authors' file of logits, which separates its objects by nothing, as a predictions file's lines."""
    for line in path.read_text().replace("}{", "}\n{").splitlines():
        row = json.loads(line)
        logits = {name.removeprefix("logit_"): value for name, value in row.items() if name.startswith("logit_")}
        yield json.dumps({"id": row["img_path"], "logits": logits})


def test_the_published_cells_of_t5_come_out_of_its_released_logits(tables, reference, tmp_path):
    found = []
    for file, database in (("livec", "live_itw"), ("agi", "agiqa3k")):
        data = load_data(
            get_task("q_bench/assessment"),
            DataRequest(dataset=database, data_dir=reference / "q-bench-a3", images="skip"),
        )
        answers = tmp_path / f"{file}.jsonl"
        answers.write_text("\n".join(released(reference / "q-bench-a3-logits" / "instructblip_t5" / f"{file}.json")))
        options = {"word_pair": "high/low", "ties": "paper-code"}
        found.append(evaluator("q_bench/assessment", settings=options).run(PredictionsFileBackend(answers), data))
    fourth, _, tenth, eleventh = tables(*with_averages(found))
    none = f"{NONE}/{NONE}"
    assert fourth.rows[0][1:] == (*[none] * 3, "0.113/0.113", none, "0.378/0.400", none, none)
    assert [row[1:] for row in tenth.rows] == [
        ("good↔poor", *[none] * 3, "0.017/0.020", "0.264/0.281", none),
        ("high↔low", *[none] * 3, "0.113/0.113", "0.378/0.400", none),
    ]
    # The release has no logits of fine and bad.
    assert {row[1] for row in eleventh.rows if set(row[2:]) == {none}} == {
        *("fine↔bad", "good+fine↔poor+bad", "good+high+fine↔poor+low+bad"),
    }
