"""The description column kind."""

import datasets


def description_features() -> datasets.Features:
    """Return the features of the description kind.

    `description` is empty where the golden text is private; `level` is None where the benchmark tells none.
    """
    text = datasets.Value("string")
    return datasets.Features({"id": text, "image": datasets.Image(), "description": text, "level": text})
