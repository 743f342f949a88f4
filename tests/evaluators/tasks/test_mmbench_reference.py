"""MMBench on the 4,377 real rows of its first dev file, against a few lines that read the TSV."""

import csv
import json
import math
from collections import Counter, defaultdict
from dataclasses import replace

import datasets
import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from eyechart.datasets_scripts.export import export
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data, undecoded_rows
from eyechart.evaluators.requests.types import Response
from eyechart.evaluators.tasks import get_task
from eyechart.metrics import load
from tests.evaluators import running
from tests.evaluators.finished_runs import write
from tests.evaluators.tasks.doors import write_lines

TASK = "mmbench/en"


@pytest.fixture(scope="module")
def table(reference):
    """The TSV: by question (index modulo 1,000,000) its rows in order."""
    csv.field_size_limit(10**8)
    with open(reference / "mmbench" / "MMBench_DEV_EN_20230712.tsv", encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file, delimiter="\t"), key=lambda row: int(row["index"]))
    questions = defaultdict(list)
    for row in rows:
        row["options"] = [row[letter] for letter in "ABCD" if row[letter]]
        questions[int(row["index"]) % 1_000_000].append(row)
    return questions


@pytest.fixture(scope="module")
def loaded(reference):
    return load_data(get_task(TASK), DataRequest(data_dir=reference / "mmbench"))


def expected(table, letter):
    """Questions of which all letters are right, and those of which the first is."""
    circular = sum(all(letter(row) == row["answer"] for row in rows) for rows in table.values())
    return circular, sum(letter(rows[0]) == rows[0]["answer"] for rows in table.values())


def check_shares(scores, table, letter):
    circular, vanilla = expected(table, letter)
    assert (scores["circular_accuracy"], scores["vanilla_accuracy"]) == (circular / 1176, vanilla / 1176)


class Rule(FunctionBackend):
    """Answers each pass by a rule over its options; each request is paid for, so questions stop early by default."""

    billed_per_request = True

    def __init__(self, rule):
        super().__init__(lambda messages: "")
        self.rule = rule
        self.asked = Counter()

    def answer(self, requests):
        for request in requests:
            self.asked[request.id] += 1
            yield Response(request, text=self.rule({"options": list(request.options)}))


RULES = {
    "always A": lambda row: "A",
    "always D": lambda row: "D",
    "the longest option": lambda row: "ABCD"[max(range(len(row["options"])), key=lambda i: len(row["options"][i]))],
    "the last option": lambda row: "ABCD"[len(row["options"]) - 1],
    "the first in the alphabet": lambda row: "ABCD"[row["options"].index(min(row["options"]))],
}


def test_all_questions_and_passes_load_and_export(reference, table, loaded, tmp_path):
    rows = undecoded_rows(loaded.dataset)
    assert (len(rows), sum(len(row["passes"]) for row in rows)) == (1176, 4377) and loaded.left_out == []
    shapes = Counter((len(row["options"]), len(row["passes"])) for row in rows)
    assert shapes == {(2, 2): 89, (3, 3): 96, (4, 3): 53, (4, 4): 938}
    for row in rows:
        official = table[int(row["question_id"])]
        shown = [(str(asked["index"]), asked["options"], asked["answer"]) for asked in row["passes"]]
        assert shown == [(asked["index"], asked["options"], asked["answer"]) for asked in official]
    folder = export("mmbench", "en", out=tmp_path / "export", data_dir=reference / "mmbench")
    again = datasets.load_dataset(str(folder), split="dev", cache_dir=str(tmp_path / "cache"))
    assert again["passes"][:] == loaded.dataset["passes"][:]
    assert again.remove_columns("images").to_list() == loaded.dataset.remove_columns("images").to_list()


