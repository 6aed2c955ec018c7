"""Complex numbers, held to PyTorch: values, gradients of any order, tangents, nodes, and what is refused."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from support.both import same_on_both

import tinygrad_edu
from tinygrad_edu.extra.ops import angles

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]

ENGINES = [torch, tinygrad_edu]


def numbers(*shape: int, seed: int = 0, kind: Any = np.complex128) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    return np.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind)


# --- expressions of complex leaves a (3, 4), b (3, 4), v (4), m (4, 3), c () and a real leaf r (3, 4) ------------------

POINTWISE = [
    "a + b", "a - b", "a * b", "a / b", "a * v", "a + 2", "2 - a", "a * 1j", "1j * r", "r * a", "a / r", "r / a", "(1 + 2j) / a",
    "a - 1j", "1j - a", "a * c", "c / a", "-a", "a ** 2", "a ** 3", "a ** -1", "a ** 0", "a ** 0.5", "a ** -2", "a.square()",
    "a.sqrt()", "a.reciprocal()", "a.exp()", "T.exp(1j * r)", "a.log()", "a.sin()", "a.cos()", "a.tan()", "a.sinh()", "a.cosh()",
    "a.tanh()", "T.addcmul(a, b, v)", "T.addcdiv(a, b, v)", "T.add(a, b, alpha=2)", "T.sub(a, b, alpha=2j)", "a * 2.5 + r", "a.lerp(b, 0.3)", "a.exp2()", "a.log2()", "a.log10()", "a.log1p()", "a.expm1()", "a.rsqrt()", "a.sigmoid()", "a.prod()",
    "a.prod(0)", "a.any()", "T.block_diag(a, m)",
]  # fmt: skip
PARTS = [
    "a.real", "a.imag", "a.real * a.imag", "T.real(a) ** 2", "a.abs()", "abs(a)", "a.abs() ** 2", "a.angle()", "a.sgn()", "a.conj()",
    "a * a.conj()", "a.conj_physical()", "a.resolve_conj() * 2", "T.view_as_real(a)", "T.view_as_real(a) ** 2", "T.complex(r, r * 2)",
    "T.complex(r, T.zeros(3, 4, dtype=r.dtype))", "T.polar(r.abs(), r)", "T.polar(T.ones_like(r), r * 2)", "a.adjoint()", "a.mH",
    "T.view_as_complex(r.reshape(3, 2, 2))", "T.view_as_complex(T.stack([r, r * 2], -1))", "a.H @ a", "T.view_as_real(a * b).flatten(1)",
    "(a.abs() * T.exp(1j * a.angle()))", "c.abs()", "c.real * c", "T.view_as_real(c)", "a.T.real", "T.isreal(a)",
]  # fmt: skip
PRODUCTS = [
    "a @ m", "a @ v", "v @ m", "v @ v", "T.dot(v, v)", "T.vdot(v, v * 1j)", "T.outer(v, v)", "T.einsum('ij,jk->ik', a, m)",
    "T.einsum('bixy,ioxy->boxy', a.reshape(1, 3, 2, 2), T.stack([a, b, a, b], 1).reshape(3, 4, 2, 2))", "T.einsum('ij,ij->i', a, b)",
    "T.einsum('ii->i', (a @ m))", "T.einsum('ij->ji', a)", "T.einsum('i,j,k->ijk', v, v, v)", "T.bmm(a[None], m[None])",
    "T.addmm(b @ m, a, m)", "T.nn.functional.linear(a, b, v[:3])", "T.tensordot(a, m, 1)", "T.kron(v, v)", "T.inner(a, b)",
    "T.matmul(a[None], m)", "a.sum()", "a.sum(0)", "a.mean()", "a.mean(1, keepdim=True)", "a.cumsum(0)", "(a @ m).trace()",
    "a.norm()", "a.norm(p=1)", "T.linalg.norm(a)", "T.linalg.vector_norm(a, 3, dim=1)", "a.norm(dim=0)", "T.linalg.vector_norm(a, float('inf'))",
]  # fmt: skip
SHAPES = [
    "a.reshape(4, 3)", "a.view(2, 6)", "a.T", "a.transpose(0, 1)", "a.permute(1, 0)", "v.expand(3, 4)", "a[:, None]", "a.unsqueeze(0).squeeze(0)",
    "T.cat([a, b])", "T.cat([a, r])", "T.stack([a, b], 1)", "T.cat(a.split(2, 1))", "T.stack(a.unbind())", "a.chunk(2, 1)[1]", "a[0]",
    "a[:, 1:3]", "a[..., ::2]", "a[[0, 2, 0]]", "a[a.real > 0]", "a[T.tensor([0, 1]), T.tensor([1, 1])]", "a.flip(0)", "a.roll(1, 1)",
    "a.roll((1, 2), (0, 1))", "T.nn.functional.pad(a, (1, 2))", "T.nn.functional.pad(a, (0, -1, 2, 0))", "a.repeat(2, 1)", "a.diagonal()",
    "T.diag(v)", "a.tril()", "a.triu(1)", "a.flatten()", "a.unflatten(1, (2, 2))", "a.index_select(0, T.tensor([1, 1]))", "a.movedim(0, 1)",
    "a.repeat_interleave(2, 0)", "T.where(r > 0, a, b)", "T.where(r > 0, a, 0.0)", "a.masked_fill(r > 0, 1j)", "a.gather(1, T.tensor([[0, 1], [1, 1]]))",
    "a.clone()", "a.contiguous()", "a.t().contiguous()", "a.to(T.complex64)", "r.to(T.complex128)", "a.type_as(b)", "r.cdouble()", "a.real.to(T.cfloat)",
    "a.unfold(1, 2, 1)", "a.narrow(1, 1, 2)", "a.expand(2, 3, 4)", "T.zeros_like(a) + a", "a.double()", "a.detach() * a",
]  # fmt: skip
WRITES = [
    "write(a, lambda z: z[:, 0].mul_(r[:, 0]))",
    "write(a, lambda z: z.mul_(2j))", "write(a, lambda z: z.add_(r))", "write(a, lambda z: z.zero_())",
    "write(a, lambda z: z[:, 1:].mul_(b[:, 1:]))", "write(a, lambda z: z.__setitem__((slice(None), 0), b[:, 1]))", "write(a, lambda z: z.copy_(r))",
    "write(a, lambda z: z.__setitem__(0, 1j))", "write(a, lambda z: z.fill_(c))", "write(a, lambda z: z.__setitem__(r > 0, 2.0))", "write(a, lambda z: z.conj_physical_())",
    "write(a, lambda z: z.exp_())", "write(a, lambda z: z.div_(b))", "write(a, lambda z: z.index_add_(0, T.tensor([0, 0]), b[:2]))", "write(a, lambda z: z.t_())",
    "write(T.zeros(2, 5, 5, dtype=T.complex128), lambda z: z.__setitem__((slice(None), slice(3), slice(4)), a))",
]  # fmt: skip
SHORT_TIME = [
    "T.stft(r.flatten(), 4, window=v.abs(), return_complex=True)",
    "T.stft(r, 4, 2, window=v.abs(), center=False, return_complex=True)",
    "T.stft(r.flatten(), 6, 1, 4, v.abs(), normalized=True, onesided=False, return_complex=True)",
    "T.stft(r.flatten(), 4, window=v.abs(), return_complex=False)",
    "T.stft(r.repeat(1, 4), 4, window=v.abs(), pad_mode='constant', return_complex=True).abs()",
    "T.stft(a, 4, 1, window=v, center=False)",
    "T.istft(T.stft(r.repeat(1, 4), 4, window=v.abs(), return_complex=True), 4, window=v.abs())",
    "T.istft(T.stft(r.flatten(), 4, window=v.abs(), return_complex=True), 4, window=v.abs(), length=9)",
    "T.istft(T.stft(r.flatten(), 4, window=v.abs(), return_complex=True) * c, 4, window=v.abs(), length=20, normalized=True)",
    "T.istft(T.stft(a, 4, 1, window=v, center=False), 4, 1, window=v.abs(), center=False, onesided=False, return_complex=True)",
]  # fmt: skip
FOURIER = [
    *[f"T.fft.{f}({x}{n}{norm})" for f, x in (("fft", "a"), ("ifft", "a"), ("fft", "r"), ("ifft", "r"), ("rfft", "r"), ("irfft", "a"), ("hfft", "a"), ("ihfft", "r"))
      for n, norm in (("", ""), (", n=3", ", norm='ortho'"), (", n=7, dim=0", ", norm='forward'"), (", n=6", ""))],
    *[f"T.fft.{f}({x}{s})" for f, x in (("fft2", "a"), ("ifft2", "a"), ("fft2", "r"), ("rfft2", "r"), ("irfft2", "a"), ("fftn", "a"), ("ifftn", "r"), ("rfftn", "r"), ("irfftn", "a"),
                                     ("hfft2", "a"), ("ihfft2", "r"), ("hfftn", "a"), ("ihfftn", "r"))
      for s in ("", ", s=(2, 5)", ", s=(4, -1), norm='ortho'")],
    "T.fft.fft(T.fft.fft(r, dim=-1), dim=-2).real", "T.fft.irfft(T.fft.rfft(r) * T.fft.rfft(r.flip(1)))", "T.fft.irfft(T.fft.rfft(r).abs() ** 2, n=4)",
    "T.fft.fftshift(a)", "T.fft.ifftshift(a, dim=1)", "T.fft.fftshift(T.fft.fft(r), dim=-1).abs()", "T.fft.rfft(r).angle()", "T.fft.fftn(a, dim=0)",
    "T.fft.fft(a, dim=0)", "T.fft.irfft2(T.fft.rfft2(r), s=(3, 4))", "T.fft.fft2(a, dim=(1, 0))", "T.fft.rfftn(r, dim=(1, 0))", "T.fft.irfftn(a, s=(4, 5), dim=(1, 0))",
]  # fmt: skip


def write(z: Any, change: Any) -> Any:
    copy = z.clone()
    change(copy)
    return copy


def leaves(T: Any, kind: Any = np.complex128) -> dict[str, Any]:
    real = np.float64 if kind is np.complex128 else np.float32
    arrays = {
        "a": numbers(3, 4, seed=1, kind=kind),
        "b": numbers(3, 4, seed=2, kind=kind),
        "v": numbers(4, seed=3, kind=kind),
        "m": numbers(4, 3, seed=4, kind=kind),
        "c": numbers(seed=5, kind=kind),
        "r": numbers(3, 4, seed=6).real.astype(real),
    }
    return {name: T.tensor(array).requires_grad_() for name, array in arrays.items()}


def weighed(T: Any, y: Any) -> Any:
    """A real loss in which each part of each number has a different weight."""
    parts = T.view_as_real(y.resolve_conj()) if y.is_complex() else y
    rng = np.random.default_rng(7)
    return (parts * T.tensor(rng.standard_normal(tuple(parts.shape))).to(parts.dtype)).sum()


def chain(node: Any) -> list[str]:
    """The names of the nodes along the first edges."""
    names = []
    while node is not None and len(names) < 8:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def seen(T: Any, code: str, kind: Any = np.complex128) -> dict[str, Any]:
    given = leaves(T, kind)
    y = eval(code, {"T": T, "write": write, **given})
    found: dict[str, Any] = {
        "value": y.detach().numpy(force=True),
        "names": [] if "einsum" in code else chain(y.grad_fn),
    }
    if y.requires_grad:
        grads = T.autograd.grad(weighed(T, y), list(given.values()), create_graph=True, allow_unused=True)
        used = [g for g in grads if g is not None]
        found |= {
            f"gradient of {n}": g.detach().numpy(force=True) for n, g in zip(given, grads, strict=True) if g is not None
        }
        if any(g.requires_grad for g in used):
            again = sum(weighed(T, g) for g in used if g.requires_grad)
            second = T.autograd.grad(again, list(given.values()), allow_unused=True)
            found |= {
                f"second gradient of {n}": np.asarray(0j if g is None else g.numpy(force=True))
                for n, g in zip(given, second, strict=True)
            }
    return found


def same(ours: Any, theirs: Any, tolerance: float) -> bool:
    if isinstance(ours, list):
        return ours == theirs
    if ours.shape != theirs.shape:  # no second gradient, and one of zeros, say the same
        return not ours.any() and not theirs.any()
    return np.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("group", ["POINTWISE", "PARTS", "PRODUCTS", "SHAPES", "WRITES", "SHORT_TIME", "FOURIER"])
def test_values_and_gradients_of_both_orders_are_pytorchs(group: str) -> None:
    wrong = []
    for code in globals()[group]:
        theirs, ours = (seen(T, code) for T in ENGINES)
        assert theirs.keys() - ours.keys() <= {k for k in theirs if k.startswith("second")}, code
        for key, value in theirs.items():
            if key == "value" and value.dtype != ours[key].dtype:
                wrong.append(f"{code}: {key} {ours[key].dtype} for {value.dtype}")
            elif not same(ours.get(key, np.zeros(())), value, 1e-9):
                wrong.append(f"{code}: {key}\n{ours.get(key)}\n{value}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("group", ["POINTWISE", "PARTS", "PRODUCTS", "FOURIER"])
def test_single_precision_stays_single(group: str) -> None:
    for code in globals()[group]:
        if "128" not in code:
            theirs, ours = (seen(T, code, np.complex64) for T in ENGINES)
            for key in theirs:
                if key == "value" or key.startswith("gradient"):
                    assert theirs[key].dtype == ours[key].dtype, (code, key)
                    assert same(ours[key], theirs[key], 2e-4), (code, key)


# What forward mode of PyTorch itself refuses, or computes by another path.
NO_TANGENT = ["T.vdot(v, v * 1j)"]


@pytest.mark.parametrize("group", ["POINTWISE", "PARTS", "PRODUCTS", "SHAPES", "FOURIER"])
def test_tangents_are_pytorchs(group: str) -> None:
    def tangent(T: Any, code: str) -> Any:
        with T.autograd.forward_ad.dual_level():
            duals = {
                name: T.autograd.forward_ad.make_dual(
                    x.detach(), T.tensor(x.detach().numpy()[::-1].copy() * 0.5 if x.ndim else x.detach().numpy() * 0.5)
                )
                for name, x in leaves(T).items()
            }
            moved = T.autograd.forward_ad.unpack_dual(eval(code, {"T": T, **duals})).tangent
            return None if moved is None else moved.resolve_conj().numpy()

    for code in globals()[group]:
        if code not in NO_TANGENT:
            try:
                theirs = tangent(torch, code)
            except (RuntimeError, NotImplementedError):
                continue
            ours = tangent(tinygrad_edu, code)
            assert (ours is None) == (theirs is None), code
            assert theirs is None or (ours.dtype == theirs.dtype and same(ours, theirs, 1e-9)), (code, ours, theirs)


def test_gradcheck_takes_complex_inputs_and_finds_a_missing_conjugate() -> None:
    T = tinygrad_edu
    z = T.tensor(numbers(2, 3)).requires_grad_()
    for check in (T.autograd.gradcheck, T.autograd.gradgradcheck):
        assert check(lambda z: (z * z.conj() + T.fft.fft(z)).exp(), z)
        assert check(lambda z: (z.abs() * z.real, z * 1j), z, fast_mode=True)
    assert T.autograd.gradcheck(lambda z: z.angle() * T.polar(z.abs(), z.real), z, check_forward_ad=True)

    class Times(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, z: Any) -> Any:
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (z,) = ctx.saved_tensors
            return grad * 2 * z  # and not of its conjugate

    with pytest.raises(RuntimeError, match="mismatch"):
        T.autograd.gradcheck(Times.apply, z)


# --- programs --------------------------------------------------------------------------------------------------------


@same_on_both
def test_rotary_embeddings_as_llama_writes_them(T: Any) -> Any:
    T.manual_seed(0)
    x = T.randn(2, 5, 4, 4, requires_grad=True)
    angles = T.outer(T.arange(5), 1.0 / (10000.0 ** (T.arange(0, 4, 2).float() / 4))).float()
    rotations = T.polar(T.ones_like(angles), angles)
    z = T.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    y = T.view_as_real(z * rotations.view(1, 5, 1, 2)).flatten(3).type_as(x)
    (y * y * y).sum().backward()
    return [y, x.grad]


def _spectral_layer(T: Any) -> Any:
    nn = T.nn

    class Spectral(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.low = nn.Parameter(T.rand(2, 3, 2, 2, dtype=T.cfloat) / 6)
            self.high = nn.Parameter(T.rand(2, 3, 2, 2, dtype=T.cfloat) / 6)

        def forward(self, x: Any) -> Any:
            spectrum = T.fft.rfft2(x)
            out = T.zeros(x.shape[0], 3, x.shape[-2], x.shape[-1] // 2 + 1, dtype=T.cfloat)
            out[:, :, :2, :2] = T.einsum("bixy,ioxy->boxy", spectrum[:, :, :2, :2], self.low)
            out[:, :, -2:, :2] = T.einsum("bixy,ioxy->boxy", spectrum[:, :, -2:, :2], self.high)
            return T.fft.irfft2(out, s=x.shape[-2:])

    return Spectral()


def test_a_fourier_neural_operator_trains_as_in_pytorch() -> None:
    def losses(T: Any) -> list[float]:
        T.manual_seed(0)
        layer = _spectral_layer(T)
        optimizer = T.optim.Adam(layer.parameters(), lr=0.05)
        x, target = T.randn(2, 2, 6, 6), T.randn(2, 3, 6, 6)
        found = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = ((layer(x) - target) ** 2).mean()
            loss.backward()
            T.nn.utils.clip_grad_norm_(layer.parameters(), 0.5)
            optimizer.step()
            found.append(loss.item())
        assert optimizer.state[layer.low]["exp_avg"].dtype == T.cfloat
        return found

    assert np.allclose(losses(tinygrad_edu), losses(torch), rtol=1e-5)


@same_on_both
def test_fnet_mixes_tokens_by_two_transforms(T: Any) -> Any:
    T.manual_seed(0)
    x = T.randn(2, 6, 8, requires_grad=True)
    y = T.fft.fft(T.fft.fft(x, dim=-1), dim=-2).real
    T.nn.functional.layer_norm(x + y, (8,)).pow(3).sum().backward()
    return [y, x.grad]


OPTIMISERS = [
    ("SGD", {"momentum": 0.9, "nesterov": True}), ("SGD", {"weight_decay": 0.1}), ("Adam", {"amsgrad": True}), ("AdamW", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5}), ("Adagrad", {"initial_accumulator_value": 0.1}), ("Adadelta", {}), ("Adamax", {}),
    ("NAdam", {}), ("RAdam", {}), ("Rprop", {}), ("ASGD", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings"), OPTIMISERS)
@pytest.mark.parametrize("count", [1, 5])
def test_optimizers_take_complex_parameters(name: str, settings: dict[str, Any], count: int) -> None:
    def trained(T: Any) -> list[Any]:
        T.manual_seed(0)
        params = [T.randn(3, dtype=T.cdouble, requires_grad=True) for _ in range(count)]
        optimizer = getattr(T.optim, name)(params, lr=0.05, **settings)
        for _ in range(4):
            optimizer.zero_grad()
            sum(((p - (1 - 2j)).abs() ** 2).sum() + (p * 1j).real.sin().sum() for p in params).backward()
            optimizer.step()
        state = {k: v.numpy() for k, v in optimizer.state[params[-1]].items() if hasattr(v, "numpy")}
        return [*(p.detach().numpy() for p in params), *(state[k] for k in sorted(state))]

    for ours, theirs in zip(*(trained(T) for T in reversed(ENGINES)), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-7)


def test_copies_keep_the_imaginary_part_also_of_a_view_of_real_numbers() -> None:
    T = tinygrad_edu
    z = T.view_as_complex(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    file = io.BytesIO()
    T.save({"z": z}, file)
    file.seek(0)
    for copied in (copy.deepcopy(z), pickle.loads(pickle.dumps(z)), T.load(file)["z"], T.from_numpy(z.numpy().copy())):
        assert copied.tolist() == [1 + 2j, 3 + 4j]
    parameter = T.tensor([1 + 2j], requires_grad=True)
    optimizer = T.optim.Adam([parameter], lr=0.1)
    parameter.abs().sum().backward()
    optimizer.step()
    kept = copy.deepcopy(optimizer.state_dict())["state"][0]["exp_avg"]
    assert kept.tolist() == optimizer.state[parameter]["exp_avg"].tolist() != [0j]


@pytest.mark.parametrize("T", ENGINES)
def test_a_function_must_not_return_a_complex_gradient_for_a_real_input(T: Any) -> None:
    class Both(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return T.complex(x, x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * (1 + 1j)

    x = T.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError):
        Both.apply(x).abs().sum().backward()
    with pytest.raises(RuntimeError, match="jacrev: Expected all inputs to be real"):
        T.func.jacrev(lambda z: z * z)(T.ones(2, dtype=T.cfloat))


# --- types, errors, and what is refused --------------------------------------------------------------------------------


def test_promotion_is_pytorchs() -> None:
    kinds = ["bool", "uint8", "int64", "float32", "float64", "complex64", "complex128"]

    def results(T: Any) -> list[str]:
        tensors = [T.ones(size, dtype=getattr(T, kind)) for kind in kinds for size in ((), (2,))]
        pairs = itertools.product([*tensors, True, 2, 2.5, 1j], repeat=2)
        return [str(T.result_type(a, b)).partition(".")[2] for a, b in pairs]

    assert results(tinygrad_edu) == results(torch)


def test_tensors_print_as_pytorchs() -> None:
    arrays = [
        numbers(2), numbers(3, 4), numbers(20, 60), numbers(), numbers(12) * 1e6, np.array([1 + 2j, 3.5 - 1j]), np.array([1 + 2j, 3 - 1j]),
        np.array(1j), np.array([np.nan + 1j, np.inf - 2j]), np.array([1e-8 + 1e5j, 2]), np.zeros((0, 3), complex), np.zeros((2, 2, 2), complex),
        np.array([complex(0, -0.0)]),
    ]  # fmt: skip
    for array, kind in itertools.product(arrays, (np.complex64, np.complex128)):
        theirs, ours = (repr(T.from_numpy(array.astype(kind))) for T in ENGINES)
        assert ours.replace("tinygrad_edu.", "torch.") == theirs


@pytest.mark.parametrize("draw", ["rand", "randn"])
def test_the_same_seed_gives_the_same_complex_numbers(draw: str) -> None:
    for size, kind in itertools.product((3, 40), ("cfloat", "cdouble")):
        drawn = []
        for T in ENGINES:
            T.manual_seed(0)
            drawn.append(getattr(T, draw)(size, dtype=getattr(T, kind)).numpy())
        np.testing.assert_allclose(drawn[1], drawn[0], rtol=3e-7)


ERRORS = [
    "T.tensor([1j], requires_grad=True).sum().backward()", "T.tensor([1j], requires_grad=True).backward(T.ones(1))", "T.zeros(2).add_(1j)",
    "T.zeros(2).fill_(1j)", "T.zeros(2).__setitem__(0, 1j)", "float(T.tensor(1j))", "T.ones(2).imag", "T.view_as_real(T.ones(2))",
    "T.view_as_complex(T.ones(3))", "T.view_as_complex(T.ones(2, 2).T)", "T.complex(T.ones(2), T.ones(2, dtype=T.float64))", "T.polar(T.ones(2), 2.0)",
    "T.fft.rfft(T.tensor([1j]))", "T.fft.fft(T.ones(3), n=0)", "T.fft.fft(T.ones(3), norm='bad')",
    "T.fft.fft(T.ones(3), dim=2)", "T.fft.fft2(T.ones(3))", "T.fft.fftn(T.ones(2, 2), dim=(0, 0))", "T.fft.fft2(T.ones(2, 2), s=(2,))",
    "T.fft.irfft(T.ones(1))", "T.stft(T.ones(9), 4)", "T.istft(T.ones(3, 4), 4)", "T.istft(T.ones(3, 4, dtype=T.cfloat), 8)",
    "T.stft(T.ones(9), 4, window=T.ones(3), return_complex=True)", "T.stft(T.ones(9), 4, hop_length=0, return_complex=True)", "T.fft.fft(T.tensor(1.0))", "T.fft.fft([1.0])", "T.ones(2, requires_grad=True).real.backward(T.tensor([1j, 2.0]))",
]  # fmt: skip


@pytest.mark.parametrize("code", ERRORS)
def test_errors_are_pytorchs(code: str) -> None:
    raised = []
    for T in ENGINES:
        try:
            eval(code, {"T": T})
            raised.append(None)
        except Exception as error:
            raised.append((type(error).__name__, str(error)[: 5 if "stft" in code else 24]))
    assert raised[0] == raised[1]


def test_a_write_through_a_real_view_of_a_complex_tensor_is_refused_where_it_would_be_recorded() -> None:
    T = tinygrad_edu
    z = T.tensor([1j], requires_grad=True) * 2
    with pytest.raises(NotImplementedError, match="view"):
        z.real.mul_(3.0)
    assert z.tolist() == [2j]
    with T.no_grad():
        plain = T.tensor([1 + 1j])
        plain.real.mul_(3.0)
        plain.imag = 5.0
    assert plain.tolist() == [3 + 5j]


def test_an_op_that_is_not_on_the_list_refuses_wherever_it_is_called() -> None:
    T = tinygrad_edu
    z = T.tensor([1j, 2.0], requires_grad=True)
    for call in (
        lambda: z.erf(), lambda: T.var(z), lambda: T.stack([z, z]).amax(), lambda: z.clone().clamp_(0), lambda: T.nn.functional.softmax(z, 0),
        lambda: angles.Atan.apply(z), lambda: angles.Atan.apply_(z.clone()), lambda: T.nn.ReLU()(z), lambda: T.sort(z),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match="complex tensors"):
            call()
