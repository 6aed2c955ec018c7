"""Programs as lessons on PyTorch have them, each in a few lines: `lesson(T)` returns numbers that both engines must share.

They start from `T.manual_seed`, use the names a lesson uses, and are small: what they cover is the way these names meet.
"""

from __future__ import annotations

import io
import math
from typing import Any


def train(optimizer: Any, loss_of: Any, steps: int) -> list[float]:
    """The loop that every lesson has."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def blitz(T: Any) -> list[float]:
    """A small network for images with a loader, a checkpoint, and accuracy by class."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(0)
    device = T.device("cuda" if T.cuda.is_available() else "cpu")
    images, labels = T.randn(48, 3, 12, 12), T.randint(0, 4, (48,))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 8, 3)
            self.pool = nn.MaxPool2d(2, 2)
            self.fc1, self.fc2 = nn.Linear(8, 12), nn.Linear(12, 4)

        def forward(self, x: Any) -> Any:
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


def names_by_characters(T: Any) -> list[float]:
    """A recurrent network by hand that tells the language of a name, trained without an optimizer."""
    nn = T.nn
    T.manual_seed(1)
    names = [("anna", 0), ("otto", 1), ("ivan", 2), ("pedro", 0), ("hans", 1), ("olga", 2)]
    letters = sorted({c for name, _ in names for c in name})

    class RNN(nn.Module):
        def __init__(self, inside: int, hidden: int, outside: int) -> None:
            super().__init__()
            self.hidden_size = hidden
            self.i2h = nn.Linear(inside + hidden, hidden)
            self.h2o = nn.Linear(hidden, outside)
            self.softmax = nn.LogSoftmax(dim=1)

        def forward(self, x: Any, hidden: Any) -> Any:
            hidden = T.tanh(self.i2h(T.cat((x, hidden), 1)))
            return self.softmax(self.h2o(hidden)), hidden

    def as_tensor(name: str) -> Any:
        out = T.zeros(len(name), 1, len(letters))
        for i, c in enumerate(name):
            out[i][0][letters.index(c)] = 1
        return out

    rnn, criterion = RNN(len(letters), 8, 3), nn.NLLLoss()
    losses = []
    for step in range(12):
        name, language = names[step % len(names)]
        hidden = T.zeros(1, rnn.hidden_size)
        rnn.zero_grad()
        for letter in as_tensor(name):
            output, hidden = rnn(letter, hidden)
        loss = criterion(output, T.tensor([language], dtype=T.long))
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-0.1)
        losses.append(loss.item())
    value, index = output.topk(1)
    return [*losses, value[0].item(), float(index[0].item())]


def seq2seq_with_attention(T: Any) -> list[float]:
    """An encoder, a decoder with attention, and packed teacher forcing: the task is to reverse a sequence."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(2)

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.gru = nn.Embedding(8, 6), nn.GRU(6, 10, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.gru(self.embedding(x))

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(8, 6)
            self.Wa, self.Ua, self.Va = nn.Linear(10, 10), nn.Linear(10, 10), nn.Linear(10, 1)
            self.gru, self.out = nn.GRU(16, 10, batch_first=True), nn.Linear(10, 8)

        def forward(self, keys: Any, hidden: Any, target: Any) -> Any:
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

    def loss_of() -> Any:
        outputs, hidden = encoder(source)
        return nn.NLLLoss()(decoder(outputs, hidden, target).view(-1, 8), target.view(-1))

    return train(T.optim.Adam(parameters, lr=0.01), loss_of, 5)


def vae(T: Any) -> list[float]:
    """A variational autoencoder: the reparametrised draw, and two parts of the loss."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(3)
    x = T.rand(16, 20)
    encoder, mu, logvar = nn.Linear(20, 12), nn.Linear(12, 3), nn.Linear(12, 3)
    decoder = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 20), nn.Sigmoid())
    parts = nn.ModuleList([encoder, mu, logvar, decoder])

    def loss_of() -> Any:
        h = F.relu(encoder(x))
        mean, spread = mu(h), T.exp(0.5 * logvar(h))
        z = mean + T.randn_like(spread) * spread
        likelihood = F.binary_cross_entropy(decoder(z), x.view(-1, 20), reduction="sum")
        divergence = -0.5 * T.sum(1 + logvar(h) - mean.pow(2) - logvar(h).exp())
        return likelihood + divergence

    return train(T.optim.Adam(parts.parameters(), lr=1e-2), loss_of, 6)


