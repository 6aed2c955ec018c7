"""A claim about autograd is a program: it runs on PyTorch and on tinygrad_edu, and everything visible is compared."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from .parity import ENGINES, Raised, attempt, differences, names, run, values_of, watch

__all__ = ["attempt", "failing", "leaf", "names", "noting", "same_on_both", "values_of", "warned", "watch"]

# An error of these kinds is a slip in the program itself, the same on both engines.
SLIPS = {"NameError", "UnboundLocalError", "SyntaxError", "ImportError", "ModuleNotFoundError"}


def same_on_both(program: Callable[..., Any]) -> Callable[..., None]:
    """A test that `program` gives the same on both engines; what it takes besides the engine, the test takes. An error
    is part of that where `attempt` catches it. How often the engine itself wrote to a gradient is its own business: a
    claim about versions returns `_version`."""

    def test(**given: Any) -> None:
        seen, ours = (run(lambda T: program(T, **given), ENGINES[name]) for name in ("torch", "tinygrad_edu"))
        assert not isinstance(seen, Raised), f"the program itself raises: {seen}"
        found = [line for line in differences(seen, ours) if ".version: " not in line]
        assert not found, "PyTorch and tinygrad_edu differ:\n" + "\n".join(found)
        assert not SLIPS & set(errors_in(seen["result"])), seen["result"]

    asked = [one for one in inspect.signature(program).parameters.values() if one.default is one.empty]
    test.__name__, test.__doc__, test.__module__ = program.__name__, program.__doc__, program.__module__
    vars(test)["__signature__"] = inspect.Signature(asked[1:])
    return test


def errors_in(value: Any) -> list[str]:
    """The types of all errors in what a program returned."""
    if isinstance(value, Raised):
        return [value[0]]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [name for v in inner for name in errors_in(v)]


def leaf(T: Any, *values: Any) -> Any:
    """A leaf that requires grad: of these numbers, or of some that no rule maps to itself."""
    data = values[0] if len(values) == 1 else list(values) or [0.5, -1.5, 2.0]
    return T.tensor(data, dtype=T.float64, requires_grad=True)


def told(value: Any) -> Any:
    """The numbers of what a hook is given."""
    if isinstance(value, tuple | list):
        return [told(v) for v in value]
    return None if value is None else values_of(value)


def noting(log: list[Any], label: str, result: Callable[[Any], Any] = lambda grad: None) -> Callable[..., Any]:
    """A hook that writes what it is given into `log`, and returns `result` of its first argument."""

    def hook(*args: Any) -> Any:
        log.append([label, *(told(a) for a in args)])
        return result(args[0])

    return hook


def failing(message: str) -> Callable[..., Any]:
    """A function that raises, whatever it is given."""

    def raises(*args: Any) -> Any:
        raise ValueError(message)

    return raises


def warned(action: Callable[[], Any]) -> list[Any]:
    """The warnings that `action` gives: of each its kind and its opening words."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        action()
    return [(w.category.__name__, str(w.message)[:24]) for w in heard]
