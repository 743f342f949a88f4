"""Runs as the papers did them, and every prompt against the words that are cited, with the place they come from.

`OURS` in place of a source marks what no source has: prompts that a paper does not print, in words of our own.
"""

import json
import re
from functools import partial

import pytest
from PIL import Image

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.loading import options_in_force
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.chat import to_messages
from eyechart.evaluators.backends.endpoint.backend import to_chat_messages
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.options import RunOptions
from eyechart.evaluators.protocols.protocol import DEFAULT
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.evaluators.runs.task_runs import check_judging, make_task_runs
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.evaluators.tasks.prompts import LMMS_EVAL, VLMEVALKIT
from eyechart.evaluators.tasks.task import published_data_options, published_settings
from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.build import misfits
from tests.evaluators import running
from tests.evaluators.command_line import invoke
from tests.evaluators.tasks.doors import Judge, ran, scored

run = partial(running.run, as_published=True)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_papers_settings_differ_from_the_defaults_and_are_in_force(task):
    for setting in task.published:
        if setting.of_data:
            assert options_in_force(task.data.datasets[0], task.data.config)[setting.name] != setting.value
        else:
            assert getattr(task.protocol, setting.name) != setting.value
            assert getattr(evaluator(task.name, as_published=True).protocol, setting.name) == setting.value


def test_the_judge_reads_every_reply_five_times(questions):
    judge = Judge("Score: 1")
    result = run("q_bench/perception", lambda messages: "C. Poor", questions, judge=judge)
    # Exact matching finds two of six right; the judge, who is not asked by default, says that all are.
    assert (result.scores["accuracy"], result.scores["judge_asked"], result.scores["judge_reads"]) == (1.0, 6, "all")
    assert result.scores["extraction"]["judge"] == 1.0 and [n for _, n in judge.asked] == [5] * 6
    assert {(item.step, item.correct) for item in result.items} == {("judge", True)}
    assert result.settings["as_published"] == {
        "judge_reads": {"published": "all", "default": "unmatched", "source": "Q-Bench, A.2.1"}
    }
    assert " ".join(result.caveats).startswith("As published: judge_reads=all (default unmatched).")
    unused = Judge("Score: 1")
    default = running.run("q_bench/perception", lambda messages: "C. Poor", questions, judge=unused)
    assert default.scores["accuracy"] == pytest.approx(1 / 3) and not unused.asked
    assert "as_published" not in default.settings and "judge_reads" not in default.scores


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")
def test_undefined_pools_are_zero_and_pairs_those_of_the_authors_seeds(reference, tmp_path, no_report):
    task, folder = "two_afc/fine_levels", reference / "two-afc"
    released = {"pairing": "released"}
    pairs = load_dataset("two_afc", "fine_levels", split="test", options=released, data_dir=folder, images="skip")
    # Never consistent on white noise, as IDEFICS-Instruct in Table IV, and right elsewhere.
    lines = []
    for row in pairs:
        better = row["first_quality"] < row["second_quality"]
        for name, letter in (("main", "AB"[better]), ("reversed", "BA"[better])):
            lines.append({"id": row["id"], "pass": name, "text": "A" if ".AWGN" in row["pool"] else letter})
    result, output = scored(tmp_path, task, lines, "--data-dir", folder, "--as-published")
    stated = "As published: undefined_pools=zero (default leave_out), pairing=released (default random)."
    assert stated in " ".join(output.split())
    assert result.settings["data"]["options"]["pairing"] == "released"
    assert result.settings["as_published"]["pairing"]["default"] == "random"
    assert result.scores["undefined_pools"] == "zero" and result.scores["n_undefined_pools"] == 4
    table = result.diagnostics["table"]
    assert list(table) == ["AWGN", "JPEG", "jpeg2000", "fnoise", "BLUR"]
    assert table["AWGN"]["srcc"] == table["AWGN"]["plcc_fitted"] == 0.0 and table["JPEG"]["srcc"] > 0.8
    (average,) = result.diagnostics["averages"]
    assert average["srcc"] == pytest.approx(sum(row["srcc"] for row in table.values()) / 5)
    assert "srcc" not in average["undefined"]
    # A board takes neither.
    assert all(board.settings["as_published"] == (None,) for board in BOARDS)
    (board,) = [board for board in BOARDS if board.name == task]
    assert any("as_published" in reason for reason in misfits(board, result))


