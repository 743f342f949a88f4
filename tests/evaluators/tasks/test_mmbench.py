"""MMBench's tasks on demo data, and on the 4,377 real rows of its first dev file."""

import csv
import json
import math
from collections import Counter, defaultdict

import datasets
import pytest

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.datasets_scripts.common.choice.passes import passes_of
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from eyechart.datasets_scripts.export import export
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data, undecoded_rows
from eyechart.evaluators.protocols.choice.circular_eval import WITHOUT_BLIND
from eyechart.evaluators.requests.types import Response
from eyechart.evaluators.tasks import get_task
from tests.evaluators import running
from tests.evaluators.tasks.doors import scored, write_lines

TASK, TEST_EN = "mmbench/en", "MMBench_TEST_EN.tsv"


def evaluate(config, model, **data):
    task = f"mmbench/{config}"
    return running.run(task, model, load_data(get_task(task), DataRequest(**({"is_mini": True} | data))))


def mini_rows(config, split="dev"):
    return load_dataset("mmbench", config, split=split, data_dir=mini.release("mmbench"), images="skip")


def release_rows(path):
    csv.field_size_limit(10**8)
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def options_of(row):
    return [row[name] for name in "ABCD" if row[name]]


def answer_file(folder, result):
    """The rows of the only answer file of a result."""
    ((name, content),) = result.contents.items()
    (folder / name).write_bytes(content)
    return [row for _, row in read_xlsx_rows(str(folder / name), ["index", "prediction"], formulas=True)]


@pytest.mark.parametrize("config", ["en", "cn_v11", "cc"])
def test_each_configuration_is_a_task(config):
    result = evaluate(config, lambda messages: "A")
    rows, scores = mini_rows(config), result.scores
    counts = [len(passes_of(row)) for row in rows]
    chances = [len(row["options"]) ** -float(count) for row, count in zip(rows, counts, strict=True)]
    assert (scores["n_questions"], scores["n_passes"]) == (len(rows), sum(counts))
    assert scores["random_guess"] == pytest.approx(sum(chances) / len(chances))
    assert result.settings["passes"] == ("rotations" if config.endswith("v11") else "release")
    assert scores["vanilla_accuracy"] == pytest.approx(sum(row["answer"] == "A" for row in rows) / len(rows))
    assert scores["circular_accuracy"] == 0.0
    levels = {key.removeprefix("by_"): len(part) for key, part in scores.items() if key.startswith("by_")}
    assert levels == ({"category": 7} if config == "cc" else {"l1_category": 2, "l2_category": 6, "category": 20})
    assert result.settings["data"]["config"] == config
    # Splits are those with answers or a server.
    assert get_task(f"mmbench/{config}").data.splits == (("dev",) if config == "cc" else ("dev", "test"))


