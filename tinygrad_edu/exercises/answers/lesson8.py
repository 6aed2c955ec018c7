"""Lesson 8, your own Function: answers are classes made from `T.autograd.Function`, with `T = tinygrad_edu`."""

import weakref

import numpy as np

import tinygrad_edu as T

from ..exercise import Exercise
from ..running.helpers import changed_in_place, registered_op, run_function, unused

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
    "freeing",
    "class Node: __init__(self, rule, saved) and run(self, grad, retain_graph=False)",
    lesson=8,
    name="Node",
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


linear = Exercise(
    "linear",
    "class LinearFunction(T.autograd.Function): forward(ctx, x, weight, bias), backward(ctx, grad_output)",
    lesson=8,
    name="LinearFunction",
)


class LinearForward(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() + bias


@linear.picture
def layer(T, x, weight, bias, grad_output=None):
    x, weight, bias = (T.tensor(value, requires_grad=True) for value in (x, weight, bias))
    return {"x": x, "weight": weight, "bias": bias, "y": x @ weight.t() + bias}


@linear.right
class LinearFunction(LinearForward):
    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, grad_output.t() @ x, grad_output.sum(0)


@linear.right
class LinearFunctionIfNeeded(LinearForward):
    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grads = [None, None, None]
        if ctx.needs_input_grad[0]:
            grads[0] = grad_output.matmul(weight)
        if ctx.needs_input_grad[1]:
            grads[1] = (x.t() @ grad_output).t()
        if ctx.needs_input_grad[2]:
            grads[2] = grad_output.sum(dim=0)
        return tuple(grads)


def with_rule(rule):
    """A linear layer whose backward is `rule(grad_output, x, weight)`, named after the rule."""

    def backward(ctx, grad_output):
        return rule(grad_output, *ctx.saved_tensors)

    return type(rule.__name__, (LinearForward,), {"backward": staticmethod(backward)})


@linear.wrong("The gradient of the weight is transposed: it must have the weight's shape, one row for each output.")
@with_rule
def weight_transposed(grad_output, x, weight):
    return grad_output @ weight, x.t() @ grad_output, grad_output.sum(0)


@linear.wrong("The bias was added to every row, so its gradient is the sum over the rows; you took the mean.")
@with_rule
def bias_mean(grad_output, x, weight):
    return grad_output @ weight, grad_output.t() @ x, grad_output.mean(0)


@linear.wrong("The gradient of x went through the transposed weight: forward used weightᵀ, so backward uses weight.")
@with_rule
def input_through_the_transpose(grad_output, x, weight):
    return grad_output @ weight.t(), grad_output.t() @ x, grad_output.sum(0)


@linear.wrong(
    "The bias received no gradient. It is part of the result, so `None` is wrong for it, and no error tells you."
)
@with_rule
def none_for_bias(grad_output, x, weight):
    return grad_output @ weight, grad_output.t() @ x, None


@linear.wrong(
    "The gradient of the bias has the shape of grad_output. The engine silently sums it to fit, but your rule is still "
    "wrong. The bias was added to each row: sum over the rows."
)
@with_rule
def bias_not_summed(grad_output, x, weight):
    return grad_output @ weight, grad_output.t() @ x, grad_output


@linear.wrong(
    "You kept tensors as attributes of ctx: after an in-place change of one of them, the gradient is silently wrong. "
    "`save_for_backward` remembers their versions, so backward() raises."
)
class KeepsTensorsOnCtx(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.x, ctx.weight = x, weight
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output @ ctx.weight, grad_output.t() @ ctx.x, grad_output.sum(0)


@linear.criterion(
    "forward is x @ weightᵀ + bias",
    cases=[([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]], [0.5, -1.0])],
    anything=["x", "weight", "bias"],
)
def linear_value(answer, T, x, weight, bias):
    return answer.apply(*(T.tensor(v, requires_grad=True) for v in (x, weight, bias))).detach()


@linear.criterion(
    "x, weight and bias receive their gradients",
    points=2,
    cases=[
        ([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]], [0.5, -1.0], [[1.0, 2.0]]),
        ([[1.0, 2.0], [0.0, 1.0]], [[3.0, 4.0], [5.0, 6.0]], [0.5, -1.0], [[1.0, 0.0], [2.0, 1.0]]),
        (
            [[1.0, 2.0], [0.5, 1.0], [3.0, -1.0]],
            [[3.0, 4.0], [5.0, 6.0]],
            [0.5, -1.0],
            [[1.0, 3.0], [2.0, 1.0], [4.0, 0.5]],
        ),
    ],
    anything=["x", "weight", "bias", "grad_output"],
)
def linear_gradients(answer, T, x, weight, bias, grad_output):
    return run_function(T, answer, [x, weight, bias], grad_output)[1:], changed_in_place(T, answer, [x, weight, bias])


