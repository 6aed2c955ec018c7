"""Judging: what is right, what is not, which mistake was made, and the report for the student."""
