"""Watches a running program and keeps light summaries: ops, values, leaves, modules, optimizers, backward passes."""
