"""`backward` and `grad` start a backward pass; `GraphPass` does what the plain pass of the core does not.

The plain pass, `core/engine.py`, runs built-in ops on arrays. `GraphPass` runs the nodes around which a user's code
runs. Under `create_graph` gradients are Tensors. The rules of the nodes are the same, and they record what they do, so
that the gradient is itself the end of a graph. Hooks always see Tensors.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..array.dtypes import from_numpy_dtype
from ..array.promotion import sum_to_shape
from ..array.refusals import REFUSED_UPDATE, refuse_misfit
from ..array.tensor import Size
from ..core.engine import Pass
from ..core.tensor import AccumulateGrad, Node, Tensor, gradient_edge, wrap
from ..modes import NOT_COUNTED, quiet, thread, warn_once
from ..overrides import overridable
from . import forward_ad
from .anomaly_mode import refuse_nan, tell_forward_line
from .graph import GradientEdge
from .graph_task import Callback
from .hooks import around, as_tensor, call_hooks, call_post_hooks, call_pre_hooks, call_tensor_hooks
from .reentrance import LEVELS, in_another_thread

__all__ = ["GraphPass", "backward", "grad"]

Edge = tuple[Node, int]


class GraphPass(Pass):
    """A complete pass: with hooks and custom Functions, on Tensors under `create_graph`, or restricted to some nodes.

    captures: edges whose gradients are returned, in `captured`.
    targets: nodes to run. With captures or targets, `is_partial`, only the nodes on a path to one of them run; else all do,
        and gradients that reach a leaf are added to its `.grad`.
    """

    # Gradients are Tensors, and what is done to them is recorded.
    create_graph = is_partial = False
    captured: list[Any]
    # The leaves that may keep the array they are sent.
    unshared: Any = ()
    # The node that `visit` runs now.
    node: Node | None = None
    # How many passes it is inside of in this thread, itself included.
    depth = 1
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

    @staticmethod
    def begin(root: Tensor, gradient: Any, retain_graph: Any, create_graph: bool, inputs: Any) -> None:  # type: ignore[override]
        _backward_method(root, gradient=gradient, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)

    # --- differences from the plain pass -----------------------------------------------------------------------------------

    def fitted(self, node: Node, grad: Any, shape: tuple[int, ...], dtype: np.dtype | None) -> Any:
        came_in = grad._data.dtype if self.create_graph else grad.dtype
        if came_in.kind == "c" and dtype is not None and dtype.kind != "c":
            # A real tensor met a complex one: its gradient is the real part of what comes back.
            grad = grad.real
        if not self.create_graph:
            if grad.shape != shape:
                refuse_misfit(node, grad.shape, shape)
                grad = sum_to_shape(grad, shape)
            return grad if dtype is None or grad.dtype == dtype else grad.astype(dtype)
        if grad._data.shape != shape:
            refuse_misfit(node, grad._data.shape, shape)
            grad = grad.sum_to_size(shape)
        return grad if dtype is None else grad._to_numpy_dtype(dtype)

    def visit(self, node: Node, box: list[Any]) -> None:
        """Run one node and the hooks around it, in the engine's grad mode. What a hook switches ends with it."""
        state = thread.state
        mode, hooks = state.grad_enabled, state.saved_hooks
        if mode is not self.grad_enabled:
            state.grad_enabled = self.grad_enabled
        try:
            self._serve(node, box)
        finally:
            if state.grad_enabled is not mode:
                state.grad_enabled = mode
            if state.saved_hooks is not hooks:
                state.saved_hooks = hooks

    def send(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """`deliver`, outside a stretch. Tensors add and fit themselves, quietly, and may be seen doing so."""
        if self.create_graph:
            self.deliver(node, grads, results)
        else:
            quiet(self.deliver, node, grads, results)

    def _serve(self, node: Node, box: list[Any]) -> None:
        if isinstance(node, Callback):
            node.callback()
            return
        self.node = node
        if isinstance(node, AccumulateGrad):
            self._serve_leaf(node, box)
            return
        wanted = None
        stops = False
        if self.is_partial:
            stops = node not in self.executed
            if not stops:
                # If the node runs as well, the captured gradient is the one before the hooks, as in PyTorch.
                self._capture(node, box)
            wanted = [edge in self.waiting for edge in node._next]
        if node._around:
            call_tensor_hooks(node, box, self.create_graph)
        if stops:
            self._capture(node, box)
            return
        if around(node).pre:
            box = call_pre_hooks(node, box, self.create_graph)
        anomaly = thread.state.anomaly
        try:
            results = node._run(box, self.create_graph, wanted)
        except Exception:
            if anomaly:
                tell_forward_line(node)
            raise
        results = self._validated(node, results)
        if around(node).post:
            results = call_post_hooks(node, results, box, self.create_graph)
        if anomaly and thread.state.check_nan:
            refuse_nan(node, results)
        if not self.retain_graph:
            node._release()
        self.send(node, box, results)

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
                array = grad._data if self.create_graph else grad
                if array.shape != shape:
                    refuse_misfit(node, array.shape, shape, i)
                if (
                    array.dtype.kind == "c"
                    and dtype is not None
                    and dtype.kind != "c"
                    and hasattr(node, "_forward_cls")
                ):
                    raise RuntimeError(
                        f"Function {node.name()} returned an invalid gradient at index {i} - it is complex, and the input is "
                        "real: return its real part, grad.real."
                    )
                if array.shape != shape or array.dtype != dtype:
                    fit = self.fitted if self.create_graph else functools.partial(quiet, self.fitted)
                    fitted[i] = fit(node, grad, shape, dtype)
        return fitted

    def _capture(self, node: Node, box: Sequence[Any]) -> None:
        if self.is_partial:
            for position, output_nr in self.capture_at.get(node, ()):
                self.captured[position] = box[output_nr]

    def _serve_leaf(self, node: AccumulateGrad, box: list[Any]) -> None:
        """An AccumulateGrad with hooks around it, or one whose gradient is captured instead of accumulated."""
        leaf = node.variable
        hooked = leaf._hooks or leaf._post_accumulate_hooks
        owned = node in self.unshared and not (hooked or node._around or self.is_partial)
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
            box = [leaf._grad if self.create_graph else leaf._grad._data]
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
                like = np.empty_like(leaf._data, dtype=grad._data.dtype)
                leaf._grad = wrap(like).copy_(grad) if leaf._grad is None else leaf._grad + grad
                return
            # The pass computed with Tensors for the sake of their tangents alone; these end here.
            grad = grad._data
        total = leaf._grad
        if grad is not None and total is not None and total._counter is NOT_COUNTED and not thread.state.inference:
            raise RuntimeError(REFUSED_UPDATE)
        quiet(node._step, [grad], False, owned)


def run(
    roots: Sequence[Edge],
    grads: Sequence[Any],
    retain_graph: bool,
    create_graph: bool,
    captures: Sequence[Edge] = (),
    targets: Sequence[Node] = (),
) -> list[Any]:
    """Send `grads` into the graph at `roots`; return the gradients that arrived at the edges in `captures`."""
    outer = thread.state.task
    depth = outer.depth if outer is not None else 0
    retain_graph = retain_graph or thread.state.more_samples
    if depth == LEVELS:
        return in_another_thread(depth, run, roots, grads, retain_graph, create_graph, captures, targets)
    task = GraphPass(tuple([node for node, _ in roots]), tuple([nr for _, nr in roots]), retain_graph)
    task.depth = depth + 1
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
    if isinstance(value, Tensor | GradientEdge):
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
            # A view made under no_grad requires grad as its base does, but no graph leads to it: it gets a node without
            # a graph.
            edges.append((node if node is not None else Node(), output_nr))
    return edges


def _root_gradient(i: int, t: Any, grad: Any) -> Tensor | None:
    """The gradient given at root `i`, checked; 1 for a scalar if none is given."""
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
        if dtype is not None and dtype.kind not in "fV":
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {from_numpy_dtype(dtype)}. A loss is a "
                "real number, such as z.abs() or z.real."
            )
        return wrap(np.ones(shape, dtype))
    if not isinstance(grad, Tensor):
        raise TypeError("gradients can be either Tensors or None, but got " + type(grad).__name__)
    if grad._data.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {grad.shape} and output[{i}] has a shape of "
            f"{Size(shape)}."
        )
    if dtype is not None and grad._data.dtype != dtype and "c" in (dtype.kind, grad._data.dtype.kind):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {grad.dtype} and output[{i}] has a dtype of {from_numpy_dtype(dtype)}."
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
        inputs: add only to the `.grad` of these; a non-leaf among them retains its gradient.

    Raises:
        RuntimeError: no gradient can start here, or a saved tensor is gone or was changed in place.

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0, 2.0], requires_grad=True)
    >>> T.autograd.backward(w * w, T.ones(2))
    >>> w.grad
    tensor([2., 4.])
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


