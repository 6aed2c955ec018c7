"""What an engine's error means, in one or two of our own sentences, and what to change."""

from __future__ import annotations

import re

from viz.telling.common_mistakes import recognise

# Errors that are not common mistakes: (a pattern of PyTorch's searchable phrase, our sentence).
_RULES: list[tuple[str, str]] = [
    (
        r"[Cc]an't call numpy\(\) on Tensor that requires grad",
        "NumPy records nothing, so the graph would be cut here. If you want that, write detach().numpy().",
    ),
    (
        r"can't retain_grad on Tensor that has requires_grad=False",
        "This value has no gradient to keep: nothing it was computed from requires grad, or it was computed under "
        "no_grad.",
    ),
    (
        r"cannot register a hook on a tensor that doesn't require grad",
        "A hook waits for a gradient, but none will arrive here: this value requires no grad.",
    ),
    (
        r"[Ii]nference tensors?",
        "A tensor made in inference_mode can never be part of a graph. If you need it in a graph later, use no_grad.",
    ),
    (
        r"appears to not have been used in the graph|not have been used",
        "One of the inputs does not lead to this result; leave it out, or pass allow_unused=True.",
    ),
    (
        r"you can only change requires_grad flags of leaf",
        "You can set requires_grad only on a leaf; detach() makes a new leaf.",
    ),
    (
        r"shape mismatch|must match the size|cannot be multiplied|mat1 and mat2|not broadcastable",
        "The two shapes do not fit together. Compare them from the right: the sizes in each pair must be equal, or "
        "one of them must be 1.",
    ),
    (
        r"must have the same dtype|expected scalar type|have the same dtype, but got",
        "These tensors have different dtypes, and a matrix product does not convert them. Write t.to(other.dtype) for "
        "one of them.",
    ),
    (
        r"with a bool tensor is not supported",
        "You can add and multiply booleans, but not subtract them. Convert them to numbers with float().",
    ),
    (
        r"cannot be converted to Scalar|only one element tensors can be converted",
        "This needs one number, but the tensor has more. Reduce it first, for example with sum() or mean().",
    ),
    (
        r"not implemented for '(Long|Int|Short|Char|Byte|Bool|Half)'",
        "This op does not support that dtype. Convert to float32 first.",
    ),
    (
        r"module '(tinygrad_edu)[\w.]*' has no attribute",
        "tinygrad_edu has nothing with this name. If PyTorch runs the line, it is missing here on purpose (see "
        "docs/differences.md). Otherwise look for a misspelt name.",
    ),
    (r"object has no attribute", "The object has no such attribute. Look for a misspelt name."),
    (
        r"[Oo]ut of memory|OutOfMemory",
        "The device has too little memory for this. Make the inputs smaller, or use the CPU.",
    ),
    (r"Function .* returned nan values", "Anomaly mode found the node that made NaN; its forward line is marked."),
]
_TYPES = {
    "NameError": "This name is used before any line gives it a value.",
    "KeyboardInterrupt": "You stopped it.",
    "SyntaxError": "Python cannot read this line.",
}


def explain(kind: str, message: str) -> str:
    """The meaning of an error of type `kind`; empty if we have no sentence for it. A common mistake is mentioned by name.

    >>> explain("RuntimeError", "grad can be implicitly created only for scalar outputs")[-71:]
    'To see it, and ways to fix it: viz.mistake("backward of a non-scalar").'
    """
    known = recognise(message)
    if known is not None:
        return f'{known.why} To see it, and ways to fix it: viz.mistake("{known.name}").'
    for pattern, sentence in _RULES:
        if re.search(pattern, message):
            return sentence
    return _TYPES.get(kind, "")
