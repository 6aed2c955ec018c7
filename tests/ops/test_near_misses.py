"""Operands that nearly fit: a shape, a dtype or a length that is one step away raises PyTorch's error, or gives its numbers."""

from __future__ import annotations

from typing import Any

import pytest
from support.axes import not_alike

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]

# `o` makes ones.
NEAR_MISSES = [
    "T.addr(o(2,3),o(2,1),o(3))",
    "T.addr(o(2,3),o(2),o(3,1))",
    "T.addr(o(2,3),o(2),o(4))",
    "o(2,3).addr_(o(3),o(3))",
    "T.addr(o(5,2,3),o(2),o(3))",
    "o(1,3).addr_(o(2),o(3))",
    "T.addmv(o(2),o(2,3),o(4))",
    "T.addmv(o(3),o(2,3),o(3))",
    "T.addmv(o(1,2),o(2,3),o(3))",
    "o(1).addmv_(o(2,3),o(3))",
    "T.addmm(o(3),o(2,3),o(3,4))",
    "T.addmm(o(1,2,4),o(2,3),o(3,4))",
    "T.addmm(o(()),o(2,3),o(3,4))",
    "T.baddbmm(o(3),o(5,2,3),o(5,3,4))",
    "T.baddbmm(o(1,5,2,4),o(5,2,3),o(5,3,4))",
    "o(2,4).baddbmm_(o(5,2,3),o(5,3,4))",
    "o(1,2,4).baddbmm_(o(5,2,3),o(5,3,4))",
    "o(3).fill_diagonal_(1)",
    "o(2,3,2).fill_diagonal_(1)",
    "T.cartesian_prod(o(2,2),o(2))",
    "T.meshgrid(o(2),o(2,2))",
    "T.meshgrid(o(2),o(2).double())",
    "T.cartesian_prod(o(2),o(2).double())",
    "F.embedding(T.tensor([0]),o(3))",
    "T.diagonal_scatter(o(3,3),o(1))",
    "T.select_scatter(o(3,3),o(1),0,0)",
    "T.index_put(o(3,1),(T.tensor([0,1,2]),),o(1,1,1))",
    "T.index_put(o(3,3),(T.tensor([0,1]),),o(3))",
    "T.index_put(o(3,3),(T.tensor([0,1]),),o(2))",
    "T.index_put(o(3,3),(T.tensor([0,1]),),o(3).double())",
    "F.layer_norm(o(2,3),(3,),o(3),o(1,3))",
    "F.layer_norm(o(2,3),(3,),o(1,3))",
    "F.bilinear(o(2,4),o(2,3),o(5,3,3))",
    "F.bilinear(o(2,3),o(2,4),o(5,3,3))",
    "F.bilinear(o(2,3),o(1,3),o(5,3,3))",
    "F.bilinear(o(2,3),o(2,3),o(5,3,3),o(4))",
    "T.isin(o(2).bool(),o(2))",
    "T.isin(o(2),o(2).bool())",
    "F.prelu(o(2,3).long(),o(1).long())",
    "F.max_pool1d(o(1,2,4).long(),2)",
    "F.adaptive_avg_pool1d(o(1,2,4).long(),2)",
    "F.avg_pool2d(o(1,2,4,4).long(),2)",
    "F.max_pool1d(o(0,3),2)",
    "F.max_pool1d(o(2,0),2)",
    "T.ones(2).renorm_(2,0,1)",
    "T.ones(2,2).tril_().sum()",
    "T.ones(2).tril_()",
    "o(2).addcdiv_(o(2).long(),o(2).long())",
    "o(2).addcdiv_(o(2).long(),o(2))",
    "o(2).bitwise_not_()",
    "o(2).bool().abs_()",
    "o(2).long().renorm(2,0,1)",
    "o(2,2).long().renorm(2,0,1)",
    "o(2).movedim(0,1)",
    "T.ones(()).movedim(0,1)",
    "F.cosine_similarity(o(2,3),o(2,3).long(),1)",
    "T.ones(2).long().copysign_(T.ones(2).long())",
    "T.ones(2).bool().floor_()",
    "T.ones(2).bool().floor()",
    "T.zeros(()).scatter_(0,T.tensor([0,0]),o(()))",
    "T.zeros(1).index_add(0,T.tensor([0]),o(()))",
    "T.zeros(2).roll(1,1)",
    "T.zeros(()).roll(1,1)",
    "T.zeros(()).roll(1,0)",
]


@pytest.mark.parametrize("code", NEAR_MISSES)
def test_what_nearly_fits_raises_or_gives_what_it_does_in_pytorch(code: str) -> None:
    def program(T: Any) -> Any:
        return eval(code, {"T": T, "F": T.nn.functional, "o": T.ones})

    assert not_alike([()], program, ignored=(".version: ", ".is_view: ", ".base")) == []
