"""Inference on a local transformers model: requests that share images share the work on them."""
