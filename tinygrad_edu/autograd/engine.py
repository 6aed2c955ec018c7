"""`backward` and `grad` start a backward pass; `GraphPass` does what the plain pass of the core does not.

The plain pass, `core/engine.py`, runs built-in ops on arrays. `GraphPass` runs the nodes around which a user's code
runs. Under `create_graph` gradients are Tensors. The rules of the nodes are the same, and they record what they do, so
that the gradient is itself the end of a graph. Hooks always see Tensors.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..array.absent import SMALL
from ..array.dtypes import from_numpy_dtype
from ..array.tensor import Size, Tensor, wrap
from ..core.engine import Pass
from ..core.graph import AccumulateGrad, Node, gradient_edge
from ..modes import NOT_COUNTED, quiet, thread, warn_once
from ..overrides import behind_core, overridable
from ..refusals import REFUSED_UPDATE, refuse_misfit
from . import forward_ad
from .anomaly_mode import refuse_nan, tell_forward_line
from .hooks import around, as_tensor, call_hooks, call_post_hooks, call_pre_hooks, call_tensor_hooks

__all__ = ["GraphPass", "backward", "grad"]

Edge = tuple[Node, int]


class GraphPass(Pass):
    """A complete pass: with hooks and custom Functions, on Tensors under `create_graph`, or restricted to some nodes.

    captures: edges whose gradients are returned, in `captured`.
    targets: nodes to run. With captures or targets, `is_partial`, only the nodes on a path to one of them run; else all
        do, and gradients that reach a leaf are added to its `.grad`.
    """

    is_partial = False
    captured: list[Any]
    # The node that `visit` runs now.
    node: Node | None = None
    # Grad mode inside: on if the pass itself is recorded.
    grad_enabled = False

    def look_only_for(self, captures: Sequence[Edge], targets: Sequence[Node]) -> None:
        """Run what leads to one of these, and nothing else."""
        self.is_partial = self.visits_all = True
        self.captured = [None] * len(captures)
        self.capture_at: dict[Node, list[tuple[int, int]]] = {}
        for position, (node, output_nr) in enumerate(captures):
            self.capture_at.setdefault(node, []).append((position, output_nr))
        ends = {*self.capture_at, *targets}
        needed = nodes_leading_to(ends, self.waiting)
        # At a node that is only a target, the gradient stops, unless something behind it is wanted as well.
        self.executed = {n for n in needed if n not in ends or any(m in needed for m in n._next)}
        self.executed |= set(targets)
        roots = self.start._next
        if len(roots) == 1 and roots[0] is not None:
            # As in PyTorch, a single root is always visited: its hooks are called even if it leads to no end.
            needed.add(roots[0])
        self.waiting = {node: self.waiting[node] for node in needed}

    def visit(self, node: Node, grads: list[Any]) -> None:
        """Run one node and the hooks around it, in the engine's grad mode. What a hook switches ends with it."""
        state = thread.state
        mode, hooks, self.node = state.grad_enabled, state.saved_hooks, node
        if mode is not self.grad_enabled:
            state.grad_enabled = self.grad_enabled
        try:
            if isinstance(node, AccumulateGrad):
                self._visit_leaf(node, grads)
            elif not self.is_partial or node in self.executed:
                # If the node runs, the captured gradient is the one before the hooks, as in PyTorch.
                self._capture(node, grads)
                super().visit(node, grads)
            else:
                super().before(node, call_tensor_hooks(node, grads, self.create_graph))
                self._capture(node, grads)
        finally:
            if state.grad_enabled is not mode:
                state.grad_enabled = mode
            if state.saved_hooks is not hooks:
                state.saved_hooks = hooks

    def before(self, node: Node, grads: list[Any]) -> list[Any]:
        grads = super().before(node, call_tensor_hooks(node, grads, self.create_graph))
        return call_pre_hooks(node, grads, self.create_graph) if around(node).pre else grads

    def compute(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        try:
            results = super().compute(node, grads)
        except Exception:
            if thread.state.anomaly:
                tell_forward_line(node)
            raise
        results = self._validated(node, results)
        if around(node).post:
            results = call_post_hooks(node, results, grads, self.create_graph)
        if thread.state.anomaly and thread.state.check_nan:
            refuse_nan(node, results)
        return results

    def wanted(self, node: Node) -> Sequence[bool] | None:
        return [edge in self.waiting for edge in node._next] if self.is_partial else super().wanted(node)

    def _validated(self, node: Node, results: Sequence[Any]) -> Sequence[Any]:
        """Each gradient in the shape and dtype of its tensor, as hooks must see it."""
        if len(results) != len(node._next):
            raise RuntimeError(
                f"Function {node.name()} returned an invalid number of gradients - got {len(results)}, but expected "
                f"{len(node._next)}"
            )
        fitted = list(results)
        for i, (receiver, output_nr) in enumerate(zip(node._next, node._next_output, strict=True)):
            grad = results[i]
            if grad is not None and receiver is not None:
                shape, dtype = receiver._outputs[output_nr]
                array = grad.value if self.create_graph else grad
                if array.shape != shape:
                    refuse_misfit(node, array.shape, shape, i)
                if array.shape != shape or array.dtype != dtype:
                    fit = self.fitted if self.create_graph else functools.partial(quiet, self.fitted)
                    fitted[i] = fit(node, grad, shape, dtype)
        return fitted

    def _capture(self, node: Node, box: Sequence[Any]) -> None:
        if self.is_partial:
            for position, output_nr in self.capture_at.get(node, ()):
                self.captured[position] = box[output_nr]

    def _visit_leaf(self, node: AccumulateGrad, box: list[Any]) -> None:
        """An AccumulateGrad with hooks around it, or one whose gradient is captured instead of accumulated."""
        leaf: Any = node.variable
        hooked = leaf._hooks or leaf._post_accumulate_hooks
        owned = node in self.unshared and not (hooked or node._hooks or self.is_partial)
        if leaf._hooks:
            box[0] = call_hooks(leaf._hooks, box[0], self.create_graph)
        self._capture(node, box)
        if self.is_partial and node not in self.executed:
            return
        if around(node).pre:
            box = call_pre_hooks(node, box, self.create_graph)
        was_first = leaf._grad is None
        self._accumulate(node, box[0], owned)
        if was_first and leaf._grad is not None:
            # As in PyTorch: if there was none before, the gradient that arrived is now the leaf's `.grad`.
            box = [leaf._grad if self.create_graph else leaf._grad.value]
        for hook in list((leaf._post_accumulate_hooks or {}).values()):
            result = hook(leaf)
            if result is not None and not isinstance(result, Tensor):
                raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'. It returns nothing.")
            if result is not None and result is not leaf:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        if around(node).post:
            call_post_hooks(node, (), box, self.create_graph)

    def _accumulate(self, node: AccumulateGrad, grad: Any, owned: bool) -> None:
        leaf = node.variable
        if self.create_graph and grad is not None:
            if thread.state.grad_enabled and leaf._requires_grad and leaf._grad_fn is None:
                # Recorded like any op: the gradient itself is part of a graph.
                like = np.empty_like(leaf._data, dtype=grad.value.dtype)
                leaf._grad = wrap(like).copy_(grad) if leaf._grad is None else leaf._grad + grad
                return
            # The pass computed with Tensors for the sake of their tangents alone; these end here.
            grad = grad.value
        total = leaf._grad
        if grad is not None and total is not None and total._counter is NOT_COUNTED and not thread.state.inference:
            raise RuntimeError(REFUSED_UPDATE)
        quiet(node._step, [grad], owned)


def run(
    roots: Sequence[Edge],
    grads: Sequence[Any],
    retain_graph: bool,
    create_graph: bool,
    captures: Sequence[Edge] = (),
    targets: Sequence[Node] = (),
) -> list[Any]:
    """Send `grads` into the graph at `roots`; return the gradients that arrived at the edges in `captures`."""
    task = GraphPass(tuple([node for node, _ in roots]), tuple([nr for _, nr in roots]), retain_graph)
    task.create_graph, task.grad_enabled = create_graph, thread.state.grad_enabled
    task.visits_all = create_graph or thread.state.anomaly
    if not (captures or targets):
        task.run(grads)
        return []
    task.look_only_for(captures, targets)
    task.run(grads)
    return task.captured


def nodes_leading_to(ends: set[Node], reachable: dict[Node, int]) -> set[Node]:
    """The nodes from which some end can be reached, the ends included: walked from the ends up."""
    parents: dict[Node, list[Node]] = {}
    for node in reachable:
        for child in node._next:
            if child is not None:
                parents.setdefault(child, []).append(node)
    needed = {end for end in ends if end in reachable}
    stack = list(needed)
    while stack:
        for parent in parents.get(stack.pop(), ()):
            if parent not in needed:
                needed.add(parent)
                stack.append(parent)
    return needed


# --- the public face -------------------------------------------------------------------------------------------------


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, Tensor):
        return (value,)
    if not hasattr(value, "__iter__"):
        raise TypeError(f"'{type(value).__name__}' object is not iterable: give a tensor, or a sequence of them.")
    return tuple(value)


