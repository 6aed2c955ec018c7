"""The most common mistakes of autograd learners, each with a program that makes it and ways to fix it.

To add a mistake, add one `Mistake` here. All messages, gradients and pictures come from running these programs with
`viz.mistake`; none are written by hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FIXES, TELLS, WRONG = "fixes", "tells", "wrong"


@dataclass(frozen=True)
class Fix:
    """One thing to try: its name, the edits of the program, and what comes of it.

    `kind` is `fixes`, `tells` (still wrong, but no longer silent) or `wrong` (what many try, and what does not help).
    `edits` are pairs (text that occurs once in the program, its replacement).
    """

    label: str
    edits: tuple[tuple[str, str], ...]
    why: str
    kind: str = FIXES


@dataclass(frozen=True)
class Mistake:
    """One mistake: a program for either engine, where it goes wrong, why, and what to try.

    `number` is its rank among the course's fifteen; some have several forms. `at` is text of the wrong line (which
    occurs once); `mark` names a tensor or a node to mark if the engine itself names none. `phrase` is a pattern for the
    message of either engine, empty for a silent mistake. `hint` is one for other reports: warnings, errors of a check.
    """

    number: int
    name: str
    title: str
    why: str
    program: str
    at: str
    fixes: tuple[Fix, ...]
    phrase: str = ""
    mark: str = ""
    hint: str = ""

    @property
    def silent(self) -> bool:
        """Whether neither engine reports anything."""
        return not self.phrase

    @property
    def line(self) -> int:
        """The number of the wrong line, from 1."""
        return self.program[: self.program.index(self.at)].count("\n") + 1

    def fixed(self, fix: Fix | None) -> str:
        """The program with the edits of `fix`; unchanged for None."""
        text = self.program
        for old, new in fix.edits if fix is not None else ():
            text = text.replace(old, new)
        return text


SECOND_BACKWARD = Mistake(
    1,
    "second backward",
    "A second backward() through the same graph",
    "The first backward() freed what this node had saved, so a second pass has nothing to multiply by. Compute the "
    "result again. Use retain_graph=True only if both passes need the very same numbers.",
    """\
w = T.tensor(2.0, requires_grad=True)
area = w * w  # once, before the loop
for x in (1.0, 3.0):
    loss = area * x
    loss.backward()
    with T.no_grad():
        w -= 0.1 * w.grad
    w.grad = None""",
    "area = w * w ",
    (
        Fix(
            "compute it in each step",
            (
                ("area = w * w  # once, before the loop\n", ""),
                ("loss = area * x", "area = w * w\n    loss = area * x"),
            ),
            "Each step has its own graph, built from the w of that step.",
        ),
        Fix(
            "one backward() of the sum",
            (
                ("for x in (1.0, 3.0):\n    loss = area * x\n    loss.backward()\n",
                 "loss = area * 1.0 + area * 3.0\nloss.backward()\n"),
                ("    with T.no_grad():\n        w -=", "with T.no_grad():\n    w -="),
                ("    w.grad = None", "w.grad = None"),
            ),
            "One pass goes through the shared part once, with both gradients added up. It is one larger step.",
        ),
        Fix(
            "loss.backward(retain_graph=True)",
            (("loss.backward()", "loss.backward(retain_graph=True)"),),
            "The first error goes, but another one comes: the saved w is still there, but the step has changed it.",
            WRONG,
        ),
    ),
    r"backward through the graph a second time",
)  # fmt: skip

DOES_NOT_REQUIRE_GRAD = Mistake(
    2,
    "does not require grad",
    "element 0 of tensors does not require grad",
    "This tensor has no graph: nothing that led to it requires grad, or item(), torch.tensor(), detach() or no_grad "
    "cut its history off. Look for the cut and remove it.",
    """\
