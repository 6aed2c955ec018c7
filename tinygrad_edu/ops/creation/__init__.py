"""New tensors, and the same values as another tensor."""
