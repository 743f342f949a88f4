"""Paired comparisons: preferences, pools of images, and the scores computed from them."""
