"""Complex numbers: their parts, the ops that make them, Fourier transforms, and which other ops accept them (`rules.py`)."""
