"""What eyechart reads in labelled replies and how fast, side by side with the rules of VLMEvalKit and lmms-eval.

    python -m tests.benchmarks.replies --vlmevalkit PATH --lmms-eval PATH
    python -m tests.benchmarks.replies --set $EYECHART_REFERENCE/replies/dev.jsonl

Prints Markdown: for each rule the share of labelled letters that it finds, the share of all replies in which it reads a
wrong letter, and replies a second of one core; eyechart's errors by kind. Three sets are timed: the replies themselves;
10,000 long ones, which are the last 1,600 characters of its long replies; and 10,000 of long prose, 1,600 characters
with an answer at the end. The aim is 10,000 of these a second.

Of the other toolkits, only the files with the rules are loaded, from checkouts (tried with VLMEvalKit e8e78f0 and
lmms-eval 75571cf). Their rules get the same options but no finish reason:

- VLMEvalKit: `can_infer`, the option's letter, then its text. What it cannot infer goes to a judge, or is drawn.
- lmms-eval, MMMU: `parse_mmmu_multi_choice_response`, which draws a letter if it finds none.
- lmms-eval, MMLU: `MultiChoiceRegexFilter` with the settings of the MMLU tasks ("flexible-extract"). It builds a table
  of 0.2 s whenever it is called, which counts in the speed on the set.
- lmms-eval, MMLU-Pro: `RegexFilter` with the pattern of "custom-extract".
- lmms-eval, AI2D: its `MultiChoiceRegexFilter`, an opening "X.", or else the whole reply, compared with the letter.

A letter drawn at random and VLMEvalKit's "Z" count as no answer. Options that are digits are given to every rule as the
texts of options A, B, C ...; VLMEvalKit then finds none of them.
"""

import argparse
import importlib.util
import logging
import string
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from eyechart.metrics.scoring.choices.replies import EXTRACTIONS, Extraction, read_reply
from tests.growth import shortest_time
from tests.labelled_replies import LabelledReply, agreement, read_set

HELD_OUT = Path(__file__).parents[1] / "metrics/scoring/choices/held_out/replies.jsonl"
LONG_REPLIES, LONG_REPLY = 10_000, 1_600
PROSE = "The photograph shows a street in the evening with several people walking past a row of shops. " * 17
OPTIONS = ("Bright", "Dark", "Medium", "no noise", "Yes", "模糊", "Vitamin D")
Reader = Callable[[Sequence[LabelledReply]], list[str]]
"""From replies to what a rule reads in each: letters, or "" for none."""


def _eyechart(extraction: Extraction) -> Reader:
    return lambda replies: [read_reply(r.text, r.options, extraction, r.finish_reason)[0] for r in replies]


def _vlmevalkit(checkout: Path) -> dict[str, Reader]:
    stand_in = {"vlmeval.smp.log": SimpleNamespace(get_logger=logging.getLogger)}
    return {"VLMEvalKit": _each(_load(checkout / "vlmeval/utils/matching_util.py", stand_in).can_infer)}


def _lmms_eval(checkout: Path) -> dict[str, Reader]:
    mmmu = _load(checkout / "lmms_eval/tasks/_task_utils/mmmu_mcq_utils.py", {})
    mmmu.random = SimpleNamespace(choice=lambda letters: "")
    filters = _load(
        checkout / "lmms_eval/filters/extraction.py", {"lmms_eval.api.filter": SimpleNamespace(Filter=object)}
    )
    ai2d = _load(checkout / "lmms_eval/tasks/ai2d/utils.py", {"lmms_eval.filters.extraction": filters})
    flexible = {"group_select": -1, "ignore_case": True, "ignore_punctuation": True}
    return {
        "lmms-eval, MMMU": _each(
            lambda text, options: mmmu.parse_mmmu_multi_choice_response(text, list(options), options)
        ),
        "lmms-eval, MMLU": _filtered(filters.MultiChoiceRegexFilter(r"(\([A-Z]\))", **flexible)),
        "lmms-eval, MMLU-Pro": _filtered(filters.RegexFilter(r"answer is \(?([ABCDEFGHIJ])\)?")),
        "lmms-eval, AI2D": _filtered(ai2d.MultiChoiceRegexFilter()),
    }


