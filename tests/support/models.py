"""Twelve real models in plain layers, for either engine: `MODELS[name](T)` returns the model, its arguments and a loss.

They are as in their papers in what calls what, and small in width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Made = tuple[Any, tuple[Any, ...], Callable[[Any], Any]]


def lenet(T: Any) -> Made:
    """LeNet-5 on 32 x 32 digits."""
    nn = T.nn

    class LeNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
            self.pool = nn.AvgPool2d(2)
            self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

        def forward(self, x: Any) -> Any:
            x = self.pool(T.tanh(self.conv1(x)))
            x = self.pool(T.tanh(self.conv2(x)))
            x = T.tanh(self.fc1(x.flatten(1)))
            return self.fc3(T.tanh(self.fc2(x)))

    target = T.tensor([3, 7])
    return LeNet(), (T.randn(2, 1, 32, 32),), lambda output: nn.functional.cross_entropy(output, target)


def basic_block(T: Any) -> Any:
    """The class of ResNet's residual block, with batch normalisation; a branch downsamples where sizes differ."""
    nn = T.nn

    class BasicBlock(nn.Module):
        def __init__(self, inside: int, outside: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outside)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outside)
            self.downsample = None
            if stride != 1 or inside != outside:
                self.downsample = nn.Sequential(
                    nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside)
                )

        def forward(self, x: Any) -> Any:
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += x if self.downsample is None else self.downsample(x)
            return self.relu(out)

    return BasicBlock


def resnet18(T: Any) -> Made:
    """ResNet-18 with its four stages, width 8 in place of 64."""
    nn, BasicBlock = T.nn, basic_block(T)

    class ResNet(nn.Module):
        def __init__(self, width: int = 8) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
            self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            stages = [
                nn.Sequential(
                    BasicBlock(width * max(1, 2 ** (n - 1)), width * 2**n, 1 if n == 0 else 2),
                    BasicBlock(width * 2**n, width * 2**n, 1),
                )
                for n in range(4)
            ]
            self.layer1, self.layer2, self.layer3, self.layer4 = stages
            self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(8 * width, 10)

        def forward(self, x: Any) -> Any:
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(T.flatten(self.avgpool(x), 1))

    target = T.tensor([3, 7])
    return ResNet(), (T.randn(2, 3, 64, 64),), lambda output: nn.functional.cross_entropy(output, target)


def unet(T: Any) -> Made:
    """A U-Net of three levels: what went down is joined with what comes up."""
    nn = T.nn

    def double(inside: int, outside: int) -> Any:
        first = [nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU(inplace=True)]
        return nn.Sequential(*first, nn.Conv2d(outside, outside, 3, padding=1), nn.ReLU(inplace=True))

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.ModuleList([double(1, 4), double(4, 8), double(8, 16)])
            self.pool = nn.MaxPool2d(2)
            self.bottom = double(16, 32)
            self.up = nn.ModuleList([nn.ConvTranspose2d(2 * n, n, 2, stride=2) for n in (16, 8, 4)])
            self.join = nn.ModuleList([double(2 * n, n) for n in (16, 8, 4)])
            self.head = nn.Conv2d(4, 2, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for block in self.down:
                x = block(x)
                kept.append(x)
                x = self.pool(x)
            x = self.bottom(x)
            for up, join in zip(self.up, self.join, strict=True):
                x = join(T.cat([kept.pop(), up(x)], dim=1))
            return self.head(x)

    return UNet(), (T.randn(1, 1, 32, 32),), lambda output: (output**2).mean()


def lstm(T: Any) -> Made:
    """A language model: embedding, LSTM of two layers, decoder."""
    nn = T.nn

    class LanguageModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.drop = nn.Embedding(20, 8), nn.Dropout(0.2)
            self.lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True)
            self.decoder = nn.Linear(16, 20)

        def forward(self, tokens: Any, state: Any = None) -> Any:
            output, state = self.lstm(self.drop(self.embedding(tokens)), state)
            return self.decoder(self.drop(output)), state

    tokens = T.tensor([[1, 2, 3, 4, 5, 6]])
    return LanguageModel(), (tokens,), lambda output: nn.functional.cross_entropy(output[0][0], tokens[0])


