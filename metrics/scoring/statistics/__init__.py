"""Intervals, bootstrap resampling and paired tests."""
