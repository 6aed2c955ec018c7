"""What an error of each family of ops means, on both engines: the rule of the op that raised, and of no other."""

import pytest

import viz
from viz.telling.explain import explain

BROADCAST, PRODUCT = "The two shapes do not fit together", "the inner sizes must be equal"
STRETCH = "repeated along a size of 1"
NUMBER_BY_NUMBER, COUNTED = "compares number by number", "Class numbers count"
CLASSES = "scores of shape (batch, classes)"
PROGRAMS = {
    BROADCAST: [
        "T.ones(2, 3) + T.ones(4)",
        "T.ones(2, 3) * T.ones(2)",
        "T.where(T.ones(2) > 0, T.ones(3), T.ones(3))",
        "T.minimum(T.ones(2), T.ones(3))",
        "T.ones(2, 2, 3) @ T.ones(3, 3, 3)",
        "F.mse_loss(T.ones(2, 3), T.ones(2, 4))",
    ],
    STRETCH: [
        "T.ones(3).expand(2)",
        "F.linear(T.ones(2, 3), T.ones(2, 3), T.ones(3))",
        "a = T.ones(3)\na[0:2] = T.ones(3)",
        "a = T.ones(3)\na[T.tensor([0, 1])] = T.ones(3)",
    ],
    "An in-place op cannot": ["a = T.ones(3)\na += T.ones(2, 3)"],
    PRODUCT: [
        "T.ones(2, 3) @ T.ones(2, 3)",
        "T.ones(2, 3) @ T.ones(2)",
        "T.ones(2) @ T.ones(3)",
        "T.ones(2, 2, 3) @ T.ones(2, 2, 3)",
        "T.mm(T.ones(2, 3), T.ones(2, 3))",
        "T.bmm(T.ones(2, 2, 3), T.ones(2, 2, 3))",
        "T.bmm(T.ones(2, 2, 3), T.ones(3, 3, 3))",
        "T.mv(T.ones(2, 3), T.ones(2))",
        "T.dot(T.ones(2), T.ones(3))",
        "T.addmm(T.ones(2), T.ones(2, 3), T.ones(2, 3))",
        "T.nn.Linear(3, 2)(T.ones(4, 5))",
        "T.nn.Linear(3, 2)(T.ones(5))",
        "F.linear(T.ones(2, 4, 3), T.ones(2, 4))",
    ],
    "a fixed number of dimensions": [
        "T.mm(T.ones(2, 3), T.ones(3))",
        "T.bmm(T.ones(2, 3), T.ones(2, 3))",
        "T.mv(T.ones(2, 3), T.ones(3, 1))",
        "T.dot(T.ones(2, 2), T.ones(2))",
    ],
    "In einsum": [
        "T.einsum('ij,jk->ik', T.ones(2, 3), T.ones(2, 3))",
        "T.einsum('ij,jk->ik', T.ones(2, 3), T.ones(2))",
    ],
    "There is no such file": ["open('data.csv')"],
    "This module is not installed": ["import nowhere"],
    "A value here is None": ["w = T.ones(2, requires_grad=True)\nw = w - 0.1 * w.grad", "T.ones(2).grad.zero_()"],
    "as many channels as": ["T.nn.Conv2d(3, 4, 3)(T.ones(1, 2, 8, 8))", "T.nn.Conv1d(3, 4, 3)(T.ones(1, 2, 8))"],
    "convolution's input has": ["T.nn.Conv2d(3, 4, 3)(T.ones(8, 8))"],
    "The kernel is larger": ["T.nn.Conv2d(3, 4, 3)(T.ones(1, 3, 2, 2))"],
    "cat joins": ["T.cat([T.ones(2, 3), T.ones(2, 4)])", "T.cat([T.ones(2, 3), T.ones(2)])"],
    "stack makes": ["T.stack([T.ones(2), T.ones(3)])"],
    "keeps every number": ["T.ones(6).reshape(4, 2)", "T.ones(6).reshape(-1, 4)", "T.ones(6).view(4, 2)"],
    "A view shares memory": ["T.ones(2, 3).t().view(6)"],
    "counts from 0, so it must be smaller": [
        "T.ones(3)[5]",
        "T.ones(3)[T.tensor([5])]",
        "T.ones(2, 3).gather(1, T.tensor([[5]]))",
        "T.ones(2, 3).index_select(0, T.tensor([5]))",
        "T.nn.Embedding(3, 2)(T.tensor([5]))",
    ],
    "one part for each dimension": ["T.ones(3)[0, 0]"],
    "A mask needs": ["T.ones(3)[T.ones(2) > 0]"],
    "Several index tensors": ["T.ones(3, 3)[T.tensor([0, 1]), T.tensor([0, 1, 2])]"],
    "no such dimension": [
        "T.ones(2, 3).sum(2)",
        "T.ones(2, 3).mean(dim=5)",
        "T.ones(2, 3).softmax(2)",
        "T.ones(2, 3).transpose(0, 2)",
    ],
    NUMBER_BY_NUMBER: [
        "F.binary_cross_entropy(T.ones(2, 1), T.ones(2))",
        "F.binary_cross_entropy_with_logits(T.ones(2, 1), T.ones(2))",
    ],
    CLASSES: ["F.cross_entropy(T.ones(2, 3), T.tensor([0]))", "F.nll_loss(T.ones(2, 3), T.tensor([[0], [1]]))"],
    COUNTED: ["F.cross_entropy(T.ones(2, 3), T.tensor([0, 3]))", "F.one_hot(T.tensor([5]), 3)"],
    "Convert them with long()": ["F.cross_entropy(T.ones(2, 3), T.ones(2))", "T.nn.Embedding(3, 2)(T.ones(2))"],
}


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(("rule", "program"), [(rule, one) for rule, all_ in PROGRAMS.items() for one in all_])
def test_an_error_is_explained_by_the_rule_of_the_op_that_raised(engine, rule, program):
    error = viz.record("F = T.nn.functional\n" + program, engine=engine).error
    assert error is not None
    sentence = explain(error["type"], error["message"])
    assert [one for one in PROGRAMS if one in sentence] == [rule], error["message"]
