"""What runs a student's code: loaded in the process that does it, so nothing here knows a right answer."""
