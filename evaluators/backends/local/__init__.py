"""Inference with a local transformers model; requests with the same images share the computation on them."""
