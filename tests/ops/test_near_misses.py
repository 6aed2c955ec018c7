"""Operands a step away from what fits, in shape, dtype or length: PyTorch's error, or its numbers."""

from typing import Any

import pytest
from support.axes import not_alike
from support.both import attempt
from support.parity import Raised

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]

# `o` makes ones.
NEAR_MISSES = """T.ones([2,-1]); T.full((2,-3),1.); T.rand(2,-1); T.randn(-1); T.randint(0,3,(-1,)); o(2).new_zeros(-1);
F.glu(T.tensor(1.)); F.glu(o(3)); T.zeros([]); T.ones(T.tensor(2),1);
T.unique(o(2).requires_grad_()).sum().backward(); T.add(o(2),None); T.pow(o(2),'text'); T.maximum(o(2),[1.0,2.0]);
T.where(o(2)>0,o(2),'text'); o(2).mul_(None); o(2).masked_fill(o(2)>0,[1.0,2.0]); o(2).__setitem__(0,'text');
o(2).__setitem__(0,None); o(2).mul_([1.0,2.0]); F.binary_cross_entropy(o(3),o(3),weight=o(3).requires_grad_());
F.binary_cross_entropy_with_logits(o(3),o(3),pos_weight=o(3).requires_grad_());
F.batch_norm(o(2,3),o(3).requires_grad_(),o(3)); F.batch_norm(o(2,3),o(3),o(3),eps=-1.);
F.batch_norm(o(2,3),o(3),o(3),eps=0.); F.batch_norm(o(2,3),o(3),o(3),training=True,eps=0.);
T.nn.BatchNorm1d(3,eps=-1.).eval()(o(2,3)); T.bincount(T.tensor([0,1]),o(2).requires_grad_()).sum().backward();
T.addmm(o(3),o(2,3),o(3,4)); T.addmm(o(1,2,4),o(2,3),o(3,4)); T.addmm(o(()),o(2,3),o(3,4));
T.baddbmm(o(3),o(5,2,3),o(5,3,4)); T.baddbmm(o(1,5,2,4),o(5,2,3),o(5,3,4)); o(2,4).baddbmm_(o(5,2,3),o(5,3,4));
o(1,2,4).baddbmm_(o(5,2,3),o(5,3,4)); T.meshgrid(o(2),o(2,2)); T.meshgrid(o(2),o(2).double());
F.embedding(T.tensor([0]),o(3)); T.index_put(o(3,1),(T.tensor([0,1,2]),),o(1,1,1));
T.index_put(o(3,3),(T.tensor([0,1]),),o(3)); T.index_put(o(3,3),(T.tensor([0,1]),),o(2));
T.index_put(o(3,3),(T.tensor([0,1]),),o(3).double()); F.layer_norm(o(2,3),(3,),o(3),o(1,3));
F.layer_norm(o(2,3),(3,),o(1,3)); F.prelu(o(2,3).long(),o(1).long()); F.max_pool1d(o(1,2,4).long(),2);
F.adaptive_avg_pool1d(o(1,2,4).long(),2); F.avg_pool2d(o(1,2,4,4).long(),2); F.max_pool1d(o(0,3),2);
F.max_pool1d(o(2,0),2); T.ones(2,2).tril_().sum(); T.ones(2).tril_(); o(2).addcdiv_(o(2).long(),o(2).long());
o(2).addcdiv_(o(2).long(),o(2)); o(2).bitwise_not_(); o(2).bool().abs_(); o(2).movedim(0,1); T.ones(()).movedim(0,1);
F.cosine_similarity(o(2,3),o(2,3).long(),1); T.ones(2).bool().floor_(); T.ones(2).bool().floor();
T.zeros(()).scatter_(0,T.tensor([0,0]),o(())); T.zeros(1).index_add(0,T.tensor([0]),o(())); T.zeros(2).roll(1,1);
T.zeros(()).roll(1,1); T.zeros(()).roll(1,0); T.zeros(3).scatter(0,T.zeros(3).long(),o(()));
T.zeros(3).scatter_add(0,T.zeros(3).long(),o(())); T.zeros(1).scatter(0,T.zeros(1).long(),o(()));
T.zeros(()).scatter(0,T.tensor(0),o(0)); o(3).index_copy_(0,T.tensor([0]),o(1).double()); o(3)@o(2).double();
o(2,2,3)@o(3,3,2); T.einsum('...i,...i->...',o(2,2),o(3,2)); T.einsum('...i,...i->...',o(2,2,2),o(3,2));
T.einsum('...i,...i->...',o(0,3),o(0,1,3)); T.einsum('...i,...i->...',o(2,0),o(2,1));
T.einsum('...i,...i->...',o(()),o(2,1)); T.einsum('...i,...i->...',o(1,3),o(2,1,3).double());
T.einsum('...i,...i->...',o(2,3),o(2,3).double()); T.zeros(0,3).requires_grad_().median();
T.cat([o(1,3),T.zeros(0).requires_grad_()],-1); T.cat([o(1,3),T.zeros(0).double()],1);
T.einsum('ij,ij->',o(2,3),o(2,3)); T.einsum('ij,kj->ik',o(2,1),o(4,3)); T.einsum('i,j,k->kji',o(2),o(1),o(3));
T.logical_xor(o(2),o(2).long()); o(2).atan2_(1); T.inner(o(2),1); o(2).sum(0,keepdim=None); o(2).sum(0,1);
F.relu(o(2),None); o(2).max(0,keepdim=1); T.sum(o(2)*1.5,0,out=o(()).long()); T.einsum('ii->i',o(1,3));
T.median(o(2).bool(),0); F.avg_pool1d(o(1,1,4).bool(),2); F.gaussian_nll_loss(o(2),o(2),o(2).long());
T.nn.init.trunc_normal_(o(2).long());
T.logaddexp(o(2).long(),o(2).long()); F.binary_cross_entropy_with_logits(o(2).double(),o(2).half());
F.instance_norm(o(3)); o(()).flatten(2); (o(2).requires_grad_()*2).__setattr__('requires_grad',True);
T.autograd.grad(o(2).requires_grad_().view(2),[*[o(2).requires_grad_()]],o(2),allow_unused=True);
T.cumsum(o(3).bool(),0,out=o(3).bool()); o(3).bool().cumprod(0,dtype=T.bool); o(3).bool().cumsum_(0);
o(()).bool().cumsum_(0); o(0).bool().cumprod_(0); o(3).cumprod_(0,dtype=T.int64);
(lambda b:T.clamp(o(3),0.,1.,out=b))(o(1).expand(3)); o(1).expand(3).clamp_(o(3),o(3));
(lambda x:T.autograd.grad(x.cumprod(0),x,o(1)*2,create_graph=True)[0].requires_grad)(o(1).requires_grad_());
(lambda x:T.autograd.grad(x.cumprod(1),x,o(3,2)[:,:1])[0].stride())(T.zeros(3,1).requires_grad_());
o(3,0).index_select(0,T.tensor([1,1])); o(0).index_select(0,T.tensor([0])); o(()).index_select(0,T.tensor([0,0]));
o(0).index_add(0,T.tensor([0]),o(1)); o(3).index_add(0,T.tensor([-1]),o(1));
o(2,3).index_add(0,T.tensor([-1]),o(1,3)); o(1,2,3).expand(4,2,3).double().stride();
o(1,2,3).long().expand(4,2,3).clone().stride(); T.bernoulli(o(2,3).t()).stride(); T.normal(o(2,3).t(),1.).stride();
T.normal(o(2,3).t(),o(2,3).t()).stride(); T.normal(0.,o(2,3).t()).stride()"""


