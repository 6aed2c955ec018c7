"""The array's face: what a Tensor is asked as an array, and what knows no Tensor: dtypes, promotion, refusals."""
