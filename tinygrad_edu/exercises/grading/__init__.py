"""Many submissions: read, graded each by itself, and written down for an instructor and other systems."""
