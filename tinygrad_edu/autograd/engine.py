"""The engine: runs the nodes of the graph backward, each once, when all its gradients have arrived.

How many gradients a node waits for is counted first, by one walk over the graph. Then the node that is ready and was made
last runs, sends its results along its edges, and lets go of what it saved. Nothing here is recursive.

In the plain pass gradients are arrays. Under `create_graph` they are Tensors, and the rules of the nodes, written once,
record what they do: the gradient is then itself the end of a graph. Hooks always see Tensors.
"""

from __future__ import annotations

import functools
import heapq
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..overrides import overridable
from ..quiet import quiet
from ..tensor import Size, Tensor, bind, wrap
from . import forward_ad, grad_mode
from .anomaly_mode import anomaly, refuse_nan, tell_forward_line
from .graph_task import GraphTask, current
from .hooks import as_tensor, call_hooks, call_post_hooks, call_pre_hooks, call_tensor_hooks
from .node import AccumulateGrad, GradientEdge, Node, gradient_edge
from .reentrance import LEVELS, in_another_thread
from .saved_tensor import saved_state

__all__ = ["backward", "grad"]

Edge = tuple[Node, int]


def run(
    roots: Sequence[Edge],
    grads: Sequence[Any],
    retain_graph: bool,
    create_graph: bool,
    captures: Sequence[Edge] = (),
    targets: Sequence[Node] = (),
) -> list[Any]:
    """Send `grads` into the graph at `roots`; return the gradients that arrived at the edges in `captures`.

    With `captures` or `targets` only the nodes on a path to one of them run; else all do, and gradients that reach a
    leaf are added to its `.grad`.
    """
    if current.depth == LEVELS:
        return in_another_thread(run, roots, grads, retain_graph, create_graph, captures, targets)
    start = _Start(roots, grads)
    waiting = _count_dependencies(start)
    needed: set[Node] | None = None
    if captures or targets:
        ends = {node for node, _ in captures} | set(targets)
        needed = _nodes_leading_to(ends, waiting)
        # A node that is only looked at stops the gradient there, unless something behind it is wanted as well.
        executed = {n for n in needed if n not in ends or any(m in needed for m, _ in n._edges)}
        executed |= {start, *targets}
        needed.add(start)
        if len(roots) == 1:
            # As in PyTorch a single root is visited in any case: its hooks are called, also where it leads to no end.
            needed.add(roots[0][0])
    captured: list[Any] = [None] * len(captures)
    capture_at: dict[Node, list[tuple[int, int]]] = {}
    for position, (node, output_nr) in enumerate(captures):
        capture_at.setdefault(node, []).append((position, output_nr))

    # What has arrived for each node, by output; and which leaves may keep the array they were sent.
    inbox: dict[Node, list[Any]] = {start: [None]}
    unshared: set[Node] = set()
    # Highest sequence number first. Several leaves that become ready at once are equal: then neither goes before the
    # other (`Node.__lt__`), and the heap's own order holds, which is that of PyTorch's (both are the textbook's).
    ready: list[tuple[int, Node]] = [(0, start)]

    previous = current.task
    packing = list(saved_state.hooks)
    current.depth += 1
    task = current.task = GraphTask(needed, waiting)
    heappush, heappop = heapq.heappush, heapq.heappop
    try:
        while ready:
            node = heappop(ready)[1]
            task.node = node
            box = inbox.pop(node)
            if type(node) is AccumulateGrad:
                leaf = node.variable
                hooked = leaf._hooks or leaf._post_accumulate_hooks or node._pre_hooks or node._post_hooks
                if not hooked and needed is None:
                    node.accumulate(box[0], create_graph, node in unshared)
                    continue
                _serve_leaf(node, box, create_graph, capture_at.get(node), captured, needed is None or node in executed)
                continue
            wanted = None
            stops = False
            if needed is not None:
                stops = node not in executed
                if not stops and node in capture_at:
                    # Where the node runs as well, what is handed out is the gradient before the hooks, as in PyTorch.
                    _capture(box, capture_at[node], captured)
                wanted = [edge[0] in needed for edge in node._edges]
            if node._tensor_hooks or node._retaining:
                call_tensor_hooks(node, box, create_graph)
            if stops:
                _capture(box, capture_at.get(node, ()), captured)
                continue
            if node._pre_hooks:
                box = call_pre_hooks(node, box, create_graph)
            try:
                results = node._run(box, create_graph, wanted)
            except Exception:
                if anomaly.enabled:
                    tell_forward_line(node)
                raise
            results = _validated(node, results, create_graph)
            if node._post_hooks:
                results = call_post_hooks(node, results, box, create_graph)
            if anomaly.enabled and anomaly.check_nan and node is not start:
                refuse_nan(node, results)
            if not retain_graph:
                node._release()
            came_in = box
            for (next_node, output_nr), grad in zip(node._edges, results):  # noqa: B905 - checked by _validated
                if next_node is None or (needed is not None and next_node not in needed):
                    continue
                box = inbox.get(next_node)  # type: ignore[assignment]
                if box is None:
                    box = inbox[next_node] = [None] * len(next_node._outputs)
                if grad is None:
                    pass
                elif box[output_nr] is not None:
                    before = box[output_nr]
                    box[output_nr] = before + grad if create_graph else quiet.run(np.add, before, grad)
                    unshared.add(next_node)
                else:
                    box[output_nr] = grad
                    if (
                        type(next_node) is AccumulateGrad
                        and not create_graph
                        and _is_unshared(node, grad, came_in, results)
                    ):
                        unshared.add(next_node)
                left = waiting[next_node] = waiting[next_node] - 1
                if left == 0:
                    heappush(ready, (-next_node._seq, next_node))
        # One may queue another, which the same loop then comes to.
        for callback in task.callbacks:
            callback()
    finally:
        current.task = previous
        current.depth -= 1
        if saved_state.hooks != packing:
            # What a hook has entered and not left, or left and not entered, ends with the pass.
            saved_state.hooks[:] = packing
    return captured


