"""A whole run: what to run, the run itself, what it prints and leaves behind."""
