"""Whatever makes a tensor from another: a write to either, before or after a backward, does what it does in PyTorch.

What shares memory shares the count of writes as well, unless PyTorch keeps it apart, as `.data` does: then backward
raises where a number that it needs has changed, and gives no wrong gradient.
"""

import copy
import itertools
import pickle
from typing import Any

import pytest
from support.axes import not_alike, on_axis, steps
from support.both import attempt

pytestmark = pytest.mark.outer

# What makes a tensor from `v`.
MAKERS = """T.nn.Parameter(v); T.nn.Parameter(v, requires_grad=False); v.data; v.detach(); v.detach().detach();
v.detach().data; T.nn.Parameter(v.data); T.nn.Parameter(v[:]); v[:].data; T.from_numpy(v.detach().numpy());
T.as_tensor(v); T.as_tensor(v.detach().numpy()); T.asarray(v); T.asarray(v.detach().numpy()); T.asarray(v, copy=True);
T.tensor(v); T.tensor(v.detach().numpy()); v.new_tensor(v); T.Tensor(v); T.FloatTensor(v); v.new(v);
put(T.zeros(2), "data", v); put(T.zeros(2).add_(1), "data", v); v.clone(); v.view(2); v.view_as(v); v[:]; v.expand(2,2);
v.reshape(2); v.flatten(); v.contiguous(); v.to(T.float32); v.float(); v.double(); v.to(T.float32, copy=True);
v.type(T.float32); v.cpu(); v.t(); v.unbind(0)[0]; v.split(1)[0]; v.chunk(1)[0]; copy.deepcopy(v.detach());
copy.copy(v.detach()); copy.copy(v); pickle.loads(pickle.dumps(v.detach())); +v; v.squeeze();
v.requires_grad_() if v.is_leaf else v; T.atleast_1d(v); T.atleast_2d(v); T.broadcast_to(v,(2,));
T.broadcast_tensors(v,v)[0]; T.nn.Identity()(v); T.nn.functional.dropout(v,.5,False);
buffered(T.nn.Module(), v).state_dict()["b"]; put(T.nn.Module(), "p", T.nn.Parameter(v)).state_dict()["p"];
loaded(T.nn.Module(), T.nn.Parameter(T.zeros(2)), v).p;
loaded(T.nn.Module(), T.nn.Parameter(T.zeros(2)), v.detach(), assign=True).p;
put(T.nn.Module(), "p", T.nn.Parameter(v)).to(T.float32).p; put(T.nn.Module(), "p", T.nn.Parameter(v)).double().p;
T.nn.utils.parameters_to_vector([T.nn.Parameter(v)]); T.nn.ParameterList([v])[0];
T.nn.Embedding.from_pretrained(v.view(2,1)).weight; put(T.zeros(2), "grad", v).grad; v.narrow(0,0,2);
v.view(1,2).diagonal(); v.unfold(0,2,1); v.movedim(0,0); v.swapaxes(0,0); v.unsqueeze(0); v[T.tensor([0,1])];
T.stack([v]); T.cat([v]); T.nan_to_num(v); v.ravel(); v.view(1,2).mT; T.autograd.Variable(v); v[T.tensor([True,True])];
T.where(T.tensor(True),v,v); v.roll(0); v.repeat(1); v.flip(()); v.tile(()); v.expand_as(v);
T.nn.functional.pad(v,(0,0)); v.squeeze((0,)); v.cumsum(0); v.round(); T.meshgrid(v,indexing='ij')[0];
v.unflatten(0,(2,1)); v.lerp(v,0.); T.nn.init.ones_(v.detach());
T.nn.utils.rnn.pack_padded_sequence(v.view(1,2),[2],batch_first=True).data; T.nn.Sequential()(v); T.nn.Flatten(0)(v);
T.nn.Unflatten(0,(2,))(v)"""
MAKERS = MAKERS.replace("\n", " ").split("; ")


def put(owner: Any, name: str, value: Any) -> Any:
    setattr(owner, name, value)
    return owner


def buffered(module: Any, value: Any) -> Any:
    module.register_buffer("b", value)
    return module


def loaded(module: Any, first: Any, value: Any, **settings: Any) -> Any:
    module.register_parameter("p", first)
    module.load_state_dict({"p": value}, **settings)
    return module


VECTOR, MATRIX = "T.tensor([1.0, 2.0])", "T.tensor([[1.0, 2.0], [3.0, 4.0]])"
OF_LEAF = "(T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True) * 1)[:, 1]"
SOURCES = (VECTOR, "T.tensor([1.0, 2.0], requires_grad=True)", "T.tensor([1.0, 2.0], requires_grad=True) * 1")
SOURCES += (f"{VECTOR}.mul_(2)", f"{MATRIX}[0]", f"{MATRIX}[:, 1]", OF_LEAF)

# Declared on the page of differences.
COPIES = ("copy.", "pickle.")


def program(T: Any, maker: str, source: str, written: str, early: bool, under: str) -> dict[str, Any]:
    names = {"T": T, "copy": copy, "pickle": pickle, "put": put, "buffered": buffered, "loaded": loaded}
    v = eval(source, names)
    made = eval(maker, {**names, "v": v}) if early else None
    leaf = T.tensor([3.0, 5.0], requires_grad=True)
    y = (v * leaf * v).sum()
    if not early:
        made = eval(maker, {**names, "v": v})
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
    seen["versions"] = [v._version, 0 if maker.startswith(COPIES) else made._version]
    strides = () if maker.startswith("pickle") else steps(made)
    seen["facts"] = [made.requires_grad, made.is_leaf, made._is_view(), made is v, *strides, str(made.dtype)[-7:]]
    return seen


CASES = list(itertools.product(MAKERS, SOURCES, ("source", "made"), (False, True), ("enable_grad", "no_grad")))


@on_axis(CASES, one_in=20)
def test_a_write_to_either_of_two_tensors_is_seen_as_in_pytorch(cases: list[Any]) -> None:
    assert not_alike(cases, program) == []
