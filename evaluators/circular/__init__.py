"""What CircularEval needs besides the evaluator: its passes, the blind run, human letters, the submission."""
