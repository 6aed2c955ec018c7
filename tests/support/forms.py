"""Small programs in the forms that people write: how tensors are made, indexed, written to and asked. A table, by subject.

Each is source text in which `T` is the engine and `out` is what the engines are compared by.
"""

from __future__ import annotations

__all__ = ["FORMS"]

LISTS_OF_TENSORS = """
a = T.tensor([.5]); out = T.tensor([a, a])
a = T.tensor([.5]); out = T.tensor([[a], [a]])
a = T.tensor([.5]); out = T.tensor([[a, a], [a, 3.0]])
a = T.tensor([[.5]]); out = T.tensor([a, a])
a = T.tensor([.5, 1.]); out = T.tensor([a, a])
a = T.tensor([1, 2]); out = T.tensor([a, a])
a = T.tensor(2.0, dtype=T.float64); out = T.tensor([a, a])
a = T.tensor(2.0, dtype=T.float64); out = T.tensor([1, a])
a = T.tensor(2.0, dtype=T.float64); out = T.tensor([a, 1])
a = T.tensor(2); out = T.tensor([a, 1])
a = T.tensor(2); out = T.tensor([a, 1.5])
a = T.tensor(True); out = T.tensor([a, a])
a = T.tensor(2, dtype=T.int32); out = T.tensor([a, a])
a = T.tensor(2.0, dtype=T.float16); out = T.tensor([[a, a]])
a = T.tensor([1.0, 2.0]); out = T.tensor([x.item() for x in a])
a = T.tensor([1.0, 2.0]); out = T.tensor(list(a))
a = T.tensor([1.0, 2.0], requires_grad=True); out = T.tensor([a[0], a[1]])
a = T.tensor([.5]); out = T.FloatTensor([a, a])
a = T.tensor([.5]); out = T.Tensor([a, a])
a = T.tensor([.5]); out = T.as_tensor([a, a])
out = T.tensor([np.float64(1.5), 2])
out = T.tensor([np.float32(1.5), np.float32(2)])
out = T.tensor([np.ones(2), np.zeros(2)])
out = T.tensor((np.int64(1), 2))
out = T.tensor([[1, 2], [3]])
out = T.tensor([1, [2]])
out = T.tensor([])
out = T.tensor([[], []])
out = T.tensor([True, 2])
out = T.tensor(range(4))
out = T.tensor([range(2), range(2)])
out = T.tensor('a')
out = T.tensor(None)
out = T.tensor([None])
out = T.tensor({1: 2})
"""

IN_PLACE = """
a = T.tensor([5., 7.]); b = a; a //= 2; out = a, b
a = T.tensor([5., 7.]); b = a; a /= 2; out = a, b
a = T.tensor([5., 7.]); b = a; a **= 2; out = a, b
a = T.tensor([5., 7.]); b = a; a %= 3; out = a, b
a = T.tensor([5, 7]); b = a; a //= 2; out = a, b
a = T.tensor([5, 7]); b = a; a %= 4; out = a, b
a = T.tensor([5, 7]); b = a; a &= 4; out = a, b
a = T.tensor([5, 7]); b = a; a |= 8; out = a, b
a = T.tensor([5, 7]); b = a; a ^= 1; out = a, b
a = T.tensor([5, 7]); b = a; a <<= 1; out = a, b
a = T.tensor([5, 7]); b = a; a >>= 1; out = a, b
a = T.ones(2, 2); b = a; a @= a; out = a, b
a = T.tensor([5, 7]); b = a; a /= 2; out = a, b
a = T.tensor([5, 7]); b = a; a *= 1.5; out = a, b
a = T.tensor([5., 7.], requires_grad=True); b = a * 1; b //= 2; b.sum().backward(); out = a.grad, b
a = T.tensor([1, 2, 3]); a.masked_fill_(T.tensor([True, False, True]), 5.); out = a
a = T.tensor([1, 2, 3]); a.masked_fill_(T.tensor([True, False, True]), 5.5); out = a
a = T.tensor([1, 2, 3]); out = a.masked_fill(T.tensor([True, False, True]), 5.5)
a = T.tensor([1, 2, 3]); out = a.masked_fill(T.tensor([True, False, True]), T.tensor(5.5))
a = T.tensor([1, 2, 3]); a[0] = 5.5; out = a
a = T.tensor([1, 2, 3]); a.fill_(2.5); out = a
a = T.tensor([True, False]); out = a.masked_fill(T.tensor([True, True]), 2.5)
a = T.zeros(3, 3); a.fill_diagonal_(2); out = a
a = T.zeros(7, 3); a.fill_diagonal_(2, wrap=True); out = a
a = T.zeros(3, 7); a.fill_diagonal_(2, wrap=True); out = a
a = T.zeros(2, 3); a.fill_diagonal_(T.tensor(2)); out = a
a = T.zeros(1).expand(3); a.index_add_(0, T.tensor([0, 1]), T.ones(2)); out = a
a = T.zeros(1).expand(3); a.scatter_(0, T.tensor([0, 1]), T.ones(2)); out = a
a = T.zeros(1).expand(3); a.scatter_add_(0, T.tensor([0, 1]), T.ones(2)); out = a
a = T.zeros(1).expand(3); a.index_copy_(0, T.tensor([0, 1]), T.ones(2)); out = a
a = T.arange(4.); a.scatter_(0, T.tensor([0, 1, 2]), a[1:]); out = a
a = T.arange(4.); a.index_add_(0, T.tensor([0, 1, 2]), a[1:]); out = a
a = T.arange(4.); a.index_copy_(0, T.tensor([0, 1, 2]), a[1:]); out = a
"""

INDEXING = """
x = T.arange(9.).reshape(3, 3); out = x[[[0, 1], [1, 2]]]
x = T.arange(9.).reshape(3, 3); out = x[[0, 1]]
x = T.arange(9.).reshape(3, 3); out = x[[[0, 1]]]
x = T.arange(9.).reshape(3, 3); out = x[[0, 1], [1, 2]]
x = T.arange(9.).reshape(3, 3); out = x[[0, 1], :]
x = T.arange(9.).reshape(3, 3); out = x[[[0, 1], [1, 2]], 0]
x = T.arange(9.).reshape(3, 3); out = x[[[[0, 1], [1, 2]]]]
x = T.arange(9.).reshape(3, 3); out = x[[slice(0, 2), 1]]
x = T.arange(9.).reshape(3, 3); out = x[[True, False, True]]
x = T.arange(9.).reshape(3, 3); out = x[[[True, False, True], [True, False, True], [False, False, True]]]
x = T.arange(9.).reshape(3, 3); out = x[[None, 1]]
x = T.arange(9.).reshape(3, 3); out = x[[T.tensor([0, 1]), T.tensor([1, 2])]]
x = T.arange(9.).reshape(3, 3); out = x[(T.tensor([0, 1]), [1, 2])]
x = T.arange(9.).reshape(3, 3); out = x[np.array([0, 1])]
x = T.arange(9.).reshape(3, 3); out = x[T.tensor(1)]
x = T.arange(9.).reshape(3, 3); out = x[T.tensor([True, False, True])]
x = T.arange(9.).reshape(3, 3); out = x[T.tensor([1, 0, 1], dtype=T.uint8)]
x = T.arange(3.); out = x[T.tensor(1, dtype=T.uint8)]
x = T.arange(3.); out = x[T.tensor(0, dtype=T.uint8)]
x = T.arange(3.); x[T.tensor(1, dtype=T.uint8)] = 7.; out = x
x = T.arange(3.); out = x[T.tensor(True)]
x = T.arange(3.); x[T.tensor([1, 0, 1], dtype=T.uint8)] = 7.; out = x
x = T.arange(9.).reshape(3, 3); x[[0, 1]] = 5.; out = x
x = T.arange(9.).reshape(3, 3); x[[[0, 1], [1, 2]]] = 5.; out = x
x = T.arange(9.).reshape(3, 3); out = x[range(2)]
x = T.arange(9.).reshape(3, 3); out = x[[]]
x = T.arange(9.).reshape(3, 3); out = x['a']
x = T.arange(9.).reshape(3, 3); out = x[1.0]
x = T.arange(9.).reshape(3, 3); out = x[T.tensor([0.5])]
x = T.arange(9.).reshape(3, 3); out = x[5]
x = T.arange(9.).reshape(3, 3); out = x[[5]]
x = T.arange(9.).reshape(3, 3); out = x[..., [0, 2]]
x = T.arange(9.).reshape(3, 3); out = x[:, None, [0, 2]]
x = T.arange(9.).reshape(3, 3); out = x[np.int64(1)]
x = T.arange(9.).reshape(3, 3); out = x[::2, 1:]
x = T.arange(9.).reshape(3, 3); out = x[::-1]
"""

DTYPES = """
out = T.tensor([1, 2]).sum(dtype=T.float64)
out = T.tensor([1, 2]).sum(dtype=T.int32)
out = T.tensor([1, 2]).sum(0, dtype=T.int32)
out = T.tensor([1., 2.]).sum(dtype=T.int32)
out = T.tensor([1., 2.]).sum(dtype=T.float16)
out = T.tensor([1, 2]).prod(dtype=T.int8)
out = T.tensor([[1, 2]]).prod(1, dtype=T.int16)
out = T.tensor([[1, 2]]).prod(1, dtype=T.float32)
out = T.tensor([1, 2]).cumsum(0, dtype=T.int32)
out = T.tensor([1, 2]).cumprod(0, dtype=T.int32)
out = T.tensor([1., 2.]).mean(dtype=T.float64)
out = T.tensor([1, 2]).mean(dtype=T.float32)
out = T.tensor([1, 2]).mean(0, dtype=T.float16)
out = T.tensor([1., float('nan')]).nansum(dtype=T.float64)
out = T.tensor([1., float('nan')]).nanmean(dtype=T.float64)
out = T.tensor([1., 2.]).softmax(0, dtype=T.float64)
out = T.tensor([1., 2.]).log_softmax(0, dtype=T.float64)
out = T.tensor([1., 2.]).norm(dtype=T.float64)
out = T.linalg.vector_norm(T.tensor([1., 2.]), dtype=T.float64)
out = T.tensor([True, True, False]).sum(dtype=T.uint8)
out = T.tensor([250, 10], dtype=T.uint8).sum(dtype=T.uint8)
x = T.tensor([1., 2.], requires_grad=True); y = x.sum(dtype=T.float64); y.backward(); out = y, x.grad
x = T.tensor([[1., 2.]], requires_grad=True); y = x.prod(1, dtype=T.float64).sum(); y.backward(); out = y, x.grad
x = T.tensor([1., 2.], requires_grad=True); y = x.cumsum(0, dtype=T.float64).sum(); y.backward(); out = y, x.grad
x = T.tensor([1., 2.], requires_grad=True); y = x.cumprod(0, dtype=T.float64).sum(); y.backward(); out = y, x.grad
out = str(T.result_type(1, 1.0))[-7:]
out = str(T.result_type(1, 2))[-5:]
out = str(T.result_type(T.tensor([1]), 1.0))[-7:]
out = str(T.result_type(1.0, T.tensor(1.0, dtype=T.float64)))[-7:]
out = str(T.result_type(True, 1))[-5:]
out = [f(t, n) for n in (np.float64(2.5), np.float32(2.5), np.int64(2), np.bool_(True)) for t in (T.ones([]), T.ones(2), T.ones([], dtype=T.int32), T.ones(2, dtype=T.bool), T.ones([], dtype=T.float64)) for f in (lambda t, n: t * n, lambda t, n: n * t, lambda t, n: t + n, lambda t, n: t / n, lambda t, n: t ** n, lambda t, n: T.add(t, n), lambda t, n: T.where(t > 0, t, n))]
out = [f(t, n) for n in (np.float64(2.5), np.int64(2), 2.5, 2) for t in (T.ones(2), T.ones(2, dtype=T.int32), T.ones(2, dtype=T.bool)) for f in (lambda t, n: t.clamp(max=n), lambda t, n: t.clamp(n), lambda t, n: t.clamp_min(n), lambda t, n: t % n, lambda t, n: t.fmod(n), lambda t, n: T.pow(t, n))]
n = np.float64(2.5); out = T.full((2,), n), T.full((2,), np.int32(3)), T.ones(2).lerp(T.zeros(2), n), T.ones(2).add(T.ones(2), alpha=n), T.normal(0., n, (2,)).dtype.itemsize, T.nn.Parameter(T.ones([]) * np.log(1 / 0.07))
"""

WHOLE_NUMBERS = """
out = T.tensor([5, 6]) // 0
out = T.tensor([5, 6]) // T.tensor([1, 0])
out = T.tensor([5, 6]) % 0
out = T.tensor([5, 6]) % T.tensor([1, 0])
out = T.fmod(T.tensor([5, 6]), 0)
out = T.fmod(T.tensor([5, 6]), T.tensor([0, 1]))
out = T.remainder(T.tensor([5, 6]), 0)
out = T.div(T.tensor([5, 6]), 0, rounding_mode='floor')
out = T.div(T.tensor([5, 6]), 0, rounding_mode='trunc')
out = T.tensor([5, 6]) / 0
out = T.tensor([5., 6.]) // 0
out = T.tensor([5., 6.]) % 0
out = 5 // T.tensor([2, 0])
out = 5 % T.tensor([2, 0])
a = T.tensor([5, 6]); a //= 0; out = a
a = T.tensor([5, 6]); a %= 0; out = a
out = T.floor_divide(T.tensor([-5, 6]), 2)
out = T.tensor([2, 3]) ** -1
out = T.tensor([2, 3]) ** T.tensor([-1, 1])
out = T.bincount(T.tensor([1, 1, 3]))
out = T.bincount(T.tensor([-1, 1]))
out = T.bincount(T.tensor([[1]]))
out = T.bincount(T.tensor([1, 1, 3]), minlength=-1)
out = T.bincount(T.tensor([1, 1]), weights=T.tensor([.5]))
out = T.bincount(T.tensor([], dtype=T.int64))
out = T.zeros(3).random_(3, 1)
out = T.zeros(3).random_(0)
out = T.add(T.tensor([1., 2.]), T.tensor([1., 2.]), alpha=T.tensor(2.))
out = T.tensor([1., 2.]).add(T.tensor([1., 2.]), alpha=T.tensor(2))
out = T.tensor([1., 2.]).add_(T.tensor([1., 2.]), alpha=T.tensor(0.5))
out = T.sub(T.tensor([1., 2.]), T.tensor([1., 2.]), alpha=T.tensor(2.))
out = T.add(T.tensor([1, 2]), T.tensor([1, 2]), alpha=1.5)
out = T.add(T.tensor([1, 2]), T.tensor([1, 2]), alpha=T.tensor([1, 2]))
"""

ASKED = """
out = [x.item() for x in reversed(T.tensor([1., 2., 3.]))]
out = reversed(T.tensor([[1., 2.], [3., 4.]]))
out = 'a' in T.tensor([1., 2.])
out = 1 in T.tensor([1., 2.])
out = T.tensor(2.) in T.tensor([1., 2.])
out = T.tensor([1., 2.]) in T.tensor([[1., 2.], [3., 4.]])
out = None in T.tensor([1., 2.])
out = list(T.zeros(2, 3).shape + [4])
out = list(T.zeros(2, 3).shape + (4,))
out = list(T.zeros(2, 3).size() + T.zeros(1).size())
out = [4] + list(T.zeros(2, 3).shape)
out = list((4,) + T.zeros(2, 3).shape)
out = T.normal(0., -1., (3,))
out = T.normal(T.zeros(2), T.tensor([1., -1.]))
out = T.zeros(3).normal_(0, -1)
out = T.tensor([1.]).std()
out = T.tensor([1.]).var()
out = T.tensor([[1., 2.]]).std(0)
out = T.tensor([]).std()
out = T.std_mean(T.tensor([1.]))
out = float(T.tensor(2., requires_grad=True))
out = int(T.tensor(2., requires_grad=True))
out = T.tensor(2., requires_grad=True).item()
out = bool(T.tensor(2., requires_grad=True))
out = T.take_along_dim(T.arange(6.).reshape(2, 3), T.tensor([0, 1]), dim=1)
out = T.take_along_dim(T.arange(6.).reshape(2, 3), T.tensor([[0, 1]]), dim=1)
out = T.take_along_dim(T.arange(6.).reshape(2, 3), T.tensor([[5]]), dim=1)
out = T.take_along_dim(T.arange(6.).reshape(2, 3), T.tensor([[0.5]]), dim=1)
out = T.take_along_dim(T.arange(6.), T.tensor([0, 1]))
out = T.roll(T.arange(6.).reshape(2, 3), 1)
out = T.roll(T.arange(6.).reshape(2, 3), 1, dims=None)
out = T.roll(T.arange(6.).reshape(2, 3), (1, 1), dims=None)
out = T.roll(T.arange(6.).reshape(2, 3), (1, 2), (0, 1))
out = T.roll(T.arange(6.).reshape(2, 3), 1, (0, 1))
out = T.nn.MultiheadAttention(4, 3)
out = T.nn.MultiheadAttention(4, 2)(T.zeros(3, 2, 5), T.zeros(3, 2, 4), T.zeros(3, 2, 4))
out = T.nn.MultiheadAttention(4, 2)(T.zeros(3), T.zeros(3), T.zeros(3))
out = T.nn.MultiheadAttention(4, 2)(T.zeros(3, 2, 4), T.zeros(5, 2, 4), T.zeros(6, 2, 4))[0].shape
out = T.nn.MultiheadAttention(4, 2)(T.zeros(3, 2, 4), T.zeros(5, 2, 4), T.zeros(5, 2, 4), attn_mask=T.zeros(2, 2))[0]
out = T.nn.MultiheadAttention(4, 2)(T.zeros(3, 2, 4), T.zeros(5, 2, 4), T.zeros(5, 2, 4), key_padding_mask=T.zeros(2, 2))[0]
out = len(T.zeros(0, 3)), T.zeros(2, 3).ndimension(), T.tensor(3).is_nonzero(), T.zeros(2, 3).is_same_size(T.ones(2, 3))
out = T.is_nonzero(T.tensor(0.)), T.tensor([1.]).is_signed(), T.numel(T.zeros(2, 3))
"""

