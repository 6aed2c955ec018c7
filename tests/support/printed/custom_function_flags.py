import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Mul(Function):
    @staticmethod
    def forward(ctx, a, b, k=2):
        ctx.save_for_backward(a, b)
        ctx.k = k
        ctx.set_materialize_grads(False)
        return a * b * k, a + b

    @staticmethod
    def backward(ctx, g1, g2):
        a, b = ctx.saved_tensors
        print(ctx.needs_input_grad, g1 is None, g2 is None)
        ga = gb = None
        if ctx.needs_input_grad[0]:
            ga = g1 * b * ctx.k
        if ctx.needs_input_grad[1]:
            gb = g1 * a * ctx.k
        return ga, gb, None


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0])
o, p = Mul.apply(x, y, 3)
o.sum().backward()
print(x.grad, o.grad_fn, p)


class Inpl(Function):
    @staticmethod
    def forward(ctx, a):
        a.add_(1)
        ctx.mark_dirty(a)
        return a

    @staticmethod
    def backward(ctx, g):
        return g * 7


z = x * 1
w = Inpl.apply(z)
print(w is z, w)
w.sum().backward()
print(x.grad)


class Arg(Function):
    @staticmethod
    def forward(ctx, a):
        v, i = a.sort()
        ctx.mark_non_differentiable(i)
        ctx.save_for_backward(i)
        return v, i

    @staticmethod
    @once_differentiable
    def backward(ctx, g, gi):
        (i,) = ctx.saved_tensors
        r = torch.zeros_like(g)
        r[i] = g
        return r


v, i = Arg.apply(torch.tensor([3.0, 1.0, 2.0], requires_grad=True))
print(v, i, i.requires_grad)
try:
    q = torch.tensor([3.0, 1.0], requires_grad=True)
    (g,) = torch.autograd.grad(Arg.apply(q)[0].sum(), q, create_graph=True)
    g.sum().backward()
except RuntimeError as e:
    print(str(e)[:60])


class STE(Function):
    @staticmethod
    def forward(ctx, i):
        return (i > 0).float()

    @staticmethod
    def backward(ctx, g):
        return torch.nn.functional.hardtanh(g)


print(torch.autograd.gradcheck(lambda t: t.sin() * 2, torch.randn(3, dtype=torch.double, requires_grad=True)))
xx = torch.randn(3, requires_grad=True)
STE.apply(xx).mul(3).sum().backward()
print(xx.grad)


class Exp(Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (r,) = ctx.saved_tensors
        return g * r


print(torch.autograd.gradgradcheck(Exp.apply, torch.randn(2, dtype=torch.double, requires_grad=True)))
try:
    STE()(xx)
except RuntimeError as e:
    print(str(e)[:50])


class Bad(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        return g


try:
    Bad.apply(x, x).sum().backward()
except RuntimeError as e:
    print(str(e)[:80])
