"""What watches PyTorch never changes it: the whole visible state of a program is the same with and without us."""

import random
import sys
import threading
import warnings

import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from torch import nn

import viz

pytestmark = pytest.mark.filterwarnings("ignore")
BEFORE = """
import contextlib, contextvars, copy, functools, io, pickle, random, threading, warnings
import numpy as np
import torch, torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only
from torch.utils.checkpoint import checkpoint
torch._dynamo.reset() if hasattr(torch, "_dynamo") else None
torch.manual_seed(0), random.seed(0), np.random.seed(0), torch.set_grad_enabled(True)
class M(nn.Module):
    def __init__(self, forward, *parts, **held):
        super().__init__()
        self.f, self.parts = forward, nn.ModuleList(parts)
        vars(self).update(held)
    def forward(self, x):
        return self.f(self, x, *self.parts)
class Flip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.view_as(x)
    @staticmethod
    def backward(ctx, gradient):
        return -gradient
class Sub(torch.Tensor):
    pass
class Wrapper(torch.Tensor):
    log = []
    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype, requires_grad=held.requires_grad)
    def __init__(self, held):
        self.held = held
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.log.append(str(func))
        return tree_map_only(torch.Tensor, cls, func(*tree_map_only(cls, lambda one: one.held, args), **(kwargs or {})))
class Below(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.log.append(str(func))
        return func(*args, **(kwargs or {}))
class Slots:
    __slots__ = ("kept",)
L, body = nn.Linear(4, 4), lambda: nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
x = torch.linspace(-1, 1, 32).reshape(8, 4)
def caught(m, x, a, b):
    try:
        return a(x)
    except RuntimeError:
        return b(x)
def threaded(m, x, a):
    made = []
    thread = threading.Thread(target=lambda: made.append(a(x)))
    thread.start()
    thread.join()
    return made[0]
def seen(m, x, a):
    m.log.append(x)
    m.count += 1
    m.mean = 0.9 * m.mean + x.mean(0)
    m.slots.kept = m.slots.kept + 1
    m.slots.kept[0].add_(1)
    return a(x)
def remembers(m, x, layer, norm):
    y = norm(layer(x))
    m.mean = 0.9 * m.mean + y.detach().mean(0)
    m.seen.resize_(4).add_(1)
    m.cache.setdefault("keys", []).append(y)
    m.last.copy_(y[0].detach())
    m.calls, m.made = m.calls + 1, y
    m.array += 1
    m.log.append(m.calls)
    torch.rand(2, generator=m.sources[0]), m.sources[1].random(), m.sources[2].random()
    m.eval()
    torch.set_grad_enabled(False)
    return x.mul_(2) + m.mean + y
def inner(m, x, a):
    loss = a(x).sum()
    loss.backward(retain_graph=True)
    return loss
def packed(m, x, a):
    return nn.utils.rnn.pad_packed_sequence(a(nn.utils.rnn.pack_padded_sequence(x[None], [8], batch_first=True))[0])[0]
"""
STEP = """out = model(x)
loss = sum(one.float().sum() for one in (out if isinstance(out, tuple) else (out,)))
loss.backward()"""
PROGRAMS = {  # what makes the model and its input; after `---` the step, if it is another one
    "linear": "model = body()",
    "identity before an in-place op": "model = nn.Sequential(L, nn.Identity(), nn.ReLU(inplace=True))",
    "dropout": "model = nn.Sequential(L, nn.Dropout(0.5), nn.AlphaDropout(0.2))",
    "dropout in eval": "model = nn.Sequential(L, nn.Dropout(0.5), nn.ReLU(True)).eval()",
    "batch norm": "model = nn.Sequential(L, nn.BatchNorm1d(4), nn.BatchNorm1d(4, momentum=None))",
    "checkpoint": "model = M(lambda m, x, b: checkpoint(b, x, use_reentrant=False), body())",
    "custom function": "model = M(lambda m, x, a: Flip.apply(a(x)), L)",
    "func.grad": "model = M(lambda m, x, a: torch.func.grad(lambda y: a(y).pow(2).sum())(x), L)",
    "vmap": "model = M(lambda m, x, a: torch.func.vmap(a)(x), L)",
    "jacrev": "model = M(lambda m, x, a: torch.func.jacrev(a)(x[0]), L)",
    "functional_call": "model = M(lambda m, x, a: torch.func.functional_call(a, {'weight': a.weight * 2}, x), L)",
    "jacobian": "model = M(lambda m, x, a: torch.autograd.functional.jacobian(a, x[0], create_graph=True), L)",
    "compiled": "model = nn.Sequential(L, torch.compile(body(), backend='eager'))",
    "traced": "model = nn.Sequential(L, torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), x))",
    "traced within": "model = M(lambda m, x, a: torch.jit.trace(a, x)(x), body().eval())",
    "fx": "model = torch.fx.symbolic_trace(body())",
    "forward hook": "model = body()\nmodel[0].register_forward_hook(lambda m, i, o: o * 2)",
    "forward pre-hook": "model = body()\nmodel[1].register_forward_pre_hook(lambda m, i: (i[0] * 2,))",
    "full backward pre-hook": "model = body()\nmodel[2].register_full_backward_pre_hook(lambda m, o: (o[0] * 2,))",
    "parameter hook": "model = body()\nmodel[0].weight.register_hook(lambda g: g.clamp(max=0.1))",
    "post-accumulate hook": "model = body()\nmodel[0].weight.register_post_accumulate_grad_hook(lambda p: None)",
    "node hook": "model = M(lambda m, x, a: (lambda y: (y.grad_fn.register_hook(lambda i, o: None), y)[1])(a(x)), L)",
    "state dict hook": "model = body()\nmodel.register_state_dict_post_hook(lambda *given: None)",
    "subclass": "model = M(lambda m, x, a: a(x.as_subclass(Sub)) * 2, L)",
    "spectral norm": "model = nn.utils.parametrizations.spectral_norm(L)",
    "pruned": "import torch.nn.utils.prune as prune\nmodel = nn.Sequential(L)\nprune.l1_unstructured(L, 'weight', 0.5)",
    "lazy": "model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())",
    "meta": "model, x = body().to('meta'), x.to('meta')",
    "quantized": "model = M(lambda m, x, a: a(torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()), L)",
    "fake quantize": "model = nn.Sequential(L, torch.ao.quantization.FakeQuantize())",
    "observer": "model = nn.Sequential(L, torch.ao.quantization.MinMaxObserver(), nn.ReLU())",
    "sparse": "model = M(lambda m, x, a: torch.sparse.mm(x.to_sparse(), a.weight), L)",
    "sparse gradient": "model, x = nn.Embedding(9, 4, sparse=True), torch.arange(8)",
    "max norm": "model, x = nn.Embedding(9, 4, max_norm=0.5), torch.arange(8)\n---\nmodel(x).sum().backward()",
    "nested": "model = M(lambda m, x, a: a(torch.nested.nested_tensor([x[:2], x[2:]])).to_padded_tensor(0.0), L)",
    "bfloat16": "model, x = body().bfloat16(), x.bfloat16()",
    "fp8": "model = M(lambda m, x, a: a(x.to(torch.float8_e4m3fn).float()), L)",
    "double": "model, x = body().double(), x.double()",
    "packed sequence": "model = M(packed, nn.GRU(4, 4, batch_first=True))",
    "lstm": "model = M(lambda m, x, a: a(x)[0], nn.LSTM(4, 4, dropout=0.5, num_layers=2))",
    "attention": "model = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)\nx = x[None]",
    "thread": "model = M(threaded, L)",
    "random numbers": "model = M(lambda m, x, a: a(x) * random.random() + np.random.rand() + torch.randn(4), L)",
    "no_grad": "def f(m, x, a):\n    with torch.no_grad():\n        y = a(x)\n    return y + a(x)\nmodel = M(f, L)",
    "in-place on a view": "def f(m, x, a):\n    y = a(x).clone()\n    y[:, 1].mul_(2)\n    return y\nmodel = M(f, L)",
    "chunks": "model = M(lambda m, x, a: torch.cat([one.relu_() for one in a(x).clone().tensor_split(2)]), L)",
    "deepcopy": "model = M(lambda m, x, a: copy.deepcopy(a)(x) + a(x), L)",
    "copy": "model = M(lambda m, x, a: copy.copy(a)(x) + a(x), L)",
    "pickle": "model = M(lambda m, x, a: pickle.loads(pickle.dumps(a))(x) + a(x), L)",
    "save": "def f(m, x, a):\n    torch.save(a.state_dict(), io.BytesIO())\n    return a(x)\nmodel = M(f, L)",
    "caught exception": "model = M(caught, nn.Linear(5, 5), L)",
    "raised exception": "model = nn.Sequential(L, nn.Linear(5, 5))",
    "backward in forward": "model = M(inner, L)",
    "tied weights": "model = nn.Sequential(L, nn.ReLU(), L)",
    "data parallel": "model = nn.DataParallel(body())",
    "swa": "model = torch.optim.swa_utils.AveragedModel(body())",
    "clipping": "model = body()\n---\nmodel(x).sum().backward()\nnn.utils.clip_grad_norm_(model.parameters(), 0.1)",
    "twice": "model = body()\n---\nfor _ in range(2):\n    model(x).sum().backward()",
}
LONGER = """
== frozen body that is shifted
b = nn.Sequential(L, nn.Identity()).requires_grad_(False)
s = nn.Linear(4, 4)
def f(m, x, b, s):
    h = b(x)
    h += s(x)
    return h
model = M(f, b, s)
== reentrant checkpoint
model = M(lambda m, x, b: checkpoint(b, x, use_reentrant=True), body())
x.requires_grad_()
== create_graph
def f(m, x, a):
    return torch.autograd.grad(a(x).pow(2).sum(), a.weight, create_graph=True)[0]
model = M(f, L)
== forward AD
import torch.autograd.forward_ad as ad
def f(m, x, a):
    with ad.dual_level():
        return ad.unpack_dual(a(ad.make_dual(x, x))).tangent
model = M(f, L)
== scripted
model = nn.Sequential(L, torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU())))
for _ in range(3):
    model(x)
== exported
model = torch.export.export(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (x,)).module()
model = nn.Sequential(L, model)
== compiled part
model = M(lambda m, x, a: m.fast(x), nn.Sequential(L, nn.ReLU()))
model.fast = torch.compile(model.parts[0].forward, backend='aot_eager', fullgraph=True)
== exported within
def f(m, x, a):
    m.log.append(len(torch.export.export(a, (x,)).graph.nodes))
    return a(x)
model = M(f, nn.Sequential(L, nn.ReLU()), log=[])
== dispatch mode
def f(m, x, a):
    with Below() as below:
        below.log = m.log
        return a(x)
model = M(f, L, log=[])
== dispatch subclass
model = M(lambda m, x, a: (a(Wrapper(x)) * 2).held, L)
L.requires_grad_(False)
model.log = Wrapper.log = []
== own methods
class Own(nn.Sequential):
    pass
NAMES = "parameters named_parameters buffers named_buffers modules named_modules children named_children"
def told(self, *given, own, **named):
    self.log.append(own)
    return getattr(nn.Module, own)(self, *given, **named)
for name in (*NAMES.split(), "register_forward_hook", "register_forward_pre_hook"):
    setattr(Own, name, functools.partialmethod(told, own=name))
model = Own(L, nn.BatchNorm1d(4))
model.log = []
== full backward hook
model = body()
model[0].register_full_backward_hook(lambda m, i, o: tuple(g if g is None else g * 2 for g in i))
== tensor hooks
def f(m, x, a):
    y = a(x)
    y.register_hook(lambda g: g * 2), y.retain_grad()
    return y
model = M(f, L)
== saved tensor hooks
def f(m, x, a):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (m.log.append(1), t)[1], lambda t: (m.log.append(2), t)[1]):
        return a(x).exp()
model = M(f, L, log=[])
== save on cpu
def f(m, x, a):
    with torch.autograd.graph.save_on_cpu():
        return a(x).exp()
model = M(f, L)
== module deleted hook
def f(m, x, a):
    a.register_forward_hook(lambda *g: None).remove()
    return a(x)
model = M(f, L)
== parametrized
from torch.nn.utils.parametrizations import orthogonal, weight_norm
model = nn.Sequential(weight_norm(L), orthogonal(nn.Linear(4, 4)))
== jagged
def f(m, x, a):
    return a(torch.nested.as_nested_tensor([x[:2], x[2:]], layout=torch.jagged)).values()
model = M(f, L)
== complex
model, x = nn.Linear(4, 4, dtype=torch.cfloat), x.to(torch.cfloat)
---
out = model(x)
out.abs().sum().backward()
== copy on write
model = M(lambda m, x, a: torch._lazy_clone(a(x + m.kept)), L)
model.shared, y = torch.ones(8, 4), x
model.kept, x = torch._lazy_clone(model.shared), torch._lazy_clone(y)
== patched
plain = torch.Tensor.exp, F.relu
model = M(lambda m, x, a: F.relu(a(x)).exp(), L, log=[])
---
def counted(one):
    return lambda *given, **named: model.log.append(1) or one(*given, **named)
torch.Tensor.exp, F.relu = map(counted, plain)
try:
    model(x).sum().backward()
finally:
    torch.Tensor.exp, F.relu = plain
== frozen attention
model = nn.Sequential(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1), nn.Linear(4, 4))
model[0].eval().requires_grad_(False)
x = x[None]
== attention in evaluation
model = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
x = x[None]
---
with torch.no_grad():
    out = model(x)
== autocast
def f(m, x, a):
    with torch.autocast('cpu', torch.bfloat16):
        return a(x)
model = M(f, L)
== generator
def f(m, x, a):
    y = x
    for one in (a(y) for _ in range(2)):
        y = one
    return y
model = M(f, L)
== own generator
model = M(lambda m, x, a: a(x) + torch.rand(8, 4, generator=m.source), L)
model.source = torch.Generator().manual_seed(1)
== inference mode
def f(m, x, a):
    with torch.inference_mode():
        mean = a(x).mean(0)
    return a(x) + mean
model = M(f, L)
== state of its own
model = M(seen, L, log=[], count=0, slots=Slots())
model.register_buffer('mean', torch.zeros(4))
model.slots.kept = torch.zeros(4)
== state of every kind
model = M(remembers, L, nn.BatchNorm1d(4), cache={}, log=[], last=torch.zeros(4), calls=0, array=np.zeros(2))
model.sources = [torch.Generator(), random.Random(0), np.random.default_rng(0)]
model.register_buffer('mean', torch.zeros(4))
model.register_buffer('seen', torch.zeros(2))
---
model(x)
== loop over parts
model = M(lambda m, x, *parts: functools.reduce(lambda y, part: part(y), parts, x), body())
model.parts.append(body())
== weights of its own
def f(m, x, a, b):
    a.weight.data = a.weight.data * 2
    with torch.no_grad():
        b.weight.mul_(2), b.bias.data.add_(1)
        torch.add(a.bias, 1, out=a.bias)
    return b(a(x))
model = M(f, L, nn.Linear(4, 4))
== parameter list
model = M(lambda m, x, a: a(x) + m.p[0] + m.d['k'], L)
model.p = nn.ParameterList([torch.ones(4)])
model.d = nn.ParameterDict({'k': nn.Parameter(torch.ones(4))})
== optimizer
model = body()
optimizer = torch.optim.Adam(model.parameters())
---
optimizer.zero_grad()
model(x).sum().backward()
optimizer.step()
== closure
model = body()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
---
def closure():
    optimizer.zero_grad()
    loss = model(x).pow(2).sum()
    loss.backward()
    return loss
optimizer.step(closure)
== swapped
model = body()
---
for _ in range(2):
    model(x).sum().backward()
    model.zero_grad()
    for one in model.parameters():
        torch.utils.swap_tensors(one, nn.Parameter(one.detach() * 2))
== memory that is freed
def f(m, x, a):
    held, kept = a.weight.untyped_storage(), a.weight.detach().clone()
    held.resize_(0)
    m.log.append(a.weight.detach().requires_grad)
    held.resize_(64)
    a.weight.data.copy_(kept)
    return a(x)
model = M(f, L, log=[])
== profiled
def f(m, x, a):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        y = a(x)
    m.log.append(sorted((one.key, one.count) for one in seen.key_averages()))
    return y
model = M(f, L, log=[])
== function mode
class Seen(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        model.log.append(torch.overrides.resolve_name(func))
        return func(*args, **(kwargs or {}))
model = M(lambda m, x, a: a(x), L, log=[])
---
with Seen():
    model(x).sum().backward()
== loader
model, source = body(), torch.Generator().manual_seed(1)
---
for given in torch.utils.data.DataLoader(x, 4, shuffle=True, generator=source):
    model(given).sum().backward()
== context variable
number = contextvars.ContextVar('number', default=0)
def f(m, x, a):
    number.set(number.get() + 1)
    m.log.append(number.get())
    return a(x)
model = M(f, L, log=[])
---
number.set(0)
model(x).sum().backward()
== recorded warnings
def f(m, x, a):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter('always')
        y = a(x)
        F.mse_loss(y, y[:1]), torch.tensor(y), y.grad
    m.log.append([(one.filename, one.lineno, str(one.message)) for one in told])
    return y
model = M(f, L, log=[])
== own attributes
class Own(nn.Sequential):
    def __getattr__(self, name):
        vars(self)['log'].append(name)
        return super().__getattr__(name)
    def __setattr__(self, name, value):
        vars(self)['log'].append(name)
        super().__setattr__(name, value)
    def forward(self, x):
        self.seen = len(self)
        return super().forward(x)
model = Own.__new__(Own)
vars(model)['log'] = []
model.__init__(L, nn.ReLU())
model.log.clear()
== anomaly
model = body()
---
with torch.autograd.detect_anomaly(check_nan=False):
    model(x).sum().backward()"""
