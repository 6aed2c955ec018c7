"""The seam to `extra/`: which module holds a name, and how it is found when a program first uses it."""
