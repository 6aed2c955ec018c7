"""Programs of the kinds that courses and repositories hold, at small sizes, give the same on both engines.

Each is a function of the engine that returns what a reader of the program would look at: losses, weights, predictions.
They draw from the engine's own generator: from one seed both engines draw the same. The models and the training loops
that pictures are tried with are among them.
"""

import contextlib
import functools
import io
import warnings
from typing import Any

import numpy as np
import pytest
from support.models import MODELS
from support.parity import ENGINES, differences, error_of, observe
from support.training_loops import LOOPS

pytestmark = pytest.mark.outer(start=1)


def _steps(optimizer, loss_of, steps):
    """The loop that every lesson has."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def makemore_bigram(T):
    T.manual_seed(0)
    words = ["emma", "olivia", "ava", "isabella"]
    chars = [".", *sorted(set("".join(words)))]
    stoi = {c: i for i, c in enumerate(chars)}
    N = T.zeros((len(chars), len(chars)), dtype=T.int32)
    for w in words:
        for a, b in zip("." + w, w + ".", strict=True):
            N[stoi[a], stoi[b]] += 1
    P = (N + 1).float()
    P /= P.sum(1, keepdim=True)
    g = T.Generator().manual_seed(2147483647)
    out = []
    for _ in range(2):
        ix = 0
        while True:
            ix = T.multinomial(P[ix], num_samples=1, replacement=True, generator=g).item()
            out.append(ix)
            if ix == 0 or len(out) > 20:
                break
    xs = T.tensor([stoi[c] for w in words for c in "." + w])
    ys = T.tensor([stoi[c] for w in words for c in w + "."])
    W = T.randn((len(chars), len(chars)), generator=g, requires_grad=True)
    for _ in range(5):
        counts = (T.nn.functional.one_hot(xs, num_classes=len(chars)).float() @ W).exp()
        probs = counts / counts.sum(1, keepdims=True)
        loss = -probs[T.arange(len(xs)), ys].log().mean() + 0.01 * (W**2).mean()
        W.grad = None
        loss.backward()
        W.data += -50 * W.grad
    return N, P, out, loss


def proximal_policy_optimisation(T):
    D = T.distributions
    T.manual_seed(0)
    actor, critic, log_std = T.nn.Linear(3, 2), T.nn.Linear(3, 1), T.nn.Parameter(T.zeros(1, 2))
    params = [*actor.parameters(), *critic.parameters(), log_std]
    optimizer = T.optim.Adam(params, lr=1e-2, eps=1e-5)
    states = T.randn(10, 3)
    with T.no_grad():
        old = D.Normal(actor(states), log_std.exp().expand(10, 2))
        actions = old.sample()
        old_log = old.log_prob(actions).sum(1)
        returns = T.randn(10)
        advantages = returns - critic(states).squeeze(-1)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    log = []
    for _ in range(3):
        new = D.Normal(actor(states), log_std.exp().expand_as(actions))
        ratio = (new.log_prob(actions).sum(1) - old_log).exp()
        surrogate = T.min(ratio * advantages, T.clamp(ratio, 0.8, 1.2) * advantages).mean()
        value = (critic(states).view(-1) - returns).pow(2).mean()
        loss = -surrogate + 0.5 * value - 0.01 * new.entropy().sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        T.nn.utils.clip_grad_norm_(params, 0.5)
        optimizer.step()
        log.append(loss.item())
    return log


def adversarial_example(T):
    T.manual_seed(0)
    net = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.ReLU(), T.nn.Linear(8, 3))
    x, y = T.randn(32, 4), T.arange(32) % 3
    x.requires_grad = True
    loss = T.nn.functional.nll_loss(T.nn.functional.log_softmax(net(x), 1), y)
    net.zero_grad()
    loss.backward()
    moved = T.clamp(x + 0.1 * x.grad.data.sign(), -2, 2)
    guess = net(moved).max(1, keepdim=True)[1]
    return loss, guess.eq(y.view_as(guess)).sum().item(), moved


def saliency_and_class_maps(T):
    T.manual_seed(0)
    nn = T.nn
    net = nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2)
    )
    seen = {}
    h1 = net[1].register_forward_hook(lambda m, i, o: seen.update(activation=o))
    h2 = net[1].register_full_backward_hook(lambda m, gi, go: seen.update(gradient=go[0]))
    x = T.rand(1, 1, 6, 6, requires_grad=True)
    score = net(x)[0, 1]
    score.backward()
    weights = seen["gradient"].mean(dim=(2, 3), keepdim=True)
    cam = T.relu((weights * seen["activation"]).sum(1))
    h1.remove()
    h2.remove()
    return x.grad.abs().max(dim=1)[0], cam.detach()


def devices_by_habit(T):
    device = T.device("cuda" if T.cuda.is_available() else "cpu")
    T.manual_seed(0)
    if T.cuda.is_available():
        T.cuda.manual_seed_all(0)
    net = T.nn.Linear(3, 2).to(device)
    x = T.ones(2, 3, device=device)
    T.cuda.empty_cache()
    return net(x), list(net.state_dict()), str(x.device), T.cuda.device_count()


def physics_informed_network(T):
    T.manual_seed(0)
    net = T.nn.Sequential(T.nn.Linear(1, 8), T.nn.Tanh(), T.nn.Linear(8, 1))
    t = T.linspace(0, 1, 5).view(-1, 1).requires_grad_(True)
    u = net(t)
    (du,) = T.autograd.grad(u, t, T.ones_like(u), create_graph=True)
    (d2u,) = T.autograd.grad(du, t, T.ones_like(du), create_graph=True)
    loss = ((d2u + 4 * u) ** 2).mean() + (net(T.zeros(1, 1)) - 1).pow(2).mean()
    loss.backward()
    return loss, net[0].weight.grad


def graph_convolution(T):
    T.manual_seed(0)
    edges = T.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    A = T.zeros(4, 4)
    A[edges[0], edges[1]] = 1
    A = A + A.T + T.eye(4)
    D = T.diag(A.sum(1).pow(-0.5))
    x, w = T.randn(4, 3), T.nn.Parameter(T.nn.init.xavier_uniform_(T.empty(3, 2)))
    out = T.log_softmax(D @ A @ D @ x @ w, dim=1)
    pooled = T.zeros(2, 2).index_add(0, T.tensor([0, 0, 1, 1]), out)
    loss = T.nn.functional.nll_loss(out[[0, 2]], T.tensor([1, 0])) + pooled.pow(2).mean()
    loss.backward()
    return loss, w.grad


def attention_pooling_of_kernels(T):
    T.manual_seed(0)
    x, _ = T.sort(T.rand(10) * 5)
    y = 2 * T.sin(x) + x**0.8 + T.normal(0.0, 0.5, (10,))
    w = T.nn.Parameter(T.rand((1,)))
    queries = x.repeat_interleave(9).reshape((-1, 9))
    keys = x.repeat((10, 1))[(1 - T.eye(10)).type(T.bool)].reshape((10, -1))
    values = y.repeat((10, 1))[(1 - T.eye(10)).type(T.bool)].reshape((10, -1))
    weights = T.nn.functional.softmax(-(((queries - keys) * w) ** 2) / 2, dim=1)
    out = T.bmm(weights.unsqueeze(1), values.unsqueeze(-1)).reshape(-1)
    loss = T.nn.MSELoss(reduction="none")(out, y)
    loss.sum().backward()
    return loss, w.grad


def anchors_and_boxes(T):
    def box_iou(a, b):
        def area(x):
            return (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])

        low, high = T.max(a[:, None, :2], b[:, :2]), T.min(a[:, None, 2:], b[:, 2:])
        inter = (high - low).clamp(min=0)
        inter = inter[:, :, 0] * inter[:, :, 1]
        return inter / (area(a)[:, None] + area(b) - inter)

    T.manual_seed(0)
    a = T.rand(5, 4)
    a[:, 2:] += a[:, :2]
    truth = T.tensor([[0.1, 0.1, 0.9, 1.0], [0.5, 0.5, 1.2, 1.4]])
    iou = box_iou(a, truth)
    best, index = T.max(iou, dim=1)
    chosen = T.nonzero(best >= 0.2).reshape(-1)
    assigned = T.full((5,), -1, dtype=T.long)
    assigned[chosen] = index[best >= 0.2]
    order = T.argsort(best, descending=True)
    return iou, assigned, order, T.stack((a[:, 0], a[:, 3]), axis=-1)


def blitz(T):
    """A small network for images with a loader, a checkpoint, and accuracy by class."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(0)
    device = T.device("cuda" if T.cuda.is_available() else "cpu")
    images, labels = T.randn(48, 3, 12, 12), T.randint(0, 4, (48,))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 8, 3)
            self.pool = nn.MaxPool2d(2, 2)
            self.fc1, self.fc2 = nn.Linear(8, 12), nn.Linear(12, 4)

        def forward(self, x):
            x = self.pool(F.relu(self.conv1(x)))
            x = self.pool(F.relu(self.conv2(x)))
            return self.fc2(F.relu(self.fc1(T.flatten(x, 1))))

    net = Net().to(device)
    data = T.utils.data.TensorDataset(images, labels)
    train_set, test_set = T.utils.data.random_split(data, [40, 8])
    loader = T.utils.data.DataLoader(train_set, batch_size=8, shuffle=True)
    criterion, optimizer = nn.CrossEntropyLoss(), T.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(net(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    file = io.BytesIO()
    T.save(net.state_dict(), file)
    file.seek(0)
    again = Net()
    again.load_state_dict(T.load(file, weights_only=True))
    again.eval()
    with T.no_grad():
        scores = again(T.stack([x for x, _ in test_set]))
        _, predicted = T.max(scores, 1)
    hits = [0] * 4
    for guess in predicted:
        hits[int(guess)] += 1
    return [*losses, *scores.flatten().tolist(), *map(float, hits)]


def nearest_neighbours(T):
    """k-means and k nearest neighbours without a gradient: distances, scatter, counts, modes."""
    T.manual_seed(17)
    points = T.cat([T.randn(12, 2) + c for c in (T.tensor([0.0, 3.0]), T.tensor([4.0, 0.0]), T.tensor([-3.0, -3.0]))])
    centres = points[T.tensor([0, 12, 24])].clone()
    for _ in range(4):
        nearest = T.cdist(points, centres).argmin(dim=1)
        sums = T.zeros(3, 2).index_add_(0, nearest, points)
        centres = sums / T.bincount(nearest, minlength=3).clamp(min=1).unsqueeze(1)
    distance, index = T.cdist(T.zeros(1, 2), points).topk(5, largest=False)
    return [*centres.flatten().tolist(), *distance[0].tolist(), *map(float, nearest[index[0]].tolist())]


PROGRAMS = {name: program for name, program in globals().items() if getattr(program, "__module__", "") == __name__}
PROGRAMS = {name: program for name, program in PROGRAMS.items() if not name.startswith("_")}


def _learning(name):
    """Five steps of a model of `support/models.py`."""

    def program(T):
        T.manual_seed(0)
        model, inputs, loss = MODELS[name](T)
        return _steps(T.optim.Adam(model.parameters(), lr=0.01), lambda: loss(model(*inputs)), 5)

    return program


PROGRAMS |= {name: _learning(name) for name in MODELS}
PROGRAMS |= {name: functools.partial(loop, around=contextlib.nullcontext) for name, loop in LOOPS.items()}


def _outcome(program: Any, engine: Any) -> Any:
    """What the program returns: values and dtypes of tensors, and the rest as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {"out": _values(observe(program(engine))["result"])}
        except Exception as error:
            return {"raised": error_of(error)}


def _values(plain: Any) -> Any:
    if isinstance(plain, dict) and "values" in plain:
        return {"values": plain["values"], "dtype": plain["dtype"]}
    if isinstance(plain, dict):
        return {key: _values(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [_values(value) for value in plain]
    # A number read out of a tensor is as exact as float32.
    return np.array(plain, np.float32) if isinstance(plain, float) else plain


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_gives_what_it_gives_on_pytorch(program: Any) -> None:
    theirs, ours = (_outcome(program, ENGINES[engine]) for engine in ("torch", "tinygrad_edu"))
    assert "raised" not in theirs, f"the program itself: {theirs}"
    assert list(differences(theirs, ours)) == []
