"""Whatever makes a tensor from another: a write to either, before or after a backward, does what it does in PyTorch.

What shares memory shares the count of writes as well, unless PyTorch keeps it apart, as `.data` does: then backward raises
where a number that it needs has changed, and gives no wrong gradient.
"""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import pytest
from support.axes import not_alike, on_axis, steps
from support.both import attempt

pytestmark = pytest.mark.outer

# A name, and what makes a tensor from `v`.
MAKERS = dict(
    line.split(": ", 1)
    for line in """
parameter: T.nn.Parameter(v)
parameter_frozen: T.nn.Parameter(v, requires_grad=False)
buffer: T.nn.Buffer(v)
data: v.data
detach: v.detach()
detach_detach: v.detach().detach()
data of detach: v.detach().data
parameter of data: T.nn.Parameter(v.data)
parameter of view: T.nn.Parameter(v[:])
data of view: v[:].data
from_numpy: T.from_numpy(v.detach().numpy())
as_tensor: T.as_tensor(v)
as_tensor np: T.as_tensor(v.detach().numpy())
asarray: T.asarray(v)
asarray np: T.asarray(v.detach().numpy())
asarray copy: T.asarray(v, copy=True)
tensor: T.tensor(v.detach().numpy())
tensor of tensor: T.tensor(v)
new_tensor: v.new_tensor(v)
Tensor: T.Tensor(v)
FloatTensor: T.FloatTensor(v)
new: v.new(v)
set_: T.zeros(2).set_(v)
set_ detached: T.zeros(2).set_(v.detach())
set_data: (lambda w: (setattr(w,'data',v), w)[1])(T.zeros(2))
set_data_written: (lambda w: (w.add_(1),setattr(w,'data',v), w)[2])(T.zeros(2))
clone: v.clone()
view: v.view(2)
view_as: v.view_as(v)
alias []: v[:]
expand: v.expand(2,2)
reshape: v.reshape(2)
flatten: v.flatten()
contiguous: v.contiguous()
to: v.to(T.float32)
float: v.float()
double: v.double()
to copy: v.to(T.float32, copy=True)
type: v.type(T.float32)
cpu: v.cpu()
T: v.t()
unbind: v.unbind(0)[0]
split: v.split(1)[0]
chunk: v.chunk(1)[0]
deepcopy: copy.deepcopy(v.detach())
copy: copy.copy(v.detach())
copy leaf: copy.copy(v)
pickle: pickle.loads(pickle.dumps(v.detach()))
positive: +v
real: v.real
conj: v.conj()
resolve_conj: v.resolve_conj()
view dtype: v.view(T.float32)
squeeze: v.squeeze()
requires_grad_: v.requires_grad_() if v.is_leaf else v
atleast_1d: T.atleast_1d(v)
atleast_2d: T.atleast_2d(v)
broadcast_to: T.broadcast_to(v,(2,))
broadcast_tensors: T.broadcast_tensors(v,v)[0]
identity: T.nn.Identity()(v)
dropout eval: T.nn.functional.dropout(v,.5,False)
state_dict: (lambda m: (m.register_buffer('b', v), m.state_dict()['b'])[1])(T.nn.Module())
state_dict param: (lambda m: (setattr(m,'p', T.nn.Parameter(v)), m.state_dict()['p'])[1])(T.nn.Module())
load: (lambda m: (setattr(m,'p', T.nn.Parameter(T.zeros(2))), m.load_state_dict({'p': v}), m.p)[2])(T.nn.Module())
load assign: (lambda m: (setattr(m,'p', T.nn.Parameter(T.zeros(2))), m.load_state_dict({'p': v.detach()},assign=True), m.p)[2])(T.nn.Module())
module to: (lambda m: (setattr(m,'p', T.nn.Parameter(v)), m.to(T.float32), m.p)[2])(T.nn.Module())
module double: (lambda m: (setattr(m,'p', T.nn.Parameter(v)), m.double(), m.p)[2])(T.nn.Module())
parameters_to_vector: T.nn.utils.parameters_to_vector([T.nn.Parameter(v)])
vector_to_parameters: (lambda p: (T.nn.utils.vector_to_parameters(v,[p]), p)[1])(T.nn.Parameter(T.zeros(2)))
ParameterList: T.nn.ParameterList([v])[0]
Embedding.from_pretrained: T.nn.Embedding.from_pretrained(v.view(2,1)).weight
grad set: (lambda w: (setattr(w,'grad',v), w.grad)[1])(T.zeros(2))
narrow: v.narrow(0,0,2)
diagonal: v.view(1,2).diagonal()
unfold: v.unfold(0,2,1)
as_strided: v.as_strided((2,),(1,))
movedim: v.movedim(0,0)
swapaxes: v.swapaxes(0,0)
unsqueeze: v.unsqueeze(0)
index full: v[T.tensor([0,1])]
stack: T.stack([v])
cat1: T.cat([v])
atleast_3d: T.atleast_3d(v)
nan_to_num: T.nan_to_num(v)
ravel: v.ravel()
mT: v.view(1,2).mT
tensor_data: T.autograd.Variable(v)
masked: v[T.tensor([True,True])]
inputs of where: T.where(T.tensor(True),v,v)
roll0: v.roll(0)
repeat1: v.repeat(1)
flip: v.flip(())
tile: v.tile(())
expand_as same: v.expand_as(v)
pad0: T.nn.functional.pad(v,(0,0))
squeeze_multi: v.squeeze((0,))
cumsum: v.cumsum(0)
round: v.round()
hsplit: v.hsplit(1)[0]
tensor_split: v.tensor_split(1)[0]
meshgrid: T.meshgrid(v,indexing='ij')[0]
unflatten: v.unflatten(0,(2,1))
view_as_real: T.view_as_real(T.view_as_complex(v.view(1,2)))
lerp0: v.lerp(v,0.)
init: T.nn.init.ones_(v.detach())
pack: T.nn.utils.rnn.pack_padded_sequence(v.view(1,2),[2],batch_first=True).data
sequential: T.nn.Sequential()(v)
flatten module: T.nn.Flatten(0)(v)
unflatten module: T.nn.Unflatten(0,(2,))(v)
pixel: T.nn.functional.pixel_shuffle(v.view(2,1,1),1)
""".strip().splitlines()
)