def seq2seq(T: Any) -> Made:
    """A GRU that reads, and a GRU cell that writes four words with attention over what was read."""
    nn = T.nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.score = nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, 1)

        def forward(self, state: Any, memory: Any) -> Any:
            weights = self.score(T.tanh(self.query(state).unsqueeze(1) + self.key(memory))).softmax(1)
            return (weights * memory).sum(1)

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.attention = nn.Embedding(15, 8), Attention()
            self.cell, self.out = nn.GRUCell(20, 12), nn.Linear(12, 15)

        def forward(self, token: Any, state: Any, memory: Any) -> Any:
            context = self.attention(state, memory=memory)
            state = self.cell(T.cat([self.embedding(token), context], dim=1), state)
            return self.out(state), state

    class Seq2Seq(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.encoder = nn.Embedding(15, 8), nn.GRU(8, 12, batch_first=True)
            self.decoder = Decoder()

        def forward(self, source: Any, target: Any) -> Any:
            memory, state = self.encoder(self.embedding(source))
            state, said = state[0], []
            for t in range(target.shape[1]):
                logits, state = self.decoder(target[:, t], state, memory)
                said.append(logits)
            return T.stack(said, dim=1)

    given = T.tensor([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]), T.tensor([[0, 6, 7, 8], [0, 8, 7, 6]])
    return Seq2Seq(), given, lambda output: (output**2).mean()


def gpt(T: Any) -> Made:
    """A GPT of six layers with a mask as a buffer, tied weights, and `self.apply(init)`."""
    nn = T.nn

    class CausalAttention(nn.Module):
        def __init__(self, width: int, heads: int, length: int) -> None:
            super().__init__()
            self.n_head = heads
            self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.drop = nn.Dropout(0.1)
            self.register_buffer("bias", T.tril(T.ones(length, length)).view(1, 1, length, length))

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            q, k, v = (
                one.view(b, t, self.n_head, c // self.n_head).transpose(1, 2) for one in self.c_attn(x).chunk(3, 2)
            )
            scores = (q @ k.transpose(-2, -1)) * (c // self.n_head) ** -0.5
            scores = scores.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf")).softmax(-1)
            return self.drop(self.c_proj((scores @ v).transpose(1, 2).reshape(b, t, c)))

    class Block(nn.Module):
        def __init__(self, width: int, heads: int, length: int) -> None:
            super().__init__()
            self.ln_1, self.attn = nn.LayerNorm(width), CausalAttention(width, heads, length)
            self.ln_2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
            )

        def forward(s, x: Any) -> Any:
            x = x + s.attn(s.ln_1(x))
            return x + s.mlp(s.ln_2(x))

    class GPT(nn.Module):
        def __init__(self, words: int = 30, length: int = 12, width: int = 24) -> None:
            super().__init__()
            self.wte, self.wpe, self.drop = nn.Embedding(words, width), nn.Embedding(length, width), nn.Dropout(0.1)
            self.h = nn.ModuleList([Block(width, 3, length) for _ in range(6)])
            self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
            self.lm_head.weight = self.wte.weight
            self.apply(self.init)

        def init(self, module: Any) -> None:
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02)

        def forward(self, idx: Any, targets: Any = None) -> Any:
            x = self.drop(self.wte(idx) + self.wpe(T.arange(idx.shape[1])))
            for block in self.h:
                x = block(x)
            logits = self.lm_head(self.ln_f(x))
            if targets is None:
                return logits
            return logits, nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    idx = T.tensor([[1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1]])
    return GPT(), (idx, idx), lambda output: output[1]


def vit(T: Any) -> Made:
    """A vision transformer of three layers, with PyTorch's own encoder layer."""
    nn = T.nn

    class ViT(nn.Module):
        def __init__(self, width: int = 16) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 8, stride=8)
            self.cls, self.position = nn.Parameter(T.zeros(1, 1, width)), nn.Parameter(T.zeros(1, 17, width))
            layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = T.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.position
            return self.head(self.norm(self.encoder(x))[:, 0])

    target = T.tensor([1, 2])
    return ViT(), (T.randn(2, 3, 32, 32),), lambda output: nn.functional.cross_entropy(output, target)


