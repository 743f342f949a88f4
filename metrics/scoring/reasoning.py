r"""Splitting a reply into the model's reasoning and its answer.

Reasoning is in blocks between marks. Most marks are names in brackets with a word for reasoning, such as `<think>`,
`</seed:think>`, `[THINK]`, `◁think▷`, `<inner_monologue>` and `<|end_of_thought|>`; `_BLOCKS` has the others, from
chat templates and from the reasoning parsers of vLLM and SGLang. The answer follows the last block; if nothing does, it
precedes it. A mark that is quoted, as code or in a sentence, opens no block. An `ordinary` word opens one at the start
of a line, or if it is closed. A block that is not closed was cut off: it has no end, and contains no answer.
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

_WORDS = (
    r"think(?:ing)?(?:process)?\d?|thoughts?|reasoning|思考(?:过程)?|(?P<ordinary>reason|reflect(?:ions?|ing)?|"
    r"analy(?:sis|[sz]e|[sz]ing)|scratch[_-]?pad|monologue|rationale|deliberation|contemplat(?:ion|e)|"
    r"brainstorm(?:ing)?|introspection|critique|(?:推理|分析)(?:过程)?|(?<![a-z])(?:cot|plan(?:ning)?|internal))"
)
_NAME = rf"(?P<name>[\w:▁-]{{0,24}}?(?P<word>{_WORDS})(?:[_:▁][\w:▁-]{{0,24}})?)"
# In square brackets, other names are headings, and one before a parenthesis is a link.
_BEGIN = r"(?:[<◁][ ]?|\[(?=/|(?-i:THINK)\](?!\()))[|\uff5c]?\\?(?P<slash>/)?[|\uff5c]?[ ]?"
_END = r"(?:\s[\w:-]{1,32}=[^<>]{0,99}|\s{0,9})(?:[|\uff5c]?>|[\]▷▶]|(?(slash)(?:(?<=\s)|\Z)|(?!)))"
_BLOCKS = {
    # Gemma 4, MedGemma, Apertus, Kimi K3, s1, Apriel, Harmony without its tokens.
    "gemma": (r"<\|channel>(?:thought\b)?", r"<channel\|>"),
    "medgemma": (r"<unused94>(?:thought\b)?", "</?unused95>"),
    "apertus": (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),
    "kimi": (r"<\|open\|>think<\|sep\|>", r"<\|close\|>think<\|sep\|>"),
    "s1": (r"<\|im_start\|>think\b", r"<\|im_start\|>answer\b"),
    "apriel": (r"\AHere are my reasoning steps:(?=(?s:.*)\[BEGIN FINAL RESPONSE\])", r"\[BEGIN FINAL RESPONSE\]"),
    "bare_harmony": (r"(?-i:\Aanalysis(?=[A-Z]))", "(?-i:assistantfinal)"),
    # The end marks of these are ordinary text elsewhere: Harmony, Inkling, Granite, Open WebUI.
    "harmony": (r"<\|channel\|>(?!\s*final)[^<]{0,64}(?:<\|message\|>)?", r"<\|(?:end|return|call|start)\|>"),
    "inkling": (r"<\|content_thinking\|>", r"<\|end_message\|>"),
    "granite": (r"\AHere(?:'s| is) my thought process:(?=(?s:.*)my response:)", "Here(?:'s| is) my response:"),
    "details": (r"<details\s[^<>]{0,99}reasoning[^<>]{0,99}>", "</details>"),
}
_ENDS_OWN_BLOCK = ("harmony", "inkling", "granite", "details")
# Marks that begin an answer, and so end any block.
_ANSWER = (
    r"<\|channel\|>\s*final[^<]{0,64}(?:<\|constrain\|>[^<]{0,64})?(?:<\|message\|>)?|<\|open\|>response<\|sep\|>|"
    r"<\|begin_of_(?:solution|answer)\|>|<\|(?:start_(?:response|text)|content_text)\|>"
)
_MARKS = "|".join(f"(?P<{name}>{begin})|(?P<end_{name}>{end})" for name, (begin, end) in _BLOCKS.items())
_MARKS += f"|(?P<end_any>{_ANSWER})|(?P<tag>{_BEGIN}{_NAME}{_END})"
# What every mark begins with, so that other text is passed over fast.
_START = r"[<\[◁][ \\|\uff5c/]{0,4}[\w:▁-]{2,64}(?:[\s|\uff5c>\]▷▶]|\Z)|Here|analysis|assistantfinal"
# A text without these has no mark.
_SIGNS, _OPENINGS = ("<", "[", "◁", "assistantfinal"), ("here", "analysis")
_MARK = re.compile(rf"(?={_START})(?:{_MARKS})", re.IGNORECASE)
_MARK_OR_CODE = re.compile(rf"(?={_START}|`)(?:(?P<code>```.*?```|`[^`\n]*`)|{_MARKS})", re.IGNORECASE | re.DOTALL)
_END_NAME = re.compile(r"(?<![^\W_])(?:end|close|stop)(?![^\W_])", re.IGNORECASE)
# A mark, here `<>`, with what is around it: in the middle of a sentence or in quotation marks; at the start of a line.
_IN_SENTENCE = re.compile(r"(?:[\w,] |[\"'\u201c\u2018(])<>(?:[\"'\u201d\u2019).,;:!?]| [a-z])")
_STARTS_LINE = re.compile(r"(?:^|\n ?|[>\]▷])<>(?! [a-z])")
_ANSWER_AT_END = re.compile(r"<answer>[^<]*</answer>\s*\Z", re.IGNORECASE)
_LETTER = re.compile(r"[^\W_]")
_LEFTOVER = re.compile(r"<\|\w{1,32}\|>(?:assistant)?|\[END FINAL RESPONSE\]|<\|close\|>response<\|sep\|>")


@dataclass(frozen=True)
class SplitReply:
    """The two parts of a reply.

    Attributes:
        answer: The text after the last reasoning block, or before the only one.
        reasoning: The rest, without the marks; "" if missing.
        is_finished: Whether every block was closed.
    """

    answer: str
    reasoning: str = ""
    is_finished: bool = True


def split_reasoning(text: str) -> SplitReply:
    """Split a reply's reasoning from its answer.

    An end mark without a block ends one that the prompt opened, so everything before it is reasoning. Within a block,
    blocks with other names end by themselves.

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
    if not any(mark in text for mark in _SIGNS) and not text.lstrip()[:8].lower().startswith(_OPENINGS):
        return SplitReply(text)
    reply, text = text, text.lstrip()
    length = len(text.rstrip())
    # Texts, and whether each is reasoning.
    parts: list[tuple[str, bool]] = []
    # The names of the open blocks; and how often the name of an open block was opened again.
    opened: list[str] = []
    again = start = position = 0
    # Each mark's block, and whether it is ordinary text without its pair.
    marks = {mark.start(): (_read(mark), _is_ordinary(mark)) for mark in _MARK.finditer(text)}
    last_marks = {name: start for start, (name, is_ordinary) in marks.items() if not is_ordinary}
    while found := (_MARK if opened else _MARK_OR_CODE).search(text, position):
        position = found.end()
        if found.lastgroup == "code":
            # If the entire reply is one code block, it is not a quotation.
            position = found.start() + 1 if len(found[0]) == length else position
            continue
        (block, is_end), is_ordinary = marks.get(found.start()) or (_read(found), _is_ordinary(found))
        if is_end and block in _ENDS_OWN_BLOCK and block not in opened:
            continue
        is_pair = bool(opened) if is_end else last_marks.get((block, True), 0) >= position
        if not is_pair and is_ordinary:
            continue
        parts.append((text[start : found.start()], bool(opened) or (is_end and (again > 0 or not parts))))
        start = position
        if not is_end:
            again += block in opened
            opened += [] if block in opened else [block]
        elif opened:
            opened = opened[: opened.index(block)] if block in opened else []
        else:
            again -= again > 0
    if opened and (found := _ANSWER_AT_END.search(text, start)):
        parts.append((text[start : found.start()], True))
        start, opened = found.start(), []
    if not start:
        return SplitReply(reply)
    parts.append((text[start:], bool(opened)))
    parts = [(_LEFTOVER.sub("", part), is_inside) for part, is_inside in parts]
    outside = [index for index, (_, is_inside) in enumerate(parts) if not is_inside]
    # Decoration, such as `**` around the whole reply, is no answer if there are letters elsewhere.
    last = max(outside, key=lambda index: (bool(_LETTER.search(parts[index][0])), index), default=None)
    answer = "" if last is None else parts.pop(last)[0]
    return SplitReply(answer, "".join(part for part, _ in parts).strip(), not opened and not again)


