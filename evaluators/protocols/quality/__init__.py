"""Quality assessment against opinion scores: prompts, pooled logits, numbers in replies."""