def vae(T: Any) -> Made:
    """A variational autoencoder: two heads, a sample between them, two terms of the loss."""
    nn = T.nn

    class VAE(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(16, 12), nn.ReLU())
            self.mu, self.logvar = nn.Linear(12, 3), nn.Linear(12, 3)
            self.decoder = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 16), nn.Sigmoid())

        def forward(self, x: Any) -> Any:
            h = self.encoder(x)
            mu, logvar = self.mu(h), self.logvar(h)
            z = mu + T.randn_like(mu) * T.exp(0.5 * logvar)
            return {"reconstruction": self.decoder(z), "mu": mu, "logvar": logvar}

    x = T.rand(4, 16)

    def loss(output: Any) -> Any:
        mu, logvar = output["mu"], output["logvar"]
        likeness = nn.functional.binary_cross_entropy(output["reconstruction"], x)
        return likeness - 0.5 * (1 + logvar - mu**2 - logvar.exp()).mean()

    return VAE(), (x,), loss


def dcgan(T: Any) -> Made:
    """One step of a DCGAN: the discriminator is called three times."""
    nn = T.nn

    class Generator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            first = [nn.ConvTranspose2d(8, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True)]
            second = [nn.ConvTranspose2d(8, 4, 4, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(True)]
            self.main = nn.Sequential(*first, *second, nn.ConvTranspose2d(4, 1, 4, 2, 1, bias=False), nn.Tanh())

        def forward(self, z: Any) -> Any:
            return self.main(z)

    class Discriminator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            first = [nn.Conv2d(1, 4, 4, 2, 1, bias=False), nn.LeakyReLU(0.2)]
            second = [nn.Conv2d(4, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.LeakyReLU(0.2)]
            self.main = nn.Sequential(*first, *second, nn.Conv2d(8, 1, 4, 1, 0, bias=False), nn.Flatten(0))

        def forward(self, x: Any) -> Any:
            return self.main(x)

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.G, self.D = Generator(), Discriminator()

        def forward(self, z: Any, real: Any) -> Any:
            fake = self.G(z)
            return self.D(real), self.D(fake.detach()), self.D(fake)

    def loss(output: Any) -> Any:
        bce = nn.functional.binary_cross_entropy_with_logits
        real, fake, fooled = output
        return bce(real, T.ones_like(real)) + bce(fake, T.zeros_like(fake)) + bce(fooled, T.ones_like(fooled))

    return Step(), (T.randn(2, 8, 1, 1), T.randn(2, 1, 16, 16)), loss


def maml(T: Any) -> Made:
    """MAML: a step of gradient descent inside the forward pass, and the network again with what came of it."""
    nn = T.nn

    class MAML(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))

        def forward(self, x: Any, y: Any, query: Any) -> Any:
            names, weights = zip(*self.net.named_parameters(), strict=True)
            error = ((self.net(x) - y) ** 2).mean()
            found = T.autograd.grad(error, weights, create_graph=True)
            fast = {name: weight - 0.1 * one for name, weight, one in zip(names, weights, found, strict=True)}
            return T.func.functional_call(self.net, fast, (query,))

    return MAML(), (T.randn(5, 1), T.randn(5, 1), T.randn(6, 1)), lambda output: (output**2).mean()


def experts(T: Any) -> Made:
    """A mixture of three experts, with a gate that weighs them."""
    nn = T.nn

    class Mixture(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(6, 3)
            self.experts = nn.ModuleList([nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4)) for _ in range(3)])

        def forward(self, x: Any) -> Any:
            weights = self.gate(x).softmax(-1)
            answers = T.stack([expert(x) for expert in self.experts], dim=1)
            return (weights.unsqueeze(-1) * answers).sum(1)

    return Mixture(), (T.randn(5, 6),), lambda output: (output**2).mean()


def thrice(T: Any) -> Made:
    """A layer called three times, straight after itself, beside an Identity."""
    nn = T.nn

    class Thrice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.skip, self.head = nn.Linear(4, 4, bias=False), nn.Identity(), nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            kept = self.skip(x)
            return self.head(self.layer(self.layer(self.layer(x))) + kept)

    return Thrice(), (T.randn(3, 4),), lambda output: (output**2).mean()


MODELS: dict[str, Callable[[Any], Made]] = {
    "LeNet": lenet,
    "ResNet-18": resnet18,
    "U-Net": unet,
    "LSTM": lstm,
    "GRU seq2seq with attention": seq2seq,
    "GPT of 6 layers": gpt,
    "ViT": vit,
    "VAE": vae,
    "DCGAN step": dcgan,
    "MAML": maml,
    "mixture of experts": experts,
    "a layer called three times": thrice,
}