@pytest.mark.parametrize("code", NEAR_MISSES.replace("\n", " ").split("; "))
def test_what_nearly_fits_raises_or_gives_what_it_does_in_pytorch(code: str) -> None:
    def program(T: Any) -> Any:
        return kinds_of_errors(attempt(lambda: eval(code, {"T": T, "F": T.nn.functional, "o": T.ones})))

    assert not_alike([()], program, ignored=(".version: ", ".is_view: ", ".base")) == []


def kinds_of_errors(result: Any) -> Any:
    """The type of an error, without what it says."""
    return Raised((result[0], "")) if isinstance(result, Raised) else result


# A switch, in its place or by its name, with and without a default that says so.
SWITCHES = """T.sort(o(3),stable={}); o(2,2).argsort(stable={}); o(3).index_put_((T.tensor([0]),),o(1),accumulate={});
F.interpolate(o(1,1,2,2),scale_factor=2,mode='bilinear',align_corners={}); T.multinomial(o(1),1,{});
T.nn.Upsample(scale_factor=2,mode='bilinear',align_corners={})(o(1,1,2,2)); T.zeros(2,requires_grad={});
T.randn(0,requires_grad={}); T.tril_indices(2,2).unique(sorted={}); o(2,2).sum(0,{}); F.gumbel_softmax(o(1),hard={});
T.set_grad_enabled({}).mode"""


@pytest.mark.parametrize("given", ["3", "'x'", "None", "1.5", "[True]", "o(()) > 0", "T.tensor(1)", "True", "False"])
def test_a_switch_takes_what_it_takes_in_pytorch(given: str) -> None:
    def program(T: Any, code: str) -> Any:
        with T.enable_grad():
            try:
                return eval(code.format(given), {"T": T, "F": T.nn.functional, "o": T.ones})
            except TypeError:  # PyTorch lists the forms of a call; ours names the switch
                return "refused"

    codes = SWITCHES.replace("\n", " ").split("; ")
    assert not_alike([(code,) for code in codes], program, ignored=(".version: ", ".is_view: ", ".base")) == []


WRITES = """x.scatter(0, T.tensor(0), s); x.scatter(0, T.tensor(0), 5.0); x.index_fill(0, T.tensor(0), s);
x.index_copy(0, T.tensor(0), s); x.index_copy(0, T.tensor([0]), s.reshape(1)); x.index_add(0, T.tensor(0), s);
x.scatter_add(0, T.tensor(0), s)"""


def test_what_is_written_over_in_a_tensor_without_dimensions_has_no_gradient() -> None:
    def program(T: Any, write: str) -> Any:
        x, s = T.tensor(2.0, requires_grad=True), T.tensor(3.0, requires_grad=True)
        y = eval(write, {"T": T, "x": x * 1, "s": s * 1})
        y.backward()
        return y.detach(), x.grad, s.grad

    assert not_alike([(write,) for write in WRITES.replace("\n", " ").split("; ")], program) == []
