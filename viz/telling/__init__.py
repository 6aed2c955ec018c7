"""What happened, in words: sentences, tables, explanations of errors."""
