"""What the layers around the core bind to Tensor, declared for the type checker: `python tests/support/declare.py` writes it."""

from __future__ import annotations

import inspect
from pathlib import Path

import tinygrad_edu

STUB = Path(tinygrad_edu.__file__).with_name("declared.pyi")
START = "    # Bound, in the order of the alphabet. Written by tests/support/declare.py.\n"
END = "\nclass DeclaredOfNode:"


def names() -> list[str]:
    """What Tensor has, beside what its own file in the core defines and what only says that it is absent."""
    tensor = tinygrad_edu.Tensor
    source = inspect.getsource(inspect.getmodule(tensor))
    kept = [name for name in vars(tensor) if name not in vars(object) and not name.startswith("__m")]
    kept = [name for name in kept if type(vars(tensor)[name]).__name__ != "_Absent" and name not in NOT_BOUND]
    return sorted(name for name in kept if f"def {name}(" not in source and f"    {name}:" not in source)


NOT_BOUND = {
    "__dict__",
    "__weakref__",
    "__doc__",
    "__annotations__",
    "__abstractmethods__",
    "_volatile",
    "__orig_bases__",
}


def line(name: str) -> str:
    """The declaration of one name."""
    value = inspect.getattr_static(tinygrad_edu.Tensor, name)
    if isinstance(value, property) or not callable(getattr(tinygrad_edu.Tensor, name)):
        return f"    {name}: Any\n"
    if isinstance(value, staticmethod):
        return f"    @staticmethod\n    def {name}(*args: Any, **kwargs: Any) -> Any: ...\n"
    if isinstance(value, classmethod):
        return f"    @classmethod\n    def {name}(cls, *args: Any, **kwargs: Any) -> Any: ...\n"
    return f"    def {name}(self, *args: Any, **kwargs: Any) -> Any: ...\n"


def declared(stub: str) -> str:
    """The stub with its list of bound names written anew."""
    before, _, rest = stub.partition(START)
    return before + START + "".join(map(line, names())) + END + rest.partition(END)[2]


if __name__ == "__main__":
    STUB.write_text(declared(STUB.read_text(encoding="utf-8")), encoding="utf-8")
