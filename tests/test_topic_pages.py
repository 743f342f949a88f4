"""The pages on topics say what the code does."""

import re
from pathlib import Path

import pytest

from eyechart.evaluators.backends.endpoint.backend import FIRST_FAILURES
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.local.loading import DUAL_ENCODERS
from eyechart.evaluators.protocols.protocol import REASONING_LENGTH
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scoring.choices.replies import UNREAD, read_reply
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS, KINDS

DOCS = Path(__file__).resolve().parents[1] / "docs"


def page(name: str) -> str:
    return (DOCS / "topics" / f"{name}.md").read_text(encoding="utf-8")


def sentences(name: str) -> str:
    """A page without its line ends."""
    return " ".join(page(name).split())


ROWS = re.findall(r"^\| (`.+?`) \| (B|none)[^|]*\| ?(\w*) ?\|$", page("replies"), flags=re.MULTILINE)
REPLIES = [(reply, read, step) for shown, read, step in ROWS for reply in re.findall(r"`([^`]+)`", shown)]


@pytest.mark.parametrize(("reply", "read", "step"), REPLIES)
def test_replies_are_read_as_the_page_says(reply, read, step):
    letters, found = read_reply(reply, ["Bright", "Dark", "Medium"])
    assert (letters or "none") == read and found == (step or "unparseable")


RANKS = re.findall(
    r"^\| (?:container|answer|label|choice|verdict) \|[^|]*\|(.*)\|$", page("replies"), flags=re.MULTILINE
)


@pytest.mark.parametrize("reply", [reply for cell in RANKS for reply in re.findall(r"`([^`]+)`", cell)])
def test_examples_of_claims_name_their_option(reply):
    assert read_reply(reply, ["Bright", "Dark", "Medium"])[0] == "B"


def test_every_rank_of_claims_has_examples():
    assert len(RANKS) == 5


def test_the_table_of_replies_is_whole():
    assert len(REPLIES) >= 12 and {step for _, _, step in REPLIES} == {"exact", "declared", ""}
    assert all(f"| `{why}` |" in page("replies") for why in UNREAD)


def test_the_length_of_replies():
    usual = [get_task(name).protocol.usual_length for name in ("q_bench/perception", "q_bench/description")]
    assert f"{usual[0]} tokens for choices and {usual[1]} for descriptions" in sentences("replies")
    assert f"up to {REASONING_LENGTH:,} tokens" in sentences("replies")


def test_every_kind_of_interval_is_explained():
    text = sentences("intervals")
    assert [kind for kind in KINDS if f"`{kind}`" not in text] == []
    assert f"fewer than {FEW_UNITS} units of a correlation" in text


def test_coverage_is_that_of_its_table():
    table = (DOCS / "coverage.md").read_text(encoding="utf-8")
    (good, rows) = re.search(r"(\d+) of (\d+) rows do", table).groups()
    assert f"{good} of {rows} kinds of data" in sentences("intervals")
    wide, narrow = table.count("wider than needed"), table.count("too narrow")
    assert wide + narrow == int(rows) - int(good)
    assert f"too narrow for {narrow} kinds of data and wider than needed for {wide}" in sentences("intervals")


def test_defaults_of_servers():
    text, options = sentences("servers"), EndpointOptions()
    assert f"most probable tokens that the server returns, {options.top_logprobs} by default" in text
    assert options.max_retries == 4 and "again up to four times" in text
    assert FIRST_FAILURES == 5 and "first five requests fail" in text
    assert (
        f"`--model-arg timeout`, {options.timeout:.0f} s" in text
        and f"at once, {options.concurrency} by default" in text
    )
    assert f"waits at most {options.serve_timeout:,.0f} s" in text


def test_defaults_of_the_engine():
    text = sentences("engine")
    shown = re.search(r"Dual encoders \((.+?)\)", text)[1]
    assert {name.strip().lower().replace("-", "_").replace(" ", "_") for name in shown.split(",")} == {
        name for name in DUAL_ENCODERS if name != "siglip2"
    }
