"""The words of a player's steps: names of nodes and saved tensors, and gradients written out."""

from __future__ import annotations

from viz.recording import notation
from viz.recording.graph import Array, Graph, Op, Saved, Value
from viz.recording.notation import brief, listed, scalar, short
from viz.recording.recording import Gradient


class Words:
    """Names for the parts of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.leaf_of: dict[str, Value] = graph.accumulators()

    def node(self, key: str) -> str:
        """A backward node: `× MulBackward0`, `AccumulateGrad(w)`."""
        if key in self.leaf_of:
            return f"AccumulateGrad({self.leaf_of[key].title})"
        op = self.graph.ops.get(key)
        return f"{notation.symbol(op)} {op.name}" if op is not None else key

    def operand(self, key: str, name: str = "") -> str:
        """A value as an operand: its number or few numbers, else its name and shape.

        `name` is its name in the function around the op, if that differs.
        """
        value = self.graph.values[key]
        text, name = brief(value.array), name or value.title
        if not text:
            return name
        return f"{name} {notation.shape(value.shape)}" if "norm" in text else text

    def saved(self, op: Op, saved: Saved) -> str:
        """What a saved tensor is: a value's name, a number, or `its mask`."""
        if saved.value is not None:
            return self.graph.values[saved.value].title
        if saved.text or saved.name.isdigit():  # a custom Function's have no name
            return saved.text or "a tensor of its own"
        operands = len(op.next)
        return "its input" if saved.name == "self" and operands == 1 else SAVED.get(saved.name, WORKED_OUT)

    def tab(self, op: Op, position: int) -> str:
        """A saved tensor with the op that saves it: `× keeps x`."""
        saved = op.saved[position]
        return f"{notation.symbol(op)} keeps {self.saved(op, saved)}"

    def whole(self, op: Op) -> str:
        """A sentence about a library call: `SGD.step moves 2 parameters by their gradients: w and b`."""
        names = [self.graph.values[key].title for key in op.inputs if key is not None]
        told = listed(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"
        count = f"{len(names)} parameter{'' if len(names) == 1 else 's'}"
        if op.whole.endswith(".step"):
            return f"{op.whole} moves {count} by {'its gradient' if len(names) == 1 else 'their gradients'}: {told}"
        if not op.outputs:
            if op.idle:
                return f"{op.whole} leaves the gradients of {count} as they are, within its limit: {told}"
            return f"{op.whole} {'scales' if 'norm' in op.whole else 'clips'} the gradients of {count}: {told}"
        return f"{op.whole} writes new numbers into {count}: {told}"

    def gradient_of(self, node: str, number: int) -> str:
        """The value whose gradient goes into slot `number` of a node."""
        if node in self.leaf_of:
            return self.leaf_of[node].title
        op = self.graph.ops[node]
        return next((self.graph.values[k].title for k in op.outputs if self.graph.values[k].output_nr == number), "")


NONE = "None: no gradient"
WORKED_OUT = "what it worked out"  # such as the mean and the deviation of a normalization
# What PyTorch calls a saved tensor -> what it is. Others are internal to the op.
SAVED = {name: f"its {name}" for name in ("indices", "mask", "result", "weight", "target", "input", "index", "bias")}
SAVED |= dict.fromkeys(("self", "mat1", "tensor1", "batch1"), "its first input")
SAVED |= dict.fromkeys(("other", "mat2", "tensor2", "batch2", "vec", "vec2", "exponent"), "its second input")
SAVED |= {"result0": "its result", "grad_output": "the gradient that it is given"}
SAVED |= {"total_weight": "the sum of the weights"}


def joined(gradients: list[Gradient]) -> str:
    """Gradients that meet, as a sum: `9 + 63 + 63`, or their number if they are many."""
    if len(gradients) > 4:
        return f"{len(gradients)} gradients"
    return " + ".join(brief(gradient.array) or "none" for gradient in gradients)


def briefly(gradients: list[Gradient]) -> str:
    """Gradients that meet, as briefly as possible."""
    if len(gradients) > 2:
        return f"{len(gradients)} gradients"
    return " + ".join(short(gradient.array) or "none" for gradient in gradients)


def arrived(gradients: list[Gradient], graph: Graph) -> str:
    """The gradients that a node receives, one for each of its outputs."""
    there = [gradient for gradient in gradients if gradient.array is not None]
    if not there:
        return "no gradient"
    if len(there) > 4:
        return f"{len(there)} gradients"
    if len(gradients) == 1:
        return brief(there[0].array)
    titles = [graph.values[gradient.value].title if gradient.value else "" for gradient in there]
    return listed([f"{brief(gradient.array)} for {title}" for gradient, title in zip(there, titles, strict=True)])


def hooked(name: str, gradient: Gradient) -> str:
    """A sentence about a hook that left its gradient unchanged."""
    return f"a hook on {name} sees {brief(gradient.array)} and leaves it"


def sentence(text: str) -> str:
    """`text` with a full stop at the end."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def travels(upstream: Array | None, sent: Array) -> tuple[str, str, str]:
    """The text of a gradient on its way through an op: before, the factor, after."""
    _, factor, one_line = product(upstream, sent)
    return short(upstream), one_line.replace("·", "×") if factor else "", short(sent)


def product(upstream: Array | None, sent: Array | None) -> tuple[str, str, str]:
    """The text on a link: the product, the factors it came from, and both on one line.

    The factor is the local derivative, if one number arrives and one number is sent; otherwise `upstream` is None.
    """
    if sent is None:
        return "none", "", "no gradient"
    whole = brief(sent)
    above, below = scalar(upstream), scalar(sent)
    if above is None or below is None or not above or above - above != 0 or below - below != 0:
        return whole, "", whole
    local, first, product = notation.number(below / above), notation.number(above), notation.number(below)
    if local == "1":
        return whole, "", f"{first} · 1 = {product}"
    return f"= {product}", f"{first} × {local}", f"{first} · {local} = {product}"