def _roots(tensors: tuple[Any, ...], grads: tuple[Any, ...], create_graph: bool) -> tuple[list[Edge], list[Any]]:
    """The edges at which a pass starts, and the gradient that enters at each."""
    if len(grads) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grads)} gradients")
    # As in PyTorch, all gradients are checked before the first edge.
    entering = [_root_gradient(i, t, grad) for i, (t, grad) in enumerate(zip(tensors, grads, strict=True))]
    edges: list[Edge] = []
    for i, t in enumerate(tensors):
        node, output_nr = gradient_edge(t)
        if node is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn. No tensor it was computed "
                "from asked for a gradient, or the graph was cut on the way: by no_grad, detach, .item(), .data, or a "
                "new tensor made from numbers."
            )
        edges.append((node, output_nr))
    return edges, [grad if create_graph or grad is None else grad.value for grad in entering]


def _ends(inputs: tuple[Any, ...]) -> list[Edge]:
    """The edges whose gradients are asked for."""
    edges: list[Edge] = []
    for t in inputs:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"all inputs have to be Tensors, but got {type(t).__name__}")
        if not t.requires_grad:
            raise RuntimeError(
                "One of the differentiated Tensors does not require grad. Set requires_grad=True on every input before "
                "the outputs are computed."
            )
        node, output_nr = gradient_edge(t)
        # A view made under no_grad requires grad as its base does, but no graph leads to it: it gets a node without
        # a graph.
        edges.append((node if node is not None else Node(), output_nr))
    return edges


