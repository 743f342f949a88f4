"""Quality from logits, numbers and top tokens of models whose answers are known, against SciPy; averages of seven."""

from functools import partial

import datasets
import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.findings import score_notes
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.results.items import Item
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import get_task
from eyechart.evaluators.tasks.q_bench import DATABASES
from tests.evaluators import running
from tests.evaluators.evaluation.test_replies import Ending
from tests.evaluators.published_rows import published_row, published_table
from tests.evaluators.running import notes, predictions, written_and_scored_again

TASK = "q_bench/assessment"
WORDS = ("good", "poor", "fine", "bad", "high", "low")
run = partial(running.run, TASK)


def random_logits(n=40, seed=0):
    """Logits of all words, of images that get better one after the other."""
    rng = np.random.default_rng(seed)
    better = np.arange(n)[:, None] * np.array([[1, -1] * 3]) / 20
    return [dict(zip(WORDS, row, strict=True)) for row in (rng.normal(size=(n, 6)) + better).tolist()]


def says(answers):
    """A model that gives one answer after the other."""
    left = iter(answers)
    return FunctionBackend(lambda messages, word_pair=None: next(left))


def file_of(tmp_path, answers):
    return predictions(tmp_path, ({"id": f"p{row}", **answer} for row, answer in enumerate(answers)))


@pytest.mark.parametrize(("outlier", "kind"), [(False, "jackknife"), (True, "jackknife-few")])
def test_a_run_says_that_an_outlier_decides_its_plcc(photographs, outlier, kind):
    logits = [
        {**one, "good": 40.0, "poor": -40.0} if outlier and not index else one
        for index, one in enumerate(random_logits())
    ]
    result = run(says(logits), photographs, temperature=1000.0)
    assert result.scores["intervals"]["plcc"]["kind"] == kind
    assert list(notes(result)) == (["few_decide"] if outlier else [])


def test_an_average_says_it_of_its_parts_unless_its_interval_is_narrow():
    kinds = [{"intervals": {"plcc": {"kind": kind}}} for kind in ("mean", "jackknife", "jackknife-few")]
    wide = {"plcc": 0.6, "plcc_ci95": [0.5, 0.7], "n": 40}
    # Groups that the score does not average have intervals of their own.
    for scores, expected in (
        ({**kinds[0], **wide, "by_half": {"a": kinds[1], "b": kinds[2]}}, ["few_decide"]),
        ({**kinds[0], **wide, "by_half": {"a": kinds[1], "b": kinds[1]}}, []),
        ({**kinds[1], **wide, "by_half": {"a": kinds[2]}}, []),
        ({**kinds[2], **wide, "plcc_ci95": [0.93, 0.96]}, []),
    ):
        assert [note.code for note in score_notes(scores)] == expected


def softmax(logits, positive, negative, temperature=100.0):
    """Eq. 1 and 4 of Q-Bench, written out."""
    p, n = (np.array([sum(row[word] for word in words) for row in logits]) for words in (positive, negative))
    return 1 / (1 + np.exp((n - p) / temperature))


PAIRS = {
    "good/poor": (["good"], ["poor"]),
    "fine/bad": (["fine"], ["bad"]),
    "high/low": (["high"], ["low"]),
    "good+high/poor+low": (["good", "high"], ["poor", "low"]),
    "good+fine/poor+bad": (["good", "fine"], ["poor", "bad"]),
    "good+high+fine/poor+low+bad": (["good", "high", "fine"], ["poor", "low", "bad"]),
}


