"""What the layers around the core bind to Tensor, declared for the type checker: `python tests/support/declare.py` writes it.

Parameters have the names and defaults of our own functions. What a method gives is read off PyTorch's own stub, where that
says it in types that we have; a method that PyTorch has not, or that gives several things, gives Any.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import tinygrad_edu
from tinygrad_edu.seam.names import NAMES

STUB = Path(tinygrad_edu.__file__).with_name("declared.pyi")
START = "    # Bound, in the order of the alphabet. Written by tests/support/declare.py.\n"
END = "\nclass DeclaredOfView:"

# A type in PyTorch's stub, and how ours says it.
TYPES = {
    "Tensor": "Tensor",
    "Self": "Tensor",
    "tuple[Tensor, ...]": "tuple[Tensor, ...]",
    "Sequence[Tensor]": "tuple[Tensor, ...]",
    "_bool": "builtins.bool",
    "_int": "builtins.int",
    "_float": "builtins.float",
    "None": "None",
    "list": "list[Any]",
    "numpy.ndarray": "np.ndarray",
}

# Where `ops.binding.public` says that its functions are.
PUBLIC = ("tinygrad_edu", "tinygrad_edu.linalg", "tinygrad_edu.nn.functional")

NOT_BOUND = {
    "__dict__",
    "__weakref__",
    "__doc__",
    "__module__",
    "__annotations__",
    "__abstractmethods__",
    "__orig_bases__",
    "__static_attributes__",  # of Python 3.13
    "__firstlineno__",
}


def load_all() -> None:
    """Import all that the seam's table names: what it binds is on Tensor then."""
    for modules in NAMES.values():
        for module in modules:
            importlib.import_module(f"tinygrad_edu.{module}")


def names() -> list[str]:
    """What Tensor has, beside what its own file in the core defines and what only says that it is absent."""
    tensor = tinygrad_edu.Tensor
    load_all()
    module = ast.parse(inspect.getsource(sys.modules["tinygrad_edu.core.tensor"]))
    (tree,) = (node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    own |= {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    kept = [name for name in vars(tensor) if name not in vars(object)]
    absent = {name for name in kept if type(vars(tensor)[name]).__name__ == "_Absent"}
    return sorted(set(kept) - own - absent - NOT_BOUND)


def results() -> dict[str, str]:
    """What each method of PyTorch's Tensor gives, in our types; a name is left out where its overloads differ."""
    stub = Path(torch.__file__).with_name("_C") / "__init__.pyi"
    base = next(
        node
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name == "TensorBase"
    )
    given: dict[str, set[str]] = {}
    for node in base.body:
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            given.setdefault(node.name, set()).add(ast.unparse(node.returns))
    return {name: TYPES[kinds.pop()] for name, kinds in given.items() if len(kinds) == 1 and kinds <= TYPES.keys()}


def parameters(name: str, function: Any) -> list[str]:
    """The parameters after the tensor itself. The functions of `ops` take `out=` too, and NumPy's names of `dim`."""
    if name.startswith("__"):
        return ["*args: Any", "**kwargs: Any"]
    written, stars = [], False
    for p in list(inspect.signature(function).parameters.values())[1:]:
        if p.kind is p.KEYWORD_ONLY and not stars:
            written.append("*")
        stars = stars or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        written.append(f"{star}{p.name}: Any" + (" = ..." if p.default is not p.empty else ""))
    if function.__module__ in PUBLIC and not (written and written[-1].startswith("**")):
        written.append("**kwargs: Any")
    return written


def line(name: str, gives: str) -> str:
    """The declaration of one name."""
    value = inspect.getattr_static(tinygrad_edu.Tensor, name)
    if isinstance(value, property | type) or not callable(getattr(tinygrad_edu.Tensor, name)):
        return f"    {name}: {gives}\n"
    if isinstance(value, staticmethod):
        return f"    @staticmethod\n    def {name}(*args: Any, **kwargs: Any) -> {gives}: ...\n"
    if isinstance(value, classmethod):
        return f"    @classmethod\n    def {name}(cls, *args: Any, **kwargs: Any) -> {gives}: ...\n"
    return f"    def {name}({', '.join(['self', *parameters(name, value)])}) -> {gives}: ...\n"


def declared(stub: str) -> str:
    """The stub with its list of bound names written anew."""
    before, _, rest = stub.partition(START)
    given = results()
    return (
        before + START + "".join(line(name, given.get(name, "Any")) for name in names()) + END + rest.partition(END)[2]
    )


if __name__ == "__main__":
    STUB.write_text(declared(STUB.read_text(encoding="utf-8")), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", STUB], check=True)
