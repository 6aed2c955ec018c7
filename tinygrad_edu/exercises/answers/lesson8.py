"""Lesson 8, your own Function: answers are classes made from `T.autograd.Function`, with `T = tinygrad_edu`."""

import weakref

import numpy as np

import tinygrad_edu as T

from ..exercise import Exercise
from ..running.helpers import run_function

Function = T.autograd.Function

exp = Exercise(
    "exp", "class Exp(T.autograd.Function): forward(ctx, x), backward(ctx, grad_output)", lesson=8, name="Exp"
)


@exp.picture
def exponential(T, x, grad_output=None):
    x = T.tensor(x, requires_grad=True)
    return {"x": x, "y": T.exp(x)}


@exp.right
class ExpSavesItsResult(Function):
    @staticmethod
    def forward(ctx, x):
        y = T.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@exp.right
class ExpSavesItsInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * T.exp(ctx.saved_tensors[0])


@exp.wrong(
    "`ctx.y = y` hides the result from the engine: after an in-place change the gradient is silently wrong. "
    "`save_for_backward` remembers the version, and backward() raises."
)
class KeepsItOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = T.exp(x)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.y


@exp.wrong("You returned only exp(x). Multiply by grad_output, the gradient that arrives.")
class IgnoresGradOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = T.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.saved_tensors[0] * 1.0


@exp.wrong("You multiplied by x, the input that was saved: the derivative of exp at x is exp(x).")
class MultipliesByTheInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return T.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


@exp.wrong("`ctx.saved_tensors` is a tuple, even if it holds a single tensor: take the tensor out of it.")
class ForgetsToUnpack(Function):
    @staticmethod
    def forward(ctx, x):
        y = T.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors


@exp.wrong(
    "`ctx.x = x` hides the input from the engine: after an in-place change of x the gradient is silently wrong. "
    "`save_for_backward` remembers the version, and backward() raises."
)
class KeepsTheInputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return T.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * T.exp(ctx.x)


@exp.criterion("forward is exp", cases=[([0.0],), ([1.0, -1.0],)], anything=["x"])
def exp_value(answer, T, x):
    return answer.apply(T.tensor(x, requires_grad=True)).detach()


@exp.criterion(
    "backward multiplies by exp(x)",
    cases=[([1.0, -1.0], [0.5, 3.0]), ([0.0], [1.0]), ([1.0], [2.0])],
    anything=["x", "grad_output"],
)
def exp_gradient(answer, T, x, grad_output):
    return run_function(T, answer, [x], grad_output)[1]


def unless_wrong(found, x, changed):
    """True if backward() raised or computed the right gradient: both are honest."""
    honest = isinstance(found, str) or (found is not None and np.allclose(found, np.exp(x), rtol=1e-4))
    return "honest" if honest else found


@exp.criterion(
    "An in-place change of the result, or of x, never gives a wrong gradient",
    points=2,
    cases=[([1.0], "result"), ([0.5, 2.0], "result"), ([1.0], "x"), ([0.5, 2.0], "x")],
    measure=unless_wrong,
)
def exp_in_place(answer, T, x, changed):
    x = T.tensor(x, requires_grad=True)
    y = answer.apply(x)
    with T.no_grad():
        (y if changed == "result" else x).mul_(100.0)
    try:
        y.sum().backward()
    except RuntimeError:
        return "raised"
    return x.grad


scaled_add = Exercise(
    "scaled_add",
    "class ScaledAdd(T.autograd.Function): forward(ctx, a, b, k), backward(ctx, grad_output)",
    lesson=8,
    name="ScaledAdd",
)


class ScaledAddForward(Function):
    @staticmethod
    def forward(ctx, a, b, k):
        ctx.k = k
        return a + k * b


@scaled_add.picture
def sum_of_products(T, a, b, k, grad_output=None):
    a, b = T.tensor(a, requires_grad=True), T.tensor(b, requires_grad=True)
    return {"a": a, "b": b, "y": a + k * b}


@scaled_add.right
class ScaledAdd(ScaledAddForward):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, ctx.k * grad_output, None


@scaled_add.right
class ScaledAddIfNeeded(ScaledAddForward):
    @staticmethod
    def backward(ctx, grad_output):
        a = grad_output if ctx.needs_input_grad[0] else None
        b = grad_output * ctx.k if ctx.needs_input_grad[1] else None
        return a, b, None


@scaled_add.wrong(
    "backward returned too few gradients. Return one for every argument of forward, in the same order, and None for k, "
    "which is not a tensor."
)
class OneGradient(ScaledAddForward):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@scaled_add.wrong(
    "b received no gradient: `None` means 'this argument has none', and the engine believes it silently. Only k gets "
    "None."
)
class WrongNone(ScaledAddForward):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None


@scaled_add.wrong("The factor is missing: b counts k times in the result, so its gradient is k times grad_output.")
class ForgetsTheFactor(ScaledAddForward):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output, None


@scaled_add.wrong("The factor went to the wrong argument: k multiplies b, so it is b's gradient that is scaled.")
class ScalesTheFirst(ScaledAddForward):
    @staticmethod
    def backward(ctx, grad_output):
        return ctx.k * grad_output, grad_output, None


@scaled_add.wrong(
    "You keep k in a place that all calls share: the class, or a global name. The next call overwrites it. `ctx` "
    "belongs to one call: write `ctx.k = k`."
)
class KeepsKOnTheClass(Function):
    @staticmethod
    def forward(ctx, a, b, k):
        KeepsKOnTheClass.k = k
        return a + k * b

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, KeepsKOnTheClass.k * grad_output, None