EMBEDDINGS = """
T.manual_seed(0); e = T.nn.Embedding.from_pretrained(T.ones(3, 2)); out = e.weight, T.rand(3), e(T.tensor([1]))
T.manual_seed(0); e = T.nn.Embedding.from_pretrained(T.ones(3, 2), freeze=False, padding_idx=0); out = e.weight, T.rand(3)
T.manual_seed(0); e = T.nn.EmbeddingBag.from_pretrained(T.ones(3, 2)); out = e(T.tensor([[1, 2]])), T.rand(3)
T.manual_seed(0); e = T.nn.EmbeddingBag(5, 3, mode='max'); x = T.tensor([[1, 2], [3, 3]]); y = e(x); y.sum().backward(); out = y, e.weight.grad
T.manual_seed(0); e = T.nn.EmbeddingBag(5, 3, padding_idx=1); x = T.tensor([[1, 2], [1, 1]]); y = e(x); y.sum().backward(); out = y, e.weight.grad
T.manual_seed(0); e = T.nn.EmbeddingBag(5, 3, include_last_offset=True); out = e(T.tensor([1, 2, 4]), T.tensor([0, 2, 2, 3]))
T.manual_seed(0); e = T.nn.EmbeddingBag(5, 3, mode='sum'); out = e(T.tensor([1, 2, 4]), T.tensor([0, 2]), per_sample_weights=T.tensor([.5, 1., 2.]))
T.manual_seed(0); e = T.nn.EmbeddingBag(5, 3, mode='max', padding_idx=0); out = e(T.tensor([1, 2, 0]), T.tensor([0, 2])), repr(e)
out = T.nn.EmbeddingBag(5, 3)(T.tensor([1, 2]))
out = T.nn.EmbeddingBag(5, 3)(T.tensor([[1, 2]]), T.tensor([0]))
out = T.nn.Embedding.from_pretrained(T.ones(3))
T.manual_seed(0); e = T.nn.Embedding(3, 2, _weight=T.ones(3, 2)); out = e.weight, T.rand(2)
"""

CALLS = """
a, b = T.arange(6.).reshape(2, 3), T.arange(12.).reshape(3, 4); out = T.einsum(a, [0, 1], b, [1, 2], [0, 2]), T.einsum(a, [0, 1], [1, 0]), T.einsum(a, [1, 0]), T.einsum(a, [..., 0], [..., 0]), T.einsum(a, [0, 1], a, [0, 1], [])
out = T.einsum(T.ones(2), [60], [60])
out = T.einsum('ij,jk', T.ones(2, 3), T.ones(2, 3))
out = T.ones(2, 3).gather(1, T.tensor([[5]]))
out = T.ones(2, 3).scatter(1, T.tensor([[5]]), 1.)
out = T.optim.SGD(T.ones(2), lr=.1)
f = lambda x: x; out = T.jit.ignore()(f) is f, T.jit.ignore(f) is f, T.jit.unused(f) is f, T.jit.export(f) is f
out = str(T.uint16), T.uint16.is_signed, T.uint32.itemsize, T.float8_e5m2.is_floating_point, T.uint64.is_floating_point, T.__version__[:4]
a = T.ones(3); b = T.tensor([1., 2., 3.]); out = a.clone().add_(.5, b), a.add(.5, b), T.add(a, .5, b), a.sub(.5, b), a.clone().sub_(.5, b), T.sub(a, 2, b)
a = T.ones(3); b = T.tensor([1., 2., 3.]); out = a.addcmul(.5, b, b), T.addcmul(a, .5, b, b), T.addcdiv(a, .5, b, b)
import warnings; warnings.simplefilter('ignore'); a = T.ones(3); b = T.tensor([1., 2., 3.]); out = a.clone().addcmul_(.5, b, b), a.clone().addcdiv_(-.5, b, b)
m = T.eye(3); a = T.ones(3); out = m.addmm(2, m, m), m.addmm(2, 3, m, m), m.clone().addmm_(2, 3, m, m), m.clone().addmm_(3, m, m), T.addmm(2, m, 3, m, m), a.addmv(2, 3, m, a), m.addr(2, 3, a, a), m[None].baddbmm(2, 3, m[None], m[None])
T.manual_seed(0); a = T.ones(3); out = T.randint_like(a, high=2), T.randint_like(a, low=1, high=4), T.randint_like(a, 5), T.cuda._initialized
import sys; out = sys.getsizeof(T.ones(1000).untyped_storage()) >= 4000, T.utils.checkpoint.get_device_states(T.ones(1)), T.distributed.is_nccl_available()
import {T}.distributed as d, {T}.distributed.nn; from {T}.distributed import all_reduce, ReduceOp, barrier; out = d.is_initialized(); all_reduce(T.ones(1))
from {T}.jit import ScriptModule; out = isinstance(T.nn.Linear(1, 1), ScriptModule)
out = T.ones(2).type(T.LongTensor)
out = T.ones(2).type('torch.DoubleTensor')
out = T.ones(2).type(T.float64)
out = T.ones(2).type(), T.ones(2).long().type(), T.ones(2).bool().type(), T.ones(2).half().type(), T.ones(2).byte().type()
out = T.ones(2).type('nothing')
out = T.FloatTensor([1, 2]), T.IntTensor([1, 2]), T.ShortTensor([1]), T.CharTensor([1]), T.ByteTensor([1]), T.HalfTensor([1.])
out = isinstance(T.ones(2), T.FloatTensor), isinstance(T.ones(2), T.DoubleTensor), isinstance(T.ones(2).long(), T.LongTensor)
out = isinstance(T.nn.Parameter(T.ones(2)), T.FloatTensor), isinstance(3, T.FloatTensor)
T.manual_seed(0); out = T.rand(size=(2, 3)), T.randn(size=(2,)), T.zeros(size=(2,)), T.ones(size=[2, 1]), T.empty(size=(2, 3)).shape[0]
T.manual_seed(0); out = T.randint(10, size=(3,)), T.randint(high=10, size=(3,)), T.randint(2, 5, size=(3,)), T.randint(0, 5, (2,))
T.manual_seed(0); out = T.randint(low=0, high=5, size=(2,), dtype=T.float32)
out = T.randint(5, 5, (2,))
T.manual_seed(0); out = T.normal(0., 1., size=(2,), requires_grad=True), T.normal(2, 3, size=(1, 4)), T.normal(mean=T.zeros(2), std=T.ones(2))
out = T.full(size=(2,), fill_value=3), T.full((2,), 3.), T.full([2], True)
x = T.arange(6.); x.resize_(2, 2); out = x
x = T.arange(6.); x.resize_((3,)); out = x
x = T.ones(2, requires_grad=True); x.resize_(1); out = x
x = T.arange(4.).reshape(2, 2); out = len(x.storage()), x.storage()[3], x[1].storage().size(), x.storage().tolist()
x = T.arange(4.).reshape(2, 2); x.storage()[0] = 9.; out = x
x = T.arange(4.); out = x.untyped_storage().data_ptr() == x.data_ptr(), x.untyped_storage().nbytes()
x = T.arange(4.); out = x.view(2, 2).storage().data_ptr() == x.storage().data_ptr()
out = T.range(1, 4)
out = T.range(0, 1, 0.25)
out = T.range(1, 0)
x = T.ones(2); T.sin_(x); out = x
x = T.ones(2); y = T.relu_(x); T.exp_(x); T.zero_(x[:1]); out = x, y
x = T.tensor([-1., 2.]); T.nn.functional.relu_(x); out = x
x = T.tensor([-1., 2.]); T.nn.functional.leaky_relu_(x, 0.1); out = x
x = T.tensor([-1., 2.]); T.nn.functional.elu_(x); out = x
x = T.tensor([-1., 2.]); T.clamp_(x, 0, 1); out = x
x = T.tensor([-1., 2.]); T.nn.functional.hardtanh_(x); T.nn.functional.threshold_(x, 0.5, 7.); out = x
x = T.tensor([1., 2.]); y = T.zeros(2); z = T.sin(x, out=y); out = y, z is y
x = T.tensor([1., 2.]); y = T.empty(0); T.add(x, x, out=y); out = y
x = T.tensor([1., 2.]); y = T.zeros(2); T.mul(x, 3, out=y); out = y
x = T.tensor([1., 2.]); y = T.zeros(2, dtype=T.int64); T.add(x, x, out=y); out = y
x = T.tensor([1., 2.]); y = T.zeros(3); T.add(x, x, out=y); out = y
x = T.tensor([1., 2.], requires_grad=True); y = T.zeros(2); T.add(x, x, out=y); out = y
v, i = T.zeros(1), T.zeros(1, dtype=T.int64); T.max(T.tensor([[1., 5.]]), 1, out=(v, i)); out = v, i
y = T.zeros(2); T.randn(2, out=y); T.ones(2, out=y); out = y
y = T.zeros(2, 2); T.cat([T.ones(1, 2), T.ones(1, 2)], out=y); T.stack([T.ones(2), T.ones(2)], out=y); out = y
y = T.zeros(3); T.arange(3, out=y); out = y
with T.device('cpu'): out = T.ones(2)
T.set_default_device('cpu'); out = T.ones(2), str(T.get_default_device()); T.set_default_device(None)
T.set_default_tensor_type(T.DoubleTensor); out = T.ones(2); T.set_default_tensor_type('torch.FloatTensor')
out = T.asarray([1., 2.]), T.asarray(np.ones(2)), T.asarray(T.ones(2), dtype=T.float64), T.scalar_tensor(3), T.frombuffer(bytearray(8), dtype=T.int32)
out = T.Tensor([1, 2]), T.Tensor(2, 3).shape[1], T.Tensor(T.ones(2)), T.Tensor().shape[0], T.Tensor(np.ones(2))
out = T.Tensor(T.ones(2).long())
out = T.Tensor(T.ones(2, 3).size()).shape[1]
out = T.typename(T.ones(2)), T.typename(3)
out = T.Tensor(1.5)
out = T.ones(2).new_tensor([1, 2]), T.ones(2).new_full((2,), 3), T.ones(2).new_zeros(2, 3)
out = T.is_same_size(T.ones(2), T.ones(2)), T.is_signed(T.ones(2).byte())
"""

SUBCLASSES = r"""
class A(T.Tensor): pass\na = A([1, 2]); out = type(a).__name__, a.data.as_subclass(T.Tensor), type(a + 1).__name__, type(1 + a).__name__, type(a.sum()).__name__
class A(T.Tensor): pass\na = T.ones(2).as_subclass(A); out = type(a).__name__, type(a[0]).__name__, type(T.stack([a, a])).__name__, type(a.max(0)).__name__, type(a.max(0)[0]).__name__
class A(T.Tensor): pass\nx = T.ones(2, requires_grad=True); a = x.as_subclass(A); (a * 3).sum().backward(); out = x.grad
class A(T.Tensor):\n def __init__(self, x): self.tag = 7\na = A([1., 2.]); out = a.tag, a.as_subclass(T.Tensor) * 2
class A(T.Tensor):\n @staticmethod\n def __new__(cls, x, tag, *args, **kwargs): return T.Tensor.__new__(cls, x)\n def __init__(self, x, tag): self.tag = tag\na = A([1., 2.], 'b'); out = a.tag, (a * 2).as_subclass(T.Tensor), type(a * 2).__name__
class A(T.Tensor):\n def double(self): return self * 2\na = A([1., 2.]); out = a.double().double().as_subclass(T.Tensor)
class A(T.Tensor):\n @staticmethod\n def __new__(cls, x): return T.Tensor._make_subclass(cls, T.as_tensor(x), True)\na = A([1., 2.]); (a * a).sum().backward(); out = a.grad.as_subclass(T.Tensor), a.requires_grad
class A(T.Tensor):\n @classmethod\n def __torch_function__(cls, func, types, args=(), kwargs=None):\n  seen.append(func.__name__)\n  return super().__torch_function__(func, types, args, kwargs or {})\nseen = []; a = A([1., 2.]); b = a.exp(); c = T.sin(b); out = seen[-2:], type(c).__name__
class A(T.Tensor): pass\nclass B(A): pass\na, b = A([1.]), B([2.]); out = type(a + b).__name__, type(b + a).__name__
class P(T.nn.Parameter): pass\np = P(T.ones(2)); out = type(p).__name__, type(p * 2).__name__ , p.requires_grad
class A(T.Tensor): pass\nclass M(T.nn.Module):\n def __init__(self):\n  super().__init__()\n  self.w = T.nn.Parameter(T.ones(2))\nm = M(); out = type(A([1., 2.]) @ m.w).__name__
class A(T.Tensor):\n def __init__(self, x, tag): pass\na = A([1.], 2); out = a
"""

HOOKS = r"""
T.manual_seed(0); log = []\nm = T.nn.Linear(2, 3); m.register_backward_hook(lambda m, i, o: log.append(([None if g is None else g.clone() for g in i], o[0].clone())))\nx = T.ones(4, 2, requires_grad=True); m(x).sum().backward(); out = log
T.manual_seed(0)\nm = T.nn.ReLU(); h = m.register_backward_hook(lambda m, i, o: (i[0] * 3,))\nx = T.ones(4, requires_grad=True); m(x * 2).sum().backward(); h.remove(); out = x.grad
log = []\nm = T.nn.Linear(2, 2)\nm.register_full_backward_hook(lambda m, i, o: log.append((len(i), len(o), i[0] is None)))\nm(T.ones(1, 2)).sum().backward(); out = log
m = T.nn.Linear(2, 2)\nm.register_full_backward_hook(lambda m, i, o: (T.ones(1, 2),))\nm(T.ones(1, 2)).sum().backward(); out = 1
m = T.nn.Linear(2, 2)\nm.register_full_backward_hook(lambda m, i, o: (None,))\nm(T.ones(1, 2)).sum().backward(); out = 1
m = T.nn.Linear(2, 2)\nm.register_full_backward_hook(lambda m, i, o: (i[0] * 2,))\nx = T.ones(1, 2, requires_grad=True); m.weight.data.fill_(1.); m(x).sum().backward(); out = x.grad
m = T.nn.Linear(2, 2)\nm.register_full_backward_hook(lambda m, i, o: (i[0], i[0]))\nx = T.ones(1, 2, requires_grad=True); m(x).sum().backward(); out = x.grad
m = T.nn.Linear(2, 2)\nm.register_full_backward_pre_hook(lambda m, o: (o[0] * 3,))\nm(T.ones(1, 2)).sum().backward(); out = m.weight.grad
m = T.nn.Linear(2, 2)\nm.register_full_backward_pre_hook(lambda m, o: (o[0], o[0]))\nm(T.ones(1, 2)).sum().backward(); out = m.weight.grad
from collections import namedtuple\nP = namedtuple('P', 'a b')\nclass M(T.nn.Module):\n def forward(self, x): return P(x * 2, x * 3)\nm = M(); m.register_full_backward_hook(lambda m, i, o: None)\nx = T.ones(2, requires_grad=True); y = m(x); (y.a + y.b).sum().backward(); out = type(y).__name__, x.grad
class M(T.nn.Module):\n def forward(self, x): return {'a': x * 2}\nm, log = M(), []; m.register_full_backward_hook(lambda m, i, o: log.append(1))\nx = T.ones(2, requires_grad=True); m(x)['a'].sum().backward(); out = log, x.grad
"""