w = T.tensor(2.0, requires_grad=True)
y = w * 3
loss = T.tensor((y.item() - 5) ** 2)
loss.backward()""",
    "y.item()",
    (
        Fix(
            "compute with the tensor itself",
            (("T.tensor((y.item() - 5) ** 2)", "(y - 5) ** 2"),),
            "Every op from w to the loss is recorded, so the gradient can get back to w.",
        ),
        Fix(
            "a loss function of tensors",
            (("T.tensor((y.item() - 5) ** 2)", "T.nn.functional.mse_loss(y, T.tensor(5.0))"),),
            "The same loss as one op. Only the target is a new tensor, and it needs no gradient.",
        ),
        Fix(
            "loss.requires_grad = True",
            (("loss.backward()", "loss.requires_grad = True\nloss.backward()"),),
            "The error goes, but nothing learns: the loss is a leaf now, with no way back to w.",
            WRONG,
        ),
    ),
    r"element \d+ of tensors? does not require grad",
    "loss",
)

NO_ZERO_GRAD = Mistake(
    3,
    "no zero_grad",
    "The gradients are never reset",
    "backward() adds to what is in .grad. Without zero_grad the second step uses the sum of two gradients, and the "
    "tenth the sum of ten. The path swings around the minimum, and no error is raised.",
    """\
w = T.tensor(0.0, requires_grad=True)
for step in range(2):
    loss = (w - 3) ** 2
    loss.backward()
    with T.no_grad():
        w -= 0.4 * w.grad""",
    "loss.backward()",
    (
        Fix(
            "w.grad = None after each step",
            (("w -= 0.4 * w.grad", "w -= 0.4 * w.grad\n    w.grad = None"),),
            "Each step uses the gradient of its own loss. The tensor in .grad is gone until the next backward().",
        ),
        Fix(
            "optimizer.zero_grad()",
            (
                ("for step", "optimizer = T.optim.SGD([w], lr=0.4)\nfor step"),
                ("    loss.backward()\n", "    optimizer.zero_grad()\n    loss.backward()\n"),
                ("    with T.no_grad():\n        w -= 0.4 * w.grad", "    optimizer.step()"),
            ),
            "The same, for every parameter that the optimizer was given.",
        ),
        Fix(
            "a smaller learning rate",
            (("0.4 *", "0.1 *"),),
            "The swings get slower, but the sum stays: the second step still uses both gradients.",
            WRONG,
        ),
    ),
    mark="w",
)

IN_PLACE = Mistake(
    4,
    "in-place on a saved value",
    "A tensor that backward needs was changed in place",
    "A node had saved this tensor for its backward, and it was changed in place afterwards: its version number shows "
    "that. Change a copy instead, or make a new tensor.",
    """\
x = T.tensor(1.0, requires_grad=True)
y = x.exp()
y += 1
y.backward()""",
    "y += 1",
    (
        Fix(
            "a new tensor: y = y + 1",
            (("y += 1", "y = y + 1"),),
            "exp keeps its own result unchanged, and the sum is a new tensor.",
        ),
        Fix("change a copy", (("y += 1", "y = y.clone()\ny += 1"),), "This changes the clone, but not what exp saved."),
        Fix(
            "y.data += 1",
            (("y += 1", "y.data += 1"),),
            "The error goes, but the gradient is silently wrong: backward multiplies by e + 1 instead of e.",
            WRONG,
        ),
    ),
    r"modified by an inplace operation",
)

GRAD_IS_NONE = Mistake(
    5,
    "grad is None",
    ".grad is None: the name belongs to a tensor that is not a leaf",
    "Only leaves keep a gradient. to(), a cast, or w = w - … makes a new tensor, the result of an op, and the name "
    "now belongs to that tensor. The leaf that gets the gradient no longer has a name.",
    """\
