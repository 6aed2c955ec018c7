"""Watches a program while it runs, as light summaries: ops, values, leaves, modules, optimizers and backward passes."""
