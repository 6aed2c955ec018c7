"""Training loops as people publish them, each `def loop(T, around)`, which returns its losses.

`around(model)` is a context that may watch; none of the loops knows that it is watched. `T` is either engine.
"""

from collections.abc import Callable
from typing import Any

Loop = Callable[[Any, Callable[[Any], Any]], list[float]]
STEPS = 24


def steps(optimizer: Any, loss_of: Callable[[], Any], count: int) -> list[float]:
    """The losses of the loop that every lesson has."""
    losses = []
    for _ in range(count):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _data(T: Any, inputs: int = 6, samples: int = 96) -> tuple[Any, Any]:
    x = T.randn(samples, inputs)
    return x, (x[:, 0] * x[:, 1] > 0).long()


def plain(T: Any, around: Callable[[Any], Any]) -> list[float]:
    """A classifier in the loop of every first tutorial: shuffled batches, dropout, an evaluation after each epoch."""
    T.manual_seed(0)
    nn = T.nn
    x, y = _data(T)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = T.optim.Adam(model.parameters(), lr=1e-2)
    loss_function = nn.CrossEntropyLoss()
    losses = []
    with around(model):
        for _ in range(4):
            model.train()
            order = T.randperm(96)
            for start in range(0, 96, 16):
                batch = order[start : start + 16]
                optimizer.zero_grad()
                loss = loss_function(model(x[batch]), y[batch])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            model.eval()
            with T.no_grad():
                losses.append(loss_function(model(x), y).item())
    return losses


def lightning(T: Any, around: Callable[[Any], Any]) -> list[float]:
    """A Trainer that calls `training_step` inside the optimizer's closure, as Lightning does."""
    T.manual_seed(1)
    nn = T.nn

    class Regression(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.BatchNorm1d(12))
            self.head = nn.Linear(12, 2)

        def training_step(self, batch: Any) -> Any:
            x, y = batch
            return nn.functional.cross_entropy(self.head(self.body(x)), y)

        def configure_optimizers(self) -> Any:
            return T.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)

    class Trainer:
        def __init__(self, epochs: int) -> None:
            self.epochs, self.logged = epochs, []

        def fit(self, module: Any, batches: list[Any]) -> None:
            optimizer = module.configure_optimizers()
            for _ in range(self.epochs):
                for batch in batches:
                    optimizer.step(lambda batch=batch: self.closure(module, optimizer, batch))

        def closure(self, module: Any, optimizer: Any, batch: Any) -> Any:
            loss = module.training_step(batch)
            optimizer.zero_grad()
            loss.backward()
            self.logged.append(loss.item())
            return loss

    x, y = _data(T)
    trainer, module = Trainer(6), Regression()
    with around(module):
        trainer.fit(module, [(x[i : i + 24], y[i : i + 24]) for i in range(0, 96, 24)])
    return trainer.logged


def transformers(T: Any, around: Callable[[Any], Any]) -> list[float]:
    """A Trainer as Hugging Face's: it accumulates gradients, clips them and has a schedule; the output is a dict."""
    T.manual_seed(2)
    nn = T.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.attention = nn.Embedding(11, 8), nn.MultiheadAttention(8, 2, batch_first=True)
            self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 11)

        def forward(self, ids: Any, labels: Any) -> dict[str, Any]:
            x = self.embedding(ids)
            x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
            logits = self.head(x)
            return {"loss": nn.functional.cross_entropy(logits.reshape(-1, 11), labels.reshape(-1)), "logits": logits}

    model = Model()
    optimizer = T.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
    schedule = T.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / STEPS))
    accumulate, logged = 2, []
    with around(model):
        model.train()
        for number in range(STEPS * accumulate):
            ids = T.randint(0, 11, (4, 7))
            loss = model(ids, (ids * 3 + 1) % 11)["loss"] / accumulate
            loss.backward()
            logged.append(loss.item())
            if (number + 1) % accumulate == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                model.zero_grad()
    return logged