FUNCTIONS_OF_FUNCTIONS = """
T.manual_seed(0); x = T.zeros(3, 40); a = T.vmap(lambda x: x + T.randn(40) * T.rand(()), randomness='same')(x); out = a, T.rand(1)
T.manual_seed(0); x = T.zeros(3, 40); a = T.vmap(lambda x: x + T.randn(40) * T.rand(()), randomness='different')(x); out = a, T.rand(1)
T.manual_seed(0); x = T.zeros(5, 8); a = T.vmap(lambda x: x + T.randn(8), randomness='different', chunk_size=2)(x); out = a, T.rand(1)
T.manual_seed(0); f = T.vmap(T.vmap(lambda x: x + T.randn(5), randomness='different'), randomness='different'); out = f(T.zeros(2, 3, 5)), T.rand(1)
T.vmap(lambda x: T.nn.functional.dropout(x))(T.ones(3, 2))
T.vmap(lambda x: x + T.rand(2))(T.ones(3, 2))
out = T.vmap(lambda x: (x, x.sum()), out_dims=(1, 0))(T.zeros(0, 3)), T.vmap(lambda x: (x, T.ones(2)), out_dims=(0, None))(T.ones(2, 3))
T.vmap(lambda x, y: x)(T.ones(2), 3)
T.vmap(lambda x, y: x, in_dims=(0,))(T.ones(2), 3)
T.vmap(lambda x: x, in_dims='a')(T.ones(2))
T.vmap(lambda x: x, in_dims=None)(T.ones(2))
T.vmap(lambda x: x, chunk_size=0)(T.ones(2))
y, f = T.func.linearize(lambda d, x: {'a': d['w'] * x, 's': x.sum()}, {'w': T.tensor([1., 2.])}, T.tensor([3., 4.])); out = y, f({'w': T.ones(2)}, T.zeros(2)), f({'w': T.zeros(2)}, T.ones(2))
y, f = T.func.linearize(T.sin, T.ones(2)); f(T.ones(3))
T.func.jvp(T.sin, (T.ones(3),), (T.ones(2),))
T.func.grad(lambda x, y: (x * y).sum(), argnums=(0, 0))(T.ones(2), T.ones(2))
T.func.functional_call(T.nn.Linear(2, 2), {'weigh': T.ones(2, 2)}, (T.ones(2),), strict=True)
T.func.functional_call(T.nn.Linear(2, 2), ({'bias': T.ones(2)}, {'bias': T.ones(2)}), (T.ones(2),))
m = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.Linear(2, 2)); m[1].weight = m[0].weight; T.func.functional_call(m, {'0.weight': T.ones(2, 2), '1.weight': T.ones(2, 2)}, (T.ones(2),))
T.func.stack_module_state([T.nn.Linear(2, 2), T.nn.Linear(2, 2).eval()])
m = T.func.replace_all_batch_norm_modules_(T.nn.Sequential(T.nn.BatchNorm1d(3))); out = repr(m), m[0].running_mean
out = T.func.grad(lambda x: x**3)(T.tensor(2.0))
out = T.func.grad(T.func.grad(lambda x: x**3))(T.tensor(2.0))
out = T.func.grad(lambda x, y: (x*y).sum(), argnums=(0,1))(T.ones(2), T.arange(2.))
out = T.func.grad(lambda d: (d['a']*d['b']).sum())({'a': T.ones(2), 'b': T.arange(2.)})
out = T.func.grad(lambda x: ((x**2).sum(), x*2), has_aux=True)(T.arange(3.))
out = T.func.grad_and_value(lambda x: (x**2).sum())(T.arange(3.))
w = T.tensor([1., 2.], requires_grad=True); g = T.func.grad(lambda x: (x*w).sum()**2)(T.ones(2)); g.sum().backward(); out = g.detach(), w.grad
x = T.tensor([1., 2.], requires_grad=True); g = T.func.grad(lambda x: (x**3).sum())(x); g.sum().backward(); out = g.detach(), x.grad, g.requires_grad
out = T.func.grad(lambda x: x*2)(T.ones(2))
out = T.func.grad(lambda x: 3)(T.ones(2))
o, f = T.func.vjp(lambda x: x**2, T.arange(3.)); out = o, f(T.ones(3))
o, f = T.func.vjp(lambda x, y: (x*y, x+y), T.arange(3.), T.ones(3)); out = o, f((T.ones(3), T.ones(3)))
out = T.func.jvp(lambda x: x**2, (T.arange(3.),), (T.ones(3),))
out = T.func.jvp(lambda x, y: x*y, (T.arange(3.), T.ones(3)), (T.ones(3), T.ones(3)))
out = T.func.jacrev(lambda x: x**2)(T.arange(3.))
out = T.func.jacfwd(lambda x: T.stack([x.sum(), x.prod()]))(T.arange(1., 4.))
out = T.func.jacrev(lambda x, y: (x*y, x.sum()), argnums=(0, 1))(T.arange(2.), T.ones(2))
out = T.func.jacfwd(lambda x, y: (x*y, x.sum()), argnums=(0, 1))(T.arange(2.), T.ones(2))
out = T.func.hessian(lambda x: (x**3).sum())(T.arange(3.))
out = T.func.hessian(lambda x: (x[0]*x[1]**2))(T.arange(1., 3.))
out = T.func.vmap(lambda x: x.sum())(T.arange(6.).reshape(2, 3))
out = T.vmap(T.dot)(T.arange(6.).reshape(2, 3), T.ones(2, 3))
out = T.vmap(lambda x, y: (x*y, x.sum()), in_dims=(0, None))(T.arange(6.).reshape(2, 3), T.ones(3))
out = T.vmap(lambda x: x*2, in_dims=1, out_dims=1)(T.arange(6.).reshape(2, 3))
out = T.vmap(T.func.grad(lambda w, x: ((w*x).sum())**2), in_dims=(None, 0))(T.ones(3), T.arange(6.).reshape(2, 3))
out = T.vmap(lambda d: d['a']+1)({'a': T.ones(2, 3)})
out = T.vmap(lambda x, y: x+y)(T.ones(2), T.ones(3))
out = T.vmap(lambda x: x+1)(3)
out = T.vmap(T.vmap(lambda x: x**2))(T.arange(4.).reshape(2, 2))
T.manual_seed(0); m = T.nn.Linear(2, 1); p = {k: v.detach() for k, v in m.named_parameters()}; out = T.func.functional_call(m, {'weight': T.ones(1, 2), 'bias': T.zeros(1)}, (T.ones(1, 2),)), m.weight.shape
T.manual_seed(0); m = T.nn.Linear(2, 1); p = {k: v.detach() for k, v in m.named_parameters()}; f = lambda p, x: T.func.functional_call(m, p, (x,)).sum(); out = T.func.grad(f)(p, T.ones(3, 2)), T.vmap(T.func.grad(f), in_dims=(None, 0))(p, T.ones(3, 2))
T.manual_seed(0); ms = [T.nn.Linear(2, 1) for _ in range(3)]; p, b = T.func.stack_module_state(ms); base = ms[0]; out = T.vmap(lambda p, b, x: T.func.functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(p, b, T.ones(4, 2)).detach()
with T.no_grad(): out = T.func.grad(lambda x: (x**2).sum())(T.arange(3.))
x = T.tensor([1., 2.], requires_grad=True); y = x**2; out = T.autograd.grad(y, x, T.eye(2), is_grads_batched=True)
out = T.autograd.functional.jacobian(lambda x: x**2, T.arange(3.), vectorize=True)
out = T.autograd.functional.hessian(lambda x: (x**3).sum(), T.arange(3.), vectorize=True)
out = T.autograd.functional.jacobian(lambda x, y: (x*y, x.sum()), (T.arange(3.), T.ones(3)), vectorize=True)
"""

MATHEMATICS = r"""
x = T.tensor([.5, 1., 2.5, 30., -.5], dtype=T.float64, requires_grad=True); y = T.lgamma(x); y.sum().backward(); out = y, x.grad
x = T.tensor([.5, 1., 2.5, 30., -.5, 12.], dtype=T.float64, requires_grad=True); y = T.digamma(x); y.sum().backward(); out = y, x.grad
x = T.tensor([.5, 1., 2.5, 30., 12.], dtype=T.float64, requires_grad=True); y = T.polygamma(2, x); y.sum().backward(); out = y, x.grad
x = T.tensor([.5, -.9, 0., .999, -.1], dtype=T.float64, requires_grad=True); y = T.erfinv(x); y.sum().backward(); out = y, x.grad
out = T.erfinv(T.tensor([1., -1., 2.])), T.lgamma(T.tensor([0., -1., 3.])), T.digamma(T.tensor([0., 1.]))
x = T.tensor([.5, -.9, 0., 3.], dtype=T.float64, requires_grad=True); y = T.sinc(x); y.sum().backward(); out = y, x.grad
x = T.tensor([.5, 0., 3.], dtype=T.float64, requires_grad=True); g, = T.autograd.grad(T.sinc(x).sum(), x, create_graph=True); out = T.autograd.grad(g.sum(), x)
x = T.zeros(2, dtype=T.float64, requires_grad=True); g, = T.autograd.grad(x.norm(), x, create_graph=True); out = g, T.autograd.grad(g.sum(), x)
x = T.zeros(2, dtype=T.float64, requires_grad=True); g, = T.autograd.grad(x.norm(3), x, create_graph=True); out = g, T.autograd.grad(g.sum(), x)
y = T.zeros(2, dtype=T.float64, requires_grad=True); g, = T.autograd.grad(T.atan2(y, T.tensor([0., 1.], dtype=T.float64)).sum(), y, create_graph=True); out = g, T.autograd.grad(g.sum(), y)
x = T.tensor([.5, 0., 3., 1., -1.], dtype=T.float64, requires_grad=True); y = T.special.entr(x); g, = T.autograd.grad(y.sum(), x, create_graph=True); out = y, g, T.autograd.grad(g.sum(), x)
x = T.tensor([.5, -.9, 0.], requires_grad=True); y = T.copysign(x, T.tensor([-1., 1., -1.])); y.sum().backward(); out = y, x.grad
x = T.tensor([.5, float('nan'), 1.], requires_grad=True); y = T.fmax(x, T.tensor([1., 2., float('nan')])); y.sum().backward(); out = y, x.grad, T.fmin(T.tensor([1., 2.]), T.tensor([2., float('nan')]))
out = T.logaddexp2(T.tensor([1., 2.]), T.tensor([3., -1.])), T.ldexp(T.tensor([1., 3.]), T.tensor([2, -1])), T.heaviside(T.tensor([-1., 0., 2.]), T.tensor([.5]))
out = T.gcd(T.tensor([12, 18]), T.tensor([8, 27])), T.lcm(T.tensor([4, 6]), T.tensor([6, 8])), T.frexp(T.tensor([8., .3]))
out = T.isneginf(T.tensor([-float('inf'), 1.])), T.isposinf(T.tensor([float('inf'), 1.])), T.isreal(T.ones(2)), T.i0(T.tensor([0., 1., 5.])), T.mvlgamma(T.tensor([3., 4.]), 2)
out = T.tensor_split(T.arange(7), 3), T.tensor_split(T.arange(7), (2, 5)), T.hsplit(T.arange(8).reshape(2, 4), 2), T.vsplit(T.arange(8).reshape(4, 2), 2), T.dsplit(T.arange(8).reshape(2, 2, 2), 2)
out = T.hsplit(T.arange(8).reshape(2, 4), 3)
out = T.unique_consecutive(T.tensor([1, 1, 2, 2, 3, 1])), T.unique_consecutive(T.tensor([1, 1, 2]), return_inverse=True, return_counts=True)
out = T.trapezoid(T.tensor([1., 2., 4.])), T.trapz(T.tensor([1., 2., 4.]), T.tensor([0., 1., 3.])), T.trapezoid(T.ones(2, 3), dx=.5, dim=0), T.cumulative_trapezoid(T.tensor([1., 2., 4.]))
out = T.gradient(T.tensor([1., 4., 9., 16.])), T.gradient(T.arange(6.).reshape(2, 3) ** 2, spacing=2.)
x = T.tensor([[3., 4.], [.3, .4]], requires_grad=True); y = T.renorm(x, 2, 0, 1.); y.sum().backward(); out = y, x.grad
out = T.histogram(T.tensor([1., 2., 1.]), bins=4, range=(0., 3.))
x = T.zeros(3); out = x.scatter_reduce(0, T.tensor([0, 1, 0]), T.tensor([1., 2., 3.]), 'sum'), x.scatter_reduce(0, T.tensor([0, 1, 0]), T.tensor([1., 2., 3.]), 'mean', include_self=False), x.scatter_reduce(0, T.tensor([0, 1, 0]), T.tensor([1., 2., 3.]), 'amax')
x = T.ones(3); out = x.scatter_reduce(0, T.tensor([0, 1, 0]), T.tensor([2., 2., 3.]), 'prod'), x.scatter_reduce(0, T.tensor([0, 1, 0]), T.tensor([2., 2., 3.]), 'amin', include_self=False), x.scatter_reduce(0, T.tensor([0, 0]), T.tensor([2., 2.]), 'mean')
x = T.tensor([1., 2., 3.], requires_grad=True); y = T.zeros(2).scatter_reduce(0, T.tensor([0, 1, 0]), x, 'mean'); y.sum().backward(); out = y, x.grad
out = T.addr(T.zeros(2, 3), T.ones(2), T.arange(3.)), T.addbmm(T.zeros(2, 2), T.ones(3, 2, 1), T.ones(3, 1, 2)), T.vander(T.tensor([1., 2., 3.])), T.combinations(T.arange(4))
x = T.tensor([[0., 1.], [2., 3.], [4., 4.]], requires_grad=True); y = T.pdist(x); y.sum().backward(); out = y, x.grad
out = T.slice_scatter(T.zeros(4), T.ones(2), start=1, end=3), T.select_scatter(T.zeros(2, 2), T.ones(2), 0, 1), T.diagonal_scatter(T.zeros(2, 2), T.ones(2)), T.diagflat(T.arange(3)), T.put(T.zeros(2, 2), T.tensor([1, 2]), T.ones(2))
out = T.nanmedian(T.tensor([1., float('nan'), 3., 2.])), T.nanmedian(T.tensor([[1., float('nan')], [4., 2.]]), 1), T.nanquantile(T.tensor([1., float('nan'), 3.]), .5)
out = T.hann_window(5), T.hamming_window(4), T.blackman_window(6, periodic=False), T.bartlett_window(5), T.kaiser_window(5), T.hann_window(1)
out = T.unravel_index(T.tensor([3, 5]), (2, 3)), T.nonzero_static(T.tensor([0, 1, 1]), size=3), T.hardshrink(T.tensor([.2, 2.])), T.narrow_copy(T.arange(4), 0, 1, 2)
A = T.tensor([[4., 1., .5], [1., 3., .2], [.5, .2, 1.]], dtype=T.float64, requires_grad=True); L, V = T.linalg.eigh(A); (L * T.arange(1., 4.)).sum().backward(); out = L, V.abs(), A.grad
A = T.tensor([[4., 1., .5], [1., 3., .2], [.5, .2, 1.]], dtype=T.float64, requires_grad=True); L, V = T.linalg.eigh(A); (V.abs() * T.arange(9.).reshape(3, 3)).sum().backward(); out = (A.grad + A.grad.T)
A = T.tensor([[4., 1.], [1., 3.], [.5, .2]], dtype=T.float64, requires_grad=True); U, S, Vh = T.linalg.svd(A, full_matrices=False); ((S * T.arange(1., 3.)).sum() + (U.abs() * T.arange(6.).reshape(3, 2)).sum() + (Vh.abs() * T.arange(4.).reshape(2, 2)).sum()).backward(); out = S, U.abs(), A.grad
A = T.tensor([[4., 1., 2.], [1., 3., .2]], dtype=T.float64, requires_grad=True); U, S, Vh = T.linalg.svd(A, full_matrices=False); ((S * T.arange(1., 3.)).sum() + (Vh.abs() * T.arange(6.).reshape(2, 3)).sum()).backward(); out = S, Vh.abs(), A.grad
A = T.tensor([[4., 1.], [1., 3.], [.5, .2]], dtype=T.float64, requires_grad=True); Q, R = T.linalg.qr(A); ((Q * T.arange(6.).reshape(3, 2)).sum() + (R * T.arange(4.).reshape(2, 2)).sum()).backward(); out = Q, R, A.grad
A = T.tensor([[4., 1.], [1., 3.], [.5, .2]], dtype=T.float64, requires_grad=True); P = T.linalg.pinv(A); (P * T.arange(6.).reshape(2, 3)).sum().backward(); out = P, A.grad, T.pinverse(A.detach())
A = T.tensor([[4., 1.], [1., 3.], [.5, .2]], dtype=T.float64, requires_grad=True); X = T.linalg.lstsq(A, T.ones(3, 1, dtype=T.float64)); X.solution.sum().backward(); out = X.solution, A.grad, T.linalg.lstsq(A.detach(), T.ones(3, 2, dtype=T.float64)).solution
A = T.tensor([[4., 1.], [1., 3.]], dtype=T.float64, requires_grad=True); X = T.linalg.solve_triangular(A, T.ones(2, 1, dtype=T.float64), upper=True); X.sum().backward(); out = X, A.grad, T.linalg.solve_triangular(A.detach(), T.ones(2, 1, dtype=T.float64), upper=False, unitriangular=True)
A = T.tensor([[.4, 1.], [-1., 3.]], dtype=T.float64, requires_grad=True); X = T.matrix_exp(A); X.sum().backward(); out = X, A.grad, T.linalg.matrix_exp(T.zeros(2, 2))
out = T.linalg.matrix_rank(T.tensor([[1., 2.], [2., 4.]])), T.linalg.cond(T.tensor([[1., 2.], [3., 4.]])), T.linalg.svdvals(T.tensor([[1., 2.], [3., 4.]])), T.linalg.eigvalsh(T.tensor([[2., 1.], [1., 2.]])), T.linalg.vander(T.tensor([1., 2.]), N=3)
U, S, V = T.svd(T.tensor([[1., 2.], [3., 4.], [5., 6.]])); out = U @ T.diag(S) @ V.T, S
out = T.cholesky_solve(T.ones(2, 1), T.linalg.cholesky(T.tensor([[2., 1.], [1., 2.]]))), T.cholesky_inverse(T.linalg.cholesky(T.tensor([[2., 1.], [1., 2.]])))
out = T.special.expit(T.tensor([1.])), T.special.gammaln(T.tensor([3.])), T.special.psi(T.tensor([3.])), T.special.xlogy(T.tensor([1.]), T.tensor([2.]))
"""

WINDOWS = r"""
T.manual_seed(0); x = T.arange(72.).reshape(1, 2, 6, 6); m = T.nn.FractionalMaxPool2d(2, output_size=3, return_indices=True); out = m(x), T.rand(1), repr(m), T.nn.FractionalMaxPool3d(2, output_ratio=(.5, .5, .5))(x.reshape(1, 1, 3, 4, 6)), T.rand(1)
m = T.nn.FractionalMaxPool2d(2)
m = T.nn.FractionalMaxPool2d(2, output_size=2, output_ratio=.5)
m = T.nn.FractionalMaxPool2d(2, output_ratio=1.5)
out = T.nn.functional.fractional_max_pool2d(T.ones(1, 1, 4, 4), 2, output_size=5)
x = T.tensor([[[[1., float('nan'), 3., float('nan')], [-float('inf')] * 4, [2., 2., 2., 2.], [0., 1., 1., 0.]]]]); F = T.nn.functional; out = F.adaptive_max_pool2d(x, 2, return_indices=True), F.adaptive_max_pool2d(x, (4, 1), return_indices=True), F.max_pool3d(x.unsqueeze(0), (1, 2, 2), return_indices=True), F.max_pool3d(x.unsqueeze(0), (1, 2, 2), padding=(0, 1, 1), return_indices=True)
x = T.arange(64.).reshape(1, 1, 4, 4, 4); m = T.nn.MaxPool3d(2, return_indices=True); y, i = m(x); out = y, i, T.nn.MaxUnpool3d(2)(y, i), repr(T.nn.LPPool3d(2, 3)), T.nn.LPPool3d(2, 2)(x), T.nn.AvgPool3d(2, ceil_mode=True)(x)
T.nn.functional.max_pool3d(T.ones(1, 1, 1, 1, 1), 2)
T.nn.functional.avg_pool3d(T.ones(1, 1, 4, 4, 4), 2, padding=2)
"""

