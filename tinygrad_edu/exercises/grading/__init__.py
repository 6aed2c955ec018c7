"""Grading many submissions: read them, grade each separately, and write the results for instructors and other systems."""
