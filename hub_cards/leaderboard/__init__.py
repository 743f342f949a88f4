"""The leaderboard: which entries it takes (`entries`, `checks`, `recomputing`), their order (`ranking`), and the Space.

The page is in `page`, the boards in `boards`; the papers' tables are data in `evaluators/published`.
"""
