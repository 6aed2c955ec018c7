"""Runs code that nobody has read: with a time limit, in a process that can reach nothing, or in a throw-away fork."""
