"""Quality from logits, numbers and top tokens of models whose answers are known, against SciPy."""

from dataclasses import replace
from functools import partial

import datasets
import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.findings import score_notes
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.runs.table import score_table
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scoring.errors import LeftOutWarning
from tests.evaluators import running
from tests.evaluators.evaluation.test_reply_lengths import Ending
from tests.evaluators.finished_runs import write
from tests.evaluators.running import notes, predictions, scores_again
from tests.evaluators.table_rows import table_rows

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


def ending(written):
    """A model that gives one text after the other, each with its end."""
    return Ending({f"p{row}": answer for row, answer in enumerate(written)})


def file_of(tmp_path, answers):
    return predictions(tmp_path, ({"id": f"p{row}", **answer} for row, answer in enumerate(answers)))


def test_the_reply_is_prefilled_and_two_words_are_asked_for(photographs):
    seen = []

    def model(messages, words):
        seen.append((messages, words))
        return {"good": float(len(seen)), "poor": 0.0}

    evaluator(TASK).compute(model, photographs)
    messages, words = seen[0]
    assert words == ("good", "poor", "fine", "bad", "high", "low")
    assert messages[0]["content"][0]["text"] == "Rate the quality of the image."
    assert messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "The quality of the image is"}]}


def test_perfect_logits_give_perfect_correlations(photographs):
    result = run(says({"good": float(index), "poor": 0.0} for index in range(40)), photographs)
    assert (result.scores["srcc"], result.scores["n"], result.scores["temperature"]) == (pytest.approx(1.0), 40, 100.0)
    assert (result.settings["prefill"], result.settings["word_pair"]) == ("The quality of the image is", "good/poor")
    # The first word is the positive one.
    reversed_order = run(says({"good": 0.0, "poor": float(index)} for index in range(40)), photographs)
    assert reversed_order.scores["srcc"] == pytest.approx(-1.0)


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


@pytest.mark.parametrize("chosen", PAIRS)
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


def test_a_variant_whose_arithmetic_overflows_is_left_out_and_told(photographs):
    with pytest.warns(UserWarning, match=r"variant ties=paper-code left out: predictions\[\d+\] is"):
        result = run(says(random_logits()), photographs, temperature=0.001)
    assert "ties=paper-code" not in result.variants and "argmax" in result.variants


def test_an_argmax_that_is_constant_is_undefined(photographs):
    result = run(says({"good": 1.0 + index, "poor": 0.0} for index in range(40)), photographs)
    assert np.isnan(result.variants["argmax"]["srcc"]) and result.scores["srcc"] == pytest.approx(1.0)


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


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.SmallSampleWarning")
def test_the_two_halves_of_cgiqa_are_scored_apart_and_averaged(photographs):
    logits = random_logits()
    halves = photographs.add_column("subset", ["game"] * 25 + ["movie"] * 15)
    result = run(says(logits), halves)
    expected = softmax(logits, ["good"], ["poor"])
    parts = [spearmanr(expected[part], np.arange(40)[part]).statistic for part in (slice(25), slice(25, 40))]
    assert result.scores["srcc"] == pytest.approx(np.mean(parts))
    assert result.scores["n"] == 40 and result.scores["average_over"] == "subset"
    assert result.scores["by_subset"]["movie"]["srcc"] == pytest.approx(parts[1])
    assert result.variants["high/low"]["average_over"] == "subset"
    assert result.variants["high/low"]["srcc"] == pytest.approx(
        np.mean([part["srcc"] for part in result.variants["high/low"]["by_subset"].values()])
    )


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
    assert result.settings["prompt_id"] == "q_bench_a3/2/numerical"
    assert result.settings["max_new_tokens"] == 32 and "word_pair" not in result.settings
    assert [record.quality_score for record in result.items[:3]] == [2, 3, 4]
    assert result.variants == {} and result.complete and result.notes == []


UNREAD = {
    "cut_off": ("The image is", "length"),
    "unfinished_reasoning": ("<think>A 4, or", "length"),
    "refused": ("", "content_filter"),
    "unparseable": ("It is fine.", "stop"),
}


