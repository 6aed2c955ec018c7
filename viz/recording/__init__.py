"""Run a program and record it as plain data: the graph, each event, and what each name was bound to."""
