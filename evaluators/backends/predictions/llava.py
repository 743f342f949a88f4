"""LLaVA's answers to MMBench (https://github.com/haotian-liu/LLaVA, `model_vqa_mmbench`): JSON Lines.

An object has `question_id` (the row's index), `round_id` (the rotation), `prompt`, `text` (the reply), `options` as
they were shown, and `option_char`, the letter of each option in the first round. In prompts, options are lettered in
the order shown.
"""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.backends.predictions.cells import text_of, whole_number_of
from eyechart.evaluators.backends.predictions.prediction import Prediction, base_and_pass
from eyechart.evaluators.requests.values import brief


def parse(row: Mapping[str, Any]) -> Prediction:
    """Parse one object; raises ValueError if it is malformed."""
    base, pass_name = base_and_pass(whole_number_of(row, "question_id"), whole_number_of(row, "round_id"))
    if not isinstance(row["options"], list):
        raise ValueError(f"'options' is {brief(row['options'])}; expected a list of strings")
    options = tuple(text_of(option) for option in row["options"]) or None
    return Prediction(
        names=(str(base),),
        pass_name=pass_name,
        text=text_of(row["text"]),
        options=options,
        question=_question(text_of(row.get("prompt")), options),
        place=base,
    )


def _question(prompt: str, options: tuple[str, ...] | None) -> str:
    """The question: the last line of the prompt before the options."""
    before, found, _ = prompt.rpartition(f"\nA. {options[0]}") if options else ("", "", "")
    return before.rstrip().rpartition("\n")[2] if found else ""
