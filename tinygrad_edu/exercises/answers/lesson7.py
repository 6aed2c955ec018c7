"""Lesson 7, in-place and views: what raises, who checks, and where a gradient goes after a write."""

import numpy as np

import tinygrad_edu as T

from ..exercise import Exercise
from ..programs import RAISE_PROGRAMS
from ..running.helpers import run_program

BOTH = ("tinygrad_edu", "torch")

predict_raise = Exercise("predict_raise", "predict_raise = {name: True or False, …}", lesson=7)


def raises(program):
    try:
        run_program(program, T)
    except RuntimeError:
        return True
    return False


RAISES = {name: raises(program) for name, program in RAISE_PROGRAMS.items()}

predict_raise.right(RAISES)
predict_raise.wrong(
    "Not every in-place change raises: backward() raises when a node needs a *saved* tensor that was changed. Ask "
    "what the derivative of each op needs.",
    name="any_in_place_raises",
)(dict.fromkeys(RAISES, True))
predict_raise.wrong(
    "Some of them do raise: exp saves its own result, and a product saves its factors. If one of those changes, "
    "backward() finds a version that differs from the saved one.",
    name="nothing_raises",
)(dict.fromkeys(RAISES, False))
predict_raise.wrong(
    "exp and relu save their *result*, because their derivative uses it: exp(x)' = exp(x). Changing the result raises.",
    name="ops_save_inputs_only",
)(RAISES | {"exp": False, "relu": False})
predict_raise.wrong(
    "x*2 and x**2 do not need their result for the derivative, so the result may change.",
    name="every_op_saves_its_result",
)(RAISES | {"times_two": True, "square": True})
predict_raise.wrong(
    "Under no_grad you may change a leaf in place: nothing is recorded, and that is how an optimizer moves a "
    "parameter.",
    name="no_grad_does_not_help",
)(RAISES | {"leaf_under_no_grad": True})
predict_raise.wrong(
    "You may not change a leaf that requires grad in place while gradients are recorded: its old value would be lost. "
    "Under no_grad you may, and that is how an optimizer does it.",
    name="a_leaf_is_like_any_other",
)(RAISES | {"leaf": False})


@predict_raise.criterion("A result was changed", points=2, cases=[(n,) for n in ("exp", "relu", "times_two", "square")])
def changed_result(answer, name):
    return answer.get(name)


@predict_raise.criterion("An input was changed", cases=[(n,) for n in ("factor", "summand")])
def changed_input(answer, name):
    return answer.get(name)


@predict_raise.criterion("A leaf was changed", cases=[(n,) for n in ("leaf", "leaf_under_no_grad")])
def changed_leaf(answer, name):
    return answer.get(name)


version_check = Exercise(
    "version_check", "class Saved: __init__(self, tensor) and unpack(self)", lesson=7, name="Saved", engines=BOTH
)


@version_check.right
class Saved:
    def __init__(self, tensor):
        self.tensor, self.version = tensor, tensor._version

    def unpack(self):
        if self.tensor._version != self.version:
            raise RuntimeError("a tensor needed for the gradient has been modified by an inplace operation")
        return self.tensor


@version_check.right
class SavedAsPair:
    def __init__(self, tensor):
        self.pair = (tensor, tensor._version)

    def unpack(self):
        tensor, version = self.pair
        if tensor._version > version:
            raise RuntimeError("modified")
        return tensor


@version_check.wrong(
    "You returned a changed tensor: nothing compared its version when it was *used*, in unpack. A check in `__init__` "
    "comes too early, because nothing has happened by then."
)
class ChecksWhenSaving:
    def __init__(self, tensor):
        self.tensor, self.version = tensor, tensor._version
        if self.tensor._version != self.version:
            raise RuntimeError("modified")

    def unpack(self):
        return self.tensor


@version_check.wrong(
    "You compared with version 0. A tensor may have been changed before it was saved, and that is fine: remember the "
    "version it had at that time."
)
class ComparesWithZero:
    def __init__(self, tensor):
        self.tensor = tensor

    def unpack(self):
        if self.tensor._version != 0:
            raise RuntimeError("modified")
        return self.tensor


