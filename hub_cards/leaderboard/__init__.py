"""The leaderboard: the entries it accepts, their ranks, and the Space; the page is in `page`."""
