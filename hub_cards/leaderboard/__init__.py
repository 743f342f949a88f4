"""The leaderboard: which results it takes (`boards`, `checks`), their order (`ranking`), and the folder of the Space.

The page itself is in `hub_cards/leaderboard`, with the papers' tables as data in its `baselines`.
"""