PROGRAMS |= dict(part.split("\n", 1) for part in LONGER.split("\n== ")[1:])

KNOWN = {
    ("state of every kind", "record"): {"modes"},  # a recording leaves the grad mode as it found it
    ("max norm", "draw"): {".model._parameters.weight"},  # the caption tells that forward wrote to it
    ("reentrant checkpoint", "record"): {
        ".x.grad"
    },  # its version: PyTorch's own would have been taken over, not copied
    ("reentrant checkpoint", "autograd"): {".x.grad"},  # likewise
}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    exec(BEFORE, known := {"__name__": "program"})
NOT_LOOKED_AT = {*known, "__builtins__", "__warningregistry__", "step", "_torchdynamo_wrapper_id"} - {"x", "L"}
PLAIN = (int, float, str, type(None))


class World:
    """A program that has been set up, and its visible state."""

    def __init__(self, text):
        setup, _, step = text.partition("\n---\n")
        step = step or STEP
        self.source, self.names = f"{BEFORE}{setup}\n{step}", {"__name__": "program"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(BEFORE + setup, self.names)
        exec("def step():\n    global out, loss\n    " + step.replace("\n", "\n    "), self.names)

    def step(self):
        try:
            self.names["step"]()
        except Exception as error:
            return type(error).__name__, str(error)

    def look(self, versions=True):
        """All that a program can see, as plain data by path; an object that was met before is its number."""
        self.versions, self.known = versions, {}
        self.seen = {
            "sources": (torch.get_rng_state().tolist(), repr(np.random.get_state()), random.getstate()),
            "modes": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")),
            "settings": (torch.get_default_dtype(), torch.is_anomaly_enabled(), sys.gettrace(), threading.gettrace()),
            "stacks": (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()),
            "hooks": [len(one) for name, one in sorted(vars(nn.modules.module).items()) if name.endswith("_hooks")],
        }
        self.visit(self.names, "")
        return self.seen

    def visit(self, thing, path):
        if isinstance(thing, PLAIN):
            self.seen[path] = thing
        elif id(thing) in self.known:
            self.seen[path] = self.known[id(thing)][0]
        else:
            self.known[id(thing)] = len(self.known), thing
            about, parts = self.about(thing)
            self.seen[path] = type(thing).__name__, about, [key for key, _ in parts]
            for key, part in parts:
                self.visit(part, f"{path}.{key}")

    def about(self, thing):
        if isinstance(thing, torch.nn.parameter.UninitializedTensorMixin):
            return thing._version, []
        if isinstance(thing, torch.Tensor):
            return self.tensor(thing), [("grad", thing.grad)] if thing.is_leaf else []
        if isinstance(thing, torch.Generator):
            return thing.get_state().tolist(), []
        if isinstance(thing, (random.Random, np.random.Generator)):
            return str(thing.getstate() if isinstance(thing, random.Random) else thing.bit_generator.state), []
        if isinstance(thing, (nn.Module, torch.optim.Optimizer)):
            thing = vars(thing)
        if isinstance(thing, dict):  # keys of hooks count on in a process
            keys = [f"#{at}" if isinstance(key, int) else str(key) for at, key in enumerate(thing)]
            return "", [(key, one) for key, one in zip(keys, thing.values(), strict=True) if key not in NOT_LOOKED_AT]
        if isinstance(thing, (list, tuple, np.ndarray)):
            return "", list(enumerate(thing))
        return "", [("kept", thing.kept)] if type(thing).__name__ == "Slots" else []

    def tensor(self, one):
        with torch._C.DisableTorchFunction():
            plain = one.detach()
            plain = plain.to_dense() if plain.layout is torch.sparse_coo else plain
            numbers = "" if one.is_meta else repr(plain.tolist())
        stack, nodes = [one.grad_fn], {}
        while stack:
            node = stack.pop()
            if node is not None and node not in nodes:
                nodes[node] = node.name()
                stack += [behind for behind, _ in node.next_functions]
        version = one._version if self.versions and not one.is_inference() else None
        hooks = len(one._backward_hooks or ())
        return one.dtype, one.layout, one.requires_grad, hooks, version, str(one.shape), numbers, [*nodes.values()]


def differing(ours, theirs):
    return {key: (ours.get(key), theirs.get(key)) for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)}


