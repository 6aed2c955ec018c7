"""The meaning of each step: its sentence, and what it changes in the picture."""
