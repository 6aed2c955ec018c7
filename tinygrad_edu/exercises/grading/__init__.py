"""Grading many submissions: read them, grade each separately, write results for instructors and other systems."""
