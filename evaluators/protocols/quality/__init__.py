"""Quality assessment against opinion scores: pooled logits, and ratings read from replies."""
