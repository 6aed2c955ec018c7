"""The programs that lessons show and ask about. A student's answer may run them, so they contain no answers."""

__all__ = ["LEAF_PROGRAMS", "RAISE_PROGRAMS"]

LEAF_PROGRAMS = {
    "made": "w = T.tensor([1.0, 2.0], requires_grad=True)\nresult = w",
    "constant": "x = T.tensor([1.0, 2.0])\nresult = x",
    "product": "w = T.tensor([1.0, 2.0], requires_grad=True)\nresult = w * 2",
    "constant_product": "x = T.tensor([1.0, 2.0])\nresult = x * 2",
    "under_no_grad": "w = T.tensor([1.0, 2.0], requires_grad=True)\nwith T.no_grad():\n    result = w * 2",
    "detached": "w = T.tensor([1.0, 2.0], requires_grad=True)\nresult = (w * 2).detach()",
    "cast": "w = T.tensor([1.0, 2.0], requires_grad=True)\nresult = w.to(T.float64)",
    "cast_to_itself": "w = T.tensor([1.0, 2.0], requires_grad=True)\nresult = w.to(T.float32)",
    "rebound": "w = T.tensor([1.0, 2.0], requires_grad=True)\nw = w - 0.1 * w\nresult = w",
}
"""By name; the question is whether `result` is a leaf."""

RAISE_PROGRAMS = {
    "exp": "w = T.tensor([1.0, 2.0], requires_grad=True)\ny = w.exp()\ny.add_(1)\ny.sum().backward()",
    "relu": "w = T.tensor([1.0, 2.0], requires_grad=True)\ny = w.relu()\ny.add_(1)\ny.sum().backward()",
    "times_two": "w = T.tensor([1.0, 2.0], requires_grad=True)\ny = w * 2\ny.add_(1)\ny.sum().backward()",
    "square": "w = T.tensor([1.0, 2.0], requires_grad=True)\ny = w ** 2\ny.add_(1)\ny.sum().backward()",
    "factor": "w = T.tensor([1.0, 2.0], requires_grad=True)\na = w * 2\ny = a * w\na.add_(1)\ny.sum().backward()",
    "summand": "w = T.tensor([1.0, 2.0], requires_grad=True)\na = w * 2\ny = a + w\na.add_(1)\ny.sum().backward()",
    "leaf": "w = T.tensor([1.0, 2.0], requires_grad=True)\nw.add_(1)\nw.sum().backward()",
    "leaf_under_no_grad": (
        "w = T.tensor([1.0, 2.0], requires_grad=True)\nwith T.no_grad():\n    w.add_(1)\nw.sum().backward()"
    ),
}
"""By name; the question is whether the program raises."""
