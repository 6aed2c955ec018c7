"""Write pictures and recordings to files."""
