"""Answer files: private questions with replies, in the benchmarks' own formats, which `eyechart score` reads too."""
