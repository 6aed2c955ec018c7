"""Lesson 2, building the graph: who records what, what is a leaf, and where a graph is cut."""

import tinygrad_edu as T

from ..exercise import Exercise
from ..programs import LEAF_PROGRAMS
from ..running.helpers import run_program

record_parents = Exercise(
    "record_parents",
    "class Value: __init__(self, data, requires_grad=False, parents=()) and __mul__(self, other)",
    lesson=2,
    name="Value",
)


class Start:
    """The notebook provides this class; the student writes `__mul__`."""

    def __init__(self, data, requires_grad=False, parents=()):
        self.data = data
        self.requires_grad = requires_grad
        self.parents = parents


@record_parents.right
class Value(Start):
    def __mul__(self, other):
        return type(self)(self.data * other.data, self.requires_grad or other.requires_grad, (self, other))


@record_parents.right
class ValueWithList(Start):
    def __mul__(self, other):
        both = [self, other]
        return type(self)(self.data * other.data, any(v.requires_grad for v in both), both)


@record_parents.wrong("You recorded one parent. Both factors made the product, so both belong in `parents`.")
class DropsOne(Start):
    def __mul__(self, other):
        return type(self)(self.data * other.data, self.requires_grad or other.requires_grad, (self,))


@record_parents.wrong("`requires_grad` is contagious: one input that requires it is enough. Write `or`, not `and`.")
class RequiresGradByAnd(Start):
    def __mul__(self, other):
        return type(self)(self.data * other.data, self.requires_grad and other.requires_grad, (self, other))


@record_parents.wrong("The result forgot requires_grad: it must be True as soon as one input requires it.")
class ForgetsRequiresGrad(Start):
    def __mul__(self, other):
        return type(self)(self.data * other.data, parents=(self, other))


@record_parents.wrong(
    "You recorded the numbers. The parents are the Values themselves, so that a gradient can reach them."
)
class RecordsNumbers(Start):
    def __mul__(self, other):
        return type(self)(self.data * other.data, self.requires_grad or other.requires_grad, (self.data, other.data))


@record_parents.wrong("You used a set. In a * a the factor appears twice, and both places receive a gradient.")
class ParentsAsSet(Start):
    def __mul__(self, other):
        parents = tuple(sorted({self, other}, key=lambda v: v is not self))
        return type(self)(self.data * other.data, self.requires_grad or other.requires_grad, parents)


@record_parents.wrong("The product has no parents: pass the two factors as the third argument of Value.")
class ForgetsParents(Start):
    def __mul__(self, other):
        return type(self)(self.data * other.data, self.requires_grad or other.requires_grad)


@record_parents.wrong("You returned the product as a plain number. Make it a Value, which can remember its parents.")
class ReturnsANumber(Start):
    def __mul__(self, other):
        return self.data * other.data


@record_parents.criterion(
    "The product has the value and both factors as parents",
    points=2,
    cases=[("ab", 2.0, 3.0), ("ba", 2.0, 3.0), ("aa", 2.0, 3.0)],
    anything=["a", "b"],
)
def parents(answer, factors, a, b):
    made = {"a": answer(a), "b": answer(b, True)}
    product = made[factors[0]] * made[factors[1]]
    names = [
        next(
            (name for name, value in made.items() if value is parent),
            "a number" if isinstance(parent, (int, float)) else "another",
        )
        for parent in product.parents
    ]
    return product.data, names, [value.data for value in made.values()], product in made.values()


@record_parents.criterion(
    "The product requires grad when one factor does",
    cases=[(a, b) for a in (False, True) for b in (False, True)] + [(None, None), (None, True)],
)
def contagious(answer, a_requires_grad, b_requires_grad):
    made = [answer(2.0) if said is None else answer(2.0, said) for said in (a_requires_grad, b_requires_grad)]
    return bool((made[0] * made[1]).requires_grad)


predict_leaf = Exercise("predict_leaf", "predict_leaf = {name: True or False, …}", lesson=2)

LEAVES = {name: run_program(program, T)["result"].is_leaf for name, program in LEAF_PROGRAMS.items()}


@predict_leaf.picture
def result(T, name):
    return {"result": run_program(LEAF_PROGRAMS[name], T)["result"]}