class _Start(Node):
    """Where a pass enters the graph: its edges lead to the roots, and it sends the gradients given there."""

    def __init__(self, roots: Sequence[Edge], grads: Sequence[Any]) -> None:
        self._edges = tuple(roots)
        self._grads = grads

    def _run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        return self._grads


def _is_unshared(node: Node, grad: Any, came_in: Sequence[Any], results: Sequence[Any]) -> bool:
    """True if nobody but the engine holds the array `grad`, which `node` has just made, and it goes to one place alone."""
    if not node.makes_new_arrays or grad.base is not None or node._post_hooks:
        return False
    places = 0
    for held in (*came_in, *results):
        places += held is grad
    return places == 1


def _capture(box: list[Any], wanted: Sequence[tuple[int, int]], captured: list[Any]) -> None:
    for position, output_nr in wanted:
        captured[position] = box[output_nr]


def _count_dependencies(start: Node) -> dict[Node, int]:
    """For every node reachable from `start`: how many edges lead to it."""
    waiting = {start: 0}
    stack = [start]
    while stack:
        for node, _ in stack.pop()._edges:
            if node is None:
                continue
            if node in waiting:
                waiting[node] += 1
            else:
                waiting[node] = 1
                stack.append(node)
    return waiting


def _nodes_leading_to(ends: set[Node], reachable: dict[Node, int]) -> set[Node]:
    """The nodes from which some end can be reached, the ends included: walked from the ends up."""
    parents: dict[Node, list[Node]] = {}
    for node in reachable:
        for child, _ in node._edges:
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


def _validated(node: Node, results: Sequence[Any], create_graph: bool) -> Sequence[Any]:
    """Each gradient in the shape and dtype of the tensor it belongs to.

    A gradient of a broadcast operand comes in the broadcast shape and is summed here, once for all ops.
    """
    if len(results) != len(node._edges):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid number of gradients - got {len(results)}, but expected "
            f"{len(node._edges)}"
        )
    mended: list[Any] | None = None
    i = -1
    for (next_node, output_nr), grad in zip(node._edges, results):  # noqa: B905 - checked above
        i += 1
        if grad is None or next_node is None:
            continue
        shape, dtype = next_node._outputs[output_nr]
        array = grad._data if create_graph else grad
        if array.shape == shape and array.dtype == dtype:
            continue
        if mended is None:
            results = mended = list(results)
        if array.shape != shape:
            if not _expands_to(shape, array.shape):
                raise RuntimeError(
                    f"Function {node.name()} returned an invalid gradient at index {i} - got {list(array.shape)} but "
                    f"expected shape compatible with {list(shape)}"
                )
            grad = grad.sum_to_size(shape) if create_graph else sum_to_shape(grad, shape)
        if dtype is not None and array.dtype != dtype:
            grad = grad._to_numpy_dtype(dtype) if create_graph else quiet.run(grad.astype, dtype)
        mended[i] = grad
    return results