def _root_gradient(i: int, t: Any, grad: Any) -> Tensor | None:
    """The gradient given at root `i`, checked; 1 for a scalar if none is given."""
    if not isinstance(t, Tensor):
        raise TypeError(f"backward starts at a Tensor, got {type(t).__name__}")
    shape, dtype = t.value.shape, t.value.dtype
    if grad is None:
        if not t.requires_grad:
            return None
        if math.prod(shape) != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs: this one has shape {list(shape)}. Reduce it, "
                "for instance with .sum(), or pass gradient= of that shape."
            )
        if dtype.kind != "f":
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {from_numpy_dtype(dtype)}"
            )
        return wrap(np.ones(shape, dtype))
    if not isinstance(grad, Tensor):
        raise TypeError("gradients can be either Tensors or None, but got " + type(grad).__name__)
    if grad.value.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {grad.shape} and output[{i}] has a shape of "
            f"{Size(shape)}."
        )
    return grad


def _entered(tensors: Any, gradients: Any, create_graph: bool) -> tuple[bool, list[Edge], list[Any], tuple[Any, ...]]:
    """Whether the pass computes with Tensors, where it starts, with what, and the gradients as they were given."""
    starts = _as_tuple(tensors)
    grads = _as_tuple(gradients) if gradients is not None else (None,) * len(starts)
    as_tensors = create_graph or forward_ad.level.open  # tangents flow backward too, and travel with Tensors
    return as_tensors, *_roots(starts, grads, as_tensors), grads