@version_check.wrong(
    "You saved a copy. It can never go stale, but it costs memory for every saved tensor. Save the tensor and its "
    "version."
)
class SavesACopy:
    def __init__(self, tensor):
        self.tensor = tensor.clone()

    def unpack(self):
        return self.tensor


@version_check.wrong(
    "You compared numbers. Memory that was written to counts as changed, whatever it contains now. A version is one "
    "integer, and it notices a write without a copy."
)
class ComparesNumbers:
    def __init__(self, tensor):
        self.tensor, self.numbers = tensor, tensor.tolist()

    def unpack(self):
        if self.tensor.tolist() != self.numbers:
            raise RuntimeError("modified")
        return self.tensor


@version_check.wrong(
    "The result shares the tensor's memory but is another tensor: a view, or the result of `detach()`. Keep the very "
    "same tensor, and return it."
)
class SavesADetached:
    def __init__(self, tensor):
        self.tensor, self.version = tensor.detach(), tensor._version

    def unpack(self):
        if self.tensor._version != self.version:
            raise RuntimeError("modified")
        return self.tensor


@version_check.wrong("The check is reversed: it raises when nothing has happened, and lets a changed tensor pass.")
class TurnedRound(Saved):
    def unpack(self):
        if self.tensor._version == self.version:
            raise RuntimeError("modified")
        return self.tensor


@version_check.criterion("Unchanged, the saved tensor comes back", cases=[(0,), (2,)])
def unchanged(answer, T, changes_before):
    x = T.tensor([1.0, 2.0])
    for _ in range(changes_before):
        x.add_(1.0)
    saved = answer(x)
    back = saved.unpack()
    return {"the values": back, "the same tensor": back is x, "again": saved.unpack() is x}


@version_check.criterion(
    "Changed after it was saved: RuntimeError", points=2, cases=[([1.0],), ([1.0] * 3,), ([0.0],), ([1.0, -1.0],)]
)
def changed(answer, T, added_after):
    x = T.tensor([1.0, 2.0])
    saved = answer(x)
    for number in added_after:
        x.add_(number)
    try:
        return saved.unpack()
    except RuntimeError:
        return {"the second time": saved.unpack()}  # which must raise as well


# What becomes of grad_output is a criterion of its own.
write_backward = Exercise(
    "write_backward", "write_backward(grad_output, start, stop)", lesson=7, may_change=("grad_output",)
)


@write_backward.right
def split(grad_output, start, stop):
    grad_base = grad_output.copy()
    grad_base[start:stop] = 0.0
    return grad_base, grad_output[start:stop]


@write_backward.right
def by_mask(grad_output, start, stop):
    places = np.arange(len(grad_output))
    written = (places >= start) & (places < stop)
    return np.where(written, 0.0, grad_output), grad_output[written]


@write_backward.wrong(
    "You passed grad_output on as if nothing had been written. The old numbers in the view are gone, so the gradient "
    "of the base is 0 there."
)
def base_not_rerouted(grad_output, start, stop):
    return grad_output, grad_output[start:stop]


@write_backward.wrong(
    "The written value receives the gradient of the places where it was written, not of the whole base."
)
def whole_gradient_for_the_value(grad_output, start, stop):
    return split(grad_output, start, stop)[0], grad_output


@write_backward.wrong("This is the wrong way round: the base keeps its gradient outside the view, and has 0 inside.")
def zero_outside(grad_output, start, stop):
    grad_base = np.zeros_like(grad_output)
    grad_base[start:stop] = grad_output[start:stop]
    return grad_base, grad_output[start:stop]


@write_backward.wrong(
    "You read the value's gradient after you had written the zeros there. Read it from grad_output, and write the "
    "zeros into a copy."
)
def zeroes_in_place(grad_output, start, stop):
    grad_output[start:stop] = 0.0
    return grad_output, grad_output[start:stop]


