"""Random programs about memory: views of views, names for one storage, writes through any of them, and operands that nearly fit.

Each form knows the shape of its tensor, so that an operand fits, or is one step away: a size more or less, a dimension more
or less, another dtype, an index that is out of range. After each statement every tensor of the program is compared.
"""

from __future__ import annotations

import copy
import pickle
import random
import re
import warnings
from typing import Any

import numpy as np
import torch

from .parity import ENGINES, differences, error_of

LENGTH = 10
MISSES = 0.25  # of the operands
SHAPES = [(3,), (2, 3), (3, 2), (2, 3, 4), (1, 3), (3, 1), (2, 2, 2), (4, 4), (), (1,), (0, 3), (2, 0), (2, 3, 1, 2)]


def forms(text: str) -> list[str]:
    return [form.strip() for line in text.strip().splitlines() for form in line.split(" | ")]


ALIASES = forms("""
{x}.view({x}.shape) | {x}.detach() | {x}.data | T.nn.Parameter({x}) | T.nn.Buffer({x}) | T.as_tensor({x}) | T.asarray({x}) | {x}.clone() | {x}.contiguous()
T.from_numpy({x}.detach().numpy()) | copy.deepcopy({x}.detach()) | pickle.loads(pickle.dumps({x}.detach())) | T.zeros({x}.shape, dtype={x}.dtype).set_({x}.detach())
{x}.t() | {x}.transpose({d}, {e}) | {x}.permute(*{perm}) | {x}.mT | {x}.T | {x}.swapaxes({d}, {e}) | {x}.movedim({d}, {e})
{x}.select({d}, {i}) | {x}.narrow({d}, {i}, 1) | {x}[{i}] | {x}[..., {i}] | {x}[{i}:] | {x}[:, {i}:] | {x}[..., ::2] | {x}[::2] | {x}[None] | {x}[..., None]
{x}.unsqueeze({d}) | {x}.squeeze({d}) | {x}.squeeze() | {x}.flatten() | {x}.flatten({d}, {e}) | {x}.ravel() | {x}.reshape(-1) | {x}.view(-1) | {x}.reshape({split})
{x}.view({split}) | {x}.expand({grown}) | {x}.expand(2, *{x}.shape) | {x}.broadcast_to({grown}) | {x}.diagonal() | {x}.diagonal(1, {d}, {e}) | {x}.unfold({d}, 2, 1)
{x}.unfold({d}, 2, 2) | {x}.unbind({d})[{i}] | {x}.split(1, {d})[{i}] | {x}.chunk(2, {d})[0] | {x}.tensor_split(2, {d})[-1] | {x}.view_as({x}) | {x}.expand_as({like})
{x}.as_strided({x}.shape, {x}.stride()) | {x}.unflatten({d}, (-1, 1)) | T.atleast_2d({x}) | {x}.to({x}.dtype) | {x}.type_as({x}) | {x}.real | T.narrow({x}, {d}, 0, 2)
{x}.new_tensor({x}.detach().tolist()) | T.tensor({x}.detach().numpy()) | {x}.detach().requires_grad_() | {x}.hsplit(1)[0] | {x}.vsplit(1)[0] | {x}.alias() if hasattr({x}, 'alias') else {x}[...]
T.broadcast_tensors({x}, {same})[0] | T.meshgrid({vec}, {vec}, indexing='ij')[0] | {x}.moveaxis({d}, {e}) | {x}.adjoint() | {x}.view(*{x}.shape, 1) | {x}.float() | {x}.double()
""")  # fmt: skip

