"""Predictions, replies and numbers: what could change a score."""

import json
import math

import numpy as np
import pytest
from datasets import Value

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.columns import check_columns
from eyechart.metrics.scoring.choices.replies import UNFINISHED_REASONING, extract_choice, why_unread
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreWarning
from eyechart.metrics.scoring.pairs.pools import check_pairs
from eyechart.metrics.scoring.pairs.preferences import read_pairs
from eyechart.metrics.scoring.quality.pooling import read_logits, read_scores
from eyechart.metrics.scoring.quality.scores import QualitySettings, quality_scores
from eyechart.metrics.scoring.reasoning import split_reasoning
from tests.evaluators.command_line import invoke
from tests.faults.fault import fault, rows
from tests.growth import growth

NAMED = "the error names the file and what was expected"
OF_ROW = "the error names file, row and field"
HEAD = b"index\tprediction\n"
LOGITS = {"img_path": "a.png", "gt_score": "2.82 ", "logit_good": 1, "logit_poor": 2}
ANSWER = {"img_path": "1.jpg", "question": "Why?", "candidates": ["Yes", "No"], "correct_ans": "Yes", "response": "A"}
ROWS = [{"index": 1, "prediction": "A"}, {"index": 2, "answer": "B"}]
COLUMNS = {"index": {"0": 1}, "prediction": {"0": "A"}}
PARTS = {"1.jpg": {"AesP_response": "A"}, "2.jpg": {"AesE_response": "B"}}


def line(**fields):
    return json.dumps({"id": "q1", **fields})


def second(text):
    """A file whose second line is this one."""
    return f"{line(id='q0', text='A')}\n{text}\n"


BOTH = line(text="A", doc_id=0, filtered_resps="A")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        *rows(
            NAMED,
            ("a predictions file ends in .txt", "a.txt", "A", "unknown suffix '.txt'; expected .jsonl, "),
            ("a predictions file of JSON Lines is empty", "a.jsonl", "", "the predictions file is empty"),
            ("a predictions file contains a single string", "a.json", '"A"', "list of objects, found 'A'"),
            ("a predictions table has only a header", "a.tsv", HEAD, "the predictions file is empty"),
            ("a predictions table ends inside a quoted field", "a.tsv", HEAD + b'1\t"A\n', "not valid CSV"),
            ("a predictions table is encoded in UTF-16", "a.tsv", HEAD.decode().encode("utf-16"), "not UTF-8 text"),
            ("a predictions file is encoded in GBK", "a.json", '[{"p": "好"}]'.encode("gbk"), "not UTF-8 text"),
            ("a predictions CSV contains opinion scores", "a.csv", "image,mos\na.png,1\n", "unknown format"),
            ("a predictions workbook (.xlsx) is a TSV file", "a.xlsx", HEAD, "cannot be read as XLSX"),
            ("AesBench's file contains an image twice", "a.json", '{"1.jpg": {}, "1.jpg": {}}', "key '1.jpg' appears"),
        ),
        *rows(
            "the error lists the supported formats",
            ("a predictions file has no known format", "a.jsonl", '{"question": "?"}', "format; found: 'question'"),
            ("a predictions file's first row is empty", "a.jsonl", "{}", "unknown format; found: no columns"),
        ),
        *rows(
            "no format is assumed; the error names both",
            ("a predictions file matches two formats", "a.jsonl", BOTH, "(eyechart, lmms-eval)"),
        ),
        *rows(
            "neither is used; the error names both rows",
            ("an item has two predictions", "a.jsonl", second(line(id="q0", text="B")), "pass 'main' of row 1"),
        ),
        *rows(
            OF_ROW,
            ("a predictions file contains a list of numbers", "a.json", [3], "row 1: expected a JSON object"),
            ("a predictions file is column-oriented JSON", "a.json", COLUMNS, "row 1: expected text, found {'0': 1}"),
            ("a row of a predictions table is too short", "a.tsv", HEAD + b"1\n", "row 2: expected 2 fields"),
            ("a line of predictions nests 100,000 deep", "a.jsonl", second("[" * 100_000), "row 2: not valid JSON"),
            ("a line of predictions is not JSON", "a.jsonl", second("{id: 1}"), "row 2: not valid JSON"),
            ("a prediction has no id", "a.jsonl", second(line(id=None, text="A")), "row 2: 'id' is None"),
            ("a prediction's id is true", "a.jsonl", second(line(id=True, text="A")), "row 2: 'id' is True"),
            ("a prediction's text is a number", "a.jsonl", second(line(text=3)), "row 2: 'text' is 3"),
            ("a prediction's logits are a list", "a.jsonl", second(line(logits=[1, 2])), "row 2: 'logits' is"),
            ("a prediction's logit is true", "a.jsonl", second(line(logits={"good": True})), "'logits' is True"),
            ("a logit has 400 digits", "a.jsonl", second(line(logits={"x": 10**400})), "'logits' is 1000"),
            ("a prediction has no answer", "a.jsonl", second(line()), "row 2: missing 'text', 'logits' or 'score'"),
            ("a prediction has a lone surrogate", "a.jsonl", second(line(text="\ud83d")), "'text' is '\\ud8"),
            ("a released logit is a string", "a.json", [LOGITS | {"logit_poor": "high"}], "'logit_poor' must be"),
            ("released logits have no image", "a.json", [LOGITS | {"img_path": " "}], "'img_path' is empty"),
            ("Q-Bench's options are a string", "a.json", [ANSWER | {"candidates": "Yes"}], "is 'Yes'"),
            ("AesBench's image has two answers", "a.json", {"1": {"AesP_response": "A", "x": "B"}}, "2 values for an"),
            ("AesBench's answer is a list", "a.json", {"1.jpg": {"AesP_response": ["A"]}}, "expected text, found"),
            ("AesBench's file has answers to two parts", "a.json", PARTS, "row 2: missing 'AesP_response'"),
            ("a quality score is nan", "a.csv", "image,score\na.png,nan\n", "row 2: field 'score' must be a number"),
            ("a row of predictions lacks a column of other rows", "a.json", ROWS, "row 2: missing 'prediction'"),
        ),
    ],
)
def test_files_that_cannot_be_read(name, content, reason, tmp_path):
    path = tmp_path / name
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(BadAnnotationError) as caught:
        PredictionsFileBackend(path)
    assert str(path) in str(caught.value) and reason in str(caught.value)
    if "unknown format" in reason and name == "a.jsonl":
        assert "Expected columns of a .jsonl file: id, text or logits or score (eyechart); index or doc_id, " in str(
            caught.value
        )
        assert "prediction (vlmevalkit)" not in str(caught.value)


