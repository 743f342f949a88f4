"""Multiple-choice questions: a prompt with lettered options in, a letter or a text out."""

import hashlib
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.asking import Answered
from eyechart.evaluators.base import Evaluator
from eyechart.evaluators.groups import known_groups
from eyechart.evaluators.types import Request
from eyechart.evaluators.types import Response
from eyechart.evaluators.types import Row
from eyechart.metrics.scoring.choices import extract_choice


class MultipleChoiceEvaluator(Evaluator):
    """Runs a multiple-choice task.

    Options are shown in the release's order, as the releases are shuffled already. The option `shuffle_seed` shuffles
    them for each question, by the question's id and not by the order of visit.
    """

    required_columns = ("id", "images", "answer", "question", "options")
    takes = ("shuffle_seed", "max_new_tokens")

    def requests(self, row: Row) -> list[Request]:
        """One request: the question with its options as they are to be shown."""
        options = self._shown(row)
        prompt = self.definition.prompt({**row, "options": options})
        return [
            Request(
                id=row["id"],
                prompt=prompt,
                images=tuple(row["images"]),
                options=options,
                prefill=self.definition.prefill,
                max_new_tokens=self._max_new_tokens,
            )
        ]

    def check_row(self, row: Row) -> None:
        """The options must differ and the answer be the letter of one of them."""
        options, answer = row["options"], row["answer"]
        if not 1 <= len(options) <= len(ascii_uppercase) or len(set(options)) < len(options):
            raise DataError(f"its options are {options!r}; expected 1 to {len(ascii_uppercase)} different texts")
        letters = ascii_uppercase[: len(options)]
        if answer and (len(answer) != 1 or answer not in letters):
            raise DataError(f"its answer is {answer!r}; expected one of {', '.join(letters)}, or '' if it is private")

    def is_private(self, row: Row) -> bool:
        """Whether the row has no answer letter."""
        return not row["answer"]

    def metric_inputs(self, answered: Sequence[Answered]) -> dict[str, Any]:
        """Raw texts, answer letters and options, in the order in which the options were shown."""
        return {
            "predictions": [item.responses[0].text or "" for item in answered],
            "references": [right_letter(item.row, shown_options(item.responses[0])) for item in answered],
            "choices": [list(shown_options(item.responses[0])) for item in answered],
            "groups": self._groups(answered),
            "seed": self.seed,
            **self.definition.metric_arguments,
        }

    def settings(self) -> dict[str, Any]:
        """Prompt, option order, length of the answer, seed."""
        return {
            "prompt_id": self.definition.prompt_id,
            "option_order": "release" if self.options.shuffle_seed is None else "shuffled",
            "shuffle_seed": self.options.shuffle_seed,
            "max_new_tokens": self._max_new_tokens,
            "seed": self.seed,
        }

    def record(self, answered: Answered, response: Response) -> dict[str, Any]:
        """Options as shown, the right letter ("" if private) and the letter read from the answer."""
        options = list(shown_options(response))
        answer = "" if self.is_private(answered.row) else right_letter(answered.row, options)
        return {"options": options, "answer": answer, "extracted": extract_choice(response.text or "", options)}

    @property
    def _max_new_tokens(self) -> int:
        return self.options.max_new_tokens or self.definition.max_new_tokens

    def _groups(self, answered: Sequence[Answered]) -> dict[str, list[str]] | None:
        groups = known_groups([item.row for item in answered], self.definition.groups)
        if self.definition.by_response:
            groups["response"] = [_clarity(item.responses[0]) for item in answered]
        return groups or None

    def _shown(self, row: Row) -> tuple[str, ...]:
        options = tuple(row["options"])
        if self.options.shuffle_seed is None:
            return options
        digest = hashlib.sha256(f"{self.options.shuffle_seed}:{row['id']}".encode()).digest()
        order = np.random.default_rng(list(digest)).permutation(len(options))
        return tuple(options[i] for i in order)


def shown_options(response: Response) -> tuple[str, ...]:
    """The options in the order in which they were shown."""
    return response.options if response.options is not None else response.request.options


def _clarity(response: Response) -> str:
    """Whether exact matching finds an option, so that no judge is asked (AesBench, Sec. 3.1)."""
    return "ambiguous" if extract_choice(response.text or "", shown_options(response)) is None else "explicit"


def right_letter(row: Row, options: Sequence[str]) -> str:
    """The right option's letter among the options as they were shown."""
    return ascii_uppercase[list(options).index(row["options"][ascii_uppercase.index(row["answer"])])]
