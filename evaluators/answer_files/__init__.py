"""Answer files: the benchmarks' own formats for answers to private questions, written from rows and replies.

`backends.predictions` reads them, so `eyechart score` can score them if the reference answers are available.
"""
