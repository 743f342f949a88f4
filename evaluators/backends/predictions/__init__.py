"""Precomputed predictions: the files of several tools, read into one list of `Prediction`s.

`containers` reads rows from files, `formats` recognizes the tool that wrote a file, one module per tool parses its
rows, and `matching` finds the item of each row.
"""

FROM_FILE = "predictions_file"
"""Name of this backend in results."""