@write_backward.wrong(
    "The numbers are right, but you wrote them into grad_output. Do not change it: another node may receive the same "
    "array. Write into a copy."
)
def writes_into_grad_output(grad_output, start, stop):
    grad_value = grad_output[start:stop].copy()
    grad_output[start:stop] = 0.0
    return grad_output, grad_value


@write_backward.criterion(
    "base[start:stop] = value sends the gradient of each place to the value that made it",
    points=2,
    cases=[
        (np.array([1.0, 2.0, 3.0]), 1, 3),
        (np.array([1.0, 2.0]), 0, 1),
        (np.array([4.0, 5.0]), 0, 2),
        (np.array([4.0, 5.0]), 1, 1),
        (np.array([4.0]), 0, 1),
    ],
    anything=["grad_output"],
    random=lambda rng: (rng.normal(size=5).round(1), 1, int(rng.integers(2, 5))),
)
def rerouted(answer, grad_output, start, stop):
    return answer(grad_output, start, stop)


@write_backward.criterion(
    "grad_output is unchanged",
    cases=[(np.array([1.0, 2.0]), 0, 1), (np.array([1.0, 2.0, 3.0]), 1, 3)],
    anything=["grad_output"],
)
def untouched(answer, grad_output, start, stop):
    something = answer(grad_output, start, stop)
    return None if something is None else grad_output


may_write = Exercise("may_write", "may_write(T, t)", lesson=7, engines=BOTH)


@may_write.right
def leaf_or_view_of_a_leaf(T, t):
    base = t if t._base is None else t._base
    return not (T.is_grad_enabled() and base.is_leaf and base.requires_grad)


@may_write.right
def step_by_step(T, t):
    if not T.is_grad_enabled() or not t.requires_grad:
        return True
    return not t.is_leaf and (t._base is None or not t._base.is_leaf)


@may_write.wrong(
    "The check for leaves is missing: nobody may write to a leaf that requires grad while gradients are recorded."
)
def no_check(T, t):
    return True


@may_write.wrong("A view of a leaf writes into the leaf's own memory: look at `t._base` too.")
def forgets_the_base(T, t):
    return not (T.is_grad_enabled() and t.is_leaf and t.requires_grad)


@may_write.wrong(
    "Under no_grad you may write to a leaf: nothing is recorded, and that is how an optimizer moves a parameter."
)
def forgets_no_grad(T, t):
    base = t if t._base is None else t._base
    return not (base.is_leaf and base.requires_grad)


@may_write.wrong("A leaf that requires no grad has no history to lose: you may write to it.")
def refuses_every_leaf(T, t):
    base = t if t._base is None else t._base
    return not (T.is_grad_enabled() and base.is_leaf)


@may_write.criterion(
    "Leaves, results and views are distinguished",
    points=2,
    cases=[
        *(
            (what, requires_grad)
            for what in ("leaf", "view of a leaf", "view of a view of a leaf")
            for requires_grad in (True, False)
        ),
        *((what, requires_grad) for what in ("result", "view of a result") for requires_grad in (True, False)),
    ],
)
def kinds(answer, T, what, requires_grad):
    leaf = T.tensor([1.0, 2.0], requires_grad=requires_grad)
    made = {"leaf": leaf, "result": leaf * 2, "view of a leaf": leaf[:1], "view of a result": (leaf * 2)[:1]}
    made |= {"view of a view of a leaf": leaf[:].view(2)}
    said = answer(T, made[what])
    return said if said is None else bool(said)


@may_write.criterion(
    "Under no_grad everything may be written",
    cases=[("leaf",), ("view of a leaf",), ("result",), ("view of a result",)],
)
def ungraded(answer, T, what):
    leaf = T.tensor([1.0, 2.0], requires_grad=True)
    made = {"leaf": leaf, "result": leaf * 2, "view of a leaf": leaf[:1], "view of a result": (leaf * 2)[:1]}
    with T.no_grad():
        said = answer(T, made[what])
    return said if said is None else bool(said)
