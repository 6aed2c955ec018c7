import torch
import random
import torch.nn.functional as F


class Linear:
    def __init__(self, fan_in, fan_out, bias=True):
        self.weight = torch.randn((fan_in, fan_out)) / fan_in**0.5
        self.bias = torch.zeros(fan_out) if bias else None

    def __call__(self, x):
        self.out = x @ self.weight
        if self.bias is not None:
            self.out += self.bias
        return self.out

    def parameters(self):
        return [self.weight] + ([] if self.bias is None else [self.bias])


class BatchNorm1d:
    def __init__(self, dim, eps=1e-5, momentum=0.1):
        self.eps, self.momentum, self.training = eps, momentum, True
        self.gamma, self.beta = torch.ones(dim), torch.zeros(dim)
        self.running_mean, self.running_var = torch.zeros(dim), torch.ones(dim)

    def __call__(self, x):
        if self.training:
            dim = 0 if x.ndim == 2 else (0, 1)
            xmean = x.mean(dim, keepdim=True)
            xvar = x.var(dim, keepdim=True)
        else:
            xmean, xvar = self.running_mean, self.running_var
        xhat = (x - xmean) / torch.sqrt(xvar + self.eps)
        self.out = self.gamma * xhat + self.beta
        if self.training:
            with torch.no_grad():
                self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * xmean
                self.running_var = (1 - self.momentum) * self.running_var + self.momentum * xvar
        return self.out

    def parameters(self):
        return [self.gamma, self.beta]


class Tanh:
    def __call__(self, x):
        self.out = torch.tanh(x)
        return self.out

    def parameters(self):
        return []


class Embedding:
    def __init__(self, n, d):
        self.weight = torch.randn((n, d))

    def __call__(self, IX):
        self.out = self.weight[IX]
        return self.out

    def parameters(self):
        return [self.weight]


class FlattenConsecutive:
    def __init__(self, n):
        self.n = n

    def __call__(self, x):
        B, T, C = x.shape
        x = x.view(B, T // self.n, C * self.n)
        if x.shape[1] == 1:
            x = x.squeeze(1)
        self.out = x
        return self.out

    def parameters(self):
        return []


class Sequential:
    def __init__(self, layers):
        self.layers = layers

    def __call__(self, x):
        for l in self.layers:
            x = l(x)
        self.out = x
        return self.out

    def parameters(self):
        return [p for l in self.layers for p in l.parameters()]


torch.manual_seed(42)
n, h, V = 6, 8, 10
model = Sequential(
    [
        Embedding(V, n),
        FlattenConsecutive(2),
        Linear(n * 2, h, bias=False),
        BatchNorm1d(h),
        Tanh(),
        FlattenConsecutive(2),
        Linear(h * 2, h, bias=False),
        BatchNorm1d(h),
        Tanh(),
        FlattenConsecutive(2),
        Linear(h * 2, h, bias=False),
        BatchNorm1d(h),
        Tanh(),
        Linear(h, V),
    ]
)
with torch.no_grad():
    model.layers[-1].weight *= 0.1
parameters = model.parameters()
print(sum(p.nelement() for p in parameters))
X, Y = torch.randint(0, V, (40, 8)), torch.randint(0, V, (40,))
lossi, ud = [], []
for p in parameters:
    p.requires_grad = True
for i in range(12):
    ix = torch.randint(0, X.shape[0], (16,))
    logits = model(X[ix])
    loss = F.cross_entropy(logits, Y[ix])
    for p in parameters:
        p.grad = None
    for l in model.layers:
        l.out.retain_grad()
    loss.backward()
    lr = 0.1 if i < 8 else 0.01
    for p in parameters:
        p.data += -lr * p.grad
    lossi.append(loss.log10().item())
    with torch.no_grad():
        ud.append([((lr * p.grad).std() / p.data.std()).log10().item() for p in parameters])
for layer in model.layers:
    print(layer.__class__.__name__, ":", tuple(layer.out.shape))
print(torch.tensor(lossi).view(-1, 4).mean(1), torch.tensor(ud)[-1][:4])
for i, l in enumerate(model.layers[:-1]):
    if isinstance(l, Tanh):
        t = l.out
        g = t.grad
        print(
            "layer %d (%10s): mean %+.2f, std %.2f, saturated: %.2f%%, grad std %e"
            % (i, l.__class__.__name__, t.mean(), t.std(), (t.abs() > 0.97).float().mean() * 100, g.std())
        )
        hy, hx = torch.histogram(t.detach(), density=True)
        print(hy[:3], hx[:3])
for l in model.layers:
    l.training = False
print(F.softmax(model(X[:1]), dim=1), loss)
N = torch.zeros((5, 5), dtype=torch.int32)
for a, b in zip("abcab", "bcabd"):
    N[ord(a) - 97, ord(b) - 97] += 1
P = (N + 1).float()
P /= P.sum(1, keepdims=True)
print(P, N[0, 1].item(), torch.multinomial(P[0], 3, replacement=True, generator=torch.Generator().manual_seed(1)))
xenc = F.one_hot(torch.tensor([0, 1, 2]), num_classes=5).float()
W = torch.randn((5, 5), generator=torch.Generator().manual_seed(7), requires_grad=True)
c = (xenc @ W).exp()
pr = c / c.sum(1, keepdims=True)
l = -pr[torch.arange(3), torch.tensor([1, 2, 0])].log().mean() + 0.01 * (W**2).mean()
l.backward()
print(l.item(), W.grad[0])