@fault("500 of 510 predictions match no item", "the first line of the output and the report say so")
def test_predictions_that_match_no_item(tmp_path):
    rows = load_data(get_task("q_bench/perception"), DataRequest(is_mini=True)).dataset.select(range(10))
    names = [*rows["id"], *(f"other-{number}" for number in range(500))]
    (tmp_path / "a.jsonl").write_text("".join(f"{line(id=name, text='A')}\n" for name in names))
    command = ["score", "q_bench/perception", "--mini", "--limit", "10", "--predictions", tmp_path / "a.jsonl"]
    done = invoke(*command, "--out", tmp_path / "run", code=0)
    words = "500 of 510 predictions in a.jsonl match no item of this run."
    assert done.stdout.startswith(f"q_bench/perception: {words}\n") and done.stdout.count(words) == 1
    assert words in (tmp_path / "run" / "report.html").read_text()


@fault("a predictions file is missing, or a folder", NAMED)
def test_no_file(tmp_path):
    for path, error in ((tmp_path, BadAnnotationError), (tmp_path / "a.xlsx", MissingFileError)):
        with pytest.raises(error, match="predictions file") as caught:
            PredictionsFileBackend(path)
        assert str(path) in str(caught.value)


# Of chat templates, and of the reasoning parsers of vLLM and SGLang.
NAMES = (
    "think THINKING thought thoughts reason reasoning reflection reflections reflecting analysis analyzing plan cot "
    "scratchpad scratch_pad scratch-pad inner_monologue antThinking chain_of_thought seed:think longcat_think think1 "
    "thinkingprocess brainstorming 推理 思考过程"
)
FORMS = [
    *((f"<{name}>", f"</{name}>") for name in NAMES.split()),
    ('<think mode="slow">', "</think >"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("< think >", "</ think >"),
    ("<think>", "<\\/think>"),
    ("<think>", "</think\n"),
    ("<|think|>", "</|think|>"),
    ("<think_start>", "<think_end>"),
    ("<|begin_of_thought|>", "<|end_of_thought|><|begin_of_solution|>"),
    ("<|begin_of_thought|>", "<|begin_of_solution|>"),
    ("<\uff5cbegin▁of▁thought\uff5c>", "<\uff5cend▁of▁thought\uff5c>"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysisThe user asks.", "assistantfinal"),
    ("<|content_thinking|>", "<|end_message|><|message_model|><|content_text|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>"),
    ("<|im_start|>think\n", "<|im_start|>answer\n"),
    ('<details type="reasoning" done="true">', "</details>"),
]
# Their begin marks are ordinary text in other replies.
PHRASES = [
    ("Here is my thought process:", "Here is my response:"),
    ("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
    ("[REASONING]", "[/REASONING]"),
    ("[thinking]", "[/thinking]"),
]
OPTIONS = ["Sharp", "Blurry"]


@pytest.mark.parametrize(
    ("begin", "end"),
    rows(
        "the answer is what follows; a reply that was cut off within it has no answer",
        *((f"reasoning between {begin.strip()} and {end.strip()}", begin, end) for begin, end in FORMS),
    ),
)
def test_marks_of_reasoning(begin, end):
    thought = " Is it A? The answer is A. So "
    assert extract_choice(f"{begin}{thought}{end}B", OPTIONS) == "B"
    assert extract_choice(f"\n{begin}{thought}{end}<answer>B</answer>", OPTIONS) == "B"
    assert extract_choice(begin + thought, OPTIONS) is None
    assert why_unread(begin + thought, "length") == UNFINISHED_REASONING


@pytest.mark.parametrize(
    "text",
    rows(
        "the answer is what follows",
        *((f"{begin.strip()} ... {end.strip()}", f"{begin} Is it A? {end}B") for begin, end in PHRASES),
        ("a constraint after Harmony's final channel", "<|channel|>final <|constrain|>json<|message|>B"),
        ("an answer ends reasoning that is not closed", "<think>A?<answer>B</answer>"),
    ),
)
def test_answers_that_follow(text):
    assert extract_choice(text, OPTIONS) == "B"


@fault("reasoning that was cut off quotes the form of the answer", "it has no answer")
def test_form_of_the_answer():
    assert extract_choice("<think>As <answer>A</answer>. Dark? The answer is A", OPTIONS) is None


@pytest.mark.parametrize(
    "text",
    rows(
        "the mark is part of the answer",
        *(
            (f"a reply without reasoning: {text}", f"{text}. The answer is B.")
            for text in (
                "It begins with #include <plan>",
                "It shows std::vector<Plan>",
                "The sign says <plan>",
                "The HTML tag <reason>",
                "Here x <plan and y> 3",
                "A <meta-analysis> paper",
                "The tag </think> is there",
                "The tags are <think>, <plan> and </think>",
                "[think] on the poster",
                "The signs say <plan> and </plan>",
                "The text reads '<think>'",
                "[Thinking] It is dark. [Answer] B",
                "Here is my thought process: it is dark",
            )
        ),
    ),
)
def test_ordinary_replies(text):
    assert split_reasoning(text).answer == text
    assert extract_choice(text, OPTIONS) == "B"


@fault("reasoning within reasoning is closed, and the reply is cut off", "it has no answer")
def test_blocks_within_blocks():
    assert extract_choice("<thinking>A? <reflection>No.</reflection> The answer is B", OPTIONS) is None


@pytest.mark.parametrize(
    "unit",
    rows(
        "the reply is split in time that grows with its length",
        ("a reply of thousands of `<`", "<"),
        ("a reply of thousands of inline codes", "`x` "),
        ("a reply of thousands of marks that do not end", "<think aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("a reply of thousands of channels", "<|channel|>"),
        ("a reply of thousands of marks that are ordinary words", "x <plan> y "),
        ("a channel with a name of thousands of letters", "a"),
    ),
)
def test_hostile_replies(unit):
    begin = "<|channel|>" if unit == "a" else " "
    assert growth(lambda size: split_reasoning(begin + unit * (size // len(unit)))) < 8


SAME = "all scores equal those of the same values in the usual range"
N = 40
PREDICTED = np.random.default_rng(0).normal(size=N)
OPINIONS = PREDICTED + 0.3 * np.random.default_rng(1).normal(size=N)


def scores(predicted, opinions):
    return quality_scores(read_scores(predicted), opinions, settings=QualitySettings(resamples=50))


def module(opinions):
    """The module's check of its columns."""
    return check_columns({"references": opinions}, {"references": Value("float64")})


@pytest.mark.parametrize(
    ("of_predictions", "of_opinions"),
    rows(
        SAME,
        ("predicted scores are as large as 1.7e308", 1.7e308, 1),
        ("opinion scores are as large as 1.7e308", 1, 1.7e308),
        ("opinion scores are as small as 1e-305", 1, 1e-305),
        ("predicted scores are as small as 1e-305", 1e-305, 1),
    ),
)
def test_scores_at_the_ends_of_the_range_of_numbers(of_predictions, of_opinions):
    predicted, opinions = PREDICTED / np.abs(PREDICTED).max(), OPINIONS / np.abs(OPINIONS).max()
    usual, scored = scores(predicted, opinions), scores(predicted * of_predictions, opinions * of_opinions)
    for name in ("srcc", "plcc", "krcc", "plcc_fitted", "srcc_ci95", "plcc_ci95"):
        assert scored[name] == pytest.approx(usual[name], abs=1e-6)
    assert scored["rmse_fitted"] / of_opinions == pytest.approx(usual["rmse_fitted"], rel=1e-6)


@fault("one of forty predicted scores is 1e308", "correlations and intervals are defined")
def test_one_score_is_enormous():
    scored = scores(np.append(PREDICTED[1:], 1e308), OPINIONS)
    assert all(map(math.isfinite, [scored["srcc"], scored["plcc"], *scored["srcc_ci95"], *scored["plcc_ci95"]]))


@fault("opinion scores near 1e15 differ by less than the rounding error", "the fit and its interval are defined")
def test_scores_that_differ_by_little():
    scored = scores(1e15 + np.round(3 * PREDICTED), OPINIONS)
    assert scored["plcc"] > 0.8 and math.isfinite(scored["rmse_fitted"]) and math.isfinite(scored["plcc_ci95"][0])


@pytest.mark.parametrize(
    ("predicted", "opinions", "reason"),
    rows(
        "the scores are nan, and a warning says why",
        ("all predicted scores are equal", np.ones(N), OPINIONS, "all 40 predictions are equal"),
        ("all opinion scores are equal", PREDICTED, np.ones(N), "all 40 references are equal"),
        ("there is only one image", PREDICTED[:1], OPINIONS[:1], "at least two items"),
    ),
)
def test_scores_that_are_undefined(predicted, opinions, reason):
    with pytest.warns(UndefinedScoreWarning, match=reason):
        scored = scores(predicted, opinions)
    assert all(math.isnan(scored[name]) for name in ("srcc", "plcc", "krcc", "plcc_fitted", "rmse_fitted"))


@fault("opinion scores of a pair are 1e308 and -1e308", "the first image counts as better; no overflow occurs")
def test_a_difference_beyond_numbers():
    pairs = check_pairs(["a", "b"], ["b", "c"], [1e308, -1e308], [-1e308, 0.0])
    items = read_pairs(["first", "first"], ["second", "second"], pairs)
    assert items["correct"] == [True, False]


NAMES_ROW = "it is refused; the message names the argument and the row"


@pytest.mark.parametrize(
    ("compute", "reason"),
    rows(
        NAMES_ROW,
        ("a predicted score is nan", lambda: read_scores([1, math.nan]), r"predictions\[1\] is nan"),
        ("a predicted score is a string", lambda: read_scores([1, "x"]), r"predictions\[1\] is 'x'"),
        ("an opinion score is nan", lambda: scores([1, 2], [1, math.nan]), r"references\[1\] is nan"),
        ("an opinion score is an integer of 400 digits", lambda: scores([1, 2], [1, 10**400]), r"references\[1\]"),
        ("an opinion score is true", lambda: scores([1, 2], [1, True]), r"references\[1\] is True"),
        ("opinion scores are text", lambda: scores([1, 2], np.array(["1", "1_0"])), r"references\[0\] is '1'"),
        ("a pair's opinion score is true", lambda: check_pairs("a", "b", [True], [2]), r"first_references\[0\]"),
        ("a module's opinion score is NumPy's true", lambda: module([np.True_]), r"references\[0\] is np.True_"),
        ("a module's opinion score has 400 digits", lambda: module([0.5, 10**400]), r"references\[1\] is 1000"),
        ("a logit is infinite", lambda: read_logits([[1, 2], [1, -math.inf]]), r"predictions\[1\] is \[1.0"),
        ("two logits are 1e308 and -1e308", lambda: read_logits([[1, 2], [1e308, -1e308]]), r"predictions\[1\]"),
        ("an image lacks the second logit", lambda: read_logits([[1, 2], [1]]), r"predictions\[1\] is \[1\]"),
        ("there are more opinion scores than predicted scores", lambda: scores([1, 2], [1, 2, 3]), "row 2 is the"),
    ),
)
def test_numbers_that_are_refused(compute, reason):
    with pytest.raises(InputError, match=reason):
        compute()
