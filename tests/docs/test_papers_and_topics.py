"""The pages on papers and topics: what is sent to a model, settings that differ, recomputed numbers, defaults."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts.official import official_counts
from eyechart.evaluators.backends.endpoint.backend import FIRST_FAILURES
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.local.loading import DUAL_ENCODERS
from eyechart.evaluators.commands.tasks import example_requests
from eyechart.evaluators.protocols.protocol import DEFAULT, REASONING_LENGTH
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scoring.choices.replies import UNREAD, read_reply
from eyechart.metrics.scoring.judging.prompts import list_templates
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS, KINDS
from tests.evaluators.published_rows import published_row, published_table
from tests.evaluators.tasks.test_benchmarks import DATABASES, PUBLISHED

ROOT = Path(__file__).resolve().parents[2]
PAPERS = sorted({task.name.partition("/")[0] for task in TASKS})
IMAGES = {"CSIQ": 30, "KADID-10k": 81, "MM21": 129, "CLIVE": 100, "KonIQ-10k": 160, "SPAQ": 160}
"""2AFC, Table I: images of the six databases of the first average, then those of the second."""
UNSEEN = {"KADIS-700k": 100, "SQAD": 100, "Mixed": 200}


@cache
def page(name: str) -> str:
    return (ROOT / "docs" / "papers" / f"{name}.md").read_text(encoding="utf-8")


def blocks(text: str) -> list[str]:
    return re.findall(r"^```none\n(.*?)\n```$", text, flags=re.DOTALL | re.MULTILINE)


def tasks_of(paper: str) -> list[Task]:
    return [task for task in TASKS if task.name.startswith(f"{paper}/")]


def words(task: Task, setting: str) -> tuple[Any, ...]:
    """What a prompt is made of, so that tasks which ask in the same words need one example."""
    name, _, value = setting.partition(" (")[0].partition("=")
    prompts = task.protocol.prompts
    others = [getattr(task.protocol, f"{way}_prompt", None) for way in ("blind", "open")]
    return (name, value, prompts.get(value) if name == "prompt" else (prompts[DEFAULT], *others))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_prompt_is_on_its_page_as_it_is_sent(paper):
    shown = blocks(page(paper)) + blocks(page("prompts"))
    seen = set()
    for task in tasks_of(paper):
        for setting, text in example_requests(task).items():
            if words(task, setting) not in seen:
                assert text in shown, f"{task.name}, {setting}"
            seen.add(words(task, setting))


def template(name: str) -> str:
    """A judge's template without its comments."""
    path = ROOT / "metrics" / "scoring" / "judging" / "templates" / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    return "\n".join(line for line in lines if not line.startswith("# "))


def test_no_page_shows_a_prompt_that_is_not_sent():
    sent = {text for task in TASKS for text in example_requests(task).values()}
    sent |= {template(name) for name in list_templates()}
    for paper in PAPERS:
        prompts = page(paper).partition("\n## Prompts\n")[2].partition("\n## ")[0]
        assert blocks(prompts) and set(blocks(prompts)) <= sent, paper
    assert {template(name) for name in list_templates()} <= set(blocks(page("prompts"))) <= sent


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_what_a_paper_did_otherwise_and_how_many_items_there_are_is_on_its_page(task):
    text = page(task.name.partition("/")[0])
    assert f"`{task.name}`" in text and "--as-published" in text
    for one in task.published:
        option = "--data-arg" if one.of_data else "--set"
        assert f"`{option} {one.name}={one.value}`" in text, one.name
    for dataset in task.data.default_datasets:
        for split in task.data.splits:
            for count in official_counts(dataset, task.data.config, split)[:1]:
                assert f"{count:,}" in text, f"{dataset}, {split}"


def test_published_numbers_are_those_that_are_recomputed():
    names = {"idefics": "IDEFICS-Instruct", "llava_v1.5": "LLaVA-v1.5", "qwen-vl": "Qwen-VL"}
    names["instructblip_t5"] = "InstructBLIP-T5 (high/low)"
    databases = {"agi": "AGIQA-3K", "livec": "LIVE-itw", "cgi": "CGIQA-6K"}
    rows = dict(re.findall(r"^\| (.+? on .+?) \| .+? \| (\d\.\d+/\d\.\d+)", page("q_bench"), flags=re.MULTILINE))
    published = [
        (model, name, text) for model, texts in PUBLISHED.items() for name, text in zip(DATABASES, texts, strict=True)
    ]
    assert rows == {f"{names[model]} on {databases[name]}": text for model, name, text in published}


def mean(values: dict[str, float], weights: dict[str, int]) -> float:
    return sum(values[name] * weight for name, weight in weights.items()) / sum(weights.values())


