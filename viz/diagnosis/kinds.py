"""The kinds of findings and what each name means. A kind that others follow from comes before them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A cause by name.

    Attributes:
        group: the trouble that it shows as, see `GROUPS` in `finding`.
        meaning: the cause, in one sentence.
        line: the line that a finding of this kind names.
        tells: for a mistake of intent, what would tell whether it is one: no second run can.
    """

    group: int
    meaning: str
    line: str
    tells: str = ""


KINDS = {
    "in-place": Kind(6, "A tensor that backward() needs was written over.", "the write"),
    "second-backward": Kind(6, "backward() goes through a graph whose buffers an earlier pass has freed.",
        "the second backward(), the value computed once, or the first of two passes of one step"),
    "state-not-detached": Kind(6, "A recurrent state carries the graph of the steps before.", "where the training loop hands the state on"),
    "rebound": Kind(1, "An update makes a new tensor and gives it the parameter's name.", "the update"),
    "requires-grad-off": Kind(1, "requires_grad is off for what is to learn.", "where it is switched off, or where the tensor is made",
        "Freezing can be meant: if this part is to stay as it is, all is well."),
    "item": Kind(1, "A tensor becomes a Python number: item(), float(), tolist().", "the call"),
    "numpy": Kind(1, "A computation goes through NumPy.", "where it leaves for NumPy"),
    "new-tensor": Kind(1, "torch.tensor(…) of tensors makes one without a history.", "the call"),
    "integer-op": Kind(1, "argmax, a comparison, a cast to integers: no slope.", "the op"),
    "data": Kind(1, "A value is read, or a weight is filled, through .data.", "the use of .data"),
    "detach": Kind(1, "detach() on the way to the loss.", "the call"),
    "no-grad": Kind(1, "Part of the forward pass runs under no_grad.", "the with, the decorator, or set_grad_enabled(False)"),
    "inference-mode": Kind(1, "Part of the forward pass runs under inference_mode.", "the with or the decorator"),
    "not-scalar": Kind(1, "backward() of several numbers, where it takes one.", "the backward()"),
    "cut": Kind(1, "Some other op that was not recorded.", "the op"),
    "unregistered": Kind(1, "Modules or parameters in a plain list or dict, which parameters() does not look into.", "the list or dict"),
    "wrong-backward": Kind(7, "A custom Function's backward disagrees with numbers.", "what its backward returns, where that is made"),
    "data-write": Kind(7, "A write through .data to what backward() needs: wrong gradients without an error.", "the write"),
    "not-kept": Kind(7, "A call that changes nothing, and whose result is thrown away.", "the call",
        "If the call is left over, take it away."),
    "non-leaf": Kind(1, ".grad of a tensor that was computed from another.", "where the tensor is computed"),
    "not-finite-input": Kind(3, "The data hold a nan or an infinity.", "where they come in"),
    "half-range": Kind(3, "A number leaves the range of half precision.", "the op"),
    "where": Kind(3, "where() hides a nan or an infinity in the forward pass alone.", "the where"),
    "sqrt-at-zero": Kind(3, "The slope of a square root, or of a power, at 0.", "the op"),
    "norm-at-zero": Kind(3, "A norm, or a distance, of zeros.", "the op"),
    "log-of-zero": Kind(3, "The logarithm of 0 or below.", "the op"),
    "zero-by-zero": Kind(3, "0 divided by 0, or by 0.", "the division"),
    "overflow": Kind(3, "A number too large for its type, as exp() makes them.", "the op"),
    "not-finite": Kind(3, "Some other op makes the first nan or infinity.", "the op"),
    "zero-before-step": Kind(5, "zero_grad() between backward() and step().", "the zero_grad()"),
    "step-before-backward": Kind(5, "step() before the backward() of its turn.", "the step()"),
    "no-zero-grad": Kind(5, "Gradients add up over the steps: zero_grad() is missing.", "the backward() that adds"),
    "stale-optimizer": Kind(5, "The optimizer holds parameters that were replaced after it was made.", "the replacement"),
    "not-in-optimizer": Kind(5, "Parameters with gradients that no optimizer holds.", "where the optimizer is made"),
    "broadcast-loss": Kind(5, "A loss broadcasts its two sides, such as (N,) and (N, 1).", "the loss, or the difference"),
    "double-softmax": Kind(2, "softmax or sigmoid before a loss that applies it itself.", "the softmax or sigmoid"),
    "wrong-dim": Kind(5, "softmax over the batch in place of the classes.", "the softmax"),
    "wrong-loss": Kind(5, "A loss that does not fit what it is given, such as nll_loss of scores; or backward() of another loss.", "the loss, or the backward()",
        "Only you know what the loss is to measure: work out its value for one example by hand."),
    "shuffled-apart": Kind(5, "Inputs and labels in different orders.", "the shuffle, or the sort, that only one of them has",
        "Print a few inputs with their labels, after the shuffle: they tell whether these belong together."),
    "reversed": Kind(7, "The loss, or the gradient, has the wrong sign.", "where the sign is turned, or where a minus is missing",
        "What the loss is to do tells: a cost falls while a program learns, a reward rises."),
    "times-zero": Kind(2, "A product with 0, or a mask that lets nothing through.", "where the 0 or the mask is made"),
    "flat": Kind(2, "sign, round, floor: flat steps.", "the op"),
    "clamp": Kind(2, "clamp holds every number at its bound.", "the clamp"),
    "dead-relu": Kind(2, "A relu that gives 0 for every input.", "what set the weights before it, or the relu"),
    "saturated": Kind(2, "A saturated sigmoid, tanh or softmax.", "the op"),
    "equal-units": Kind(2, "Weights that begin equal, and so stay equal.", "the initialisation"),
    "alias": Kind(7, "A saved state that is no copy.", "where the state is taken",
        "If what is loaded is to be the state of now, all is well."),
    "used-twice": Kind(7, "One layer in several places, where each was to have its own.", "the second use, or the list that repeats it",
        "If the two places are to share their weights, all is well."),
    "graph-grows": Kind(6, "A sum or a list keeps the graph of every step.", "where it is added"),
    "retain-graph": Kind(6, "retain_graph=True without need.", "the backward()"),
    "vanishing": Kind(4, "Gradients shrink from layer to layer.", "the initialisation or activation that makes them, or the layers' call"),
    "exploding": Kind(4, "Gradients grow from layer to layer.", "the initialisation that makes them, or the layers' call"),
    "eval-mode": Kind(5, "Training steps in evaluation mode.", "the eval()",
        "If batch norm and dropout are to stay as in evaluation, as in some fine-tuning, all is well."),
    "rate-too-large": Kind(5, "The loss grows from step to step.", "where the optimizer is made, or the update"),
    "rate-too-small": Kind(5, "The steps move nothing.", "where the optimizer, or the scheduler, is made"),
    "made-anew": Kind(5, "A new optimizer or model for each step, or the same weights again.", "where it is made, or where the weights are put back"),
    "never-backward": Kind(5, "Steps without any backward().", "the step()"),
    "never-steps": Kind(5, "Backward passes without any step().", "the backward()"),
    "dropout-active": Kind(5, "Dropout in evaluation, on the outputs, or of nearly everything.", "the dropout, or where it is made",
        "If the outputs are to be random, as in Monte Carlo dropout, all is well."),
    "zero": Kind(2, "Some other op sends only zeros back.", "the op"),
    "unused": Kind(1, "Parameters that no op was given, as in a branch not taken.", "the condition, or where the layer is made"),
    "unlike-data": Kind(7, "Evaluation on numbers in another range than those of the training.", "where they are made, or come in",
        "If the network is meant to be tried on other data, all is well."),
    "unseeded": Kind(7, "Two runs that are compared begin with different random numbers.", "where the weights are made",
        "If the two runs need not begin alike, all is well."),
}  # fmt: skip
