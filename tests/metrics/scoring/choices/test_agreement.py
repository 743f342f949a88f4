import json
from pathlib import Path
from string import ascii_uppercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.choices.agreement import extractor_agreement
from eyechart.metrics.scoring.choices.replies import extract_choice
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.statistics.intervals import wilson_interval

SHARES = ("agreement", "one_says_x", "different_letters")
FOUND = st.sampled_from(["A", "B", "C", "X", None])


def test_by_hand() -> None:
    rules = ["A", None, None, "B", "C", "X", "D", "A"]
    reader = ["A", None, "X", "C", "X", "B", "D", None]
    found = extractor_agreement(rules, reader)
    # Letters in rows 0 and 6, no option in 1 and 2; row 3 differs; in 4, 5 and 7 one of the two finds nothing.
    assert [found[name] for name in SHARES] == [0.5, 0.375, 0.125]
    assert found["agreement_ci95"] == list(wilson_interval(4, 8)) and found["n"] == 8


def test_misaligned_cases_of_the_paper() -> None:
    # 376 replies that humans read; 50 on which ChatGPT differs, 70 % of them with an X on one side (Appendix D.1).
    human = ["A"] * 376
    judge = ["A"] * 326 + ["X"] * 35 + ["B"] * 15
    found = extractor_agreement(human, judge)
    apart = found["one_says_x"] + found["different_letters"]
    assert found["one_says_x"] / apart == pytest.approx(0.7) and apart * 376 == pytest.approx(50)
    # Fig. 5 prints 87.0 %, which is one reply more.
    assert found["agreement"] == pytest.approx(0.870, abs=1 / 376 + 0.0005)


@given(st.lists(st.tuples(FOUND, FOUND), min_size=1))
def test_symmetric_and_complete(pairs: list[tuple[str | None, str | None]]) -> None:
    first, second = zip(*pairs, strict=True)
    found = extractor_agreement(first, second)
    assert found == extractor_agreement(second, first)
    assert sum(found[name] for name in SHARES) == pytest.approx(1)
    assert all(0 <= found[name] <= 1 for name in SHARES)
    low, high = found["agreement_ci95"]
    assert low <= found["agreement"] + 1e-12 and found["agreement"] <= high + 1e-12


@given(st.lists(FOUND, min_size=1))
def test_an_extractor_agrees_with_itself(found: list[str | None]) -> None:
    assert extractor_agreement(found, found)["agreement"] == 1.0
    assert extractor_agreement(found, [None if letter == "X" else letter for letter in found])["agreement"] == 1.0


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([], [], "first is empty"),
        (["A"], ["A", "B"], "second has 2 rows and first has 1; row 1"),
        (["A", "b"], ["A", "B"], r"first\[1\] is 'b'; allowed: a letter from A to Z, 'X' or None"),
        (["A", "B"], ["A", ""], r"second\[1\] is ''"),
        (["A", "B"], ["A", 2], r"second\[1\] is 2"),
        (["AB"], ["A"], r"first\[0\] is 'AB'"),
    ],
)
def test_bad_input(first: list, second: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        extractor_agreement(first, second)


# The only four of the real answers below that repeat no option, as a person reads them.
BY_EYE = {"Sky of the second image": "C", "Top of first image": "A", "Second image": "B", "No": None}


def _by_reading(reply: str, options: list[str]) -> str | None:
    """The option that a reply repeats up to case and final punctuation, or else what a person reads."""
    keys = [option.strip().casefold().rstrip(".") for option in options]
    key = reply.strip().casefold().rstrip(".")
    return ascii_uppercase[keys.index(key)] if keys.count(key) == 1 else BY_EYE[reply]


def test_exact_matching_and_a_reader_on_real_answers(reference: Path) -> None:
    folder = reference / "qbench2-outputs"
    rows = [(row["option"], row["gpt_answer"]) for row in json.loads((folder / "gpt.json").read_text())]
    lines = (folder / "llava.jsonl").read_text().splitlines()
    rows += [(row["option"], row["llava_answer"]) for row in map(json.loads, lines)]
    # Failed responses are no text; two rows list the same option twice, which no letter can tell apart.
    rows = [(options, reply) for options, reply in rows if isinstance(reply, str) and len(set(options)) == len(options)]
    by_rule = [extract_choice(reply, options) for options, reply in rows]
    found = extractor_agreement(by_rule, [_by_reading(reply, options) for options, reply in rows])
    assert found["n"] == 1994 and found["different_letters"] == 0.0
    assert found["one_says_x"] == 3 / 1994 and found["agreement"] == 1991 / 1994
