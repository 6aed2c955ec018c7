"""Why is a gradient None, zero or nan, and why does a model not learn: found by what was seen while the program ran."""
