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

FORMS = {
    "lists of tensors": LISTS_OF_TENSORS,
    "in place": IN_PLACE,
    "indexing": INDEXING,
    "dtypes": DTYPES,
    "whole numbers": WHOLE_NUMBERS,
    "asked": ASKED,
    "embeddings": EMBEDDINGS,
}
