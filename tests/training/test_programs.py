"""Programs of the kinds that courses and repositories hold, at small sizes, give the same on both engines.

Each is a function of the engine that returns what a reader of the program would look at: losses, weights, predictions.
They draw from the engine's own generator: from one seed both engines draw the same.
"""

from __future__ import annotations

import io
import math
import warnings
from typing import Any

import numpy as np
import pytest
from support.parity import ENGINES, differences, error_of, observe

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


def _data(T, n=32, features=4, classes=3):
    T.manual_seed(1)
    x = T.randn(n, features)
    return x, (x.abs().sum(1) * 10).long() % classes


def _train(T, net, x, y, loss, optimizer, steps=6):
    return _steps(optimizer, lambda: loss(net(x), y), steps)


def linear_regression_by_hand(T):
    T.manual_seed(0)
    w, b = T.normal(0, 0.01, size=(2, 1), requires_grad=True), T.zeros(1, requires_grad=True)
    x = T.normal(0, 1, (40, 2))
    y = x @ T.tensor([2.0, -3.4]).reshape(-1, 1) + 4.2 + T.normal(0, 0.01, (40, 1))
    for _ in range(3):
        for i in range(0, 40, 10):
            loss = ((x[i : i + 10] @ w + b - y[i : i + 10]) ** 2 / 2).sum()
            loss.backward()
            with T.no_grad():
                for p in (w, b):
                    p -= 0.03 * p.grad / 10
                    p.grad.zero_()
    return w, b


def lenet_of_lazy_layers(T):
    T.manual_seed(0)
    first = [T.nn.LazyConv2d(4, kernel_size=5, padding=2), T.nn.Sigmoid(), T.nn.AvgPool2d(2, 2)]
    second = [T.nn.LazyConv2d(6, 3), T.nn.Sigmoid(), T.nn.AvgPool2d(2, 2), T.nn.Flatten()]
    net = T.nn.Sequential(*first, *second, T.nn.LazyLinear(12), T.nn.Sigmoid(), T.nn.LazyLinear(3))
    x = T.randn(4, 1, 12, 12)
    net(x)
    net.apply(lambda m: T.nn.init.xavier_uniform_(m.weight) if type(m) in (T.nn.Linear, T.nn.Conv2d) else None)
    return _train(T, net, x, T.tensor([0, 1, 2, 1]), T.nn.CrossEntropyLoss(), T.optim.SGD(net.parameters(), lr=0.5), 3)


def vae_by_distributions(T):
    T.manual_seed(0)
    D = T.distributions
    encoder, decoder = T.nn.Linear(4, 4), T.nn.Linear(2, 4)
    x = T.rand(8, 4)
    mean, log_scale = encoder(x).chunk(2, -1)
    q = D.Independent(D.Normal(mean, log_scale.exp()), 1)
    prior = D.Independent(D.Normal(T.zeros(2), T.ones(2)), 1)
    z = q.rsample()
    loss = (
        -(D.Independent(D.Bernoulli(logits=decoder(z)), 1).log_prob((x > 0.5).float())).mean()
        + D.kl_divergence(q, prior).mean()
    )
    loss.backward()
    return loss, encoder.weight.grad


def character_rnn_by_hand(T):
    T.manual_seed(0)
    text = "hello there, how are you? hello again."
    chars = sorted(set(text))
    ids = T.tensor([chars.index(c) for c in text])
    w_xh, w_hh, w_hq = (T.randn(s) * 0.1 for s in ((len(chars), 8), (8, 8), (8, len(chars))))
    b_h, b_q = T.zeros(8), T.zeros(len(chars))
    params = [w_xh, w_hh, b_h, w_hq, b_q]
    for p in params:
        p.requires_grad_(True)
    log, state = [], T.zeros(1, 8)
    for start in range(0, 30, 10):
        state = state.detach()
        loss = 0
        for i in range(start, start + 7):
            x = T.nn.functional.one_hot(ids[i : i + 1], len(chars)).float()
            state = T.tanh(x @ w_xh + state @ w_hh + b_h)
            loss = loss + T.nn.functional.cross_entropy(state @ w_hq + b_q, ids[i + 1 : i + 2])
        for p in params:
            p.grad = None
        loss.backward()
        norm = T.sqrt(sum(T.sum(p.grad**2) for p in params))
        for p in params:
            if norm > 1:
                p.grad[:] *= 1 / norm
            p.data.sub_(0.5 * p.grad)
        log.append(loss.item())
    return log


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