def test_a_paper_that_had_a_judge_is_not_repeated_without_one(questions):
    with pytest.raises(UsageError, match=r"needs a judge for q_bench/perception.*--judge"):
        run("q_bench/perception", lambda messages: "A", questions)
    task_runs = make_task_runs(["ql_bench/single", "mmbench/en"], options=RunOptions(as_published=True))
    with pytest.raises(UsageError, match="needs a judge for mmbench/en"):
        check_judging(task_runs, is_judged=False)
    check_judging(task_runs, is_judged=True)
    invoke("run", "q_bench/perception", "--as-published", code=2)


def test_what_the_paper_decides_cannot_be_given_too_nor_be_missing_in_the_data(reference):
    with pytest.raises(UsageError, match="as_published and fallback='wrong' are both given"):
        evaluator("mmbench/en", settings={"fallback": "wrong"}, as_published=True)
    with pytest.raises(UsageError, match="as_published and rounds=1 are both given"):
        evaluator("q_bench/perception", settings={"rounds": 1}, as_published=True)
    task = get_task("two_afc/fine_mos")
    assert published_data_options(task, {"mm21_dir": "x"}) == {"pairing": "released", "mm21_dir": "x"}
    with pytest.raises(UsageError, match="as_published and the data option rounds=13 are both given"):
        published_data_options(task, {"rounds": 13})
    (task_run,) = make_task_runs([task.name], options=RunOptions(as_published=True))
    assert task_run.data.options == {"pairing": "released"}
    data = load_data(task, DataRequest(data_dir=reference / "two-afc", images="skip"))
    with pytest.raises(UsageError, match=r"needs data loaded with pairing='released'; found 'random'\. Load it"):
        run(task.name, lambda messages: "A", data)
    drawn = [evaluator("two_afc/fine_types", as_published=flag) for flag in (False, True)]
    default, published = (task.load_data("mini:two_afc", subset="fine_types") for task in drawn)
    assert list(default["first_id"]) != list(published["first_id"]), "`compute` loads the paper's pairs"


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")
def test_settings_without_an_effect_are_not_listed(photographs):
    result = run("q_bench/assessment", lambda messages: "3", photographs.select(range(3)), prompt="numerical")
    assert result.settings["as_published"] == {} and "ties" not in result.settings
    assert " ".join(result.caveats).startswith("As published: no setting differs from the defaults.")
    closed = evaluator("q_bench/perception", settings={"inference": "closed-set"}, as_published=True)
    assert published_settings(get_task("q_bench/perception"), closed.protocol, "given", {}) == {}
    assert not closed.protocol.is_judged