WRITES = forms("""
{x}.mul_({same}) | {x}.add_({same}) | {x}.add_({same}, alpha=2) | {x}.sub_({c}) | {x}.div_({same}) | {x}.copy_({same}) | {x}.fill_({c}) | {x}.fill_({zero_d}) | {x}.zero_()
{x} += {same} | {x} *= {c} | {x} -= {y} | {x} /= 2 | {x} **= 2 | {x}.mul_({y}) | {x}.add_({y}) | {x}.copy_({y}) | {x}.data.mul_({c}) | {x}.detach().add_({same})
{x}[{i}] = {y} | {x}[{i}] = {c} | {x}[..., {i}] = {c} | {x}[..., {i}] *= {c} | {x}[{i}:] = {c} | {x}[{i}:] += {same} | {x}[::2] = {c} | {x}[:] = {same} | {x}[...] = {y}
{x}[{mask}] = {c} | {x}[{mask}] = {zero_d} | {x}[{idx}] = {c} | {x}[{idx}] = {same} | {x}[{idx}] += {c} | {x}[{idx}, {idx}] = {c} | {x}[:, {idx}] = {c} | {x}[..., {idx}] = {y}
{x}.masked_fill_({mask}, {c}) | {x}.masked_scatter_({mask}, {like}) | {x}.index_add_({d}, {pick}, {picked}) | {x}.index_copy_({d}, {pick}, {picked}) | {x}.index_fill_({d}, {pick}, {c})
{x}.scatter_({d}, {along}, {like}) | {x}.scatter_({d}, {along}, {c}) | {x}.scatter_add_({d}, {along}, {like}) | {x}.scatter_reduce_({d}, {along}, {like}, '{how}')
{x}.index_put_(({idx},), {same}) | {x}.index_put_(({idx},), {zero_d}, accumulate=True) | {x}.put_({idx}, {vec}) | {x}.put_({idx}, {vec}, accumulate=True)
{x}.clamp_(-0.5, 0.5) | {x}.clamp_({same}) | {x}.exp_() | {x}.tanh_() | {x}.sigmoid_() | {x}.relu_() | {x}.abs_() | {x}.neg_() | {x}.sqrt_() | {x}.pow_(2) | {x}.cumsum_({d})
{x}.addcmul_({same}, {same}) | {x}.addcdiv_({same}, {same}) | {x}.lerp_({like}, {like}) | {x}.lerp_({same}, 0.3) | {x}.addmm_({left}, {right}) | {x}.addmv_({left}, {vec}) | {x}.addr_({vec}, {vec})
{x}.baddbmm_({left}, {right}) | {x}.t_() | {x}.transpose_({d}, {e}) | {x}.unsqueeze_({d}) | {x}.squeeze_() | {x}.squeeze_({d}) | {x}.tril_() | {x}.triu_() | {x}.fill_diagonal_({c})
{x}.resize_({x}.shape) | {x}.swapaxes_({d}, {e}) | {x}.as_strided_({x}.shape, {x}.stride()) | {x}.diagonal().copy_({vec}) | {x}.diagonal().fill_({c}) | {x}.unbind({d})[0].mul_({c})
{x}.requires_grad_() | {x}.detach_() | {x}.data = {y} | {x}.data = {like} | {x}.set_({y}.detach()) | T.mul({x}, {same}, out={y}) | T.add({x}, {c}, out={x}) | T.sum({x}, {d}, out={y})
T.cat([{x}, {like}], out={y}) | T.exp({x}, out={y}) | T.matmul({left}, {right}, out={x}) | {x}.unsqueeze(0).mul_({same}) | {x}.view(-1)[{i}] = {c} | {x}.clone().mul_({y}) | {x}.atan2_({same})
{x}.fmod_({same}) | {x}.remainder_({same}) | {x}.floor_() | {x}.logical_not_() | {x}.eq_({same}) | {x}.bitwise_not_() | {x}.hypot_({like}) | {x}.copysign_({same}) | {x}.renorm_(2, {d}, 1)
F.relu({x}, inplace=True) | F.leaky_relu_({x}) | F.dropout({x}, 0., True, True) | F.elu({x}, inplace=True) | F.hardtanh_({x}) | {x}.index_reduce_({d}, {pick}, {picked}, 'prod') | {x}.erf_()
""")  # fmt: skip

