"""Precomputed predictions: the files of several tools, read into one list of `Prediction`s.

`formats` recognizes the tool that wrote a file and reads its rows, each with the tool's parser in `parsers`, and
`matching` finds the item of each row.
"""

FROM_FILE = "predictions_file"
"""Name of this backend in results."""