def dcgan(T: Any) -> list[float]:
    """Two networks against each other, weights set by `apply`, a scheduler for one."""
    nn = T.nn
    T.manual_seed(4)

    def weights_init(m: Any) -> None:
        if m.__class__.__name__.find("Conv") != -1:
            nn.init.normal_(m.weight.data, 0.0, 0.02)
        elif m.__class__.__name__.find("BatchNorm") != -1:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)

    G = nn.Sequential(
        nn.ConvTranspose2d(5, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
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


def word_embedding(T: Any) -> list[float]:
    """Skip-grams with negative samples, drawn by frequency."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(5)
    words = ["the", "cat", "sat", "on", "the", "mat", "and", "the", "dog", "sat", "on", "the", "cat"]
    index = {w: i for i, w in enumerate(dict.fromkeys(words))}
    pairs = [(index[a], index[b]) for i, a in enumerate(words) for b in words[max(0, i - 1) : i + 2] if a != b]
    weights = T.tensor([words.count(w) for w in index], dtype=T.float).pow(0.75)
    centre, context = nn.Embedding(len(index), 4), nn.Embedding(len(index), 4)
    a, b = T.tensor(pairs).t()

    def loss_of() -> Any:
        wrong = T.multinomial(weights, len(pairs) * 2, replacement=True).view(-1, 2)
        near = F.logsigmoid((centre(a) * context(b)).sum(1))
        far = F.logsigmoid(-T.bmm(context(wrong), centre(a).unsqueeze(2)).squeeze(2)).sum(1)
        return -(near + far).mean()

    losses = train(T.optim.Adagrad([*centre.parameters(), *context.parameters()], lr=0.1), loss_of, 6)
    likeness = F.cosine_similarity(centre.weight[:1], centre.weight)
    return [*losses, *likeness.tolist()]


def time_series(T: Any) -> list[float]:
    """LSTM cells, one after the other, predict a wave; the optimizer gets a closure."""
    nn = T.nn
    T.manual_seed(6)
    wave = T.sin(T.linspace(0, 6 * math.pi, 40) + T.arange(3).unsqueeze(1))
    lstm1, lstm2, linear = nn.LSTMCell(1, 6), nn.LSTMCell(6, 6), nn.Linear(6, 1)
    model = nn.ModuleList([lstm1, lstm2, linear])
    optimizer = T.optim.RMSprop(model.parameters(), lr=0.01)
    losses = []

    def closure() -> Any:
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


def matrix_factorisation(T: Any) -> list[float]:
    """Ratings from users and films, with dense rows for each and a plateau for the rate."""
    nn = T.nn
    T.manual_seed(7)
    users, films, ratings = T.randint(0, 6, (40,)), T.randint(0, 9, (40,)), T.rand(40) * 5

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.user, self.film = nn.Embedding(6, 3), nn.Embedding(9, 3)
            self.bias = nn.Parameter(T.zeros(1))
            self.film.weight.data.uniform_(0, 0.05)

        def forward(self, u: Any, f: Any) -> Any:
            return (self.user(u) * self.film(f)).sum(-1) + self.bias

    model = Model()
    optimizer = T.optim.SGD(model.parameters(), lr=1.0, weight_decay=1e-4)
    scheduler = T.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=0)
    losses = []
    for _ in range(12):
        loss = nn.functional.mse_loss(model(users, films), ratings)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())
        losses += [loss.item(), optimizer.param_groups[0]["lr"]]
    return losses


def resnet_block(T: Any) -> list[float]:
    """Shortcuts around convolutions, weight decay for some parameters only, evaluation with running statistics."""
    nn = T.nn
    T.manual_seed(8)

    class Block(nn.Module):
        def __init__(self, inside: int, outside: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(inplace=True),
                nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside),
            )  # fmt: skip
            self.short = nn.Identity()
            if stride != 1 or inside != outside:
                self.short = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

        def forward(self, x: Any) -> Any:
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
    losses = train(optimizer, lambda: nn.CrossEntropyLoss(label_smoothing=0.1)(net(x), y), 4)
    net.eval()
    with T.inference_mode():
        return [*losses, *net(x[:2]).flatten().tolist()]


def small_gpt(T: Any) -> list[float]:
    """A language model of characters: tied weights, causal mask in a buffer, generation by drawing."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(9)
    text = "hello world, hello there, hold the door. "
    chars = sorted(set(text))
    data = T.tensor([chars.index(c) for c in text], dtype=T.long)
    block, width = 8, 12

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.register_buffer("mask", T.tril(T.ones(block, block)).view(1, 1, block, block))

        def forward(self, x: Any) -> Any:
            B, L, C = x.size()
            q, k, v = (t.view(B, L, 2, C // 2).transpose(1, 2) for t in self.qkv(x).split(width, dim=2))
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = F.softmax(att.masked_fill(self.mask[:, :, :L, :L] == 0, float("-inf")), dim=-1)
            return self.proj((att @ v).transpose(1, 2).contiguous().view(B, L, C))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(len(chars), width), nn.Embedding(block, width)
            self.ln, self.attn = nn.LayerNorm(width), Attention()
            self.mlp = nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, 24), nn.GELU(approximate="tanh"), nn.Linear(24, width)
            )
            self.head = nn.Linear(width, len(chars), bias=False)
            self.head.weight = self.wte.weight

        def forward(self, idx: Any, targets: Any = None) -> Any:
            x = self.wte(idx) + self.wpe(T.arange(0, idx.size(1), dtype=T.long))
            x = x + self.attn(self.ln(x))
            logits = self.head(x + self.mlp(x))
            if targets is None:
                return logits, None
            return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    model = GPT()
    optimizer = T.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))

    def loss_of() -> Any:
        ix = T.randint(len(data) - block, (4,))
        x, y = (T.stack([data[i + shift : i + shift + block] for i in ix]) for shift in (0, 1))
        return model(x, y)[1]

    losses = train(optimizer, loss_of, 6)
    idx = T.zeros((1, 1), dtype=T.long)
    with T.no_grad():
        for _ in range(6):
            logits = model(idx[:, -block:])[0][:, -1, :] / 0.8
            v, _ = T.topk(logits, 5)
            logits[logits < v[:, [-1]]] = -float("Inf")
            # The likeliest: a draw falls differently where the last digit of a probability does.
            idx = T.cat((idx, F.softmax(logits, dim=-1).argmax(dim=-1, keepdim=True)), dim=1)
    return [*losses, *map(float, idx[0].tolist()), float(sum(p.numel() for p in model.parameters()))]