OPS = forms("""
{x} + {same} | {x} - {same} | {x} * {same} | {x} / {same} | {x} ** 2 | {x} // {same} | {x} % {same} | {x} @ {right} | {x} > {same} | {x} == {y} | {x} * {y} | {x} + {y} | {x} - {y} | {x} @ {y}
T.maximum({x}, {same}) | T.fmin({x}, {same}) | T.atan2({x}, {same}) | T.where({mask}, {x}, {same}) | T.lerp({x}, {like}, {like}) | T.addcmul({x}, {same}, {like}) | T.addcdiv({x}, {same}, {like})
T.logaddexp({x}, {same}) | T.hypot({x}, {same}) | T.copysign({x}, {same}) | T.heaviside({x}, {same}) | T.xlogy({x}, {same}) | T.isclose({x}, {same}) | T.allclose({x}, {same}) | T.equal({x}, {like})
T.mm({x}, {right}) | T.mv({x}, {last}) | T.dot({x}, {like}) | T.bmm({x}, {right}) | T.matmul({left}, {x}) | T.addmm({bias}, {x}, {right}) | T.addmv({vec}, {x}, {last}) | T.baddbmm({bias}, {x}, {right})
T.outer({x}, {vec}) | T.inner({x}, {like}) | T.kron({x}, {vec}) | T.tensordot({x}, {like}, {k}) | T.einsum('...i,...i->...', {x}, {like}) | T.einsum('ij,kj->ik', {x}, {x}) | T.cross({x}, {like}, dim={d}) | T.vdot({x}, {like})
F.linear({x}, {weight}) | F.linear({x}, {weight}, {three}) | F.bilinear({x}, {like}, {cube}, {three}) | F.embedding({idx}, {x}) | F.embedding_bag({bags}, {x}) | F.one_hot({idx}, 5) | F.cosine_similarity({x}, {like}, {d})
F.conv1d({x}, {kernel}) | F.conv1d({x}, {kernel}, {three}) | F.conv2d({x}, {kernel}) | F.conv2d({x}, {kernel}, {three}, padding=1) | F.conv_transpose1d({x}, {flipped}) | F.conv_transpose2d({x}, {flipped}) | F.unfold({x}, 2)
F.max_pool1d({x}, 2) | F.avg_pool2d({x}, 2) | F.max_pool2d({x}, 2, 1) | F.adaptive_avg_pool1d({x}, 2) | F.adaptive_max_pool2d({x}, 2) | F.interpolate({x}, scale_factor=2) | F.pad({x}, (1, 1)) | F.pad({x}, (1, 1), 'reflect') | F.pixel_shuffle({x}, 2)
F.layer_norm({x}, {x}.shape[-1:], {last}, {last}) | F.layer_norm({x}, {x}.shape[-1:]) | F.batch_norm({x}, {channel}, {channel}, {channel}, {channel}, True) | F.batch_norm({x}, {channel}, {channel}) | F.instance_norm({x}) | F.group_norm({x}, 1, {channel}, {channel}) | F.rms_norm({x}, {x}.shape[-1:], {last}) | F.local_response_norm({x}, 2) | F.normalize({x}, dim={d})
F.mse_loss({x}, {like}) | F.l1_loss({x}, {like}, reduction='none') | F.smooth_l1_loss({x}, {like}) | F.huber_loss({x}, {like}) | F.cross_entropy({x}, {classes}) | F.cross_entropy({x}, {like}) | F.cross_entropy({x}, {classes}, {channel}) | F.nll_loss({x}, {classes}) | F.nll_loss({x}, {classes}, {channel}, reduction='none')
F.binary_cross_entropy({x}.sigmoid(), {like}.sigmoid()) | F.binary_cross_entropy_with_logits({x}, {like}, pos_weight={last}) | F.kl_div({x}, {like}, reduction='batchmean') | F.cosine_embedding_loss({x}, {like}, {signs}) | F.margin_ranking_loss({x}, {like}, {like}) | F.triplet_margin_loss({x}, {like}, {like}) | F.hinge_embedding_loss({x}, {like}) | F.soft_margin_loss({x}, {like}) | F.multi_margin_loss({x}, {classes}) | F.multilabel_soft_margin_loss({x}, {like}) | F.gaussian_nll_loss({x}, {like}, {like}.exp()) | F.poisson_nll_loss({x}, {like})
{x}.gather({d}, {along}) | {x}.scatter({d}, {along}, {like}) | {x}.scatter_add({d}, {along}, {like}) | {x}.scatter_reduce({d}, {along}, {like}, '{how}') | {x}.index_select({d}, {pick}) | {x}.index_add({d}, {pick}, {picked}) | {x}.index_copy({d}, {pick}, {picked}) | {x}.index_fill({d}, {pick}, {c}) | {x}.take({idx}) | {x}.take_along_dim({along}, {d}) | {x}.put({idx}, {vec}) | {x}.masked_select({mask}) | {x}.masked_fill({mask}, {c}) | {x}.masked_fill({mask}, {zero_d}) | {x}.masked_scatter({mask}, {like})
{x}[{idx}] | {x}[{mask}] | {x}[{idx}, {idx}] | {x}[:, {idx}] | {x}[{idx}, :, {idx}] | {x}[{idx}, None] | {x}[{i}, {idx}] | {x}.index_put(({idx},), {same}) | {x}.select_scatter({row}, {d}, {i}) | {x}.slice_scatter({like}, {d}) | {x}.diagonal_scatter({vec}) | T.searchsorted({vec}.sort()[0], {x}) | T.bucketize({x}, {vec}.sort()[0]) | T.isin({x}, {same})
T.cat([{x}, {like}], {d}) | T.stack([{x}, {like}], {d}) | T.hstack([{x}, {like}]) | T.vstack([{x}, {like}]) | T.dstack([{x}, {like}]) | T.column_stack([{x}, {like}]) | T.block_diag({x}, {like}) | T.cartesian_prod({vec}, {vec}) | T.cat([{x}, {y}], {d}) | T.stack([{x}, {y}]) | T.cdist({x}, {like}) | T.trapezoid({x}, {like}) | T.diff({x}, dim={d}, prepend={like}) | T.cov({x}) | T.histc({x}, 4)
{x}.sum({d}) | {x}.mean(({d}, {e})) | {x}.prod({d}) | {x}.var({d}) | {x}.std(({d}, {e}), keepdim=True) | {x}.amax(({d}, {e})) | {x}.amin({d}) | {x}.max({d}) | {x}.min({d}) | {x}.max() | {x}.argmin({d}) | {x}.median({d}) | {x}.nanmedian() | {x}.mode({d}) | {x}.kthvalue(1, {d}) | {x}.topk(2, {d}) | {x}.sort({d}) | {x}.cumsum({d}) | {x}.cumprod({d}) | {x}.cummax({d}) | {x}.logcumsumexp({d}) | {x}.logsumexp(({d}, {e})) | {x}.softmax({d}) | {x}.log_softmax({d}) | {x}.norm({k}, {d}) | {x}.norm() | {x}.all({d}) | {x}.any() | {x}.count_nonzero({d}) | {x}.nansum({d}) | {x}.aminmax(dim={d}) | {x}.quantile(0.5, {d}) | {x}.unique() | {x}.argsort({d}) | T.var_mean({x}, {d}) | T.std_mean({x}) | {x}.dist({like}) | {x}.nonzero()
{x}.exp() | {x}.tanh() | {x}.abs() | {x}.sqrt() | {x}.sign() | {x}.relu() | {x}.reciprocal() | {x}.floor() | {x}.clamp({same}, {same}) | {x}.clamp(min={same}) | {x}.to(T.float32) | {x}.long() | {x}.bool() | F.gelu({x}) | F.silu({x}) | F.prelu({x}, {channel}) | F.softplus({x}) | F.glu({x}, {d}) | F.elu({x}) | F.logsigmoid({x})
{x}.repeat(2, 1, 1) | {x}.repeat_interleave(2, {d}) | {x}.repeat_interleave({counts}, {d}) | {x}.tile(2) | {x}.roll(1, {d}) | {x}.flip({d}) | {x}.rot90() | {x}.tril() | {x}.triu(1) | {x}.diag() | {x}.diag_embed() | {x}.trace() | {x}.renorm(2, {d}, 1.) | {x}.det() | {x}.inverse() | T.linalg.solve({x}, {like}) | T.linalg.norm({x}) | T.cholesky_solve({x}, {like}) | F.scaled_dot_product_attention({x}, {like}, {like}) | F.scaled_dot_product_attention({x}, {like}, {like}, {mask})
T.nn.Linear(3, 2, dtype=T.float64)({x}) | T.nn.LSTM(3, 2, dtype=T.float64)({x})[0] | T.nn.GRUCell(3, 2, dtype=T.float64)({x}, {cell}) | T.nn.LSTMCell(3, 2, dtype=T.float64)({x}, ({cell}, {cell}))[0] | T.nn.RNN(3, 2, dtype=T.float64)({x}, {cell})[0] | T.nn.BatchNorm1d(3, dtype=T.float64)({x}) | T.nn.Embedding(3, 2)({idx}) | T.nn.MultiheadAttention(4, 2, dtype=T.float64)({x}, {like}, {like})[0] | T.nn.Bilinear(3, 3, 2, dtype=T.float64)({x}, {like}) | T.nn.Conv1d(3, 2, 1, dtype=T.float64)({x})
""")  # fmt: skip

