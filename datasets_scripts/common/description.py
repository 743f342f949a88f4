"""The columns of descriptions."""

import datasets


def description_features() -> datasets.Features:
    """Return the features of the description kind.

    `description` is "" if the golden text is private; `level` is None if the benchmark has no levels.
    """
    text = datasets.Value("string")
    return datasets.Features({"id": text, "image": datasets.Image(), "description": text, "level": text})
