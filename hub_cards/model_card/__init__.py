"""From finished runs to a model's page on the Hub: `model-index`, `.eval_results`, and a section of its card."""
