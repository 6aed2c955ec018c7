"""Protection from untrusted code."""
