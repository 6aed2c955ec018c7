"""What happened, in words: sentences, tables, what an error means."""
