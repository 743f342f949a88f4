"""Precomputed predictions: the files of several tools, read into one list of `Prediction`s.

One module per tool knows what its rows mean, `formats` which tool a file is of, and `matching` which row of the file is
about which item of the data.
"""

FROM_FILE = "predictions_file"
"""What results call this backend."""