OF_AUTOGRAD = r"""
T.manual_seed(0); m = T.nn.Embedding(5, 2, padding_idx=0, scale_grad_by_freq=True); y = m(T.tensor([[1, 1, 2], [0, 1, 3]])); y.sin().sum().backward(); out = y, m.weight.grad, repr(m)
w = T.ones(4, 2, requires_grad=True); g, = T.autograd.grad(T.nn.functional.embedding(T.tensor([1, 1, 2]), w, scale_grad_by_freq=True).pow(3).sum(), w, create_graph=True); out = g
x = T.arange(12.).view(3, 4); y = x[1:, 1:]; out = x.as_strided((2, 2), (1, 2)), y.as_strided((2, 2), (1, 2)), y.as_strided((2, 2), (1, 2), 0), T.as_strided(x.t(), (3, 4), (4, 1)), y.as_strided((2, 2), (1, 2)).storage_offset()
x = T.arange(12.).view(3, 4); x.as_strided((3,), (5,)).zero_(); out = x, x._version
x = T.arange(12.).view(3, 4); x.as_strided((3, 4), (5, 1))
with T.inference_mode(): made = [T.rand(2), T.randn(2), T.randint(3, (2,)), T.randperm(3), T.rand_like(T.ones(2)), T.normal(0., 1., (2,)), T.multinomial(T.ones(3), 2), T.from_numpy(np.ones(2)), T.zeros(2)]\nout = [m.is_inference() for m in made]
with T.inference_mode(): z = T.rand(2)\n(z * T.ones(2, requires_grad=True)).sum().backward()
x = T.rand(1, 1, 4, requires_grad=True); n = T.nn.functional.interpolate(x, size=6, mode='linear').grad_fn; out = n.name(), n._saved_output_size, n._saved_align_corners, n._saved_scales, n._saved_self_sym_sizes
x = T.rand(1, 1, 4, 4, requires_grad=True); n = T.nn.functional.interpolate(x, scale_factor=2, mode='nearest').grad_fn; out = n._saved_output_size, n._saved_scales_h, n._saved_scales_w, hasattr(n, '_saved_align_corners')
x = T.rand(1, 1, 4, 4, 4, requires_grad=True); F = T.nn.functional; n = F.avg_pool3d(x, 2).grad_fn; m = F.max_pool3d(x, 2).grad_fn; out = n._saved_kernel_size, n._saved_stride, n._saved_divisor_override, n._saved_count_include_pad, m._saved_dilation, m._saved_ceil_mode
x = T.tensor([[1., 1.], [1., 1.], [2., 1.]], requires_grad=True); out = [T.unique_consecutive(x, return_inverse=True, return_counts=True, dim=d) for d in (0, 1, None)], T.unique_consecutive(x).grad_fn.name()
out = T.is_autocast_enabled(), T.is_autocast_cpu_enabled(), str(T.get_autocast_dtype('cpu')), str(T.finfo(T.bfloat16)), T.finfo(T.bfloat16).max, T.finfo(T.bfloat16).bits
b = T.backends; out = b.cudnn.enabled, b.cudnn.benchmark, b.cudnn.deterministic, b.cudnn.allow_tf32, b.cuda.matmul.allow_tf32, b.mkldnn.is_available(), b.mkl.is_available(), b.cudnn.version(), b.cudnn.is_available(), b.mps.is_available()
x = T.ones(1, requires_grad=True); del x.requires_grad
out = T.autograd.SavedTensor()
x = T.rand(2, requires_grad=True); o = x.clone()\nwith T.no_grad(): x.set_(T.ones(2))\nT.autograd.grad(o.sum(), x)
with T.inference_mode(): x = T.ones(1, 2, 3, requires_grad=True); x.resize_(1, 2)\nout = x.shape[1]
y = T.ones(2, requires_grad=True) * 2; m = y.grad_fn._input_metadata[0]; out = m.dtype == T.float32, tuple(m.shape)
"""

SCALING_AND_SIZES = r"""
s = T.amp.GradScaler('cpu', growth_interval=2); p = T.ones(2, requires_grad=True); o = T.optim.SGD([p], lr=.1); log = []\nfor i in range(4): o.zero_grad(); s.scale((p ** 2).sum() * (float('inf') if i == 2 else 1.)).backward(); s.step(o); s.update(); log.append((s.get_scale(), p.tolist()))\nout = log, s.state_dict(), s.is_enabled(), s.get_growth_interval()
s = T.amp.GradScaler('cpu', init_scale=8.); p = T.ones(2, requires_grad=True); o = T.optim.Adam([p]); s.scale(p.sum()).backward(); s.unscale_(o); g = p.grad.clone(); s.step(o); s.update(4.); t = T.amp.GradScaler('cpu'); t.load_state_dict(s.state_dict()); out = g, p, t.get_scale(), s.scale([p, (p,)])[1][0]
s = T.amp.GradScaler('cpu'); p = T.ones(2, requires_grad=True); o = T.optim.SGD([p], lr=.1); s.scale(p.sum()).backward(); s.unscale_(o); s.unscale_(o)
s = T.amp.GradScaler('cpu'); p = T.ones(2, requires_grad=True); o = T.optim.SGD([p], lr=.1); s.scale(p.sum()).backward(); s.step(o); s.step(o)
s = T.amp.GradScaler('cpu'); s.step(T.optim.SGD([T.ones(2, requires_grad=True)], lr=.1))
s = T.amp.GradScaler('cpu'); s.scale(T.ones(1)); s.update()
s = T.amp.GradScaler('cpu', growth_factor=.5)
T.manual_seed(0); m = T.nn.AdaptiveLogSoftmaxWithLoss(16, 12, [4, 8], div_value=2., head_bias=True); x = T.randn(6, 16, requires_grad=True); o, l = m(x, T.tensor([1, 7, 11, 3, 8, 4])); l.backward(); out = o, l, x.grad, m.log_prob(x), m.predict(x), repr(m), [p.grad for p in m.parameters()], m(x[0], T.tensor(5)).loss
m = T.nn.AdaptiveLogSoftmaxWithLoss(16, 12, [4, 8]); m(T.ones(2, 16), T.tensor([1, 12]))
m = T.nn.AdaptiveLogSoftmaxWithLoss(16, 12, [8, 4])
m = T.nn.AdaptiveLogSoftmaxWithLoss(16, 12, [4]); m(T.ones(2, 16), T.tensor([1]))
T.manual_seed(0); m = T.nn.SyncBatchNorm.convert_sync_batchnorm(T.nn.Sequential(T.nn.Conv2d(1, 2, 3), T.nn.BatchNorm2d(2), T.nn.Sequential(T.nn.BatchNorm2d(2, affine=False), T.nn.InstanceNorm2d(2)))); y = m(T.randn(2, 1, 6, 6)); out = y, repr(m), list(m.state_dict()), m[1].running_var, isinstance(m[1], T.nn.SyncBatchNorm)
F = T.nn.functional; x = T.arange(16.).reshape(1, 1, 4, 4); out = [F.interpolate(x, size=s, mode='bicubic', align_corners=a) for s in (3, 6, (1, 7)) for a in (None, True)], F.interpolate(x, scale_factor=.6, mode='bicubic'), F.interpolate(x, scale_factor=1.7, mode='bicubic', recompute_scale_factor=True), [F.interpolate(x, size=s, mode=m, antialias=True) for s in (2, 3, 7) for m in ('bilinear', 'bicubic')]
F = T.nn.functional; x = T.arange(16.).reshape(1, 1, 4, 4); out = [F.interpolate(x, size=s, mode=m) for s in (2, 3, 7) for m in ('nearest-exact', 'area')], F.interpolate(x[0], size=7, mode='nearest-exact'), F.interpolate(x.reshape(1, 1, 4, 2, 2), size=3, mode='trilinear'), F.interpolate(x.reshape(1, 1, 4, 2, 2), scale_factor=(2, 1.5, 1), mode='nearest'), F.interpolate(x.reshape(1, 1, 4, 2, 2), size=3, mode='trilinear', align_corners=True)
F = T.nn.functional; out = F.interpolate(T.ones(1, 1, 4), size=6, mode='bicubic')
F = T.nn.functional; out = F.interpolate(T.ones(1, 1, 4, 4), size=6, mode='trilinear')
F = T.nn.functional; out = F.interpolate(T.ones(1, 1, 4), size=6, mode='foo')
F = T.nn.functional; out = F.interpolate(T.ones(1, 1, 4, 4), size=6, antialias=True)
m = T.nn.Upsample(scale_factor=2, mode='bicubic'); out = m(T.arange(4.).reshape(1, 1, 2, 2)), repr(m)
out = T.nn.functional.binary_cross_entropy(T.tensor([.2]), T.tensor([1.5]))
m = T.nn.Linear(1, 1); m.weight = T.ones(1, 1)
m = T.nn.Linear(1, 1); m.weight = 3
m = T.nn.Sequential(T.nn.Linear(1, 1)); setattr(m, '0', T.ones(1, dtype=T.float64))
m = T.nn.BatchNorm1d(1); m.running_mean = 3
T.manual_seed(0); w = T.nn.Parameter(T.randn(4, 3)); o = T.optim.Muon([w], lr=.1)\nfor _ in range(4): o.zero_grad(); (w @ T.arange(6.).reshape(3, 2)).pow(2).sum().backward(); o.step()\nout = w, o.state_dict(), repr(o)
T.manual_seed(0); w = T.nn.Parameter(T.randn(3, 5)); o = T.optim.Muon([w], lr=.1, nesterov=False, adjust_lr_fn='match_rms_adamw', weight_decay=0.)\nfor _ in range(4): o.zero_grad(); (w @ T.arange(10.).reshape(5, 2)).pow(2).sum().backward(); o.step()\nout = w
o = T.optim.Muon([T.ones(3, requires_grad=True)])
"""

REAL_AND_FACTORS = r"""
x = T.tensor([1., -2.]); out = x.real is x, T.real(x) is x, x.conj() is x, T.resolve_conj(x) is x, x.is_conj(), T.is_conj(x), x.is_neg(), T.is_neg(x), x.conj_physical_() is x, T.resolve_neg(x) is x
out = T.angle(T.tensor([1, -2])), T.angle(T.tensor([1., -2., 0., float('nan')])), T.tensor([1, 2]).conj()
x = T.tensor([[1., 2.], [4., 3.]]); L, p = T.linalg.lu_factor(x); out = T.linalg.lu(x), L, p, T.lu_solve(T.ones(2, 1), L, p), T.lu_unpack(L, p), T.lu_unpack(L, p, unpack_data=False), str(T.linalg.lu_factor_ex(x))
x = T.tensor([[1., 2.], [4., 3.]]); out = T.lu(x), x.lu(get_infos=True)
x = T.tensor([[1., 2., 0.], [4., 3., 1.]]); out = T.linalg.lu(x), T.linalg.lu(x.T), T.linalg.lu_factor_ex(T.zeros(2, 2, 2))
out = T.linalg.lu_factor(T.zeros(3, 2, 2))
out = T.linalg.lu(T.ones(3))
x = T.ones(3, 2); i = T.tensor([0, 2, 0]); s = T.arange(6.).reshape(3, 2); out = [x.index_reduce(0, i, s, r, include_self=b) for r in ('prod', 'mean', 'amax', 'amin') for b in (True, False)], x.index_reduce_(0, i, s, 'amax')
x = T.ones(3, 2, dtype=T.int64); i = T.tensor([0, 2, 0]).int(); s = T.arange(6).reshape(3, 2); out = [x.index_reduce(0, i, s, r, include_self=False) for r in ('prod', 'mean', 'amax', 'amin')]
x = T.tensor([[1., 2.], [3., 4.]], requires_grad=True); s = T.tensor([[3., 2.], [3., 0.]], requires_grad=True); y = [x.index_reduce(0, T.tensor([1, 1]), s, r) for r in ('prod', 'mean', 'amax', 'amin')]; sum((v * T.tensor([[1., 2.], [3., 4.]])).sum() for v in y).backward(); out = x.grad, s.grad, y[0].grad_fn.name()
x = T.tensor([1, 2, 3]); out = [x.scatter_reduce(0, T.tensor([0, 0, 2]), T.tensor([5, 6, 7]), r, include_self=b) for r in ('sum', 'prod', 'mean', 'amax', 'amin') for b in (True, False)]
A = T.tensor([[4., 1., 2., 0.], [1., 3., .2, 1.]], dtype=T.float64, requires_grad=True); U, S, Vh = T.linalg.svd(A); (Vh[:2].abs() * T.arange(8.).reshape(2, 4)).sum().backward(); out = Vh[:2].abs(), A.grad
T.zeros(2).index_reduce(0, T.tensor([5]), T.ones(1), 'prod')
x = T.arange(1600).double().mul(.37).sin().reshape(40, 40) + 4 * T.eye(40).double(); b = T.arange(40).double().unsqueeze(1); out = T.linalg.solve_triangular(x, b, upper=True), T.linalg.solve_triangular(x, b, upper=False), T.linalg.lu_solve(*T.linalg.lu_factor(x), b)
x = T.arange(36).double().mul(.37).sin().reshape(6, 6); out = [T.matrix_exp(x * k) for k in (.01, 1., 5.)]
"""

LAYERS = r"""
T.manual_seed(0); m = T.nn.Conv3d(2, 4, 3, padding=1, stride=2); x = T.randn(1, 2, 5, 5, 5, requires_grad=True); y = m(x); y.sum().backward(); out = y, x.grad, m.weight.grad, repr(m)
T.manual_seed(0); m = T.nn.ConvTranspose3d(2, 3, 2, stride=2); x = T.randn(1, 2, 2, 3, 2, requires_grad=True); y = m(x); y.sum().backward(); out = y, x.grad, repr(m)
T.manual_seed(0); x = T.randn(1, 2, 4, 4, 4, requires_grad=True); y = T.nn.MaxPool3d(2)(x) + T.nn.AvgPool3d(2)(x); y.sum().backward(); out = y, x.grad
T.manual_seed(0); x = T.randn(1, 2, 5, 4, 6); out = T.nn.AdaptiveAvgPool3d((2, 2, 3))(x), T.nn.AdaptiveMaxPool3d(2)(x), T.nn.MaxPool3d(3, 1, 1)(x), T.nn.AvgPool3d(3, 2, 1)(x)
T.manual_seed(0); x = T.randn(1, 2, 5, 7, requires_grad=True); y = T.nn.AdaptiveMaxPool2d((2, 3))(x); y.sum().backward(); out = y, x.grad, T.nn.AdaptiveMaxPool1d(3)(x[0])
T.manual_seed(0); x = T.rand(1, 2, 6, requires_grad=True); y = T.nn.LPPool1d(2, 3)(x); y.sum().backward(); out = y, x.grad, T.nn.LPPool2d(3, 2, stride=1)(T.rand(1, 1, 4, 4))
T.manual_seed(0); x = T.randn(2, 6, 3, 3, requires_grad=True); y = T.nn.LocalResponseNorm(3, alpha=.1)(x); y.sum().backward(); out = y, x.grad, T.nn.Softmax2d()(x)
T.manual_seed(0); x = T.randn(1, 1, 4, 4); v, i = T.nn.MaxPool2d(2, return_indices=True)(x); out = T.nn.MaxUnpool2d(2)(v, i), T.nn.functional.max_unpool1d(*T.nn.functional.max_pool1d(x[0], 2, return_indices=True), 2)
x = T.ones(2, 3); out = T.nn.RReLU().eval()(-x), T.nn.AlphaDropout(.5).eval()(x), T.nn.functional.alpha_dropout(x, 0., True)
T.manual_seed(0); x, t = T.randn(3, 5, requires_grad=True), T.tensor([1, 0, 4]); y = T.nn.MultiMarginLoss()(x, t) + T.nn.MultiMarginLoss(p=2, margin=.5, reduction='sum')(x, t); y.backward(); out = y, x.grad
T.manual_seed(0); x, t = T.randn(2, 4, requires_grad=True), T.tensor([[1, 3, -1, 0], [0, -1, 1, 2]]); y = T.nn.MultiLabelMarginLoss()(x, t); y.backward(); out = y, x.grad
T.manual_seed(0); x, t = T.randn(2, 4, requires_grad=True), T.tensor([[1., 0., 1., 0.], [0., 0., 1., 1.]]); y = T.nn.MultiLabelSoftMarginLoss()(x, t); y.backward(); out = y, x.grad
T.manual_seed(0); a, p, n = T.randn(3, 4, requires_grad=True), T.randn(3, 4), T.randn(3, 4); y = T.nn.TripletMarginWithDistanceLoss(distance_function=lambda u, v: (u - v).abs().sum(1), swap=True)(a, p, n); y.backward(); out = y, a.grad
T.manual_seed(0); x = T.randn(6, 2, 4, requires_grad=True); y = T.nn.CTCLoss()(x.log_softmax(2), T.tensor([[1, 2, 2], [3, 1, 1]]), T.tensor([6, 5]), T.tensor([3, 2])); y.backward(); out = y, x.grad
T.manual_seed(0); x = T.randn(6, 2, 4); out = T.nn.CTCLoss(reduction='none')(x.log_softmax(2), T.tensor([1, 2, 3, 1, 1]), (6, 6), (2, 3)), T.nn.CTCLoss(blank=3, reduction='sum')(x.log_softmax(2), T.tensor([[1, 2], [0, 0]]), (4, 6), (2, 2)), T.nn.CTCLoss(zero_infinity=True)(x[:2].log_softmax(2), T.tensor([[1, 2, 1], [1, 2, 1]]), (2, 2), (3, 3))
T.manual_seed(0); x = T.randn(2, 3, 4, 5, requires_grad=True); th = T.tensor([[[1., .2, .1], [0., .9, -.2]], [[.5, 0., 0.], [0., .5, .7]]], requires_grad=True); y = T.nn.functional.grid_sample(x, T.nn.functional.affine_grid(th, (2, 3, 3, 3), align_corners=False), align_corners=False); y.sum().backward(); out = y, x.grad, th.grad
T.manual_seed(0); x = T.randn(1, 1, 4, 4); g = T.nn.functional.affine_grid(T.tensor([[[1.2, 0., 0.], [0., 1.2, .3]]]), (1, 1, 3, 5), align_corners=True); out = g, T.nn.functional.grid_sample(x, g, align_corners=True, padding_mode='border'), T.nn.functional.grid_sample(x, g, mode='nearest', align_corners=True)
T.manual_seed(0); m = T.nn.LazyLinear(3); o = repr(m); y = m(T.ones(2, 4)); out = o, repr(m), y, m.weight.shape[1], type(m).__name__
T.manual_seed(0); m = T.nn.Sequential(T.nn.LazyConv2d(4, 3), T.nn.LazyBatchNorm2d(), T.nn.ReLU(), T.nn.Flatten(), T.nn.LazyLinear(2)); y = m(T.randn(2, 3, 5, 5)); y.sum().backward(); out = y, m[0].weight.grad, repr(m), [tuple(p.shape) for p in m.parameters()]
T.manual_seed(0); m = T.nn.LazyLinear(3); o = T.optim.SGD(m.parameters(), lr=.1); m(T.ones(2, 4)).sum().backward(); o.step(); out = m.weight
m = T.nn.LazyLinear(3); out = m.weight.shape
m = T.nn.LazyConv1d(3, 2); out = m.has_uninitialized_params(), m(T.ones(1, 4, 5)).shape[1], m.in_channels, T.nn.LazyConvTranspose2d(2, 2)(T.ones(1, 3, 2, 2)).shape[2], T.nn.LazyBatchNorm1d(affine=False)(T.ones(2, 3)), T.nn.LazyConv3d(2, 2)(T.ones(1, 3, 2, 2, 2)).shape[1]
T.manual_seed(0); m = T.nn.utils.weight_norm(T.nn.Linear(3, 2)); y = m(T.ones(4, 3)); y.sum().backward(); out = y, m.weight_g.grad, m.weight_v.grad, list(m.state_dict()), m.weight_g
T.manual_seed(0); m = T.nn.utils.weight_norm(T.nn.Conv1d(3, 2, 3), dim=None); y = m(T.ones(1, 3, 5)); y.sum().backward(); T.nn.utils.remove_weight_norm(m); out = y, m.weight, list(m.state_dict())
T.manual_seed(0); m = T.nn.utils.spectral_norm(T.nn.Linear(3, 2)); y = m(T.ones(4, 3)); y.sum().backward(); m.eval(); out = y, m(T.ones(1, 3)), m.weight_orig.grad, sorted(m.state_dict()), m.weight_u
T.manual_seed(0); m = T.nn.utils.spectral_norm(T.nn.ConvTranspose2d(3, 2, 3), n_power_iterations=2); y = m(T.ones(1, 3, 3, 3)); y.sum().backward(); out = y, m.weight_orig.grad
m = T.nn.Linear(2, 1); log = []; m.register_state_dict_pre_hook(lambda m, p, k: log.append(p)); m.register_state_dict_post_hook(lambda m, s, p, l: s.update(extra=T.ones(1))); m.register_load_state_dict_post_hook(lambda m, k: k.unexpected_keys.clear()); s = m.state_dict(); m.load_state_dict(s); out = log, sorted(s)
m = T.nn.Sequential(T.nn.Linear(2, 1)); m[0].register_load_state_dict_pre_hook(lambda m, s, p, *a: s.update({p + 'weight': s.pop(p + 'w')})); out = str(m.load_state_dict({'0.w': T.ones(1, 2), '0.bias': T.ones(1)})), m[0].weight
class M(T.nn.Module):\n def get_extra_state(self): return {'n': 3}\n def set_extra_state(self, s): self.n = s['n']\nm = M(); m.load_state_dict(m.state_dict()); out = m.n, list(m.state_dict())
m = T.nn.DataParallel(T.nn.Linear(2, 1)); out = list(m.state_dict()), m(T.ones(3, 2)).shape[0]
"""

