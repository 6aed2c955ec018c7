"""Why an answer could not be probed, as kinds: the process that runs it only names a kind, and writes no sentence."""

TOLD_INSIDE = {
    "syntax": "The cell is not valid Python",
    "raised": "The cell raised an error",
    "endless": "Endless loop? The cell was still running when its time was up",
    "tampered": "The answer replaced functions of what measures it (the judge, Python, NumPy or PyTorch)",
    "absent": "The cell does not define the name that the exercise asks for",
} | {
    kind: f"In an answer, {what} are not available while grading, for they reach what measures it. Remove them"
    for kind, what in {
        "frames": "frames (`inspect.stack`, `sys._getframe`, `tb_frame`)",
        "tracing": "tracers and profilers (`sys.settrace`)",
        "objects": "the objects of the garbage collector (`gc.get_objects`)",
        "code": "ways to change code (`__code__`, `compile` with the path of a file)",
    }.items()
}
"""Kinds that may come out of the sandbox, with what a teacher reads of them. The details are the student's to read."""

TOLD_OUTSIDE = {
    "lost": "The sandbox was lost twice while this answer ran, and was started again for the next answer",
    "too long": "Endless loop? It was still running when its time was up, so it was stopped",
    "ended": "It ended the process before there was a result: os._exit, a signal, or no memory left",
    "too much": "It sent more data than any answer has",
    "forged": "The answer wrote a result of its own in the place of the judge's",
    "unreadable": "The answer gave no readable result",
    "no answer": "No cell with an answer was found",
    "not answered": "Not answered yet",
    "judge's time": "Its result could not be judged in time",
}
"""Kinds that only the outside may name."""