@pytest.mark.parametrize("chosen", ["good/poor", "good+high/poor+low"])
def test_each_pair_of_words_makes_the_scores_or_a_variant_of_them(photographs, chosen):
    logits = random_logits()
    result = run(says(logits), photographs, word_pair=chosen)
    assert result.settings["word_pair"] == chosen
    scored = {chosen: result.scores, **result.variants}
    assert scored.keys() == {*PAIRS, "argmax", "ties=paper-code"}
    for name, (positive, negative) in PAIRS.items():
        expected = softmax(logits, positive, negative)
        assert scored[name]["plcc"] == pytest.approx(pearsonr(expected, range(40)).statistic), name
        assert scored[name]["srcc"] == pytest.approx(spearmanr(expected, range(40)).statistic), name
        assert scored[name]["n"] == 40
    positive, negative = PAIRS[chosen]
    argmax = softmax(logits, positive, negative) > 0.5
    assert result.variants["argmax"]["srcc"] == pytest.approx(spearmanr(argmax, range(40)).statistic)
    assert (result.scores["resamples"], result.variants["argmax"]["resamples"]) == (1000, 200)


LEVELS = ["excellent", "good", "fair", "poor", "bad"]


def level_logits(n, seed=0):
    rng = np.random.default_rng(seed)
    return [dict(zip((*LEVELS, "fine", "high", "low"), row, strict=True)) for row in rng.normal(size=(n, 8)).tolist()]


def test_expected_levels_by_the_formula_of_q_align(photographs, tmp_path):
    logits = level_logits(40)
    result = run(says(logits), photographs, levels=LEVELS, prompt="q-align")
    x = np.exp([[row[level] for level in LEVELS] for row in logits])
    expected = x @ [1, 0.75, 0.5, 0.25, 0] / x.sum(axis=1)
    assert [item.quality_score for item in result.items] == pytest.approx(expected)
    assert result.scores["srcc"] == pytest.approx(spearmanr(expected, photographs["quality"]).statistic)
    assert result.scores["plcc"] == pytest.approx(pearsonr(expected, photographs["quality"]).statistic)
    assert (result.settings["levels"], result.settings["prediction"]) == (LEVELS, "expected level")
    assert result.variants.keys() == {"good/poor", "fine/bad", "high/low", *PAIRS} - {"argmax"}
    assert written_and_scored_again(tmp_path, result) == result.scores


@pytest.mark.parametrize("database", DATABASES)
def test_levels_and_numbers_in_tags_on_every_database(database):
    data = load_data(get_task(TASK), DataRequest("mini", database))
    logits, n = level_logits(len(data.dataset)), len(data.dataset)
    of_levels = running.run(TASK, says(logits), data, levels=LEVELS)
    replies = [f"<think>Is it 2?</think><answer>{1 + row % 40 / 10:.2f}</answer>" for row in range(n)]
    of_replies = running.run(TASK, says(replies), data, prompt="answer-tag")
    assert of_levels.scores["n"] == of_replies.scores["n"] == n
    assert [item.quality_score for item in of_replies.items] == [1 + row % 40 / 10 for row in range(n)]
    # The prompt asks for reasoning.
    assert of_replies.settings["max_new_tokens"] == 4096


@pytest.mark.parametrize("levels", [["good"], ["good", "good"], ["good", " "], "good", [1, 2]])
def test_levels_are_different_words(levels):
    with pytest.raises(UsageError, match="levels"):
        running.evaluator(TASK, settings={"levels": levels})


def test_words_that_cannot_be_had_limit_the_variants_and_are_counted(photographs, tmp_path):
    answers = [{"logits": {word: row[word] for word in WORDS[:4]}} for row in random_logits()]
    del answers[3]["logits"]["bad"]
    result = run(file_of(tmp_path, answers), photographs)
    assert result.variants.keys() == {"argmax", "ties=paper-code"}
    assert result.diagnostics == {"words_missing": {"bad": 1, "high": 40, "low": 40}}
    with pytest.raises(DataError, match=r"item 'p3'.*missing logits of bad"):
        run(file_of(tmp_path, answers), photographs, word_pair="good+fine/poor+bad")
    result = run(file_of(tmp_path, answers), photographs, word_pair="good+fine/poor+bad", skip_bad=True)
    assert [item.id for item in result.left_out] == ["p3"]
    assert result.variants.keys() == {"good/poor", "fine/bad", "argmax", "ties=paper-code"}
    assert result.diagnostics["words_missing"] == {"high": 39, "low": 39}


