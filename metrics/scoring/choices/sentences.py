"""Sentences of a reply: where they end, and whether they refuse to answer."""

import re
from collections.abc import Sequence

_END = re.compile(r"(?<=[.!?])[\"')*]*\s+|\n+|(?<=\u3002)")
_CLOSING_MARKS = "*_\"')$ <>"
_FINAL = (".", "!", "?", "\u3002", ":", "}", "]")
_REFUSAL = re.compile(
    # "none of the options", "neither"
    r"\bnone of (?:the|these|them)\b|\bneither\b|\bno (?:correct|valid|such|option|answer)\b"
    # "I cannot tell", "it is not possible to determine", "it is hard to say"
    r"|\b(?:cannot|can't|can not|unable to|impossible to|(?:not possible|difficult|hard) (?:for me )?to)\b"
    # "this is not among the options", "it doesn't match any option", "the image does not provide"
    r"|\b(?:isn't|not|\w+n't) (?:\w+ ){0,3}(?:among|listed|available|an option|enough|sufficient)\b"
    r"|\b(?:not|\w+n't) (?:provide\b|(?:match|in|fit) (?:any|(?:the|these) (?:\w+ )?(?:options|choices|answers))\b)"
    # "there may be an error in the question", "please provide the image", "without more information"
    r"|\b(?:error|mistake|issue|problem) (?:in|with) the\b|\bplease (?:provide|check|clarify)\b"
    r"|\b(?:need|without|lacks?|insufficient) (?:\w+ ){0,2}(?:information|data|details)\b|无法|無法|有误|有誤",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[str]:
    r"""The sentences and lines of a text, without surrounding blanks.

    Examples:
        >>> split_sentences("It is dark. So:\n\nB")
        ['It is dark.', 'So:', 'B']
    """
    return [piece for piece in map(str.strip, _END.split(text)) if piece]


def refuses(sentence: str) -> bool:
    """Whether a sentence says that no option is the answer, or that the question cannot be answered.

    Examples:
        >>> refuses("None of the options match."), refuses("It is dark.")
        (True, False)
    """
    return bool(_REFUSAL.search(sentence))


def is_cut(text: str, sentences: Sequence[str]) -> bool:
    """Whether a reply of several sentences ends inside its last one.

    Examples:
        >>> is_cut("", ["It is dark.", "So the"]), is_cut("", ["It is dark.", "So it is B."])
        (True, False)
    """
    return len(sentences) > 1 and not sentences[-1].rstrip(_CLOSING_MARKS).endswith(_FINAL)
