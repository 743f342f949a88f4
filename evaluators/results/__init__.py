"""Writing and reading the files of finished runs: results.json and predictions.parquet."""