def last_cells(paper: str) -> dict[str, str]:
    """The last cell of each row of the page's tables of numbers, by the first one."""
    numbers = page(paper).partition("\n## Numbers of the paper\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in numbers.splitlines() if line.startswith("| ")]
    return {first: last for first, *_, last in rows}


def test_averages_of_2afc_are_computed_from_its_rows():
    cells = last_cells("two_afc")
    for model in ("IDEFICS-Instruct", "GPT-4V"):
        row = published_row(published_table("two_afc/coarse", "Table II"), model)
        rho = {
            name.partition(" \N{GREEK SMALL LETTER RHO}")[0]: value
            for name, value in row.items()
            if "\N{GREEK SMALL LETTER RHO}" in name
        }
        assert cells[f"{model}, six databases"] == f"{mean(rho, IMAGES):.3f}"
        assert cells[f"{model}, KADIS-700k, SQAD and mixed"] == f"{mean(rho, UNSEEN):.3f}"


def test_other_recomputed_numbers():
    assert last_cells("q_bench")["Table 3: score of 27.48, 54.74 and 17.78 % zeros, ones and twos"] == (
        f"{0.5474 + 2 * 0.1778:.2f}"
    )
    right, refused = last_cells("ql_bench")["right answers, of 98.905 % answered with accuracy 69.546 %"], 10
    # 628 of 913 questions are answered right and 10 refused rightly.
    assert (right, last_cells("ql_bench")["right refusals"]) == (f"{100 * 628 / 913:.3f}", f"{100 * refused / 913:.3f}")
    sources = {"NIs": 1246, "AIs": 802, "AGIs": 752}
    guess = mean(published_row(published_table("aes_bench/perception", "Table 2"), "Random guess"), sources)
    cells = last_cells("aes_bench")
    assert cells["Table 2, random guess overall, from its three image sources"] == f"{guess:.2f}"
    overall = cells["Table 5, overall of GPT-4V from relevance 1.385, precision 1.151, completeness 1.366"]
    assert overall == f"{(1.385 + 1.151 + 1.366) / 3:.3f}"
    # The first dev file of MMBench: questions by their numbers of options and of passes.
    questions = {(4, 4): 938, (4, 3): 53, (3, 3): 96, (2, 2): 89}
    level = sum(options**-passes * number for (options, passes), number in questions.items()) / 1176
    assert last_cells("mmbench")["chance level of CircularEval"] == f"{100 * level:.2f} %"


def topic(name: str) -> str:
    return (ROOT / "docs" / "topics" / f"{name}.md").read_text(encoding="utf-8")


def sentences(name: str) -> str:
    """A page on a topic without its line ends."""
    return " ".join(topic(name).split())


ROWS = re.findall(r"^\| (`.+?`) \| (B|none)[^|]*\| ?(\w*) ?\|$", topic("replies"), flags=re.MULTILINE)
REPLIES = [(reply, read, step) for shown, read, step in ROWS for reply in re.findall(r"`([^`]+)`", shown)]


@pytest.mark.parametrize(("reply", "read", "step"), REPLIES)
def test_replies_are_read_as_the_page_says(reply, read, step):
    letters, how = read_reply(reply, ["Bright", "Dark", "Medium"])
    assert (letters or "none") == read and how == (step or "unparseable")


def test_examples_of_claims_name_their_option():
    line = r"^\| (?:container|answer|label|choice|verdict) \|[^|]*\|(.*)\|$"
    ranks = [re.findall(r"`([^`]+)`", cell) for cell in re.findall(line, topic("replies"), flags=re.MULTILINE)]
    assert len(ranks) == 5 and all(ranks)
    assert {read_reply(reply, ["Bright", "Dark", "Medium"])[0] for replies in ranks for reply in replies} == {"B"}


def test_the_table_of_replies_is_whole():
    assert len(REPLIES) >= 12 and {step for _, _, step in REPLIES} == {"exact", "declared", ""}
    assert all(f"| `{why}` |" in topic("replies") for why in UNREAD)


def test_defaults_are_those_that_pages_name():
    usual = [get_task(name).protocol.usual_length for name in ("q_bench/perception", "q_bench/description")]
    options = EndpointOptions()
    stated = {
        "replies": [
            f"{usual[0]} tokens for choices and {usual[1]} for descriptions",
            f"up to {REASONING_LENGTH:,} tokens",
        ],
        "servers": [
            f"most probable tokens that the server returns, {options.top_logprobs} by default",
            f"`--model-arg timeout`, {options.timeout:.0f} s",
            f"at once, {options.concurrency} by default",
            f"waits at most {options.serve_timeout:,.0f} s",
            "again up to four times",
            "first five requests fail",
        ],
    }
    assert (options.max_retries, FIRST_FAILURES) == (4, 5)
    assert [text for name, texts in stated.items() for text in texts if text not in sentences(name)] == []


def test_every_kind_of_interval_is_explained():
    text = sentences("intervals")
    assert [kind for kind in KINDS if f"`{kind}`" not in text] == []
    assert f"fewer than {FEW_UNITS} units of a correlation" in text


def test_coverage_is_that_of_its_table():
    table = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    (good, rows) = re.search(r"(\d+) of (\d+) rows do", table).groups()
    assert f"{good} of {rows} kinds of data" in sentences("intervals")
    wide, narrow = table.count("wider than needed"), table.count("too narrow")
    assert wide + narrow == int(rows) - int(good)
    assert f"too narrow for {narrow} kinds of data and wider than needed for {wide}" in sentences("intervals")


def test_dual_encoders_are_those_that_the_page_names():
    shown = re.search(r"Dual encoders \((.+?)\)", sentences("engine"))[1]
    names = {name.strip().lower().replace("-", "_").replace(" ", "_") for name in shown.split(",")}
    assert names == set(DUAL_ENCODERS) - {"siglip2"}
