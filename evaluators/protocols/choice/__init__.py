"""Multiple-choice questions: single answers, CircularEval, self-awareness."""
