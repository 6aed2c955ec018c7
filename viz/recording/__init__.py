"""Running a program becomes plain data: the graph, each event, what was bound to which name."""
