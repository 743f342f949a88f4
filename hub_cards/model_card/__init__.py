"""From finished runs to a model's page on the Hub: `model-index`, `.eval_results`, and a section of its card.

The order of work: `selection` reads runs and refuses what must not be published; `entries` makes what the Hub reads of
the scores, `section` what people read; `front_matter` and `card` put both into the card that is there and leave the
rest of it alone; `hub` reads and writes the repository; `publication` puts these together.
"""