GRADIENTS = forms("""
{x}.sum().backward() | {x}.sum().backward(retain_graph=True) | {x}.backward({like}) | {x}.backward({y}) | {x}.square().sum().backward(retain_graph=True) | {x}.retain_grad() | {x}.grad = None
{x}.grad = {like} | {x}.grad.zero_() | ({x} * {y}).sum().backward() | {x}.register_hook(lambda g: g * 2)
""")  # fmt: skip
GIVING = forms("""
T.autograd.grad({x}.sum(), {y}, retain_graph=True) | T.autograd.grad({x}, {y}, {like}, create_graph=True) | T.autograd.grad({x}.square().sum(), {y}, create_graph=True) | {x}.grad | {x}.grad.clone()
T.autograd.grad({x}.square().sum(), [{x}, {y}], retain_graph=True, allow_unused=True) | T.func.grad(lambda v: (v * {like}).sum())({x}) | T.func.vmap(lambda v: v * 2)({x}) | T.autograd.functional.jacobian(lambda v: v * {same}, {x})
""")  # fmt: skip
PROBES = forms("""
{x}.is_contiguous() | {x}.stride() if {x}._is_view() else 0 | {x}.storage_offset() if {x}._is_view() else 0 | {x}.data_ptr() == {y}.data_ptr() | {x}.tolist() | {x}.shape | {x}._base is {y} | {x}.is_leaf | {x}.numel() | len({x}) | bool({x}) | {x}.item() | float({x}) | [r.sum().item() for r in {x}] | {x} in [{x}] | {x}.view(-1).shape | {x}.is_set_to({y})
""")  # fmt: skip
KINDS = [
    (ALIASES, 6, True),
    (WRITES, 6, False),
    (OPS, 6, True),
    (GRADIENTS, 2, False),
    (GIVING, 1, True),
    (PROBES, 1, True),
]
WRAPS = [
    "{}",
    "{}",
    "{}",
    "{}.t().clone().t()",
    "{}.flip(0).flip(0)",
    "T.stack([{0}, {0}], -1)[..., 0]",
    "{}[:1].expand({shape})",
]


