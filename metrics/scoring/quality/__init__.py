"""Predicted quality against opinion scores: pooling of logits, correlations, the logistic fit."""