@overridable
def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute the gradients of `tensors` and add them to the `.grad` of the leaves of their graph.

    They are a Tensor or a sequence, and so are `inputs`: with these, gradients are added only to their `.grad`.
    `grad_tensors` are the gradients to start with; None for a scalar means 1. `retain_graph` keeps what the nodes
    saved, so that they can run again; `create_graph` records the pass itself, so that gradients can be differentiated.

    Raises:
        RuntimeError: no gradient can start here, or a saved tensor is gone or was changed in place.

    >>> w = T.tensor([1.0, 2.0], requires_grad=True)
    >>> T.autograd.backward(w * w, T.ones(2))
    >>> w.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        raise RuntimeError("`grad_variables` is deprecated. Use `grad_tensors` instead.")
    if inputs is not None and not isinstance(inputs, Tensor) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    as_tensors, edges, values, _ = _entered(tensors, grad_tensors, create_graph)
    for t in _as_tuple(inputs):
        if isinstance(t, Tensor):
            t.retain_grad()
    targets = [node for node, _ in _ends(_as_tuple(inputs))]
    if create_graph:
        warn_once(_CYCLE, stacklevel=3)
    keep = create_graph if retain_graph is None else retain_graph
    with _recording(create_graph):
        run(edges, values, keep, as_tensors, targets=targets)


_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break the "
    "cycle and avoid the leak."
)


@overridable
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, returned; no `.grad` is touched.

    The arguments are as in `backward`; inputs may be intermediate results. An input that no output depends on is an
    error; with `allow_unused` it gets None, with `materialize_grads` zeros.

    >>> w = T.tensor(3.0, requires_grad=True)
    >>> T.autograd.grad(w * w, w)
    (tensor(6.),)
    >>> w.grad is None
    True
    """
    if is_grads_batched:
        raise NotImplementedError(
            f"is_grads_batched is not built. {SMALL}: call grad once for each row of grad_outputs."
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    ends = _as_tuple(inputs)
    if not ends:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    as_tensors, edges, values, grads = _entered(outputs, grad_outputs, create_graph)
    captures, keep = _ends(ends), create_graph if retain_graph is None else retain_graph
    with _recording(create_graph):
        found = run(edges, values, keep, as_tensors, captures=captures)
    return _given(ends, found, grads, allow_unused, materialize_grads, create_graph)


def _given(
    ends: tuple[Any, ...], found: Any, grads: Any, allow_unused: bool | None, materialize: bool, create_graph: bool
) -> tuple[Tensor | None, ...]:
    """What `grad` returns, from what its pass found at each of the ends."""
    # One that was passed on unchanged is returned itself.
    entered = {id(g.value): g for g in grads if isinstance(g, Tensor)}
    by_end: dict[int, Tensor | None] = {}  # an input that is given twice has one gradient
    for i, (end, value) in enumerate(zip(ends, found, strict=True)):
        if id(end) in by_end:
            continue
        if value is not None:
            by_end[id(end)] = as_tensor(entered.get(id(value), value))
        elif materialize:
            by_end[id(end)] = zeros = wrap(np.zeros_like(end._data))
            zeros._requires_grad = create_graph
        elif allow_unused:
            by_end[id(end)] = None
        else:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    return tuple([by_end[id(end)] for end in ends])


@contextmanager
def _recording(create_graph: bool) -> Iterator[None]:
    """The engine's grad mode: on under `create_graph`, whatever the caller's mode, and restored at the end."""
    state = thread.state
    before = state.grad_enabled
    state.grad_enabled = create_graph
    try:
        yield
    finally:
        state.grad_enabled = before


@functools.partial(overridable, name="backward")
def backward_method(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """The method `backward`, where it is more than the plain pass of a scalar."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


behind_core["retain_grad"] = overridable(Tensor._retain_grad, "retain_grad")
Pass.kind = GraphPass