# Found by running programs of the usual kinds for the first time.
PROGRAMS = r"""
out = str(T.max(T.eye(2), 0)), str(T.linalg.slogdet(T.eye(2))), str(T.sort(T.tensor([3, 1]))), str(T.topk(T.tensor([1., 3.]), 1)), str(T.frexp(T.ones(2)))
v, i = T.max(T.tensor([[1., 5.], [7., 2.]]), 1); r = T.min(T.tensor([[1., 5.]]), 1); out = v, i, r.values, r.indices, r[0], len(r), isinstance(r, tuple), type(r)((v, i)).values
out = T.mode(T.tensor([[1, 2, 2, 3, 3], [5, 4, 4, 4, 5]])), T.mode(T.tensor([[1, 2], [1, 3]]), 0, keepdim=True), T.tensor(3).mode()
x = T.tensor([[1., 2., 2.], [3., 1., 3.]], requires_grad=True); v, i = x.mode(1); (v * T.tensor([2., 3.])).sum().backward(); out = v, i, x.grad
out = str(T.finfo(T.float32)), str(T.finfo(T.float64)), str(T.iinfo(T.int8)), str(T.iinfo(T.int64))
T.manual_seed(3); T.randn(5); s = T.get_rng_state(); a = T.rand(2); T.set_rng_state(s); out = s, a, T.rand(2), T.Generator().manual_seed(1).get_state()
import io\nT.manual_seed(3); b = io.BytesIO(); T.save({'rng': T.get_rng_state()}, b); b.seek(0); x = T.rand(2); T.set_rng_state(T.load(b)['rng']); out = x, T.rand(2)
T.set_rng_state(T.zeros(3))
T.manual_seed(0)\nwith T.random.fork_rng(): T.rand(5)\nout = T.rand(2)
T.manual_seed(0); out = T.nn.init.sparse_(T.empty(4, 3), .5)
d = {'float32': T.float32, 'bfloat16': T.bfloat16, 'float16': T.float16}['float32']; out = T.ones(2, dtype=d), T.float32 == T.bfloat16
T.manual_seed(0); m = T.nn.MultiheadAttention(6, 2, kdim=4, vdim=5); q = T.randn(3, 1, 6, requires_grad=True); y, w = m(q, T.randn(2, 1, 4), T.randn(2, 1, 5)); y.sum().backward(); out = y, w, q.grad, m.k_proj_weight.grad, list(m.state_dict()), repr(m)
T.manual_seed(0); m = T.nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True); x = T.randn(2, 3, 6); y, w = m(x, x, x, key_padding_mask=T.tensor([[False, False, True], [False, False, False]]), average_attn_weights=False); y.sum().backward(); out = y, w, m.bias_k.grad, m.bias_v, list(m.state_dict())
T.manual_seed(0); e = T.nn.TransformerEncoder(T.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1).eval(); p = T.tensor([[False, False, True], [False, False, False]]); x = T.randn(2, 3, 4)\nwith T.no_grad(): y = e(x, src_key_padding_mask=p)\nout = y, e(x, src_key_padding_mask=p)[1]
T.manual_seed(0); out = repr(T.nn.TransformerEncoder(T.nn.TransformerEncoderLayer(4, 1, 8), 1))
T.manual_seed(0); m = T.nn.LSTM(3, 5, proj_size=2, num_layers=2, bidirectional=True); y, (h, c) = m(T.randn(4, 1, 3)); y.sum().backward(); out = y, h, c, m.weight_hr_l0.grad, list(m.state_dict()), repr(m)
T.nn.LSTM(3, 5, proj_size=5)
T.nn.GRU(3, 5, proj_size=2)
T.nn.Linear(2, 1).load_state_dict({'x': T.ones(1)})
class F(T.autograd.Function):\n @staticmethod\n def forward(ctx, x): return x * 2\n @staticmethod\n def backward(ctx, g): return g\nout = repr(F.apply(T.ones(1, requires_grad=True)).grad_fn).split(' at ')[0].replace('tinygrad_edu', 'torch')
o = T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1); s = T.optim.lr_scheduler.StepLR(o, 2); out = s.state_dict()
x = T.zeros(2, 1, 3).log_softmax(2).requires_grad_(); y = T.nn.functional.ctc_loss(x, T.tensor([[1, 1, 2]]), [2], [3]); y.backward(); out = y, x.grad
x = T.zeros(2, 1, 3).log_softmax(2).requires_grad_(); y = T.nn.functional.ctc_loss(x, T.tensor([[1, 1, 2]]), [2], [3], zero_infinity=True); y.backward(); out = y, x.grad
from {T}.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook\nlog = []\nwith register_module_forward_pre_hook(lambda m, a: log.append(('pre', type(m).__name__))), register_module_forward_hook(lambda m, a, o: log.append(type(m).__name__)): T.nn.Sequential(T.nn.Identity(), T.nn.ReLU())(T.ones(2))\nT.nn.ReLU()(T.ones(1)); out = log
from {T}.nn.modules.module import register_module_full_backward_hook as r, register_module_full_backward_pre_hook as p\nlog = []; x = T.ones(2, requires_grad=True)\nwith r(lambda m, i, o: log.append((i[0].tolist(), o[0].tolist()))), p(lambda m, o: (o[0] * 3,)): T.nn.Hardtanh()(x * 2).sum().backward()\nout = log, x.grad
log = []\nclass M(T.nn.Module):\n def forward(self, x): raise KeyError('no')\nm = M(); m.register_forward_hook(lambda m, a, o: log.append(o), always_call=True); m.register_forward_hook(lambda m, a, o: log.append(1))\ntry: m(1)\nexcept KeyError: log.append('raised')\nout = log
m = T.nn.Linear(2, 1); m.register_forward_hook(lambda m, a, k, o: o * 2, with_kwargs=True); m.register_forward_pre_hook(lambda m, a, k: ((), {'input': T.ones(1, 2)}), with_kwargs=True); T.manual_seed(0); m.reset_parameters(); out = m(3), list(m._forward_hooks.values())[0].__name__
from {T}.nn.utils import prune\nT.manual_seed(0); m = T.nn.Linear(4, 3); prune.random_unstructured(m, 'weight', .3); prune.l1_unstructured(m, 'bias', 1); y = m(T.ones(2, 4)); y.sum().backward(); out = y, m.weight_orig.grad, list(m.state_dict()), prune.is_pruned(m), [type(h).__name__ for h in m._forward_pre_hooks.values()]
from {T}.nn.utils import prune\nT.manual_seed(0); m = T.nn.Conv2d(3, 4, 3); prune.ln_structured(m, 'weight', .5, 2, 0); prune.random_structured(m, 'weight', 1, 1); prune.l1_unstructured(m, 'weight', 5); h = list(m._forward_pre_hooks.values())[0]; out = m.weight, m.weight_mask, len(h), [type(x).__name__ for x in h], prune.remove(m, 'weight').weight, list(m.state_dict()), prune.is_pruned(m)
from {T}.nn.utils import prune\nT.manual_seed(0); m = T.nn.Sequential(T.nn.Linear(3, 2), T.nn.Linear(2, 2)); prune.global_unstructured([(m[0], 'weight'), (m[1], 'weight')], prune.L1Unstructured, amount=.4); out = m[0].weight, m[1].weight, prune.custom_from_mask(m[0], 'bias', T.tensor([0, 1])).bias
from {T}.nn.utils import prune\nclass Every(prune.BasePruningMethod):\n PRUNING_TYPE = 'unstructured'\n def compute_mask(self, t, default_mask):\n  mask = default_mask.clone(); mask.view(-1)[::2] = 0; return mask\nm = T.nn.Linear(2, 2); Every.apply(m, 'bias'); out = m.bias_mask, Every().prune(T.ones(3))
from {T}.nn.utils import prune; prune.l1_unstructured(T.nn.Linear(2, 2), 'weight', 1.5)
from {T}.nn.utils import prune; prune.l1_unstructured(T.nn.Linear(2, 2), 'weight', 9)
from {T}.nn.utils import prune; prune.remove(T.nn.Linear(2, 2), 'weight')
import {T}.nn.utils.parametrize as P\nclass S(T.nn.Module):\n def forward(self, x): return x.triu() + x.triu(1).transpose(-1, -2)\nT.manual_seed(0); m = P.register_parametrization(T.nn.Linear(3, 3), 'weight', S()); y = m(T.ones(1, 3)); y.sum().backward(); out = y, m.parametrizations.weight.original.grad, repr(m), list(m.state_dict()), P.is_parametrized(m, 'weight'), P.type_before_parametrizations(m).__name__, P.remove_parametrizations(m, 'weight').weight, repr(m)
import {T}.nn.utils.parametrize as P\nclass E(T.nn.Module):\n def forward(self, x): return x.exp()\n def right_inverse(self, y): return y.log()\nT.manual_seed(0); m = T.nn.Linear(2, 2); m.weight.data.abs_(); w = m.weight.clone(); P.register_parametrization(m, 'weight', E()); a = m.weight; m.weight = T.full((2, 2), 3.); P.register_parametrization(m, 'weight', T.nn.ReLU())\nwith P.cached(): b = m.weight is m.weight\nout = w, a, m.weight, m.parametrizations.weight.original, b, len(m.parametrizations.weight), P.remove_parametrizations(m, 'weight', leave_parametrized=False).weight
import {T}.nn.utils.parametrize as P\nclass R(T.nn.Module):\n def forward(self, x): return x[:1]\nP.register_parametrization(T.nn.Linear(2, 2), 'weight', R())
import {T}.nn.utils.parametrize as P; P.register_parametrization(T.nn.Linear(2, 2), 'w', T.nn.ReLU())
from {T}.nn.utils.parametrizations import orthogonal\nT.manual_seed(0); a, b, c, d = orthogonal(T.nn.Linear(3, 3)), orthogonal(T.nn.Linear(3, 2)), orthogonal(T.nn.Linear(2, 3), orthogonal_map='cayley'), orthogonal(T.nn.Linear(2, 4), use_trivialization=False)\nfor m in (a, b, c, d): (m.weight * T.arange(m.weight.numel()).view(m.weight.shape)).sum().backward()\nout = [(m.weight, m.parametrizations.weight.original.grad) for m in (a, b, c, d)], repr(a), list(b.state_dict())
from {T}.nn.utils.parametrizations import weight_norm, spectral_norm\nT.manual_seed(0); a, b = weight_norm(T.nn.Linear(3, 2)), spectral_norm(T.nn.Conv2d(2, 3, 2)); y = a(T.ones(1, 3)).sum() + b(T.ones(1, 2, 3, 3)).sum(); y.backward(); out = y, a.parametrizations.weight.original0.grad, a.parametrizations.weight.original1, b.parametrizations.weight.original.grad, b.parametrizations.weight[0]._u, list(a.state_dict()), list(b.state_dict()), repr(b), b.eval().weight
import copy, {T}.nn.utils.parametrizations as P\nT.manual_seed(0); m = P.weight_norm(T.nn.Linear(3, 2)); c = copy.deepcopy(m); c.parametrizations.weight.original0.data.fill_(1); out = m.weight, c.weight
import pickle, {T}.nn.utils.parametrizations as P; pickle.dumps(P.weight_norm(T.nn.Linear(3, 2)))
T.manual_seed(7); out = T.nn.functional.rrelu(T.tensor([-1., 2., -1.]), training=True), T.rand(1), T.nn.Dropout3d(.5)(T.ones(2, 3, 1, 2, 2)), T.rand(1), T.nn.AlphaDropout(.5)(T.ones(5)), T.rand(1), T.nn.FeatureAlphaDropout(.5)(T.ones(2, 4, 2)), T.rand(1)
T.manual_seed(1); D = T.distributions; d = [D.Poisson(T.tensor([.5, 3., 20., 100.])), D.Gamma(T.tensor([.3, 1., 5.]), T.tensor([1., 2., 3.])), D.Beta(T.tensor([.5, 2.]), T.tensor([2., 3.])), D.Dirichlet(T.tensor([[.5, 1., 2.]])), D.Chi2(T.tensor([3.])), D.StudentT(T.tensor([4.]), 1., 2.), D.Binomial(20, T.tensor([.1, .5, .7])), D.Binomial(200, T.tensor([.1, .5, .7]))]; out = [(x.sample(), x.sample((3,)), x.log_prob(x.sample()), str(x)) for x in d], T.rand(1)
T.manual_seed(1); D = T.distributions; d = [D.Cauchy(0., T.tensor([1., 2.])), D.HalfCauchy(T.tensor([2.])), D.NegativeBinomial(5., T.tensor([.3])), D.MixtureSameFamily(D.Categorical(T.ones(2)), D.Normal(T.tensor([-1., 1.]), T.ones(2))), D.RelaxedBernoulli(T.tensor(.5), T.tensor([.3])), D.RelaxedOneHotCategorical(T.tensor(.7), T.tensor([.2, .8]))]; out = [(x.sample(), x.sample((3,)), x.log_prob(x.sample())) for x in d], T.rand(1), [x.mean for x in d[2:4]], d[3].variance
D = T.distributions; out = str(D.LogNormal(0., 1.)), str(D.HalfNormal(1.)), str(D.Beta(1., 2.)), str(D.Binomial(3, T.tensor(.5))), D.Weibull(T.tensor([2.]), 1.5).log_prob(T.tensor([.7])), D.Pareto(T.tensor([1.]), 2.).log_prob(T.tensor([1.7])), D.kl.kl_divergence(D.Normal(0., 1.), D.Normal(1., 2.))
from {T}.distributions import transforms as t; x = T.tensor([.3, .9], requires_grad=True); every = [t.ExpTransform(), t.SigmoidTransform(), t.TanhTransform(), t.SoftplusTransform(), t.AffineTransform(1., -2.), t.AffineTransform(T.tensor([1., 2.]), T.tensor([3., 4.]), event_dim=1), t.PowerTransform(T.tensor(2.)), t.ComposeTransform([t.AffineTransform(1., 2.), t.SigmoidTransform()]), t.StickBreakingTransform(), t.IndependentTransform(t.ExpTransform(), 1), t.ReshapeTransform((2,), (1, 2)), t.ExpTransform().inv]; out = [(f(x), f.log_abs_det_jacobian(x, f(x)), f.inv(f(x)), T.autograd.grad(f(x).sum() + f.log_abs_det_jacobian(x, f(x)).sum(), x)) for f in every]
T.manual_seed(1); D = T.distributions; f = D.TransformedDistribution(D.Independent(D.Normal(T.zeros(2), T.ones(2)), 1), [D.AffineTransform(T.tensor([1., 2.]), T.tensor([2., .5])), D.TanhTransform(cache_size=1)]); z = f.rsample((2,)); out = z, f.log_prob(z), tuple(f.batch_shape), tuple(f.event_shape), D.TransformedDistribution(D.Normal(T.zeros(3), 1.), D.StickBreakingTransform()).log_prob(T.tensor([.1, .2, .3, .4])), D.TransformedDistribution(D.Normal(0., 1.), D.ExpTransform()).cdf(T.tensor(2.))
T.manual_seed(1); logits = T.zeros(3, requires_grad=True); T.distributions.RelaxedOneHotCategorical(T.tensor(1.), logits=logits).rsample()[0].backward(); out = logits.grad, T.distributions.OneHotCategoricalStraightThrough(T.tensor([.3, .7])).rsample(), T.poisson(T.tensor([2., 15.])), T.binomial(T.tensor([5., 90.]), T.tensor([.5, .4]))
class G(T.distributions.Distribution):\n arg_constraints = {}\n def __init__(self, loc): self.loc = loc; super().__init__(loc.shape)\n def rsample(self, sample_shape=()): return self.loc + T.ones(self._extended_shape(sample_shape))\nout = G(T.zeros(2)).sample((2,)), G(T.zeros(2)).rsample()
from {T}.distributions import constraints as c; out = c.positive.check(T.tensor([1., -1.])), c.simplex.check(T.tensor([.5, .5])), str(c.unit_interval), str(c.real), c.nonnegative_integer.check(T.tensor([1.5, 2.]))
T.manual_seed(0); m = T.nn.Embedding(4, 3, max_norm=1., norm_type=1); y = m(T.tensor([1, 2, 1])); y.sum().backward(); out = y, m.weight, m.weight.grad, repr(m), T.nn.functional.embedding(T.tensor([0]), m.weight.detach().clone() * 9, max_norm=2.)
T.manual_seed(0); l = T.nn.Linear(3, 2); o = T.optim.Adafactor(l.parameters(), lr=.1, weight_decay=.01)\nfor _ in range(3): o.zero_grad(); l(T.ones(1, 3)).pow(2).sum().backward(); o.step()\nout = l.weight, l.bias, repr(o), {k: sorted(v) for k, v in o.state_dict()['state'].items()}
T.manual_seed(0); i = T.nn.init; out = i.xavier_uniform(T.empty(2, 3)), i.kaiming_normal(T.empty(2, 3)), i.constant(T.empty(2), 3), i.orthogonal(T.empty(2, 2)), i.normal(T.empty(2), std=2), i.uniform(T.empty(2))
x = T.tensor([3., 4.], requires_grad=True); x.pow(2).sum().backward(); out = T.nn.utils.clip_grad_norm([x], 1.), x.grad
x = T.tensor([3., 4.], requires_grad=True); x.pow(2).sum().backward(); n = T.nn.utils.get_total_norm([x.grad]); T.nn.utils.clip_grads_with_norm_(x, 1., n); out = n, x.grad, T.nn.utils.skip_init(T.nn.Linear, 2, 3).weight.shape[0]
x = T.tensor([1., 2.], requires_grad=True); T.nextafter(x, T.tensor([3., 2.])).sum().backward(); out = x.grad
F = T.nn.functional; T.manual_seed(0); t = T.tensor([[[1., 0, 0], [0, 1, 0]]], requires_grad=True); x = T.rand(1, 1, 28, 28); y = F.grid_sample(x, F.affine_grid(t, (1, 1, 28, 28), align_corners=False), align_corners=False); y.pow(2).sum().backward(); out = y, t.grad, [F.affine_grid(t, (1, 1, n, n), align_corners=False) for n in (7, 16, 224)]
X = T.linspace(0, 1, 12, dtype=T.float64).unsqueeze(-1); y = T.sin(6 * X); s = T.tensor(.03, requires_grad=True, dtype=T.float64); K = T.exp(-4 * (X - X.T) ** 2) + s * T.eye(12, dtype=T.float64); L = T.linalg.cholesky(K); a = T.cholesky_solve(y, L); (y.T @ a).sum().backward(); out = a, s.grad, T.cholesky_solve(y, L.T, upper=True), T.cholesky_inverse(L), T.cholesky_inverse(L.mT, upper=True)
D = T.distributions; e = T.eye(2); d, c, p = D.MultivariateNormal(T.zeros(2), e), D.MultivariateNormal(T.zeros(3, 2), precision_matrix=e * 4), D.MultivariateNormal(T.zeros(2), scale_tril=e * 2); out = str(d), str(c), str(p), d.covariance_matrix, c.covariance_matrix, p.precision_matrix, str(c), str(p)
T.manual_seed(0); q, k, v = T.randn(2, 4, 5, 8), T.randn(2, 2, 5, 8, requires_grad=True), T.randn(2, 2, 5, 8); y = T.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True); y.pow(2).sum().backward(); out = y, k.grad
with T.backends.cudnn.flags(enabled=False): T.backends.cuda.enable_flash_sdp(True); out = T.ones(1)
out = T.distributions.multinomial.Multinomial(3, T.ones(2)).total_count, repr(T.nn.modules.conv.Conv2d(1, 1, 1)), T.utils.data.dataloader.default_collate([T.ones(1)]), hasattr(T.nn, 'nonsense')
x = T.ones(2, requires_grad=True)\nwith T.autograd.graph.save_on_cpu(pin_memory=False): y = x * x\ny.sum().backward(); out = x.grad
x = T.arange(24.).reshape(2, 3, 2, 2).requires_grad_(); y = x.contiguous(memory_format=T.channels_last); (y * y).sum().backward(); z = x.detach().to(memory_format=T.channels_last); out = y, y.stride(), y.is_contiguous(), y.is_contiguous(memory_format=T.channels_last), x.grad, z.stride(), z.contiguous().stride(), x.is_contiguous(memory_format=T.contiguous_format)
A = T.tensor([[1., 2., 3.], [4., 5., 7.]], dtype=T.float64, requires_grad=True); out = [(n := T.linalg.matrix_norm(A, o), T.autograd.grad(n, A)) for o in ('nuc', 2, -2, 1, 'fro')], T.norm(A, p='nuc'), T.linalg.norm(A, 2), T.linalg.matrix_norm(T.arange(24.).reshape(2, 3, 4), 2, dim=(0, 2), keepdim=True)
T.linalg.matrix_norm(T.eye(2), 3)
T.set_float32_matmul_precision('high'); a = T.get_float32_matmul_precision(); T.set_float32_matmul_precision('highest'); out = a, T.get_float32_matmul_precision()
n = np.int64; x = T.arange(6.).reshape(2, 3); out = x.sum(n(0)), x.sum((n(0), 1)), x.mean(np.int32(1)), x.var(n(0)), x.T.chunk(n(3)), x.logsumexp(n(0)), x.roll(n(1), n(0)), T.Tensor(n(2), 3).shape, T.Tensor(n(2)).shape, T.zeros((n(2), n(3))), x.movedim(n(0), n(1))
n, f = np.int64, T.nn.functional; out = T.nn.MaxPool2d(n(2))(T.ones(1, 1, 4, 4)), T.nn.LayerNorm(n(3))(T.arange(6.).reshape(2, 3)), f.conv2d(T.ones(1, 1, 4, 4), T.ones(1, 1, 3, 3), stride=n(2), padding=n(1)), f.avg_pool2d(T.ones(1, 1, 4, 4), n(2)), T.nn.LSTM(n(2), n(3), n(1))(T.ones(1, 1, 2))[0].shape
i = T.tensor([1, 2]); out = 1 << i, 8 >> i, i << 1, i >> i, 3 & i, i ^ True
T.ones(2) & 1
T.tensor([1, 2]) | 1.5
1.5 << T.tensor([1])
~T.ones(2)
g = T.tensor([[[[-.5, .5], [.9, float('inf')]]]], requires_grad=True); y = T.nn.functional.grid_sample(T.arange(4.).reshape(1, 1, 2, 2), g, mode='nearest', align_corners=False); y.sum().backward(); out = y, g.grad
x = T.arange(4.).reshape(1, 1, 2, 2); F = T.nn.functional; out = F.upsample_nearest(x, scale_factor=2), F.upsample_bilinear(x, size=(3, 3))
w = T.autograd.forward_ad\nwith w.dual_level(): a, b = w.make_dual(T.tensor([1., 0., 2.]), T.tensor([0., 1., 3.])), w.make_dual(T.tensor([0., 0., 4.]), T.tensor([1., 1., 5.])); out = [w.unpack_dual(q).tangent for q in (a / b, 3 / b, T.ones(3) / b, a / 2, a / T.tensor(2.))]
D, c = T.distributions, T.distributions.constraints; P = type('P', (D.transforms.Transform,), {'domain': c.real_vector, 'codomain': c.real_vector, 'bijective': True, '_call': lambda self, x: x.exp() * 2, '_inverse': lambda self, y: (y / 2).log(), 'log_abs_det_jacobian': lambda self, x, y: x.sum(-1) + x.shape[-1] * np.log(2.)}); d = D.TransformedDistribution(D.Normal(T.zeros(3), 1.), [P()]); out = d.batch_shape, d.event_shape, d.log_prob(T.ones(2, 3)), D.MixtureSameFamily(D.Categorical(T.ones(2)), D.Normal(T.tensor([0., 1.]), 2.)).cdf(T.tensor([.5, 2.]))
D = T.distributions; p = T.tensor([.1, .6]); out = [(d.mode, d.cdf(p), d.icdf(p)) for d in (D.Normal(T.tensor([0., 1.]), 2.), D.Uniform(T.tensor([0., -1.]), 3.), D.Laplace(T.tensor([0., 1.]), 2.), D.LogNormal(T.tensor([0., 1.]), 2.), D.Exponential(T.tensor([1., 2.])))], D.Bernoulli(T.tensor([.2, .5, .7])).mode, D.Bernoulli(p).enumerate_support(), D.Categorical(T.tensor([[.2, .8], [.6, .4]])).mode, D.Categorical(T.ones(2, 3)).enumerate_support(expand=False), D.Categorical(T.ones(2, 3)).perplexity(), D.MultivariateNormal(p, scale_tril=T.tensor([[1., 0.], [.5, 2.]])).precision_matrix
T.manual_seed(0); x = T.randn(20, 3); out = [(s, u.abs(), v.abs(), T.rand(1)) for u, s, v in (T.pca_lowrank(x, q=2), T.svd_lowrank(x.T, 2), T.pca_lowrank(x, center=False))]
nn = T.nn; from importlib import import_module as m; b = m(nn.__name__ + '.modules.batchnorm'); out = [[isinstance(l, k) for k in (b._BatchNorm, b._NormBase, m(nn.__name__ + '.modules.instancenorm')._InstanceNorm, m(nn.__name__ + '.modules.conv')._ConvNd, nn.RNNBase, m(nn.__name__ + '.modules.dropout')._DropoutNd)] for l in (nn.BatchNorm2d(2), nn.InstanceNorm2d(2), nn.Conv1d(1, 1, 1), nn.ConvTranspose2d(1, 1, 1), nn.GRU(1, 1), nn.Dropout2d())]
u = T.nn.modules.utils; out = u._pair(3), u._triple((1, 2, 3)), u._ntuple(2)('ab'), u._reverse_repeat_tuple((1, 2), 2), len(T.nn.modules.transformer._get_clones(T.nn.Linear(1, 1), 3)), T.nn.modules.module._addindent('a\nb', 2)
L = type('L', (T.nn.modules.loss._WeightedLoss,), {'forward': lambda self, x: (x * self.weight).mean()}); out = L(T.ones(2))(T.ones(2)), L(T.ones(2)).reduction, L(T.ones(2), reduction='sum').reduction, list(L(T.ones(2)).state_dict()), isinstance(T.nn.MSELoss(), T.nn.modules.loss._Loss)
L = type('L', (T.nn.modules.loss._Loss,), {'forward': lambda self, x: x.sum() if self.reduction == 'sum' else x}); x = T.ones(2); out = L()(x), L(reduction='sum')(x), L(size_average=False).reduction
r = T.nn.RNN(2, 3, 2, 'relu'); l = T.nn.LSTM(2, 4, bidirectional=True, proj_size=3); out = r.mode, l.mode, r._flat_weights_names, l._all_weights, [w.shape for row in l.all_weights for w in row], T.nn.RNNBase('GRU', 2, 3).weight_ih_l0.shape
sd = T.nn.Sequential(T.nn.BatchNorm1d(2), T.nn.Linear(2, 2)).state_dict(); out = dict(sd._metadata), T.nn.Sequential(T.nn.BatchNorm1d(2), T.nn.Linear(2, 2)).load_state_dict({k: v for k, v in sd.items() if 'tracked' not in k})
sd = T.nn.Sequential(T.nn.BatchNorm1d(2)).state_dict(); del sd['0.num_batches_tracked']; T.nn.Sequential(T.nn.BatchNorm1d(2)).load_state_dict(sd)
m = T.nn.Sequential(T.nn.Linear(2, 3)); m.load_state_dict({'0.weight': T.ones(2, 2), '0.x': T.ones(1), 'y.z': T.ones(1), '0.bias.q': T.ones(1)})
D = T.distributions; out = [str(d.support) for d in (D.Normal(0., 1.), D.Uniform(0., 2.), D.Categorical(T.ones(3)), D.Bernoulli(T.tensor(.5)), D.TransformedDistribution(D.Normal(0., 1.), [D.transforms.TanhTransform()]), D.Independent(D.Normal(T.zeros(2), 1.), 1), D.MultivariateNormal(T.zeros(2), T.eye(2)), D.Dirichlet(T.ones(2)), D.Beta(1., 1.), D.LogNormal(0., 1.), D.OneHotCategorical(T.ones(3)), D.Poisson(1.), D.Gamma(1., 1.), D.Pareto(1., 1.), D.Multinomial(3, T.ones(2)))]
D = T.distributions; T.manual_seed(0); out = [(d.sample((2,)), d.batch_shape, d.event_shape) for d in (D.Normal(0., 1.).expand([3]), D.Categorical(logits=T.ones(3)).expand((2,)), D.Independent(D.Normal(T.zeros(2), 1.), 1).expand((4,)), D.MultivariateNormal(T.zeros(2), T.eye(2)).expand((3,)), D.OneHotCategorical(T.ones(3)).expand((2,)), D.LogNormal(0., 1.).expand((2,)))]
T.distributions.Normal(T.tensor([0., 1.]), T.tensor([1., -1.]))
T.distributions.HalfCauchy(T.tensor([1., -1.]))
T.distributions.Gumbel(0., T.tensor([1., -1.]))
T.distributions.Categorical(T.tensor([-1., 2.]))
T.distributions.Categorical(logits=T.tensor([float('nan'), 2.]))
D = T.distributions; D.Normal(0., 1.)._validate_sample(T.tensor(float('nan')))
D = T.distributions; out = D.Normal(T.tensor([0.]), T.tensor([-1.]), validate_args=False).scale, D.Categorical(T.ones(2, 3)).param_shape, D.Categorical(T.ones(2, 3)).mean, str(D.Normal.arg_constraints), D.StudentT(T.tensor([1., 1.5, 3.])).mean, D.StudentT(T.tensor([1., 1.5, 3.])).variance, D.Cauchy(0., 1.).mean
u = T.distributions.utils; c = T.distributions.constraints; e = T.eye(2); out = u.broadcast_all(T.ones(2), 3), u.broadcast_all(1., T.ones(2, dtype=T.float64)), u.probs_to_logits(T.tensor([.2, .8])), u.logits_to_probs(T.tensor([.2, .8]), True), u.clamp_probs(T.tensor([0., 1.])), [k.check(e) for k in (c.positive_definite, c.one_hot, c.lower_cholesky, c.symmetric)], c.is_dependent(c.dependent)
E = type('E', (T.distributions.Distribution,), {'arg_constraints': {'rate': T.distributions.constraints.positive}, 'support': T.distributions.constraints.nonnegative, '__init__': lambda self, rate: (self.__dict__.update(rate=rate), T.distributions.Distribution.__init__(self, rate.shape))[0] and None, 'log_prob': lambda self, v: (self._validate_sample(v), self.rate.log() - self.rate * v)[1]}); out = E(T.ones(2)).log_prob(T.ones(2)); E(T.tensor([-1.]))
T.manual_seed(0); T.autograd.gradgradcheck(lambda a, b: (a * b, a.sum()), (T.ones(3, dtype=T.float64, requires_grad=True), T.ones(3, dtype=T.float64, requires_grad=True))); out = T.rand(2)
from importlib import import_module as m; n = T.nn.__name__.split('.')[0]; a = m(n + '.nn.attention'); x = T.arange(8.).reshape(1, 2, 4); c = a.sdpa_kernel([a.SDPBackend.MATH, a.SDPBackend.FLASH_ATTENTION]); c.__enter__(); out = T.nn.functional.scaled_dot_product_attention(x, x, x), m(n + '.compiler').is_compiling(), isinstance(2, m(n + '.types').Number), m(n + '.utils.data._utils.collate').default_collate([1, 2]); c.__exit__(None, None, None)
from importlib import import_module as m; r = m(T.nn.__name__.split('.')[0] + '.optim.optimizer').required; out = repr(r), T.optim.Optimizer([{'params': [T.ones(1, requires_grad=True)], 'lr': 1.}], {'lr': r}).param_groups[0]['lr']; T.optim.Optimizer([T.ones(1, requires_grad=True)], {'lr': r})
x = T.ones(1, 2, 3); out = [m(3, 2, batch_first=True)(x)[0].grad_fn.name() for m in (T.nn.GRU, T.nn.RNN, T.nn.LSTM)]
"""

