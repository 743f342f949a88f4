"""Compare runs with paired tests on the same items and settings."""
