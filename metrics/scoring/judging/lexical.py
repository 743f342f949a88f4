"""The `lexical` judge: word overlap, a deterministic baseline of our own that needs no model.

It knows no meanings and no attributes. Its scores are comparable with nothing, and every result names it. A share of
words in common becomes a score by rounding: all words give the highest score, none the lowest.

- completeness: the reference's words that are in the description.
- preciseness, precision: the description's words that are in the reference.
- relevance: one point for each quality in the prompt's list that the description names, at most 2.
- scores from 1 to 5: the correct answer's words that are in the answer.
- choices: the option that exact matching finds, else the one with the largest share of its words in the answer; X if
  there is none, or with a tie.

Function words do not count, endings such as -ness or -ed are ignored, and a word after a negation is another word.
"""

import ast
import re
from collections.abc import Sequence
from string import ascii_uppercase

from eyechart.metrics.scoring.choices.replies import extract_choice
from eyechart.metrics.scoring.choices.text import normalise, split_words
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.judging.prompts import Messages, read_fields
from eyechart.metrics.scoring.judging.replies import NO_OPTION

LEXICAL = "lexical"
"""The name of this judge in results."""
_FUNCTION = (
    "a an and are as at be been but by can for from had has have he her his i in into is it its of on or our so that"
    " the their them there these they this those to very was we were what which who will with would you your image"
)
_FUNCTION_WORDS = frozenset(_FUNCTION.split())
_NEGATIONS = ("no", "not", "never", "without", "cannot")
# "Blurry", "blurred" and "blurriness" end in the same word, "blur".
_ENDING = re.compile(r"(?<=\w\w(\w))\1?(?:iness|ness|ing|ed|es|ly|y|e|(?<![us])s)$")


def lexical(messages: Messages, n: int) -> list[str]:
    """Reply n times alike to a conversation from `prompts.render`, in the form that its template asks for.

    Examples:
        >>> from eyechart.metrics.scoring.judging.prompts import render
        >>> fields = {"description": "It is dark and noisy.", "reference": "A dark image with vivid colors and noise."}
        >>> lexical(render("q_bench_completeness", fields), 2)
        ['Score: 1', 'Score: 1']
    """
    template, fields = read_fields(messages) or ("", {})
    words = {name: _content_words(text) for name, text in fields.items()}
    said, expected = words.get("description", words.get("answer", set())), words.get("reference", set())
    match template.rpartition("_")[2]:
        case "completeness":
            reply = f"Score: {round(2 * _share(expected, said))}"
        case "preciseness" | "precision":
            reply = f"Score: {round(2 * _share(said, expected))}"
        case "relevance":
            listed = messages[-1]["content"].rpartition("may include")[2].partition("etc.")[0]
            reply = f"Score: {min(2, len(_content_words(listed) & said))}"
        case "marking":
            reply = f"Score: {1 + round(4 * _share(expected, said))}"
        case "choice":
            options = re.split(r"(?:^| )[A-Z]\. ", fields["options"])[1:]
            reply = _best_option(options, fields["answer"])
        case "vote":
            # The template contains the list's `repr`. literal_eval reads literals only and runs no code.
            options = ast.literal_eval(fields["options"])
            chosen = dict(zip(ascii_uppercase, options, strict=False)).get(_best_option(options, fields["answer"]))
            reply = f"Result: {int(chosen == fields['correct'])}"
        case _:
            raise InputError("the lexical judge reads only conversations that `prompts.render` created")
    return [reply] * n


def _best_option(options: Sequence[str], answer: str) -> str:
    if (named := extract_choice(answer, options)) is not None:
        return named
    shares = [_share(_content_words(option), _content_words(answer)) for option in options]
    best = max(shares, default=0.0)
    return ascii_uppercase[shares.index(best)] if shares.count(best) == 1 else NO_OPTION


def _share(words: set[str], others: set[str]) -> float:
    return len(words & others) / len(words) if words else 0.0


def _content_words(text: str) -> set[str]:
    """The words of a text without endings and function words; all its words if nothing else is left."""
    content, negation = set(), ""
    for word in (words := split_words(normalise(text)).folded):
        if word in _NEGATIONS or word.endswith("n't"):
            negation = "not "
            content.add("not")
        elif word not in _FUNCTION_WORDS:
            content.add(negation + _ENDING.sub("", word))
            negation = ""
    return content or set(words)
