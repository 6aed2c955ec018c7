"""What an engine's error means, in one or two of our own sentences, and what to change."""

from __future__ import annotations

import re

from viz.telling.common_mistakes import recognise

# Errors that are not common mistakes: our sentence, by a pattern of PyTorch's searchable phrase.
_RULES = {
    r"Legacy autograd function": (
        "Write @staticmethod above forward and backward, and call Name.apply(x) without making an object."
    ),
    r"support the deepcopy protocol": (
        "A copy cannot take its history along. Copy the numbers alone, detach().clone(), or the leaf they come from."
    ),
    r"should be between 0 and 1": (
        "Binary cross-entropy compares probabilities with labels from 0 to 1. Of scores, "
        "binary_cross_entropy_with_logits makes them itself."
    ),
    r"[Cc]an't call numpy\(\) on Tensor that requires grad": (
        "NumPy records nothing, so the graph would be cut here. If you want that, write detach().numpy()."
    ),
    r"can't retain_grad on Tensor that has requires_grad=False": (
        "This value has no gradient to keep: nothing it was computed from requires grad, or it was computed under "
        "no_grad."
    ),
    r"cannot register a hook on a tensor that doesn't require grad": (
        "A hook waits for a gradient, but none will arrive here: this value requires no grad."
    ),
    r"[Ii]nference tensors?": (
        "A tensor made in inference_mode can never be part of a graph. If you need it in a graph later, use no_grad."
    ),
    r"appears to not have been used in the graph|not have been used": (
        "One of the inputs does not lead to this result; leave it out, or pass allow_unused=True."
    ),
    r"you can only change requires_grad flags of leaf": (
        "You can set requires_grad only on a leaf; detach() makes a new leaf."
    ),
    # Shapes and indices, by the family of ops that raises: each has its own phrases.
    r"mat1 and mat2 shapes|size mismatch, got input|inconsistent tensor size|dimensions of batch2 tensor": (
        "In a matrix product, the inner sizes must be equal: (n, k) @ (k, m). A vector has only k, and in a linear "
        "layer k is in_features. Stacks of matrices must also be equally long."
    ),
    r"must be a (matrix|vector|3D tensor)|1D tensors expected|vector \+ matrix|input must be a matrix": (
        "This product takes a fixed number of dimensions: dot two vectors, mv a matrix and a vector, mm two matrices, "
        "bmm two stacks of matrices. The operator @ takes them all."
    ),
    r"einsum\(\)": (
        "In einsum, a letter stands for one size, the same in every operand, and an operand has one letter for each "
        "of its dimensions."
    ),
    r"to have \d+ channels": (
        "A convolution needs as many channels as its in_channels. They are the input's size after that of the batch."
    ),
    r"input to conv\w+, but got input of size": (
        "A convolution's input has the channels and then one size for each direction; a batch has its own size first."
    ),
    r"Kernel size can't be greater": "The kernel is larger than its input. Make the kernel smaller, or add padding.",
    r"[Ss]izes of tensors must match except|Tensors must have same number of dimensions": (
        "cat joins tensors along one dimension; all their other sizes must be equal."
    ),
    r"stack expects each tensor to be equal size": "stack makes a new dimension, so all tensors need the same shape.",
    r"is invalid for input of size": (
        "A reshape keeps every number: the new sizes must multiply to the number of elements."
    ),
    r"view size is not compatible": (
        "A view shares memory, and there these numbers are in another order. Use reshape(), which copies if it must."
    ),
    r"indexing tensors could not be broadcast": (
        "Several index tensors are read side by side: together they need one shape."
    ),
    r"shape of the mask": "A mask needs the same sizes as the dimensions that it selects from.",
    r"too many indices": "An index has at most one part for each dimension of the tensor.",
    r"out of bounds for dimension|index out of range in self": (
        "An index counts from 0, so it must be smaller than the size of its dimension: in an embedding, num_embeddings."
    ),
    r"Dimension out of range": "The tensor has no such dimension. They count from 0, and −1 is the last.",
    r"[Uu]sing a target size|must be the same as input size": (
        "This loss compares number by number: the output and the target need the same shape. Often squeeze(-1) or "
        "unsqueeze(-1) of one of them is what is missing."
    ),
    r"batch_size \(\d+\) to match target|multi-target not supported|Expected target size": (
        "This loss takes scores of shape (batch, classes), and a class number for each row: a target of shape (batch,)."
    ),
    r"Target -?\d+ is out of bounds|Class values must be": (
        "Class numbers count from 0, so each must be smaller than the number of classes."
    ),
    r"target dtype to be Long|expected scalar type Long but found Float: targets|one of the following scalar types": (
        "Class numbers and indices are integers. Convert them with long()."
    ),
    r"output with shape .* doesn't match the broadcast shape": (
        "An in-place op cannot give its tensor another shape. Write it out of place, as in a = a + b."
    ),
    r"The expanded size of the tensor|value tensor of shape .* cannot be broadcast": (
        "A tensor can only be repeated along a size of 1. Compare the two shapes from the right: the sizes in each "
        "pair must be equal, or that of the tensor must be 1."
    ),
    r"The size of tensor a|not broadcastable|could not be broadcast": (
        "The two shapes do not fit together. Compare them from the right: the sizes in each pair must be equal, or "
        "one of them must be 1. (In a product of stacked matrices, start left of the last two sizes.)"
    ),
    r"must have the same dtype|expected scalar type|have the same dtype, but got": (
        "These tensors have different dtypes, and a matrix product does not convert them. Write t.to(other.dtype) for "
        "one of them."
    ),
    r"with a bool tensor is not supported": (
        "You can add and multiply booleans, but not subtract them. Convert them to numbers with float()."
    ),
    r"cannot be converted to Scalar|only one element tensors can be converted": (
        "This needs one number, but the tensor has more. Reduce it first, for example with sum() or mean()."
    ),
    r"not implemented for '(Long|Int|Short|Char|Byte|Bool|Half)'": (
        "This op does not support that dtype. Convert to float32 first."
    ),
    r"module '(tinygrad_edu)[\w.]*' has no attribute": (
        "tinygrad_edu has nothing with this name. If PyTorch runs the line, it is missing here on purpose (see "
        "docs/differences.md). Otherwise look for a misspelt name."
    ),
    r"No module named '(torchvision|torchaudio|torchtext|datasets|transformers|sklearn|pandas|cv2|PIL)": (
        "This package is not here. For a gradient, a few random tensors of the same shapes will do: "
        "T.randn(8, 3, 32, 32). Leave out the import and the lines that use it."
    ),
    r"No module named '(multiprocessing|threading|concurrent|subprocess|joblib)": (
        "A program runs in one process here. Leave out the import, and call the function itself."
    ),
    r"No such file or directory": (
        "There is no such file where the program runs. Write a few numbers into the program instead."
    ),
    r"No module named": "This module is not installed here. Leave out the import and the lines that use it.",
    r"'NoneType' object|'NoneType' and|and 'NoneType'": (
        "A value here is None. A tensor's .grad is None until backward() has brought it a gradient, and for a "
        "tensor that is not a leaf, as after w = w - …."
    ),
    r"object has no attribute": "The object has no such attribute. Look for a misspelt name.",
    r"[Oo]ut of memory|OutOfMemory": (
        "The device has too little memory for this. Make the inputs smaller, or use the CPU."
    ),
    r"Function .* returned nan values": "Anomaly mode found the node that made NaN; its forward line is marked.",
}
_TYPES = {
    "NameError": "This name is used before any line gives it a value.",
    "KeyboardInterrupt": "You stopped it.",
    "SyntaxError": "Python cannot read this line.",
}


def explain(kind: str, message: str) -> str:
    """The meaning of an error of type `kind`, with the name of a common mistake; empty if we have no sentence for it.

    >>> explain("RuntimeError", "grad can be implicitly created only for scalar outputs")[-71:]
    'To see it, and ways to fix it: viz.mistake("backward of a non-scalar").'
    """
    known = recognise(message)
    if known is not None:
        return f'{known.why} To see it, and ways to fix it: viz.mistake("{known.name}").'
    for pattern, sentence in _RULES.items():
        if re.search(pattern, message):
            return sentence
    return _TYPES.get(kind, "")