class Program:
    """The statements of a program, and what they have made so far on PyTorch."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"aliases {seed}")
        self.lines: list[str] = []
        self.scope = scope_of(torch)
        for name in "ab"[: self.rng.choice((1, 1, 2))]:
            shape = self.rng.choice(SHAPES)
            grad = ".requires_grad_()" if self.rng.random() < 0.6 else ""
            dtype = self.rng.choice(["float64"] * 6 + ["float32", "int64"])
            self.run(f"{name} = {self.new(shape, dtype)}{grad if dtype != 'int64' else ''}")
            if grad and dtype != "int64" and self.rng.random() < 0.5:
                self.run(f"{name}1 = {name} * 1")
        while len(self.lines) < LENGTH:
            self.statement()

    def statement(self) -> None:
        forms, _, gives = self.rng.choices(KINDS, [weight for _, weight, _ in KINDS])[0]
        names = [name for name, value in self.scope.items() if isinstance(value, torch.Tensor)]
        self.x, self.y = (self.rng.choice(names[-3:] if self.rng.random() < 0.6 else names) for _ in range(2))
        line = re.sub(r"\{(\w+)\}", lambda found: getattr(self, f"of_{found[1]}")(), self.rng.choice(forms))
        if gives:
            line = f"v{len(self.lines)} = {line}"
        if self.rng.random() < 0.15:
            line = f"with T.{self.rng.choice(('no_grad', 'no_grad', 'enable_grad', 'inference_mode'))}(): {line}"
        # Of the statements that PyTorch refuses, a third stays: what they leave behind is part of what is compared.
        before = dict(self.scope)
        if not self.run(line) and self.rng.random() < 0.66 and before.keys() == self.scope.keys():
            self.lines.pop()

    def run(self, line: str) -> bool:
        self.lines.append(line)
        return execute(line, self.scope) is None

    # What stands for a placeholder.
    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.scope[self.x].shape)

    def new(self, shape: tuple[int, ...], dtype: str = "float64") -> str:
        return f"R({tuple(shape)}, {self.rng.randrange(100)}, T.{dtype})"

    def operand(self, shape: tuple[int, ...], dtype: str | None = None) -> str:
        """A new tensor of this shape, in any layout; or of one that is a step away."""
        kind = str(self.scope[self.x].dtype).rpartition(".")[2] if dtype is None else dtype
        if self.rng.random() < MISSES:
            shape, kind = self.missed(list(shape), kind)
        if kind not in ("float64", "float32", "int64", "bool", "int32", "float16"):
            kind = "float64"
        made = self.new(shape, kind)
        wrap = self.rng.choice(WRAPS)
        if ("expand" in wrap and not shape) or (".t()" in wrap and len(shape) > 2) or ("flip" in wrap and not shape):
            wrap = "{}"
        made = wrap.format(made, shape=tuple(shape))
        return f"{made}.requires_grad_()" if kind == "float64" and wrap == "{}" and self.rng.random() < 0.2 else made

    def missed(self, shape: list[int], kind: str) -> tuple[tuple[int, ...], str]:
        rng = self.rng
        how = rng.choice(("more", "less", "one", "dimension", "no dimension", "dtype", "front", "zero"))
        at = rng.randrange(len(shape)) if shape else 0
        if how == "dtype":
            return tuple(shape), rng.choice(("float32", "int64", "bool", "float16", "int32"))
        if how == "dimension" or not shape:
            shape.insert(at, rng.choice((1, 2)))
        elif how == "front":
            shape.insert(0, 1)
        elif how == "no dimension":
            shape.pop(at)
        else:
            shape[at] = {"more": shape[at] + 1, "less": max(shape[at] - 1, 0), "one": 1, "zero": 0}[how]
        return tuple(shape), kind

    def of_x(self) -> str:
        return self.x

    def of_y(self) -> str:
        return self.y

    def of_d(self) -> str:
        n = max(len(self.shape), 1)
        return str(self.rng.choice([*range(-n, n)] * 4 + [n]))

    of_e = of_d

    def of_i(self) -> str:
        return str(self.rng.choice((0, 0, 0, -1, 1, 1, 2)))

    def of_c(self) -> str:
        return str(self.rng.choice((2, 0.5, -1.5, 0)))

    def of_k(self) -> str:
        return str(self.rng.choice((1, 2)))

    def of_how(self) -> str:
        return self.rng.choice(("sum", "prod", "mean", "amax", "amin"))

    def of_perm(self) -> str:
        return str(tuple(self.rng.sample(range(len(self.shape)), len(self.shape))))

    def of_split(self) -> str:
        n = int(np.prod(self.shape))
        return self.rng.choice((str((n,)), str((1, n)), "(-1, 2)", "(2, -1)", "(-1, 3)", str((n, 1)), "(3, -1)"))

    def of_grown(self) -> str:
        grown = tuple(2 if size == 1 else size for size in self.shape)
        return str(self.rng.choice((grown, (2, *grown), (1, *self.shape), self.missed(list(grown), "")[0])))

    def of_same(self) -> str:
        shape = self.shape
        cut = self.rng.choice((0, 0, 1)) if shape else 0
        return self.operand(tuple(1 if self.rng.random() < 0.2 else size for size in shape[cut:]))

    def of_like(self) -> str:
        return self.operand(self.shape)

    def of_zero_d(self) -> str:
        return self.operand(())

    def of_vec(self) -> str:
        return self.operand((self.shape[0] if self.shape else 2,))

    def of_three(self) -> str:
        return self.operand((3,))

    def of_last(self) -> str:
        return self.operand(self.shape[-1:])

    def of_channel(self) -> str:
        return self.operand((self.shape[1] if len(self.shape) > 1 else 1,))

    def of_cell(self) -> str:
        return self.operand((*self.shape[:-1], 2))

    def of_weight(self) -> str:
        return self.operand((3, *self.shape[-1:]))

    def of_cube(self) -> str:
        return self.operand((3, *self.shape[-1:] * 2))

    def of_right(self) -> str:
        return self.operand((*self.shape[:-2], *self.shape[-1:], 3))

    def of_left(self) -> str:
        return self.operand((*self.shape[:-2], 3, *self.shape[-2:-1]))

    def of_bias(self) -> str:
        return self.operand((*self.shape[:-1], 3))

    def of_kernel(self) -> str:
        return self.operand((3, *self.shape[1:2], *(1 for _ in self.shape[2:])))

    def of_flipped(self) -> str:
        return self.operand((*self.shape[1:2], 3, *(1 for _ in self.shape[2:])))

    def of_mask(self) -> str:
        return f"({self.operand(self.shape, 'bool')})"

    def of_signs(self) -> str:
        return f"{self.operand(self.shape[:1])}.sign()"

    def of_row(self) -> str:
        return self.operand(self.shape[1:])

    def numbers(self, shape: tuple[int, ...], high: int) -> str:
        """Indices, now and then one that is out of range, and of another type."""
        if self.rng.random() < MISSES:
            shape, kind = self.missed(list(shape), "int64")
        else:
            kind = "int64"
        high = max(high, 1) + (self.rng.random() < 0.1)
        low = -1 if self.rng.random() < 0.1 else 0
        return f"I({tuple(shape)}, {self.rng.randrange(100)}, {low}, {high}, T.{kind})"

    def of_idx(self) -> str:
        return self.numbers(self.rng.choice(((2,), (3,), (2, 2), (), (0,))), self.shape[0] if self.shape else 1)

    def of_bags(self) -> str:
        return self.numbers((2, 2), self.shape[0] if self.shape else 1)

    def of_pick(self) -> str:
        return self.numbers((2,), min(self.shape, default=1))

    def of_picked(self) -> str:
        return self.operand((2, *self.shape[1:]))

    def of_along(self) -> str:
        return self.numbers(self.shape, min(self.shape, default=1))

    def of_classes(self) -> str:
        shape = self.shape
        return self.numbers((shape[0], *shape[2:]) if len(shape) > 1 else (), shape[1] if len(shape) > 1 else 2)

    def of_counts(self) -> str:
        return self.numbers((self.rng.choice(self.shape) if self.shape else 1,), 3)


def scope_of(T: Any) -> dict[str, Any]:
    def R(shape: tuple[int, ...], k: int, dtype: Any) -> Any:
        """Numbers of this shape, in a layout without gaps."""
        array = np.random.default_rng(k).standard_normal(shape).round(1)
        return T.tensor(array * 3 if dtype in (T.int64, T.int32) else array).to(dtype).clone()

    def I(shape: tuple[int, ...], k: int, low: int, high: int, dtype: Any) -> Any:  # noqa: E743
        return T.tensor(np.random.default_rng(k).integers(low, high, shape)).to(dtype)

    T.manual_seed(0)
    return {"T": T, "F": T.nn.functional, "copy": copy, "pickle": pickle, "R": R, "I": I}


def execute(line: str, scope: dict[str, Any]) -> Any:
    """The error of a statement. What gives several tensors names each of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(line, scope)
        except Exception as error:
            return error_of(error)
    for name, value in list(scope.items()):
        if name.startswith("v") and isinstance(value, tuple | list) and any(is_tensor(v) for v in value):
            scope.update({f"{name}{'xyz'[i]}": v for i, v in enumerate(value[:3]) if is_tensor(v)})
            scope[name] = None
    return None


