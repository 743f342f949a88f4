"""Predicted quality and opinion scores: pooling of logits, correlations, the logistic fit."""
