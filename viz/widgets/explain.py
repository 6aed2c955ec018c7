"""What an engine's error means, in one sentence of ours, and what to change."""

from __future__ import annotations

import re

# (what PyTorch's searchable phrase looks like, our sentence); the first that fits is told.
_RULES: list[tuple[str, str]] = [
    (
        r"backward through the graph a second time",
        "The first backward() let go of what this node had saved; keep it with retain_graph=True, "
        "or compute the result anew.",
    ),
    (
        r"element \d+ of tensors? does not require grad",
        "Nothing that led to this tensor requires grad, or it was computed under no_grad, so no graph hangs on it; "
        "switch requires_grad on for an input, or no_grad off.",
    ),
    (
        r"grad can be implicitly created only for scalar",
        "backward() starts from the number 1, and that fits a scalar alone; sum or average first, "
        "or pass a gradient of the same shape.",
    ),
    (
        r"modified by an inplace operation",
        "A tensor that a node had saved for its backward was changed in place afterwards; change a copy instead.",
    ),
    (
        r"leaf Variable that requires grad.*in-place|in-place operation.*leaf",
        "A leaf that requires grad may not be overwritten while the graph is recorded; do it under no_grad.",
    ),
    (
        r"can't retain_grad on Tensor that has requires_grad=False",
        "This value has no gradient to keep: it was computed where nothing requires grad, or under no_grad.",
    ),
    (
        r"cannot register a hook on a tensor that doesn't require grad",
        "A hook waits for a gradient, and none will come here: this value requires no grad.",
    ),
    (
        r"only Tensors of floating point|can require gradients|must have floating point",
        "Only floating point numbers have slopes; write 2.0 for 2, or give dtype=float32.",
    ),
    (
        r"[Ii]nference tensors?",
        "A tensor made in inference_mode can never be part of a graph; use no_grad where it is needed later.",
    ),
    (
        r"appears to not have been used in the graph|not have been used",
        "One of the inputs does not lead to this result; leave it out, or pass allow_unused=True.",
    ),
    (
        r"you can only change requires_grad flags of leaf",
        "requires_grad is the user's to set on leaves alone; detach() makes a new leaf.",
    ),
    (
        r"shape mismatch|must match the size|cannot be multiplied|mat1 and mat2|not broadcastable",
        "The two shapes do not fit together; compare them from the right, each pair must be equal or 1.",
    ),
    (r"[Oo]ut of memory|OutOfMemory", "The device has no room for this; make the inputs smaller or use the CPU."),
    (r"Function .* returned nan values", "Anomaly mode found the node that made NaN; its forward line is marked."),
    (r"returned an incorrect number of gradients", "backward must return one gradient for each argument of forward."),
]
_TYPES = {
    "NameError": "A name is used before any line gives it a value.",
    "AttributeError": "The object has no such attribute; look for a name that is misspelt.",
    "KeyboardInterrupt": "It was stopped by hand; the toggles still work.",
    "SyntaxError": "Python cannot read this line.",
}


def explain(kind: str, message: str) -> str:
    """One sentence about an error of type `kind`, empty if none of ours fits.

    >>> explain("RuntimeError", "Trying to backward through the graph a second time")[:23]
    'The first backward() le'
    """
    for pattern, sentence in _RULES:
        if re.search(pattern, message):
            return sentence
    return _TYPES.get(kind, "")