def maml_step(T):
    T.manual_seed(0)
    w, b = T.randn(1, 3, requires_grad=True), T.zeros(1, requires_grad=True)
    x, y = T.randn(6, 3), T.randn(6, 1)
    loss = T.nn.functional.mse_loss(T.nn.functional.linear(x[:3], w, b), y[:3])
    grads = T.autograd.grad(loss, (w, b), create_graph=True)
    fast = [p - 0.1 * g for p, g in zip((w, b), grads, strict=True)]
    outer = T.nn.functional.mse_loss(T.nn.functional.linear(x[3:], *fast), y[3:])
    outer.backward()
    return outer, w.grad, b.grad


def adversarial_example(T):
    T.manual_seed(0)
    net = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.ReLU(), T.nn.Linear(8, 3))
    x, y = _data(T)
    x.requires_grad = True
    loss = T.nn.functional.nll_loss(T.nn.functional.log_softmax(net(x), 1), y)
    net.zero_grad()
    loss.backward()
    moved = T.clamp(x + 0.1 * x.grad.data.sign(), -2, 2)
    guess = net(moved).max(1, keepdim=True)[1]
    return loss, guess.eq(y.view_as(guess)).sum().item(), moved


def saliency_and_class_maps(T):
    T.manual_seed(0)
    net = T.nn.Sequential(
        T.nn.Conv2d(1, 3, 3, padding=1), T.nn.ReLU(), T.nn.AdaptiveAvgPool2d(1), T.nn.Flatten(), T.nn.Linear(3, 2)
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


def checkpoint_and_resume(T):
    T.manual_seed(0)
    x, y = _data(T)
    net = T.nn.Linear(4, 3)
    optimizer = T.optim.Adam(net.parameters(), lr=0.1)
    _train(T, net, x, y, T.nn.CrossEntropyLoss(), optimizer, 2)
    saved = {"model": {k: v.clone() for k, v in net.state_dict().items()}, "optimizer": optimizer.state_dict()}
    other = T.nn.Linear(4, 3)
    print_of_keys = str(other.load_state_dict(saved["model"]))
    again = T.optim.Adam(other.parameters(), lr=0.1)
    again.load_state_dict(saved["optimizer"])
    return _train(T, other, x, y, T.nn.CrossEntropyLoss(), again, 3), print_of_keys


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


def hyperparameters_by_gradient(T):
    lr = T.tensor(0.1, requires_grad=True)
    w = T.tensor([1.0, -2.0], requires_grad=True)
    v = w
    for _ in range(3):
        (g,) = T.autograd.grad((v**2).sum(), v, create_graph=True)
        v = v - lr * g
    loss = (v**2).sum()
    loss.backward()
    return loss, lr.grad


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


def seq2seq_with_attention(T):
    """An encoder, a decoder with attention, and packed teacher forcing: the task is to reverse a sequence."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(2)

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.gru = nn.Embedding(8, 6), nn.GRU(6, 10, batch_first=True)

        def forward(self, x):
            return self.gru(self.embedding(x))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(8, 6)
            self.Wa, self.Ua, self.Va = nn.Linear(10, 10), nn.Linear(10, 10), nn.Linear(10, 1)
            self.gru, self.out = nn.GRU(16, 10, batch_first=True), nn.Linear(10, 8)

        def forward(self, keys, hidden, target):
            token, outputs = T.zeros(keys.size(0), 1, dtype=T.long), []
            for i in range(target.size(1)):
                query = hidden.permute(1, 0, 2)
                scores = self.Va(T.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
                context = T.bmm(F.softmax(scores, dim=-1), keys)
                output, hidden = self.gru(T.cat((self.embedding(token), context), dim=2), hidden)
                outputs.append(self.out(output))
                token = target[:, i].unsqueeze(1)
            return F.log_softmax(T.cat(outputs, dim=1), dim=-1)

    encoder, decoder = Encoder(), Decoder()
    source = T.randint(1, 8, (6, 5))
    target = source.flip(1)
    parameters = [*encoder.parameters(), *decoder.parameters()]

    def loss_of():
        outputs, hidden = encoder(source)
        return nn.NLLLoss()(decoder(outputs, hidden, target).view(-1, 8), target.view(-1))

    return _steps(T.optim.Adam(parameters, lr=0.01), loss_of, 5)


def dcgan(T):
    """Two networks against each other, weights set by `apply`, a scheduler for one."""
    nn = T.nn
    T.manual_seed(4)

    def weights_init(m):
        if m.__class__.__name__.find("Conv") != -1:
            nn.init.normal_(m.weight.data, 0.0, 0.02)
        elif m.__class__.__name__.find("BatchNorm") != -1:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)

    first = [nn.ConvTranspose2d(5, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True)]
    G = nn.Sequential(*first, nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh())
    D = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(8, 1, 4, 1, 0), nn.Flatten(0)
    )
    G.apply(weights_init)
    D.apply(weights_init)
    criterion = nn.BCEWithLogitsLoss()
    opt_g, opt_d = (T.optim.Adam(m.parameters(), lr=2e-3, betas=(0.5, 0.999)) for m in (G, D))
    plan = T.optim.lr_scheduler.LinearLR(opt_d, 1.0, 0.5, 3)
    real, out = T.tanh(T.randn(6, 1, 8, 8)), []
    for _ in range(4):
        D.zero_grad()
        label = T.full((6,), 1.0)
        loss_real = criterion(D(real), label)
        loss_real.backward()
        fake = G(T.randn(6, 5, 1, 1))
        label.fill_(0.0)
        loss_fake = criterion(D(fake.detach()), label)
        loss_fake.backward()
        opt_d.step()
        plan.step()
        G.zero_grad()
        label.fill_(1.0)
        loss_g = criterion(D(fake), label)
        loss_g.backward()
        opt_g.step()
        out += [loss_real.item(), loss_fake.item(), loss_g.item()]
    return [*out, *plan.get_last_lr()]


def word_embedding(T):
    """Skip-grams with negative samples, drawn by frequency."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(5)
    words = ["the", "cat", "sat", "on", "the", "mat", "and", "the", "dog", "sat", "on", "the", "cat"]
    index = {w: i for i, w in enumerate(dict.fromkeys(words))}
    pairs = [(index[a], index[b]) for i, a in enumerate(words) for b in words[max(0, i - 1) : i + 2] if a != b]
    weights = T.tensor([words.count(w) for w in index], dtype=T.float).pow(0.75)
    centre, context = nn.Embedding(len(index), 4), nn.Embedding(len(index), 4)
    a, b = T.tensor(pairs).t()

    def loss_of():
        wrong = T.multinomial(weights, len(pairs) * 2, replacement=True).view(-1, 2)
        near = F.logsigmoid((centre(a) * context(b)).sum(1))
        far = F.logsigmoid(-T.bmm(context(wrong), centre(a).unsqueeze(2)).squeeze(2)).sum(1)
        return -(near + far).mean()

    losses = _steps(T.optim.Adagrad([*centre.parameters(), *context.parameters()], lr=0.1), loss_of, 6)
    likeness = F.cosine_similarity(centre.weight[:1], centre.weight)
    return [*losses, *likeness.tolist()]


def time_series(T):
    """LSTM cells, one after the other, predict a wave; the optimizer gets a closure."""
    nn = T.nn
    T.manual_seed(6)
    wave = T.sin(T.linspace(0, 6 * math.pi, 40) + T.arange(3).unsqueeze(1))
    lstm1, lstm2, linear = nn.LSTMCell(1, 6), nn.LSTMCell(6, 6), nn.Linear(6, 1)
    model = nn.ModuleList([lstm1, lstm2, linear])
    optimizer = T.optim.RMSprop(model.parameters(), lr=0.01)
    losses = []

    def closure():
        optimizer.zero_grad()
        h1 = c1 = h2 = c2 = T.zeros(3, 6)
        outputs = []
        for step in wave[:, :-1].split(1, dim=1):
            h1, c1 = lstm1(step, (h1, c1))
            h2, c2 = lstm2(h1, (h2, c2))
            outputs.append(linear(h2))
        loss = nn.MSELoss()(T.cat(outputs, dim=1), wave[:, 1:])
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(4):
        optimizer.step(closure)
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
    return losses


def resnet_block(T):
    """Shortcuts around convolutions, weight decay for some parameters only, evaluation with running statistics."""
    nn = T.nn
    T.manual_seed(8)

    class Block(nn.Module):
        def __init__(self, inside, outside, stride):
            super().__init__()
            first = [nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside)]
            second = [nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside)]
            self.body = nn.Sequential(*first, nn.ReLU(inplace=True), *second)
            self.short = nn.Identity()
            if stride != 1 or inside != outside:
                self.short = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

        def forward(self, x):
            return nn.functional.relu(self.body(x) + self.short(x))

    net = nn.Sequential(Block(1, 4, 1), Block(4, 8, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
    x, y = T.randn(8, 1, 8, 8), T.randint(3, (8,))
    decay = [p for p in net.parameters() if p.dim() > 1]
    rest = [p for p in net.parameters() if p.dim() <= 1]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "lr": 0.02}]
    optimizer = T.optim.SGD(groups, lr=0.01, momentum=0.9, nesterov=True)
    losses = _steps(optimizer, lambda: nn.CrossEntropyLoss(label_smoothing=0.1)(net(x), y), 4)
    net.eval()
    with T.inference_mode():
        return [*losses, *net(x[:2]).flatten().tolist()]


