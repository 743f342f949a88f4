"""Multiple-choice questions: their columns, their passes, and the forms in which they are released."""
