"""Inference with a local transformers model; requests with the same images share the computation on them.

The way of a request: `image_groups` prepares it in a thread, where `rendering` makes tokens of its prompt and pixels of
its images. `backend` gives the prompt to `engine`, which runs prefixes that prompts share once, or to `plain`, which
runs every prompt on its own. `reader` is the model as the engine sees it: features of images, and a key-value cache
that grows. `outputs` makes texts, logits and losses of what the model gives, and `base` makes responses of them; if a
batch fails, `base` tries smaller batches or single items. `loading` loads and identifies the model.
"""
