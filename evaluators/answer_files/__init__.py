"""Answers to private questions in each benchmark's own file format, as its authors ask for them."""
