"""From outcomes of pairs to one score per item: four ways of aggregating paired comparisons.

Protocol: 2AFC, Sec. II-B and III-D (https://arxiv.org/abs/2402.01162). Every function takes `winners` and `losers`,
item numbers row by row, and `n_items`; time and memory grow with the number of pairs, and no matrix is formed. Scores
of different functions are on different scales: `rescale` brings any of them to [0, 100].
"""

from eyechart.metrics.scoring.pair_ranking.comparisons import rescale
from eyechart.metrics.scoring.pair_ranking.perron import perron_scores
from eyechart.metrics.scoring.pair_ranking.thurstone import map_scores, mle_scores
from eyechart.metrics.scoring.pair_ranking.trueskill import trueskill_scores

__all__ = ["map_scores", "mle_scores", "perron_scores", "rescale", "trueskill_scores"]
