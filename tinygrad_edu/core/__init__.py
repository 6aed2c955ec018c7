"""The heart of tinygrad_edu: what `y = w * x; y.backward()` runs, and nothing else. Read it in this order:

1. `tensor.py`: an array, or a number until somebody asks for the array, and what is kept beside it.
2. `node.py`: an op that was recorded. Edges lead to the nodes of its inputs; `AccumulateGrad` ends a path.
3. `op.py`: an op is a short class; `operator` and `apply` compute it and ask for its node, `_step` runs its rules.
4. `plan.py`: which rules a node runs, what it keeps for them, and how it is made.
5. `engine.py`: a backward pass counts, takes the node that is ready, runs it, delivers what comes out.
6. `state.py`: the modes of a thread, in one object.

Nothing here knows what is built around it: hooks, views and in-place writes, saved-tensor hooks, anomaly mode, forward
mode, gradients of gradients. These subclass the classes here, or attach an object where a class leaves a place for one.
They cost nothing until somebody uses them.
"""
