"""Pairs of images: their columns, and the rules by which images are paired."""
