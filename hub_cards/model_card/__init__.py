"""From finished runs to a model's page on the Hub: `model-index`, `.eval_results`, and a section of its card.

The steps: `selection` reads runs and refuses results that cannot be published. `entries` builds the metadata for the
Hub, `section` the text for readers. `card` puts both into the existing card and leaves the rest unchanged.
`publication` combines these steps, and reads and writes the repository. `benchmark` makes a dataset's `eval.yaml`.
"""
