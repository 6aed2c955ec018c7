"""The nodes behind what programs print: each expression has PyTorch's graph, or is listed below with the reason."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

import tinygrad_edu

pytestmark = pytest.mark.outer(start=1)

EXPRESSIONS = """
F.mse_loss(x,y) ; F.l1_loss(x,y) ; F.smooth_l1_loss(x,y) ; F.huber_loss(x,y) ; F.cross_entropy(x,t) ;
F.cross_entropy(x,t,label_smoothing=.1) ; F.cross_entropy(x,y.softmax(1)) ; F.cross_entropy(x,t,reduction='none') ;
F.nll_loss(x,t) ; F.kl_div(x,y) ; F.kl_div(x,y,reduction='batchmean') ; F.kl_div(x,y,reduction='sum') ;
F.kl_div(x,y,log_target=True,reduction='none') ; F.binary_cross_entropy(x.sigmoid(),y.sigmoid()) ;
F.binary_cross_entropy_with_logits(x,y.sigmoid()) ; F.hinge_embedding_loss(x,y.sign()) ;
F.margin_ranking_loss(x,y,y.sign()) ; F.triplet_margin_loss(x,y,y+1) ; F.cosine_embedding_loss(x,y,E.ones(4)) ;
F.cosine_similarity(x,y) ; F.pairwise_distance(x,y) ; F.poisson_nll_loss(x,y.abs()) ; F.gaussian_nll_loss(x,y,y.abs()) ;
x.norm() ; x.norm(dim=1) ; E.norm(x,1) ; E.linalg.norm(x) ; E.linalg.vector_norm(x,dim=1) ; x.std() ; x.var() ;
x.std(0) ; x.mean(0) ; x.median() ; x.max() ; x.max(1)[0] ; x.amax(1) ; x.min(1).values ; x.prod() ;
x.logsumexp(1) ; x.cumsum(0) ; x.softmax(1) ; x.log_softmax(1) ; F.softmin(x,1) ; F.gumbel_softmax(x) ; F.normalize(x) ;
F.layer_norm(x,(5,)) ; F.batch_norm(x,None,None,training=True) ; F.group_norm(x[:,:4],2) ; F.instance_norm(x[None]) ;
F.rms_norm(x,(5,)) ; F.dropout(x) ; F.relu(x) ; F.gelu(x) ; F.silu(x) ; F.elu(x) ; F.selu(x) ; F.leaky_relu(x) ;
F.prelu(x,E.tensor([.2])) ; F.softplus(x) ; F.tanh(x) ; F.hardswish(x) ; F.hardtanh(x) ; F.relu6(x) ; F.mish(x) ;
F.glu(x[:,:4]) ; F.logsigmoid(x) ; F.softsign(x) ; F.hardsigmoid(x) ; F.linear(x,W) ; F.linear(x,W,b) ;
F.linear(x[None],W,b) ; F.embedding(t,x) ; F.conv1d(x[None],E.ones(2,4,2)) ; F.conv2d(im,k) ;
F.conv_transpose2d(im,E.ones(2,3,2,2)) ; F.max_pool2d(im,2) ; F.avg_pool2d(im,2) ; F.adaptive_avg_pool2d(im,1) ;
F.adaptive_avg_pool2d(im,2) ; F.adaptive_max_pool2d(im,2) ; F.interpolate(im,scale_factor=2) ;
F.interpolate(im,scale_factor=2,mode='bilinear') ; F.pad(im,(1,1)) ; F.pad(im,(1,1,1,1),mode='reflect') ;
F.unfold(im,2) ; F.fold(F.unfold(im,2),(6,6),2) ; F.one_hot(t)*x[:,:1] ;
F.scaled_dot_product_attention(x[None],x[None],x[None]) ;
F.scaled_dot_product_attention(x[None,None],x[None,None],x[None,None],is_causal=True) ; nn.LSTMCell(5,3)(x)[0] ;
nn.LSTMCell(5,3)(x)[1] ; nn.GRUCell(5,3)(x) ; nn.RNNCell(5,3)(x) ; nn.LSTM(5,3)(x)[0] ; nn.LSTM(5,3)(x[None])[0] ;
nn.LSTM(5,3)(x[None])[1][0] ; nn.GRU(5,3)(x[None])[0] ; nn.GRU(5,3)(x[None])[1] ;
nn.GRU(5,3,batch_first=True)(x[None])[0] ; nn.RNN(5,3)(x[None])[0] ; nn.LSTM(5,3,batch_first=True)(x[None])[0] ;
nn.RNN(5,3,batch_first=True)(x[None])[1] ; nn.MultiheadAttention(5,1)(x,x,x)[0] ;
nn.MultiheadAttention(5,1)(x[None],x[None],x[None])[0] ; nn.MultiheadAttention(5,1)(x[None],x[None],x[None])[1] ;
nn.MultiheadAttention(5,1,batch_first=True)(x[None],x[None],x[None])[0] ; nn.TransformerEncoderLayer(5,1)(x[None]) ;
E.cdist(x,y) ;
E.cdist(x,x) ; E.einsum('ij,kj->ik',x,y) ; E.einsum('ij,ij->',x,y) ;
E.einsum('bij,bjk->bik',x[None],y.T[None]) ; x@y.T ; x@y[0] ; x[0]@y[0] ; x[None]@y.T[None] ; E.matmul(x,y.T) ;
E.mm(x,y.T) ; E.bmm(x[None],y.T[None]) ; E.dot(x[0],y[0]) ; E.outer(x[0],y[0]) ; E.tensordot(x,y,([1],[1])) ;
E.trace(x@x.T) ; E.diag(x@x.T) ; E.tril(x) ; E.inverse(x[:4,:4]) ; E.det(x[:4,:4]) ;
E.linalg.solve(x[:4,:4],y) ; E.stack([x,y]) ; E.cat([x,y]) ; x.split(2)[0] ; x.chunk(2)[0] ; x.unbind()[0] ; x[0] ;
x[:,1] ; x[1:3] ; x[x>0] ; x[t] ; x[[0,1],[1,2]] ; x[...,0] ; x[None] ; x.view(-1) ; x.reshape(2,10) ; x.T ; x.t() ;
x.permute(1,0) ; x.transpose(0,1) ; x.squeeze() ; x.unsqueeze(0) ; x.flatten() ; x.expand(2,4,5) ; x.repeat(2,1) ;
x.clone() ; x.contiguous() ; x.float() ; x.double() ; x.to(E.float64) ; x.roll(1) ; x.flip(0) ; x.gather(1,t[:,None]) ;
x.scatter(1,t[:,None],0.) ; x.index_select(0,t) ; x.masked_fill(x>0,0.) ; x.masked_select(x>0) ; E.where(x>0,x,y) ;
x.clamp(0,1) ; x.clamp(min=0) ; x.abs() ; x.sqrt() ; x.rsqrt() ; x.exp() ; x.log() ; x**2 ; x**.5 ; 2**x ; x/2 ; x/y ;
2/x ; x*y ; x+1 ; 1-x ; -x ; x%2 ; x.sum() ; x.sum(1) ; x.square() ; x.pow(3) ; x.sin() ; x.sigmoid() ; x.tanh() ;
x.erf() ; x.round() ; x.floor() ; x.sign() ; x.sort()[0] ; x.topk(2)[0] ; x.diagonal() ; x.unfold(1,2,1) ;
x.lerp(y,.5) ; x.addcmul(y,y) ; x.logaddexp(y) ; x.maximum(y) ; x.fmod(2) ; x.atan2(y) ; E.cumprod(x,0) ;
E.meshgrid(x[0],y[0])[0] ; E.hstack([x,y]) ; E.vstack([x,y]) ; x.repeat_interleave(2,0) ; x.tile(2) ; x.swapaxes(0,1) ;
x.movedim(0,1) ; x.narrow(0,0,2) ; x.select(0,1) ; x.index_add(0,t,y) ; x.index_fill(0,t,0.) ; x.type_as(y.double()) ;
x.mul(2).add_(1) ; x.clone().relu_() ; x.new_tensor(1.)*x ; x.unflatten(1,(1,5)) ; x.view_as(y) ; x.expand_as(y) ;
x.sum_to_size(1,5) ; x.mv(y[0]) ; E.baddbmm(E.ones(1,4,4),x[None],y.T[None]) ; E.nn.utils.parameters_to_vector([x,x]) ;
D.Normal(x,1.).log_prob(y) ; D.Normal(x,1.).rsample() ; D.Normal(x,1.).entropy() ; D.Categorical(logits=x).log_prob(t) ;
D.Categorical(logits=x).entropy() ; D.Bernoulli(logits=x).log_prob((y>0).float()) ;
D.kl_divergence(D.Normal(x,1.),D.Normal(y,1.)) ; D.Independent(D.Normal(x,1.),1).log_prob(y)
"""

PRODUCT = "PyTorch turns operands and result of a product, also where they are in order"
DIFFERENT = {
    "E.einsum('ij,kj->ik',x,y)": PRODUCT,
    "E.einsum('ij,ij->',x,y)": PRODUCT,
    "E.einsum('bij,bjk->bik',x[None],y.T[None])": PRODUCT,
    "F.cosine_embedding_loss(x,y,E.ones(4))": "a number that PyTorch's own code adds",
    "F.group_norm(x[:,:4],2)": "no copy of an input that is not contiguous",
    "D.Independent(D.Normal(x,1.),1).log_prob(y)": "PyTorch reshapes before it sums",
}


def names(engine: Any, expression: str) -> Counter[str]:
    """How often each node is met behind an expression."""
    engine.manual_seed(0)
    sizes = {"x": (4, 5), "y": (4, 5), "W": (3, 5), "b": (3,), "im": (1, 2, 6, 6), "k": (3, 2, 3, 3)}
    values = {name: engine.randn(*size, requires_grad=name in ("x", "W", "im")) for name, size in sizes.items()}
    values |= {"E": engine, "F": engine.nn.functional, "nn": engine.nn, "D": engine.distributions}
    values["t"] = engine.tensor([0, 1, 2, 3])
    stack, seen = [eval(expression, values).grad_fn], {}
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen[node] = node.name()
            stack.extend(n for n, _ in node.next_functions)
    return Counter(seen.values())


@pytest.mark.filterwarnings("ignore")
def test_an_expression_has_the_nodes_of_pytorch() -> None:
    different = {}
    for expression in (e.strip() for e in EXPRESSIONS.split(" ;")):
        theirs, ours = names(torch, expression), names(tinygrad_edu, expression)
        if theirs != ours:
            different[expression] = f"missing {dict(theirs - ours)}, and not in PyTorch {dict(ours - theirs)}"
    assert {e: how for e, how in different.items() if e not in DIFFERENT} == {}
    assert different.keys() == DIFFERENT.keys()  # what is fixed comes off the list