predict_leaf.right(LEAVES)
predict_leaf.wrong(
    "A leaf is a tensor that no recorded op made. So every tensor that requires no grad is a leaf too: its `is_leaf` "
    "is True.",
    name="only_what_requires_grad",
)(LEAVES | {"constant": False, "constant_product": False, "under_no_grad": False, "detached": False})
predict_leaf.wrong(
    "Not every op is recorded. If nothing requires grad, under no_grad, and after detach() there is no grad_fn, so "
    "the result is a leaf.",
    name="every_result_has_a_history",
)(LEAVES | {"constant_product": False, "under_no_grad": False, "detached": False})
predict_leaf.wrong(
    "A cast that changes the dtype is an op like any other: the result is a new tensor with a grad_fn, and .grad "
    "belongs to the original tensor.",
    name="a_cast_is_the_same_tensor",
)(LEAVES | {"cast": True})
predict_leaf.wrong(
    "`.to()` with the dtype that the tensor already has returns the very same tensor: nothing was computed.",
    name="every_to_makes_a_new_tensor",
)(LEAVES | {"cast_to_itself": False})
predict_leaf.wrong(
    "`w = w - …` does not change the tensor. It gives its name to another tensor: the result of the subtraction.",
    name="the_name_is_the_tensor",
)(LEAVES | {"rebound": True})


@predict_leaf.criterion(
    "Tensors that you made, and results of ops", cases=[(n,) for n in ("made", "constant", "product")]
)
def plain_tensors(answer, name):
    return answer.get(name)


@predict_leaf.criterion(
    "Results that were not recorded", cases=[(n,) for n in ("constant_product", "under_no_grad", "detached")]
)
def unrecorded(answer, name):
    return answer.get(name)


@predict_leaf.criterion("Casts and new bindings", cases=[(n,) for n in ("cast", "cast_to_itself", "rebound")])
def casts(answer, name):
    return answer.get(name)


line_loss = Exercise("line_loss", "line_loss(T, w, b, x, y)", lesson=2, engines=("tinygrad_edu", "torch"))


@line_loss.right
def tensors_throughout(T, w, b, x, y):
    return ((w * x + b - y) ** 2).mean()


@line_loss.right
def stacked(T, w, b, x, y):
    predicted = T.stack([w * x[i] + b for i in range(len(x))])
    return ((predicted - y) * (predicted - y)).sum() / len(x)


@line_loss.wrong(
    "The graph is cut at w: `w.item()`, `w.detach()` and `w.data` take the number out, so no gradient can get back to "
    "w. Compute with w itself."
)
def item(T, w, b, x, y):
    return ((w.item() * x + b - y) ** 2).mean()


@line_loss.wrong(
    "The loss has no graph behind it. `T.tensor([...])` copies the numbers into a new tensor, a leaf without history. "
    "To put tensors together, use T.stack, or compute with whole tensors. Under no_grad or after detach() nothing is "
    "recorded either."
)
def new_tensor(T, w, b, x, y):
    predicted = T.tensor([(w * x[i] + b).item() for i in range(len(x))])
    return ((predicted - y) ** 2).mean()


@line_loss.wrong(
    "The loss requires grad but has no graph behind it: `loss.requires_grad = True`, or a new tensor made with "
    "`requires_grad=True`, silences the error and fixes nothing. The loss is now a leaf, and the gradient ends there. "
    "Look for the line where the numbers were copied."
)
def requires_grad_on_the_loss(T, w, b, x, y):
    loss = new_tensor(T, w, b, x, y)
    loss.requires_grad = True
    return loss


@line_loss.wrong(
    "You returned a plain number: `.item()` and `float()` copy it out of the graph. The loss must stay a tensor, so "
    "that backward() can start from it."
)
def plain_number(T, w, b, x, y):
    return ((w * x + b - y) ** 2).mean().item()


@line_loss.wrong("This is the sum of the squares. Return their mean: it does not grow with the number of points.")
def sum_for_mean(T, w, b, x, y):
    return ((w * x + b - y) ** 2).sum()


@line_loss.criterion(
    "The loss is the mean squared error",
    cases=[(2.0, 0.5, [1.0, 2.0], [1.0, 3.0]), (-1.0, 1.0, [0.0, 2.0], [1.0, 1.0])],
)
def loss_value(answer, T, w, b, x, y):
    loss = answer(T, T.tensor(w, requires_grad=True), T.tensor(b, requires_grad=True), T.tensor(x), T.tensor(y))
    return float(loss.detach())