@scaled_add.wrong(
    "You read `ctx.needs_input_grad` for the wrong argument, or once for all arguments. It has an entry for each "
    "argument of forward."
)
class AsksTheWrongArgument(ScaledAddForward):
    @staticmethod
    def backward(ctx, grad_output):
        needed = ctx.needs_input_grad[0]
        return grad_output if needed else None, ctx.k * grad_output if needed else None, None


@scaled_add.criterion(
    "forward is a + k · b", cases=[([1.0], [2.0], 3.0), ([1.0, 0.0], [2.0, -1.0], 0.5)], anything=["a", "b", "k"]
)
def scaled_add_value(answer, T, a, b, k):
    return answer.apply(T.tensor(a, requires_grad=True), T.tensor(b, requires_grad=True), k).detach()


@scaled_add.criterion(
    "a and b receive their gradients",
    points=2,
    cases=[([1.0], [2.0], 3.0, [1.0]), ([1.0, 0.0], [2.0, -1.0], 0.5, [2.0, 1.0])],
    anything=["a", "b", "k", "grad_output"],
)
def scaled_add_gradients(answer, T, a, b, k, grad_output):
    both = run_function(T, answer, [a, b], grad_output, k)[1:]
    x, y, z = T.tensor(a, requires_grad=True), T.tensor(b, requires_grad=True), T.tensor(b)
    answer.apply(answer.apply(z, y, k), x, 2.0 * k).backward(
        T.tensor(grad_output)
    )  # one graph, two calls, one constant
    return both, (x.grad, y.grad)


freeing = Exercise(
    "freeing", "class Node: __init__(self, rule, saved) and run(self, grad, retain_graph=False)", lesson=8, name="Node"
)


@freeing.right
class Node:
    def __init__(self, rule, saved):
        self.rule, self.saved, self.freed = rule, saved, False

    def run(self, grad, retain_graph=False):
        if self.freed and self.needs:
            raise RuntimeError("Trying to backward through the graph a second time")
        result = self.rule(grad, *self.saved)
        if not retain_graph:
            self.saved, self.freed = (), True
        return result

    @property
    def needs(self):
        return self.rule.__code__.co_argcount > 1


@freeing.right
class NodeWithNone:
    def __init__(self, rule, saved):
        self.rule, self.saved = rule, list(saved)

    def run(self, grad, retain_graph=False):
        if any(value is None for value in self.saved):
            raise RuntimeError("second time")
        result = self.rule(grad, *self.saved)
        if not retain_graph:
            self.saved = [None] * len(self.saved)
        return result


@freeing.wrong(
    "You refused the second pass although nothing is missing: the rule of x + 1 needs no saved tensor. PyTorch raises "
    "only if a node needs what was freed."
)
class RefusesEverySecondPass:
    def __init__(self, rule, saved):
        self.rule, self.saved, self.ran = rule, saved, False

    def run(self, grad, retain_graph=False):
        if self.ran:
            raise RuntimeError("second time")
        result = self.rule(grad, *self.saved)
        if not retain_graph:
            self.ran, self.saved = True, ()
        return result


@freeing.wrong("Nothing is freed: release the saved tensors after a pass, unless retain_graph says to keep them.")
class NeverFrees:
    def __init__(self, rule, saved):
        self.rule, self.saved = rule, saved

    def run(self, grad, retain_graph=False):
        return self.rule(grad, *self.saved)


@freeing.wrong("You ignored retain_graph=True: it asks the node to keep the saved tensors for another pass.")
class IgnoresRetainGraph(NodeWithNone):
    def run(self, grad, retain_graph=False):
        return super().run(grad)


@freeing.wrong("`rule` takes the saved values as separate arguments, not as a list: `self.rule(grad, *self.saved)`.")
class PassesTheList(NodeWithNone):
    def run(self, grad, retain_graph=False):
        return self.rule(grad, self.saved)


@freeing.wrong(
    "The second pass began although something was freed, and the rule missed it. Remember that it was freed, and raise "
    "a RuntimeError first."
)
class ForgetsThatItFreed(NodeWithNone):
    def run(self, grad, retain_graph=False):
        result = self.rule(grad, *self.saved)
        if not retain_graph:
            self.saved = []
        return result


@freeing.criterion(
    "A first pass applies the rule",
    cases=[("times", [3.0], 2.0), ("plus", [], 2.0), ("divided by", [4.0, 1.0], 2.0)],
    anything=["saved", "grad"],
)
def first_pass(answer, rule, saved, grad):
    rules = {
        "times": lambda grad, a: grad * a,
        "plus": lambda grad: grad,
        "divided by": lambda grad, a, b: grad / a - b,
    }
    return answer(rules[rule], saved).run(grad)


@freeing.criterion(
    "A second pass raises if something was freed, and only then",
    points=2,
    cases=[
        (*case, kept) for case in (("times", [3.0]), ("times", [0.0]), ("plus", [])) for kept in (False, True, None)
    ],
)
def second_pass(answer, rule, saved, retain_graph):
    rules = {"times": lambda grad, a: grad * a, "plus": lambda grad: grad}
    node = answer(rules[rule], saved)
    node.run(1.0) if retain_graph is None else node.run(1.0, retain_graph=retain_graph)
    return node.run(2.0)


@freeing.criterion("The saved tensors are released after the pass", cases=[(False,), (True,)])
def let_go(answer, retain_graph):
    class Big:
        pass

    big = Big()
    alive = weakref.ref(big)
    node = answer(lambda grad, big: grad, [big])
    del big
    node.run(1.0, retain_graph=retain_graph)
    return alive() is not None