def _warn_of_cycle() -> None:
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
        "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
        "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and "
        "avoid the leak. Until then Python's garbage collector has to find it.",
        stacklevel=4,
    )


def _for_each_row(outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: bool, **settings: Any) -> tuple[Any, ...]:
    """The gradients for each row of `grad_outputs`, stacked: one pass per row, where PyTorch runs a single pass."""
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
        allow_unused: return None for an input that no output depends on, instead of an error. materialize_grads: return
        zeros for such an input.

    Returns:
        One gradient for each input, of its shape.

    Raises:
        RuntimeError: an input requires no grad, or was not used and `allow_unused` is not set.

    >>> import tinygrad_edu as T
    >>> w = T.tensor(3.0, requires_grad=True)
    >>> T.autograd.grad(w * w, w)
    (tensor(6.),)
    >>> w.grad is None
    True
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
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    starts, ends = _as_tuple(outputs), _as_tuple(inputs)
    if not ends:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    grads = _as_tuple(grad_outputs) if grad_outputs is not None else (None,) * len(starts)
    # Tangents flow backward too, and travel with Tensors.
    as_tensors = create_graph or forward_ad.level.open
    edges, values = _roots(starts, grads, as_tensors)
    captures, keep = _ends(ends), create_graph if retain_graph is None else retain_graph
    with _recording(create_graph):
        found = run(edges, values, keep, as_tensors, captures=captures)
    return _given(ends, _with_history(found, grads), allow_unused, materialize_grads, create_graph)


def _with_history(found: Any, grads: Sequence[Any]) -> list[Any]:
    """What was found; a gradient that was passed on unchanged is the tensor that was given."""
    given = {id(g._data): g for g in grads if isinstance(g, Tensor)}
    return [given.get(id(value), value) for value in found]


def _given(
    ends: tuple[Any, ...], found: Any, allow_unused: bool | None, materialize_grads: bool, create_graph: bool
) -> tuple[Tensor | None, ...]:
    """What `grad` returns, from what its pass found at each of the ends."""
    results: list[Tensor | None] = []
    first = {id(end): i for i, end in reversed(list(enumerate(ends)))}
    for i, value in enumerate(found):
        if value is not None:
            # An input that is given twice has one gradient.
            again = first[id(ends[i])]
            results.append(as_tensor(value) if again == i else results[again])
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


Pass.kind = GraphPass