@line_loss.criterion(
    "backward() reaches w and b",
    points=2,
    cases=[(2.0, 0.5, [1.0, 2.0], [1.0, 3.0]), (2.0, 0.5, [3.0], [1.0])],
    anything=["w", "b", "x", "y"],
    random=lambda rng: (*rng.normal(size=2).round(1).tolist(), rng.normal(size=3).round(1).tolist(), [1.0, 0.5, 2.0]),
)
def reached(answer, T, w, b, x, y):
    w, b = T.tensor(w, requires_grad=True), T.tensor(b, requires_grad=True)
    answer(T, w, b, T.tensor(x), T.tensor(y)).backward()
    return w.grad, b.grad


class_loss = Exercise("class_loss", "class_loss(T, scores, target)", lesson=2, engines=("tinygrad_edu", "torch"))


@class_loss.right
def log_softmax(T, scores, target):
    return T.log(T.exp(scores).sum()) - scores[target]


@class_loss.right
def probability_of_the_target(T, scores, target):
    e = T.exp(scores - scores.detach().max())
    return -T.log(e[target] / e.sum())


@class_loss.wrong(
    "`target` is the index of a class, not a value that the scores should have. Pick the target's score: "
    "`scores[target]`."
)
def target_as_a_value(T, scores, target):
    return ((scores - target) ** 2).mean()


@class_loss.wrong(
    "`target` is the index of a class: multiplied by it, class 0 has no loss at all. Pick with it: `scores[target]`."
)
def target_as_a_factor(T, scores, target):
    return -(T.log(T.softmax(scores, 0)) * target).sum()


@class_loss.wrong(
    "Minus the target's score falls without end, and the other scores get no gradient. Compare it with all."
)
def minus_the_score(T, scores, target):
    return -scores[target]


@class_loss.wrong(
    "argmax gives an integer. It does not move when a score moves a little, so it has no gradient, and `requires_grad "
    "= True` on such a loss only silences the error. Compare the score of the target with all scores."
)
def argmax(T, scores, target):
    return T.tensor(float(scores.argmax().item() != target))


@class_loss.wrong(
    "The value is right, but there is no graph behind it: `detach()`, `.item()`, `T.tensor(…)` or no_grad cut the way "
    "back to the scores."
)
def cut_from_the_scores(T, scores, target):
    return log_softmax(T, scores, target).detach()


@class_loss.wrong("This is the probability of the target. A loss must fall when it rises. Take minus its logarithm.")
def probability(T, scores, target):
    e = T.exp(scores)
    return e[target] / e.sum()


@class_loss.wrong("The sign is reversed: this grows as the target's score rises, but a loss must fall.")
def log_likelihood(T, scores, target):
    return scores[target] - T.log(T.exp(scores).sum())


@class_loss.wrong(
    "The logarithm of each exponential is the score itself. Sum the exponentials first, then take the logarithm."
)
def logarithm_before_sum(T, scores, target):
    return T.log(T.exp(scores)).sum() - scores[target]


@class_loss.wrong("You added the target's score. Subtract it: the loss falls as the score rises.")
def plus_the_score(T, scores, target):
    return T.log(T.exp(scores).sum()) + scores[target]


@class_loss.wrong(
    "1 minus the probability falls as it should, but where the target has hardly a chance it is flat: the score gets "
    "the least gradient where it needs the most. Take minus the logarithm of the probability."
)
def one_minus_the_probability(T, scores, target):
    return 1 - probability(T, scores, target)


@class_loss.wrong(
    "This sums over all classes. Only the target's probability counts: the others come in through the sum below it."
)
def all_classes(T, scores, target):
    return -T.log(T.exp(scores) / T.exp(scores).sum()).sum()


@class_loss.wrong(
    "A score is no probability: it may be 0 or negative, and then its logarithm is infinite or nan. Divide its "
    "exponential by the sum of all of them first."
)
def logarithm_of_the_score(T, scores, target):
    return -T.log(scores[target])


@class_loss.criterion(
    "The gradient says which score to raise",
    points=2,
    cases=[([1.0, 0.0], 0), ([0.0, 2.0, 1.0], 0), ([3.0], 0)],
    anything=["scores"],
    random=lambda rng: (rng.normal(size=3).round(1).tolist(), int(rng.integers(3))),
)
def moves_scores(answer, T, scores, target):
    scores = T.tensor(scores, requires_grad=True)
    loss = answer(T, scores, target)
    if loss is None:
        return None
    if loss.requires_grad:
        loss.backward()
    return float(loss.detach()), scores.grad
