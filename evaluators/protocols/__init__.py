"""How a kind of question is asked and scored; knows no task."""