OPTIMISERS = """
S, o = T.optim.lr_scheduler, T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1); s = S.ExponentialLR(o, .5); out = s.get_lr(), s.get_last_lr()
S, o = T.optim.lr_scheduler, T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1); s = S.PolynomialLR(o, 4, 2.); out = s.get_lr(), s.get_last_lr()
S, o = T.optim.lr_scheduler, T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1); s = S.ExponentialLR(o, .5); o.step(); s.step(3); out = s.get_last_lr(), s.last_epoch
S, o = T.optim.lr_scheduler, T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1, momentum=.9); out = S.OneCycleLR(o, .5, 25, three_phase=True).state_dict()
S, o = T.optim.lr_scheduler, T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1); out = S.CyclicLR(o, .01, .1, cycle_momentum=False).state_dict()
S, o = T.optim.lr_scheduler, T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1); s = S.ReduceLROnPlateau(o, 'max', patience=0); s.step(1., 4); s.step(1.); out = s.state_dict()
S, o = T.optim.lr_scheduler, T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1); s = type('P', (S.ReduceLROnPlateau,), {'_is_better': lambda self, a, best: False, '_reduce_lr': lambda self, epoch: self.optimizer.param_groups[0].update(lr=epoch)})(o, patience=0); s.step(1.); s.step(2.); out = s.get_last_lr()
S, o = T.optim.lr_scheduler, T.optim.SGD([T.ones(1, requires_grad=True)], lr=.1); S.ReduceLROnPlateau(o, min_lr=[1., 2.])
p = T.ones(2, requires_grad=True); a, b = T.optim.Adam([p]), T.optim.AdamW([p], lr=3.); b.load_state_dict(a.state_dict()); out = b.param_groups, b.defaults
p = T.ones(2, requires_grad=True); out = T.optim.Adagrad([p], initial_accumulator_value=.5).state_dict()
p = T.ones(2, requires_grad=True); o = T.optim.LBFGS([p], max_iter=3, history_size=2); o.step(lambda: (o.zero_grad(), (l := (p ** 4).sum()).backward(), l)[2]); out = o.state_dict()
T.optim.SGD([T.ones(2, requires_grad=True)], lr=.1, foreach=True, fused=True)
T.optim.Adam([T.ones(2, requires_grad=True)], betas=(T.tensor(.9), .99))
T.optim.Adam([T.ones(2, requires_grad=True)], lr=None)
"""

