"""Words that differ in their first token."""

from collections.abc import Collection, Mapping

from eyechart.datasets_scripts.common.errors import ModelError


def distinct_words(tokens: Mapping[str, str | None], needed: Collection[str], *, where: str = "") -> list[str]:
    """The words that can be distinguished by their first token.

    Args:
        tokens: The first token of each word; None if unknown, which counts as different from all others.
        needed: Words that must be kept. Another word is left out if it shares its first token.
        where: Beginning of an error message, such as the model's name.

    Raises:
        ModelError: A needed word begins with the same token as another needed word.

    Examples:
        >>> distinct_words({"good": "go", "poor": "po", "golden": "go"}, needed=["good", "poor"])
        ['good', 'poor']
    """
    kept = []
    for word, token in tokens.items():
        alike = [other for other in tokens if other != word and token is not None and tokens[other] == token]
        clashes = [other for other in alike if other in needed]
        if word in needed and clashes:
            raise ModelError(
                f"{where}the words '{word}' and '{clashes[0]}' begin with the same token {token!r}, so they have the "
                "same next-token logit. Choose other words."
            )
        if word in needed or not alike:
            kept.append(word)
    return kept
