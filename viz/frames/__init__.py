"""What each step means: its words, and what it changes in the picture."""