def is_tensor(value: Any) -> bool:
    return hasattr(type(value), "requires_grad_")


def states(T: Any, lines: list[str]) -> list[Any]:
    """After each statement: what it raised, and the state of all that it and those before it made."""
    scope, seen, births = scope_of(T), [], {}
    for line in lines:
        error = execute(line, scope)
        now = {name: state(value) for name, value in scope.items() if name[0] in "abv"}
        for name, kept in now.items():
            # How often a function wrote to its own result is its own business.
            if isinstance(kept, dict) and isinstance(kept["version"], int):
                kept["version"] -= births.setdefault(name, (id(scope[name]), kept["version"]))[1]
        seen.append([error, now])
    return seen


def state(value: Any) -> Any:
    if not is_tensor(value):
        return list(value) if isinstance(value, tuple) else value
    try:
        node = value.grad_fn is not None
    except Exception as error:
        node = error_of(error)
    is_view = value._is_view() and not value.is_inference()
    return {
        "values": numbers_of(value), "dtype": str(value.dtype).rpartition(".")[2], "requires_grad": value.requires_grad,
        "node": node, "version": "none" if value.is_inference() else value._version, "is_view": is_view,
        "strides": [s for s, n in zip(value.stride(), value.shape, strict=True) if n > 1] if is_view and value.numel() else [],
        "grad": None if node is not False or value.grad is None else numbers_of(value.grad),
    }  # fmt: skip