def _expands_to(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    """True if a tensor of shape `small` broadcasts to `large`."""
    return len(small) <= len(large) and all(
        s in (1, size) for s, size in zip(reversed(small), reversed(large), strict=False)
    )


def sum_to_shape(array: Any, shape: tuple[int, ...]) -> Any:
    """Sum `array` over the dimensions that broadcasting added or stretched: the transpose of broadcasting."""
    leading = array.ndim - len(shape)
    axes = list(range(leading))
    for axis, size in enumerate(shape, leading):
        if size == 1 and array.shape[axis] != 1:
            axes.append(axis)
    summed = quiet.run(np.add.reduce, array, axis=tuple(axes), keepdims=len(axes) > leading)
    return summed if summed.shape == shape else summed.reshape(shape)


def _serve_leaf(
    node: AccumulateGrad,
    box: list[Any],
    create_graph: bool,
    capture: list[tuple[int, int]] | None,
    captured: list[Any],
    execute: bool,
) -> None:
    """An AccumulateGrad with hooks around it, or one whose gradient is captured instead of accumulated."""
    leaf = node.variable
    if leaf._hooks:
        box[0] = call_hooks(leaf._hooks, box[0], create_graph)
    _capture(box, capture or (), captured)
    if not execute:
        return
    if node._pre_hooks:
        box = call_pre_hooks(node, box, create_graph)
    was_first = leaf._grad is None
    node.accumulate(box[0], create_graph, owned=False)
    if was_first and leaf._grad is not None:
        # As in PyTorch: where nothing was there before, the gradient that came is the leaf's `.grad` from now on.
        box = [leaf._grad if create_graph else leaf._grad._data]
    for hook in list((leaf._post_accumulate_hooks or {}).values()):
        result = hook(leaf)
        if result is not None and not isinstance(result, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'. It returns nothing.")
        if result is not None and result is not leaf:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if node._post_hooks:
        call_post_hooks(node, (), box, create_graph)


# --- the public face -------------------------------------------------------------------------------------------------


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, Tensor | GradientEdge):
        return (value,)
    return tuple(value)


def _roots(tensors: tuple[Any, ...], grads: tuple[Any, ...], create_graph: bool) -> tuple[list[Edge], list[Any]]:
    """The edges at which a pass starts, and the gradient that enters at each."""
    if len(grads) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grads)} gradients")
    # As in PyTorch, all gradients are looked at before the first edge.
    entering = [_root_gradient(i, t, grad) for i, (t, grad) in enumerate(zip(tensors, grads, strict=True))]
    edges: list[Edge] = []
    for i, t in enumerate(tensors):
        node, output_nr = (t.node, t.output_nr) if isinstance(t, GradientEdge) else gradient_edge(t)
        if node is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn. No tensor it was computed from "
                "asked for a gradient, or the graph was cut on the way: by no_grad, detach, .item(), .data, or a new "
                "tensor made from numbers."
            )
        edges.append((node, output_nr))
    return edges, [grad if create_graph or grad is None else grad._data for grad in entering]


def _ends(inputs: tuple[Any, ...]) -> list[Edge]:
    """The edges whose gradients are asked for."""
    edges: list[Edge] = []
    for t in inputs:
        if isinstance(t, GradientEdge):
            edges.append((t.node, t.output_nr))
        elif not isinstance(t, Tensor):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
        elif not t.requires_grad:
            raise RuntimeError(
                "One of the differentiated Tensors does not require grad. Set requires_grad=True on every input before the "
                "outputs are computed."
            )
        else:
            node, output_nr = gradient_edge(t)
            # A view made under no_grad requires grad as its base does, and no graph leads to it: a node of no graph.
            edges.append((node if node is not None else Node(), output_nr))
    return edges