MEMORY_ORDER = """
x = T.arange(12.).view(3, 4); x[x > 9] = T.tensor(-1); x[T.tensor([True, False, False])] = T.tensor([5]); x[x[:, 0] > 7, 1] = T.tensor(2.5, dtype=T.float64); y = T.arange(4); y[y > 2] = T.tensor(7.9); y[[True, False, False, False]] = T.tensor(-3.); out = x, y
x = T.arange(12.).view(3, 4); x[T.tensor([0])] = T.tensor(1)
x = T.arange(12.).view(3, 4); x[x > 9] = T.tensor([1, 2])
d = T.device; out = str(d('cuda:1')), repr(d('cuda', 0)), repr(d('mps')), d('cuda') == d('cpu'), d('meta').type, T.ones(1).device == d('cuda:0'), d('cuda:2').index, d(type='cuda', index=1) == d('cuda:1')
T.device('gpu')
x, y = T.ones(2, 3, 4).transpose(1, 2), T.ones(2, 4, 3); T.manual_seed(0); out = (x + y).stride(), (x * y[:1]).stride(), (x - y).stride(), (y + x).stride(), T.nn.functional.dropout(x + y), T.rand(1)
import pickle, copy; x = T.ones(2); out = [str(k) for k in (type(x), type(x.shape), type(x.dtype), type(x.device), type(T.finfo(T.float32)), type(T.nn.Parameter(x)))], pickle.loads(pickle.dumps((x, x.device))), pickle.loads(pickle.dumps(x.dtype)) is x.dtype, copy.deepcopy(x)
T.manual_seed(0); x = T.randn(3, 4, 5).transpose(0, 1); out = T.rand_like(x), T.randn_like(x), T.randint_like(x, 7), T.bernoulli(x.sigmoid()), T.nn.functional.dropout(x, .4), T.nn.functional.gumbel_softmax(x), T.rand(2)
T.manual_seed(0); x = T.randn(20, 3).t(); f = lambda name, *a: getattr(x.clone(), name)(*a); out = f('normal_'), f('uniform_', 1, 2), f('random_', 9), f('random_'), f('exponential_'), f('geometric_', .4), f('log_normal_'), f('cauchy_'), f('bernoulli_', .3), f('bernoulli_', x.sigmoid()), T.rand(2)
T.manual_seed(0); x = T.zeros(4, 5).t(); i = T.nn.init; out = [g(x.clone()) for g in (i.xavier_uniform_, i.kaiming_normal_, i.trunc_normal_)], T.zeros_like(x).stride(), T.ones_like(x[::2]).stride(), T.zeros_like(x).normal_(), T.full_like(x, 2, dtype=T.int64).stride()
T.manual_seed(0); m = T.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True); x = T.randn(5, 2, 4); out = m(x), m(x), T.rand(1)
T.manual_seed(0); out = T.nn.functional.dropout1d(T.ones(5, 4), .5), T.nn.functional.dropout3d(T.ones(5, 4, 1, 1), .5), T.rand(1)
T.nn.functional.dropout1d(T.ones(4), .5)
F = T.nn.functional; x, y = T.arange(24.).reshape(2, 3, 4).transpose(1, 2), T.arange(120.).reshape(2, 4, 5, 3).permute(0, 3, 1, 2); f = (lambda x: T.cat([x, x], 1), lambda x: T.stack([x, x]), lambda x: x.softmax(-1), lambda x: x.log_softmax(1), lambda x: F.batch_norm(x, None, None, training=True), lambda x: F.group_norm(x, 1), lambda x: F.layer_norm(x, x.shape[-1:]), lambda x: x.masked_fill(x > 3, 0.), lambda x: x.clone(memory_format=T.contiguous_format), lambda x: x.relu(), lambda x: F.gelu(x) * 2); out = [g(x).stride() for g in f], [f[i](y).stride() for i in (0, 2, 3, 4, 6, 7, 8)], F.layer_norm(T.arange(12.).reshape(3, 4).t(), (3,)).stride(), T.tensor(1.).masked_fill(T.tensor(True), 2.)
T.manual_seed(0); c = T.nn.Parameter(T.zeros(1, 1, 4)); x = T.nn.Conv2d(3, 4, 2, 2)(T.ones(2, 3, 4, 4)).flatten(2).transpose(1, 2); x = T.cat([c.expand(2, -1, -1), x], 1); out = T.nn.Dropout(.5)(x + T.zeros(1, 5, 4)), T.rand(1)
T.manual_seed(0); a = T.zeros(21).normal_(), T.zeros(3, 3).t().normal_(), T.zeros(2).normal_(), T.rand(1); out = a
F = T.nn.functional; x = T.arange(96.).reshape(2, 4, 4, 3).permute(0, 3, 1, 2); w = T.ones(5, 3, 3, 3); T.manual_seed(0); h = F.conv2d(x, w, padding=1); out = [y.stride() for y in (h, F.conv2d(x, w, stride=2, padding=1), F.conv2d(x, T.ones(3, 1, 3, 3), groups=3), F.conv2d(x, T.ones(5, 3, 1, 1)), F.conv2d(x.contiguous(), w.to(memory_format=T.channels_last)), F.conv2d(x.double(), w.double()), F.conv_transpose2d(x, T.ones(3, 5, 3, 3)), F.conv2d(T.arange(32.).reshape(2, 4, 4, 1).permute(0, 3, 1, 2), T.ones(5, 1, 3, 3)), F.conv2d(T.ones(2, 3, 1, 1), T.ones(5, 3, 1, 1)), F.conv2d(T.ones(2, 3, 4, 4)[:, :, ::2], T.ones(5, 3, 1, 1)), F.conv2d(T.ones(2, 4, 3, 4).transpose(1, 2), w), F.avg_pool2d(x, 2), F.max_pool2d(x, 2), F.adaptive_avg_pool2d(x, 2), F.group_norm(x, 1), F.pixel_shuffle(T.ones(2, 4, 3, 8).permute(0, 3, 1, 2), 2), F.pad(x, (1, 1, 1, 1)), F.pad(x, (1, 1, 1, 1), mode='reflect'), F.pad(x, (1, 1, 1, 1), mode='circular'), F.interpolate(x, scale_factor=2), F.interpolate(x, size=3, mode='bilinear'), F.conv1d(x[0], T.ones(5, 4, 1)))], F.dropout(h, .5), F.dropout(h + T.ones(2, 5, 1, 1), .5)
"""

FLOATS_ALONE = """
x = T.ones(2, 3); out = T.swapaxes(x, axis0=0, axis1=1).shape, x.swapaxes(0, 1).shape, T.where(T.tensor([0., 2.])), T.median(T.zeros(0)), T.histc(T.zeros(0), 2)
T.addmm(T.ones(2, 2).double(), T.ones(2, 2), T.ones(2, 2))
T.ones(3)[T.tensor([])]
T.tensor([True, False]).argmax()
T.slice_scatter(T.ones(2, 3), T.zeros(1, 3))
F = T.nn.functional; out = []\nfor f in (F.elu, F.celu, F.selu, F.gelu, F.silu, F.mish, F.softplus, F.softshrink, F.hardshrink, F.hardsigmoid, F.hardswish, F.logsigmoid, F.glu, F.leaky_relu, F.dropout):\n try: f(T.ones(4).long())\n except Exception as e: out.append((type(e).__name__, str(e)[:34]))
T.nn.functional.prelu(T.ones(2).double(), T.ones(1))
T.nn.BatchNorm1d(4, dtype=T.float64)(T.ones(2, 4))
T.nn.BatchNorm1d(4)(T.ones(2, 4).double())
T.nn.LayerNorm(4)(T.ones(2, 4).double())
T.nn.GroupNorm(2, 4).double()(T.ones(2, 4))
T.nn.functional.binary_cross_entropy_with_logits(T.ones(3), T.ones(3).long())
T.nn.functional.cross_entropy(T.ones(2, 3), T.ones(2, dtype=T.int32))
T.nn.functional.kl_div(T.ones(3), T.ones(3).long())
out = T.nn.functional.soft_margin_loss(T.ones(3), T.tensor([1, -1, 1]))
T.nn.functional.margin_ranking_loss(T.ones(3, 1), T.ones(3), T.ones(3))
T.allclose(T.ones(2), T.ones(2).double())
T.isclose(T.ones(2), T.ones(2).long())
T.flatten(T.ones(3), 1)
T.nn.LocalResponseNorm(2)(T.ones(3, 4))
T.nn.ConvTranspose2d(1, 1, 3, output_padding=1)(T.ones(1, 1, 4, 4))
T.nn.Upsample(size=7, recompute_scale_factor=True)(T.ones(1, 1, 4, 4))
out = T.ones(2, dtype=T.int32).type(T.Tensor), repr(T.nn.Hardswish(inplace=True)), T.nn.Upsample(scale_factor=2).name
import pickle; out = [repr(pickle.loads(pickle.dumps(m))) for m in (T.nn.CTCLoss(), T.nn.MultiMarginLoss(), T.nn.MultiLabelMarginLoss())]
"""

SPARSE = r"""
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = T.spmm(A, x); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), x)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = T.sparse.mm(A, x); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), x)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = A @ x; out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), x)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = A.mm(x); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), x)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = T.matmul(A.coalesce(), x); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), x)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = A @ x[:, 0]; out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), x)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = T.sparse.addmm(T.ones(2, 2), A, x, alpha=2.0); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), x)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = (x.t() @ A.t()).t(); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), x)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = T.mm(A * 2 + A, x); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), x)
v = T.tensor([3., 4., 5., 6.], requires_grad=True); A = T.sparse_coo_tensor(T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = T.sparse.mm(A, x); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), (v, x), allow_unused=True)
v = T.tensor([3., 4., 5., 6.], requires_grad=True); A = T.sparse_coo_tensor(T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = A.to_dense() @ x; out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), (v, x), allow_unused=True)
v = T.tensor([3., 4., 5., 6.], requires_grad=True); A = T.sparse_coo_tensor(T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = T.sparse.addmm(T.ones(2, 2), A.coalesce(), x, beta=.5); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), (v, x), allow_unused=True)
v = T.tensor([3., 4., 5., 6.], requires_grad=True); A = T.sparse_coo_tensor(T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = A.coalesce().values(); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), (v, x), allow_unused=True)
v = T.tensor([3., 4., 5., 6.], requires_grad=True); A = T.sparse_coo_tensor(T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = (A / 2).to_dense(); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), (v, x), allow_unused=True)
v = T.tensor([3., 4., 5., 6.], requires_grad=True); A = T.sparse_coo_tensor(T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = T.sparse.softmax(A, 1).to_dense(); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), (v, x), allow_unused=True)
v = T.tensor([3., 4., 5., 6.], requires_grad=True); A = T.sparse_coo_tensor(T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = A.sum(); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), (v, x), allow_unused=True)
v = T.tensor([3., 4., 5., 6.], requires_grad=True); A = T.sparse_coo_tensor(T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = A.t().to_dense(); out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), (v, x), allow_unused=True)
v = T.tensor([3., 4., 5., 6.], requires_grad=True); A = T.sparse_coo_tensor(T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); y = x.to_sparse().to_dense() * 2; out = y, y.grad_fn.name(), T.autograd.grad((y * y).sum(), (v, x), allow_unused=True)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = A.shape, A.size(0), A.dtype == T.float32, A.is_sparse, x.is_sparse, A._nnz(), A.is_coalesced(), A.dim(), A.numel(), A.sparse_dim(), A.requires_grad, A.is_leaf
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = A.coalesce().indices(), A.coalesce().values(), A._indices(), A._values(), A.coalesce()._nnz()
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = A.values()
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = A.double().to_dense(), A.to(T.float64).dtype == T.float64, A.to('cpu') is A, len(A)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = repr(A.coalesce())
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = repr(T.sparse_coo_tensor((2, 3)))
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = A.numpy()
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = T.is_tensor(A), isinstance(A, T.Tensor)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = A @ T.ones(2, 2)
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = A @ x.double()
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = T.sparse_coo_tensor(i, v[:2], (2, 3))
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = T.sparse.FloatTensor(i, v, T.Size([2, 4])).to_dense()
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = T.sparse_coo_tensor(i, v).shape
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = T.eye(3).to_sparse().coalesce().indices()
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = (A @ A.t()).to_dense()
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = A.detach().clone().to_dense()
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = A.T.to_dense(), A.transpose(0, 1).shape
i, v = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), T.tensor([3., 4., 5., 6.]); A = T.sparse_coo_tensor(i, v, (2, 3)); x = T.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True); out = T.ones(2).to_dense()
"""