def test_groups_of_enough_images_are_scored_and_the_others_named(photographs):
    twice = datasets.concatenate_datasets([photographs, photographs])
    twice = twice.remove_columns("id").add_column("id", [f"p{i}" for i in range(80)])
    twice = twice.add_column("distortion_type", ["blur"] * 30 + ["noise"] * 50)
    twice = twice.add_column("distortion_level", [1] * 51 + [2] * 29)
    result = run(says(random_logits(80)), twice)
    assert result.scores["by_distortion_type"].keys() == {"blur", "noise"}
    assert "by_distortion_level" not in result.scores
    assert result.diagnostics["groups_left_out"] == {"distortion_level": "a value has fewer than 30 images"}
    assert "by_distortion_type" not in result.variants["high/low"]


def test_scores_made_elsewhere_are_correlated_as_they_are(photographs, tmp_path):
    numbers = np.random.default_rng(0).normal(size=40) + np.arange(40) / 10
    result = run(file_of(tmp_path, [{"score": number} for number in numbers]), photographs)
    assert result.scores["srcc"] == pytest.approx(spearmanr(numbers, range(40)).statistic)
    assert result.scores["plcc"] == pytest.approx(pearsonr(numbers, range(40)).statistic)
    assert "temperature" not in result.scores and result.variants == {}
    assert result.settings["prediction"] == "precomputed score"
    assert result.settings["word_pair"] is None and result.settings["prompt_id"] is None
    assert [record.quality_score for record in result.items] == pytest.approx(numbers)
    with pytest.raises(UsageError, match="word_pair='high/low' has no effect: the predictions are scores"):
        run(file_of(tmp_path, [{"score": number} for number in numbers]), photographs, word_pair="high/low")
    mixed = [{"logits": {"good": 1, "poor": 0}}, *({"score": number} for number in numbers[1:])]
    with pytest.raises(DataError, match="item 'p1' has a score, but other items have logits"):
        run(file_of(tmp_path, mixed), photographs)


def test_the_numerical_instruction_is_asked_without_a_beginning_of_the_reply(photographs):
    seen = []

    def model(messages):
        seen.append(messages)
        return f"Score: {1 + len(seen) % 5}"

    result = run(FunctionBackend(model), photographs, prompt="numerical")
    instruction = "Score the quality of the image from 1 to 5, with 1 as lowest and 5 as highest."
    assert [message["role"] for message in seen[0]] == ["user"]
    assert seen[0][0]["content"][0]["text"] == instruction
    ratings = [1 + index % 5 for index in range(1, 41)]
    assert result.scores["srcc"] == pytest.approx(spearmanr(ratings, range(40)).statistic)
    assert result.diagnostics == {"ratings": dict.fromkeys("12345", 8), "unread": 0, "replies": 40}
    assert result.settings["prediction"] == "number in the reply"
    assert result.settings["max_new_tokens"] == 32 and "word_pair" not in result.settings
    assert [record.quality_score for record in result.items[:3]] == [2, 3, 4]
    assert result.variants == {} and result.complete and result.notes == []


UNREAD = {
    "cut_off": ("The image is", "length"),
    "unfinished_reasoning": ("<think>A 4, or", "length"),
    "refused": ("", "content_filter"),
    "unparseable": ("It is fine.", "stop"),
}


