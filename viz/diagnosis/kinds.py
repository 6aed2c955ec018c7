"""The kinds of findings, each a cause by name. docs/diagnosis.md says what each means, and which line it names."""

import re

# The trouble that each shows as, see `GROUPS` in `finding`. A cause stands before its consequences.
_KINDS = """
in-place 6, second-backward 6, state-not-detached 6, rebound 1, requires-grad-off 1, item 1, numpy 1, new-tensor 1,
integer-op 1, data 1, detach 1, no-grad 1, inference-mode 1, not-scalar 1, cut 1, unregistered 1, wrong-backward 7,
data-write 7, not-kept 7, non-leaf 1, not-finite-input 3, half-range 3, where 3, sqrt-at-zero 3, norm-at-zero 3,
log-of-zero 3, zero-by-zero 3, overflow 3, not-finite 3, zero-before-step 5, step-before-backward 5, no-zero-grad 5,
stale-optimizer 5, not-in-optimizer 5, broadcast-loss 5, double-softmax 2, wrong-dim 5, reversed 7, times-zero 2,
flat 2, clamp 2, dead-relu 2, saturated 2, alias 7, used-twice 7, graph-grows 6, retain-graph 6, eval-mode 5,
vanishing 4, exploding 4, never-backward 5, never-steps 5, zero 2, unused 1"""
KINDS = {kind: int(group) for kind, group in re.findall(r"([\w-]+) (\d)", _KINDS)}

# For what can be intended: what decides whether it was, since no second run can tell.
TELLS = {
    "requires-grad-off": "Freezing can be meant: if this part is to stay as it is, all is well.",
    "not-kept": "If the call is left over, take it away.",
    "reversed": "What the loss is to do tells: a cost falls while a program learns, a reward rises.",
    "alias": "If it is to hold the numbers of now, or to stay as it began, all is well.",
    "used-twice": "If the two places are to share their weights, all is well.",
    "eval-mode": "If batch norm and dropout are to stay as in evaluation, as in some fine-tuning, all is well.",
}
