"""Random programs, in three designs, and the first difference between PyTorch and tinygrad_edu on one.

`memory`: views of views, names for one storage, writes through any of them, and operands that fit or are one step away:
a size or a dimension more or less, another dtype, an index out of range. Every tensor is compared after each statement.
`statements`: operands are other tensors of the program, whatever their shape; errors, hooks and versions are compared
too. `graphs`: leaves, hooks of every kind, custom Functions, checkpoints, grad modes, forward mode and several backward
passes; graphs are compared node by node, with what each node shows of what it saved.

A statement may raise. Then the program goes on, and which statement raised, what, and the state after it are compared.
"""

import copy
import pickle
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .parity import ENGINES, attempt, differences
from .toolbox import execute, is_tensor, run, second_order

__all__ = ["DESIGNS", "first_difference", "kind_of", "shortest"]
Shape = tuple[int, ...]


def forms(text: str) -> list[str]:
    found = [form.strip() for line in text.strip().splitlines() for form in line.split(" | ")]
    return [f"{{x}}{form}" if form.startswith(".") else form for form in found]


# --- the designs `memory` and `statements`: forms ---------------------------------------------------------------------
# {x}, {y}: tensors of the program; {d}, {e}: dimensions; {c}: a number. The rest is in PLACEHOLDERS and SHAPED.
# A form that begins with a dot is of {x}.

ALIASES = forms("""
.view({x}.shape) | .detach() | .data | T.nn.Parameter({x}) | T.as_tensor({x}) | T.asarray({x}) | .clone()
.contiguous() | T.from_numpy({x}.detach().numpy()) | copy.deepcopy({x}.detach())
pickle.loads(pickle.dumps({x}.detach())) | .view_as({x}) | .expand_as({like}) | {x}[...] | .t() | .transpose({d}, {e})
.permute(*{perm}) | .mT | .T | .swapaxes({d}, {e}) | .movedim({d}, {e}) | .transpose(0, -1) | .movedim(0, -1)
.select({d}, {i}) | .narrow({d}, {i}, 1) | {x}[{i}] | {x}[..., {i}] | {x}[{i}:] | {x}[:, {i}:] | {x}[..., ::2]
{x}[::2] | {x}[None] | {x}[..., None] | {x}[:, None] | .unsqueeze({d}) | .squeeze({d}) | .squeeze() | .flatten()
.flatten({d}, {e}) | .ravel() | .reshape(-1) | .view(-1) | .reshape({split}) | .view({split}) | .expand({grown})
.expand(2, *{x}.shape) | .broadcast_to({grown}) | .diagonal() | .diagonal(1, {d}, {e}) | .unfold({d}, 2, 1)
.unfold({d}, 2, 2) | .unbind({d})[{i}] | .split(1, {d})[{i}] | .chunk(2, {d})[0] | T.atleast_2d({x}) | .to({x}.dtype)
.type_as({x}) | T.narrow({x}, {d}, 0, 2) | .new_tensor({x}.detach().tolist()) | .detach().requires_grad_()
T.broadcast_tensors({x}, {same})[0] | T.meshgrid({vec}, {vec}, indexing='ij')[0] | .view(*{x}.shape, 1) | .float()
.double() | .view(-1, 1)
""")

WRITES = forms("""
T.mul({x}, {c}, out={y}) | .mul_({same}) | .add_({same}) | .add_({same}, alpha=2) | .sub_({c}) | .div_({same})
.copy_({same}) | .fill_({c}) | .zero_() | {x} += {same} | {x} *= {c} | {x} -= {y} | {x} /= 2 | {x} **= 2 | .mul_({y})
.add_({y}) | .copy_({y}) | .data.mul_({c}) | .detach().add_({c}) | .div_(2) | {x}[{i}] = {y} | {x}[{i}] = {c}
{x}[..., {i}] = {c} | {x}[..., {i}] *= {c} | {x}[{i}:] = {c} | {x}[{i}:] += {same} | {x}[::2] = {c} | {x}[:] = {same}
{x}[...] = {y} | {x}[{mask}] = {c} | .masked_fill_({mask}, {c}) | {x}[{x} > 0] = {c}
.scatter_({d}, T.zeros_like({x}, dtype=T.int64), {y}) | .index_copy_({d}, T.tensor([0]), {y})
.index_add_({d}, T.tensor([0]), {y}) | .clamp_(-0.5, 0.5) | .exp_() | .tanh_() | .sigmoid_() | .relu_() | .abs_()
.neg_() | .sqrt_() | .pow_(2) | .cumsum_({d}) | .transpose_({d}, {e}) | .unsqueeze_({d}) | .squeeze_() | .squeeze_({d})
.tril_() | .triu_() | .fill_diagonal_({c}) | .diagonal().fill_({c}) | .unbind({d})[0].mul_({c}) | .requires_grad_()
.requires_grad_(False) | .detach_() | .data = {y} | T.add({x}, {c}, out={x}) | T.exp({x}, out={y})
{x}[..., {i}] += {y} | .view(-1)[{i}] = {c} | .clone().mul_({y}) | .unsqueeze(0).mul_({same})
F.relu({x}, inplace=True) | F.leaky_relu_({x}) | F.dropout({x}, 0., True, True) | F.elu({x}, inplace=True)
.lerp_({y}, 0.5) | .addcmul_({y}, {y})
""")

OPS = forms("""
{x} + {same} | {x} - {same} | {x} * {same} | {x} / ({same} * {same} + 1) | {x} ** 2 | {x} @ {y} | {x} * {y} | {x} + {y}
{x} - {y} | {x} * {c} | {c} - {x} | {x} / {c} | {x} % {c} | -{x} | .exp() | .sin() | .tanh() | .sigmoid() | .abs()
.relu() | .square() | .sqrt() | .log1p() | .clamp(-1, 1) | .float() | .double() | .to(T.float32) | .sum() | .sum({d})
.mean({d}, True) | .prod() | .prod({d}) | .max() | .min({d})[0] | .amax({d}) | .norm() | .norm(dim={d}) | .var({d})
.std() | .logsumexp({d}) | .sort({d})[0] | .cumsum({d}) | .cumprod({d}) | .argmax({d}) | .median() | .softmax({d})
.flip({d}) | .roll(1, {d}) | .tril() | .repeat(2, 1) | F.softplus({x}) | F.dropout({x}, 0.5, False) | F.pad({x}, (1, 0))
F.normalize({x}, dim={d}) | T.maximum({x}, {same}) | T.where({x} > 0, {x}, {y}) | T.cat([{x}, {y}], {d})
T.stack([{x}, {y}]) | T.addcmul({x}, {same}, {like}) | T.lerp({x}, {like}, 0.3) | .lerp({y}, {y})
F.mse_loss({x}, {like}) | F.l1_loss({x}, {like}) | T.outer({x}, {y}) | .index_add({d}, T.tensor([0]), {y})
.masked_fill({mask}, {c}) | T.addmm({x}, {y}, {y}) | F.linear({x}, {weight}) | T.atan2({x}, {same})
T.einsum('...i,...i->...', {x}, {like}) | F.cosine_similarity({x}, {like}, {d}) | {x}[T.tensor([0, 0])]
.index_select({d}, T.tensor([0])) | {x}[{x} > 0] | .gather({d}, T.zeros_like({x}, dtype=T.int64))
""")

