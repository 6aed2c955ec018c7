"""The nodes behind what programs print: each expression has PyTorch's graph, or is listed below with the reason.

Those of an op by itself are held to the table of samples, by `tests/ops/test_table.py`; here several are put together,
in a layer, a loss or a distribution.
"""

from collections import Counter
from typing import Any

import pytest
import torch

import tinygrad_edu

pytestmark = pytest.mark.outer(start=1)

EXPRESSIONS = """
F.kl_div(x,y) ; F.kl_div(x,y,reduction='batchmean') ; F.kl_div(x,y,reduction='sum') ;
F.kl_div(x,y,log_target=True,reduction='none') ; F.binary_cross_entropy(x.sigmoid(),y.sigmoid()) ;
F.cosine_embedding_loss(x,y,E.ones(4)) ; F.cosine_similarity(x,y) ; F.poisson_nll_loss(x,y.abs()) ;
F.gaussian_nll_loss(x,y,y.abs()) ; F.gumbel_softmax(x) ; F.group_norm(x[:,:4],2) ; F.instance_norm(x[None]) ;
F.rms_norm(x,(5,)) ; F.dropout(x) ; F.prelu(x,E.tensor([.2])) ; F.glu(x[:,:4]) ; F.linear(x[None],W,b) ;
F.conv1d(x[None],E.ones(2,4,2)) ; F.one_hot(t)*x[:,:1] ; F.scaled_dot_product_attention(x[None],x[None],x[None]) ;
F.scaled_dot_product_attention(x[None,None],x[None,None],x[None,None],is_causal=True) ; nn.LSTMCell(5,3)(x)[0] ;
nn.LSTMCell(5,3)(x)[1] ; nn.GRUCell(5,3)(x) ; nn.RNNCell(5,3)(x) ; nn.LSTM(5,3)(x)[0] ; nn.LSTM(5,3)(x[None])[0] ;
nn.LSTM(5,3)(x[None])[1][0] ; nn.GRU(5,3)(x[None])[0] ; nn.GRU(5,3)(x[None])[1] ;
nn.GRU(5,3,batch_first=True)(x[None])[0] ; nn.RNN(5,3)(x[None])[0] ; nn.LSTM(5,3,batch_first=True)(x[None])[0] ;
nn.RNN(5,3,batch_first=True)(x[None])[1] ; nn.MultiheadAttention(5,1)(x,x,x)[0] ;
nn.MultiheadAttention(5,1)(x[None],x[None],x[None])[0] ; nn.MultiheadAttention(5,1)(x[None],x[None],x[None])[1] ;
nn.MultiheadAttention(5,1,batch_first=True)(x[None],x[None],x[None])[0] ; nn.TransformerEncoderLayer(5,1)(x[None]) ;
E.einsum('ij,kj->ik',x,y) ; E.einsum('ij,ij->',x,y) ; E.einsum('bij,bjk->bik',x[None],y.T[None]) ; x[0]@y[0] ;
x[None]@y.T[None] ; E.bmm(x[None],y.T[None]) ; E.dot(x[0],y[0]) ; E.outer(x[0],y[0]) ; E.tensordot(x,y,([1],[1])) ;
E.trace(x@x.T) ; E.diag(x@x.T) ; E.inverse(x[:4,:4]) ; E.det(x[:4,:4]) ; E.linalg.solve(x[:4,:4],y) ; x.float() ;
x.double() ; x.pow(3) ; E.meshgrid(x[0],y[0])[0] ; E.vstack([x,y]) ; x.swapaxes(0,1) ; x.type_as(y.double()) ;
x.mul(2).add_(1) ; x.new_tensor(1.)*x ; x.view_as(y) ; E.baddbmm(E.ones(1,4,4),x[None],y.T[None]) ;
E.nn.utils.parameters_to_vector([x,x]) ; D.Normal(x,1.).log_prob(y) ; D.Normal(x,1.).rsample() ;
D.Normal(x,1.).entropy() ; D.Categorical(logits=x).log_prob(t) ; D.Categorical(logits=x).entropy() ;
D.Bernoulli(logits=x).log_prob((y>0).float()) ; D.kl_divergence(D.Normal(x,1.),D.Normal(y,1.)) ;
D.Independent(D.Normal(x,1.),1).log_prob(y)
"""

PRODUCT = "PyTorch turns operands and result of a product, also where they are in order"
DIFFERENT = {"E.einsum('ij,kj->ik',x,y)": PRODUCT, "E.einsum('ij,ij->',x,y)": PRODUCT}
DIFFERENT |= {"E.einsum('bij,bjk->bik',x[None],y.T[None])": PRODUCT}
DIFFERENT |= {"F.cosine_embedding_loss(x,y,E.ones(4))": "a number that PyTorch's own code adds"}
DIFFERENT |= {"F.group_norm(x[:,:4],2)": "no copy of an input that is not contiguous"}
DIFFERENT |= {"D.Independent(D.Normal(x,1.),1).log_prob(y)": "PyTorch reshapes before it sums"}


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