w = T.tensor([1.0, 2.0], requires_grad=True).to(T.float64)
loss = (w * w).sum()
loss.backward()
print(w.is_leaf, w.grad)""",
    ".to(T.float64)",
    (
        Fix(
            "make the leaf with its final dtype",
            (("[1.0, 2.0], requires_grad=True).to(T.float64)", "[1.0, 2.0], dtype=T.float64, requires_grad=True)"),),
            "w is the leaf itself, and gets its gradient.",
        ),
        Fix(
            "require grad last",
            (("[1.0, 2.0], requires_grad=True).to(T.float64)", "[1.0, 2.0]).to(T.float64).requires_grad_()"),),
            "The cast is not yet an op of the graph, so its result is a leaf.",
        ),
        Fix(
            "w.retain_grad()",
            (("loss = (w", "w.retain_grad()\nloss = (w"),),
            "Good for a look: w keeps its gradient, too. But an optimizer cannot update a tensor that is not a leaf.",
            TELLS,
        ),
        Fix(
            "w.requires_grad_(True)",
            (("loss = (w", "w.requires_grad_(True)\nloss = (w"),),
            "It required grad already. It is still not a leaf, and .grad is still None.",
            WRONG,
        ),
    ),
    mark="w",
    hint=r"\.grad attribute of a Tensor that is not a leaf",
)

TOTAL_LOSS = Mistake(
    6,
    "total += loss",
    "total += loss keeps the graph of every step",
    "The sum of losses is itself an op, so total refers to the graph of every step, and everything that was saved "
    "there stays in memory as long as total does. Add up numbers, not tensors.",
    """\
w = T.tensor(2.0, requires_grad=True)
total = 0.0
for x in (1.0, 2.0):
    loss = (w * x - 3) ** 2
    loss.backward()
    total += loss
print(total)""",
    "total += loss",
    (
        Fix(
            "total += loss.item()",
            (("total += loss", "total += loss.item()"),),
            "total is a Python number. The graph of a step goes when its loss goes.",
        ),
        Fix(
            "total += loss.detach()",
            (("total += loss", "total += loss.detach()"),),
            "total is a tensor without a history: no copy from the device in each step, and no graph.",
        ),
        Fix(
            "del loss",
            (("total += loss", "total += loss\n    del loss"),),
            "Only the name goes. total still holds the node of each step's loss.",
            WRONG,
        ),
    ),
    mark="total",
)

STATE_NOT_DETACHED = Mistake(
    7,
    "state not detached",
    "The state of a recurrent network is not detached",
    "The state h comes out of the last step with its whole history. The second backward() runs into the graph of the "
    "first step, which was freed. Cut the history off where a new stretch of time begins: h = h.detach().",
    """\
w = T.tensor(0.5, requires_grad=True)
h = T.tensor(1.0)
for x in (1.0, 2.0):
    h = T.tanh(w * h + x)
    loss = (h - 1) ** 2
    loss.backward()""",
    "h = T.tanh",
    (
        Fix(
            "h = h.detach() before each step",
            (("    h = T.tanh", "    h = h.detach()\n    h = T.tanh"),),
            "Each pass ends where its step begins: truncated backpropagation through time.",
        ),
        Fix(
            "add up, one backward() at the end",
            (
                ("for x", "total = 0.0\nfor x"),
                ("    loss = (h - 1) ** 2\n    loss.backward()", "    total = total + (h - 1) ** 2\ntotal.backward()"),
            ),
            "One pass through both steps: the exact gradient, for the memory of both.",
        ),
        Fix(
            "loss.backward(retain_graph=True)",
            (("loss.backward()", "loss.backward(retain_graph=True)"),),
            "No error, but the pass of step n goes back through all n steps. Each one is slower and keeps more, until "
            "the memory is full.",
            WRONG,
        ),
    ),
    r"backward through the graph a second time",
)

CTX_ATTRIBUTE = Mistake(
    8,
    "ctx attribute",
    "ctx.y = y instead of save_for_backward",
    "Autograd knows nothing about an attribute of ctx. It shares the memory of the result. If the result is changed "
    "in place, backward multiplies by the changed numbers: 271.8 instead of 2.718, and no error is raised.",
    """\
