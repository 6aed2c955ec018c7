"""What the layers around the core give Tensor and Node, declared for the type checker."""

from typing import Any

class Declared:
    data: Any
    def __getattr__(self, name: str) -> Any: ...

class DeclaredOfNode:
    register_hook: Any
    register_prehook: Any
    __call__: Any
    @property
    def metadata(self) -> dict[Any, Any]: ...
