"""Anomaly mode: which line of the forward pass is behind a backward pass that went wrong."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array.tensor import Tensor
from ..core.graph import Node
from ..modes import thread
from .graph_task import current_node


def is_anomaly_enabled() -> bool:
    """True if new nodes remember their forward line.

    >>> with T.autograd.detect_anomaly():
    ...     print(T.is_anomaly_enabled())
    True
    """
    return thread.state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """True if, in anomaly mode, a gradient that is NaN raises.

    >>> with T.autograd.detect_anomaly(check_nan=False):
    ...     print(T.is_anomaly_check_nan_enabled())
    False
    """
    return thread.state.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off until the next call.

    >>> T.set_anomaly_enabled(True)
    >>> T.is_anomaly_enabled()
    True
    >>> T.set_anomaly_enabled(False)
    """
    thread.state.anomaly, thread.state.check_nan = bool(enabled), bool(check_nan)


class set_detect_anomaly:
    """Switch anomaly mode by a flag: at once when called as a function, or until the end of a `with` block.

    >>> with T.autograd.set_detect_anomaly(True):
    ...     print(T.is_anomaly_enabled())
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.previous = thread.state.anomaly, thread.state.check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        set_anomaly_enabled(*self.previous)


class detect_anomaly(set_detect_anomaly):
    """Inside, a failing backward pass warns with the forward line of the node that failed, and a NaN gradient raises.

    The forward pass has to run inside as well, since that is when the lines are remembered.

    >>> x = T.tensor(-1.0, requires_grad=True)
    >>> with T.autograd.detect_anomaly():                       # doctest: +SKIP
    ...     x.sqrt().backward()
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output. …
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.previous = thread.state.anomaly, thread.state.check_nan
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)


# --- what the engine and the ops ask of it ---------------------------------------------------------------------------


def remember_forward(node: Node) -> None:
    """In anomaly mode: keep where in the user's code this node was made, and by which node if in a backward pass."""
    node.metadata["traceback_"] = traceback.format_list(traceback.extract_stack()[:-3])
    parent = current_node()
    if parent is not None:
        node.metadata["parent_"] = parent


def tell_forward_line(node: Node) -> None:
    """In anomaly mode, warn where `node` was made; if a backward pass made it, also behind which node, and so on."""
    told: Node | None = node
    text = f"Error detected in {node.name()}. "
    what = "Traceback of forward call that caused the error:"
    while told is not None:
        lines = told.metadata.get("traceback_")
        if lines is None:
            text += (
                "No forward pass information available. Enable detect anomaly during forward pass for more information."
            )
        else:
            text += f"{what}\n{''.join(lines)}"
        try:
            warnings.warn(text, UserWarning, stacklevel=5)
        except UserWarning as warning:
            # If warnings are errors, the error of the pass itself must still go on.
            sys.stderr.write(f"UserWarning: {warning}\n")
        told = told.metadata.get("parent_")
        if told is not None:
            text = f"\n\nPrevious calculation was induced by {told.name()}. "
            what = "Traceback of forward call that induced the previous calculation:"


def refuse_nan(node: Node, results: Sequence[Any]) -> None:
    for i, grad in enumerate(results):
        if grad is None:
            continue
        array = grad._data if isinstance(grad, Tensor) else grad
        if np.isnan(array).any():
            tell_forward_line(node)
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {i}th output. The forward line behind it is in "
                "the warning above."
            )