class Exp(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y

x = T.tensor(1.0, requires_grad=True)
y = Exp.apply(x)
with T.no_grad():
    y *= 100
y.backward()""",
    "ctx.y = y",
    (
        Fix(
            "ctx.save_for_backward(y)",
            (
                ("ctx.y = y", "ctx.save_for_backward(y)"),
                ("return grad * ctx.y", "(y,) = ctx.saved_tensors\n        return grad * y"),
            ),
            "The version of a saved tensor is checked when it is used, so you get an error instead of a wrong "
            "gradient.",
            TELLS,
        ),
        Fix(
            "save it, and leave the result alone",
            (
                ("ctx.y = y", "ctx.save_for_backward(y)"),
                ("return grad * ctx.y", "(y,) = ctx.saved_tensors\n        return grad * y"),
                ("y *= 100", "z = y * 100"),
            ),
            "The slope of exp at 1 is e.",
        ),
        Fix(
            "ctx.y = y.detach()",
            (("ctx.y = y", "ctx.y = y.detach()"),),
            "A detached tensor has no history, but the same memory: still 271.8.",
            WRONG,
        ),
    ),
    mark="ExpBackward",
)

DETACH_DATA = Mistake(
    9,
    "detach, no_grad and .data",
    "detach, no_grad and .data confused",
    "no_grad: what runs inside is not recorded. detach(): a tensor with the same numbers and no history. .data: the "
    "same, but without the version counter. So nobody notices a change made through it, and the gradient is silently "
    "wrong.",
    """\
w = T.tensor(2.0, requires_grad=True)
loss = w * w
w.data *= 10
loss.backward()""",
    "w.data *= 10",
    (
        Fix(
            "change it after backward(), under no_grad",
            (("w.data *= 10\nloss.backward()", "loss.backward()\nwith T.no_grad():\n    w *= 10"),),
            "The gradient is that of the loss that was computed, and w is ten times as large afterwards.",
        ),
        Fix(
            "change a copy",
            (("w.data *= 10", "large = w.detach().clone()\nlarge *= 10"),),
            "clone() has its own memory; w stays as the graph knows it.",
        ),
        Fix(
            "under no_grad instead of .data",
            (("w.data *= 10", "with T.no_grad():\n    w *= 10"),),
            "no_grad does not hide the change from the version counter, so the mistake raises an error.",
            TELLS,
        ),
        Fix(
            "w.detach().mul_(10)",
            (("w.data *= 10", "w.detach().mul_(10)"),),
            "detach() shares the memory and the version counter. w changes anyway, and backward says so.",
            TELLS,
        ),
    ),
    mark="loss",
)

_SCALED_ADD = """\
class ScaledAdd(T.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, k):
        ctx.k = k
        return a + k * b

    @staticmethod
    def backward(ctx, grad):
        return {}

a = T.tensor(1.0, requires_grad=True)
b = T.tensor(2.0, requires_grad=True)
y = ScaledAdd.apply(a, b, 3.0)
y.backward()"""

WRONG_NUMBER = Mistake(
    10,
    "wrong number of gradients",
    "backward returns too few gradients, or too many",
    "backward returns one gradient for each argument of forward, in the same order. It returns None for an argument "
    "that is not a tensor or has no gradient.",
    _SCALED_ADD.format("grad, ctx.k * grad"),
    "return grad, ctx.k * grad",
    (
        Fix("None for the number k", (("return grad, ctx.k * grad", "return grad, ctx.k * grad, None"),),
            "Three arguments need three entries."),
        Fix(
            "do not pass k",
            (
                ("forward(ctx, a, b, k):\n        ctx.k = k\n        return a + k * b",
                 "forward(ctx, a, b):\n        return a + 3.0 * b"),
                ("ctx.k * grad", "3.0 * grad"),
                ("apply(a, b, 3.0)", "apply(a, b)"),
            ),
            "Two arguments need two gradients; k is written into the Function.",
        ),
        Fix("None where it does not fit", (("return grad, ctx.k * grad", "return grad, None, ctx.k * grad"),),
            "The count is right, but the order is not: a number cannot have a gradient.", WRONG),
    ),
    r"returned an incorrect number of gradients|returned a gradient different than None",
)  # fmt: skip

WRONG_NONE = Mistake(
    10,
    "wrong None",
    "backward returns None where there is a gradient",
    "None means that no gradient flows here, and the engine believes it. b.grad stays None, b never learns, and no "
    "error is raised. Only a comparison with finite differences finds it.",
    _SCALED_ADD.format("grad, None, None"),
    "return grad, None, None",
    (
        Fix(
            "return its gradient",
            (("return grad, None, None", "return grad, ctx.k * grad, None"),),
            "y = a + 3 b, so the slope along b is 3.",
        ),
        Fix(
            "let gradcheck look",
            (
                ("a = T.tensor(1.0,", "a = T.tensor(1.0, dtype=T.float64,"),
                ("b = T.tensor(2.0,", "b = T.tensor(2.0, dtype=T.float64,"),
                ("y = ScaledAdd", "T.autograd.gradcheck(ScaledAdd.apply, (a, b, 3.0))\ny = ScaledAdd"),
            ),
            "gradcheck measures the slope and finds that the gradient should be 3.",
            TELLS,
        ),
        Fix(
            "b.requires_grad_()",
            (("y = ScaledAdd", "b.requires_grad_()\ny = ScaledAdd"),),
            "b requires grad already. The missing part is what backward returns.",
            WRONG,
        ),
    ),
    mark="y",
)

UN_BROADCAST = Mistake(
    11,
    "forgotten un-broadcast",
    "The gradient of a broadcast tensor is not summed",
    "b is one row, used for all three: its gradient is the sum over the rows. The engine sums by itself, also for "
    "your own Function. If you pass gradients on by hand, you have to sum.",
    """\
X = T.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
b = T.tensor([1.0, 2.0], requires_grad=True)
y = X + b
loss = (y * y).sum()
(grad_y,) = T.autograd.grad(loss, y)
b.grad = grad_y""",
    "b.grad = grad_y",
    (
        Fix(
            "sum over what was broadcast",
            (("b.grad = grad_y", "b.grad = grad_y.sum(0)"),),
            "Each element of b was used once per row, so the gradients of the rows add up.",
        ),
        Fix(
            "let backward() do it",
            (("(grad_y,) = T.autograd.grad(loss, y)\nb.grad = grad_y", "loss.backward()"),),
            "The + knows both shapes, and its backward sums.",
        ),
        Fix(
            "take the mean over the rows",
            (("b.grad = grad_y", "b.grad = grad_y.mean(0)"),),
            "The shape fits and the error goes, but the result is a third of the gradient.",
            WRONG,
        ),
    ),
    r"attempting to assign a gradient of size",
    "y",
)

_CUBE = """\
class Cube(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return x * square

    @staticmethod
    def backward(ctx, grad):
        (square,) = ctx.saved_tensors
        return grad * 3 * square

x = T.tensor(2.0, requires_grad=True)
y = x * Cube.apply(x)
(slope,) = T.autograd.grad(y, x, create_graph=True)
slope.backward()"""

DOUBLE_BACKWARD = Mistake(
    12,
    "double backward over a saved intermediate",
    "The second derivative misses a path: an intermediate was saved",
    "forward runs without recording, so a tensor made in it is a constant when backward is differentiated. The first "
    "derivative is right, but the second is not, and no error is raised: for x⁴ at 2 it is 48, not 24.",
    _CUBE,
    "ctx.save_for_backward(square)",
    (
        Fix(
            "save the input, compute in backward",
            (
                ("        square = x * x\n        ctx.save_for_backward(square)\n        return x * square",
                 "        ctx.save_for_backward(x)\n        return x * x * x"),
                ("(square,)", "(x,)"),
                ("grad * 3 * square", "grad * 3 * x * x"),
            ),
            "A saved input keeps its place in the graph, and x * x in backward is recorded.",
        ),
        Fix("forbid it: once_differentiable",
            (("    @staticmethod\n    def backward",
              "    @staticmethod\n    @T.autograd.function.once_differentiable\n    def backward"),),
            "The second derivative raises instead of being wrong.", TELLS),
        Fix(
            "let gradgradcheck look",
            (
                ("T.tensor(2.0,", "T.tensor(2.0, dtype=T.float64,"),
                ("y = x * Cube",
                 "T.autograd.gradcheck(Cube.apply, x)\nT.autograd.gradgradcheck(Cube.apply, x)\ny = x * Cube"),
            ),
            "gradcheck passes, because the first derivative is right; gradgradcheck fails.",
            TELLS,
        ),
        Fix("ctx.square = square",
            (("ctx.save_for_backward(square)", "ctx.square = square"),
             ("(square,) = ctx.saved_tensors", "square = ctx.square")),
            "It is stored elsewhere, but it is still a constant.", WRONG),
    ),
    mark="CubeBackward",
    hint=r"marked with @once_differentiable",
)  # fmt: skip

WHERE_NAN = Mistake(
    13,
    "NaN from where",
    "NaN from the branch of where that was not taken",
    "where computes both branches, and backward goes through both. The branch not taken gets the gradient 0, and 0 "
    "times the infinite slope of sqrt at 0 is NaN. Mask the input, not the output.",
    """\
x = T.tensor([0.0, 4.0], requires_grad=True)
y = T.where(x > 0, T.sqrt(x), 0.0)
y.sum().backward()""",
    "T.where(x > 0",
    (
        Fix("where around the input, too",
            (("y = T.where(x > 0, T.sqrt(x), 0.0)",
              "safe = T.where(x > 0, x, 1.0)\ny = T.where(x > 0, T.sqrt(safe), 0.0)"),),
            "sqrt never sees the 0, so no slope is infinite."),
        Fix("clamp the input", (("T.sqrt(x)", "T.sqrt(x.clamp(min=1e-12))"),),
            "The slope is large but finite, and 0 times that is 0."),
        Fix(
            "detect_anomaly",
            (("y = T.where", "with T.autograd.detect_anomaly():\n    y = T.where"), ("\ny.sum()", "\n    y.sum()")),
            "The pass stops at the node that made the NaN, and names its forward line.",
            TELLS,
        ),
        Fix(
            "mask the output",
            (("y.sum()", "y = y * (x > 0)\ny.sum()"),),
            "The value is 0 there already. The gradient 0 goes back, meets the infinite slope, and becomes NaN again.",
            WRONG,
        ),
    ),
    mark="SqrtBackward0",
)  # fmt: skip

NON_STATIC = Mistake(
    14,
    "non-static Function",
    "A Function with instance methods",
    "A Function has no instances: forward and backward are static methods, ctx takes the place of self, and apply "
    "calls forward. The form with an instance is older than PyTorch 0.4.",
    """\
class Exp(T.autograd.Function):
    def forward(self, x):
        self.save_for_backward(x)
        return x.exp()

    def backward(self, grad):
        (x,) = self.saved_tensors
        return grad * x.exp()

x = T.tensor(1.0, requires_grad=True)
y = Exp()(x)
y.backward()""",
    "Exp()(x)",
    (
        Fix(
            "static methods and apply",
            (
                ("    def forward(self, x):\n        self.",
                 "    @staticmethod\n    def forward(ctx, x):\n        ctx."),
                ("    def backward(self, grad):\n        (x,) = self.",
                 "    @staticmethod\n    def backward(ctx, grad):\n        (x,) = ctx."),
                ("Exp()(x)", "Exp.apply(x)"),
            ),
            "apply makes ctx and the node, and records the node.",
        ),
        Fix("the op itself", (("Exp()(x)", "x.exp()"),),
            "If every op in it already has a backward rule, you need no Function."),
        Fix(
            "static methods, but Exp()(x)",
            (
                ("    def forward(self, x):\n        self.",
                 "    @staticmethod\n    def forward(ctx, x):\n        ctx."),
                ("    def backward(self, grad):\n        (x,) = self.",
                 "    @staticmethod\n    def backward(ctx, grad):\n        (x,) = ctx."),
            ),
            "The same error: calling an instance is not allowed.",
            WRONG,
        ),
    ),
    r"[Ll]egacy autograd function with non-static forward|non-static",
)  # fmt: skip

LEAF_IN_PLACE = Mistake(
    15,
    "leaf in-place",
    "A leaf that requires grad is changed in place",
    "A leaf is where gradients end. If a recorded op changed it, it would no longer be a leaf. A training step is not "
    "part of the graph: take it under no_grad.",
    """\
w = T.tensor(2.0, requires_grad=True)
loss = (w - 3) ** 2
loss.backward()
w -= 0.1 * w.grad""",
    "w -= 0.1 * w.grad",
    (
        Fix(
            "under no_grad",
            (("w -= 0.1 * w.grad", "with T.no_grad():\n    w -= 0.1 * w.grad"),),
            "w changes, nothing is recorded, and w is still the same leaf.",
        ),
        Fix(
            "an optimizer",
            (("w -= 0.1 * w.grad", "T.optim.SGD([w], lr=0.1).step()"),),
            "It takes the same step, under no_grad.",
        ),
        Fix(
            "w = w - 0.1 * w.grad",
            (("w -= 0.1 * w.grad", "w = w - 0.1 * w.grad"),),
            "The error goes, but now w is the result of an op: in the next step its .grad is None.",
            WRONG,
        ),
    ),
    r"(?<!view of )a leaf Variable that requires grad.*in-place",
    "w",
)

VIEW_IN_PLACE = Mistake(
    15,
    "view of a leaf",
    "A leaf that requires grad is changed through a view",
    "w[0] is a view: it shares the memory of w, so writing to it changes the leaf. The same rule holds as for the "
    "leaf itself.",
    """\
w = T.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
w[0] = 0.0
loss.backward()""",
    "w[0] = 0.0",
    (
        Fix(
            "write to a copy",
            (("loss = (w * w).sum()\nw[0] = 0.0", "v = w.clone()\nv[0] = 0.0\nloss = (v * v).sum()"),),
            "The write is part of the graph. No gradient goes back to what was overwritten.",
        ),
        Fix(
            "under no_grad, before it is used",
            (("loss = (w * w).sum()\nw[0] = 0.0", "with T.no_grad():\n    w[0] = 0.0\nloss = (w * w).sum()"),),
            "w has a new number before any node saves it.",
        ),
        Fix(
            "w.data[0] = 0.0",
            (("w[0] = 0.0", "w.data[0] = 0.0"),),
            "The error goes, but the gradient belongs to a different loss than the computed one.",
            WRONG,
        ),
    ),
    r"a view of a leaf Variable that requires grad.*in-place",
    "w",
)

INTEGER_LEAF = Mistake(
    15,
    "integer leaf",
    "An integer tensor is asked to require a gradient",
    "Only floating-point numbers have slopes: an integer cannot change by a little. Write 2.0 instead of 2, or give a "
    "dtype.",
    """\
w = T.tensor([1, 2], requires_grad=True)
loss = (w * w).sum()
loss.backward()""",
    "[1, 2]",
    (
        Fix("write 1.0", (("[1, 2]", "[1.0, 2.0]"),), "The numbers are float32, and have gradients."),
        Fix("dtype=T.float32", (("[1, 2],", "[1, 2], dtype=T.float32,"),),
            "The same for numbers that arrive as integers."),
        Fix("leave requires_grad out", (("[1, 2], requires_grad=True", "[1, 2]"),),
            "This error goes, and the next one is “element 0 of tensors does not require grad”.", WRONG),
    ),
    r"[Oo]nly Tensors of floating point|can require gradients",
)  # fmt: skip

NOT_A_SCALAR = Mistake(
    15,
    "backward of a non-scalar",
    "backward() of a tensor with several elements",
    "backward() starts from the number 1, which fits only a scalar. Reduce the tensor to one number first, or pass a "
    "gradient of the same shape.",
    """\
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x * x
y.backward()""",
    "y.backward()",
    (
        Fix("sum first", (("y.backward()", "y.sum().backward()"),), "Each element counts once."),
        Fix("average first", (("y.backward()", "y.mean().backward()"),), "The usual loss: each element counts 1/n."),
        Fix(
            "pass a gradient",
            (("y.backward()", "y.backward(T.ones(2))"),),
            "This gives a weight to each element. Ones give the sum.",
        ),
        Fix(
            "y[0].backward()",
            (("y.backward()", "y[0].backward()"),),
            "It is one number, so there is no error, but the other elements are left out.",
            WRONG,
        ),
    ),
    r"grad can be implicitly created only for scalar",
    "y",
)

MISTAKES = tuple(value for value in list(vars().values()) if isinstance(value, Mistake))


def recognise(message: str) -> Mistake | None:
    """The common mistake that an engine's error message belongs to, or None.

    >>> recognise("element 0 of tensors does not require grad and does not have a grad_fn").name
    'does not require grad'
    """
    for known in MISTAKES:
        for pattern in filter(None, (known.phrase, known.hint)):
            if re.search(pattern, message):
                return known
    return None