def _root_gradient(i: int, t: Any, grad: Any) -> Tensor | None:
    """The gradient given at root `i`, checked; 1 for a scalar where none is given."""
    if isinstance(t, GradientEdge):
        shape, dtype = t.node._outputs[t.output_nr]
    elif isinstance(t, Tensor):
        shape, dtype = t._data.shape, t._data.dtype
    else:
        raise TypeError(f"backward starts at a Tensor or a GradientEdge, got {type(t).__name__}")
    if grad is None:
        if isinstance(t, Tensor) and not t.requires_grad:
            return None
        if math.prod(shape) != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs: this one has shape {list(shape)}. Reduce it, for "
                "instance with .sum(), or pass gradient= of that shape."
            )
        if dtype is not None and dtype.kind != "f":
            raise RuntimeError("grad can be implicitly created only for real scalar outputs")
        return wrap(np.ones(shape, dtype))
    if not isinstance(grad, Tensor):
        raise TypeError("gradients can be either Tensors or None, but got " + type(grad).__name__)
    if grad._data.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {grad.shape} and output[{i}] has a shape of "
            f"{Size(shape)}."
        )
    return grad


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

    Args:
        tensors: where to start: a Tensor, a GradientEdge, or a sequence of them.
        grad_tensors: the gradient at each, of its shape; None for a scalar means 1.
        retain_graph: keep what the nodes saved, so that they can run again. Default: the value of `create_graph`.
        create_graph: record the pass itself, so that the gradients can be differentiated.
        inputs: add to the `.grad` of these alone; a non-leaf among them retains its gradient.

    Raises:
        RuntimeError: no gradient can start here, or a saved tensor is gone or was changed in place.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`."
            )
        grad_tensors = grad_variables
    if inputs is not None and not isinstance(inputs, Tensor | GradientEdge) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    starts = _as_tuple(tensors)
    grads = _as_tuple(grad_tensors) if grad_tensors is not None else (None,) * len(starts)
    # Tangents flow backward too, and travel with Tensors.
    as_tensors = create_graph or forward_ad.level.open
    edges, values = _roots(starts, grads, as_tensors)
    for t in _as_tuple(inputs):
        if isinstance(t, Tensor):
            t.retain_grad()
    targets = [node for node, _ in _ends(_as_tuple(inputs))]
    if create_graph:
        _warn_of_cycle()
    keep = create_graph if retain_graph is None else retain_graph
    with _recording(create_graph):
        run(edges, values, keep, as_tensors, targets=targets)


@functools.cache  # once in a process, as PyTorch
def _warn_of_cycle() -> None:
    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
        "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
        "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and "
        "avoid the leak. Until then Python's garbage collector has to find it.",
        UserWarning,
        stacklevel=4,
    )


def _for_each_row(outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: bool, **settings: Any) -> tuple[Any, ...]:
    """The gradients for each row of `grad_outputs`, stacked: a pass each, where PyTorch makes one of all."""
    several = isinstance(grad_outputs, list | tuple)
    vectors = list(grad_outputs) if several else [grad_outputs]
    for i, (o, v) in enumerate(zip([outputs] if isinstance(outputs, Tensor) else outputs, vectors, strict=True)):
        if v is not None and v.shape[1:] != o.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
                "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
                f"detected: grad_output[{i}] has a shape of {v.shape} and output[{i}] has a shape of {o.shape}."
            )
    count = next(v.shape[0] for v in vectors if v is not None)
    rows = []
    for n in range(count):
        row = [v if v is None else v.select(0, n) for v in vectors]
        rows.append(grad(outputs, inputs, row if several else row[0], retain_graph or n < count - 1, **settings))
    columns = zip(*rows, strict=True)
    return tuple(None if column[0] is None else column[0]._stacked(column[1:]) for column in columns)


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

    Args:
        outputs, inputs: Tensors or GradientEdges, one or a sequence. Inputs may be intermediate results.
        grad_outputs: the gradient at each output; None for a scalar means 1.
        retain_graph, create_graph: as in `backward`.
        allow_unused: give None for an input that no output depends on, instead of an error.
        materialize_grads: give zeros for such an input.

    Returns:
        One gradient for each input, of its shape.

    Raises:
        RuntimeError: an input requires no grad, or was not used and `allow_unused` is not set.
    """
    if is_grads_batched:
        return _for_each_row(
            outputs, inputs, grad_outputs, bool(create_graph if retain_graph is None else retain_graph),
            create_graph=create_graph, allow_unused=allow_unused, materialize_grads=materialize_grads,
        )  # fmt: skip
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
            "parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads:
        if allow_unused is False:
            raise ValueError(
                "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
            )
        allow_unused = True
    starts, ends = _as_tuple(outputs), _as_tuple(inputs)
    if not ends:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    grads = _as_tuple(grad_outputs) if grad_outputs is not None else (None,) * len(starts)
    # Tangents flow backward too, and travel with Tensors.
    as_tensors = create_graph or forward_ad.level.open
    edges, values = _roots(starts, grads, as_tensors)
    captures = _ends(ends)
    keep = create_graph if retain_graph is None else retain_graph
    with _recording(create_graph):
        found = run(edges, values, keep, as_tensors, captures=captures)
    results: list[Tensor | None] = []
    for i, value in enumerate(found):
        if value is not None:
            results.append(as_tensor(value))
        elif materialize_grads:
            if isinstance(ends[i], GradientEdge):
                raise RuntimeError(
                    "materialize_grads cannot be used when the given input is a GradientEdge. Give the tensor itself."
                )
            zeros = wrap(np.zeros_like(ends[i]._data))
            zeros._requires_grad = create_graph
            results.append(zeros)
        elif allow_unused:
            results.append(None)
        else:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    return tuple(results)


class _recording:
    """The engine's grad mode: on under `create_graph`, whatever mode the caller is in, and restored at the end."""

    def __init__(self, create_graph: bool) -> None:
        self.create_graph = create_graph

    def __enter__(self) -> None:
        self.previous = grad_mode.state.grad_enabled
        grad_mode.state.grad_enabled = self.create_graph

    def __exit__(self, *exception: object) -> None:
        grad_mode.state.grad_enabled = self.previous


def _backward_method(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Compute the gradient of this tensor with respect to the leaves of its graph, and add it to their `.grad`.

    See `autograd.backward` for the arguments. A scalar starts with gradient 1; any other shape needs `gradient`.
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


bind("backward", overridable(_backward_method, "backward"))
