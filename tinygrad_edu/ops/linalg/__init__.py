"""Products, factors and distances of vectors and matrices."""