def test_replies_without_a_number_have_shares_by_reason(photographs, tmp_path):
    written = [UNREAD["cut_off"], *UNREAD.values(), *((f"{1 + index % 5}", "stop") for index in range(5, 40))]
    model = Ending({f"p{row}": answer for row, answer in enumerate(written)})
    result = run(model, photographs, prompt="numerical", max_new_tokens=32)
    shares = {"cut_off": 0.05, "unfinished_reasoning": 0.025, "refused": 0.025, "unparseable": 0.025}
    assert result.scores["unread"] == shares and result.scores["n"] == 35
    assert (result.diagnostics["unread"], result.diagnostics["replies"], len(result.items)) == (5, 40, 40)
    unusable = notes(result)["unusable"]
    assert (unusable["unusable"], unusable["of"], unusable["id"], result.complete) == (5, 40, "p0", False)
    assert [item.reason for item in result.left_out] == [
        *["the reply was truncated before it gave a number"] * 2,
        "the reply is unfinished reasoning",
        "the reply is a refusal",
        "the reply does not give exactly one number from 1 to 5",
    ]
    assert [item.step for item in result.items[:6]] == ["cut_off", *UNREAD, None]
    again = written_and_scored_again(tmp_path, result)
    assert (again["unread"], again["srcc"]) == (shares, result.scores["srcc"])


def test_the_likeliest_tokens_choose_the_words_and_give_no_score(photographs):
    seen = []

    def model(messages):
        seen.append(messages)
        return " High, I think." if len(seen) % 4 else "low" if len(seen) % 8 else "good"

    result = run(FunctionBackend(model), photographs, inference="top-token")
    assert seen[0][1]["content"][0]["text"] == "The quality of the image is"
    assert result.diagnostics == {
        "top_tokens": {"high": 0.75, "low": 0.125, "good": 0.125},
        "other_tokens": 0.0,
        "suggested_word_pair": "high/low",
    }
    assert result.scores is None and result.variants == {} and result.complete and result.left_out == []
    assert notes(result) == {"top_token": {"pair": "high/low"}}
    assert result.settings["prediction"] == "likeliest token"


def test_a_release_without_opinion_scores_gives_predictions_and_no_score(photographs):
    private = photographs.remove_columns("quality").add_column("quality", [None] * 40)
    result = run(says(random_logits()), private.cast_column("quality", datasets.Value("float64")))
    assert result.scores is None and result.variants == {} and "private" in notes(result)
    assert len(result.items) == 40
    # The likeliest tokens need no scores to choose words by.
    tokens = run(says(["good"] * 40), private.cast_column("quality", datasets.Value("float64")), inference="top-token")
    assert tokens.diagnostics["suggested_word_pair"] == notes(tokens)["top_token"]["pair"] == "good/poor"


def test_all_words_are_asked_once_and_every_pair_is_scored_from_the_store(tmp_path):
    data = load_data(get_task(TASK), DataRequest(dataset="kadis700k", data_dir=mini.release("kadis700k"), limit=40))
    tiny = resolve_backend(None)
    with ResponseStore.open(tmp_path / "responses.sqlite") as store:
        first = run(StoredBackend(tiny, store), data)
        assert first.timings["answers_from_store"] == 0
        for words in ("high/low", "good+high+fine/poor+low+bad"):
            again = run(StoredBackend(tiny, store), data, word_pair=words)
            assert again.timings["answers_from_store"] == 40
            assert again.scores["srcc"] == first.variants[words]["srcc"]
            assert again.variants["good/poor"]["srcc"] == first.scores["srcc"]
    for name, scores in {"good/poor": first.scores, **first.variants}.items():
        assert scores["srcc"] > 0.6, name


# Q-Bench, Table 11: SRCC and PLCC of LLaVA-v1.5 (13B) with good and poor on each database, and their average.
ROW = published_row(published_table("q_bench/assessment", "Table 11"), "LLaVA-v1.5 (Vicuna-v1.5-13B), good/poor")
*PARTS, AVERAGE = zip([*ROW.values()][::2], [*ROW.values()][1::2], strict=True)
PUBLISHED = dict(zip(DATABASES, PARTS, strict=True))