def numbers_of(t: Any) -> np.ndarray:
    # Of a copy: memory that NumPy has seen can no longer be resized.
    array = np.array(t.detach().clone().numpy(force=True))
    return array.astype(np.float32) if array.dtype == np.float64 else array


def first_difference(lines: list[str]) -> str | None:
    """The first difference that the page of differences does not declare."""
    theirs, ours = (states(ENGINES[name], lines) for name in ("torch", "tinygrad_edu"))
    for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        every = list(differences(a, b, f"[{i}]"))
        found = [line for line in every if not is_declared(line, lines)]
        if any(line.startswith(f"[{i}][0]: ") and line not in found for line in every):
            return None  # what is refused here is not written either
        if a[0] and b[0] and found and "raises" not in found[0]:
            return None  # PyTorch has written before it raised
        if found:
            return found[0]
        if any(differences(a, b)) and not all(declared_without_trace(line) for line in differences(a, b)):
            return None  # what follows comes of what is declared
    return None


DECLARED = (
    "tinygrad_edu ('RuntimeError', 'unsupported operation: more than one element of the written-to",
    "memory that other tensors show cannot grow",
    "Inplace update to inference tensor",
    "as_strided_ of a view is not built",
    "as_strided of a view, beyond",
    "derivative for set_ is not implemented",
    "It is an operand too",
)
OF_TIES = re.compile(r"\.(topk|kthvalue|mode|median|nanmedian|sort|argsort|cummax|argmin|max|min)\(")