def lora(T: Any) -> list[float]:
    """A layer that is frozen, and a small one beside it that learns."""
    nn = T.nn
    T.manual_seed(10)

    class LoRA(nn.Module):
        def __init__(self, base: Any, rank: int) -> None:
            super().__init__()
            self.base = base
            self.A = nn.Parameter(T.randn(rank, base.in_features) * 0.1)
            self.B = nn.Parameter(T.zeros(base.out_features, rank))

        def forward(self, x: Any) -> Any:
            return self.base(x) + x @ self.A.T @ self.B.T

    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    for p in net.parameters():
        p.requires_grad = False
    net[0] = LoRA(net[0], 2)
    x, y = T.randn(10, 4), T.randn(10, 2)
    losses = train(
        T.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=0.05),
        lambda: ((net(x) - y) ** 2).mean(),
        5,
    )
    return [*losses, float(len([n for n, p in net.named_parameters() if p.requires_grad])), net[0].B.abs().sum().item()]


def gradient_penalty(T: Any) -> list[float]:
    """A critic whose slope is held near 1, by the gradient of a gradient."""
    nn = T.nn
    T.manual_seed(11)
    critic = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 1))
    real, fake = T.randn(6, 3) + 1, T.randn(6, 3)

    def loss_of() -> Any:
        share = T.rand(6, 1).expand_as(real)
        mixed = (share * real + (1 - share) * fake).requires_grad_(True)
        out = critic(mixed)
        slope = T.autograd.grad(out, mixed, grad_outputs=T.ones_like(out), create_graph=True, retain_graph=True)[0]
        return critic(fake).mean() - critic(real).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()

    return train(T.optim.Adam(critic.parameters(), lr=1e-2), loss_of, 5)


