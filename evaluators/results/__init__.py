"""What finished runs hold: results.json and predictions.parquet, written and read."""
