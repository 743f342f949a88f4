"""Paired comparisons: preferences, pools of images, and the scores made of them."""