def _load(path: Path, stand_ins: dict[str, Any]) -> Any:
    """A module from its file alone; `stand_ins` replace what it imports of its own package."""
    spec = importlib.util.spec_from_file_location(f"_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    with patch.dict(sys.modules, stand_ins):
        spec.loader.exec_module(module)
    return module


def _each(rule: Callable[[str, dict[str, str]], object]) -> Reader:
    """Reader of a rule from a reply and its options by letter. They are new each time: VLMEvalKit changes them."""
    return lambda replies: [
        _letter(rule(reply.text, dict(zip(string.ascii_uppercase, reply.options, strict=False))), reply)
        for reply in replies
    ]


def _filtered(rule: Any) -> Reader:
    """Reader of a filter of lmms-eval."""

    def read(replies: Sequence[LabelledReply]) -> list[str]:
        results = rule.apply([[reply.text] for reply in replies], [{"choices": reply.options} for reply in replies])
        # AI2D's filter returns a text for each reply, the others a list of one.
        texts = (result if isinstance(result, str) else result[0] for result in results)
        return [_letter(text, reply) for text, reply in zip(texts, replies, strict=True)]

    return read


def _letter(result: object, reply: LabelledReply) -> str:
    """A rule's result, compared with the letters as lmms-eval does, without case and punctuation; "" if it is none."""
    letter = str(result).strip(string.punctuation + string.whitespace).upper()
    return letter if letter in list(string.ascii_uppercase[: len(reply.options)]) else ""


def _long_replies(examples: Sequence[LabelledReply]) -> list[LabelledReply]:
    """The ends of the long examples, in turns; the number at the front makes each one new to a cache."""
    long = [reply for reply in examples if len(reply.text) >= LONG_REPLY]
    numbered = ((number, long[number % len(long)]) for number in range(LONG_REPLIES if long else 0))
    return [replace(reply, text=f"{number:04} {reply.text[5 - LONG_REPLY :]}") for number, reply in numbered]


def print_rules(replies: Sequence[LabelledReply], readers: dict[str, Reader]) -> None:
    """Print what each rule finds and how fast."""
    prose = [LabelledReply(f"{PROSE} The answer is ({letter}).", OPTIONS, letter, "prose") for letter in "ABCD"]
    speed_sets = (replies, _long_replies(replies), _long_replies(prose))
    print("| rule | found | wrong | replies a second | long replies | long prose |\n|---|---|---|---|---|---|")
    for name, reader in readers.items():
        counts = agreement(replies, reader(replies))
        shares = f"{counts.found / counts.letters:.1%} | {counts.wrong / counts.replies:.1%}"
        speeds = (
            f"{len(texts) / shortest_time(partial(reader, texts), 2):,.0f}" if texts else "" for texts in speed_sets
        )
        print(f"| {name} | {shares} | {' | '.join(speeds)} |", flush=True)


def print_errors(replies: Sequence[LabelledReply], reader: Reader) -> None:
    """Print a rule's errors by kind of reply."""
    print("\n| kind | replies | missed | wrong |\n|---|---|---|---|")
    letters = reader(replies)
    for kind in sorted({reply.kind for reply in replies}):
        chosen = [index for index, reply in enumerate(replies) if reply.kind == kind]
        counts = agreement([replies[index] for index in chosen], [letters[index] for index in chosen])
        print(f"| {kind} | {counts.replies} | {counts.missed} | {counts.wrong} |")
    counts = agreement(replies, letters)
    print(f"| all | {counts.replies} | {counts.missed} | {counts.wrong} |")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", type=Path, default=HELD_OUT, help="labelled replies, JSON Lines")
    parser.add_argument("--vlmevalkit", type=Path, help="checkout of VLMEvalKit")
    parser.add_argument("--lmms-eval", type=Path, help="checkout of lmms-eval")
    arguments = parser.parse_args()
    readers = {f"eyechart, {extraction}": _eyechart(extraction) for extraction in EXTRACTIONS}
    readers |= _vlmevalkit(arguments.vlmevalkit) if arguments.vlmevalkit else {}
    readers |= _lmms_eval(arguments.lmms_eval) if arguments.lmms_eval else {}
    replies = read_set(arguments.set)
    print_rules(replies, readers)
    print_errors(replies, readers["eyechart, declared"])


if __name__ == "__main__":
    main()
