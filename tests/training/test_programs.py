"""Programs of the kinds that courses and repositories hold, at small sizes, give the same on both engines.

Each is a function of the engine that returns what a reader of the program would look at: losses, weights, predictions.
They draw from the engine's own generator: from one seed both engines draw the same. The models and the training loops
that pictures are tried with are among them.
"""

import contextlib
import functools
from typing import Any

import numpy as np
import pytest
from support.models import MODELS
from support.parity import ENGINES, Raised, differences, run
from support.training_loops import LOOPS, steps

pytestmark = pytest.mark.outer(start=1)


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


PROGRAMS = {name: program for name, program in globals().items() if getattr(program, "__module__", "") == __name__}
PROGRAMS = {name: program for name, program in PROGRAMS.items() if not name.startswith("_")}


def _learning(name):
    """Five steps of a model of `support/models.py`."""

    def program(T):
        T.manual_seed(0)
        model, inputs, loss = MODELS[name](T)
        return steps(T.optim.Adam(model.parameters(), lr=0.01), lambda: loss(model(*inputs)), 5)

    return program


PROGRAMS |= {name: _learning(name) for name in MODELS}
PROGRAMS |= {name: functools.partial(loop, around=contextlib.nullcontext) for name, loop in LOOPS.items()}


def _outcome(program: Any, engine: Any) -> Any:
    """What the program returns: values and dtypes of tensors, and the rest as it is. Or its error."""
    seen = run(program, engine)
    return seen if isinstance(seen, Raised) else _values(seen["result"])


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
    assert not isinstance(theirs, Raised), f"the program itself: {theirs}"
    assert list(differences(theirs, ours)) == []