OURS = "no source"
CLARITY = {"question": "How is the clarity of the image?", "options": ["High", "Medium", "Low"], "images": [None]}
CLARITY_OF_PAIR = {**CLARITY, "images": [None, None]}
# Loaded without its images.
APPLES = {"question": "How many apples are there in the image?", "options": list("4321"), "hint": "", "images": []}
HINTED = {**APPLES, "hint": "Look at the bowl."}
WARM = {"question": "Does the image maintain a balance between warm and cold colors?", "options": ["Yes", "No"]}
WARM["released_options"] = "A) Yes\nB) No"
DEPTH = {
    "question": "What aspect of aesthetic perception is most accurately depicted in the image?",
    "released_options": "A) Depth of field variation\nB) Uniform sharpness throughout the image\n"
    "C) Vibrant and contrasting color palette\nD)High level of brightness and luminance",
}
DEPTH["options"] = [line[2:].strip() for line in DEPTH["released_options"].splitlines()]
AESTHETIC = {"question": "How is the aesthetic quality of this image?", "options": ["High", "Medium", "Low"]}
AESTHETIC["released_options"] = "A) High\nB) Medium\nC) Low"
LEVEL = {"question": "This is an image with high aesthetics, please explain the reasons that are related to the "}
LEVEL["question"] += "aesthetic quality."
# Rows with two options, in the words of other toolkits.
CAT = {"question": "Which is\nsharper?", "hint": None, "options": ["The cat", "No: the dog"], "images": [0]}
HINTED_CAT = CAT | {"hint": "Look {twice}."}
CHOOSE = "\nChoose between one of the following options: A. High B. Medium C. Low"
APPLES_ASKED = "Question: How many apples are there in the image?\nOptions:\nA. 4\nB. 3\nC. 2\nD. 1\n"
INSTRUCTED = "Please select the correct answer from the options above. \n"
BLIND = (
    "\n"
    "You are an AI assistant which is designed to answer questions from people.\n"
    "You will be asked a question and provided several choices,\n"
    "and you need to choose the best choice to answer the question.\n"
    "There is an image associated with the problem, but that is not provided to you,\n"
    "so you need to try your best to hallucinate the image.\n"
    "Again, you can only choose from the provided choices,\n"
    "and output a single uppercase letter (A, B, C, D, etc.). \n"
    "\n"
    "Question: <question begins> How many apples are there in the image? <question ends>; \n"
    "\n"
    "Choices: <choices begin> A. 4\nB. 3\nC. 2\nD. 1 <choices end>. \n"
    "\n"
    "Your answer:\n"
)
Q_BENCH = ["q_bench/perception", "ql_bench/single"]
PAIRS = ["q_bench/perception_pairs", "ql_bench/pair"]
A3 = ["q_bench/assessment"]
MMBENCH = ["mmbench/en", "mmbench/cn", "mmbench/en_v11", "mmbench/cn_v11", "mmbench/cc"]
AES_CHOICES = ["aes_bench/perception", "aes_bench/empathy", "aes_bench/assessment"]
TWO_AFC = ["two_afc/coarse", "two_afc/fine_levels", "two_afc/fine_types", "two_afc/fine_mos"]
DESCRIBE = "Describe the quality, aesthetics and other low-level appearance of the image in details."
CHOOSE_ONE = "Choose one from the following options:"
WITHOUT = "without explanation."
ASKED_WARM = f"{WARM['question']} {CHOOSE_ONE}\nA) Yes\nB) No\nYou should output a correct option {WITHOUT}<image>"
ASKED_DEPTH = f"{DEPTH['question']} {CHOOSE_ONE}\n{DEPTH['released_options']}\n"
ASKED_AESTHETIC = f"{AESTHETIC['question']} {CHOOSE_ONE}\nA) High\nB) Medium\nC) Low\n"
WARM_LINE = f"{CHOOSE_ONE} A) Yes B) No. You should output the correct option {WITHOUT}"
AESTHETIC_LINE = f"{CHOOSE_ONE} A) High B) Medium C) Low. You should output the correct option {WITHOUT}"
FIRST, SECOND = "This is the first image", "This is the second image"
BETTER = "Which image has a better visual quality? A. The first image. B. The second image. Answer with the option's "
BETTER += "letter from the given choices directly."
RATING = (
    "You are doing the image quality assessment task. Here is the question: What is your overall rating on the "
    "quality of this picture? The rating should be a float between 1 and 5, rounded to two decimal places, with 1"
    " representing very poor quality and 5 representing excellent quality."
)
THINKING = (
    "First output the thinking process in <think> </think> tags and then output the final answer with only one "
    "score in <answer> </answer> tags."
)
# Tasks; name of the prompt; a row; what is asked. Above each, where that is printed or sent.
PROMPTS = [
    # Q-Bench, Sec. 2.2.3 and A.2.1; of two images, no source.
    (Q_BENCH, DEFAULT, CLARITY, f"How is the clarity of the image? <image>{CHOOSE}"),
    (PAIRS, DEFAULT, CLARITY_OF_PAIR, f"How is the clarity of the image? <image><image>{CHOOSE}"),
    (Q_BENCH[:1], "answer-mark", CLARITY, f"How is the clarity of the image? <image>{CHOOSE}\n#Answer:"),
    (PAIRS[:1], "answer-mark", CLARITY_OF_PAIR, f"How is the clarity of the image? <image><image>{CHOOSE}\n#Answer:"),
    # Q-Bench, A.2.2; Q-Future/Q-Bench, example_code_for_idefics/a2_description_demo.py.
    (["q_bench/description"], DEFAULT, {}, f"{DESCRIBE}<image>"),
    # Q-Bench, Sec. 2.4.1; Q-Future/Q-Bench, example_code_for_idefics/a3_assessment_all.py.
    (A3, DEFAULT, {}, "Rate the quality of the image.<image>"),
    (A3, "numerical", {}, "Score the quality of the image from 1 to 5, with 1 as lowest and 5 as highest.<image>"),
    # Q-Future/Q-Align, q_align/evaluate/scorer.py; TianheWu/VisualQuality-R1, README.md.
    (A3, "q-align", {}, "How would you rate the quality of this image?\n<image>"),
    (A3, "answer-tag", {}, f"<image>{RATING} {THINKING}"),
    # open-compass/VLMEvalKit, vlmeval/dataset/image_mcq.py, ImageMCQDataset.build_prompt.
    (MMBENCH, DEFAULT, APPLES, f"<image>{APPLES_ASKED}{INSTRUCTED}"),
    (MMBENCH, DEFAULT, HINTED, f"<image>Hint: Look at the bowl.\n{APPLES_ASKED}{INSTRUCTED}"),
    # MMBench, Appendix B, prompt_tmpl.format(example_question, option_str).
    (MMBENCH, "blind", APPLES, BLIND),
    # yipoh/AesBench, eval/eval_AesP.py, eval_AesE.py, eval_AesA1.py and eval_AesI.py: [prompt, img].
    (AES_CHOICES[:1], DEFAULT, DEPTH, f"{ASKED_DEPTH}You should output a correct option {WITHOUT}<image>"),
    (AES_CHOICES[:2], DEFAULT, WARM, ASKED_WARM),
    (AES_CHOICES[2:], DEFAULT, AESTHETIC, f"{ASKED_AESTHETIC}You should output a correct option.<image>"),
    (["aes_bench/interpretation"], DEFAULT, LEVEL, f"{LEVEL['question']}<image>"),
    # AesBench, Sec. 3.1 and 3.3.
    (AES_CHOICES[:2], "paper", WARM, f"{WARM['question']} <image> {WARM_LINE}"),
    (AES_CHOICES[2:], "paper", AESTHETIC, f"{AESTHETIC['question']} <image> {AESTHETIC_LINE}"),
    # h4nwei/2AFC-LMMs, LMMs/GPT4V.py, GPT4V.chat: the parts of `content`.
    (TWO_AFC, DEFAULT, {}, (IMAGE, FIRST, IMAGE, SECOND, BETTER)),
    # 2AFC, Sec. III-A.
    (TWO_AFC, "paper", {}, f"{FIRST}:<image>{SECOND}:<image>Which image has better visual quality?"),
]
# The words of other toolkits, whose code is named in `prompts`.
LISTED = "A. The cat\nB. No: the dog\n"
DIRECTLY = "Answer with the option's letter from the given choices directly."
IN_VLMEVALKIT = f"Question: Which is\nsharper?\nOptions:\n{LISTED}{INSTRUCTED}"
IN_LMMS_EVAL = f"Which is\nsharper? There are several options:\n{LISTED}\n{DIRECTLY}"
IN_CHINESE = IN_LMMS_EVAL.replace(DIRECTLY, "请直接使用所提供的选项字母作为答案回答。")
OF_Q_BENCH = f"Which is\nsharper?\n{LISTED}{DIRECTLY}\n"
TOOLKITS = [
    ([*MMBENCH, *Q_BENCH[:1], *AES_CHOICES], VLMEVALKIT, CAT, f"<image>{IN_VLMEVALKIT}"),
    (MMBENCH, VLMEVALKIT, HINTED_CAT, f"<image>Hint: Look {{twice}}.\n{IN_VLMEVALKIT}"),
    (["mmbench/en", "mmbench/en_v11"], LMMS_EVAL, CAT, f"<image>{IN_LMMS_EVAL}"),
    (["mmbench/en"], LMMS_EVAL, HINTED_CAT, f"<image>Look {{twice}}. {IN_LMMS_EVAL}"),
    (["mmbench/cn", "mmbench/cn_v11", "mmbench/cc"], LMMS_EVAL, CAT, f"<image>{IN_CHINESE}"),
    (Q_BENCH[:1], LMMS_EVAL, CAT, f"<image>{OF_Q_BENCH}"),
    (PAIRS[:1], LMMS_EVAL, CAT | {"images": [0, 1]}, f"<image><image>{OF_Q_BENCH}"),
    (PAIRS[:1], VLMEVALKIT, CAT | {"images": [0, 1]}, f"<image><image>{IN_VLMEVALKIT}"),
]
# Prompts without options, and how the reply to each begins.
OPEN_PROMPTS = [
    (Q_BENCH[0], CLARITY, ("How is the clarity of the image? ", IMAGE), "#Answer:", "Q-Bench, A.2.1"),
    (PAIRS[0], CLARITY_OF_PAIR, ("How is the clarity of the image? ", IMAGE, IMAGE), "#Answer:", OURS),
    *((name, APPLES, (IMAGE, APPLES["question"]), "", OURS) for name in MMBENCH),
    *((name, HINTED, (IMAGE, f"Look at the bowl.\n{APPLES['question']}"), "", OURS) for name in MMBENCH),
]