def _read(found: re.Match[str]) -> tuple[str, bool]:
    """The name of a mark's block, and whether the mark ends it."""
    kind = str(found.lastgroup)
    if kind == "tag":
        return found["word"].lower(), found["slash"] is not None or _END_NAME.search(found["name"]) is not None
    return kind.removeprefix("end_"), kind.startswith("end_")


def _is_ordinary(found: re.Match[str]) -> bool:
    """Whether a mark without its pair is ordinary text: in a sentence, or an ordinary word within a line."""
    text, (start, end) = found.string, found.span()
    around = f"{text[max(start - 2, 0) : start]}<>{text[end : end + 2]}"
    is_word = found["ordinary"] and not _read(found)[1] and not _STARTS_LINE.search(around)
    return bool(is_word or _IN_SENTENCE.search(around))


def opens_reasoning(prompt: str) -> bool:
    """Whether a prompt ends with a mark that opens reasoning, so that its reply begins inside a reasoning block.

    Examples:
        >>> opens_reasoning("assistant: <think> "), opens_reasoning("<think></think>")
        (True, False)
    """
    # A prompt may be long, but a mark is short.
    line = prompt[-256:].rstrip().rpartition("\n")[2]
    *_, last = (None, *_MARK.finditer(line))
    return last is not None and last.end() == len(line) and not _read(last)[1]


def reasoning_marks(tokens: Iterable[str]) -> set[str]:
    """The tokens that mark reasoning; a text that contains none of them has no reasoning to split off.

    Examples:
        >>> sorted(reasoning_marks(["[THINK]", "<|im_end|>", "<|end|>"]))
        ['[THINK]']
        >>> sorted(reasoning_marks(["<|channel|>", "<|end|>", "<pad>"]))
        ['<|channel|>', '<|end|>', '<|message|>']
    """
    marks = {token: _read(found) for token in tokens if (found := _MARK.fullmatch(token))}
    begun = {block for block, is_end in marks.values() if not is_end}
    # Without Harmony channels, `<|end|>` only ends a text.
    kept = {token for token, (block, _) in marks.items() if block in begun or block not in _ENDS_OWN_BLOCK}
    return kept | ({"<|message|>"} if "harmony" in begun else set())
