"""Texts for the Hub: dataset cards, one per subset, in `datasets`."""
