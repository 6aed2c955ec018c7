"""Complex numbers: their parts, the ops that make them, Fourier transforms. `rules.py` lists the other ops that accept them."""
