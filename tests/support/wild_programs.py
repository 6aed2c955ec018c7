"""Programs of the kinds that courses and repositories hold, at small sizes; `T` is the engine, `F` its nn.functional.

Each is a function of the engine that returns what a reader of the program would look at: losses, weights, predictions. They
draw from the engine's own generator: from one seed both engines draw the same.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

__all__ = ["PROGRAMS"]


def _data(T: Any, n: int = 32, features: int = 4, classes: int = 3) -> tuple[Any, Any]:
    T.manual_seed(1)
    x = T.randn(n, features)
    return x, (x.abs().sum(1) * 10).long() % classes


def _train(T: Any, net: Any, x: Any, y: Any, loss: Any, optimizer: Any, steps: int = 6) -> list[Any]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(net(x), y)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


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


def softmax_regression(T):
    T.manual_seed(0)
    x, y = _data(T)
    net = T.nn.Sequential(T.nn.Flatten(), T.nn.Linear(4, 3))
    net.apply(lambda m: T.nn.init.normal_(m.weight, std=0.01) if isinstance(m, T.nn.Linear) else None)
    losses = _train(T, net, x, y, T.nn.CrossEntropyLoss(), T.optim.SGD(net.parameters(), lr=0.1))
    return losses, (net(x).argmax(1) == y).float().mean()


def mlp_with_dropout_and_decay(T):
    T.manual_seed(0)
    x, y = _data(T)
    net = T.nn.Sequential(T.nn.Linear(4, 16), T.nn.ReLU(), T.nn.Dropout(0.0), T.nn.Linear(16, 3))
    groups = [{"params": net[0].weight, "weight_decay": 0.1}, {"params": net[0].bias}, {"params": net[3].parameters()}]
    return _train(T, net, x, y, T.nn.CrossEntropyLoss(), T.optim.SGD(groups, lr=0.1, momentum=0.9))


def lenet_of_lazy_layers(T):
    T.manual_seed(0)
    net = T.nn.Sequential(
        T.nn.LazyConv2d(4, kernel_size=5, padding=2), T.nn.Sigmoid(), T.nn.AvgPool2d(2, 2), T.nn.LazyConv2d(6, 3), T.nn.Sigmoid(),
        T.nn.AvgPool2d(2, 2), T.nn.Flatten(), T.nn.LazyLinear(12), T.nn.Sigmoid(), T.nn.LazyLinear(3),
    )  # fmt: skip
    x = T.randn(4, 1, 12, 12)
    net(x)
    net.apply(lambda m: T.nn.init.xavier_uniform_(m.weight) if type(m) in (T.nn.Linear, T.nn.Conv2d) else None)
    return _train(T, net, x, T.tensor([0, 1, 2, 1]), T.nn.CrossEntropyLoss(), T.optim.SGD(net.parameters(), lr=0.5), 3)


def residual_network(T):
    class Residual(T.nn.Module):
        def __init__(self, channels_in, channels, use_1x1conv=False, strides=1):
            super().__init__()
            self.conv1 = T.nn.Conv2d(channels_in, channels, 3, padding=1, stride=strides)
            self.conv2 = T.nn.Conv2d(channels, channels, 3, padding=1)
            self.conv3 = T.nn.Conv2d(channels_in, channels, 1, stride=strides) if use_1x1conv else None
            self.bn1, self.bn2 = T.nn.BatchNorm2d(channels), T.nn.BatchNorm2d(channels)

        def forward(self, x):
            y = T.nn.functional.relu(self.bn1(self.conv1(x)))
            y = self.bn2(self.conv2(y))
            if self.conv3:
                x = self.conv3(x)
            y += x
            return T.nn.functional.relu(y)

    T.manual_seed(0)
    net = T.nn.Sequential(
        Residual(1, 4, True),
        Residual(4, 4),
        Residual(4, 8, True, 2),
        T.nn.AdaptiveAvgPool2d((1, 1)),
        T.nn.Flatten(),
        T.nn.Linear(8, 3),
    )
    x = T.randn(4, 1, 8, 8)
    losses = _train(
        T, net, x, T.tensor([0, 1, 2, 1]), T.nn.CrossEntropyLoss(), T.optim.Adam(net.parameters(), lr=1e-2), 3
    )
    net.eval()
    return losses, net(x).argmax(1)


def densenet_block(T):
    T.manual_seed(0)

    def block(i, o):
        return T.nn.Sequential(T.nn.BatchNorm2d(i), T.nn.ReLU(), T.nn.Conv2d(i, o, kernel_size=3, padding=1))

    class Dense(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = T.nn.Sequential(*[block(2 + 3 * i, 3) for i in range(3)])

        def forward(self, x):
            for b in self.net:
                x = T.cat((x, b(x)), dim=1)
            return x

    x = T.randn(2, 2, 4, 4, requires_grad=True)
    y = Dense()(x)
    y.pow(2).mean().backward()
    return y.shape[1], x.grad


def autoencoder(T):
    T.manual_seed(0)
    x, _ = _data(T, features=8)
    net = T.nn.Sequential(T.nn.Linear(8, 3), T.nn.Tanh(), T.nn.Linear(3, 8))
    return _train(T, net, x, x, T.nn.MSELoss(), T.optim.Adam(net.parameters(), lr=0.01))


def convolutional_autoencoder(T):
    T.manual_seed(0)
    net = T.nn.Sequential(
        T.nn.Conv2d(1, 4, 3, stride=2, padding=1), T.nn.ReLU(), T.nn.ConvTranspose2d(4, 1, 3, stride=2, padding=1, output_padding=1),
        T.nn.Sigmoid(),
    )  # fmt: skip
    x = T.rand(3, 1, 8, 8)
    return _train(T, net, x, x, T.nn.BCELoss(), T.optim.Adam(net.parameters(), lr=0.01), 4)


def variational_autoencoder(T):
    F = T.nn.functional

    class VAE(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc21, self.fc22 = T.nn.Linear(8, 6), T.nn.Linear(6, 2), T.nn.Linear(6, 2)
            self.fc3, self.fc4 = T.nn.Linear(2, 6), T.nn.Linear(6, 8)

        def encode(self, x):
            h = F.relu(self.fc1(x))
            return self.fc21(h), self.fc22(h)

        def reparameterize(self, mu, logvar):
            std = T.exp(0.5 * logvar)
            return mu + T.randn_like(std) * std

        def forward(self, x):
            mu, logvar = self.encode(x.view(-1, 8))
            z = self.reparameterize(mu, logvar)
            return T.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar

    T.manual_seed(0)
    x = T.rand(16, 8)
    net = VAE()
    optimizer = T.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        out, mu, logvar = net(x)
        bce = F.binary_cross_entropy(out, x, reduction="sum")
        kld = -0.5 * T.sum(1 + logvar - mu.pow(2) - logvar.exp())
        (bce + kld).backward()
        optimizer.step()
        losses.append((bce + kld).item())
    return losses


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


def gan_on_points(T):
    T.manual_seed(0)
    G = T.nn.Sequential(T.nn.Linear(2, 8), T.nn.LeakyReLU(0.2), T.nn.Linear(8, 2))
    D = T.nn.Sequential(T.nn.Linear(2, 8), T.nn.LeakyReLU(0.2), T.nn.Linear(8, 1))
    loss = T.nn.BCEWithLogitsLoss(reduction="sum")
    d_opt, g_opt = (T.optim.Adam(m.parameters(), lr=0.05, betas=(0.5, 0.999)) for m in (D, G))
    log = []
    for _ in range(4):
        real, z = T.randn(8, 2) @ T.tensor([[1.0, 2.0], [-0.1, 0.5]]) + 1, T.randn(8, 2)
        d_opt.zero_grad()
        d_loss = (loss(D(real), T.ones(8, 1)) + loss(D(G(z).detach()), T.zeros(8, 1))) / 2
        d_loss.backward()
        d_opt.step()
        g_opt.zero_grad()
        g_loss = loss(D(G(z)), T.ones(8, 1))
        g_loss.backward()
        g_opt.step()
        log.append((d_loss.item(), g_loss.item()))
    return log


def wasserstein_gan_with_penalty(T):
    T.manual_seed(0)
    D, G = T.nn.Sequential(T.nn.Linear(2, 6), T.nn.Tanh(), T.nn.Linear(6, 1)), T.nn.Linear(2, 2)
    optimizer = T.optim.RMSprop(D.parameters(), lr=0.01)
    log = []
    for _ in range(3):
        real, fake = T.randn(6, 2), G(T.randn(6, 2)).detach()
        alpha = T.rand(6, 1)
        mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        (grads,) = T.autograd.grad(D(mixed), mixed, grad_outputs=T.ones(6, 1), create_graph=True, retain_graph=True)
        penalty = ((grads.norm(2, dim=1) - 1) ** 2).mean()
        loss = D(fake).mean() - D(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for p in D.parameters():
            p.data.clamp_(-0.5, 0.5)
        log.append(loss.item())
    return log


def dcgan_step(T):
    def init(m):
        name = m.__class__.__name__
        if name.find("Conv") != -1:
            m.weight.data.normal_(0.0, 0.02)
        elif name.find("BatchNorm") != -1:
            T.nn.init.normal_(m.weight.data, 1.0, 0.02)
            T.nn.init.constant_(m.bias.data, 0)

    T.manual_seed(0)
    G = T.nn.Sequential(
        T.nn.ConvTranspose2d(5, 8, 4, 1, 0, bias=False), T.nn.BatchNorm2d(8), T.nn.ReLU(True),
        T.nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), T.nn.Tanh(),
    )  # fmt: skip
    D = T.nn.Sequential(
        T.nn.Conv2d(1, 8, 4, 2, 1, bias=False),
        T.nn.LeakyReLU(0.2, inplace=True),
        T.nn.Conv2d(8, 1, 4, 1, 0, bias=False),
        T.nn.Sigmoid(),
    )
    G.apply(init)
    D.apply(init)
    loss = T.nn.BCELoss()
    fake = G(T.randn(3, 5, 1, 1))
    label = T.full((3,), 1.0, dtype=T.float)
    error = loss(D(fake).view(-1), label)
    error.backward()
    return error, fake, G[0].weight.grad


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


def name_classifier_rnn(T):
    class RNN(T.nn.Module):
        def __init__(self, n, hidden, out):
            super().__init__()
            self.hidden_size = hidden
            self.i2h, self.h2h, self.h2o = T.nn.Linear(n, hidden), T.nn.Linear(hidden, hidden), T.nn.Linear(hidden, out)
            self.softmax = T.nn.LogSoftmax(dim=1)

        def forward(self, x, hidden):
            hidden = T.tanh(self.i2h(x) + self.h2h(hidden))
            return self.softmax(self.h2o(hidden)), hidden

        def init_hidden(self):
            return T.zeros(1, self.hidden_size)

    T.manual_seed(0)
    rnn, criterion, log = RNN(5, 6, 3), T.nn.NLLLoss(), []
    for category, word in ((0, [1, 2, 3]), (2, [4, 0]), (1, [2, 2, 1, 0])):
        hidden = rnn.init_hidden()
        rnn.zero_grad()
        for letter in word:
            line = T.zeros(1, 5)
            line[0][letter] = 1
            output, hidden = rnn(line, hidden)
        loss = criterion(output, T.tensor([category], dtype=T.long))
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-0.05)
        _top_n, top_i = output.topk(1)
        log.append((loss.item(), top_i[0].item()))
    return log


def word_language_model(T):
    class Model(T.nn.Module):
        def __init__(self, tokens, size, hidden, layers, tie=True):
            super().__init__()
            self.drop, self.encoder = T.nn.Dropout(0.0), T.nn.Embedding(tokens, size)
            self.rnn, self.decoder = T.nn.LSTM(size, hidden, layers), T.nn.Linear(hidden, tokens)
            if tie:
                self.decoder.weight = self.encoder.weight
            T.nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
            T.nn.init.zeros_(self.decoder.bias)
            self.nlayers, self.nhid, self.ntoken = layers, hidden, tokens

        def forward(self, x, hidden):
            out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
            return T.nn.functional.log_softmax(self.decoder(self.drop(out)).view(-1, self.ntoken), dim=1), hidden

        def init_hidden(self, batch):
            weight = next(self.parameters())
            return weight.new_zeros(self.nlayers, batch, self.nhid), weight.new_zeros(self.nlayers, batch, self.nhid)

    T.manual_seed(0)
    ids = T.arange(40) * 7 % 11
    data = ids.view(2, -1).t().contiguous()
    model, criterion, log = Model(11, 6, 6, 2), T.nn.NLLLoss(), []
    hidden = model.init_hidden(2)
    for i in range(0, 12, 4):
        hidden = tuple(h.detach() for h in hidden)
        model.zero_grad()
        output, hidden = model(data[i : i + 4], hidden)
        loss = criterion(output, data[i + 1 : i + 5].reshape(-1))
        loss.backward()
        T.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-20 * 0.1)
        log.append((loss.item(), math.exp(loss.item())))
    return log


def gru_with_packed_sequences(T):
    T.manual_seed(0)
    utils = T.nn.utils.rnn
    seqs = [T.randn(n, 3) for n in (5, 3, 2)]
    packed = utils.pack_padded_sequence(utils.pad_sequence(seqs, batch_first=True), [5, 3, 2], batch_first=True)
    gru = T.nn.GRU(3, 4, bidirectional=True, batch_first=True)
    out, h = gru(packed)
    padded, lengths = utils.pad_packed_sequence(out, batch_first=True)
    (padded.sum() + h.pow(2).sum()).backward()
    return padded, lengths, gru.weight_ih_l0.grad


def sequence_to_sequence_with_attention(T):
    F = T.nn.functional

    class Encoder(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.gru = T.nn.Embedding(9, 6), T.nn.GRU(6, 6, batch_first=True)

        def forward(self, x):
            return self.gru(self.embedding(x))

    class Attention(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.Wa, self.Ua, self.Va = T.nn.Linear(6, 6), T.nn.Linear(6, 6), T.nn.Linear(6, 1)

        def forward(self, query, keys):
            scores = self.Va(T.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
            weights = F.softmax(scores, dim=-1)
            return T.bmm(weights, keys), weights

    class Decoder(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.attention = T.nn.Embedding(9, 6), Attention()
            self.gru, self.out = T.nn.GRU(12, 6, batch_first=True), T.nn.Linear(6, 9)

        def forward(self, outputs, hidden, target):
            x = T.empty(outputs.size(0), 1, dtype=T.long).fill_(0)
            steps, maps = [], []
            for i in range(target.size(1)):
                context, weights = self.attention(hidden.permute(1, 0, 2), outputs)
                y, hidden = self.gru(T.cat((self.embedding(x), context), dim=2), hidden)
                steps.append(self.out(y))
                maps.append(weights)
                x = target[:, i].unsqueeze(1)
            return F.log_softmax(T.cat(steps, dim=1), dim=-1), T.cat(maps, dim=1)

    T.manual_seed(0)
    encoder, decoder = Encoder(), Decoder()
    optimizers = [T.optim.Adam(m.parameters(), lr=0.01) for m in (encoder, decoder)]
    source, target, log = T.randint(0, 9, (3, 5)), T.randint(0, 9, (3, 4)), []
    for _ in range(3):
        for o in optimizers:
            o.zero_grad()
        outputs, hidden = encoder(source)
        guess, maps = decoder(outputs, hidden, target)
        loss = T.nn.NLLLoss()(guess.view(-1, guess.size(-1)), target.view(-1))
        loss.backward()
        for o in optimizers:
            o.step()
        log.append(loss.item())
    return log, maps


def gpt_of_two_blocks(T):
    F = T.nn.functional

    class CausalSelfAttention(T.nn.Module):
        def __init__(self, n, heads, block):
            super().__init__()
            self.c_attn, self.c_proj, self.n_head, self.n_embd = T.nn.Linear(n, 3 * n), T.nn.Linear(n, n), heads, n
            self.register_buffer("bias", T.tril(T.ones(block, block)).view(1, 1, block, block))

        def forward(self, x):
            B, L, C = x.size()
            q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
            q, k, v = (t.view(B, L, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :L, :L] == 0, float("-inf"))
            y = (F.softmax(att, dim=-1) @ v).transpose(1, 2).contiguous().view(B, L, C)
            return self.c_proj(y)

    class Block(T.nn.Module):
        def __init__(self, n, heads, block):
            super().__init__()
            self.ln_1, self.attn, self.ln_2 = T.nn.LayerNorm(n), CausalSelfAttention(n, heads, block), T.nn.LayerNorm(n)
            self.mlp = T.nn.ModuleDict(
                {"c_fc": T.nn.Linear(n, 4 * n), "act": T.nn.GELU(), "c_proj": T.nn.Linear(4 * n, n)}
            )

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            m = self.mlp
            return x + m.c_proj(m.act(m.c_fc(self.ln_2(x))))

    class GPT(T.nn.Module):
        def __init__(self, vocab=11, n=8, heads=2, block=6):
            super().__init__()
            self.transformer = T.nn.ModuleDict(
                dict(
                    wte=T.nn.Embedding(vocab, n), wpe=T.nn.Embedding(block, n), h=T.nn.ModuleList([Block(n, heads, block) for _ in range(2)]),
                    ln_f=T.nn.LayerNorm(n),
                )
            )  # fmt: skip
            self.lm_head = T.nn.Linear(n, vocab, bias=False)
            self.transformer.wte.weight = self.lm_head.weight
            self.apply(self._init)
            for name, p in self.named_parameters():
                if name.endswith("c_proj.weight"):
                    T.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(4))

        def _init(self, m):
            if isinstance(m, T.nn.Linear):
                T.nn.init.normal_(m.weight, mean=0.0, std=0.02)
                if m.bias is not None:
                    T.nn.init.zeros_(m.bias)
            elif isinstance(m, T.nn.Embedding):
                T.nn.init.normal_(m.weight, mean=0.0, std=0.02)

        def forward(self, idx, targets=None):
            pos = T.arange(0, idx.size(1), dtype=T.long).unsqueeze(0)
            x = self.transformer.wte(idx) + self.transformer.wpe(pos)
            for block in self.transformer.h:
                x = block(x)
            logits = self.lm_head(self.transformer.ln_f(x))
            loss = (
                None
                if targets is None
                else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1), ignore_index=-1)
            )
            return logits, loss

    T.manual_seed(0)
    model = GPT()
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = T.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95))
    ids, log = T.randint(11, (4, 7)), []
    for _ in range(3):
        _, loss = model(ids[:, :-1], ids[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        T.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        log.append(loss.item())
    idx = T.zeros((1, 1), dtype=T.long)
    with T.no_grad():
        for _ in range(4):
            logits, _ = model(idx[:, -6:])
            logits = logits[:, -1, :] / 0.8
            v, _ = T.topk(logits, 5)
            logits[logits < v[:, [-1]]] = -float("Inf")
            idx = T.cat((idx, T.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
    return log, sum(p.numel() for p in model.parameters()), idx


def annotated_transformer(T):
    T.manual_seed(0)

    def attention(query, key, value, mask=None):
        scores = T.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        p = scores.softmax(dim=-1)
        return T.matmul(p, value), p

    class PositionalEncoding(T.nn.Module):
        def __init__(self, d, length=20):
            super().__init__()
            pe = T.zeros(length, d)
            position = T.arange(0, length).unsqueeze(1)
            div = T.exp(T.arange(0, d, 2) * -(math.log(10000.0) / d))
            pe[:, 0::2], pe[:, 1::2] = T.sin(position * div), T.cos(position * div)
            self.register_buffer("pe", pe.unsqueeze(0))

        def forward(self, x):
            return x + self.pe[:, : x.size(1)].requires_grad_(False)

    def subsequent_mask(size):
        return T.triu(T.ones((1, size, size)), diagonal=1).type(T.uint8) == 0

    emb, pos, gen = T.nn.Embedding(7, 8), PositionalEncoding(8), T.nn.Linear(8, 7)
    x = T.randint(1, 7, (2, 5))
    h = pos(emb(x) * math.sqrt(8))
    out, p = attention(h, h, h, subsequent_mask(5))
    log_probs = gen(out).log_softmax(dim=-1)
    true = T.zeros(10, 7).fill_(0.1 / 5)
    true.scatter_(1, x.view(-1).unsqueeze(1), 0.9)
    true[:, 0] = 0
    loss = T.nn.KLDivLoss(reduction="sum")(log_probs.view(-1, 7), true.clone().detach())
    loss.backward()
    rates = [8**-0.5 * min(s**-0.5, s * 4**-1.5) for s in range(1, 6)]
    optimizer = T.optim.Adam(emb.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    schedule = T.optim.lr_scheduler.LambdaLR(optimizer, lambda s: rates[s] if s < 5 else 0)
    optimizer.step()
    schedule.step()
    return loss, p, schedule.get_last_lr(), emb.weight


def transformer_of_the_library(T):
    T.manual_seed(0)
    layer = T.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    encoder, decoder, emb = T.nn.TransformerEncoder(layer, 2), T.nn.Linear(8, 9), T.nn.Embedding(9, 8)
    x = T.randint(0, 9, (5, 2))
    mask = T.nn.Transformer.generate_square_subsequent_mask(5)
    out = decoder(encoder(emb(x) * math.sqrt(8), mask))
    loss = T.nn.CrossEntropyLoss()(out.reshape(-1, 9), x.view(-1))
    loss.backward()
    return loss, emb.weight.grad


def vision_transformer(T):
    T.manual_seed(0)

    class ViT(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.patch = T.nn.Conv2d(1, 8, 4, 4)
            self.cls, self.pos = T.nn.Parameter(T.zeros(1, 1, 8)), T.nn.Parameter(T.randn(1, 5, 8) * 0.02)
            self.attn, self.norm, self.head = (
                T.nn.MultiheadAttention(8, 2, batch_first=True),
                T.nn.LayerNorm(8),
                T.nn.Linear(8, 3),
            )

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = T.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.pos
            x = x + self.attn(self.norm(x), self.norm(x), self.norm(x), need_weights=False)[0]
            return self.head(x[:, 0])

    net = ViT()
    return _train(
        T,
        net,
        T.randn(3, 1, 8, 8),
        T.tensor([0, 1, 2]),
        T.nn.CrossEntropyLoss(),
        T.optim.AdamW(net.parameters(), 1e-2),
        3,
    )


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


def makemore_mlp_with_batchnorm_by_hand(T):
    g = T.Generator().manual_seed(2147483647)
    C, W1 = T.randn((5, 2), generator=g), T.randn((6, 8), generator=g) * (5 / 3) / (6**0.5)
    W2, b2 = T.randn((8, 5), generator=g) * 0.01, T.randn(5, generator=g) * 0
    gain, bias = T.ones((1, 8)), T.zeros((1, 8))
    mean_running, std_running = T.zeros((1, 8)), T.ones((1, 8))
    params = [C, W1, W2, b2, gain, bias]
    for p in params:
        p.requires_grad = True
    X, Y = T.randint(0, 5, (32, 3), generator=g), T.randint(0, 5, (32,), generator=g)
    log = []
    for _ in range(4):
        ix = T.randint(0, X.shape[0], (16,), generator=g)
        h = C[X[ix]].view(16, -1) @ W1
        mean, std = h.mean(0, keepdim=True), h.std(0, keepdim=True)
        h = T.tanh(gain * (h - mean) / std + bias)
        with T.no_grad():
            mean_running = 0.999 * mean_running + 0.001 * mean
            std_running = 0.999 * std_running + 0.001 * std
        loss = T.nn.functional.cross_entropy(h @ W2 + b2, Y[ix])
        for p in params:
            p.grad = None
        loss.backward()
        for p in params:
            p.data += -0.1 * p.grad
        log.append(loss.log10().item())
    return log, mean_running, std_running


def deep_q_network(T):
    class DQN(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer1, self.layer2 = T.nn.Linear(4, 16), T.nn.Linear(16, 2)

        def forward(self, x):
            return self.layer2(T.nn.functional.relu(self.layer1(x)))

    T.manual_seed(0)
    policy, target = DQN(), DQN()
    target.load_state_dict(policy.state_dict())
    optimizer = T.optim.AdamW(policy.parameters(), lr=1e-2, amsgrad=True)
    memory: Any = deque(maxlen=100)
    for i in range(12):
        state = T.randn(1, 4)
        action = policy(state).max(1).indices.view(1, 1)
        memory.append((state, action, None if i % 5 == 4 else T.randn(1, 4), T.tensor([float(i % 3)])))
    log = []
    for _ in range(3):
        states, actions, following, rewards = zip(*memory, strict=True)
        mask = T.tensor(tuple(s is not None for s in following), dtype=T.bool)
        values = policy(T.cat(states)).gather(1, T.cat(actions))
        later = T.zeros(12)
        with T.no_grad():
            later[mask] = target(T.cat([s for s in following if s is not None])).max(1).values
        expected = later * 0.99 + T.cat(rewards)
        loss = T.nn.SmoothL1Loss()(values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        T.nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimizer.step()
        theirs, ours = target.state_dict(), policy.state_dict()
        for key in ours:
            theirs[key] = ours[key] * 0.005 + theirs[key] * 0.995
        target.load_state_dict(theirs)
        log.append(loss.item())
    return log, target.layer1.weight


def reinforce(T):
    T.manual_seed(0)
    policy = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.ReLU(), T.nn.Linear(8, 2), T.nn.Softmax(dim=1))
    optimizer = T.optim.Adam(policy.parameters(), lr=1e-2)
    log_probs, rewards = [], []
    for i in range(6):
        m = T.distributions.Categorical(policy(T.randn(4).float().unsqueeze(0)))
        action = m.sample()
        log_probs.append(m.log_prob(action))
        rewards.append(float(i % 3) - action.item())
    R, returns = 0, deque()
    for r in rewards[::-1]:
        R = r + 0.99 * R
        returns.appendleft(R)
    returns = T.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = T.cat([-lp * R for lp, R in zip(log_probs, returns, strict=True)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss, rewards, policy[0].weight


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


def actor_critic_of_several_actions(T):
    D = T.distributions
    T.manual_seed(0)
    net = T.nn.Linear(4, 6)
    dist = D.Categorical(logits=net(T.randn(5, 4)))
    actions = dist.sample()
    loss = -(dist.log_prob(actions) * T.arange(5.0)).mean() - 0.1 * dist.entropy().mean()
    loss.backward()
    multi = D.Multinomial(10, T.tensor([0.2, 0.3, 0.5]))
    beta = D.Beta(T.tensor([2.0]), T.tensor([3.0]))
    return (
        actions,
        loss,
        net.weight.grad,
        multi.log_prob(T.tensor([2.0, 3.0, 5.0])),
        beta.log_prob(T.tensor([0.3])),
        beta.mean,
    )


def siamese_contrastive(T):
    class Contrastive(T.nn.Module):
        def __init__(self, margin=2.0):
            super().__init__()
            self.margin = margin

        def forward(self, a, b, label):
            d = T.nn.functional.pairwise_distance(a, b, keepdim=True)
            return T.mean((1 - label) * T.pow(d, 2) + label * T.pow(T.clamp(self.margin - d, min=0.0), 2))

    T.manual_seed(0)
    net = T.nn.Sequential(
        T.nn.ReflectionPad2d(1),
        T.nn.Conv2d(1, 4, 3),
        T.nn.ReLU(inplace=True),
        T.nn.BatchNorm2d(4),
        T.nn.Flatten(),
        T.nn.Linear(64, 5),
    )
    a, b, label = T.rand(6, 1, 4, 4), T.rand(6, 1, 4, 4), T.tensor([[0.0], [1.0]] * 3)
    loss = Contrastive()(net(a), net(b), label)
    loss.backward()
    return loss, net[1].weight.grad


def triplet_and_cosine(T):
    T.manual_seed(0)
    net = T.nn.Linear(4, 3)
    a, p, n = (net(T.randn(5, 4)) for _ in range(3))
    loss = (
        T.nn.TripletMarginLoss(margin=1.0)(a, p, n)
        + T.nn.CosineEmbeddingLoss()(a, n, -T.ones(5))
        + (1 - T.cosine_similarity(a, p)).mean()
    )
    loss.backward()
    return loss, net.weight.grad


def style_transfer_losses(T):
    def gram_matrix(x):
        a, b, c, d = x.size()
        features = x.view(a * b, c * d)
        return T.mm(features, features.t()).div(a * b * c * d)

    T.manual_seed(0)
    cnn = T.nn.Sequential(
        T.nn.Conv2d(3, 4, 3, padding=1), T.nn.ReLU(), T.nn.AvgPool2d(2), T.nn.Conv2d(4, 4, 3, padding=1)
    ).eval()
    for p in cnn.parameters():
        p.requires_grad_(False)
    content, style = T.rand(1, 3, 8, 8), T.rand(1, 3, 8, 8)
    image = content.clone().requires_grad_(True)
    optimizer = T.optim.LBFGS([image])
    goal, texture = cnn(content).detach(), gram_matrix(cnn(style)).detach()
    log = []

    def closure():
        with T.no_grad():
            image.clamp_(0, 1)
        optimizer.zero_grad()
        out = cnn(image)
        loss = 1e4 * T.nn.functional.mse_loss(gram_matrix(out), texture) + T.nn.functional.mse_loss(out, goal)
        loss.backward()
        log.append(loss.item())
        return loss

    optimizer.step(closure)
    return log[:3]


def time_series_by_lbfgs(T):
    class Sequence(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm1, self.lstm2, self.linear = T.nn.LSTMCell(1, 5), T.nn.LSTMCell(5, 5), T.nn.Linear(5, 1)

        def forward(self, x, future=0):
            outputs = []
            h, c, h2, c2 = (T.zeros(x.size(0), 5, dtype=T.double) for _ in range(4))
            for step in x.split(1, dim=1):
                h, c = self.lstm1(step, (h, c))
                h2, c2 = self.lstm2(h, (h2, c2))
                output = self.linear(h2)
                outputs += [output]
            for _ in range(future):
                h, c = self.lstm1(output, (h, c))
                h2, c2 = self.lstm2(h, (h2, c2))
                output = self.linear(h2)
                outputs += [output]
            return T.cat(outputs, dim=1)

    T.manual_seed(0)
    data = T.sin(T.arange(0, 12).double().repeat(3, 1) + T.tensor([[0.0], [1.0], [2.0]], dtype=T.double))
    seq = Sequence()
    seq.double()
    optimizer, log = T.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=5), []
    for _ in range(2):

        def closure():
            optimizer.zero_grad()
            loss = T.nn.MSELoss()(seq(data[:, :-1]), data[:, 1:])
            loss.backward()
            return loss

        log.append(round(optimizer.step(closure).item(), 3))
    with T.no_grad():
        return log, seq(data[:, :-1], future=3).shape[1]


def neural_collaborative_filtering(T):
    class NCF(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.users, self.items = T.nn.Embedding(6, 4), T.nn.Embedding(5, 4)
            self.ub, self.ib = T.nn.Embedding(6, 1), T.nn.Embedding(5, 1)
            self.users.weight.data.uniform_(0, 0.05)
            self.items.weight.data.uniform_(0, 0.05)

        def forward(self, u, i):
            return (self.users(u) * self.items(i)).sum(1) + self.ub(u).squeeze() + self.ib(i).squeeze()

    T.manual_seed(0)
    net = NCF()
    u, i, r = T.LongTensor([0, 1, 5]), T.LongTensor([4, 2, 2]), T.FloatTensor([5, 3, 1])
    optimizer, log = T.optim.Adam(net.parameters(), lr=0.1, weight_decay=1e-5), []
    for _ in range(3):
        loss = T.nn.functional.mse_loss(net(u, i), r)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append(loss.item())
    return log


def skip_gram_with_negative_samples(T):
    T.manual_seed(0)
    inner, outer = T.nn.Embedding(9, 4, padding_idx=0), T.nn.Embedding(9, 4)
    center, context = T.tensor([[1], [2]]), T.tensor([[3, 4, 5], [6, 7, 0]])
    mask = T.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    pred = T.bmm(inner(center), outer(context).permute(0, 2, 1)).squeeze(1)
    label = T.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    loss = (
        T.nn.functional.binary_cross_entropy_with_logits(pred, label, weight=mask, reduction="none").mean(dim=1)
        * 3
        / mask.sum(1)
    ).mean()
    loss.backward()
    return loss, inner.weight.grad, outer.weight.grad


def text_classification_by_bags(T):
    T.manual_seed(0)
    bag, fc = T.nn.EmbeddingBag(12, 5), T.nn.Linear(5, 2)
    text, offsets = T.tensor([1, 2, 3, 4, 5, 6, 7]), T.tensor([0, 3, 5])
    loss = T.nn.CrossEntropyLoss()(fc(bag(text, offsets)), T.tensor([0, 1, 0]))
    loss.backward()
    optimizer = T.optim.SGD([*bag.parameters(), *fc.parameters()], lr=5.0)
    scheduler = T.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.1)
    optimizer.step()
    scheduler.step()
    return loss, bag.weight, scheduler.get_last_lr()


def text_convolution(T):
    T.manual_seed(0)
    emb, convs = T.nn.Embedding(10, 4), T.nn.ModuleList([T.nn.Conv1d(4, 3, k) for k in (2, 3)])
    x = T.randint(0, 10, (2, 6))
    h = T.cat([T.nn.functional.relu(c(emb(x).permute(0, 2, 1))).max(dim=2)[0] for c in convs], 1)
    h.sum().backward()
    return h, emb.weight.grad


def conditional_random_field(T):
    def log_sum_exp(vec):
        largest = vec[0, T.argmax(vec, 1).item()]
        spread = largest.view(1, -1).expand(1, vec.size()[1])
        return largest + T.log(T.sum(T.exp(vec - spread)))

    T.manual_seed(0)
    transitions, feats = T.nn.Parameter(T.randn(3, 3)), T.randn(4, 3, requires_grad=True)
    forward_var = T.full((1, 3), -10000.0)
    forward_var[0][0] = 0.0
    for feat in feats:
        alphas = []
        for tag in range(3):
            score = forward_var + transitions[tag].view(1, -1) + feat[tag].view(1, -1).expand(1, 3)
            alphas.append(log_sum_exp(score).view(1))
        forward_var = T.cat(alphas).view(1, -1)
    z = log_sum_exp(forward_var)
    z.backward()
    return z, transitions.grad, feats.grad


def custom_functions(T):
    class MyReLU(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            grad = grad_output.clone()
            grad[x < 0] = 0
            return grad

    class Reverse(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, alpha):
            ctx.alpha = alpha
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return grad.neg() * ctx.alpha, None

    T.manual_seed(0)
    w1, w2 = T.randn(4, 6, requires_grad=True), T.randn(6, 2, requires_grad=True)
    x = T.randn(5, 4)
    y = MyReLU.apply(x.mm(w1)).mm(w2)
    loss = y.pow(2).sum() + Reverse.apply(y, 0.5).sum()
    loss.backward()
    return loss, w1.grad, w2.grad


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


def knowledge_distillation(T):
    F = T.nn.functional
    T.manual_seed(0)
    teacher, student = T.nn.Linear(4, 3), T.nn.Linear(4, 3)
    x, y = _data(T)
    with T.no_grad():
        soft = F.softmax(teacher(x) / 2.0, dim=1)
    logits = student(x)
    loss = F.kl_div(F.log_softmax(logits / 2.0, dim=1), soft, reduction="batchmean") * 4 + F.cross_entropy(
        logits, y, label_smoothing=0.1
    )
    loss.backward()
    return loss, student.weight.grad


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


def learning_rate_schedules(T):
    T.manual_seed(0)
    p = T.nn.Parameter(T.ones(2))
    optimizer = T.optim.SGD([p], lr=0.1, momentum=0.9)
    S = T.optim.lr_scheduler
    warm = S.LinearLR(optimizer, start_factor=0.1, total_iters=3)
    schedule = S.SequentialLR(optimizer, [warm, S.CosineAnnealingLR(optimizer, T_max=5)], milestones=[3])
    rates = []
    for _ in range(7):
        optimizer.zero_grad()
        (p**2).sum().backward()
        optimizer.step()
        schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
    plateau = S.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    for metric in (1.0, 1.0, 1.0):
        plateau.step(metric)
    return rates, p, optimizer.param_groups[0]["lr"]


def loaders_of_data(T):
    D = T.utils.data
    T.manual_seed(0)

    class Squares(D.Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, i):
            return T.tensor([float(i)]), i % 2

    train, test = D.random_split(Squares(), [7, 3])
    batches = [(x, y) for x, y in D.DataLoader(train, batch_size=3, shuffle=True, drop_last=False)]
    sampler = D.WeightedRandomSampler([0.1, 0.9, 0.5], 5)
    endless = iter(D.RandomSampler(Squares(), replacement=True, num_samples=10**10))
    return batches, len(test), list(sampler), [next(endless) for _ in range(3)]


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


def mixed_precision_without_a_gpu(T):
    T.manual_seed(0)
    x, y = _data(T)
    net = T.nn.Linear(4, 3)
    optimizer, scaler = T.optim.SGD(net.parameters(), lr=0.1), T.amp.GradScaler("cuda", enabled=False)
    for _ in range(2):
        with T.autocast("cuda", enabled=False):
            loss = T.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    return loss, net.weight


def devices_by_habit(T):
    device = T.device("cuda" if T.cuda.is_available() else "cpu")
    T.manual_seed(0)
    if T.cuda.is_available():
        T.cuda.manual_seed_all(0)
    net = T.nn.DataParallel(T.nn.Linear(3, 2)).to(device)
    x = T.ones(2, 3, device=device)
    T.cuda.empty_cache()
    return net(x), list(net.state_dict()), str(x.device), T.cuda.device_count()


def gaussian_process_regression(T):
    T.manual_seed(0)
    x = T.linspace(0, 1, 6, dtype=T.float64).unsqueeze(1)
    y = T.sin(6 * x).squeeze(1)
    log_scale = T.zeros(1, dtype=T.float64, requires_grad=True)
    K = T.exp(-0.5 * T.cdist(x, x) ** 2 / T.exp(log_scale) ** 2) + 1e-2 * T.eye(6, dtype=T.float64)
    L = T.linalg.cholesky(K)
    alpha = T.cholesky_solve(y.unsqueeze(1), L)
    loss = 0.5 * y @ alpha.squeeze(1) + L.diagonal().log().sum()
    loss.backward()
    return loss, log_scale.grad


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


def normalizing_flow(T):
    T.manual_seed(0)
    scale, shift = T.nn.Linear(1, 1), T.nn.Linear(1, 1)
    x = T.randn(8, 2)
    a, b = x.chunk(2, 1)
    s = T.tanh(scale(a))
    z = T.cat([a, b * s.exp() + shift(a)], 1)
    base = T.distributions.MultivariateNormal(T.zeros(2), T.eye(2))
    loss = -(base.log_prob(z) + s.sum(1)).mean()
    loss.backward()
    return loss, scale.weight.grad


def diffusion_step(T):
    T.manual_seed(0)
    betas = T.linspace(1e-4, 0.02, 10)
    alphas_bar = T.cumprod(1 - betas, dim=0)
    x0, noise, t = T.randn(4, 3), T.randn(4, 3), T.randint(0, 10, (4,))
    a = alphas_bar.gather(0, t).reshape(-1, 1)
    xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
    net = T.nn.Linear(4, 3)
    loss = T.nn.functional.mse_loss(net(T.cat([xt, t[:, None].float() / 10], 1)), noise)
    loss.backward()
    return loss, net.weight.grad


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


def principal_components(T):
    T.manual_seed(0)
    x = T.randn(12, 3, dtype=T.float64) @ T.tensor([[3.0, 0, 0], [0, 1, 0.5], [0, 0, 0.2]], dtype=T.float64)
    x = x - x.mean(0)
    _, S, V = T.svd(x)
    values = T.linalg.eigvalsh(x.T @ x / 11)
    return S, (x @ V[:, :1]).abs(), values.flip(0)


def k_means(T):
    T.manual_seed(0)
    x = T.cat([T.randn(8, 2) + 3, T.randn(8, 2) - 3])
    centers = x[T.randperm(16)[:2]].clone()
    for _ in range(3):
        label = T.cdist(x, centers).argmin(dim=1)
        for k in range(2):
            if (label == k).any():
                centers[k] = x[label == k].mean(0)
    return centers, T.bincount(label, minlength=2), T.unique(label)


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


def optimizers_side_by_side(T):
    out = {}
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"):
        T.manual_seed(0)
        p = T.nn.Parameter(T.tensor([1.0, -1.5]))
        optimizer = getattr(T.optim, name)([p], lr=0.05)
        for _ in range(4):
            optimizer.zero_grad()
            (p[0] ** 2 + 3 * p[1] ** 2 + (p[0] * p[1]).sin()).backward()
            optimizer.step()
        out[name] = p.detach().clone()
    return out


def freezing_and_fine_tuning(T):
    T.manual_seed(0)
    net = T.nn.Sequential()
    net.add_module("features", T.nn.Linear(4, 6))
    net.add_module("act", T.nn.ReLU())
    net.add_module("fc", T.nn.Linear(6, 2))
    for p in net.features.parameters():
        p.requires_grad = False
    net.fc = T.nn.Linear(6, 3)
    x, y = _data(T)
    optimizer = T.optim.SGD(filter(lambda p: p.requires_grad, net.parameters()), lr=0.1, momentum=0.9)
    losses = _train(T, net, x, y, T.nn.CrossEntropyLoss(), optimizer, 3)
    return losses, net.features.weight.grad is None, sum(p.numel() for p in net.parameters() if p.requires_grad)


def per_sample_gradients(T):
    T.manual_seed(0)
    net = T.nn.Linear(3, 2)
    x, y = T.randn(4, 3), T.tensor([0, 1, 1, 0])
    params = {k: v.detach() for k, v in net.named_parameters()}

    def loss(params, sample, target):
        out = T.func.functional_call(net, params, (sample.unsqueeze(0),))
        return T.nn.functional.cross_entropy(out, target.unsqueeze(0))

    return T.func.vmap(T.func.grad(loss), in_dims=(None, 0, 0))(params, x, y)


def deepdream_ascent(T):
    T.manual_seed(0)
    net = T.nn.Conv2d(1, 2, 3)
    image = T.rand(1, 1, 6, 6, requires_grad=True)
    for _ in range(3):
        loss = net(image)[:, 1].norm()
        loss.backward()
        g = image.grad.data
        image.data += 0.1 * (g / (T.abs(g).mean() + 1e-7))
        image.grad.data.zero_()
    return image, loss


def ema_of_weights(T):
    T.manual_seed(0)
    net, shadow = T.nn.Linear(2, 2), {}
    for name, p in net.named_parameters():
        shadow[name] = p.data.clone()
    for _ in range(3):
        with T.no_grad():
            for p in net.parameters():
                p.add_(T.randn_like(p) * 0.1)
        for name, p in net.named_parameters():
            shadow[name].mul_(0.9).add_(p.data, alpha=0.1)
    return shadow


PROGRAMS = {
    name: f
    for name, f in list(globals().items())
    if callable(f) and not name.startswith("_") and f.__module__ == __name__
}