def evaluation(database, srcc=0.5, plcc=0.5, **changes):
    scores = {"srcc": srcc, "plcc": plcc, "krcc": 0.1, "plcc_fitted": 0.6, "rmse_fitted": 3.0, "n": 10}
    given = TaskResult(
        task="q_bench/assessment",
        dataset=database,
        split="test",
        model="a",
        scores=scores,
        settings={"word_pair": "good/poor", "data": {"is_mini": False}, "model": {"asked": database}},
        variants={"high/low": {**scores, "srcc": srcc / 2}, **({"argmax": scores} if database != "spaq" else {})},
    )
    return given.model_copy(update=changes)


def averages(evaluations):
    return [result for result in with_averages(evaluations) if result.dataset == "average"]


def seven(**changes):
    return [evaluation(name, *PUBLISHED[name], **changes) for name in DATABASES]


def test_the_average_is_that_of_the_paper():
    (found,) = averages(seven())
    # The paper's own average rests on more digits than it prints.
    assert (found.scores["srcc"], found.scores["plcc"]) == pytest.approx(AVERAGE, abs=0.001)
    assert found.scores["n"] == 70
    shown = {name: part["srcc"] for name, part in found.scores["by_database"].items()}
    assert shown == {name: srcc for name, (srcc, _) in PUBLISHED.items()}
    assert found.variants.keys() == {"high/low"}, "the variants that all databases have"
    assert found.variants["high/low"]["srcc"] == pytest.approx(found.scores["srcc"] / 2)
    # Errors are in the units of each database.
    assert "rmse_fitted" not in found.scores
    assert (found.split, found.model, found.complete, found.notes) == ("test", "a", True, [])
    assert found.settings["word_pair"] == "good/poor" and found.settings["databases"] == list(DATABASES)
    (undefined,) = averages([*seven()[:6], evaluation("kadid10k", float("nan"), 0.4)])
    assert np.isnan(undefined.scores["srcc"]) and not np.isnan(undefined.scores["plcc"])
    # Neither one database alone nor others than the seven are averaged.
    assert averages([evaluation("koniq10k"), evaluation("kadis700k"), evaluation("csiq")]) == []


@pytest.mark.parametrize(
    ("evaluations", "code", "values"),
    [
        (seven()[:2], "average_missing", {"of": 7, "missing": list(DATABASES)[2:]}),
        ([*seven()[:6], evaluation("kadid10k", scores=None)], "average_missing", {"of": 7, "missing": ["kadid10k"]}),
        ([*seven()[:6], evaluation("kadid10k", complete=False)], "average_incomplete", {}),
    ],
)
def test_databases_without_one_complete_score_are_named(evaluations, code, values):
    (found,) = averages(evaluations)
    assert notes(found) == {code: values}
    if code == "average_incomplete":
        assert found.scores is not None and not found.complete
    else:
        assert found.scores is None and found.variants == {}


def test_other_settings_and_models_have_their_own_averages_behind_their_own_databases():
    high = seven(settings={"word_pair": "high/low", "data": {"is_mini": True}, "model": {}})
    other = seven(model="b")
    found = with_averages([*seven(), *high, evaluation("csiq"), *other])
    rows = [(e.model, e.settings["word_pair"]) for e in found if e.dataset == "average"]
    assert rows == [("a", "good/poor"), ("a", "high/low"), ("b", "good/poor")]
    assert [place for place, e in enumerate(found) if e.dataset == "average"] == [7, 15, 24]
    assert [e.settings["data"]["is_mini"] for e in found if e.dataset == "average"] == [False, True, False]


def test_an_average_of_samples_counts_each_image_once():
    settings = {**evaluation("spaq").settings, "sample": {"n": 10, "of": 50, "seed": 0}}
    repeated = [Item(f"{number}", "main", repeat=repeat) for number in range(4) for repeat in range(3)]
    (average,) = averages(
        [evaluation(name, settings=settings) for name in DATABASES[1:]] + [evaluation(DATABASES[0], items=repeated)]
    )
    assert average.settings["sample"] == {"n": 64, "of": 304, "seed": 0}
