"""bfloat16: what accepts it, and how ops compute with it."""
