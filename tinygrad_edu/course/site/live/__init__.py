"""Makes the site live: Python, NumPy and Graphviz in the reader's browser, and PyTorch's answers from a tape.

`parts` provides third-party files, each checked by its hash. `archive` packs them with our own code. `needs` says which
cells need PyTorch itself. `tape` stores what PyTorch did when the site was built. `page/` runs in the page and
`python/` in the worker; only there is the code that differs from Python on a computer.
"""