def test_a_blind_run_may_be_of_precomputed_predictions(tmp_path, no_report):
    asked = [(row, asked) for row in mini_rows("en") for asked in passes_of(row)]
    seeing = [{"id": row["id"], "pass": asked.name, "text": asked.answer} for row, asked in asked]
    # Without the image every second question is right.
    blind = [
        line | {"text": line["text"] if int(row["question_id"]) % 2 else ""}
        for line, (row, _) in zip(seeing, asked, strict=True)
    ]
    folder = tmp_path / "blind"
    folder.mkdir()
    _, output = scored(folder, "mmbench/en", blind, "--mini", "--set", "blind=true", "--model", "gpt-4")
    assert "The model was not shown the images." in output
    excluded = ("--set", f"exclude_blind_solved={folder / 'scored'}")
    result, _ = scored(tmp_path, "mmbench/en", seeing, "--mini", *excluded)
    assert result.diagnostics["exclude_blind_solved"] == {"model": "gpt-4", "removed": 30, "not_asked": 0, "of": 60}
    assert result.variants[WITHOUT_BLIND]["n_questions"] == 30


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("en", "The answers of mmbench (test) are private"),
        ("en_v11", "This copy of mmbench (test) contains no answers"),
    ],
)
def test_a_release_without_answers_gives_each_index_its_options_and_a_note(tmp_path, config, why):
    """Version 1.1, whose mini release holds first passes alone, is turned as the official passes are."""
    name = f"MMBench_TEST_{config.upper()}.tsv"
    rows = [row | {"answer": None} for row in release_rows(mini.release("mmbench") / name)]
    with open(tmp_path / name, "w", encoding="utf-8", newline="") as file:
        columns = [column for column in rows[0] if column != "answer"]
        writer = csv.DictWriter(file, columns, delimiter="\t", lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    result = evaluate(config, lambda messages: "A", split="test", data_dir=tmp_path, is_mini=False)
    caveats = " ".join(result.caveats)
    assert result.scores is None and f"mmbench_{config}_test.xlsx" in result.files
    assert caveats.startswith(f"{why}, so there is no score; the predictions of 20 items were kept. MMBench's")
    assert "closed on 31 March 2026" in caveats and "version 1.1 (en_v11, cn_v11) are public in the" in caveats
    official = {int(row["index"]): options_of(row) for row in release_rows(mini.release("mmbench") / TEST_EN)}
    written = {row["index"]: options_of(row) for row in answer_file(tmp_path, result)}
    # In version 1.1, questions whose last option never moves are turned whole where no pass says so.
    fixed = {index % 1_000_000 for index, options in official.items() if options[-1] == "None of these"}
    assert len(fixed) == 2
    if config == "en_v11":
        official, written = (
            {index: options for index, options in rows.items() if index % 1_000_000 not in fixed}
            for rows in (official, written)
        )
    assert written == official


@pytest.mark.parametrize("config", ["en_v11", "cn_v11"])
def test_the_test_of_version_1_1_has_scores_as_its_answers_are_public(config):
    result, rows = evaluate(config, lambda messages: "A", split="test"), mini_rows(config, "test")
    assert result.scores["n_questions"] == len(rows) and not result.files and not result.caveats
    assert result.scores["vanilla_accuracy"] == pytest.approx(sum(row["answer"] == "A" for row in rows) / len(rows))


@pytest.fixture(scope="module")
def table(reference):
    """The TSV: by question (index modulo 1,000,000) its rows in order."""
    questions = defaultdict(list)
    rows = release_rows(reference / "mmbench" / "MMBench_DEV_EN_20230712.tsv")
    for row in sorted(rows, key=lambda row: int(row["index"])):
        questions[int(row["index"]) % 1_000_000].append(row | {"options": options_of(row)})
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


def longest(row):
    return "ABCD"[max(range(len(row["options"])), key=lambda i: len(row["options"][i]))]


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
    assert again.remove_columns("images").to_list() == loaded.dataset.remove_columns("images").to_list()


def test_the_longest_option_scores_as_the_authors_would_score_it(table, loaded):
    assert expected(table, lambda row: "D") == (10, 200)
    backend = Rule(longest)
    done = evaluator(TASK).run(backend, loaded)
    check_shares(done.scores, table, longest)
    assert (done.scores["n_questions"], done.scores["dropped"]) == (1176, 0)
    assert done.settings["passes"] == "release" and done.complete
    # Asked until the first wrong pass.
    for question, rows in table.items():
        wrong = [longest(row) != row["answer"] for row in rows]
        assert backend.asked[f"dev-{question}"] == (wrong.index(True) + 1 if any(wrong) else len(rows))


def _vlmevalkit(number, row):
    return {**{name: row[name] for name in ("question", "hint", *"ABCD")}, "index": int(row["index"])}, "prediction"


def _lmms_eval(number, row):
    return {"doc_id": number, "doc": {**row, "index": int(row["index"])}, "target": ""}, "filtered_resps"


@pytest.mark.parametrize("form", [_vlmevalkit, _lmms_eval])
def test_predictions_of_other_tools_find_their_passes(table, loaded, tmp_path, form):
    rows = [row for of_question in table.values() for row in of_question]
    lines = []
    for number, row in enumerate(rows):
        line, name = form(number, row)
        lines.append(line | {name: [longest(row)] if form is _lmms_eval else longest(row)})
    path = tmp_path / f"answers.json{'' if form is _vlmevalkit else 'l'}"
    if form is _vlmevalkit:
        path.write_text(json.dumps(lines))
    else:
        write_lines(path, lines)
    done = evaluator(TASK).run(PredictionsFileBackend(path), loaded)
    check_shares(done.scores, table, longest)
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
    scores = done.scores
    assert (scores["circular_accuracy"], scores["vanilla_accuracy"], scores["n_passes"]) == (1.0, 1.0, 4377)
    assert all(row.correct for row in done.items)
    chances = [math.prod(1 / len(row["options"]) for row in rows) for rows in table.values()]
    assert scores["random_guess"] == pytest.approx(math.fsum(chances) / 1176, rel=1e-12)