# Forms whose operands have to fit.
FITTING_WRITES = forms("""
T.cat([{x}, {like}], out={y}) | T.mul({x}, {same}, out={y}) | .fill_({zero_d}) | {x}[{mask}] = {zero_d}
{x}[{idx}] = {c} | {x}[{idx}] = {same} | {x}[{idx}] += {c} | {x}[{idx}, {idx}] = {c} | {x}[:, {idx}] = {c}
{x}[..., {idx}] = {y} | .index_add_({d}, {pick}, {picked}) | .index_copy_({d}, {pick}, {picked})
.index_fill_({d}, {pick}, {c}) | .scatter_({d}, {along}, {like}) | .scatter_({d}, {along}, {c})
.scatter_add_({d}, {along}, {like}) | .index_put_(({idx},), {same}) | .index_put_(({idx},), {zero_d}, accumulate=True)
.clamp_({same}) | .addcmul_({same}, {same}) | .addcdiv_({same}, {same}) | .lerp_({like}, {like}) | .lerp_({same}, 0.3)
.addmm_({left}, {right}) | .baddbmm_({left}, {right}) | .diagonal().copy_({vec}) | .data = {like} | .atan2_({same})
.fmod_({same}) | .remainder_({same}) | .floor_()
""")
FITTING = forms("""
{x} / {same} | {x} // {same} | {x} % {same} | {x} @ {right} | {x} > {same} | {x} == {y} | T.where({mask}, {x}, {same})
T.lerp({x}, {like}, {like}) | T.addcdiv({x}, {same}, {like}) | T.logaddexp({x}, {same}) | T.xlogy({x}, {same})
T.isclose({x}, {same}) | T.allclose({x}, {same}) | T.equal({x}, {like}) | T.mm({x}, {right}) | T.mv({x}, {last})
T.dot({x}, {like}) | T.bmm({x}, {right}) | T.matmul({left}, {x}) | T.addmm({bias}, {x}, {right})
T.baddbmm({bias}, {x}, {right}) | T.outer({x}, {vec}) | T.inner({x}, {like}) | T.tensordot({x}, {like}, {k})
T.einsum('ij,kj->ik', {x}, {x}) | F.linear({x}, {weight}, {three}) | F.embedding({idx}, {x}) | F.one_hot({idx}, 5)
F.conv1d({x}, {kernel}) | F.conv1d({x}, {kernel}, {three}) | F.conv2d({x}, {kernel})
F.conv2d({x}, {kernel}, {three}, padding=1) | F.conv_transpose1d({x}, {flipped}) | F.conv_transpose2d({x}, {flipped})
F.unfold({x}, 2) | F.max_pool1d({x}, 2) | F.avg_pool2d({x}, 2) | F.max_pool2d({x}, 2, 1) | F.adaptive_avg_pool1d({x}, 2)
F.adaptive_max_pool2d({x}, 2) | F.interpolate({x}, scale_factor=2) | F.pad({x}, (1, 1)) | F.pad({x}, (1, 1), 'reflect')
F.layer_norm({x}, {x}.shape[-1:], {last}, {last})
F.batch_norm({x}, {channel}, {channel}, {channel}, {channel}, True) | F.batch_norm({x}, {channel}, {channel})
F.instance_norm({x}) | F.group_norm({x}, 1, {channel}, {channel}) | F.rms_norm({x}, {x}.shape[-1:], {last})
F.l1_loss({x}, {like}, reduction='none') | F.smooth_l1_loss({x}, {like}) | F.huber_loss({x}, {like})
F.cross_entropy({x}, {classes}) | F.cross_entropy({x}, {like}) | F.cross_entropy({x}, {classes}, {channel})
F.nll_loss({x}, {classes}) | F.nll_loss({x}, {classes}, {channel}, reduction='none')
F.binary_cross_entropy({x}.sigmoid(), {like}.sigmoid())
F.binary_cross_entropy_with_logits({x}, {like}, pos_weight={last}) | F.kl_div({x}, {like}, reduction='batchmean')
F.cosine_embedding_loss({x}, {like}, {signs}) | F.margin_ranking_loss({x}, {like}, {like})
F.triplet_margin_loss({x}, {like}, {like}) | F.hinge_embedding_loss({x}, {like})
F.gaussian_nll_loss({x}, {like}, {like}.exp()) | F.poisson_nll_loss({x}, {like}) | .gather({d}, {along})
.scatter({d}, {along}, {like}) | .scatter_add({d}, {along}, {like}) | .index_select({d}, {pick})
.index_add({d}, {pick}, {picked}) | .index_copy({d}, {pick}, {picked}) | .index_fill({d}, {pick}, {c})
.take_along_dim({along}, {d}) | .masked_select({mask}) | .masked_fill({mask}, {zero_d}) | {x}[{idx}] | {x}[{mask}]
{x}[{idx}, {idx}] | {x}[:, {idx}] | {x}[{idx}, :, {idx}] | {x}[{idx}, None] | {x}[{i}, {idx}]
.index_put(({idx},), {same}) | T.cat([{x}, {like}], {d}) | T.stack([{x}, {like}], {d}) | T.hstack([{x}, {like}])
T.vstack([{x}, {like}]) | T.column_stack([{x}, {like}]) | T.cdist({x}, {like}) | .mean(({d}, {e}))
.std(({d}, {e}), keepdim=True) | .amax(({d}, {e})) | .amin({d}) | .max({d}) | .argmin({d}) | .median({d})
.topk(2, {d}) | .sort({d}) | .cummax({d}) | .logsumexp(({d}, {e})) | .log_softmax({d}) | .norm({k}, {d}) | .all({d})
.any() | .count_nonzero({d}) | .unique() | .argsort({d}) | T.var_mean({x}, {d}) | T.std_mean({x}) | .nonzero() | .sign()
.reciprocal() | .floor() | .clamp({same}, {same}) | .clamp(min={same}) | .long() | .bool() | F.gelu({x}) | F.silu({x})
F.prelu({x}, {channel}) | F.glu({x}, {d}) | F.elu({x}) | F.logsigmoid({x}) | .repeat(2, 1, 1)
.repeat_interleave(2, {d}) | .repeat_interleave({counts}, {d}) | .tile(2) | .triu(1) | .diag() | .diag_embed()
.trace() | .det() | .inverse() | T.linalg.solve({x}, {like}) | T.linalg.norm({x})
F.scaled_dot_product_attention({x}, {like}, {like}) | F.scaled_dot_product_attention({x}, {like}, {like}, {mask})
T.nn.Linear(3, 2, dtype=T.float64)({x}) | T.nn.LSTM(3, 2, dtype=T.float64)({x})[0]
T.nn.GRUCell(3, 2, dtype=T.float64)({x}, {cell}) | T.nn.RNN(3, 2, dtype=T.float64)({x}, {cell})[0]
T.nn.BatchNorm1d(3, dtype=T.float64)({x}) | T.nn.MultiheadAttention(4, 2, dtype=T.float64)({x}, {like}, {like})[0]
T.nn.Conv1d(3, 2, 1, dtype=T.float64)({x})
""")

