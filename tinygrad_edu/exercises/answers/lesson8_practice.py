"""Lesson 8, your own Function: three more for practice, each with a different trap."""

import tinygrad_edu as T

from ..exercise import Exercise
from ..running.helpers import changed_in_place, run_function

Function = T.autograd.Function

zero_first = Exercise(
    "zero_first",
    "class ZeroFirst(T.autograd.Function): forward(ctx, x, n), backward(ctx, grad_output)",
    lesson=8,
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
    lesson=8,
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
class KeepsTensorsOnCtx(Function):
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


apply_twice = Exercise("apply_twice", "apply_twice(F, x)", lesson=8, engines=("tinygrad_edu", "torch"))


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