@linear.criterion(
    "backward returns each gradient in the shape of its tensor",
    cases=[([[1.0, 2.0], [0.0, 1.0]], [[3.0, 4.0], [5.0, 6.0]], [0.5, -1.0], [[1.0, 0.0], [2.0, 1.0]])],
)
def linear_shapes(answer, T, x, weight, bias, grad_output):
    shapes = []

    class Watched(answer):
        @staticmethod
        def backward(ctx, grad_output):
            grads = answer.backward(ctx, grad_output)
            shapes.extend(None if grad is None else tuple(grad.shape) for grad in grads)
            return grads

    run_function(T, Watched, [x, weight, bias], grad_output)
    return shapes


register_cube = Exercise(
    "register_cube", "register_cube(T, name)", lesson=8, engines=("tinygrad_edu", "torch"), seconds=5.0
)


@register_cube.right
def with_a_decorator(T, name):
    @T.library.custom_op(name, mutates_args=())
    def cube(x: T.Tensor) -> T.Tensor:  # type: ignore[name-defined]
        return x * x * x

    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad_output

    cube.register_autograd(backward, setup_context=setup_context)
    return cube


@register_cube.right
def by_calls(T, name):
    def forward(x: T.Tensor) -> T.Tensor:  # type: ignore[name-defined]
        return x**3

    op = T.library.custom_op(name, forward, mutates_args=())
    op.register_autograd(
        lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    return op


@register_cube.wrong(
    "The op has a name but no rule. A custom op is opaque: autograd does not look inside. Give it a rule with "
    "`register_autograd`."
)
def no_rule(T, name):
    @T.library.custom_op(name, mutates_args=())
    def cube(x: T.Tensor) -> T.Tensor:  # type: ignore[name-defined]
        return x * x * x

    return cube


def registered(T, name, rule):
    def forward(x: T.Tensor) -> T.Tensor:  # type: ignore[name-defined]
        return x * x * x

    op = T.library.custom_op(name, forward, mutates_args=())
    op.register_autograd(rule, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    return op


@register_cube.wrong("The rule left out grad_output, the gradient that arrives: multiply by it.")
def ignores_grad_output(T, name):
    return registered(T, name, lambda ctx, grad: 3 * ctx.saved_tensors[0] ** 2)


@register_cube.wrong("The derivative of x³ is 3x²: here it is x².")
def forgets_the_three(T, name):
    return registered(T, name, lambda ctx, grad: ctx.saved_tensors[0] ** 2 * grad)


@register_cube.wrong(
    "The function computes x³ from other ops, but nothing was registered under the name that was asked for. Return "
    "what `custom_op` returns."
)
def not_registered(T, name):
    return lambda x: x * x * x


@register_cube.wrong(
    "You made a Function. It has a rule, but nothing is registered under the name that was asked for: make the op with "
    "`T.library.custom_op(name, …)`."
)
def a_function(T, name):
    class Cubed(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad_output

    return Cubed.apply


@register_cube.criterion(
    "The op is x³, and it is one separate node",
    cases=[([2.0], "exercise::cube"), ([1.0, -3.0], "course::third_power")],
    anything=["x"],
)
def one_node(answer, T, x, name):
    name = unused(T, name)
    op = answer(T, name)
    if op is None:
        return None
    x = T.tensor(x, requires_grad=True)
    y = op(x)
    names = [] if y.grad_fn is None else [type(y.grad_fn).__name__, y.grad_fn.name()]
    found = registered_op(T, name)
    return {
        "value": y.detach(),
        "a node of its own": not any("Mul" in name or "Pow" in name for name in names),
        "T.ops has it": found is not None,
        "what T.ops has": None if found is None else found(x).detach(),
    }


@register_cube.criterion(
    "Its rule is 3x² · grad_output",
    points=2,
    cases=[([2.0], [1.0]), ([2.0], [0.5]), ([1.0, -3.0], [2.0, -1.0])],
    anything=["x", "grad_output"],
)
def own_rule(answer, T, x, grad_output):
    op = answer(T, "exercise::cube")
    if op is None:
        return None
    x, grad_output = T.tensor(x, requires_grad=True), T.tensor(grad_output)
    op(x).backward(grad_output)
    return {"x.grad": x.grad, "x": x.detach(), "grad_output": grad_output}