# PyTorch 2.13 crashes when a hook is set on a view whose history is out of date: asking for `grad_fn` brings it up.
GRADIENTS = forms("""
.sum().backward() | .sum().backward(retain_graph=True) | .backward() | .backward({like}.clone())
.backward({y}.clone(), retain_graph=True) | .square().sum().backward(retain_graph=True)
({x} * {y}).sum().backward(retain_graph=True) | ({x} * {y}).sum().backward() | .sum().backward(inputs=[{y}])
.sum().backward(create_graph=True) | .backward(T.ones_like({x})) | .grad_fn, {x}.retain_grad() | .grad = None
.grad = {like} | .grad.zero_() | .grad.mul_(2) | .grad_fn, {x}.register_hook(lambda g: g * 2)
.grad_fn, {x}.register_hook(lambda g: None) | .grad_fn, {x}.register_hook(lambda g: log.append(g.sum().item()))
.grad_fn, {x}.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.sum().item()))
.grad_fn.register_hook(lambda a, b: log.append(len(a)))
""")
GIVING = forms("""
T.autograd.grad({x}.sum(), [{y}])[0].clone() | T.autograd.grad({x}.sum(), [{y}], retain_graph=True)[0].clone()
T.autograd.grad({x}.sum(), [{y}], create_graph=True)[0].clone() | .grad.clone()
T.autograd.grad({x}, [{y}], {like}, create_graph=True, allow_unused=True)[0].clone()
T.autograd.grad({x}.square().sum(), [{y}], create_graph=True)[0].clone()
""")
PROBES = forms("""
.is_contiguous() | .stride() if {x}._is_view() else 0 | .storage_offset() if {x}._is_view() else 0
.data_ptr() == {y}.data_ptr() | .tolist() | .shape | ._base is {y} | .is_leaf | .numel() | len({x}) | bool({x})
.item() | float({x}) | [r.sum().item() for r in {x}] | {x} in [{x}] | .grad
T.func.grad(lambda v: (v * {like}).sum())({x}) | T.autograd.functional.jacobian(lambda v: v * {same}, {x})
T.autograd.grad({x}.square().sum(), [{x}, {y}], retain_graph=True, allow_unused=True)
""")

# By design: the forms with their weights, and whether they give something that gets a name.
KINDS = {
    "memory": [(ALIASES, 6, True), (WRITES + FITTING_WRITES, 6, False), (OPS + FITTING, 6, True)],
    "statements": [(ALIASES, 5, True), (WRITES, 6, False), (OPS, 9, True)],
}
KINDS["memory"] += [(GRADIENTS, 2, False), (GIVING, 1, True), (PROBES, 1, True)]
KINDS["statements"] += [(GRADIENTS, 3, False), (GIVING, 1, True)]
LENGTH = {"memory": 10, "statements": 14}
# Of the statements that PyTorch refuses: what they leave behind is compared.
KEPT = {"memory": 0.34, "statements": 0.12}
MISSES = 0.25  # of the operands that are made to fit
SHAPES = [(3,), (2, 3), (3, 2), (2, 3, 4), (1, 3), (3, 1), (2, 2, 2), (4, 4), (), (1,), (0, 3), (2, 0), (2, 3, 1, 2)]
WRAPS = forms("{} | {} | {} | {}.t().clone().t() | {}.flip(0).flip(0) | T.stack([{0}, {0}], -1)[..., 0]")
WRAPS += ["{}[:1].expand({shape})"]
MODES = {"memory": ["no_grad", "no_grad", "enable_grad", "inference_mode"]}
MODES["statements"] = MODES["memory"][:3]


