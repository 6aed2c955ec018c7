"""Runs a student's code. It is loaded in the process that does so, so it contains no right answers."""