SOURCES = dict(
    line.split(": ", 1)
    for line in """
leaf: T.tensor([1.0, 2.0])
leaf with grad: T.tensor([1.0, 2.0], requires_grad=True)
result: T.tensor([1.0, 2.0], requires_grad=True) * 1
written: T.tensor([1.0, 2.0]).mul_(2)
view: T.tensor([[1.0, 2.0], [3.0, 4.0]])[0]
view with a step: T.tensor([[1.0, 2.0], [3.0, 4.0]])[:, 1]
view of a result: (T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True) * 1)[:, 1]
""".strip().splitlines()
)

# Declared on the page of differences.
COPIES = ("deepcopy", "copy", "copy leaf", "pickle")


def program(T: Any, maker: str, source: str, written: str, early: bool, under: str) -> dict[str, Any]:
    names = {"T": T, "copy": copy, "pickle": pickle}
    v = eval(SOURCES[source], names)
    made = eval(MAKERS[maker], {**names, "v": v}) if early else None
    leaf = T.tensor([3.0, 5.0], requires_grad=True)
    y = (v * leaf * v).sum()
    if not early:
        made = eval(MAKERS[maker], {**names, "v": v})
    if made is None:
        return {"made": None}
    z = (made * leaf[:1] * made).sum()
    target = v if written == "source" else made

    def write() -> None:
        with getattr(T, under)():
            target.mul_(10)

    seen = {"write": attempt(write), "of source": attempt(lambda: y.backward(retain_graph=True))}
    seen["of made"] = attempt(z.backward)
    seen["grad"] = None if leaf.grad is None else leaf.grad.tolist()
    seen["values"] = [attempt(lambda t=t: t.detach()[...].tolist()) for t in (v, made)]
    seen["versions"] = [v._version, 0 if maker in COPIES else made._version]
    strides = () if maker == "pickle" else steps(made)
    seen["facts"] = [made.requires_grad, made.is_leaf, made._is_view(), made is v, *strides, str(made.dtype)[-7:]]
    return seen


CASES = list(itertools.product(MAKERS, SOURCES, ("source", "made"), (False, True), ("enable_grad", "no_grad")))


@on_axis(CASES, one_in=20)
def test_a_write_to_either_of_two_tensors_is_seen_as_in_pytorch(cases: list[Any]) -> None:
    assert not_alike(cases, program, excused=refused) == []


def refused(case: Any, lines: list[str]) -> bool:
    """What the page of differences says is refused by a sentence."""
    return all("NotImplementedError" in line for line in lines) and case[0] in ("set_", "as_strided")