def parts(text):
    """A prompt whose images are written as <image>, as its parts."""
    if isinstance(text, tuple):
        return text
    return tuple(IMAGE if part == "<image>" else part for part in re.split("(<image>)", text) if part)


def prompts_of(task):
    """All prompts with options, by name."""
    blind = getattr(task.protocol, "blind_prompt", None)
    return {**task.protocol.prompts, **({} if blind is None else {"blind": blind})}


def prompt_of(task, row, name=DEFAULT):
    return prompts_of(get_task(task))[name](row)


@pytest.mark.parametrize(
    ("task", "name", "row", "expected"),
    [(task, name, row, parts(text)) for tasks, name, row, text in [*PROMPTS, *TOOLKITS] for task in tasks],
)
def test_a_prompt_is_that_of_its_source(task, name, row, expected):
    assert prompt_of(task, row, name) == expected
    if name != "blind":
        protocol, default = evaluator(task, settings={"prompt": name}).protocol, get_task(task).protocol.prompt_id
        assert protocol.settings()["prompt_id"] == (default if name == DEFAULT else f"{default}/{name}")


def test_no_prompt_is_without_a_source_or_a_word_that_there_is_none():
    listed = {(task, name) for tasks, name, *_ in [*PROMPTS, *TOOLKITS] for task in tasks}
    assert listed == {(task.name, name) for task in TASKS for name in prompts_of(task)}
    has_open = {task.name for task in TASKS if getattr(task.protocol, "open_prompt", None) is not None}
    assert {name for name, *_ in OPEN_PROMPTS} == has_open