def maml(T: Any) -> list[float]:
    """Learning to learn: a step by hand inside the loss, and the gradient through it."""
    F = T.nn.functional
    T.manual_seed(12)
    weights = [T.randn(8, 1) * 0.5, T.zeros(8), T.randn(1, 8) * 0.5, T.zeros(1)]
    weights = [w.requires_grad_() for w in weights]
    optimizer = T.optim.SGD(weights, lr=0.05)

    def forward(x: Any, w: list[Any]) -> Any:
        return F.linear(T.tanh(F.linear(x, w[0], w[1])), w[2], w[3])

    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        total = T.zeros(())
        for _ in range(3):
            phase, x = T.rand(1) * math.pi, T.rand(10, 1) * 6 - 3
            y = T.sin(x + phase)
            inner = F.mse_loss(forward(x[:5], weights), y[:5])
            grads = T.autograd.grad(inner, weights, create_graph=True)
            fast = [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]
            total = total + F.mse_loss(forward(x[5:], fast), y[5:])
        total.backward()
        optimizer.step()
        losses.append(total.item())
    return losses


def neural_style(T: Any) -> list[float]:
    """An image that learns: Gram matrices of features caught by hooks."""
    nn, F = T.nn, T.nn.functional
    T.manual_seed(13)
    features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(4, 4, 3), nn.ReLU())
    features.requires_grad_(False)
    caught: dict[str, Any] = {}
    features[1].register_forward_hook(lambda module, args, output: caught.update(style=output))
    features[4].register_forward_hook(lambda module, args, output: caught.update(content=output))

    def gram(x: Any) -> Any:
        a, b, c, d = x.size()
        rows = x.view(a * b, c * d)
        return T.mm(rows, rows.t()).div(a * b * c * d)

    content, style = T.rand(1, 1, 8, 8), T.rand(1, 1, 8, 8)
    features(style)
    target_style = gram(caught["style"]).detach()
    features(content)
    target_content = caught["content"].clone().detach()
    image = content.clone().requires_grad_(True)

    def loss_of() -> Any:
        with T.no_grad():
            image.clamp_(0, 1)
        features(image)
        return 1e3 * F.mse_loss(gram(caught["style"]), target_style) + F.mse_loss(caught["content"], target_content)

    return [*train(T.optim.Adam([image], lr=0.05), loss_of, 5), image.mean().item()]


def denoising_unet(T: Any) -> list[float]:
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

    def loss_of() -> Any:
        t = T.randint(0, 10, (4,))
        noise = T.randn_like(x)
        scale = kept.gather(-1, t).reshape(-1, 1, 1, 1)
        first = net["down"](scale.sqrt() * x + (1 - scale).sqrt() * noise)
        out = net["head"](T.cat([first, net["up"](net["low"](first))], dim=1))
        return F.smooth_l1_loss(out, noise)

    return train(T.optim.Adam(net.parameters(), lr=1e-2), loss_of, 5)