def gan(T: Any, around: Callable[[Any], Any]) -> list[float]:
    """Two networks and two optimizers in turn; the generator's pass goes through the discriminator."""
    T.manual_seed(3)
    nn = T.nn
    generator = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 2), nn.Tanh())
    discriminator = nn.Sequential(nn.Linear(2, 12), nn.LeakyReLU(0.2), nn.Linear(12, 1), nn.Sigmoid())
    of_g = T.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    of_d = T.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    judge, logged = nn.BCELoss(), []
    with around({"G": generator, "D": discriminator}):
        for _ in range(STEPS):
            real, noise = T.randn(8, 2) * 0.3 + 0.5, T.randn(8, 3)
            discriminator.zero_grad()
            loss_real = judge(discriminator(real), T.ones(8, 1))
            loss_real.backward()
            fake = generator(noise)
            loss_fake = judge(discriminator(fake.detach()), T.zeros(8, 1))
            loss_fake.backward()
            of_d.step()
            generator.zero_grad()
            loss_g = judge(discriminator(fake), T.ones(8, 1))
            loss_g.backward()
            of_g.step()
            logged += [loss_real.item() + loss_fake.item(), loss_g.item()]
    return logged


def recurrent(T: Any, around: Callable[[Any], Any]) -> list[float]:
    """A language model with truncated backpropagation through time: the state goes on, its history does not."""
    T.manual_seed(4)
    nn = T.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.head = nn.Embedding(9, 6), nn.Linear(10, 9)
            self.lstm = nn.LSTM(6, 10, batch_first=True)

        def forward(self, ids: Any, state: Any) -> Any:
            out, state = self.lstm(self.embedding(ids), state)
            return self.head(out), state

    model = Model()
    optimizer = T.optim.SGD(model.parameters(), lr=1.0)
    text = (T.arange(8 * (5 * STEPS + 1)) % 9).reshape(8, -1)
    state, logged = None, []
    with around(model):
        for start in range(0, 5 * STEPS, 5):
            if state is not None:
                state = tuple(one.detach() for one in state)
            scores, state = model(text[:, start : start + 5], state)
            loss = nn.functional.cross_entropy(scores.reshape(-1, 9), text[:, start + 1 : start + 6].reshape(-1))
            model.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
            logged.append(loss.item())
    return logged


def by_hand(T: Any, around: Callable[[Any], Any]) -> list[float]:
    """An MLP of the course: no optimizer, the weights are moved in the loop."""
    T.manual_seed(5)
    nn = T.nn

    class MLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(6, 10), nn.Linear(10, 2)

        def forward(self, x: Any) -> Any:
            return self.second(T.relu(self.first(x)))

    model, logged = MLP(), []
    x, y = _data(T)
    with around(model):
        for _ in range(STEPS):
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            with T.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.1 * parameter.grad
                    parameter.grad = None
            logged.append(loss.item())
    return logged


def reinforce(T: Any, around: Callable[[Any], Any]) -> list[float]:
    """REINFORCE on a walk along a line: actions are sampled in the loop, an update comes after each episode."""
    T.manual_seed(6)
    nn = T.nn
    policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = T.optim.Adam(policy.parameters(), lr=1e-2)
    logged = []
    with around(policy):
        for _ in range(STEPS):
            place, kept, rewards = 0.0, [], []
            for left in range(8):
                scores = policy(T.tensor([place / 4, left / 8]))
                action = int(T.multinomial(scores.detach().softmax(0), 1))
                kept.append(scores.log_softmax(0)[action])
                place += 2.0 * action - 1.0 + 0.1 * T.randn(()).item()
                rewards.append(-abs(place - 3.0))
            returns = T.tensor([sum(rewards[at:]) for at in range(len(rewards))])
            returns = (returns - returns.mean()) / (returns.std() + 1e-6)
            loss = -(T.stack(kept) * returns).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            logged += [loss.item(), sum(rewards)]
    return logged


def accumulated(T: Any, around: Callable[[Any], Any]) -> list[float]:
    """Gradients of three batches are added before a step, with dropout, and `set_to_none=False`."""
    T.manual_seed(7)
    nn = T.nn
    x, y = _data(T)
    model = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Dropout(0.1), nn.Linear(12, 2))
    optimizer = T.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, nesterov=True)
    logged = []
    with around(model):
        optimizer.zero_grad(set_to_none=False)
        for number in range(3 * STEPS):
            batch = T.randint(0, 96, (8,))
            loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
            (loss / 3).backward()
            logged.append(loss.item())
            if number % 3 == 2:
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)
    return logged


LOOPS: dict[str, Loop] = {"plain": plain, "lightning": lightning, "transformers": transformers, "gan": gan}
LOOPS |= {"recurrent": recurrent, "by hand": by_hand, "reinforce": reinforce, "accumulated": accumulated}
