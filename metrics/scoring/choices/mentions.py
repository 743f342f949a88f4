"""The options that a reply mentions, by letter or by text, and whether it denies them: "It is not blurry"."""

import re
from bisect import bisect_left
from functools import cached_property
from string import ascii_uppercase

from eyechart.metrics.scoring.choices.lexer import GAP, WORD, Reply

_DENYING, _DENIED = set("!xi~R"), re.compile(rf"[!xR]|i{GAP}(?!h)|~(?:{GAP}{WORD}){{0,2}}{GAP}\Z")
# A negation inside the subject: "why we cannot taste it is", "不正确的是".
_SUBJECT = re.compile(r"q[^!x]*[!x][^=]*=|[!x~X][^=.?\n¶@]*o[^=]*=")
_REJECTED = re.compile(
    r"(?:(?:,[lL])*[ ,;]&[ (][lL]|(?:[,、][lL])*、[lL])?[ (;]"
    rf"(?:[NPdp]{GAP})*(?:={GAP})?(?:t )?(?:={GAP}[!x]|!{GAP}=|x|X)|[:.]X(?:[,.;?\n]| \Z)"
)
# Behind a letter: "..., but that is not right", "... if the picture showed it".
_REVOKED = re.compile(
    rf"(?:{GAP}O)?[ ,.;](?:B{GAP})?[wqp](?: [wqp])?(?: =)?(?: X| [!x] [FN]| [!x][.,;\n])|[ ,]i{GAP}(?!h)"
)
# The options before and behind an option in a list: "London, Berlin or Madrid".
_LISTED_BEFORE = re.compile(r"(?:[LO][,、])*(?:[LO][ ,、;]&[ (])?\Z")
_LISTED_BEHIND = re.compile("(?:[,、][LO])*[ ,、;]&[ (][LO]")
_LABEL_END = re.compile(r"[)\]*]{1,4}[.:]?(?=\s|$)|[.:](?=\s|$)|\s{0,4}\n|[。:]")


class Mentions(Reply):
    """A reply with the options that it mentions. The arguments are those of `Reply`."""

    @cached_property
    def affirmed(self) -> list[int]:
        """The letters and texts of options that are not denied."""
        return [i for i in self.named if not self.is_denied(i)]

    def mentions(self, start: int, end: int) -> list[int]:
        """The same between two words."""
        return self.affirmed[bisect_left(self.affirmed, start) : bisect_left(self.affirmed, end)]

    @cached_property
    def rejected(self) -> set[str]:
        """The letters that are rejected: "B is wrong, as ..."."""
        return {self.letters[i] for i in self.named if self.is_rejected(i)}

    def is_denied(self, i: int) -> bool:
        """Whether a mention is negated, supposed, rejected, or part of a compound that says the opposite."""
        before, right = self.list_before(i), self.right(i)
        is_listed = "&" in before or _LISTED_BEHIND.match(right)
        clause = self.clause(i - len(before) // 2 if is_listed else i)
        is_asked = self.gap(self.sentence_end(i)) == "?"
        return is_asked or denies(clause) or clause.endswith("< ") or right.startswith(" >") or self.is_rejected(i)

    def list_before(self, i: int) -> str:
        """The characters of the options that stand before a mention in a list; "" if none do."""
        listed = _LISTED_BEFORE.search(self.left(i, 60))
        return listed[0] if listed else ""

    def is_rejected(self, i: int) -> bool:
        """Whether a mention is rejected directly behind it, alone or in a list: "A, C or D are wrong"."""
        right = self.right(i, 40)
        is_revoked = self.code(i) == "L" and _REVOKED.match(right)
        return bool(is_revoked or _REJECTED.match(right))

    def is_several(self, i: int) -> bool:
        """Whether another letter is joined to a letter ("A and C", "A, B", "A/B"), or a list of options follows."""
        behind = i + 1 + (self.code(i + 1) == "O")
        joint = self.gaps[behind].strip(" ()[]{}*_$\"'")
        while self.code(behind) in tuple("&NPd"):
            behind, joint = behind + 1, ","
        following = self.words[behind] if behind < self.n_words else ""
        is_other = len(following) == 1 and following != self.words[i]
        is_letter = is_other and following.isupper() == self.words[i].isupper()
        if is_letter and (joint in (",", "/", "&", "、", "-", "~") or self.gaps[behind] == "."):
            return not self.is_denied(behind)
        if is_letter and self.label(behind):
            is_line = "\n" in self.gaps[behind + 1] or behind + 1 + (self.code(behind + 1) == "O") == self.n_words
            return "\n" not in self.gaps[behind] or is_line
        # "A) red B) blue"
        line = range(i + 1, min(self.line_end(i) + 1, i + 20, self.n_words - 1))
        following = chr(ord(self.words[i].upper()) + 1)
        k = next((k for k in line if self.words[k] == following), None)
        return k is not None and self.gaps[k + 1].startswith((") ", ". ", ": ")) and not self.is_denied(k)

    def is_same(self, letter: str, others: str) -> bool:
        """Whether a letter, or its text, is among the options with other letters."""
        texts = [self.options[ascii_uppercase.index(other)] for other in (letter, *others)]
        return texts[0] in texts[1:]

    def label(self, i: int) -> str:
        """The letter of a label such as "B." or "(B)" at a word; "" if there is none."""
        word = self.words[i] if i < self.n_words else ""
        if not self.values.has(word):
            return ""
        return word if self.code(i + 1) in ("", "r") or _LABEL_END.match(self.gaps[i + 1]) else ""


def denies(clause: str) -> bool:
    """Whether the characters of the beginning of a clause deny or suppose what follows."""
    return not _DENYING.isdisjoint(clause) and _DENIED.search(_SUBJECT.sub("", clause)) is not None
