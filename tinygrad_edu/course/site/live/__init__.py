"""What makes the site live: Python, NumPy and Graphviz in the reader's browser, and PyTorch's answers from a tape.

`parts` brings what others built, each held to a hash; `archive` packs it with our own code; `needs` says which cells want
PyTorch itself; `tape` keeps what PyTorch did when the site was built. `page/` is what runs in the page, `python/` what runs in
the worker: there alone stands what differs from Python on a computer.
"""
