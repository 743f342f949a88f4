"""The benchmarks' own files of answers to private questions, written from rows and replies.

`backends.predictions` reads them, so `eyechart score` scores them where the right answers are at hand.
"""