def translation(T: Any) -> list[float]:
    """`nn.Transformer` with masks, sines for places, a schedule with a warm-up."""
    nn = T.nn
    T.manual_seed(15)
    place, steps = T.arange(6).unsqueeze(1), T.exp(T.arange(0, 8, 2) * (-math.log(10000.0) / 8))
    sines = T.zeros(6, 8)
    sines[:, 0::2] = T.sin(place * steps)
    sines[:, 1::2] = T.cos(place * steps)
    source, target = T.randint(1, 9, (3, 6)), T.randint(1, 9, (3, 6))
    source[0, 4:] = 0
    embedding, head = nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 9)
    model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    every = nn.ModuleList([embedding, head, model])
    optimizer = T.optim.Adam(every.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    plan = T.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 8**-0.5 * min((s + 1) ** -0.5, (s + 1) * 4**-1.5) * 0.1)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        out = model(
            embedding(source) * math.sqrt(8) + sines, embedding(target[:, :-1]) + sines[:5], tgt_mask=mask,
            src_key_padding_mask=source == 0, memory_key_padding_mask=source == 0,
        )  # fmt: skip
        loss = nn.CrossEntropyLoss(ignore_index=0)(head(out).transpose(1, 2), target[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(every.parameters(), max_norm=1.0)
        optimizer.step()
        plan.step()
        losses.append(loss.item())
    return losses


def text_bags(T: Any) -> list[float]:
    """Texts of any length as bags of words, put together by a `collate_fn`."""
    nn = T.nn
    T.manual_seed(16)
    texts = [(T.tensor([1, 2, 3]), 0), (T.tensor([4, 5]), 1), (T.tensor([6]), 1), (T.tensor([2, 3, 1, 1]), 0)]

    def collate(batch: list[Any]) -> Any:
        words, labels = zip(*batch, strict=True)
        starts = T.tensor([0, *(len(w) for w in words)][:-1]).cumsum(dim=0)
        return T.cat(words), starts, T.tensor(labels)

    weight = nn.Parameter(T.empty(7, 4))
    nn.init.uniform_(weight, -0.5, 0.5)
    head = nn.Linear(4, 2)
    optimizer = T.optim.SGD([weight, *head.parameters()], lr=0.5)
    losses = []
    for _ in range(3):
        for words, starts, labels in T.utils.data.DataLoader(texts, 2, shuffle=True, collate_fn=collate):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(head(nn.functional.embedding_bag(words, weight, starts)), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def reinforce(T: Any) -> list[float]:
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


def nearest_neighbours(T: Any) -> list[float]:
    """k-means and k nearest neighbours without a gradient: distances, scatter, counts, modes."""
    T.manual_seed(17)
    points = T.cat([T.randn(12, 2) + c for c in (T.tensor([0.0, 3.0]), T.tensor([4.0, 0.0]), T.tensor([-3.0, -3.0]))])
    centres = points[T.tensor([0, 12, 24])].clone()
    for _ in range(4):
        nearest = T.cdist(points, centres).argmin(dim=1)
        sums = T.zeros(3, 2).index_add_(0, nearest, points)
        centres = sums / T.bincount(nearest, minlength=3).clamp(min=1).unsqueeze(1)
    distance, index = T.cdist(T.zeros(1, 2), points).topk(5, largest=False)
    return [
        *centres.flatten().tolist(),
        *distance[0].tolist(),
        *map(float, nearest[index[0]].tolist()),
        T.quantile(points, 0.3).item(),
    ]


def packed_sentences(T: Any) -> list[float]:
    """Sentences of different lengths, packed for a recurrent network that reads them in both directions."""
    nn, rnn = T.nn, T.nn.utils.rnn
    T.manual_seed(19)
    sentences = [(T.randint(1, 20, (n,)), float(n % 2)) for n in (5, 3, 8, 2, 6, 4)]

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(20, 6, padding_idx=0)
            self.lstm = nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
            self.head = nn.Linear(16, 1)

        def forward(self, words: Any, lengths: Any) -> Any:
            packed = rnn.pack_padded_sequence(self.embedding(words), lengths.cpu(), batch_first=True)
            out, (hidden, _) = self.lstm(packed)
            padded, _ = rnn.pad_packed_sequence(out, batch_first=True)
            last = T.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)
            return T.sigmoid(self.head(last)).squeeze(1), padded.max(dim=1).values

    def collate(batch: list[Any]) -> Any:
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


def rules_of_ones_own(T: Any) -> list[float]:
    """An optimizer and a schedule that the lesson writes itself, steps that add up gradients, and the best weights kept."""
    nn = T.nn
    T.manual_seed(20)

    class Lion(T.optim.Optimizer):  # type: ignore[misc]
        def __init__(self, params: Any, lr: float = 0.01, beta: float = 0.9) -> None:
            super().__init__(params, {"lr": lr, "beta": beta})

        @T.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["mean"] = T.zeros_like(p, memory_format=T.preserve_format)
                    state["mean"].mul_(group["beta"]).add_(p.grad, alpha=1 - group["beta"])
                    p.add_(T.tanh(10 * state["mean"]), alpha=-group["lr"])

    class Warmup(T.optim.lr_scheduler.LRScheduler):  # type: ignore[misc]
        def get_lr(self) -> list[float]:
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


PROGRAMS = [
    blitz, names_by_characters, seq2seq_with_attention, vae, dcgan, word_embedding, time_series, matrix_factorisation,
    resnet_block, small_gpt, lora, gradient_penalty, maml, neural_style, denoising_unet, translation, text_bags,
    reinforce, nearest_neighbours, packed_sentences, rules_of_ones_own,
]  # fmt: skip
