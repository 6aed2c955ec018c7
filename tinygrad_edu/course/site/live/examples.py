"""The menu of explore.html: small programs, each the answer to a question that learners ask."""

from __future__ import annotations

GROUPS: dict[str, dict[str, str]] = {
    "First steps": {
        "What does backward() do?": """
w = T.tensor(2.0, requires_grad=True)
b = T.tensor(-1.0, requires_grad=True)
x = T.tensor(3.0)
y = w * x + b
loss = (y - 3) ** 2
loss.backward()
""",
        "Where does a gradient come from?": """
x = T.tensor(2.0, requires_grad=True)
a = x * 3
b = a + 1
c = b * b
c.backward()
""",
        "What if a tensor is used twice?": """
x = T.tensor(3.0, requires_grad=True)
y = x * x + x
y.backward()
""",
        "What are requires_grad and a leaf?": """
w = T.tensor(2.0, requires_grad=True)
x = T.tensor(5.0)
y = w * x
z = y + 1
z.backward()
""",
        "What is the gradient of a matrix product?": """
W = T.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
x = T.tensor([2.0, 1.0])
y = W @ x
loss = (y ** 2).sum()
loss.backward()
""",
    },
    "Why is .grad None?": {
        "Why is w.grad None?": """
w = T.tensor(2.0, requires_grad=True)
scaled = w * 10
loss = (scaled - 3) ** 2
loss.backward()
print(w.grad, scaled.grad)
""",
        "What does retain_grad do?": """
w = T.tensor(2.0, requires_grad=True)
hidden = w * 3
hidden.retain_grad()
loss = hidden ** 2
loss.backward()
""",
        "What does detach() cut?": """
w = T.tensor(2.0, requires_grad=True)
x = T.tensor(3.0, requires_grad=True)
frozen = (w * x).detach()
loss = frozen * x
loss.backward()
""",
        "What does no_grad do?": """
w = T.tensor(2.0, requires_grad=True)
with T.no_grad():
    y = w * 3
loss = y * w
loss.backward()
""",
        "Why does .item() stop the gradient?": """
w = T.tensor(2.0, requires_grad=True)
y = w * 3
loss = w * y.item()
loss.backward()
""",
    },
    "Calling backward again": {
        "What does retain_graph do?": """
w = T.tensor(2.0, requires_grad=True)
loss = (w * 3) ** 2
loss.backward(retain_graph=True)
loss.backward()
""",
        "Trying to backward a second time": """
w = T.tensor(2.0, requires_grad=True)
loss = (w * 3) ** 2
loss.backward()
loss.backward()
""",
        "Why do gradients add up?": """
w = T.tensor(1.0, requires_grad=True)
for x in (1.0, 2.0, 3.0):
    loss = (w * x - 2) ** 2
    loss.backward()
""",
        "What does zero_grad do?": """
w = T.tensor(1.0, requires_grad=True)
optimizer = T.optim.SGD([w], lr=0.1)
for x in (1.0, 2.0):
    optimizer.zero_grad()
    loss = (w * x - 2) ** 2
    loss.backward()
    optimizer.step()
""",
        "What is create_graph for?": """
x = T.tensor(2.0, requires_grad=True)
y = x ** 3
(slope,) = T.autograd.grad(y, x, create_graph=True)
slope.backward()
""",
    },
    "Errors": {
        "Grad can be implicitly created only for scalars": """
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.backward()
""",
        "Modified by an inplace operation": """
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
y.add_(1)
y.sum().backward()
""",
        "A leaf that requires grad, used in-place": """
w = T.tensor(2.0, requires_grad=True)
w += 1
loss = w * 3
loss.backward()
""",
        "Does not require grad and has no grad_fn": """
x = T.tensor(2.0)
loss = x * 3
loss.backward()
""",
        "Shapes that cannot be multiplied": """
W = T.ones(2, 3, requires_grad=True)
x = T.ones(2)
loss = (W @ x).sum()
loss.backward()
""",
    },
    "Networks": {
        "A layer, a loss, a step": """
layer = T.nn.Linear(2, 1)
optimizer = T.optim.SGD(layer.parameters(), lr=0.1)
x = T.tensor([[1.0, 2.0], [3.0, 4.0]])
target = T.tensor([[1.0], [0.0]])
loss = T.nn.functional.mse_loss(layer(x), target)
loss.backward()
optimizer.step()
""",
        "A network of two layers": """
T.manual_seed(0)
net = T.nn.Sequential(T.nn.Linear(2, 4), T.nn.ReLU(), T.nn.Linear(4, 1))
x = T.tensor([[0.5, -1.0]])
loss = (net(x) - 1).pow(2).mean()
loss.backward()
""",
        "Cross entropy of three classes": """
logits = T.tensor([[2.0, 0.5, -1.0]], requires_grad=True)
target = T.tensor([0])
loss = T.nn.functional.cross_entropy(logits, target)
loss.backward()
""",
        "Why is the gradient of a ReLU zero?": """
x = T.tensor([-1.0, 0.0, 2.0], requires_grad=True)
y = x.relu()
y.sum().backward()
""",
        "A residual connection": """
x = T.tensor([1.0, -1.0], requires_grad=True)
W = T.tensor([[0.1, 0.2], [0.3, -0.1]], requires_grad=True)
y = x + (W @ x).tanh()
loss = y.pow(2).sum()
loss.backward()
""",
    },
    "Further": {
        "A GAN step": """
T.manual_seed(0)
G, D = T.nn.Linear(1, 1), T.nn.Linear(1, 1)
z = T.tensor([[0.5]])
fake = G(z)
judged = D(fake.detach())
loss_D = T.nn.functional.softplus(judged).mean()
loss_D.backward()
loss_G = T.nn.functional.softplus(-D(fake)).mean()
loss_G.backward()
""",
        "Gradients through time": """
w = T.tensor(0.5, requires_grad=True)
h = T.tensor(0.0)
for x in (1.0, 0.5, -1.0):
    h = (w * h + x).tanh()
loss = h ** 2
loss.backward()
""",
        "Broadcasting sums the gradient": """
x = T.tensor([[1.0, 2.0], [3.0, 4.0]])
b = T.tensor([0.5, -0.5], requires_grad=True)
loss = (x + b).pow(2).sum()
loss.backward()
""",
        "A softmax by hand": """
x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
e = (x - x.max().detach()).exp()
p = e / e.sum()
loss = -p[2].log()
loss.backward()
""",
        "Your own Function": """
class Square(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x

x = T.tensor(3.0, requires_grad=True)
y = Square.apply(x)
y.backward()
""",
    },
}


# What the page shows where a link names no program.
FIRST = next(iter(GROUPS["First steps"].values())).strip("\n")


def programs() -> list[tuple[str, str]]:
    """Each question and its program."""
    return [(question, text.strip("\n")) for group in GROUPS.values() for question, text in group.items()]


def as_data() -> dict[str, object]:
    """The menu as the page reads it."""
    groups = [
        {"title": title, "questions": [{"question": one, "program": text.strip("\n")} for one, text in found.items()]}
        for title, found in GROUPS.items()
    ]
    return {"groups": groups}
