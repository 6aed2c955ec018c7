"""Lesson 12, more of your own Function: a layer, a registered op, and four for practice, each with a different trap."""

import tinygrad_edu as T

from ..exercise import Exercise
from ..running.helpers import changed_in_place, intact, opaque, registered_op, run_function, unused

BOTH = ("tinygrad_edu", "torch")
Function = T.autograd.Function

linear = Exercise(
    "linear",
    "class LinearFunction(T.autograd.Function): forward(ctx, x, weight, bias), backward(ctx, grad_output)",
    lesson=12,
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
    "register_cube", "register_cube(T, name)", lesson=12, engines=("tinygrad_edu", "torch"), seconds=5.0
)


@register_cube.right
def with_a_decorator(T, name):
    @T.library.custom_op(name, mutates_args=())
    def cube(x: T.Tensor) -> T.Tensor:
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
    def forward(x: T.Tensor) -> T.Tensor:
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
    def cube(x: T.Tensor) -> T.Tensor:
        return x * x * x

    return cube


def registered(T, name, rule):
    def forward(x: T.Tensor) -> T.Tensor:
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


without_volatile = Exercise("without_volatile", "without_volatile(T, model, x)", lesson=12, engines=BOTH)


@without_volatile.right
def in_a_block(T, model, x):
    with T.no_grad():
        return model(x).item()


@without_volatile.right
def decorated(T, model, x):
    @T.no_grad()
    def run():
        return model(x)

    return float(run())


@without_volatile.right
def in_inference_mode(T, model, x):
    with T.inference_mode():
        y = model(x)
    return y.item()


@without_volatile.wrong(
    "The model was recorded while it ran: `detach()`, `.item()` or a block *afterwards* throws away a graph that was "
    "already built, with everything it saved. Make the call itself where recording is off. It is not enough that x "
    "requires no grad, because the model's parameters do."
)
def detached_afterwards(T, model, x):
    return model(x).detach().item()


@without_volatile.wrong(
    "Recording stays off for everything that follows: `set_grad_enabled(False)` on a separate line holds until "
    "somebody turns it on again. In a `with` block it ends with the block."
)
def switched_off_for_good(T, model, x):
    T.set_grad_enabled(False)
    return model(x).item()


@without_volatile.wrong("You returned a tensor. `y.data[0]` was a plain number; today you write `y.item()`.")
def a_tensor(T, model, x):
    with T.no_grad():
        return model(x)


@without_volatile.wrong("`x` requires grad now, but did not before: pass the model the tensor as it is.")
def turns_requires_grad_on(T, model, x):
    x.requires_grad_(True)
    with T.no_grad():
        return model(x).item()


@without_volatile.criterion("The number that the model gives", cases=[(2.0, 3.0), (-1.0, 0.5)], anything=["w", "x"])
def number(answer, T, w, x):
    w = T.tensor(w, requires_grad=True)
    said = answer(T, lambda x: w * x + 1.0, T.tensor(x))
    return said if said is None or isinstance(said, (int, float)) else "a tensor" if hasattr(said, "detach") else said


@without_volatile.criterion(
    "Nothing is recorded while the model runs, and recording works again afterwards",
    points=2,
    cases=[(2.0, 3.0, False), (2.0, 3.0, True)],
)
def recorded(answer, T, w, x, x_requires_grad):
    recording = []

    def model(x):
        intact()
        y = w * x
        recording.append(y.requires_grad)
        return y + 1.0

    w, x = T.tensor(w, requires_grad=True), T.tensor(x, requires_grad=x_requires_grad)
    try:
        answer(T, opaque(model), x)
        told = {
            "recorded inside": recording,
            "records afterwards": T.is_grad_enabled(),
            "x requires grad": x.requires_grad,
        }
        return told | {"w requires grad": w.requires_grad}
    finally:
        T.set_grad_enabled(True)


zero_first = Exercise(
    "zero_first",
    "class ZeroFirst(T.autograd.Function): forward(ctx, x, n), backward(ctx, grad_output)",
    lesson=12,
    name="ZeroFirst",
)


