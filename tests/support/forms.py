"""Small programs as people write them: how tensors are made, indexed, written to and asked. A table, by subject.

Each row is source text: `T` is the engine, `F` its `nn.functional`, `np` NumPy, and the engines are compared by `out`.
Lines that are indented by four belong to the row above. Where they begin with `|`, they name fillings: each takes the
place of `…` in the row.
"""

import re
from collections.abc import Iterator

FORMS = {
    "layers": r"""
a = T.nn.ParameterList([T.ones(2), 1, T.nn.ParameterList([T.zeros(3)]), None, 'x'])
    out = [n for n, _ in a.named_parameters()], len(a), sorted(a.state_dict()), len(a[1:3]), a[-1], len(a[:2])
a = T.nn.ParameterList([T.ones(2), 1]); a[1] = T.ones(4)
    out = [n for n, _ in a.named_parameters()], repr(a).replace('tinygrad_edu', 'torch')
d = T.nn.ParameterDict({'a': T.ones(2), 'b': T.nn.ParameterDict({'c': T.zeros(1)}), 'n': 3})
    out = [n for n, _ in d.named_parameters()], list(d), d['n'], d.pop('a').shape[0]
T.nn.ParameterList(T.ones(2))
T.nn.ParameterList(3)
out = (F.interpolate(T.arange(16.).reshape(1, 1, 4, 4), size=[T.tensor(3), T.tensor([5])[0]], mode='bilinear'),
    F.interpolate(T.arange(4.).reshape(1, 1, 4), size=np.int64(6)), T.ones(6).view(np.int64(3), 2))
m = T.nn.Module(); m.v = T.nn.Parameter(T.ones(2)); m.register_parameter('v', T.nn.Parameter(T.zeros(2))); out = m.v
    m.register_parameter('zero_grad', None)
x = T.tensor([[[[1., float('nan'), 3., float('nan')], [-float('inf')] * 4, [2., 2., 2., 2.], [0., 1., 1., 0.]]]])
    out = (F.adaptive_max_pool2d(x, 2, return_indices=True), F.adaptive_max_pool2d(x, (4, 1), return_indices=True),
    F.max_pool3d(x.unsqueeze(0), (1, 2, 2), return_indices=True),
    F.max_pool3d(x.unsqueeze(0), (1, 2, 2), padding=(0, 1, 1), return_indices=True))
x = T.arange(8.).reshape(2, 2, 2); y = F.max_pool2d(x, 1), F.adaptive_max_pool2d(x, 2); y[0].mul_(5.); y[1].mul_(7.)
    out = x, y, 1 / F.elu(T.tensor([-0., 0.]))
c = T.zeros(3); c.index_put_((T.tensor([[0, 1], [1, 1]]),), T.tensor([1., 2.]), accumulate=True); out = c
out = F.cosine_embedding_loss(T.tensor([[1, 2]]), T.tensor([[3, 1]]), T.tensor([1]))
F.max_pool3d(T.ones(1, 1, 1, 1, 1), 2)
F.avg_pool3d(T.ones(1, 1, 4, 4, 4), 2, padding=2)
out = F.interpolate(T.ones(1, 1, 4, 4), size=6, mode='trilinear')
out = F.binary_cross_entropy(T.tensor([.2]), T.tensor([1.5]))
m = T.nn.Linear(1, 1); m.weight = T.ones(1, 1)
m = T.nn.Linear(1, 1); m.weight = 3
m = T.nn.Sequential(T.nn.Linear(1, 1)); setattr(m, '0', T.ones(1, dtype=T.float64))
m = T.nn.BatchNorm1d(1); m.running_mean = 3
T.manual_seed(0); e = T.nn.Embedding.from_pretrained(T.ones(3, 2)); out = e.weight, T.rand(3), e(T.tensor([1]))
T.manual_seed(0); e = T.nn.Embedding.from_pretrained(T.ones(3, 2), freeze=False, padding_idx=0)
    out = e.weight, T.rand(3)
out = T.nn.Embedding.from_pretrained(T.ones(3))
T.manual_seed(0); e = T.nn.Embedding(3, 2, _weight=T.ones(3, 2)); out = e.weight, T.rand(2)
x, y = T.tensor([[.1, .7]], dtype=T.float64), T.tensor([1])
    out = (T.nn.CrossEntropyLoss()(input=x, target=y), T.nn.MSELoss()(x, target=x + 1),
    T.nn.CosineEmbeddingLoss()(input1=x, input2=-x, target=y),
    T.nn.TripletMarginLoss()(anchor=x, positive=x, negative=-x))
out = repr(T.nn.GRU(3, 4, dropout=.5))
c, x = T.nn.ConvTranspose1d(1, 1, 3, 2), T.ones(1, 1, 4)
    out = list(c(x, output_size=(10,)).shape), list(c(x, output_size=(1, 1, 9)).shape)
m = T.nn.Linear(2, 2); m.register_full_backward_hook(lambda *a: None); m.register_backward_hook(lambda *a: None)
m = T.nn.Linear(2, 2); m.register_backward_hook(lambda *a: None); m.register_full_backward_hook(lambda *a: None)
m, x = T.nn.Linear(2, 2), T.ones(3, 2, requires_grad=True)
    m.register_full_backward_hook(lambda m, given, came: given[0] * 2); m(x).sum().backward()
class M(T.nn.Module): __init__ = lambda self: self.register_buffer('a', T.ones(2))
    M()
class Square(T.autograd.Function):
        def forward(ctx, x): return x * x
        def backward(ctx, grad): return grad * 5
    x = T.ones(2, requires_grad=True); Square.apply(x).sum().backward(); out = x.grad
out = F.softmax(T.ones(2, 2)), T.nn.LogSoftmax()(T.ones(2)), F.kl_div(T.zeros(2, 2), T.ones(2, 2))
p = T.ones(2, requires_grad=True); p.grad = T.tensor([float('inf'), 1.])
    out = T.nn.utils.clip_grad_norm_([p], 1.), p.grad
out = T.func.functional_call(T.nn.Identity(), {'wieght': T.zeros(2)}, T.ones(2))
import copy; w = T.ones(3, 2, requires_grad=True); v, u = copy.deepcopy([w.detach().t(), w.detach()[:, 1]])
    v.mul_(2); out = v, u, v.stride(), u.stride()
n = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.BatchNorm1d(2)); n.add_module('same', n[0])
    import copy; n(T.ones(3, 2)).sum().backward(); o = copy.deepcopy(n)
    kept = {k: v for k, v in n.state_dict().items() if 'num_batches' not in k}
    out = (repr(o.load_state_dict(kept)), int(o[1].num_batches_tracked), o.same is o[0],
    [p.grad is None for p in o.parameters()])
nn, order = T.nn, []; shared = nn.Linear(2, 2)
    n = nn.ModuleDict({'a': nn.Sequential(shared, nn.Dropout()), 'b': nn.ModuleList([shared, nn.BatchNorm1d(2)])})
    n.eval().requires_grad_(False).apply(lambda m: order.append(type(m).__name__))
    out = ([[k for k, _ in f()] for f in (n.named_modules, n.named_parameters, n.named_buffers)], list(n.state_dict()),
    [m.training for m in n.modules()], [p.requires_grad for p in n.parameters()], order, repr(n))
a = T.nn.ParameterList([T.ones(2), T.nn.Parameter(T.zeros(3))]); a += [T.ones(1)]
    a[0] = T.nn.Parameter(T.full((2,), 7.)); d = T.nn.ParameterDict({'a': T.ones(2), 'b': T.ones(1)})
    d.update({'b': T.nn.Parameter(T.zeros(4)), 'c': T.ones(1)}); d.pop('c')
    out = (a[0], {k: list(p.shape) for k, p in [*a.named_parameters(), *d.named_parameters()]}, len(a[1:]),
    repr(a[:1]), repr(d), list(d), 'a' in d, d.get('z'), len(d), {d: 1}[d])
given = [T.arange(4.).reshape(2, 2).requires_grad_(), T.ones(3, 2), T.zeros(1, 2)]
    out = T.nn.utils.rnn.pad_sequence(given, padding_value=7., …)
    (out * T.arange(18.).reshape(out.shape)).sum().backward(); out = out, given[0].grad
    | batch_first=True, padding_side='left' | batch_first=True | padding_side='left' | padding_side='right'
m = T.nn.Linear(3, 2).double(); T.nn.utils.vector_to_parameters(T.arange(8., dtype=T.float64), m.parameters())
    m(T.ones(4, 3, dtype=T.float64)).sum().backward()
    out = T.nn.utils.clip_grad_norm_(m.parameters(), 1.5), m.weight.grad.clone()
    T.nn.utils.clip_grad_value_(m.parameters(), .1)
    out += (m.weight.grad, m.bias.grad, T.nn.utils.parameters_to_vector(m.parameters()))
for scale in (None, 2., -1.):
        T.manual_seed(0); x = T.randn(2, 3, 4).requires_grad_(); r = T.tensor([[0, 0, 1], [1, 1, 1], [0, 0, 0]]) > 0
        y = F.scaled_dot_product_attention(x, x * 2, x * 3, …, scale=scale)
        (y * T.arange(24).view(2, 3, 4)).sum().backward(); out = [*(out if scale else []), y, x.grad]
    | None | ~r | T.zeros(3, 3).masked_fill(r, -float('inf')) | r & False
T.manual_seed(0); m = T.nn.TransformerEncoder(T.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()
    with T.no_grad(): out = m(T.randn(2, 3, 4), src_key_padding_mask=T.tensor([[0, 0, 1], [0, 1, 1]]) > 0)
""",
    "data": r"""
D = T.utils.data; g = T.Generator().manual_seed(3); l = D.DataLoader(range(5), 2, shuffle=True, generator=g)
    T.manual_seed(0); out = [list(l) for _ in range(3)], g.initial_seed(), T.rand(1)
D = T.utils.data; g = T.Generator().manual_seed(3); s = D.RandomSampler(range(4), num_samples=6, generator=g)
    out = [list(s) for _ in range(3)]
D = T.utils.data
    B = type('B', (D.Sampler,), {'__iter__': lambda self: iter(T.randperm(6).view(3, 2).tolist()),
    '__len__': lambda self: 3}); T.manual_seed(0); out = list(D.DataLoader(range(6), batch_sampler=B())), T.rand(1)
D = T.utils.data; it = iter(D.DataLoader(range(5), 2)); out = next(it), iter(it) is it
D = T.utils.data; D.WeightedRandomSampler([[1., 2.]], 2)
F.cosine_embedding_loss(T.ones(4, 3), T.ones(4, 3), T.ones(4, 3))
""",
    "operands": r"""
…
    | T.nn.Linear(2, 2)(T.ones(2, 2).double()) | T.nn.Linear(2, 2)(T.ones(2).long())
    | T.nn.Linear(2, 2).double()(T.ones(4, 3, 2)) | T.nn.Linear(2, 2, bias=False)(T.ones(2, 2).double())
    | T.addmm(T.ones(2).double(), T.ones(2, 2), T.ones(2, 2)) | T.bmm(T.ones(1, 2, 2), T.ones(1, 2, 2).double())
    | T.ones(1, 2, 2).long() @ T.ones(1, 2, 2) | T.mv(T.ones(2, 2), T.ones(2).double())
    | T.dot(T.ones(2), T.ones(2).double()) | T.ones(2, 2) @ T.ones(2, 2).double()
    | T.nn.LSTM(2, 2)(T.ones(1, 1, 2), (T.ones(1, 1, 2), T.ones(1, 2, 2)))
    | T.nn.GRU(2, 2)(T.ones(1, 1, 2), T.ones(1, 2, 2))
x = T.ones(3, 2, 4); T.nn.MultiheadAttention(4, 2)(x, x, x, is_causal=True)
T.nn.utils.rnn.pad_sequence([])
T.nn.utils.rnn.pad_sequence([1, 2])
""",
    "programs": r"""
out = (str(T.finfo(T.float32)), str(T.finfo(T.float64)), str(T.iinfo(T.int8)), str(T.iinfo(T.int64)))
D = T.distributions; d = D.OneHotCategorical(T.tensor([[.2, .3, .5], [.1, .8, .1]]))
    out = d.mean, d.variance, d.stddev, d.mode
v, i = T.max(T.tensor([[1., 5.], [7., 2.]]), 1); r = T.min(T.tensor([[1., 5.]]), 1)
    out = v, i, r.values, r.indices, r[0], len(r), isinstance(r, tuple), type(r)((v, i)).values
T.manual_seed(3); T.randn(5); s = T.get_rng_state(); a = T.rand(2); T.set_rng_state(s)
    out = s, a, T.rand(2), T.Generator().manual_seed(1).get_state()
import io
    T.manual_seed(3); b = io.BytesIO(); T.save({'rng': T.get_rng_state()}, b); b.seek(0); x = T.rand(2)
    T.set_rng_state(T.load(b)['rng']); out = x, T.rand(2)
T.set_rng_state(T.zeros(3))
T.manual_seed(0)
    with T.random.fork_rng(): T.rand(5)
    out = T.rand(2)
T.manual_seed(0); m = T.nn.MultiheadAttention(6, 2, kdim=4, vdim=5); q = T.randn(3, 1, 6, requires_grad=True)
    y, w = m(q, T.randn(2, 1, 4), T.randn(2, 1, 5)); y.sum().backward()
    out = y, w, q.grad, m.k_proj_weight.grad, list(m.state_dict()), repr(m)
T.manual_seed(0); e = T.nn.TransformerEncoder(T.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1).eval()
    p = T.tensor([[False, False, True], [False, False, False]]); x = T.randn(2, 3, 4)
    with T.no_grad(): y = e(x, src_key_padding_mask=p)
    out = y, e(x, src_key_padding_mask=p)[1]
T.manual_seed(0); out = repr(T.nn.TransformerEncoder(T.nn.TransformerEncoderLayer(4, 1, 8), 1))
T.nn.Linear(2, 1).load_state_dict({'x': T.ones(1)})
class F(T.autograd.Function):
        @staticmethod
        def forward(ctx, x): return x * 2
        @staticmethod
        def backward(ctx, g): return g
    out = repr(F.apply(T.ones(1, requires_grad=True)).grad_fn).split(' at ')[0].replace('tinygrad_edu', 'torch')
o = T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1); s = T.optim.lr_scheduler.StepLR(o, 2)
    out = s.state_dict()['last_epoch']
log = []
    class M(T.nn.Module):
        def forward(self, x): raise KeyError('no')
    m = M(); m.register_forward_hook(lambda m, a, o: log.append(o), always_call=True)
    m.register_forward_hook(lambda m, a, o: log.append(1))
    try: m(1)
    except KeyError: log.append('raised')
    out = log
m = T.nn.Linear(2, 1); m.register_forward_hook(lambda m, a, k, o: o * 2, with_kwargs=True)
    m.register_forward_pre_hook(lambda m, a, k: ((), {'input': T.ones(1, 2)}), with_kwargs=True); T.manual_seed(0)
    m.reset_parameters(); out = m(3), list(m._forward_hooks.values())[0].__name__
T.manual_seed(0); q, k, v = T.randn(2, 4, 5, 8), T.randn(2, 2, 5, 8, requires_grad=True), T.randn(2, 2, 5, 8)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    y.pow(2).sum().backward(); out = y, k.grad
n = np.int64; x = T.arange(6.).reshape(2, 3)
    out = (x.sum(n(0)), x.sum((n(0), 1)), x.mean(np.int32(1)), x.var(n(0)), x.T.chunk(n(3)), x.logsumexp(n(0)),
    x.roll(n(1), n(0)), T.Tensor(n(2), 3).shape, T.Tensor(n(2)).shape, T.zeros((n(2), n(3))), x.movedim(n(0), n(1)))
n = np.int64
    out = (T.nn.MaxPool2d(n(2))(T.ones(1, 1, 4, 4)), T.nn.LayerNorm(n(3))(T.arange(6.).reshape(2, 3)),
    F.conv2d(T.ones(1, 1, 4, 4), T.ones(1, 1, 3, 3), stride=n(2), padding=n(1)),
    F.avg_pool2d(T.ones(1, 1, 4, 4), n(2)), T.nn.LSTM(n(2), n(3), n(1))(T.ones(1, 1, 2))[0].shape)
T.ones(2) & 1
T.tensor([1, 2]) | 1.5
~T.ones(2)
sd = T.nn.Sequential(T.nn.BatchNorm1d(2)).state_dict(); del sd['0.num_batches_tracked']
    T.nn.Sequential(T.nn.BatchNorm1d(2)).load_state_dict(sd)
m = T.nn.Sequential(T.nn.Linear(2, 3))
    m.load_state_dict({'0.weight': T.ones(2, 2), '0.x': T.ones(1), 'y.z': T.ones(1), '0.bias.q': T.ones(1)})
T.distributions.Normal(T.tensor([0., 1.]), T.tensor([1., -1.]))
T.distributions.Categorical(T.tensor([-1., 2.]))
T.distributions.Categorical(logits=T.tensor([float('nan'), 2.]))
T.manual_seed(0)
    T.autograd.gradgradcheck(lambda a, b: (a * b, a.sum()),
    (T.ones(3, dtype=T.float64, requires_grad=True), T.ones(3, dtype=T.float64, requires_grad=True))); out = T.rand(2)
T.manual_seed(0); x, b = T.randn(64, 20, requires_grad=True), T.randn(4, 16, 1, requires_grad=True)
    y = (x.view(4, 16, 20) + b).log_softmax(2); (y * x.view(4, 16, 20).softmax(-1)).sum().backward()
    out = y, x.grad, b.grad
x = T.ones(1, 2, 3); out = [m(3, 2, batch_first=True)(x)[0].grad_fn.name() for m in (T.nn.GRU, T.nn.RNN, T.nn.LSTM)]
class P(T.nn.Parameter): pass
    p = P(T.ones(2)); out = type(p).__name__, type(p * 2).__name__ , p.requires_grad
""",
    "dtypes": r"""
out = T.tensor([1, 2]).sum(dtype=T.float64), T.tensor([1, 2]).sum(dtype=T.int32), T.tensor([1, 2]).sum(0, dtype=T.int32)
out = T.tensor([1., 2.]).sum(dtype=T.int32)
out = T.tensor([1., 2.]).sum(dtype=T.float16), T.tensor([1, 2]).prod(dtype=T.int8)
out = T.tensor([[1, 2]]).prod(1, dtype=T.int16), T.tensor([[1, 2]]).prod(1, dtype=T.float32)
out = T.tensor([1, 2]).cumsum(0, dtype=T.int32), T.tensor([1, 2]).cumprod(0, dtype=T.int32)
out = T.tensor([1., 2.]).mean(dtype=T.float64), T.tensor([1, 2]).mean(dtype=T.float32)
out = T.tensor([1, 2]).mean(0, dtype=T.float16), T.tensor([1., 2.]).softmax(0, dtype=T.float64)
out = T.tensor([1., 2.]).log_softmax(0, dtype=T.float64), T.tensor([1., 2.]).norm(dtype=T.float64)
out = T.linalg.vector_norm(T.tensor([1., 2.]), dtype=T.float64), T.tensor([True, True, False]).sum(dtype=T.uint8)
out = T.tensor([250, 10], dtype=T.uint8).sum(dtype=T.uint8)
out = str(T.result_type(1, 1.0))[-7:], str(T.result_type(1, 2))[-5:], str(T.result_type(T.tensor([1]), 1.0))[-7:]
out = str(T.result_type(1.0, T.tensor(1.0, dtype=T.float64)))[-7:]
out = str(T.result_type(True, 1))[-5:]
out = [f(t, n) for n in (np.float64(2.5), np.float32(2.5), np.int64(2), np.bool_(True))
    for t in (T.ones([]), T.ones(2), T.ones([], dtype=T.int32), T.ones(2, dtype=T.bool), T.ones([], dtype=T.float64))
    for f in (lambda t, n: t * n, lambda t, n: n * t, lambda t, n: t + n, lambda t, n: t / n, lambda t, n: t ** n,
    lambda t, n: T.add(t, n), lambda t, n: T.where(t > 0, t, n))]
out = [f(t, n) for n in (np.float64(2.5), np.int64(2), 2.5, 2)
    for t in (T.ones(2), T.ones(2, dtype=T.int32), T.ones(2, dtype=T.bool))
    for f in (lambda t, n: t.clamp(max=n), lambda t, n: t.clamp(n), lambda t, n: t.clamp_min(n), lambda t, n: t % n,
    lambda t, n: t.fmod(n), lambda t, n: T.pow(t, n))]
out = [(t * a).dtype == T.float64 for t in (T.ones(2), T.tensor([1, 2]), T.tensor(2.))
    for a in (np.array(3.), np.array([3., 2.]), np.array(3), np.array(3, dtype=np.float32), np.array(True))]
out = T.ones(2) + np.array(.1), T.tensor([1, 2]) * np.array([1.5, 2.])
out = T.ones(2).half() * np.array(3., dtype=np.float32), T.ones(2, dtype=T.int32) - np.array([3, 2])
out = T.ones(2).double() / np.array(3)
x = T.tensor([1., 2.], requires_grad=True); y = x.sum(dtype=T.float64); y.backward(); out = y, x.grad
x = T.tensor([[1., 2.]], requires_grad=True); y = x.prod(1, dtype=T.float64).sum(); y.backward(); out = y, x.grad
x = T.tensor([1., 2.], requires_grad=True); y = x.cumsum(0, dtype=T.float64).sum(); y.backward(); out = y, x.grad
x = T.tensor([1., 2.], requires_grad=True); y = x.cumprod(0, dtype=T.float64).sum(); y.backward(); out = y, x.grad
n = np.float64(2.5)
    out = (T.full((2,), n), T.full((2,), np.int32(3)), T.ones(2).lerp(T.zeros(2), n),
    T.ones(2).add(T.ones(2), alpha=n), T.normal(0., n, (2,)).dtype.itemsize,
    T.nn.Parameter(T.ones([]) * np.log(1 / 0.07)))
""",
    "optimizers": r"""
S, o = T.optim.lr_scheduler, T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1); s = S.ExponentialLR(o, .5)
    out = s.get_last_lr()
p = T.ones(2, requires_grad=True); a, b = T.optim.Adam([p]), T.optim.AdamW([p], lr=3.)
    b.load_state_dict(a.state_dict()); out = b.param_groups, b.defaults
p = T.ones(2, requires_grad=True); out = T.optim.Adagrad([p], initial_accumulator_value=.5).state_dict()
T.optim.SGD([T.ones(2, requires_grad=True)], lr=.1, foreach=True, fused=True)
T.optim.Adam([T.ones(2, requires_grad=True)], betas=(T.tensor(.9), .99))
T.optim.Adam([T.ones(2, requires_grad=True)], lr=None)
o = T.optim.SGD([T.ones(2, requires_grad=True)], lr=.1); s = T.optim.lr_scheduler.StepLR(o, 2)
    …s.step(); out = s.get_last_lr()
    | out = 0; | o.step();
w = T.ones(2, requires_grad=True); y = (w * w).sum(); w.grad = T.ones(2); T.optim.SGD([w], lr=.1).step(); y.backward()
T.manual_seed(0); m = T.nn.Linear(2, 1); o = T.optim.SGD(m.parameters()); out = []
    for clear in (o.zero_grad, m.zero_grad):
        m(T.ones(1, 2)).sum().backward(); held = m.weight.grad.requires_grad_(); clear(set_to_none=False)
        out += [held is m.weight.grad, held, held._version]; clear(); out += [m.weight.grad]
T.manual_seed(0); m = T.nn.Sequential(*[T.nn.Linear(2, 2) for _ in range(4)]); o = T.optim.AdamW(m.parameters(), lr=.1)
    for step in range(5):
        if step in (1, 3): o.state.clear()
        o.zero_grad(); m(T.ones(1, 2)).sum().backward(); o.step()
    out = [(p, p.grad) for p in m.parameters()], o.state_dict()['state']
d = T.float64; shared = T.ones(4, dtype=d); P = T.nn.Parameter
    p = [P(T.tensor(1., dtype=d)) for _ in range(4)] + [P(shared) for _ in range(2)]; o = T.optim.Adam(p, lr=.1)
    for _ in range(4): [setattr(q, 'grad', T.ones_like(q)) for q in p]; o.step()
    out = shared
T.set_default_dtype(T.float64); w = T.tensor([1.], requires_grad=True); o = T.optim.…([w]); (w * w).sum().backward()
    o.step(); out = {k: str(v.dtype)[-7:] for k, v in o.state[w].items()}; T.set_default_dtype(T.float32)
    | Adam | Adagrad | Adadelta
class Counting(T.optim.Optimizer):
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group['params']:
                    state = self.state[p]; state['step'] = state.get('step', 0) + 1
                    p.data.add_(p.grad.data, alpha=-group['lr'] / state['step'])
            self.state['calls'] = self.state.get('calls', 0) + 1
    w = T.tensor([[1., 2.], [3., 4.]], dtype=T.float64, requires_grad=True)
    o, other = (Counting([w], {'lr': .1}) for _ in '12')
    for _ in range(3): o.zero_grad(); (w.tanh() - .5).square().sum().backward(); o.step()
    other.load_state_dict(o.state_dict()); out = w, w.grad, other.state_dict()['state']
""",
    "memory order": r"""
x = T.arange(12.).view(3, 4); x[x > 9] = T.tensor(-1); x[T.tensor([True, False, False])] = T.tensor([5])
    x[x[:, 0] > 7, 1] = T.tensor(2.5, dtype=T.float64); y = T.arange(4); y[y > 2] = T.tensor(7.9)
    y[[True, False, False, False]] = T.tensor(-3.); out = x, y
x = T.arange(12.).view(3, 4); x[T.tensor([0])] = T.tensor(1)
x = T.arange(12.).view(3, 4); x[x > 9] = T.tensor([1, 2])
T.device('gpu')
x, y = T.ones(2, 3, 4).transpose(1, 2), T.ones(2, 4, 3); T.manual_seed(0)
    out = ((x + y).stride(), (x * y[:1]).stride(), (x - y).stride(), (y + x).stride(), F.dropout(x + y),
    T.rand(1))
import pickle, copy; x = T.ones(2)
    out = ([str(k) for k in (type(x), type(x.shape), type(x.dtype), type(x.device), type(T.finfo(T.float32)),
    type(T.nn.Parameter(x)))], pickle.loads(pickle.dumps((x, x.device))),
    pickle.loads(pickle.dumps(x.dtype)) is x.dtype, copy.deepcopy(x))
T.manual_seed(0); x = T.randn(3, 4, 5).transpose(0, 1)
    out = (T.rand_like(x), T.randn_like(x), T.bernoulli(x.sigmoid()), F.dropout(x, .4),
    F.gumbel_softmax(x), T.rand(2))
T.manual_seed(0); x = T.randn(20, 3).t(); f = lambda name, *a: getattr(x.clone(), name)(*a)
    out = (f('normal_'), f('uniform_', 1, 2), f('random_', 9), f('random_'), f('exponential_'), f('bernoulli_', .3),
    f('bernoulli_', x.sigmoid()), T.rand(2))
T.manual_seed(0); x = T.zeros(4, 5).t(); i = T.nn.init
    out = ([g(x.clone()) for g in (i.xavier_uniform_, i.kaiming_normal_)], T.zeros_like(x).stride(),
    T.ones_like(x[::2]).stride(), T.zeros_like(x).normal_(), T.full_like(x, 2, dtype=T.int64).stride())
T.manual_seed(0); m = T.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True); x = T.randn(5, 2, 4)
    out = m(x), m(x), T.rand(1)
T.manual_seed(0)
    out = F.dropout1d(T.ones(5, 4), .5), F.dropout3d(T.ones(5, 4, 1, 1), .5), T.rand(1)
F.dropout1d(T.ones(4), .5)
T.manual_seed(0); c = T.nn.Parameter(T.zeros(1, 1, 4))
    x = T.nn.Conv2d(3, 4, 2, 2)(T.ones(2, 3, 4, 4)).flatten(2).transpose(1, 2); x = T.cat([c.expand(2, -1, -1), x], 1)
    out = T.nn.Dropout(.5)(x + T.zeros(1, 5, 4)), T.rand(1)
T.manual_seed(0); a = T.zeros(21).normal_(), T.zeros(3, 3).t().normal_(), T.zeros(2).normal_(), T.rand(1); out = a
""",
    "floats alone": r"""
…
    | T.addmm(T.ones(2, 2).double(), T.ones(2, 2), T.ones(2, 2)) | T.ones(3)[T.tensor([])]
    | T.tensor([True, False]).argmax() | F.prelu(T.ones(2).double(), T.ones(1))
    | T.nn.BatchNorm1d(4, dtype=T.float64)(T.ones(2, 4)) | T.nn.BatchNorm1d(4)(T.ones(2, 4).double())
    | T.nn.LayerNorm(4)(T.ones(2, 4).double()) | T.nn.GroupNorm(2, 4).double()(T.ones(2, 4))
    | F.binary_cross_entropy_with_logits(T.ones(3), T.ones(3).long())
    | F.cross_entropy(T.ones(2, 3), T.ones(2, dtype=T.int32)) | F.kl_div(T.ones(3), T.ones(3).long())
    | F.margin_ranking_loss(T.ones(3, 1), T.ones(3), T.ones(3)) | T.allclose(T.ones(2), T.ones(2).double())
    | T.isclose(T.ones(2), T.ones(2).long()) | T.flatten(T.ones(3), 1)
    | T.nn.ConvTranspose2d(1, 1, 3, output_padding=1)(T.ones(1, 1, 4, 4))
    | T.nn.Upsample(size=7, recompute_scale_factor=True)(T.ones(1, 1, 4, 4))
""",
    "of autograd": r"""
with T.inference_mode():
        made = [T.rand(2), T.randn(2), T.randint(3, (2,)), T.randperm(3), T.rand_like(T.ones(2))]
        made += [T.normal(0., 1., (2,)), T.multinomial(T.ones(3), 2), T.from_numpy(np.ones(2)), T.zeros(2)]
    out = [m.is_inference() for m in made]
with T.inference_mode(): z = T.rand(2)
    (z * T.ones(2, requires_grad=True)).sum().backward()
x = T.zeros(2, dtype=T.float64, requires_grad=True); g, = T.autograd.grad(x.norm(), x, create_graph=True)
    out = g, T.autograd.grad(g.sum(), x)
x = T.zeros(2, dtype=T.float64, requires_grad=True); g, = T.autograd.grad(x.norm(3), x, create_graph=True)
    out = g, T.autograd.grad(g.sum(), x)
y = T.zeros(2, dtype=T.float64, requires_grad=True)
    g, = T.autograd.grad(T.atan2(y, T.tensor([0., 1.], dtype=T.float64)).sum(), y, create_graph=True)
    out = g, T.autograd.grad(g.sum(), y)
""",
    "calls": r"""
x = T.tensor([1., 2.]); y = …; out = y
    | T.empty(0); T.add(x, x, out=y) | T.zeros(2); T.mul(x, 3, out=y) | T.zeros(2, dtype=T.int64); T.add(x, x, out=y)
out = …
    | T.ones(2).type(T.LongTensor), T.ones(2).type('torch.DoubleTensor'), T.ones(2).type(T.float64)
    | T.ones(2).type(), T.ones(2).long().type(), T.ones(2).bool().type(), T.ones(2).half().type()
    | T.ones(2).byte().type()
    | T.FloatTensor([1, 2]), T.IntTensor([1, 2]), T.ShortTensor([1]), T.CharTensor([1]), T.ByteTensor([1])
    | T.HalfTensor([1.]) | isinstance(T.ones(2), T.FloatTensor), isinstance(T.ones(2), T.DoubleTensor)
    | isinstance(T.ones(2).long(), T.LongTensor)
    | (isinstance(T.nn.Parameter(T.ones(2)), T.FloatTensor), isinstance(3, T.FloatTensor))
    | (T.full(size=(2,), fill_value=3), T.full((2,), 3.), T.full([2], True))
    | (T.Tensor([1, 2]), T.Tensor(2, 3).shape[1], T.Tensor(T.ones(2)), T.Tensor().shape[0], T.Tensor(np.ones(2)))
    | T.Tensor(T.ones(2).long()), T.Tensor(T.ones(2, 3).size()).shape[1]
    | (T.ones(2).new_tensor([1, 2]), T.ones(2).new_full((2,), 3), T.ones(2).new_zeros(2, 3))
    | T.is_same_size(T.ones(2), T.ones(2)) | T.einsum('ij,jk', T.ones(2, 3), T.ones(2, 3))
    | T.ones(2, 3).gather(1, T.tensor([[5]])) | T.ones(2, 3).scatter(1, T.tensor([[5]]), 1.)
    | T.optim.SGD(T.ones(2), lr=.1) | T.randint(5, 5, (2,)) | T.Tensor(1.5)
a = T.ones(3); b = T.tensor([1., 2., 3.]); out = a.clone().add_(.5, b)
T.manual_seed(0)
    out = (T.rand(size=(2, 3)), T.randn(size=(2,)), T.zeros(size=(2,)), T.ones(size=[2, 1]),
    T.empty(size=(2, 3)).shape[0])
T.manual_seed(0)
    out = T.randint(10, size=(3,)), T.randint(high=10, size=(3,)), T.randint(2, 5, size=(3,)), T.randint(0, 5, (2,))
T.manual_seed(0); out = T.randint(low=0, high=5, size=(2,), dtype=T.float32)
T.manual_seed(0)
    out = (T.normal(0., 1., size=(2,), requires_grad=True), T.normal(2, 3, size=(1, 4)),
    T.normal(mean=T.zeros(2), std=T.ones(2)))
x = T.tensor([1., 2.]); y = T.zeros(2); z = T.sin(x, out=y); out = y, z is y
x = T.tensor([1., 2.], requires_grad=True); y = T.zeros(2); T.add(x, x, out=y); out = y
v, i = T.zeros(1), T.zeros(1, dtype=T.int64); T.max(T.tensor([[1., 5.]]), 1, out=(v, i)); out = v, i
y = T.zeros(2); T.randn(2, out=y); T.ones(2, out=y); out = y
y = T.zeros(2, 2); T.cat([T.ones(1, 2), T.ones(1, 2)], out=y); T.stack([T.ones(2), T.ones(2)], out=y); out = y
y = T.zeros(3); T.arange(3, out=y); out = y
T.set_default_device('cpu'); out = T.ones(2), str(T.get_default_device()); T.set_default_device(None)
""",
    "hooks of modules": r"""
T.manual_seed(0)
    m = T.nn.ReLU(); h = m.register_backward_hook(lambda m, i, o: (i[0] * 3,))
    x = T.ones(4, requires_grad=True); m(x * 2).sum().backward(); h.remove(); out = x.grad
log = []
    m = T.nn.Linear(2, 2)
    m.register_full_backward_hook(lambda m, i, o: log.append((len(i), len(o), i[0] is None)))
    m(T.ones(1, 2)).sum().backward(); out = log
m = T.nn.Linear(2, 2); m.register_full_backward_hook(lambda m, i, o: …); m(T.ones(1, 2)).sum().backward(); out = 1
    | (T.ones(1, 2),) | (None,)
m = T.nn.Linear(2, 2); m.weight.data.fill_(1.); m.register_full_backward_hook(lambda m, i, o: …)
    x = T.ones(1, 2, requires_grad=True); m(x).sum().backward(); out = x.grad
    | (i[0] * 2,) | (i[0], i[0])
m = T.nn.Linear(2, 2); m.register_full_backward_pre_hook(lambda m, o: …); m(T.ones(1, 2)).sum().backward()
    out = m.weight.grad
    | (o[0] * 3,) | (o[0], o[0])
from collections import namedtuple
    P = namedtuple('P', 'a b')
    class M(T.nn.Module):
        def forward(self, x): return P(x * 2, x * 3)
    m = M(); m.register_full_backward_hook(lambda m, i, o: None)
    x = T.ones(2, requires_grad=True); y = m(x); (y.a + y.b).sum().backward(); out = type(y).__name__, x.grad
class M(T.nn.Module):
        def forward(self, x): return {'a': x * 2}
    m, log = M(), []; m.register_full_backward_hook(lambda m, i, o: log.append(1))
    x = T.ones(2, requires_grad=True); m(x)['a'].sum().backward(); out = log, x.grad
""",
    "lists of tensors": r"""
a = T.tensor([.5]); out = …
    | T.tensor([a, a]) | T.tensor([[a], [a]]) | T.tensor([[a, a], [a, 3.0]]) | T.FloatTensor([a, a]) | T.Tensor([a, a])
    | T.as_tensor([a, a])
a = T.tensor(2.0, dtype=T.float64); out = T.tensor([…])
    | a, a | 1, a | a, 1
out = T.tensor(…)
    | [range(2), range(2)] | [[1, 2], [3]] | [1, [2]] | 'a' | None | [None] | {1: 2}
out = T.tensor([np.float64(1.5), 2]), T.tensor([np.float32(1.5), np.float32(2)]), T.tensor((np.int64(1), 2))
out = T.tensor([]), T.tensor([[], []]), T.tensor([True, 2]), T.tensor(range(4))
a = T.tensor(…); out = T.tensor([a, a])
    | [[.5]] | [.5, 1.] | [1, 2] | True | 2, dtype=T.int32
a = T.tensor(2); out = T.tensor([a, …])
    | 1 | 1.5
a = T.tensor(2.0, dtype=T.float16); out = T.tensor([[a, a]])
a = T.tensor([1.0, 2.0]); out = T.tensor(…)
    | [x.item() for x in a] | list(a)
a = T.tensor([1.0, 2.0], requires_grad=True); out = T.tensor([a[0], a[1]])
""",
    "in place": r"""
a = T.zeros(1).expand(3); a.…; out = a
    | index_add_(0, T.tensor([0, 1]), T.ones(2)) | scatter_(0, T.tensor([0, 1]), T.ones(2))
    | scatter_add_(0, T.tensor([0, 1]), T.ones(2)) | index_copy_(0, T.tensor([0, 1]), T.ones(2))
a = T.arange(4.); a.…; out = a
    | scatter_(0, T.tensor([0, 1, 2]), a[1:]) | index_add_(0, T.tensor([0, 1, 2]), a[1:])
    | index_copy_(0, T.tensor([0, 1, 2]), a[1:])
a = T.tensor([1, 2, 3]); a…; out = a
    | .masked_fill_(T.tensor([True, False, True]), 5.) | .masked_fill_(T.tensor([True, False, True]), 5.5) | [0] = 5.5
    | .fill_(2.5)
import operator as o; out = [(f(a := T.tensor([5., 7.]), 3) is a, a) for f in (o.ifloordiv, o.itruediv, o.ipow, o.imod)]
import operator as o
    out = ([(f(a := T.tensor([5, 7]), 4) is a, a) for f in (o.ifloordiv, o.imod, o.iand, o.ior, o.ixor)],
    o.imatmul(T.ones(2, 2), T.ones(2, 2)))
a = T.tensor([5, 7]); a /= 2
a = T.tensor([5, 7]); a *= 1.5
a = T.tensor([5., 7.], requires_grad=True); b = a * 1; b //= 2; b.sum().backward(); out = a.grad, b
a = T.tensor([1, 2, 3]); out = a.masked_fill(T.tensor([True, False, True]), 5.5)
a = T.tensor([1, 2, 3]); out = a.masked_fill(T.tensor([True, False, True]), T.tensor(5.5))
a = T.tensor([True, False]); out = a.masked_fill(T.tensor([True, True]), 2.5)
a = T.zeros(3, 3); a.fill_diagonal_(2); out = a
a = T.zeros(2, 3); a.fill_diagonal_(T.tensor(2)); out = a
""",
    "indexing": r"""
x = T.arange(9.).reshape(3, 3); out = x[…]
    | [[0, 1], [1, 2]] | [[0, 1]] | [[[0, 1], [1, 2]]] | [slice(0, 2), 1]
    | [[True, False, True], [True, False, True], [False, False, True]] | [None, 1]
    | [T.tensor([0, 1]), T.tensor([1, 2])] | T.tensor([1, 0, 1], dtype=T.uint8) | 'a' | 1.0 | T.tensor([0.5]) | 5 | [5]
    | ::-1
x = T.arange(9.).reshape(3, 3)
    out = (x[[0, 1]], x[[0, 1], [1, 2]], x[[0, 1], :], x[[[0, 1], [1, 2]], 0], x[[True, False, True]],
    x[(T.tensor([0, 1]), [1, 2])], x[np.array([0, 1])])
x = T.arange(9.).reshape(3, 3)
    out = (x[T.tensor(1)], x[T.tensor([True, False, True])], x[range(2)], x[[]], x[..., [0, 2]], x[:, None, [0, 2]],
    x[np.int64(1)], x[::2, 1:])
x = T.arange(3.); out = x[T.tensor(True)]
x = T.arange(9.).reshape(3, 3); x[[0, 1]] = 5.; out = x
x = T.arange(9.).reshape(3, 3); x[[[0, 1], [1, 2]]] = 5.; out = x
""",
    "whole numbers": r"""
out = …
    | T.tensor([5, 6]) / 0, T.tensor([5., 6.]) // 0, T.tensor([5., 6.]) % 0, T.floor_divide(T.tensor([-5, 6]), 2)
    | T.tensor([2, 3]) ** T.tensor([-1, 1]), T.bincount(T.tensor([1, 1, 3]))
    | T.bincount(T.tensor([], dtype=T.int64)), T.add(T.tensor([1., 2.]), T.tensor([1., 2.]), alpha=T.tensor(2.))
    | T.tensor([1., 2.]).add(T.tensor([1., 2.]), alpha=T.tensor(2))
    | T.tensor([1., 2.]).add_(T.tensor([1., 2.]), alpha=T.tensor(0.5))
    | T.sub(T.tensor([1., 2.]), T.tensor([1., 2.]), alpha=T.tensor(2.)) | T.tensor([5, 6]) // 0
    | T.tensor([5, 6]) // T.tensor([1, 0]) | T.tensor([5, 6]) % 0 | T.tensor([5, 6]) % T.tensor([1, 0])
    | T.fmod(T.tensor([5, 6]), 0) | T.fmod(T.tensor([5, 6]), T.tensor([0, 1])) | T.remainder(T.tensor([5, 6]), 0)
    | T.div(T.tensor([5, 6]), 0, rounding_mode='floor') | T.div(T.tensor([5, 6]), 0, rounding_mode='trunc')
    | 5 // T.tensor([2, 0]) | 5 % T.tensor([2, 0]) | T.tensor([2, 3]) ** -1 | T.bincount(T.tensor([-1, 1]))
    | T.bincount(T.tensor([[1]])) | T.bincount(T.tensor([1, 1, 3]), minlength=-1)
    | T.bincount(T.tensor([1, 1]), weights=T.tensor([.5])) | T.zeros(3).random_(3, 1) | T.zeros(3).random_(0)
    | T.add(T.tensor([1, 2]), T.tensor([1, 2]), alpha=1.5)
    | T.add(T.tensor([1, 2]), T.tensor([1, 2]), alpha=T.tensor([1, 2]))
a = T.tensor([5, 6]); a //= 0; out = a
a = T.tensor([5, 6]); a %= 0; out = a
""",
    "asked": r"""
out = …
    | [x.item() for x in reversed(T.tensor([1., 2., 3.]))], reversed(T.tensor([[1., 2.], [3., 4.]]))
    | 1 in T.tensor([1., 2.]), T.tensor(2.) in T.tensor([1., 2.])
    | T.tensor([1., 2.]) in T.tensor([[1., 2.], [3., 4.]]), list(T.zeros(2, 3).shape + (4,))
    | list(T.zeros(2, 3).size() + T.zeros(1).size()), [4] + list(T.zeros(2, 3).shape)
    | bool(T.tensor(2., requires_grad=True)) | T.take_along_dim(T.arange(6.).reshape(2, 3), T.tensor([[0, 1]]), dim=1)
    | T.take_along_dim(T.arange(6.).reshape(2, 3), T.tensor([[5]]), dim=1)
    | T.take_along_dim(T.arange(6.), T.tensor([0, 1]))
    | T.roll(T.arange(6.).reshape(2, 3), 1), T.roll(T.arange(6.).reshape(2, 3), 1, dims=None)
    | T.roll(T.arange(6.).reshape(2, 3), (1, 2), (0, 1)) | (T.is_nonzero(T.tensor(0.)), T.numel(T.zeros(2, 3)))
    | 'a' in T.tensor([1., 2.]) | None in T.tensor([1., 2.]) | list(T.zeros(2, 3).shape + [4]) | T.normal(0., -1., (3,))
    | T.normal(T.zeros(2), T.tensor([1., -1.])) | T.zeros(3).normal_(0, -1) | T.tensor([1.]).std()
    | T.tensor([1.]).var() | T.tensor([[1., 2.]]).std(0) | T.tensor([]).std() | T.std_mean(T.tensor([1.]))
    | T.take_along_dim(T.arange(6.).reshape(2, 3), T.tensor([0, 1]), dim=1)
    | T.take_along_dim(T.arange(6.).reshape(2, 3), T.tensor([[0.5]]), dim=1)
    | T.roll(T.arange(6.).reshape(2, 3), (1, 1), dims=None) | T.roll(T.arange(6.).reshape(2, 3), 1, (0, 1))
    | T.nn.MultiheadAttention(4, 3)
    | T.nn.MultiheadAttention(4, 2)(T.zeros(3, 2, 5), T.zeros(3, 2, 4), T.zeros(3, 2, 4))
    | T.nn.MultiheadAttention(4, 2)(T.zeros(3), T.zeros(3), T.zeros(3))
    | T.nn.MultiheadAttention(4, 2)(T.zeros(3, 2, 4), T.zeros(5, 2, 4), T.zeros(6, 2, 4))[0].shape
out = list((4,) + T.zeros(2, 3).shape), int(T.tensor(2., requires_grad=True)), T.tensor(2., requires_grad=True).item()
out = len(T.zeros(0, 3)), T.zeros(2, 3).ndimension(), T.tensor(3).is_nonzero(), T.zeros(2, 3).is_same_size(T.ones(2, 3))
out = T.nn.MultiheadAttention(4, 2)(T.zeros(3, 2, 4), T.zeros(5, 2, 4), T.zeros(5, 2, 4), attn_mask=T.zeros(2, 2))[0]
out = T.nn.MultiheadAttention(4, 2)(T.zeros(3, 2, 4), T.zeros(5, 2, 4), T.zeros(5, 2, 4),
    key_padding_mask=T.zeros(2, 2))[0]
""",
    "transforms": r"""
w, x = (T.tensor(v, dtype=T.float64, requires_grad=True) for v in ([2., 3.], [5., 7.]))
    T.func.grad(lambda w, x: (w * w * x + w).sum())(w, x).sum().backward(); out = w.grad, x.grad
with T.inference_mode(): v = T.tensor([1., 2.]) * 1
    out = T.func.grad(lambda v: (v ** 2).sum())(v).tolist()
m = T.nn.Linear(2, 2, bias=False); m.weight = T.nn.Parameter(T.tensor([[1., 2.], [3., 4.]]))
    given = T.tensor([[3., 4.], [6., 8.]], requires_grad=True)
    out = T.func.functional_call(m, {'weight': given}, (T.ones(2),)); out.sum().backward()
    out = out.detach(), given.grad, m.weight
    try: T.func.functional_call(m, {'absent.weight': given}, (T.ones(2),))
    except Exception as error: out += (type(error).__name__,)
fn, d, one = T.func, T.float64, T.ones(2, dtype=T.float64)
    w, x = T.tensor([2., 3.], dtype=d), T.tensor([5., 7.], dtype=d)
    f, two = lambda w, x: (w * w * x + w).sum(), lambda w, x: (w * x, w.sum()); out = …
    | fn.grad(f)(w, x) | fn.grad_and_value(f)(w, x) | fn.grad(f, argnums=1)(w, x) | fn.grad(f, argnums=(0, 1))(w, x)
    | fn.grad(lambda w, x: (f(w, x), {'product': w * x}), has_aux=True)(w, x)
    | fn.grad(lambda v: (v['w'] * 3 + v['b']).sum())({'w': w, 'b': x})
    | fn.grad(lambda v: fn.grad(f)(v, x).sum())(w) | fn.jvp(lambda v: v * v * x, (w,), (one,))
    | (lambda y, product: (y, product(one)))(*fn.vjp(lambda v: v * v * x, w))
    | fn.jvp(lambda v: fn.grad(f)(v, x), (w,), (one,))
    | fn.vjp(two, w, x)[1]((x, w[0])) | fn.jvp(lambda w, x: w * x, (w, x), (x, w)) | fn.jacrev(lambda v: v**2)(w)
    | fn.jacfwd(lambda v: T.stack([v.sum(), v.prod()]))(w) | fn.jacrev(two, argnums=(0, 1))(w, x)
    | fn.jacfwd(two, argnums=(0, 1))(w, x) | fn.hessian(lambda v: (v**3).sum() + v[0] * v[1] ** 2)(w)
w, x = T.tensor([2., 3.], dtype=T.float64), T.tensor([5., 7.], dtype=T.float64)
    with T.…(): out = T.func.grad(lambda w, x: (w * w * x + w).sum())(w, x).tolist()
    | inference_mode | no_grad
""",
    "memory": r"""
a = np.arange(4.); t = T.from_numpy(a); a[0] = 9; t.mul_(2); s = t.numpy(); s[3] = -1
    out = a.tolist(), t, np.shares_memory(s, a), t._version, t.is_leaf
import copy, pickle; a, x = T.arange(6.), T.ones(3, requires_grad=True); b, c = copy.deepcopy([a, a]); b[0] = 100.
    with T.no_grad(): v = x[1:]
    out = b, c is b, a, copy.deepcopy(v).requires_grad, pickle.loads(pickle.dumps(v)).requires_grad
a = …; t = T.from_numpy(a)
    out = t, t.stride(), np.shares_memory(t.numpy(), a), t * t
    | np.arange(6.)[1:5:2] | np.arange(6.).reshape(2, 3).T | np.array(2.5) | np.matrix([[1., 2.], [3., 4.]])
    | np.array([True, False]) | np.ones(2, np.float16) | np.arange(3.)[::-1] | np.array(['a'])
    | np.array([None]) | [1., 2.]
t, w = T.ones(2), T.ones(2, requires_grad=True); out = …
    | np.shares_memory(np.asarray(t), t.numpy()) | np.asarray(t, dtype=np.int32).dtype.name | w.numpy().tolist()
    | np.shares_memory(np.array(t), t.numpy()) | np.array([T.tensor(1.), T.tensor(2.)], dtype=np.float32).tolist()
    | np.sin(T.zeros(2)).tolist() | np.asarray(w).tolist() | w.numpy(force=True).tolist() | (w * 2).numpy().tolist()
    | (w * 2).detach().numpy().tolist() | t * np.array([2., 3.]) | np.float64(3) * t
t = T.ones(2); m = …; out = m, m is t
    | t.to(T.float64) | t.to('cpu', T.float64) | t.to(device='cpu', dtype=T.float64)
    | t.to(T.device('cpu')) | t.to(T.float32) | t.to(None, T.float64)
    | t.to(T.device('cpu'), T.float64, False, True) | t.to(T.ones(1, dtype=T.float64))
    | t.to(T.float32, False, True) | t.new(2, 1).zero_() | t.long().new([1, 2]) | t.new(T.ones(1).size()).zero_()
w, i = T.arange(4.), T.tensor([3, 2, 1, 0])
    try: …; out = w, i
    except RuntimeError as error: out = str(error)[:40], w, i
    | w.index_add_(0, i, w) | w.index_copy_(0, i, w) | w.scatter_(0, i, w) | w.scatter_add_(0, i, w.detach())
    | w.__setitem__(i, w) | i.index_put_((i,), i * 0 + 1) | T.mul(w, 2, out=w) | w.mul_(w)
V, t, w = T.autograd.Variable, T.ones(2), T.ones(2, requires_grad=True); v = …
    out = v, v.requires_grad, v.is_leaf, v.grad_fn is None, type(v) is T.Tensor
    | V(t) | V(t, requires_grad=True) | V(t, True) | V(data=t) | V() | V(w) | V(w * 2, requires_grad=True) | V([1., 2.])
    | V(3.) | V(T.tensor([1, 2]), requires_grad=True) | V(t, requires_grad=True, volatile=True)
V, t = T.autograd.Variable, T.ones(2); v = V(t); t.add_(1)
    kinds = [isinstance(x, V) for x in (T.ones(1), v, T.ones(1, requires_grad=True) * 2, 3., [1.])]
    out = v is t, v, v._version, v.data_ptr() in (t.data_ptr(),), kinds
""",
    "infinities": r"""
inf, x = float('inf'), T.tensor([1., 2.], dtype=T.float64, requires_grad=True)
    (x * T.tensor([[inf, 1.], [-inf, 1.]], dtype=T.float64)).sum().backward(); out = x.grad
inf, x = float('inf'), T.tensor([1., 2.], dtype=T.float64, requires_grad=True)
    (x * inf).sum().backward(); (x * -inf).sum().backward(); y = x * 2
    out = x.grad, T.autograd.grad((y * inf).sum() + (y * -inf).sum(), x)
x = T.tensor(1e308, dtype=T.float64, requires_grad=True); y = x * 1; y.retain_grad()
    for _ in range(2): (y * 1e308).backward(retain_graph=True)
    out = x.grad, y.grad
x = T.tensor([1.], requires_grad=True); (x.double() * 1e300).backward(); out = x.grad
inf, x = float('inf'), T.tensor([[1., 2.], [3., 4.]], dtype=T.float64, requires_grad=True); y = x * 1
    y[0] = T.tensor([inf, 1.], dtype=T.float64); y.view(-1)[1:].mul_(inf); (y - y).sum().backward(); out = x.grad
inf, x = float('inf'), T.tensor([1., 2.], dtype=T.float64, requires_grad=True)
    class Wide(T.autograd.Function):
        forward = staticmethod(lambda ctx, x: x * 1)
        backward = staticmethod(lambda ctx, g: T.tensor([[inf, 1.], [-inf, 1.]], dtype=T.float64))
    Wide.apply(x).sum().backward(); out = x.grad
out = T.tensor([1e300]), T.tensor([1e300], dtype=T.float64).float(), T.tensor(1e300, dtype=T.float32)
inf, x = float('inf'), T.tensor([1.], dtype=T.float64, requires_grad=True)
    out = T.autograd.gradcheck(lambda a: a * inf, x, raise_exception=False), x * inf - x * inf
""",
}


def programs() -> Iterator[tuple[str, str]]:
    """The subject and the source of each program."""
    for subject, text in FORMS.items():
        for row in re.split(r"\n(?!    )", text.strip()):
            form, *fillings = re.split(r"\s+\| ", row) if "…" in row else [row]
            for filling in fillings or [""]:
                yield subject, form.replace("…", filling).replace("\n    ", "\n")
