"""From finished runs to the Hub: dataset cards, model cards and the leaderboard."""