def told(error):
    return error and (error["type"], error["message"])


def record(world):
    return told(viz.record(world.names["step"]).error)


def watch(world):
    with viz.watch(world.names["model"], progress=False, every=1) as watched:
        world.notes = watched.notes
        return world.step()


def draw(world):
    try:
        viz.draw(world.names["model"], world.names["x"])
    except Exception as error:
        return type(error).__name__, str(error)


def diagnose(world):
    error = viz.diagnose(world.names["step"], steps=1).error
    for name in ("out", "loss"):  # what the program itself leaves
        world.names.pop(name, None)
    return told(error)


def compare(world):
    viz.compare(world.source)


def behind(world):
    said, thing = world.step(), world.names.get("loss", world.names.get("out"))
    if isinstance(thing, torch.Tensor):
        assert viz.draw(thing).svg
    return said


def play(world):
    viz.play(world.names["step"])
    for name in ("out", "loss"):
        world.names.pop(name, None)


def explore(world):
    viz.explore(world.source)


def cell(magic, world):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(user_ns={"step": world.names["step"]})
    viz.load_ipython_extension(shell)
    with capture_output():
        error = shell.run_cell(f"%%{magic}\nstep()").error_in_exec
    InteractiveShell.clear_instance()
    return error and (type(error).__name__, str(error))