@pytest.mark.parametrize("rule", list(RULES))
def test_rules_score_as_the_authors_would_score_them(table, loaded, rule):
    if rule in ("always A", "always D"):
        assert expected(table, RULES[rule]) == {"always A": (0, 404), "always D": (10, 200)}[rule]
    backend = Rule(RULES[rule])
    done = evaluator(TASK).run(backend, loaded)
    check_shares(done.scores, table, RULES[rule])
    assert done.scores["random_guess"] == pytest.approx(0.0257634, abs=5e-8)
    assert (done.scores["n_questions"], done.scores["dropped"]) == (1176, 0)
    assert done.settings["passes"] == "release" and done.complete
    # Asked until the first wrong pass.
    for question, rows in table.items():
        wrong = [RULES[rule](row) != row["answer"] for row in rows]
        assert backend.asked[f"dev-{question}"] == (wrong.index(True) + 1 if any(wrong) else len(rows))


def test_an_oracle_is_right_in_all_passes(table, loaded):
    answers = iter([row["answer"] for question in loaded.dataset["question_id"] for row in table[int(question)]])
    done = evaluator(TASK, settings=dict(early_stop=False)).run(FunctionBackend(lambda _: next(answers)), loaded)
    assert (done.scores["circular_accuracy"], done.scores["vanilla_accuracy"]) == (1.0, 1.0)
    assert (done.scores["n_questions"], done.scores["n_passes"]) == (1176, 4377)
    chances = [math.prod(1 / len(row["options"]) for row in rows) for rows in table.values()]
    assert done.scores["random_guess"] == pytest.approx(math.fsum(chances) / 1176, rel=1e-12)
    assert all(row.correct for row in done.items)


