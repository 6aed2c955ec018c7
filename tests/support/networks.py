"""Fifteen networks as people write them, each with one step of training, for either engine: `NETWORKS[name](T)`.

They are small in width and whole in structure: what a picture has to show is how many parts there are and how they hang
together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .models import MODELS, basic_block


def mlp(T: Any) -> None:
    """A classifier of two hidden layers, with an optimizer and the loop's three lines."""
    nn = T.nn

    class MLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc1 = nn.Linear(8, 16)
            self.fc2 = nn.Linear(16, 16)
            self.out = nn.Linear(16, 3)
            self.act = nn.ReLU()

        def forward(self, x: Any) -> Any:
            x = self.act(self.fc1(x))
            x = self.act(self.fc2(x))
            return self.out(x)

    model = MLP()
    optimizer = T.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, target = T.randn(4, 8), T.tensor([0, 2, 1, 0])
    loss = nn.functional.cross_entropy(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _attention(T: Any, width: int, heads: int) -> Any:
    nn = T.nn

    class CausalSelfAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c_attn = nn.Linear(width, 3 * width)
            self.c_proj = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            q, k, v = self.c_attn(x).split(width, dim=2)
            q, k, v = (part.view(batch, length, heads, width // heads).transpose(1, 2) for part in (q, k, v))
            scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
            mask = T.tril(T.ones(length, length)) == 0
            scores = scores.masked_fill(mask, float("-inf"))
            y = T.softmax(scores, dim=-1) @ v
            return self.c_proj(y.transpose(1, 2).reshape(batch, length, width))

    return CausalSelfAttention()


def gpt_model(T: Any, layers: int, width: int, heads: int, vocabulary: int, length: int) -> Any:
    """A GPT of so many blocks, with its weights tied and initialised by `apply`."""
    nn = T.nn

    class MLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c_fc = nn.Linear(width, 4 * width)
            self.gelu = nn.GELU()
            self.c_proj = nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            return self.c_proj(self.gelu(self.c_fc(x)))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln_1 = nn.LayerNorm(width)
            self.attn = _attention(T, width, heads)
            self.ln_2 = nn.LayerNorm(width)
            self.mlp = MLP()

        def forward(self, x: Any) -> Any:
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte = nn.Embedding(vocabulary, width)
            self.wpe = nn.Embedding(length, width)
            self.h = nn.ModuleList([Block() for _ in range(layers)])
            self.ln_f = nn.LayerNorm(width)
            self.lm_head = nn.Linear(width, vocabulary, bias=False)
            self.lm_head.weight = self.wte.weight  # tied
            self.apply(self._init_weights)

        def _init_weights(self, module: Any) -> None:
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, mean=0.0, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, mean=0.0, std=0.02)

        def forward(self, tokens: Any) -> Any:
            x = self.wte(tokens) + self.wpe(T.arange(tokens.shape[1]))
            for block in self.h:
                x = block(x)
            return self.lm_head(self.ln_f(x))

    return GPT()


def gpt(T: Any, layers: int = 2) -> None:
    """A small GPT: tied embedding, initialised by `apply`, AdamW and clipping."""
    model = gpt_model(T, layers, 16, 2, 17, 6)
    optimizer = T.optim.AdamW(model.parameters(), lr=3e-4)
    tokens = T.tensor([[1, 5, 2, 9, 16, 3], [4, 4, 0, 7, 8, 2]])
    logits = model(tokens[:, :-1])
    loss = T.nn.functional.cross_entropy(logits.reshape(-1, 17), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    T.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def gan(T: Any) -> None:
    """One step of a GAN: first the discriminator, on what is detached, then the generator through it."""
    nn = T.nn
    generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))
    discriminator = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    g_optimizer = T.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    d_optimizer = T.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    real, noise = T.randn(3, 4), T.randn(3, 2)
    fake = generator(noise)
    d_loss = bce(discriminator(real), T.ones(3, 1)) + bce(discriminator(fake.detach()), T.zeros(3, 1))
    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()
    g_loss = bce(discriminator(fake), T.ones(3, 1))
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()


def dqn(T: Any) -> None:
    """Deep Q-learning: the target network runs under no_grad."""
    nn = T.nn

    class QNetwork(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))

        def forward(self, state: Any) -> Any:
            return self.layers(state)

    policy, target = QNetwork(), QNetwork()
    target.load_state_dict(policy.state_dict())
    state, next_state = T.randn(5, 4), T.randn(5, 4)
    action, reward = T.tensor([0, 1, 1, 0, 1]), T.tensor([1.0, 0.0, 0.5, 1.0, -1.0])
    q = policy(state).gather(1, action.unsqueeze(1)).squeeze(1)
    with T.no_grad():
        best = target(next_state).max(1).values
    loss = nn.functional.smooth_l1_loss(q, reward + 0.99 * best)
    optimizer = T.optim.RMSprop(policy.parameters(), lr=1e-3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def custom_function(T: Any) -> None:
    """A custom Function inside a module."""
    nn = T.nn

    class LinearFunction(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, weight: Any, bias: Any) -> Any:
            ctx.save_for_backward(x, weight)
            return x.mm(weight.t()) + bias

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            x, weight = ctx.saved_tensors
            return grad_output.mm(weight), grad_output.t().mm(x), grad_output.sum(0)

    class MyLinear(nn.Module):
        def __init__(self, inside: int, outside: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(T.randn(outside, inside) * 0.1)
            self.bias = nn.Parameter(T.zeros(outside))

        def forward(self, x: Any) -> Any:
            return LinearFunction.apply(x, self.weight, self.bias)

    model = nn.Sequential(MyLinear(4, 8), nn.ReLU(), MyLinear(8, 1))
    x, y = T.randn(5, 4), T.randn(5, 1)
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()


def gradient_penalty(T: Any) -> None:
    """WGAN-GP: the norm of a gradient is part of the loss, so the graph holds a backward pass."""
    nn = T.nn
    critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    real, fake = T.randn(4, 3), T.randn(4, 3)
    mix = T.rand(4, 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_()
    (slope,) = T.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10.0 * penalty
    loss.backward()


def rnn_language_model(T: Any) -> None:
    """A language model on a cell that is called step by step."""
    nn = T.nn

    class RNN(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(9, 5)
            self.cell = nn.RNNCell(5, 7)
            self.decoder = nn.Linear(7, 9)

        def forward(self, tokens: Any) -> Any:
            h = T.zeros(tokens.shape[0], 7)
            outputs = []
            for t in range(tokens.shape[1]):
                h = self.cell(self.embedding(tokens[:, t]), h)
                outputs.append(self.decoder(h))
            return T.stack(outputs, dim=1)

    model = RNN()
    tokens = T.tensor([[1, 2, 3, 4, 5], [8, 7, 6, 5, 4]])
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 9), tokens[:, 1:].reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)


def resnet_block(T: Any) -> None:
    """A residual block with a downsampling branch and batch normalisation."""
    model = basic_block(T)(3, 6, 2)
    x = T.randn(2, 3, 8, 8)
    loss = model(x).mean()
    loss.backward()


def step_of(name: str) -> Callable[[Any], None]:
    """One step of a model of `models.py`, without an optimizer."""

    def step(T: Any) -> None:
        model, inputs, loss_of = MODELS[name](T)
        loss = loss_of(model(*inputs))
        loss.backward()

    return step


NETWORKS: dict[str, Callable[[Any], None]] = {
    "MLP": mlp,
    "GPT": gpt,
    "GAN step": gan,
    "DQN": dqn,
    "custom Function": custom_function,
    "gradient penalty": gradient_penalty,
    "RNN language model": rnn_language_model,
    "ResNet block": resnet_block,
    **{name: step_of(name) for name in ("DCGAN step", "LeNet", "LSTM", "VAE", "U-Net", "ViT", "mixture of experts")},
}
