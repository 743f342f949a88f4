"""LLSAVisionQA, the questions of QL-Bench: the questions of Q-Bench with `I don't know` as one more option.

Explore the Hallucination on Low-level Perception for MLLMs, https://arxiv.org/abs/2409.09748, Sec. III. The set itself
is not released. It is built here from the same two sources: configuration `single` from LLVisionQA (2,990 questions on
one image), `pair` from Q-Bench2's pairs (1,999 on two); `data_dir` is the folder of that release, in any layout that
`llvisionqa` and `llvisionqa_pairs` read. Ids, splits and answers are those of the source; the column `refusal` has the
letter of the refusal option.

The paper does not specify the position of the refusal option. `refusal_position` sets it; the answer's letter is
shifted accordingly.
"""

import hashlib
from dataclasses import dataclass
from string import ascii_uppercase
from types import MappingProxyType
from typing import Any

import datasets

from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkConfig
from eyechart.datasets_scripts.common.choice.q_bench import QuestionBuilder
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.llvisionqa import llvisionqa
from eyechart.datasets_scripts.llvisionqa_pairs import llvisionqa_pairs

REFUSAL = "I don't know"
"""Text of the refusal option (Sec. II of the paper)."""
POSITIONS = ("last", "first", "random", 0, 1, 2)
"""Values of `refusal_position`. One question of Q-Bench2 has a single option: there, 2 means the last position."""


@dataclass
class SelfAwarenessConfig(BenchmarkConfig):
    """Additional settings."""

    refusal_position: str | int = "last"
    """Position of the refusal option among the options, one of `POSITIONS`: "last", "first", a position from 0, or
    "random", drawn for each question from `refusal_seed` and the question's id."""
    refusal_seed: int = 0
    """Seed of "random"; no effect otherwise."""


class LLSAVisionQA(QuestionBuilder):
    """Builds LLSAVisionQA from the releases of LLVisionQA and of Q-Bench2's pairs."""

    BUILDER_CONFIG_CLASS = SelfAwarenessConfig
    GROUPS = ("question_type", "concern", "refusal")
    QUESTION_SETS = MappingProxyType({"single": llvisionqa.QUESTIONS, "pair": llvisionqa_pairs.QUESTIONS})

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        position = self.config.refusal_position
        # True and 1.0 are equal to 1, but not allowed.
        if not any(type(position) is type(allowed) and position == allowed for allowed in POSITIONS):
            raise UsageError(f"refusal_position={position!r} is not one of {', '.join(map(repr, POSITIONS))}")
        return super()._annotations(dl_manager)

    def _example(self, raw: dict[str, Any], **where: Any) -> dict[str, Any]:
        example = super()._example(raw, **where)
        options, answer = example["options"], example["answer"]
        if REFUSAL in options:
            raise ValueError(f"the options already include {REFUSAL!r}: {options}")
        place = self._refusal_place(example["id"], len(options))
        if answer:
            right = ascii_uppercase.index(answer)
            answer = ascii_uppercase[right + (right >= place)]
        options = [*options[:place], REFUSAL, *options[place:]]
        return example | {"options": options, "answer": answer, "refusal": ascii_uppercase[place]}

    def _refusal_place(self, row_id: str, count: int) -> int:
        """Return the index of the refusal option among `count` others."""
        position = self.config.refusal_position
        if position == "random":
            digest = hashlib.sha256(f"{self.config.refusal_seed}:{row_id}".encode()).digest()
            return int.from_bytes(digest) % (count + 1)
        return min({"first": 0, "last": count}.get(position, position), count)