def test_replies_without_a_number_have_shares_by_reason_in_scores_and_table(photographs, tmp_path):
    written = [UNREAD["cut_off"], *UNREAD.values(), *((f"{1 + index % 5}", "stop") for index in range(5, 40))]
    result = run(ending(written), photographs, prompt="numerical", max_new_tokens=32)
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
    labels, values = zip(*((row["score"], row["value"]) for row in table_rows(score_table([result]))), strict=True)
    shown = dict(zip(labels, values, strict=True))
    assert {label: shown[label] for label in shown if label.startswith("replies")} == {
        "replies cut off before they give a number": "5.00 %",
        "replies that end in unfinished reasoning": "2.50 %",
        "replies refused": "2.50 %",
        "replies that could not be parsed": "2.50 %",
    }
    (made,) = read_runs([write(tmp_path, [result])])
    (key,) = made.tasks
    items = made.answers(key).items(get_task(TASK).protocol.item_type)
    assert [item.step for item in items[:6]] == ["cut_off", *UNREAD, None]
    again = scores_again(tmp_path)
    assert (again["unread"], again["srcc"]) == (shares, result.scores["srcc"])


def test_shares_of_replies_without_a_number_are_of_those_with_an_opinion_score(photographs):
    private = photographs.map(lambda row, index: {"quality": None if index < 4 else row["quality"]}, with_indices=True)
    written = [*UNREAD.values(), UNREAD["refused"], *((f"{1 + index % 5}", "stop") for index in range(5, 40))]
    result = run(ending(written), private, prompt="numerical", max_new_tokens=32)
    assert result.scores["unread"] == dict.fromkeys(UNREAD, 0.0) | {"refused": 1 / 36}
    # Where no end is known, there are no shares.
    written = [("It is fine.", None), *((f"{1 + index % 5}", None) for index in range(1, 40))]
    assert "unread" not in run(ending(written), photographs, prompt="numerical").scores


def test_compute_warns_of_what_has_no_part_in_the_scores(photographs):
    replies = ["It is fine."] * 2 + [str(1 + index % 5) for index in range(2, 40)]
    made = evaluator(TASK, settings={"prompt": "numerical"})
    with pytest.warns(LeftOutWarning, match="q_bench/assessment: 2 of 40 answers cannot be scored"):
        scores = made.compute(says(replies), photographs)
    assert scores["n"] == 38


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


@pytest.fixture(scope="module")
def tiny():
    return resolve_backend(None)


@pytest.fixture(scope="module")
def kadis():
    data = load_data(get_task(TASK), DataRequest(dataset="kadis700k", data_dir=mini.release("kadis700k")))
    return replace(data, request=DataRequest(limit=40))


def test_all_words_are_asked_once_and_every_pair_is_scored_from_the_store(tiny, kadis, tmp_path):
    with ResponseStore.open(tmp_path / "responses.sqlite") as store:
        first = run(StoredBackend(tiny, store), kadis)
        assert first.timings["answers_from_store"] == 0
        for words in ("high/low", "good+high+fine/poor+low+bad"):
            again = run(StoredBackend(tiny, store), kadis, word_pair=words)
            assert again.timings["answers_from_store"] == 40
            assert again.scores["srcc"] == first.variants[words]["srcc"]
            assert again.variants["good/poor"]["srcc"] == first.scores["srcc"]
    for name, scores in {"good/poor": first.scores, **first.variants}.items():
        assert scores["srcc"] > 0.6, name


def test_its_numbers_and_likeliest_tokens_are_read(tiny, kadis):
    numerical = run(tiny, kadis, prompt="numerical")
    assert numerical.diagnostics["unread"] == 0 and numerical.scores["srcc"] > 0.6
    top = run(tiny, kadis, inference="top-token")
    assert "cut_off" not in notes(top)
    assert top.diagnostics["suggested_word_pair"] == "good/poor" and top.diagnostics["other_tokens"] == 0
