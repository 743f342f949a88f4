"""The leaderboard: which entries it takes (`entries`, `checks`, `recomputing`), their order (`ranking`), and the Space.

The page is in `page`, the papers' tables as data in `baselines`, the boards in `boards`.
"""
