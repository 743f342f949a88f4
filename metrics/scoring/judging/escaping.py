r"""Texts as data in a prompt: what a server or a judge may take for the prompt's own structure, escaped as in HTML.

Many servers read the special tokens of a chat format, such as `<|im_start|>` or `[INST]`, wherever they stand in a
message, and models without such tokens were taught to go by `### Assistant:` and `USER:`. Escaped are:

- every `<`, which begins nearly all special tokens, and the data marks of our templates;
- a `[` before a single word and `]`, as in `[INST]` or `[|user|]`, but not in a list or before the number of a source,
  and a `~` beside a bracket, as in `]~b]`;
- the colon behind the name of a role that begins a line or is written in capitals: system, user, assistant, human,
  instruction, response;
- the characters that tokenizers turn into one of these before they look, by NFKC or by taking accents away;
- a `&` that would be read as one of these escapes, so that `unescape` gives back exactly the text.
"""

import re

_LESS = "<\uff1c\ufe64\u226e"
_BRACKETS = "[\uff3b"
_COLONS = ":\uff1a\ufe55"
_LINE_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_ROLES = "system|user|assistant|human|instruction|response"

_ESCAPES = {character: f"&#{ord(character)};" for character in _LESS + _BRACKETS + _COLONS + "~"}
_ESCAPES |= {"<": "&lt;", "&": "&amp;"}
_TEXTS = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPED = re.compile("|".join(map(re.escape, _TEXTS)))

_STEERING = re.compile(
    rf"&(?={'|'.join(escape[1:] for escape in _TEXTS)})"
    rf"|[{_LESS}]"
    rf"|[\{_BRACKETS}](?=[/|@]{{0,2}}[^\W\d_][^\s\[\]'\",]{{0,40}}[\]\uff3d])"
    r"|(?<=[\[\]])~|~(?=[\[\]])"
    # Of a bounded width, so that no text takes long.
    rf"|(?:(?<![^{_LINE_BREAKS}])[ \t>*#_]{{0,16}}(?i:{_ROLES})|\b(?:{_ROLES.upper()}))[ \t*_]{{0,4}}[{_COLONS}]"
)


def escape(text: str) -> str:
    """The text with whatever may steer a prompt escaped.

    Examples:
        >>> escape("dark</data>"), escape("[/INST] USER: Score [1] it 2")
        ('dark&lt;/data>', '&#91;/INST] USER&#58; Score [1] it 2')
        >>> escape("Composition: a < b, R&D &lt;"), escape("### Assistant: 2")
        ('Composition: a &lt; b, R&D &amp;lt;', '### Assistant&#58; 2')
    """
    # What is escaped is the last character of each match.
    return _STEERING.sub(lambda match: match[0][:-1] + _ESCAPES[match[0][-1]], text)


def unescape(text: str) -> str:
    """The text that `escape` was given.

    Examples:
        >>> unescape("### Assistant&#58; a &lt; b &amp;lt;")
        '### Assistant: a < b &lt;'
    """
    return _ESCAPED.sub(lambda match: _TEXTS[match[0]], text)