def autograd(world):
    return cell("autograd", world)


def diagnosed(world):
    return cell("diagnose", world)


RUN = {record, watch, behind, autograd, diagnosed}  # these run the program as it runs without us


@pytest.fixture(autouse=True)
def grad_mode():
    yield
    torch.set_grad_enabled(True)  # a program may have left it off


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param((record, watch, draw, diagnose, compare), id=""),
        pytest.param((behind, play, explore, autograd, diagnosed), id="others", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_the_same_with_and_without_us(name, entries):
    alone, differs = World(PROGRAMS[name]), {}
    states = [{versions: alone.look(versions) for versions in (True, False)}]
    raised = alone.step()
    states.append({versions: alone.look(versions) for versions in (True, False)})
    for entry in entries:
        world, versions = World(PROGRAMS[name]), entry not in (diagnose, diagnosed)
        said, runs = entry(world), entry in RUN
        assert not any("ended" in note for note in getattr(world, "notes", []))
        found = differing(world.look(versions), states[runs][versions])
        if not runs:
            assert said in (None, raised)
            said = world.step()
            found |= differing(world.look(versions), states[True][versions])
        assert said == raised
        if found.keys() != KNOWN.get((name, entry.__name__), set()):
            differs[entry.__name__] = found
    assert not differs