def test_a_toolkits_prompt_is_the_setting_prompt(tmp_path, no_report):
    mini_run = ("mmbench/en", "--mini", "--limit", "1")
    ((result,), _) = ran(tmp_path, *mini_run, "--prompt-style", "lmms-eval")
    assert result.settings["prompt_id"] == get_task("mmbench/en").protocol.prompt_id + "/lmms-eval"
    done = invoke("run", *mini_run, "--prompt-style", "eyechart", "--set", "prompt=paper", code=2)
    assert "--prompt-style" in done.output and "--set" in done.output
    with pytest.raises(UsageError, match="'lmms-eval'"):
        evaluator("aes_bench/empathy", settings={"prompt": "lmms-eval"})


@pytest.mark.parametrize(("name", "row", "expected", "prefill", "source"), OPEN_PROMPTS)
def test_a_prompt_without_options(name, row, expected, prefill, source):
    protocol = get_task(name).protocol
    assert (protocol.open_prompt(row), getattr(protocol, "open_prefill", "")) == (expected, prefill), source


def test_the_reply_to_assessment_begins_as_in_the_released_code():
    """`"\\nAssistant: The quality of the image is"`: a3_assessment_all.py; no other task's reply is begun."""
    begun = {task.name: task.protocol.prefill for task in TASKS if getattr(task.protocol, "prefill", "")}
    assert begun == {"q_bench/assessment": "The quality of the image is"}


