"""What programs import for work that several processes or devices share, and use only there (PyTorch: `torch.distributed.fsdp`, …).

A name with a capital letter is a class without instances, so `isinstance(x, DTensor)` is False; another name is a function. Both
refuse to be called.
"""

from __future__ import annotations

from typing import Any

__all__: list[str] = []

_SENTENCE = "{}: sharing work among processes is not built here. Leave it out: the program then runs in one process."


class _Kind(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(_SENTENCE.format(cls.__name__))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return name  # a choice, such as ShardingStrategy.FULL_SHARD


def stand_in(name: str) -> Any:
    """A class or function of this name, which can be imported and compared but not called."""
    if name[:1].isupper():
        return _Kind(name, (), {"__doc__": "Refused: there is one process here."})

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(_SENTENCE.format(name))

    refused.__name__ = refused.__qualname__ = name
    return refused


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    globals()[name] = made = stand_in(name)
    return made
