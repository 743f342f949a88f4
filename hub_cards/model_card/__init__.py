"""From finished runs to a model's page on the Hub: `model-index`, `.eval_results`, and a section of its card.

The steps: `selection` reads runs and refuses results that cannot be published. `entries` builds the metadata for the
Hub, `section` the text for readers. `front_matter` and `card` put both into the existing card and leave the rest
unchanged. `hub` reads and writes the repository. `publication` combines these steps.
"""