def test_options_that_are_not_the_releases_are_written_in_its_form():
    """Shuffled, of one's own data, or of a release that has them in columns."""
    for row in ({**WARM, "released_options": None}, {**WARM, "released_options": ""}):
        assert prompt_of("aes_bench/perception", row) == parts(ASKED_WARM)
    # Both ways round in the alphabet.
    for row, options in ((WARM, ["No", "Yes"]), (AESTHETIC, ["Low", "High", "Medium"])):
        shuffled = prompt_of("aes_bench/perception", {**row, "options": options})[0]
        assert f"options:\nA) {options[0]}\nB) {options[1]}\n" in shuffled
    # An option of the paper's line may end in a full stop.
    line = prompt_of("aes_bench/empathy", {**WARM, "options": ["By joy.", "By gloom."]}, "paper")[2]
    assert line.startswith(" Choose one from the following options: A) By joy. B) By gloom. You should")


def test_real_rows_of_aesbench_are_asked_byte_for_byte(reference, tmp_path):
    """What the four scripts of yipoh/AesBench, eval/, put together from the release."""
    file = reference / "aesbench" / "AesBench_evaluation.sample3.json"
    (tmp_path / "AesBench_evaluation.json").write_bytes(file.read_bytes())
    entries = json.loads(file.read_text(encoding="utf-8"))
    without = "\nYou should output a correct option without explanation."
    ends = {"AesP": without, "AesE": without, "AesA1": "\nYou should output a correct option.", "AesI": None}
    for task, (part, end) in zip([*AES_CHOICES, "aes_bench/interpretation"], ends.items(), strict=True):
        config = task.partition("/")[2]
        rows = load_dataset("aesbench", config, split="test", data_dir=tmp_path, images="skip").to_list()
        assert len(rows) == 3
        for row in rows:
            raw = entries[row["id"]][part]
            options = "" if end is None else f" Choose one from the following options:\n{raw['Options']}{end}"
            assert prompt_of(task, row) == (raw["Question"] + options, IMAGE)


@pytest.mark.parametrize("name", ["two_afc/coarse", "q_bench/perception", "aes_bench/perception", "mmbench/en"])
def test_parts_reach_the_model_as_they_are_and_in_their_order(name):
    """One part of the message for each part of the prompt, and not a blank more."""
    rows = {"q_bench/perception": CLARITY, "aes_bench/perception": WARM, "mmbench/en": APPLES}
    prompt = prompt_of(name, rows.get(name, {}))
    images = tuple(Image.new("RGB", (4, 4)) for _ in range(prompt.count(IMAGE)))
    request = Request("0", prompt, images)
    for (message,) in (to_messages(request, list(images)), to_chat_messages(request)):
        sent = [part.get("text", IMAGE) for part in message["content"]]
        assert tuple(sent) == prompt
