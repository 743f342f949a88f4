"""Pairs of images: their columns, and which images are paired."""
