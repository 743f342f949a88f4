"""What is asked of a backend and what it answers; the store of answers."""
