"""Words that differ in their first token."""

from collections.abc import Collection, Mapping

from eyechart.datasets_scripts.common.errors import ModelError


def distinct_words(tokens: Mapping[str, str | None], needed: Collection[str], *, where: str = "") -> list[str]:
    """The words whose next-token logits are their own.

    Args:
        tokens: Each word's first token; None where it is not known, which is no other's.
        needed: Words that must be among them. Of the others, those that share their token are left out.
        where: What an error begins with, such as the model's name.

    Raises:
        ModelError: Two words that are needed begin with the same token.

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
                f"{where}the words '{word}' and '{clashes[0]}' begin with the same token {token!r}, so their "
                "next-token logits are one. Choose another pair of words."
            )
        if word in needed or not alike:
            kept.append(word)
    return kept
