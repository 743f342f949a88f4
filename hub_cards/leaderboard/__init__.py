"""The leaderboard: the entries it accepts (`entries`, `checks`, `recomputing`), and the Space.

The page is in `page`, the boards in `boards`; the papers' tables are data in `evaluators/published`.
"""
