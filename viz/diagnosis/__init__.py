"""Says why a gradient is None, zero or nan, or why a model does not learn, from what was seen while the program ran."""
