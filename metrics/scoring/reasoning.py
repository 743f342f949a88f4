r"""Splitting a reply into the model's reasoning and its answer.

Reasoning is in blocks: `<think>...</think>` (also `thinking`, `thought`, `reasoning`, `seed:think`), `[THINK]...` of
Mistral, `◁think▷...` of Kimi, and the Harmony channels of gpt-oss, of which only `final` is the answer. A tag that the
answer quotes as code (`` `<think>` ``) does not open a block. A block that is not closed was cut off: all of it is
reasoning, and it contains no answer.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

STOP, LENGTH, REASONING, REFUSAL = "stop", "length", "reasoning", "refusal"
CONTENT_FILTER = "content_filter"
FINISH_REASONS = (STOP, LENGTH, REASONING, REFUSAL, CONTENT_FILTER)
"""How a reply ended: by itself, cut off at the maximum length, within its reasoning, as a refusal that the server
reports, or stopped by the server's content filter, which counts as a refusal."""
STOPPED_EARLY = (LENGTH, CONTENT_FILTER)
"""The finish reasons of replies that were stopped before their end."""

_NAMES = r"(?:think|thinking|thought|reasoning|seed:think)"
_TAG = re.compile(
    rf"(?P<close></{_NAMES}>|\[/THINK\]|◁/think▷)|<{_NAMES}>|\[THINK\]|◁think▷",
    re.IGNORECASE,
)
_TAG_OR_CODE = re.compile(rf"(?P<code>```.*?```|`[^`\n]*`)|{_TAG.pattern}", re.IGNORECASE | re.DOTALL)
_OPEN_AT_END = re.compile(rf"(?:<{_NAMES}>|\[THINK\]|◁think▷)\s*\Z", re.IGNORECASE)
_CHANNEL_MARK = re.compile(r"<\|(?:channel|message|end|return|call|start)\|>")
_CHANNEL = re.compile(r"<\|channel\|>(?P<name>\w+)[^<]{0,64}<\|message\|>")
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start)\|>")


@dataclass(frozen=True)
class SplitReply:
    """The two parts of a reply.

    Attributes:
        answer: The text outside reasoning blocks.
        reasoning: The text of the reasoning blocks, without their tags; "" if missing.
        is_finished: Whether every block was closed.
    """

    answer: str
    reasoning: str = ""
    is_finished: bool = True


def split_reasoning(text: str) -> SplitReply:
    """Split a reply's reasoning from its answer.

    A closing tag without an opening tag closes a block that the prompt opened, so everything before it is reasoning.
    Blocks may be nested.

    Args:
        text: Any string.

    Examples:
        >>> split_reasoning("<think>A or B?</think>C")
        SplitReply(answer='C', reasoning='A or B?', is_finished=True)
        >>> split_reasoning("A or B?</think>C").answer
        'C'
        >>> split_reasoning("<think>Option B looks")
        SplitReply(answer='', reasoning='Option B looks', is_finished=False)
    """
    if "<|channel|>" in text:
        return _split_channels(text)
    if "<" not in text and "◁" not in text and "[" not in text:
        return SplitReply(text)
    answer: list[str] = []
    reasoning: list[str] = []
    start = position = nested = block_end = 0
    is_inside = seen_close = False
    while found := (_TAG if is_inside else _TAG_OR_CODE).search(text, position):
        position = found.end()
        if not is_inside and found["code"]:
            # If the entire reply is one code block, it is not a quotation.
            position = found.start() + 1 if found["code"] == text.strip() else position
            continue
        part, start = text[start : found.start()], position
        if found["close"] is None:
            (reasoning if is_inside else answer).append(part)
            nested = nested + 1 if is_inside else 0
            is_inside = True
            continue
        if is_inside:
            reasoning.append(part)
            block_end, is_inside = len(answer), False
        elif nested:
            # The previous closing tag was that of an inner block, so the text since then is reasoning too.
            reasoning += [*answer[block_end:], part]
            del answer[block_end:]
            nested -= 1
        elif not seen_close:
            reasoning, answer = [*answer, *reasoning, part], []
        else:
            answer.append(part)
        seen_close = True
    (reasoning if is_inside else answer).append(text[start:])
    return SplitReply("".join(answer), "".join(reasoning).strip(), not is_inside and not nested)


def opens_reasoning(prompt: str) -> bool:
    """Whether a prompt ends with a tag that opens reasoning, so that its reply begins inside a reasoning block.

    Examples:
        >>> opens_reasoning("assistant: <think> "), opens_reasoning("<think></think>")
        (True, False)
    """
    # A prompt may be long, but a tag is short.
    return _OPEN_AT_END.search(prompt[-64:]) is not None


def reasoning_marks(tokens: Iterable[str]) -> set[str]:
    """The tokens that mark reasoning; a text that contains none of them has no reasoning to split off.

    Examples:
        >>> sorted(reasoning_marks(["[THINK]", "<|im_end|>", "<|end|>"]))
        ['[THINK]']
        >>> sorted(reasoning_marks(["<|channel|>", "<|end|>", "<pad>"]))
        ['<|channel|>', '<|end|>']
    """
    found = set(tokens)
    # Without Harmony channels, `<|end|>` only ends a text.
    marks = (_TAG, _CHANNEL_MARK) if "<|channel|>" in found else (_TAG,)
    return {token for token in found if any(mark.fullmatch(token) for mark in marks)}


def _split_channels(text: str) -> SplitReply:
    """Split Harmony channels: `final` is the answer, and any other channel without an end mark is unfinished."""
    first = _CHANNEL.search(text)
    if first is None:
        return SplitReply("", text, False)
    answer, is_finished = [text[: first.start()]], True
    reasoning: list[str] = []
    found: re.Match[str] | None = first
    while found:
        end = _CHANNEL_END.search(text, found.end())
        content = text[found.end() : end.start() if end else len(text)]
        is_final = found["name"].lower() == "final"
        (answer if is_final else reasoning).append(content)
        is_finished = is_final or end is not None
        found = _CHANNEL.search(text, end.end()) if end else None
    return SplitReply(
        re.sub(r"<\|\w+\|>(?:assistant)?", "", "".join(answer)), "\n".join(reasoning).strip(), is_finished
    )