class Drawn:
    """A program of forms. PyTorch runs along while it is written, so that most of its statements work."""

    def __init__(self, design: str, seed: int) -> None:
        self.design, self.rng = design, random.Random(f"{design} {seed}")
        self.lines: list[str] = []
        self.scope = scope_of(torch)
        self.x = self.y = ""
        self.writes = self.resizes = False
        shapes = SHAPES if design == "memory" else [shape for shape in SHAPES if 0 not in shape]
        for name in "abc"[: self.rng.choice((1, 1, 2, 3))]:
            dtype = self.rng.choice(["float64"] * 6 + ["float32", "int64" if design == "memory" else "float32"])
            grad = dtype != "int64" and self.rng.random() < 0.65
            made = self.new(self.rng.choice(shapes), dtype)
            self.lines.append(f"{name} = {made}{'.requires_grad_()' if grad else ''}")
            if grad and self.rng.random() < 0.3:
                self.lines.append(f"{name}1 = {name} * 1")
        for line in self.lines:
            run(line, self.scope)
        while len(self.lines) < LENGTH[design]:
            self.statement()

    def statement(self) -> None:
        rng, kinds = self.rng, KINDS[self.design]
        table, _, gives = rng.choices(kinds, [weight for _, weight, _ in kinds])[0]
        form, self.x, self.y = rng.choice(table), self.name(), self.name()
        self.writes = WRITES[0] in table
        self.resizes = "out=" in form and self.scope[self.x].shape != self.scope[self.y].shape
        line = re.sub(r"\{(\w+)\}", lambda found: self.of(found[1]), form)
        line = f"v{len(self.lines)} = {line}" if gives else line
        if rng.random() < 0.13:
            line = f"with T.{rng.choice(MODES[self.design])}(): {line}"
        self.lines.append(line)
        error = run(line, self.scope)
        if not self.small():
            self.lines.pop()
            self.scope = scope_of(torch)
            for kept in self.lines:
                run(kept, self.scope)
        elif error and rng.random() > KEPT[self.design]:
            self.lines.pop()

    def small(self) -> bool:
        """Whether no number is so large that what is computed from it is all rounding."""
        tensors = [t.detach() for t in self.scope.values() if isinstance(t, torch.Tensor)]
        numbers = [t for t in tensors if t.dtype.is_floating_point and t.numel()]
        return not numbers or all(bool(size < 1e6) for size in torch._foreach_norm(numbers, float("inf")))

    def name(self) -> str:
        """A tensor of the program; what was made last is used most."""
        names = [name for name, value in self.scope.items() if isinstance(value, torch.Tensor)]
        return self.rng.choice(names[-3:] if self.rng.random() < 0.55 else names)

    @property
    def shape(self) -> Shape:
        return tuple(self.scope[self.x].shape)

    def new(self, shape: Shape, dtype: str = "float64") -> str:
        return f"R({tuple(shape)}, {self.rng.randrange(100)}, T.{dtype})"

    def operand(self, shape: Shape, dtype: str | None = None) -> str:
        """Of this shape, in any layout, or a step away; in the design of statements any tensor of the program."""
        if self.design == "statements":
            return f"({self.other(self.name())} > 0)" if dtype == "bool" else self.other(self.name())
        kind = str(self.scope[self.x].dtype).rpartition(".")[2] if dtype is None else dtype
        if self.rng.random() < MISSES:
            shape, kind = self.missed(list(shape), kind)
        if kind not in ("float64", "float32", "int64", "bool", "int32", "float16"):
            kind = "float64"
        wrap = self.rng.choice(WRAPS)
        if (("expand" in wrap or "flip" in wrap) and not shape) or (".t()" in wrap and len(shape) > 2):
            wrap = "{}"
        made = wrap.format(self.new(shape, kind), shape=tuple(shape))
        return f"{made}.requires_grad_()" if kind == "float64" and wrap == "{}" and self.rng.random() < 0.2 else made

    def missed(self, shape: list[int], kind: str) -> tuple[Shape, str]:
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

    def other(self, name: str) -> str:
        """A copy where a write to `x` changes what it reads, unseen: else PyTorch's kernel decides the result."""
        a, b = self.scope[self.x].detach(), self.scope[name].detach()
        if self.resizes:
            return f"{name}.clone()"
        if not self.writes or a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr():
            return name
        ways = {(t.data_ptr(), tuple(t.shape), t.stride()) for t in (a, b)}
        gaps = any(t.numel() < t.untyped_storage().nbytes() // t.element_size() for t in (a, b))
        return f"{name}.clone()" if len(ways) > 1 and gaps else name

    def numbers(self, shape: Shape, high: int) -> str:
        """Indices, now and then one that is out of range, and of another type."""
        kind = "int64"
        if self.rng.random() < MISSES:
            shape, kind = self.missed(list(shape), kind)
        high = max(high, 1) + (self.rng.random() < 0.1)
        low = -1 if self.rng.random() < 0.1 else 0
        return f"I({tuple(shape)}, {self.rng.randrange(100)}, {low}, {high}, T.{kind})"

    def of(self, placeholder: str) -> str:
        """What stands for a placeholder."""
        if placeholder in SHAPED:
            return self.operand(SHAPED[placeholder](self.shape))
        return PLACEHOLDERS[placeholder](self)

    def same(self) -> str:
        """An operand that is broadcast to the shape of x."""
        shape = self.shape[self.rng.choice((0, 0, 1)) if self.shape else 0 :]
        return self.operand(tuple(1 if self.rng.random() < 0.2 else size for size in shape))

    def dimension(self) -> str:
        n = max(len(self.shape), 1)
        return str(self.rng.choice([*range(-n, n)] * 4 + [n]))

    def split(self) -> str:
        n = int(np.prod(self.shape))
        return str(self.rng.choice(((n,), (1, n), (-1, 2), (2, -1), (-1, 3), (n, 1), (3, -1))))

    def grown(self) -> str:
        grown = tuple(2 if size == 1 else size for size in self.shape)
        return str(self.rng.choice((grown, (2, *grown), (1, *self.shape), self.missed(list(grown), "")[0])))

    def classes(self) -> str:
        s = self.shape
        return self.numbers((s[0], *s[2:]), s[1]) if len(s) > 1 else self.numbers((), 2)


PLACEHOLDERS: dict[str, Callable[[Drawn], str]] = {
    "x": lambda p: p.x,
    "y": lambda p: p.other(p.y) if p.design == "statements" or p.resizes else p.y,
    "d": Drawn.dimension,
    "e": Drawn.dimension,
    "i": lambda p: str(p.rng.choice((0, 0, 0, -1, 1, 1, 2))),
    "c": lambda p: str(p.rng.choice((2, 0.5, -1.5, 0))),
    "k": lambda p: str(p.rng.choice((1, 2))),
    "perm": lambda p: str(tuple(p.rng.sample(range(len(p.shape)), len(p.shape)))),
    "split": Drawn.split,
    "grown": Drawn.grown,
    "same": Drawn.same,
    "mask": lambda p: f"({p.operand(p.shape, 'bool')})",
    "signs": lambda p: f"{p.operand(p.shape[:1])}.sign()",
    "idx": lambda p: p.numbers(p.rng.choice(((2,), (3,), (2, 2), (), (0,))), p.shape[0] if p.shape else 1),
    "pick": lambda p: p.numbers((2,), min(p.shape, default=1)),
    "along": lambda p: p.numbers(p.shape, min(p.shape, default=1)),
    "classes": Drawn.classes,
    "counts": lambda p: p.numbers((p.rng.choice(p.shape) if p.shape else 1,), 3),
}
# Of an operand its shape, by the shape of x.
SHAPED: dict[str, Callable[[Shape], Shape]] = {"like": lambda s: s, "zero_d": lambda s: (), "three": lambda s: (3,)}
SHAPED |= {"vec": lambda s: (s[0] if s else 2,), "last": lambda s: s[-1:]}
SHAPED |= {"channel": lambda s: (s[1] if len(s) > 1 else 1,), "cell": lambda s: (*s[:-1], 2)}
SHAPED |= {"weight": lambda s: (3, *s[-1:]), "right": lambda s: (*s[:-2], *s[-1:], 3)}
SHAPED |= {"left": lambda s: (*s[:-2], 3, *s[-2:-1]), "bias": lambda s: (*s[:-1], 3)}
SHAPED |= {"kernel": lambda s: (3, *s[1:2], *(1 for _ in s[2:]))}
SHAPED |= {"flipped": lambda s: (*s[1:2], 3, *(1 for _ in s[2:])), "picked": lambda s: (2, *s[1:])}


def scope_of(T: Any) -> dict[str, Any]:
    """The names that a program of forms may use."""

    def R(shape: Shape, k: int, dtype: Any) -> Any:
        array = np.random.default_rng(k).standard_normal(shape).round(1)
        return T.tensor(array * 3 if dtype in (T.int64, T.int32) else array).to(dtype).clone()

    def I(shape: Shape, k: int, low: int, high: int, dtype: Any) -> Any:  # noqa: E743
        return T.tensor(np.random.default_rng(k).integers(low, high, shape)).to(dtype)

    T.manual_seed(0)
    return {"T": T, "F": T.nn.functional, "copy": copy, "pickle": pickle, "R": R, "I": I, "log": []}


NAMES = re.compile(r"[abcv]\d*[xyz]?")


def trace(T: Any, lines: list[str], every: bool, **names: Any) -> list[Any]:
    """What each statement raised, and the state of all tensors after it (or only after the last); what hooks said."""
    scope = {**scope_of(T), **names}
    # What was computed from single precision is compared in it.
    kind = np.float32 if re.search(r"float32|float16|float\(\)", " ".join(lines)) else None
    seen: list[Any] = []
    births: dict[str, int] = {}
    for i, line in enumerate(lines):
        error = run(line, scope)
        tensors = {name: value for name, value in scope.items() if NAMES.fullmatch(name)}
        for name, value in tensors.items():
            # How often a function wrote to its own result is its own business.
            if name not in births and is_tensor(value):
                births[name] = 0 if value.is_inference() or "inference" in line else value._version
        now = every or i == len(lines) - 1
        seen.append([error, {n: state_of(v, births.get(n, 0), kind) for n, v in tensors.items()} if now else {}])
    log = [np.asarray(value, kind) if kind and isinstance(value, float) else value for value in scope["log"]]
    return [seen, log]


def state_of(t: Any, birth: int, kind: Any) -> Any:
    if not is_tensor(t):
        return list(t) if isinstance(t, tuple) else t
    node = attempt(lambda: t.grad_fn is not None)
    is_view = t._is_view() and not t.is_inference()
    leaf = node is False or t.retains_grad
    state = {"values": numbers_of(t, kind), "dtype": str(t.dtype).rpartition(".")[2], "requires_grad": t.requires_grad}
    state |= {"node": node, "retains_grad": t.retains_grad, "is_view": is_view}
    state["version"] = "none" if t.is_inference() else attempt(lambda: t._version - birth)
    state["strides"] = [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] if is_view and t.numel() else []
    state["grad"] = numbers_of(t.grad, kind) if leaf and t.grad is not None else None
    return state


def numbers_of(t: Any, kind: Any) -> np.ndarray:
    array = np.array(t.detach().clone().numpy(force=True))
    return array.astype(kind) if kind and array.dtype.kind == "f" else array


# What is refused here and not there: see the page of differences.
REFUSED = (
    "unsupported operation: more than one element of the written-to",
    "Pass an empty tensor as out, or one of the right shape",
    "fill_diagonal_ takes a matrix here",
    "is only supported on matrices or batches of matrices. Got 0-D",
    "Inplace update to inference tensor",
    "a write through a view of dtype",
    "a view, or its base, was given other memory",
    "and a leaf stay one",
    "It is an operand too",
    "invalid gradient at index",  # after `data` was given another shape
)
# PyTorch asks this when it looks for the history of an operand, and so before it looks at shapes.
TOLD_FIRST = ("A view was created in no_grad mode",)
OF_TIES = re.compile(r"\.(topk|median|sort|argsort|cummax|argmin|argmax|max|min)\(")


def difference_of_drawn(design: str, lines: list[str]) -> str | None:
    """The first difference that the page of differences does not declare."""
    theirs, ours = (trace(ENGINES[name], lines, design == "memory") for name in ("torch", "tinygrad_edu"))
    raised = ""
    for i, ((error, before), (our_error, after)) in enumerate(zip(theirs[0], ours[0], strict=True)):
        if our_error and not error and any(form in our_error[1] for form in REFUSED):
            return None  # what is refused here is not written either
        if error and our_error and any(form in error[1] for form in TOLD_FIRST):
            return None
        if found := next(differences(error, our_error, f"[{i}][0]"), None):
            return None if any(form in found for form in REFUSED) else found
        every = list(differences(before, after, f"[{i}][1]"))
        found = next((line for line in every if not is_declared(line, lines)), None)
        raised = error[1] if error else raised if design == "statements" else ""
        if found and raised and (design == "memory" or "Number of elements of source" in raised):
            return None  # PyTorch has written before it raised
        if found:
            return None if design == "statements" and is_unsure(lines, found, theirs) else found
        if not all(declared_without_trace(line) for line in every):
            return None  # what follows comes of what is declared
    found = next(differences(theirs[1], ours[1], "log"), None)
    return None if found and is_unsure(lines, found, theirs) else found


def is_declared(difference: str, lines: list[str]) -> bool:
    path, _, said = difference.partition(": ")
    if any(form in said for form in REFUSED) or declared_without_trace(difference):
        return True
    name = path.rpartition(".")[0].rpartition(".")[2]
    made = next((line for line in lines if f"{name.rstrip('xyz')} = " in line), "")
    return name.endswith("y") and bool(OF_TIES.search(made))  # indices of equal elements


def declared_without_trace(difference: str) -> bool:
    """A composed function may end in a view of its own result."""
    return ".is_view: " in difference or ".strides" in difference


def is_unsure(lines: list[str], difference: str, theirs: list[Any]) -> bool:
    """Whether numbers changed unnoticed, or PyTorch differs from itself if the last digits of the numbers do."""
    watched = [re.sub(r"\.data\.mul_\(.*\)", ".data.mul_(1)", line) for line in lines if ".data = " not in line]
    if watched != lines and difference_of_drawn("statements", watched) is None:
        return True
    path = difference.partition(": ")[0]
    if not path.startswith("log") and not path.endswith((".values", ".grad")):
        return False
    rng, plain = np.random.default_rng(0), scope_of(torch)["R"]

    def R(shape: Shape, k: int, dtype: Any) -> Any:
        made = plain(shape, k, dtype)
        step = torch.finfo(dtype).eps if dtype.is_floating_point else 0
        return (made.double() * (1 + step * torch.tensor(rng.choice((-1, 1), shape)))).to(dtype)

    for _ in range(8):
        seen = trace(torch, lines, False, R=R)
        moved = [*differences(theirs[0], seen[0]), *differences(theirs[1], seen[1], "log")]
        if any(line.startswith(f"{path}: ") for line in moved):
            return True
    return False


# --- the design `graphs` ----------------------------------------------------------------------------------------------


@dataclass
class Variable:
    """What the writer knows of a name in the program."""

    name: str
    shape: Shape
    memory: str  # the variable whose memory it may show; its own name if it shows no other's
    inference: bool = False  # whether PyTorch lets such a tensor be written to depends on the kernel
    view: bool = False
    strided: bool = False  # its strides come from a permutation or an expansion, or may do so


SCOPES = forms("""
T.inference_mode() | T.autograd.graph.saved_tensors_hooks(*packing('{h}')) | T.no_grad() | T.no_grad(), T.enable_grad()
T.autograd.set_detect_anomaly(True) | T.set_grad_enabled(False) | T.enable_grad() | T.inference_mode(False)
T.no_grad(), T.set_grad_enabled(True)
""")
UNARY = forms("exp | sin | cos | tanh | sigmoid | relu | neg | abs | clone | reciprocal | square")
INPLACE_UNARY = forms("sin_ | cos_ | tanh_ | sigmoid_ | relu_ | neg_ | abs_ | zero_ | exp_")
INPLACE_BINARY = ["add_", "sub_", "mul_", "copy_"]
HOOKS = forms("""
{v}.register_hook(log_hook('{h}')) | {v}.register_hook(scaling_hook('{h}')) | {v}.register_hook(failing_hook('{h}'))
{v}.retain_grad() | {v}.retain_grad() | {v}.grad_fn.register_hook(log_hook('{h}'))
{v}.grad_fn.register_prehook(log_hook('{h}')) | {v}.grad_fn.register_prehook(scaling_prehook('{h}'))
{v}.register_post_accumulate_grad_hook(leaf_hook('{h}')) | {v}.register_post_accumulate_grad_hook(zeroing_hook('{h}'))
{h} = {v}.register_hook(log_hook('{h}')); {h}.remove() | {v}.grad_fn.register_hook(scaling_node_hook('{h}'))
{v}.grad_fn._raw_saved_self.register_hooks(*packing('{h}'))
{v}.grad_fn._raw_saved_result.register_hooks(*packing('{h}'))
{v}.register_post_accumulate_grad_hook(stepping_hook('{h}')) | {v}.register_hook(reshaping_hook('{h}'))
{v}.grad_fn.register_hook(failing_hook('{h}')) | {v}.grad_fn.register_prehook(failing_hook('{h}'))
""")
FLAGS = forms("""
{v}.requires_grad_() | {v}.requires_grad_(False) | {v}.grad = None | {v}.grad.zero_() | {v} = {v}.detach()
{v} = {v}.detach().requires_grad_() | {v}.detach_() | {v}.data = {v}.data * 2 | {v}.grad = {v}.detach() * 3
{v}.data.mul_(2) | {v} = {v} if {v}.grad is None else {v}.grad.clone()
""")
# Custom Functions; where another tensor is an argument, too, and whose shape the outputs have, if not one of v's.
OWN = forms("""
Square | Exp | Scaled | Two | Same | Double_ | Split | Window | Once | Inner | Failing | Both | Drops | Mixed | Outer
""")
ARGUMENTS = {"Scaled": "{v}, 3.0, {w}", "Two": "{v}, {w}", "Drops": "{v}, {w}"}
OUTPUTS = {"Two": "vw", "Both": "vv"}


class Writer:
    """Writes one program of the design `graphs`, by what it knows of each name, without an engine."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"graphs {seed}")
        self.lines: list[str] = []
        self.variables: list[Variable] = []
        self.forward_mode = self.rng.random() < 0.1
        if self.forward_mode:
            self.lines.append("fw.enter_dual_level()")
        for _ in range(self.rng.randint(1, 2)):
            self.leaf()
        steps = [self.unary, self.binary, self.with_number, self.view] * 3
        steps += [self.reduction, self.where, self.gather, self.function]
        steps += [self.flag, self.leaf, self.several_views, self.checkpoint]
        steps += [*[self.in_place] * 5, *[self.hook] * 4, *[self.backward] * 2, *[self.tangent] * 3 * self.forward_mode]
        if self.rng.random() < 0.33:
            # Few kinds of statement, so that they meet: what goes wrong between two of them is rare among thirty.
            steps = [self.pick(steps) for _ in range(self.rng.randint(2, 5))]
        for _ in range(self.rng.randint(1, 12)):
            self.pick(steps)()
        self.backward()

    def pick(self, options: Any) -> Any:
        return self.rng.choice(options)

    def variable(self) -> Variable:
        return self.pick(self.variables[-6:])  # long programs are not a heap of unrelated ops

    def add(self, shape: Shape, used: list[Variable], view: bool = False, **flags: bool) -> str:
        """A new variable, computed from others."""
        name = f"v{len(self.variables)}"
        inference, strided = (flags.get(f, False) or any(getattr(v, f) for v in used) for f in ("inference", "strided"))
        self.variables.append(Variable(name, shape, used[0].memory if view else name, inference, view, strided))
        return name

    def define(self, expression: str, shape: Shape, view: bool = False) -> None:
        used = [v for v in self.variables if v.name in re.split(r"\W", expression)]
        scope = self.scope()
        if "saved_tensors" in scope and any(v.view for v in used):
            # A view made under no_grad of what requires grad has no node; what is saved beside it depends on the rule.
            scope = ""
        strided = bool(re.search(r"\.(t|transpose|permute|expand)\(|\.T\b", expression))
        name = self.add(shape, used, view, inference="inference_mode" in scope, strided=strided)
        self.write(f"{name} = {expression}", scope)

    def write(self, line: str, scope: str = "") -> None:
        self.lines.append(f"with {scope}:\n    {line}" if scope else line)

    def scope(self) -> str:
        """Mostly none; else a grad mode, or hooks on what is saved. In forward mode no hooks: what is computed for
        tangents may save as well. And no inference mode: through which base a view made there finds its tangent is
        PyTorch's secret."""
        scope = self.pick(SCOPES) if self.rng.random() < 0.3 else ""
        return "" if self.forward_mode and scope in SCOPES[:2] else scope.format(h=f"p{len(self.lines)}")

    def leaf(self) -> None:
        shape = self.pick([(), (1,), (3,), (2, 1), (2, 3), (3, 2), (2, 2), (1, 3)])
        start, name = self.rng.randint(1, 9), f"v{len(self.variables)}"
        values = np.array([((start + 3 * i) % 11 - 4.3) / 3 for i in range(int(np.prod(shape)))])
        values = values.reshape(shape).round(3).tolist()
        self.lines.append(f"{name} = T.tensor({values}, dtype=T.float64, requires_grad={self.rng.random() < 0.75})")
        self.variables.append(Variable(name, shape, name))

    def unary(self) -> None:
        v = self.variable()
        self.define(f"{v.name}.{self.pick(UNARY)}()", v.shape)

    def binary(self) -> None:
        a, b = self.variable(), self.variable()
        if fits(a, b):
            self.define(f"{a.name} {self.pick('+-*/')} {b.name}", np.broadcast_shapes(a.shape, b.shape))
        elif len(a.shape) == len(b.shape) == 2 and a.shape[1] == b.shape[0]:
            self.define(f"{a.name} @ {b.name}", (a.shape[0], b.shape[1]))
        else:
            self.define(f"{a.name} * 2", a.shape)

    def with_number(self) -> None:
        v = self.variable()
        form = self.pick(["{} + 2", "{} * 3.0", "1 - {}", "{} ** 2", "{} / 2", "2 / {}", "{} ** 3"])
        self.define(form.format(v.name), v.shape)

    def reduction(self) -> None:
        v, method = self.variable(), self.pick(["sum", "mean"])
        if v.inference:
            return
        forms = [(f"{method}()", ()), (f"{method}(0)", v.shape[1:])]
        forms += [(f"{method}(-1, keepdim=True)", (*v.shape[:-1], 1))]
        forms += [(f"{'max' if 0 not in v.shape else 'sum'}()", ())]
        call, shape = self.pick(forms if v.shape else forms[:1])
        self.define(f"{v.name}.{call}", shape)

    def where(self) -> None:
        a, b = self.variable(), self.variable()
        if a.strided or b.strided:
            return  # in which order PyTorch lays out the result depends on the kernel
        a = a if fits(a, b) else b
        self.define(f"T.where({a.name} > 0, {a.name}, {b.name})", np.broadcast_shapes(a.shape, b.shape))

    def view(self) -> None:
        v = self.variable()
        self.define(*self.window(v), view=True)

    def window(self, v: Variable) -> tuple[str, Shape]:
        """A view of `v`, as an expression and a shape."""
        n, shape = v.name, v.shape
        forms: list[tuple[str, Shape]] = [("unsqueeze(0)", (1, *shape)), (f"expand{(2, *shape)}", (2, *shape))]
        forms += [("detach()", shape)]
        count = int(np.prod(shape))
        if v.view or not v.strided:  # how PyTorch lays out what it computes from strided tensors depends on its kernels
            forms += [("view(-1)", (count,)), (f"reshape({count})", (count,))]
        if len(shape) == 2:
            forms += [(form, shape[::-1]) for form in ("t()", "transpose(0, 1)", "permute(1, 0)", "T")]
        if 1 in shape:
            forms.append(("squeeze()", tuple(s for s in shape if s != 1)))
        views = [(f"{n}.{form}", after) for form, after in forms]
        if shape:
            first, rest = shape[0], shape[1:]
            views += [(f"{n}[0]", rest), (f"{n}[-1]", rest), (f"{n}[1:]", (max(first - 1, 0), *rest))]
            views += [
                (f"{n}[::2]", ((first + 1) // 2, *rest)),
                (f"{n}[..., 0]", shape[:-1]),
                (f"{n}[None]", (1, *shape)),
            ]
        if len(shape) == 2:
            views += [(f"{n}[:, 1:]", (shape[0], max(shape[1] - 1, 0))), (f"{n}[0, 1:]", (max(shape[1] - 1, 0),))]
        return self.pick(views)

    def gather(self) -> None:
        v = self.variable()
        if v.shape:
            indices = [self.rng.randint(0, max(v.shape[0] - 1, 0)) for _ in range(3)]
            self.define(f"{v.name}[T.tensor({indices})]", (3, *v.shape[1:]))

    def several_views(self) -> None:
        v = self.variable()
        if v.shape and 2 <= (n := v.shape[0]) <= 3:
            one = (1, *v.shape[1:])
            call, shape = self.pick([("unbind(0)", one[1:]), ("split(1)", one), (f"chunk({n}, 0)", one)])
            scope = self.scope()
            targets = [self.add(shape, [v], True, inference="inference_mode" in scope) for _ in range(n)]
            self.write(f"{', '.join(targets)} = {v.name}.{call}", scope)

    def in_place(self) -> None:
        v, other = self.variable(), self.variable()
        if v.inference or (other.inference and other.shape != v.shape):
            return  # whether that it cannot be saved or that it does not fit is told first is a matter of each kernel
        if (other is not v and other.memory == v.memory) or (other is v and self.forward_mode):
            # What PyTorch gives where a write changes what it reads depends on the kernel; in forward mode the tangent
            # of `x.mul_(x)` is wrong.
            return
        form, name = self.rng.randint(0, 7), v.name
        if form <= 1:
            line = f"{name}.{self.pick(INPLACE_UNARY)}()"
        elif form == 2:
            line = f"{name}.{self.pick(['add_', 'sub_', 'mul_', 'fill_', 'pow_'])}(2)"
        elif form == 3:
            target, shape = self.window(v)
            if self.rng.random() < 0.5:
                target, _ = self.window(Variable(target, shape, v.memory, view=True, strided=v.strided))
            # Whether reshape copies depends on the strides that a kernel of PyTorch gives its result. A fill through an
            # expanded view is one that PyTorch cannot differentiate twice.
            target = name if ".expand" in target or ".reshape" in target else target
            line = f"{target}.{self.pick(['add_', 'mul_', 'sub_', 'fill_'])}(2)"
        elif form == 4 and v.shape:
            # By indices, and by a mask below, an expanded tensor is written to in PyTorch with a warning; we refuse it.
            # And where there is nothing to index PyTorch asks first whether the write is allowed, we whether it fits.
            at = self.pick(["0", "1:", "...", "..." if v.strided or not v.shape[0] else "T.tensor([0])"])
            line = f"{name}[{at}] = {self.pick([other.name if other is not v else '3.0', '2.0'])}"
        elif form == 5 and not v.strided:
            line = self.pick(["{0}.masked_fill_({0} > 0, 2.0)", "{0}[{0} > 0] = 3.0", "{0}.clamp_(min=0.5)"])
            line = line.format(name)
        else:
            line = f"{name}.{self.pick(INPLACE_BINARY[: 3 if other is v else 4])}({other.name})"
        self.write(line, self.pick([*[""] * 7, "T.no_grad()"]))

    def function(self) -> None:
        v, w = self.variable(), self.variable()
        if not v.inference:
            kind = self.pick(OWN)
            targets = [self.add({"v": v, "w": w}[of].shape, [v, w], view=True) for of in OUTPUTS.get(kind, "v")]
            arguments = ARGUMENTS.get(kind, "{v}").format(v=v.name, w=w.name)
            self.lines.append(f"{', '.join(targets)} = own.{kind}.apply({arguments})")

    def checkpoint(self) -> None:
        v = self.variable()
        if not v.inference:
            self.define(f"checkpoint(own.body, {v.name}, use_reentrant={self.rng.random() < 0.5})", v.shape)

    def tangent(self) -> None:
        v = self.variable()
        if not v.inference:
            self.define(f"fw.make_dual({v.name}, tangent({v.name}))", v.shape, view=True)

    def hook(self) -> None:
        v, other = self.variable(), self.variable()
        form = self.pick(HOOKS)
        if "_raw_saved" in form and any(re.search(r"_\(|version|\] = ", line) for line in self.lines):
            return  # PyTorch packs what is saved also where it was changed, and then no longer knows: a wrong gradient
        if "stepping" in form and self.forward_mode:
            return  # the tangent of a gradient is kept where a formula of PyTorch's happens to keep it
        # PyTorch 2.13 itself crashes if a hook is set on a view whose history is out of date. Asking for it updates it.
        self.lines.append(f"{v.name}.grad_fn, {other.name}.grad_fn")
        self.lines.append(form.format(v=v.name, h=f"h{len(self.lines)}"))

    def flag(self) -> None:
        v = self.variable()
        if not v.inference:
            self.lines.append(self.pick(FLAGS).format(v=v.name))

    def backward(self) -> None:
        v, other = self.variable(), self.variable()
        kept = [", retain_graph=True", ", create_graph=True"]
        options = self.pick(["", "", *kept, f", inputs=[{v.name}]", f", inputs=[{other.name}]"])
        if self.rng.random() < 0.5 and not second_order(self.lines):
            self.lines.append(f"watch({v.name}, log=log)")
        kind, ones = self.rng.randint(0, 6), f"T.ones({list(v.shape)}, dtype=T.float64)"
        if kind == 0:
            around, line = self.rng.randint(0, 5), f"{v.name}.sum().backward({options[2:]})"
            self.write(f"in_thread(lambda: {line})" if around == 5 else line, "T.no_grad()" if around == 4 else "")
        elif kind == 1:
            self.lines.append(f"{v.name}.backward({ones}{options})")
        elif kind == 2:
            self.lines.append(f"T.autograd.backward([{v.name}.sum(), {self.variable().name}.sum()]{options})")
        elif kind == 3:
            self.lines.append(f"T.autograd.backward({v.name}, {ones}{options})")
        elif kind == 4:
            name = self.add(other.shape, [], strided=True)  # what comes out may be expanded
            self.lines.append(f"{name}, = T.autograd.grad({v.name}.sum(), [{other.name}], create_graph=True)")
            self.lines.append(f"({name} * {name}).sum().backward({self.pick(['', 'create_graph=True'])})")
        else:
            targets = [self.variable() for _ in range(self.rng.randint(1, 3))]
            option = self.pick(["", *reversed(kept), ", allow_unused=True", ", materialize_grads=True"])
            inputs = ", ".join(t.name for t in targets)
            names = [self.add(t.shape, []) for t in targets]
            found = f"T.autograd.grad({v.name}.sum(), [{inputs}]{option})"
            self.lines.append(f"{', '.join(names)}, = [taken(g) for g in {found}]")


def fits(a: Variable, b: Variable) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a.shape[::-1], b.shape[::-1], strict=False))


# Programs that say nothing about us: they trip PyTorch's own assertions, or what the page of differences tells.
SAYS_NOTHING = (
    "INTERNAL ASSERT",
    "ZeroTensors are immutable",  # it writes over a tangent of its own that has no memory
    # Where a write overlaps what it reads and does not fit, it tells of one, we of the other.
    "to a single memory location",
)


def difference_of_graphs(design: str, lines: list[str]) -> str | None:
    theirs, ours = (execute(lines, ENGINES[name]) for name in ("torch", "tinygrad_edu"))
    told = [str([seen["errors"], seen["log"], seen.get("result")]) for seen in (theirs, ours)]
    if any(words in told[0] for words in SAYS_NOTHING) or has_huge_numbers(theirs):
        return None
    if "was given other memory" in told[1] or "and a leaf stay one" in told[1]:
        return None
    # The page of differences tells which tangents a gradient keeps, and what is computed from it.
    first = next((i for i, line in enumerate(lines) if "autograd.grad(" in line), len(lines))
    made = [name.strip() for line in lines[first:] if " = " in line for name in line.partition(" = ")[0].split(",")]
    kept = tuple(f".tangents.{name}: " for name in made)
    return next((line for line in differences(theirs, ours) if not line.startswith(kept)), None)


def has_huge_numbers(value: Any) -> bool:
    """True if what was observed holds finite numbers so large that the sine of one is all rounding."""
    if isinstance(value, dict | list | tuple):
        return any(has_huge_numbers(v) for v in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, np.ndarray) and bool((np.isfinite(value) & (np.abs(value) > 1e6)).any())


# --- all designs ------------------------------------------------------------------------------------------------------

# By design: what writes the program of a seed, and what runs it.
DESIGNS: dict[str, tuple[Callable[[int], list[str]], Callable[[str, list[str]], str | None]]] = {
    "memory": (lambda seed: Drawn("memory", seed).lines, difference_of_drawn),
    "statements": (lambda seed: Drawn("statements", seed).lines, difference_of_drawn),
    "graphs": (lambda seed: Writer(seed).lines, difference_of_graphs),
}


def first_difference(design: str, lines: list[str]) -> str | None:
    """The first way in which both engines differ on these statements; None if they agree."""
    return DESIGNS[design][1](design, lines)


def kind_of(difference: str) -> str:
    """Which class a difference belongs to: the worst is a number that is wrong without an error."""
    path = difference.partition(":")[0]
    if "raises" in difference or ".errors" in path:
        return "another error"
    if re.fullmatch(r"\[\d+\]\[0\]", path):
        return "missing error" if "tinygrad_edu None" in difference else "extra error"
    part = path.rpartition(".")[2]
    return "wrong number" if part in ("values", "grad", "dtype") or "." not in path else f"other {part}"


def shortest(design: str, lines: list[str]) -> list[str]:
    """As few of the statements as differ in the same way."""
    kind = kind_of(first_difference(design, lines) or "")
    for i in reversed(range(len(lines))):
        fewer = lines[:i] + lines[i + 1 :]
        if (found := first_difference(design, fewer)) and kind_of(found) == kind:
            lines = fewer
    return lines