RARER_MODULES = r"""
D, C = T.distributions, T.distributions.constraints; x = T.tensor([[.3, -1.], [2., .5]]); out = [(str(c), type(c).__name__, str(D.transform_to(c)), D.transform_to(c)(x), D.transform_to(c).inv(D.transform_to(c)(x))) for c in (C.positive, C.nonnegative, C.greater_than(2.), C.less_than(1.), C.unit_interval, C.interval(-1., 3.), C.real_vector, C.lower_cholesky, C.positive_definite, C.real)]
D, C = T.distributions, T.distributions.constraints; x = T.tensor([[.3, -1.], [2., .5]]); out = [(D.biject_to(c)(x), D.biject_to(c).log_abs_det_jacobian(x, D.biject_to(c)(x))) for c in (C.positive, C.interval(-1., 3.), C.simplex, C.real_vector)], D.transform_to(C.simplex)(x)
from {T}.distributions.constraint_registry import ConstraintRegistry, transform_to; C = T.distributions.constraints; r = ConstraintRegistry(); r.register(C.simplex, lambda c: 7); out = r(C.simplex), transform_to(T.distributions.Normal(0., 1.).arg_constraints['scale'])(T.tensor(0.))
x = T.tensor([-40., -8., -1., 0., .5, 3., 9.], dtype=T.float64, requires_grad=True); y = T.special.log_ndtr(x); out = y, T.autograd.grad(y.sum(), x), T.special.log_ndtr(x.float())
x = T.tensor([-8., -1., 0., .5, 3.], requires_grad=True); y = T.special.ndtr(x); out = y, T.autograd.grad(y.sum(), x)
x = T.tensor([.2, .5, 1., 3.], requires_grad=True); y = T.special.entr(x); out = y, T.autograd.grad(y.sum(), x), T.special.entr(T.tensor([0., -1., float('nan')]))
x, y = T.tensor([0., 2., 0., 1.], requires_grad=True), T.tensor([.5, 1., -1., 3.], requires_grad=True); z = T.special.xlog1py(x, y); out = z, T.autograd.grad(z.sum(), x)
T.manual_seed(0); a = T.randn(2, 3, 6, requires_grad=True); y = T.linalg.tensorinv(a); out = y, T.autograd.grad(y.sum(), a), T.linalg.tensorinv(T.eye(4).reshape(4, 2, 2), 1).shape
T.manual_seed(0); a, b = T.randn(2, 3, 6), T.randn(2, 3, requires_grad=True); y = T.linalg.tensorsolve(a, b); out = y, T.autograd.grad(y.sum(), b), T.linalg.tensorsolve(a.permute(2, 0, 1), b, dims=(0,))
T.linalg.tensorinv(T.ones(2, 3), 1)
T.linalg.tensorsolve(T.ones(2, 3), T.ones(2))
import copy\nT.manual_seed(0); N = T.nn; models = [N.Sequential(N.Linear(3, 4), N.BatchNorm1d(4), N.Linear(4, 2)) for _ in range(3)]; x = T.randn(5, 3); F = T.func; [m.eval() for m in models]; p, b = F.stack_module_state(models); base = copy.deepcopy(models[0]).to('meta'); out = T.vmap(lambda p, b: F.functional_call(base, (p, b), (x,)))(p, b), [(str(t.device), t.is_meta, tuple(t.shape), t.requires_grad) for t in base.parameters()], str(base[0].weight), list(base.state_dict()), sum(t.numel() for t in base.parameters())
m = T.nn.Linear(3, 4).to('meta').to_empty(device='cpu'); out = str(m.weight.device), m.weight.shape, m.bias.requires_grad, m.weight.is_meta
out = [(t * a).dtype == T.float64 for t in (T.ones(2), T.tensor([1, 2]), T.tensor(2.)) for a in (np.array(3.), np.array([3., 2.]), np.array(3), np.array(3, dtype=np.float32), np.array(True))]
out = T.ones(2) + np.array(.1), T.tensor([1, 2]) * np.array([1.5, 2.]), T.ones(2).half() * np.array(3., dtype=np.float32), T.ones(2, dtype=T.int32) - np.array([3, 2]), T.ones(2).double() / np.array(3)
a = T.tensor([0, 2, 1])\nwith T.inference_mode(): out = [x.is_inference() for x in (T.Tensor([1.]), T.Tensor(2), a.nonzero(), T.nn.functional.one_hot(a), T.bincount(a), T.histc(a.float(), 3), T.tril_indices(2, 2), T.logspace(0, 1, 2), T.searchsorted(a, a), T.isin(a, a), T.nn.Linear(1, 1).weight, T.nn.Parameter(T.ones(1)), T.nn.Parameter(a.float()), T.unravel_index(a, (2, 2))[0])]
from {T}.utils.data.distributed import DistributedSampler as S; out = [list(S(range(10), 4, r, shuffle=s, drop_last=d)) for r in range(4) for s in (False, True) for d in (False, True)]
from {T}.utils.data import DistributedSampler; s = DistributedSampler(range(7), 2, 1, seed=3); s.set_epoch(2); out = list(s), len(s), s.num_samples, s.total_size
from {T}.utils.data import DistributedSampler; out = list(DistributedSampler(range(2), 5, 4)), list(DistributedSampler([1], 3, 2, shuffle=False))
from {T}.utils.data import DistributedSampler; DistributedSampler([1], 2, 2)
from {T}.overrides import has_torch_function, is_tensor_like\nclass Mine:\n    @classmethod\n    def __torch_function__(cls, func, types, args=(), kwargs=None): return 'mine'\nclass Sub(T.Tensor): pass\nout = [has_torch_function((x,)) for x in (T.ones(1), 3, Mine(), Sub([1.]), T.nn.Parameter(T.ones(1)))], [is_tensor_like(x) for x in (T.ones(1), 3, Mine())]
from {T}.overrides import handle_torch_function, has_torch_function_unary\nclass Mine:\n    @classmethod\n    def __torch_function__(cls, func, types, args=(), kwargs=None): return func.__name__, types[0].__name__, len(args)\ndef add(a, b):\n    return handle_torch_function(add, (a, b), a, b) if has_torch_function_unary(a) else a + b\nout = add(Mine(), 1), add(1, 2)
from {T}.nn.modules.pooling import _MaxPoolNd, _AvgPoolNd, _AdaptiveMaxPoolNd, _AdaptiveAvgPoolNd; out = [isinstance(m, k) for k in (_MaxPoolNd, _AvgPoolNd, _AdaptiveMaxPoolNd, _AdaptiveAvgPoolNd) for m in (T.nn.MaxPool2d(2), T.nn.MaxPool3d(2), T.nn.AvgPool1d(2), T.nn.AvgPool3d(2), T.nn.AdaptiveAvgPool2d(1), T.nn.AdaptiveMaxPool1d(1))]
"""

DISTRIBUTIONS = """
D = T.distributions; d = D.OneHotCategorical(T.tensor([[.2, .3, .5], [.1, .8, .1]])); out = d.mean, d.variance, d.stddev, d.mode, d.enumerate_support(), d.enumerate_support(expand=False)
D, a, b = T.distributions, T.tensor([.5, 3.]), T.tensor([1., 3.]); out = [(d.mean, d.variance, d.mode) for d in (D.Cauchy(a, b), D.HalfCauchy(a), D.Weibull(a, b), D.Pareto(a, b), D.Beta(a + 2, b), D.Gamma(a, b), D.Dirichlet(b), D.Poisson(a), D.Binomial(5, T.tensor([.2, .7])), D.NegativeBinomial(T.tensor(3.), T.tensor([.2, .7])))]
D, a, b, q = T.distributions, T.tensor([.5, 3.]), T.tensor([1., 3.]), T.tensor([.2, .6]); out = [(d.cdf(q + 4), d.icdf(q)) for d in (D.Cauchy(a, b), D.HalfCauchy(a), D.HalfNormal(a), D.Gumbel(a, b), D.Weibull(a, b), D.Pareto(a, b), D.TransformedDistribution(D.Normal(a, b), [D.transforms.ExpTransform()]), D.TransformedDistribution(D.Normal(a, b), [D.transforms.AffineTransform(1., -2.)]))]
D, a, b = T.distributions, T.tensor([.5, 3.]), T.tensor([1., 3.]); out = [d.entropy() for d in (D.StudentT(b + 3, a, b), D.Weibull(a, b), D.Pareto(a, b), D.Binomial(5, T.tensor([.2, .7])), D.Multinomial(4, T.tensor([.2, .3, .5])))]
D, a, b, t = T.distributions, T.tensor([.5, 3.]), T.tensor([1., 3.]), T.distributions.transforms; v = T.tensor([.2, .6]); out = [(e := d.expand((3, 2))).batch_shape + e.log_prob(v + 3).shape for d in (D.TransformedDistribution(D.Normal(a, b), [t.ExpTransform()]), D.Weibull(a, b), D.Pareto(a, b), D.HalfNormal(a), D.Independent(D.Normal(a, b), 0), D.MixtureSameFamily(D.Categorical(T.ones(2, 2)), D.Normal(T.zeros(2, 2), 1.)))], D.Binomial(3, T.tensor(.5)).expand((2,)).mean, D.Multinomial(3, T.ones(2)).expand((4,)).mean
t = T.distributions.transforms; c = t.ComposeTransform([t.AffineTransform(1., -2.), t.ExpTransform()]); out = repr(c), str(c.domain), str(c.codomain), c.sign, str(c.inv.domain), str(t.AffineTransform(0., 1., event_dim=1).domain), str(t.IndependentTransform(t.ExpTransform(), 1).codomain), c.with_cache(1)._cache_size
X = type('X', (T.distributions.Distribution,), {'arg_constraints': {'rate': T.distributions.constraints.positive}, '__init__': lambda self, rate: (setattr(self, 'rate', rate), T.distributions.Distribution.__init__(self, rate.shape))[0]}); out = repr(X(T.ones(2))), repr(X(T.tensor(3.)))
"""

OPERANDS = """
T.nn.Linear(2, 2)(T.ones(2, 2).double())
T.nn.Linear(2, 2)(T.ones(2).long())
T.nn.Linear(2, 2).double()(T.ones(4, 3, 2))
T.nn.Linear(2, 2, bias=False)(T.ones(2, 2).double())
T.addmm(T.ones(2).double(), T.ones(2, 2), T.ones(2, 2))
T.bmm(T.ones(1, 2, 2), T.ones(1, 2, 2).double())
T.ones(1, 2, 2).long() @ T.ones(1, 2, 2)
T.baddbmm(T.ones(1, 2, 2), T.ones(1, 2, 2), T.ones(1, 2, 2).double())
T.mv(T.ones(2, 2), T.ones(2).double())
T.dot(T.ones(2), T.ones(2).double())
T.ones(2, 2) @ T.ones(2, 2).double()
T.nn.LSTM(2, 2)(T.ones(1, 1, 2), (T.ones(1, 1, 2), T.ones(1, 2, 2)))
T.nn.GRU(2, 2)(T.ones(1, 1, 2), T.ones(1, 2, 2))
T.nn.LSTM(2, 0)
x = T.ones(3, 2, 4); T.nn.MultiheadAttention(4, 2)(x, x, x, is_causal=True)
T.nn.Transformer(4, 2, 1, 1, 8)(T.ones(3, 2, 4), T.ones(3, 1, 4))
i = T.nn.init; out = i._calculate_correct_fan(T.empty(4, 3, 5), 'fan_in'), i._calculate_correct_fan(T.empty(4, 3), 'FAN_OUT')
T.nn.utils.rnn.pad_sequence([])
T.nn.utils.rnn.pad_sequence([1, 2])
"""

# Names below the public ones, which third-party optimizers, metrics and layers write.
LIBRARIES = """
a = T.nn.ParameterList([T.ones(2), 1, T.nn.ParameterList([T.zeros(3)]), None, 'x']); out = [n for n, _ in a.named_parameters()], len(a), sorted(a.state_dict()), len(a[1:3]), a[-1], len(a[:2])
a = T.nn.ParameterList([T.ones(2), 1]); a[1] = T.ones(4); out = [n for n, _ in a.named_parameters()], repr(a).replace('tinygrad_edu', 'torch')
d = T.nn.ParameterDict({'a': T.ones(2), 'b': T.nn.ParameterDict({'c': T.zeros(1)}), 'n': 3}); out = [n for n, _ in d.named_parameters()], list(d), d['n'], d.pop('a').shape[0], list(reversed(d)), list(d.copy()), list((d | {'q': T.ones(1)}).keys())
T.nn.ParameterList(T.ones(2))
T.nn.ParameterList(3)
opt = T.optim.SGD([T.ones(2, requires_grad=True)], lr=0.1); out = opt._patch_step_function()
x = T.tensor([1., -2., 3., 4.]); y = x.view(T.int32); y[0] = 0; out = x, y, x._version, y._version, y._is_view(), x.view(T.float64).shape, x.view(T.uint8), x.view(dtype=T.int16).shape, T.ones(4, 6).view(T.int16).stride(), T.tensor([True, False]).view(T.uint8), T.tensor(5.).view(T.int32), T.ones(4, 4).t().view(T.int32).shape, T.ones(2).view(T.complex64), T.tensor([1 + 2j]).view(T.float64 if T.tensor([1 + 2j]).dtype == T.complex128 else T.float32)
x = T.ones(4, requires_grad=True); out = x.view(T.int32).requires_grad, (x * 2).view(T.float32).grad_fn, (x * 2).view(T.float64).requires_grad
T.ones(3).view(T.float64)
T.tensor(1.).view(T.int16)
T.ones(4, 4).t().view(T.float64)
x = T.ones(2, requires_grad=True); y = x * x; T.no_grad()(lambda: x.view(T.int32).add_(1))(); y.sum().backward()
F = T.nn.functional; out = F.interpolate(T.arange(16.).reshape(1, 1, 4, 4), size=[T.tensor(3), T.tensor([5])[0]], mode='bilinear'), F.interpolate(T.arange(4.).reshape(1, 1, 4), size=np.int64(6)), T.ones(6).view(np.int64(3), 2)
t = T.distributions.transforms; i = t.ExpTransform().inv; out = repr(i), type(i).__name__, isinstance(i, t._InverseTransform), repr(i._inv), i.inv is i._inv
K = type('K', (T.nn.Module,), {'__init__': lambda self: (T.nn.Module.__init__(self), setattr(self, 'w', T.nn.Parameter(T.ones(2))), self.__dict__.update(f=lambda: self.w))[0], '__getstate__': lambda self: {k: v for k, v in self.__dict__.items() if k != 'f'}, '__setstate__': lambda self, s: self.__dict__.update(s, f=lambda: self.w)}); a = K(); b = __import__('copy').deepcopy(a); b.w.data.add_(1); out = a.f(), b.f(), b.f() is b.w
m = T.nn.Module(); m.v = T.nn.Parameter(T.ones(2)); m.register_parameter('v', T.nn.Parameter(T.zeros(2))); out = m.v; m.register_parameter('zero_grad', None)
D = T.distributions; N = type('N', (D.Independent,), {'__init__': lambda self, loc: (setattr(self, 'loc', loc), D.Independent.__init__(self, D.Normal(loc, 1.), 1))[0], 'expand': lambda self, shape, new=None: D.Independent.expand(self, shape, self._get_checked_instance(N, new))}); e = N(T.zeros(3)).expand((2,)); out = type(e).__name__, e.batch_shape, e.event_shape, e.log_prob(T.ones(3)), D.Normal(0., 1.)._get_checked_instance(D.Normal) is not None
D = T.distributions; M = type('M', (D.Distribution,), {'arg_constraints': {}, 'batch_shape': property(lambda self: T.Size([4])), '__init__': lambda self: D.Distribution.__init__(self, (), ())}); out = M().batch_shape, M()._batch_shape, M().event_shape
D = T.distributions; N = type('N', (D.Normal,), {'__init__': lambda self, loc: D.Normal.__init__(self, loc, 1.)}); N(T.zeros(2)).expand((3, 2))
P = __import__('importlib').import_module(T.__name__ + '.nn.parameter'); m = T.nn.LazyLinear(2); out = isinstance(m.weight, P.UninitializedParameter), P.UninitializedParameter is T.nn.UninitializedParameter if hasattr(T.nn, 'UninitializedParameter') else True
"""

DATA = """
D = T.utils.data; g = T.Generator().manual_seed(3); l = D.DataLoader(range(5), 2, shuffle=True, generator=g); T.manual_seed(0); out = [list(l) for _ in range(3)], g.initial_seed(), T.rand(1)
D = T.utils.data; g = T.Generator().manual_seed(3); s = D.RandomSampler(range(4), num_samples=6, generator=g); out = [list(s) for _ in range(3)]
D = T.utils.data; B = type('B', (D.Sampler,), {'__iter__': lambda self: iter(T.randperm(6).view(3, 2).tolist()), '__len__': lambda self: 3}); T.manual_seed(0); out = list(D.DataLoader(range(6), batch_sampler=B())), T.rand(1)
D = T.utils.data; it = iter(D.DataLoader(range(5), 2)); out = len(it), next(it), iter(it) is it
D = T.utils.data; D.RandomSampler(range(3), replacement=3)
D = T.utils.data; D.WeightedRandomSampler([[1., 2.]], 2)
D = T.utils.data; D.BatchSampler(range(7), 2, 3)
D = T.utils.data; D.StackDataset(T.arange(3), a=T.ones(3))
D = T.utils.data; S = D.distributed.DistributedSampler if T.__name__ == 'torch' else D.DistributedSampler; s = S(range(9), num_replicas=2, rank=1, seed=3); a = list(s); s.set_epoch(2); out = a, list(s), len(s), list(S(range(9), 4, 3, False, drop_last=True)), list(S(range(9), 4, 3, False))
y = T.tensor([[1., 4., 9., 16.], [2., 3., 7., 1.], [0., 5., 2., 8.]], requires_grad=True); g = T.gradient(y, spacing=(T.tensor([0., 2., 3.]), T.tensor([0., 1., 3., 4.]))); sum(q.pow(2).sum() for q in g).backward(); out = g, y.grad
y = T.tensor([[1., 4., 9., 16.], [2., 3., 7., 1.], [0., 5., 2., 8.]], requires_grad=True); g = T.gradient(y, spacing=(T.tensor([0., 2., 3.]), T.tensor([0., 1., 3., 4.])), edge_order=2); sum(q.pow(2).sum() for q in g).backward(); out = g, y.grad
y = T.arange(12.).view(3, 4) ** 2; out = T.gradient(y, edge_order=2), T.gradient(y, spacing=2.), T.gradient(y, spacing=[2., 3.]), T.gradient(y, dim=0), T.gradient(y.double(), spacing=T.tensor(2.))
T.gradient(T.ones(3, 1))
T.gradient(T.ones(3, 3), dim=(0, 0))
T.nn.functional.one_hot(T.zeros(0, dtype=T.int64))
T.nn.functional.cosine_embedding_loss(T.ones(4, 3), T.ones(4, 3), T.ones(4, 3))
T.nn.functional.multilabel_margin_loss(T.ones(4, 3), T.tensor([0, 1, 2, 0]))
"""

FORMS = {
    "libraries": LIBRARIES,
    "data": DATA,
    "operands": OPERANDS,
    "distributions": DISTRIBUTIONS,
    "sparse": SPARSE,
    "rarer modules": RARER_MODULES,
    "optimizers": OPTIMISERS,
    "memory order": MEMORY_ORDER,
    "floats alone": FLOATS_ALONE,
    "windows": WINDOWS,
    "of autograd": OF_AUTOGRAD,
    "scaling and sizes": SCALING_AND_SIZES,
    "real numbers and factors": REAL_AND_FACTORS,
    "programs": PROGRAMS,
    "layers": LAYERS,
    "mathematics": MATHEMATICS,
    "functions of functions": FUNCTIONS_OF_FUNCTIONS,
    "calls": CALLS,
    "subclasses": SUBCLASSES,
    "hooks of modules": HOOKS,
    "lists of tensors": LISTS_OF_TENSORS,
    "in place": IN_PLACE,
    "indexing": INDEXING,
    "dtypes": DTYPES,
    "whole numbers": WHOLE_NUMBERS,
    "asked": ASKED,
    "embeddings": EMBEDDINGS,
}
