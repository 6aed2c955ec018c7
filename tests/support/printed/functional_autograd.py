import torch
from torch.autograd.functional import jacobian, hessian, vjp, jvp, hvp, vhp

f = lambda x: x.exp().sum(dim=1)
x = torch.rand(2, 3)
print(
    jacobian(f, x),
    hessian(lambda x: (x**3).sum(), torch.ones(2)),
    vjp(f, x, torch.ones(2)),
    jvp(f, x, torch.ones(2, 3)),
    hvp(lambda x: x.pow(4).sum(), torch.arange(3.0), torch.ones(3)),
    vhp(lambda x, y: (x * y).sum(), (x, x), (x, x)),
)
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**3
(g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
(g2,) = torch.autograd.grad(g.sum(), x, create_graph=True)
print(g, g2, torch.autograd.grad(g2.sum(), x))
from torch.func import grad, vmap, jacrev, jacfwd, hessian as H, functional_call, vjp as V, jvp as J

print(
    grad(torch.sin)(torch.tensor(1.0)),
    vmap(grad(lambda x: x**2))(torch.arange(3.0)),
    jacrev(torch.sin)(torch.ones(2)),
    H(lambda x: x.prod())(torch.tensor([1.0, 2.0, 3.0])),
)
m = torch.nn.Linear(2, 1)
p = dict(m.named_parameters())
print(functional_call(m, p, (torch.ones(1, 2),)))


def loss(p, x, y):
    return ((functional_call(m, p, (x,)) - y) ** 2).mean()


print(vmap(grad(loss), in_dims=(None, 0, 0))(p, torch.randn(3, 2), torch.randn(3, 1)))
print(torch.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3)))
try:
    torch.autograd.grad(x.sum(), torch.ones(1, requires_grad=True))
except RuntimeError as e:
    print(str(e)[:60])
print(torch.autograd.grad(x.sum(), [x, torch.ones(1, requires_grad=True)], allow_unused=True))