def small_gpt(T):
    """A language model of characters: tied weights, causal mask in a buffer, generation by drawing."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(9)
    text = "hello world, hello there, hold the door. "
    chars = sorted(set(text))
    data = T.tensor([chars.index(c) for c in text], dtype=T.long)
    block, width = 8, 12

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.register_buffer("mask", T.tril(T.ones(block, block)).view(1, 1, block, block))

        def forward(self, x):
            B, L, C = x.size()
            q, k, v = (t.view(B, L, 2, C // 2).transpose(1, 2) for t in self.qkv(x).split(width, dim=2))
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = F.softmax(att.masked_fill(self.mask[:, :, :L, :L] == 0, float("-inf")), dim=-1)
            return self.proj((att @ v).transpose(1, 2).contiguous().view(B, L, C))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(len(chars), width), nn.Embedding(block, width)
            self.ln, self.attn = nn.LayerNorm(width), Attention()
            self.mlp = nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, 24), nn.GELU(approximate="tanh"), nn.Linear(24, width)
            )
            self.head = nn.Linear(width, len(chars), bias=False)
            self.head.weight = self.wte.weight

        def forward(self, idx, targets=None):
            x = self.wte(idx) + self.wpe(T.arange(0, idx.size(1), dtype=T.long))
            x = x + self.attn(self.ln(x))
            logits = self.head(x + self.mlp(x))
            if targets is None:
                return logits, None
            return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    model = GPT()
    optimizer = T.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))

    def loss_of():
        ix = T.randint(len(data) - block, (4,))
        x, y = (T.stack([data[i + shift : i + shift + block] for i in ix]) for shift in (0, 1))
        return model(x, y)[1]

    losses = _steps(optimizer, loss_of, 6)
    idx = T.zeros((1, 1), dtype=T.long)
    with T.no_grad():
        for _ in range(6):
            logits = model(idx[:, -block:])[0][:, -1, :] / 0.8
            v, _ = T.topk(logits, 5)
            logits[logits < v[:, [-1]]] = -float("Inf")
            # The likeliest: a draw falls differently where the last digit of a probability does.
            idx = T.cat((idx, F.softmax(logits, dim=-1).argmax(dim=-1, keepdim=True)), dim=1)
    return [*losses, *map(float, idx[0].tolist()), float(sum(p.numel() for p in model.parameters()))]


def gradient_penalty(T):
    """A critic whose slope is held near 1, by the gradient of a gradient."""
    nn = T.nn
    T.manual_seed(11)
    critic = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 1))
    real, fake = T.randn(6, 3) + 1, T.randn(6, 3)

    def loss_of():
        share = T.rand(6, 1).expand_as(real)
        mixed = (share * real + (1 - share) * fake).requires_grad_(True)
        out = critic(mixed)
        slope = T.autograd.grad(out, mixed, grad_outputs=T.ones_like(out), create_graph=True, retain_graph=True)[0]
        return critic(fake).mean() - critic(real).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()

    return _steps(T.optim.Adam(critic.parameters(), lr=1e-2), loss_of, 5)


def neural_style(T):
    """An image that learns: Gram matrices of features caught by hooks."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(13)
    features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(4, 4, 3), nn.ReLU())
    features.requires_grad_(False)
    caught: dict[str, Any] = {}
    features[1].register_forward_hook(lambda module, args, output: caught.update(style=output))
    features[4].register_forward_hook(lambda module, args, output: caught.update(content=output))

    def gram(x):
        a, b, c, d = x.size()
        rows = x.view(a * b, c * d)
        return T.mm(rows, rows.t()).div(a * b * c * d)

    content, style = T.rand(1, 1, 8, 8), T.rand(1, 1, 8, 8)
    features(style)
    target_style = gram(caught["style"]).detach()
    features(content)
    target_content = caught["content"].clone().detach()
    image = content.clone().requires_grad_(True)

    def loss_of():
        with T.no_grad():
            image.clamp_(0, 1)
        features(image)
        return 1e3 * F.mse_loss(gram(caught["style"]), target_style) + F.mse_loss(caught["content"], target_content)

    return [*_steps(T.optim.Adam([image], lr=0.05), loss_of, 5), image.mean().item()]