def test_the_metric_scores_the_rows_of_the_file_alone(table):
    rows = [row for of_question in table.values() for row in of_question]
    columns = {
        "references": [row["answer"] for row in rows],
        "choices": [row["options"] for row in rows],
        "question_ids": [int(row["index"]) % 1_000_000 for row in rows],
        "rotations": [int(row["index"]) // 1_000_000 for row in rows],
    }
    metric = load("circular_eval")
    oracle = metric.compute(predictions=[row["answer"] for row in rows], **columns)
    assert (oracle["circular_accuracy"], oracle["n_questions"], oracle["n_passes"]) == (1.0, 1176, 4377)
    always = metric.compute(predictions=["D"] * len(rows), **columns)
    assert always["circular_accuracy"] == 10 / 1176 and always["distribution_over"] == "all passes"
    assert always["random_guess"] == pytest.approx(0.0257634, abs=5e-8)
    # A reply by the text of the right option is right as well, also where that stands twice.
    texts = [row["options"]["ABCD".index(row["answer"])] for row in rows]
    by_text = metric.compute(predictions=texts, **columns)
    assert by_text["vanilla_accuracy"] > 0.99
    twice = [number for number, row in enumerate(rows) if row["options"].count(texts[number]) == 2]
    assert {columns["question_ids"][number] for number in twice} == {855, 1770}
    alone = {name: [values[number] for number in twice] for name, values in columns.items()}
    assert metric.compute(predictions=[texts[number] for number in twice], **alone)["circular_accuracy"] == 1.0


def _vlmevalkit(number, row):
    return {**{name: row[name] for name in ("question", "hint", *"ABCD")}, "index": int(row["index"])}, "prediction"


def _lmms_eval(number, row):
    return {"doc_id": number, "doc": {**row, "index": int(row["index"])}, "target": ""}, "filtered_resps"


def _ours(number, row):
    turn, question = divmod(int(row["index"]), 1_000_000)
    return {"id": f"dev-{question}", "pass": f"rotation:{turn}" if turn else "main"}, "text"


@pytest.mark.parametrize("form", [_vlmevalkit, _lmms_eval, _ours])
def test_predictions_of_every_tool_find_their_passes(table, loaded, tmp_path, form):
    rows, rule = [row for of_question in table.values() for row in of_question], RULES["the longest option"]
    lines = []
    for number, row in enumerate(rows):
        line, name = form(number, row)
        lines.append(line | {name: [rule(row)] if form is _lmms_eval else rule(row)})
    path = tmp_path / f"answers.json{'' if form is _vlmevalkit else 'l'}"
    if form is _vlmevalkit:
        path.write_text(json.dumps(lines))
    else:
        write_lines(path, lines)
    done = evaluator(TASK).run(PredictionsFileBackend(path), loaded)
    check_shares(done.scores, table, rule)
    assert done.scores["n_passes"] == 4377 and done.settings["model"]["predictions_unused"] == 0


def test_letters_of_another_order_count_for_either_place_of_a_text_that_stands_twice(table, loaded, tmp_path):
    """A tool that showed the options backwards, and an oracle that names the right text by its letter there."""
    lines = []
    for question, rows in table.items():
        for turn, row in enumerate(rows):
            options = row["options"][::-1]
            right = options.index(row["options"]["ABCD".index(row["answer"])])
            name = f"rotation:{turn}" if turn else "main"
            lines.append({"id": f"dev-{question}", "pass": name, "text": "ABCD"[right], "options": options})
    done = evaluator(TASK).run(running.predictions(tmp_path, lines), loaded)
    assert (done.scores["circular_accuracy"], done.scores["vanilla_accuracy"]) == (1.0, 1.0)
    assert all(row.correct for row in done.items)


def test_a_blind_run_solves_a_question_in_its_own_passes(table, loaded, tmp_path):
    rule = RULES["always D"]
    blind = evaluator(TASK, settings=dict(blind=True)).run(Rule(rule), loaded)
    folder = write(tmp_path, [blind])
    done = evaluator(TASK, settings=dict(exclude_blind_solved=folder)).run(Rule(rule), loaded)
    assert done.diagnostics["exclude_blind_solved"]["removed"] == expected(table, rule)[0] == 10
    assert done.variants["without blind-solvable questions"]["n_questions"] == 1166


def test_files_of_answers_hold_the_official_rows_and_are_scored_by_them(table, loaded, tmp_path):
    rule = RULES["the longest option"]
    done_rows = {int(row["index"]): row for rows in table.values() for row in rows}
    private = loaded.dataset.map(
        lambda row: {"answer": "", "passes": [{**asked, "answer": ""} for asked in row["passes"]]},
        load_from_cache_file=False,
    )
    done = evaluator(TASK).run(Rule(rule), replace(loaded, dataset=private))
    assert done.scores is None
    ((name, content),) = done.contents.items()
    (tmp_path / name).write_bytes(content)
    scores = evaluator(TASK).run(PredictionsFileBackend(tmp_path / name), loaded).scores
    check_shares(scores, table, rule)
    assert scores["n_questions"] == 1176 and scores["random_guess"] == pytest.approx(0.0257634, abs=5e-8)
    cells = [row for _, row in read_xlsx_rows(str(tmp_path / name), ["index"])]
    assert len(cells) == 4377
    for row in cells:
        assert [row[letter] for letter in "ABCD" if row[letter]] == done_rows[row["index"]]["options"]


def test_a_folder_with_the_present_names_loads_as_well(table, tmp_path):
    """The current dev file is called otherwise and may name questions by `g_index`."""
    rows = [row for question in (34, 855, 1211, 241) for row in table[question]]
    header = ["index", "question", "hint", *"ABCD", "answer", "category", "image", "l2-category", "g_index"]
    with open(tmp_path / "MMBench_DEV_EN.tsv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, header, extrasaction="ignore", delimiter="\t")
        writer.writeheader()
        writer.writerows({**row, "g_index": int(row["index"]) % 1_000_000} for row in rows)
    part = load_dataset("mmbench", "en", split="dev", data_dir=tmp_path)
    counts = dict(zip(part["question_id"], map(len, part["passes"]), strict=True))
    assert counts == {"34": 3, "855": 4, "1211": 3, "241": 2}