class ZeroFirstForward(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        y = x.clone()
        y[:, :n] = 0.0
        return y


@zero_first.right
class ZeroFirst(ZeroFirstForward):
    @staticmethod
    def backward(ctx, grad_output):
        grad = grad_output.clone()
        grad[:, : ctx.n] = 0.0
        return grad, None


@zero_first.right
class ZeroFirstByMask(Function):
    @staticmethod
    def forward(ctx, x, n):
        mask = T.tensor([0.0 if i < n else 1.0 for i in range(x.shape[1])])
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0], None


@zero_first.wrong(
    "The gradient of the first n columns must be 0: the result does not depend on them. You passed grad_output on "
    "unchanged."
)
class PassesItOn(ZeroFirstForward):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


@zero_first.wrong("You zeroed rows. The columns are the second axis: `[:, …]`.")
class ZeroesRows(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        y = x.clone()
        y[:n] = 0.0
        return y

    @staticmethod
    def backward(ctx, grad_output):
        grad = grad_output.clone()
        grad[: ctx.n] = 0.0
        return grad, None


@zero_first.wrong(
    "forward wrote into its input: the caller's x is changed. Work on a clone, or declare it with `ctx.mark_dirty(x)`."
)
class WritesIntoItsInput(ZeroFirst):
    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        x[:, :n] = 0.0
        return x.clone()


@zero_first.wrong(
    "backward wrote into grad_output. Do not change it: another node may receive the same tensor. Work on a clone."
)
class WritesIntoGradOutput(ZeroFirstForward):
    @staticmethod
    def backward(ctx, grad_output):
        grad_output[:, : ctx.n] = 0.0
        return grad_output, None


@zero_first.criterion(
    "The first n columns of the result are 0, and x is unchanged",
    cases=[
        ([[1.0, 2.0]], 1),
        ([[1.0, 2.0], [3.0, 4.0]], 1),
        ([[1.0, 2.0, 3.0]], 1),
        ([[1.0, 2.0]], 0),
        ([[1.0, 2.0]], 2),
        ([[1.0], [0.0]], 0),
    ],
    anything=["x"],
)
def zero_first_value(answer, T, x, n):
    x = T.tensor(x, requires_grad=True) * 1.0
    return {"result": answer.apply(x, n).detach(), "x": x.detach()}


@zero_first.criterion(
    "Their gradient is 0, and grad_output is unchanged",
    points=2,
    cases=[
        ([[1.0, 2.0]], 1, [[3.0, 4.0]]),
        ([[1.0, 2.0]], 0, [[3.0, 4.0]]),
        ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2, [[1.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
    ],
    anything=["x", "grad_output"],
)
def zero_first_gradient(answer, T, x, n, grad_output):
    x, grad_output = T.tensor(x, requires_grad=True), T.tensor(grad_output)
    result = answer.apply(x, n)
    answer.apply(x.detach(), n + 1)  # a separate call, which must not affect the first one
    result.backward(grad_output)
    return {"x.grad": x.grad, "grad_output": grad_output}


abs_dot = Exercise(
    "abs_dot",
    "class AbsDot(T.autograd.Function): forward(ctx, u, v), backward(ctx, grad_output)",
    lesson=12,
    name="AbsDot",
)


class AbsDotForward(Function):
    @staticmethod
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        return (u * v).sum().abs()


@abs_dot.picture
def absolute(T, u, v, grad_output=None):
    u, v = T.tensor(u, requires_grad=True), T.tensor(v, requires_grad=True)
    return {"u": u, "v": v, "y": (u * v).sum().abs()}


@abs_dot.right
class AbsDot(AbsDotForward):
    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        sign = T.sign((u * v).sum())
        return grad_output * sign * v, grad_output * sign * u


@abs_dot.right
class AbsDotSavesTheSign(Function):
    @staticmethod
    def forward(ctx, u, v):
        dot = (u * v).sum()
        ctx.sign = float(dot.item() > 0) - float(dot.item() < 0)
        ctx.save_for_backward(u, v)
        return dot * ctx.sign

    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        return grad_output * v * ctx.sign, grad_output * u * ctx.sign


@abs_dot.wrong("The sign is missing: where u·v is negative, |u·v| falls when u·v grows.")
class NoSign(AbsDotForward):
    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        return grad_output * v, grad_output * u


@abs_dot.wrong("The gradients are swapped: the derivative of u·v with respect to u is v.")
class Exchanged(AbsDotForward):
    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        sign = T.sign((u * v).sum())
        return grad_output * sign * u, grad_output * sign * v


@abs_dot.wrong(
    "You took the sign of each product. The absolute value is outside the sum: there is one sign, the sign of u·v."
)
class SignOfEachProduct(AbsDotForward):
    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        sign = T.sign(u * v)
        return grad_output * sign * v, grad_output * sign * u


@abs_dot.wrong(
    "Where u · v is 0, you took the slope of one side, or divided by 0. The sign of 0 is 0, and so is the gradient "
    "there, as in PyTorch."
)
class OneSideAtZero(AbsDotForward):
    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        sign = 1.0 if (u * v).sum().item() >= 0 else -1.0
        return grad_output * sign * v, grad_output * sign * u


@abs_dot.wrong(
    "You kept tensors as attributes of ctx: after an in-place change of one of them, the gradient is silently wrong. "
    "`save_for_backward` remembers their versions, so backward() raises."
)
class KeepsBothOnCtx(Function):
    @staticmethod
    def forward(ctx, u, v):
        ctx.u, ctx.v = u, v
        return (u * v).sum().abs()

    @staticmethod
    def backward(ctx, grad_output):
        sign = T.sign((ctx.u * ctx.v).sum())
        return grad_output * sign * ctx.v, grad_output * sign * ctx.u


@abs_dot.wrong("You left out grad_output, the gradient that arrives: multiply by it.")
class IgnoresGradOutput(AbsDotForward):
    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        sign = T.sign((u * v).sum())
        return sign * v, sign * u


@abs_dot.criterion(
    "forward is |u · v|", cases=[([1.0, 2.0], [3.0, 1.0]), ([1.0, 2.0], [1.0, -3.0])], anything=["u", "v"]
)
def abs_dot_value(answer, T, u, v):
    return answer.apply(T.tensor(u, requires_grad=True), T.tensor(v, requires_grad=True)).detach()


@abs_dot.criterion(
    "u and v receive their gradients",
    points=2,
    cases=[
        ([1.0, 2.0], [3.0, 1.0], 1.0),
        ([1.0, 2.0], [1.0, -3.0], 2.0),
        ([-3.0, 1.0], [2.0, 1.0], 1.0),
        ([1.0, 2.0], [2.0, -1.0], 1.0),
    ],
    anything=["u", "v", "grad_output"],
    random=lambda rng: (*rng.integers(-4, 5, size=(2, 3)).astype(float).tolist(), -1.5),
)
def abs_dot_gradients(answer, T, u, v, grad_output):
    return run_function(T, answer, [u, v], grad_output)[1:], changed_in_place(T, answer, [u, v])


apply_twice = Exercise("apply_twice", "apply_twice(F, x)", lesson=12, engines=("tinygrad_edu", "torch"))


@apply_twice.right
def nested(F, x):
    return F.apply(F.apply(x))


@apply_twice.right
def in_a_loop(F, x):
    for _ in range(2):
        x = F.apply(x)
    return x


@apply_twice.wrong(
    "You do not call a Function, and it has no instances: its methods are static, and `apply` records the node."
)
def calls_an_instance(F, x):
    return F()(F()(x))


@apply_twice.wrong("`F.forward` computes the value but records no node, so your backward never runs. Use `apply`.")
def calls_forward(F, x):
    return F.forward(None, F.forward(None, x))


@apply_twice.wrong(
    "`F(x)` makes an instance, but a Function has none: its methods are static. `F.apply(x)` records the node."
)
def calls_the_class(F, x):
    return F(F(x))


@apply_twice.wrong("This is the result of one application. Apply F to that result again.")
def applied_once(F, x):
    return F.apply(x)


@apply_twice.criterion("F's own backward runs twice", points=2, cases=[(1.0,), (-2.0,)], anything=["x"])
def twice(answer, T, x):
    class Double(T.autograd.Function):  # backward returns 10 where autograd would find 2: that shows which ran
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * 10.0

    x = T.tensor(x, requires_grad=True)
    y = answer(Double, x)
    y.backward()
    return {"value": y.detach(), "x.grad": x.grad}