def denoising_unet(T):
    """Down, up, and a shortcut across: padding, pooling, interpolation, group norms."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(14)
    down = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.SiLU())
    low = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1), nn.InstanceNorm2d(4), nn.SiLU())
    up = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), nn.ZeroPad2d(0))
    head = nn.Conv2d(8, 1, 1)
    net = nn.ModuleDict({"down": down, "low": low, "up": up, "head": head})
    x = T.rand(4, 1, 8, 8)
    betas = T.linspace(1e-2, 0.2, 10)
    kept = T.cumprod(1 - betas, dim=0)

    def loss_of():
        t = T.randint(0, 10, (4,))
        noise = T.randn_like(x)
        scale = kept.gather(-1, t).reshape(-1, 1, 1, 1)
        first = net["down"](scale.sqrt() * x + (1 - scale).sqrt() * noise)
        out = net["head"](T.cat([first, net["up"](net["low"](first))], dim=1))
        return F.smooth_l1_loss(out, noise)

    return _steps(T.optim.Adam(net.parameters(), lr=1e-2), loss_of, 5)


def reinforce(T):
    """A policy that learns only from rewards: the log-probability of each action times its reward."""
    nn = T.nn
    T.manual_seed(18)
    policy = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer, states = T.optim.Adam(policy.parameters(), lr=0.02), T.randn(4, 2)
    best = (states[:, 0] > 0).long() + (states[:, 1] > 0).long()
    out = []
    for _ in range(5):
        d = T.distributions.Categorical(logits=policy(states))
        action = d.sample((16,))
        reward = (action == best).float()
        advantage = (reward - reward.mean()) / (reward.std() + T.finfo(T.float32).eps)
        loss = -(d.log_prob(action) * advantage).mean() - 0.01 * d.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out += [loss.item(), reward.sum().item()]
    return out


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


def packed_sentences(T):
    """Sentences of different lengths, packed for a recurrent network that reads them in both directions."""
    nn, rnn = T.nn, T.nn.utils.rnn
    T.manual_seed(19)
    sentences = [(T.randint(1, 20, (n,)), float(n % 2)) for n in (5, 3, 8, 2, 6, 4)]

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(20, 6, padding_idx=0)
            self.lstm = nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
            self.head = nn.Linear(16, 1)

        def forward(self, words, lengths):
            packed = rnn.pack_padded_sequence(self.embedding(words), lengths.cpu(), batch_first=True)
            out, (hidden, _) = self.lstm(packed)
            padded, _ = rnn.pad_packed_sequence(out, batch_first=True)
            last = T.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)
            return T.sigmoid(self.head(last)).squeeze(1), padded.max(dim=1).values

    def collate(batch):
        batch.sort(key=lambda pair: len(pair[0]), reverse=True)
        words, labels = zip(*batch, strict=True)
        return rnn.pad_sequence(words, batch_first=True), T.tensor([len(w) for w in words]), T.tensor(labels)

    model, criterion = Classifier(), nn.BCELoss()
    optimizer = T.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        for words, lengths, labels in T.utils.data.DataLoader(sentences, 3, shuffle=True, collate_fn=collate):
            scores, seen = model(words, lengths)
            loss = criterion(scores, labels) + 0.01 * seen.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def rules_of_ones_own(T):
    """An optimizer and a schedule that the lesson writes, steps that add up gradients, the best weights kept."""
    nn = T.nn
    T.manual_seed(20)

    class Lion(T.optim.Optimizer):
        def __init__(self, params, lr=0.01, beta=0.9):
            super().__init__(params, {"lr": lr, "beta": beta})

        @T.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["mean"] = T.zeros_like(p, memory_format=T.preserve_format)
                    state["mean"].mul_(group["beta"]).add_(p.grad, alpha=1 - group["beta"])
                    p.add_(T.tanh(10 * state["mean"]), alpha=-group["lr"])

    class Warmup(T.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base * min(1.0, self._step_count / 4) for base in self.base_lrs]

    x = T.randn(24, 3)
    y = x @ T.randn(3, 1)
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = Lion(net.parameters(), lr=0.02)
    plans = [Warmup(optimizer), T.optim.lr_scheduler.MultiStepLR(optimizer, [6, 9], gamma=0.5)]
    best, kept, out = float("inf"), None, []
    for _ in range(8):
        for part, wanted in zip(x.chunk(4), y.chunk(4), strict=True):
            (nn.functional.mse_loss(net(part), target=wanted) / 4).backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        for plan in plans:
            plan.step()
        loss = nn.functional.mse_loss(net(x), y).item()
        if loss < best:
            best, kept = loss, {name: value.clone() for name, value in net.state_dict().items()}
        out += [loss, norm.item(), optimizer.param_groups[0]["lr"]]
    net.load_state_dict(kept)
    return [*out, nn.functional.mse_loss(net(x), y).item(), optimizer.state[net[0].weight]["mean"].norm().item()]


def characters_by_lstm(T):
    T.manual_seed(0)
    text = "the derivative of a sum is the sum of the derivatives, along the chain it is their product. " * 2
    alphabet = sorted(set(text))
    codes = T.tensor([alphabet.index(c) for c in text])
    embedding, recurrent = T.nn.Embedding(len(alphabet), 8), T.nn.LSTM(8, 12, num_layers=2, batch_first=True)
    net = T.nn.ModuleList([embedding, recurrent, T.nn.Linear(12, len(alphabet))])
    optimizer, losses = T.optim.RMSprop(net.parameters(), lr=1e-2), []
    for step in range(20):
        starts = (T.arange(4) * 37 + step * 11) % (len(codes) - 17)
        x, y = (T.stack([codes[s : s + 16] for s in starts + shift]) for shift in (0, 1))
        optimizer.zero_grad()
        scores = net[2](recurrent(embedding(x))[0])
        loss = T.nn.functional.cross_entropy(scores.reshape(-1, len(alphabet)), y.reshape(-1))
        loss.backward()
        T.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def custom_function(T):
    nn = T.nn

    class Affine(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias):
            ctx.save_for_backward(x, weight)
            return x @ weight.t() + bias

        @staticmethod
        def backward(ctx, grad_output):
            x, weight = ctx.saved_tensors
            return grad_output @ weight, grad_output.t() @ x, grad_output.sum(0)

    class Layer(nn.Module):
        def __init__(self, inside, outside):
            super().__init__()
            self.weight = nn.Parameter(T.randn(outside, inside) * 0.2)
            self.bias = nn.Parameter(T.zeros(outside))

        def forward(self, x):
            return Affine.apply(x, self.weight, self.bias)

    T.manual_seed(0)
    x, y = _data(T)
    net = nn.Sequential(Layer(4, 8), nn.Sigmoid(), Layer(8, 3))
    return _train(T, net, x, y, nn.CrossEntropyLoss(), T.optim.Adagrad(net.parameters(), lr=0.05), 20)


PROGRAMS = [program for name, program in list(globals().items()) if callable(program) and hasattr(program, "__code__")]
PROGRAMS = [program for program in PROGRAMS if program.__module__ == __name__ and not program.__name__.startswith("_")]


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


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_gives_what_it_gives_on_pytorch(program: Any) -> None:
    theirs, ours = (_outcome(program, ENGINES[engine]) for engine in ("torch", "tinygrad_edu"))
    assert "raised" not in theirs, f"the program itself: {theirs}"
    assert list(differences(theirs, ours)) == []


@pytest.mark.parametrize("program", [characters_by_lstm, custom_function])
def test_a_network_learns(program: Any) -> None:
    losses = program(ENGINES["tinygrad_edu"])
    assert np.mean(losses[-3:]) < np.mean(losses[:3])
