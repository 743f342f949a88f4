"""One score per item from the outcomes of pairs: four ways to aggregate paired comparisons.

Protocol: 2AFC, Sec. II-B and III-D (https://arxiv.org/abs/2402.01162). Every function takes the item
numbers `winners` and `losers`, one per comparison, and `n_items`. Time and memory grow with the number of pairs; no
matrix is formed. The scores of the functions have different scales; `rescale` maps any of them to [0, 100].
"""

from eyechart.metrics.scoring.pair_ranking.comparisons import rescale
from eyechart.metrics.scoring.pair_ranking.perron import perron_scores
from eyechart.metrics.scoring.pair_ranking.thurstone import map_scores, mle_scores
from eyechart.metrics.scoring.pair_ranking.trueskill import trueskill_scores

__all__ = ["map_scores", "mle_scores", "perron_scores", "rescale", "trueskill_scores"]
