"""What quality assessment needs besides the evaluator: word pairs, pooling in many ways, ratings, averages."""
