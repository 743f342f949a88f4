"""Image quality databases: their columns, and the files of scores."""
