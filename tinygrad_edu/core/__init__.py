"""The heart of tinygrad_edu: what `y = w * x; y.backward()` runs, and nothing else. It reads in one evening, in this order:

1. `tensor.py`: an array, and what is kept beside it.
2. `node.py`: an op that was recorded. Edges lead to the nodes of its inputs; `AccumulateGrad` ends a path.
3. `op.py`: an op is a short class; `apply` computes it and asks for its node.
4. `plan.py`: what a node keeps for its rules, how it reads that back, and which rules it runs.
5. `engine.py`: a backward pass counts, takes the node that is ready, runs it, delivers what comes out.
6. `state.py`: the modes of a thread, in one object.

Nothing here knows what is built around it: hooks, views and in-place writes, saved-tensor hooks, anomaly mode, forward
mode, gradients of gradients. They subclass what is here, or hang an object where a class below leaves a place for one, and
cost nothing until somebody uses them.
"""