def is_declared(difference: str, lines: list[str]) -> bool:
    path, _, said = difference.partition(": ")
    if any(form in said for form in DECLARED) or declared_without_trace(difference):
        return True
    name = path.rpartition(".")[0].rpartition(".")[2]
    made = next((line for line in lines if f"{name.rstrip('xyz')} = " in line), "")
    return name.endswith("y") and bool(OF_TIES.search(made))  # indices of equal elements


def declared_without_trace(difference: str) -> bool:
    """A composed function may end in a view of its own result."""
    return ".is_view: " in difference or ".strides" in difference


def kind_of(difference: str) -> str:
    """Which class a difference belongs to: the worst is a number that is wrong without an error."""
    path = difference.partition(":")[0]
    if "raises" in difference:
        return "another error"
    if re.fullmatch(r"\[\d+\]\[0\]", path):
        return "missing error" if "tinygrad_edu None" in difference else "extra error"
    part = path.rpartition(".")[2]
    return "wrong number" if part in ("values", "grad", "dtype") or "." not in path else f"other {part}"


def shortest(lines: list[str]) -> list[str]:
    """As few of the statements as differ in the same way."""
    kind = kind_of(first_difference(lines) or "")
    for i in reversed(range(len(lines))):
        fewer = lines[:i] + lines[i + 1 :]
        found = first_difference(fewer)
        if found and kind_of(found) == kind:
            lines = fewer
    return lines
