"""Linear algebra: products, decompositions, norms and distances of vectors and matrices."""
