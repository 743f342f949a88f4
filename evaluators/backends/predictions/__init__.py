"""Precomputed predictions: the files of several tools, read into one list of `Prediction`s.

`containers` knows how files hold rows, one module per tool what its rows mean, `formats` which is which, and `matching`
which row of the file is about which item of the data.
"""

FROM_FILE = "predictions_file"
"""What results call this backend."""
