"""Trees of containers, and functions over their leaves (PyTorch: `torch.utils._pytree`).

A tree is a dict, list, tuple, named tuple, OrderedDict, defaultdict or deque, of trees. Anything else is a leaf, also None.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

__all__ = [
    "LeafSpec", "PyTree", "TreeSpec", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq",
    "key_get", "keystr", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten",
    "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_",
    "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten",
]  # fmt: skip

PyTree = Any
IsLeaf = Callable[[Any], bool] | None


class SequenceKey(NamedTuple):
    """A step into a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, tree: Any) -> Any:
        """The element at this position."""
        return tree[self.idx]


class MappingKey(NamedTuple):
    """A step into a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, tree: Any) -> Any:
        """The element at this key."""
        return tree[self.key]


class GetAttrKey(NamedTuple):
    """A step into an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, tree: Any) -> Any:
        """The value of this attribute."""
        return getattr(tree, self.name)


class _Kind(NamedTuple):
    """How to flatten and unflatten containers of one type."""

    flatten: Callable[[Any], tuple[list[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]
    keys: Callable[[Any], list[Any]] | None


def is_namedtuple_class(cls: type) -> bool:
    """True for a class of named tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple_instance(obj: object) -> bool:
    """True for a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """True for a named tuple, or a class of these."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq(obj: object) -> bool:
    """True for what a function of several results returns, such as `max` along a dimension."""
    cls = obj if isinstance(obj, type) else type(obj)
    return issubclass(cls, tuple) and cls.__module__.endswith("return_types")


def _mapping(make: Callable[[Any], Any]) -> _Kind:
    return _Kind(
        lambda d: (list(d.values()), list(d)),
        lambda values, keys: make(zip(keys, values, strict=True)),
        lambda d: [MappingKey(key) for key in d],
    )


def _numbered(sequence: Any) -> list[Any]:
    return [SequenceKey(i) for i in range(len(sequence))]


_DEFAULT = _Kind(
    lambda d: (list(d.values()), [d.default_factory, list(d)]),
    lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
    lambda d: [MappingKey(key) for key in d],
)
_NAMED = _Kind(
    lambda t: (list(t), type(t)),
    lambda values, cls: cls(*values),
    lambda t: [GetAttrKey(name) for name in t._fields],
)

SUPPORTED_NODES: dict[Any, _Kind] = {
    tuple: _Kind(lambda t: (list(t), None), lambda values, _: tuple(values), _numbered),
    list: _Kind(lambda t: (list(t), None), lambda values, _: list(values), _numbered),
    dict: _mapping(dict),
    OrderedDict: _mapping(OrderedDict),
    defaultdict: _DEFAULT,
    deque: _Kind(lambda d: (list(d), d.maxlen), lambda values, maxlen: deque(values, maxlen), _numbered),
}


def _namedtuple() -> None:
    """Represents the type of all named tuples in a TreeSpec."""


_namedtuple.__name__ = "namedtuple"


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Treat instances of `cls` as containers: `flatten_fn` returns (children, context), `unflatten_fn` takes both.

    Raises:
        ValueError: the class is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    keys = None if flatten_with_keys_fn is None else lambda tree: [key for key, _ in flatten_with_keys_fn(tree)[0]]
    SUPPORTED_NODES[cls] = _Kind(flatten_fn, unflatten_fn, keys)


_register_pytree_node = register_pytree_node


def _kind(tree: Any) -> tuple[Any, _Kind | None]:
    cls = type(tree)
    if cls in SUPPORTED_NODES:
        return cls, SUPPORTED_NODES[cls]
    if is_structseq(cls):
        return cls, _Kind(lambda t: (list(t), None), lambda values, _: cls(values), _numbered)
    return (_namedtuple, _NAMED) if is_namedtuple_class(cls) else (cls, None)


class TreeSpec:
    """The structure of a tree without its leaves: the container's type, its context, and its children."""

    __slots__ = ("_children", "_kind", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children: list[TreeSpec], _kind: _Kind | None = None) -> None:
        self.type, self.context, self._children = type, context, children
        self._kind = _kind if _kind is not None or type is None else SUPPORTED_NODES[type]
        self.num_children = len(children)
        self.num_nodes: int = 1 + sum(child.num_nodes for child in children)
        self.num_leaves: int = 1 if type is None else sum(child.num_leaves for child in children)

    def is_leaf(self) -> bool:
        """True for the structure of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the children."""
        return list(self._children)

    children_specs = property(children)

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and (self.type, self.context, self._children) == (
            other.type,
            other.context,
            other._children,
        )

    def __hash__(self) -> int:
        return hash((self.type, str(self.context), tuple(self._children)))

    def __repr__(self) -> str:
        return self._shown(2)

    def _shown(self, indent: int) -> str:
        if self.type is None:
            return "*"
        between = ",\n" + " " * indent
        return f"TreeSpec({self.type.__name__}, {self.context}, [{between.join(c._shown(indent + 2) for c in self._children)}])"

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A tree of this structure with these leaves.

        Raises:
            ValueError: there are more or fewer leaves than places.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._filled(iter(leaves))

    def _filled(self, leaves: Iterator[Any]) -> Any:
        if self._kind is None:
            return next(leaves)
        return self._kind.unflatten([child._filled(leaves) for child in self._children], self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of `tree` at the positions of the leaves; they may be trees themselves.

        Raises:
            ValueError: the tree does not have this structure.
        """
        if self.type is None:
            return [tree]
        cls, kind = _kind(tree)
        both_mappings = (
            isinstance(cls, type)
            and isinstance(self.type, type)
            and issubclass(cls, dict)
            and issubclass(self.type, dict)
        )
        if kind is None or (cls is not self.type and not both_mappings):
            expected = self.context if self.type is _namedtuple else self.type
            raise ValueError(f"Node type mismatch; expected {expected!r}, but got {type(tree)!r}.")
        children, context = kind.flatten(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if both_mappings:
            keys = self.context[1] if self.type is defaultdict else self.context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                message = f"; missing key(s): {missing}" if missing else ""
                message += f"; extra key(s): {extra}" if extra else ""
                raise ValueError(f"Node keys mismatch{message}.")
            children = [tree[key] for key in keys]
        elif self.type is not deque and context != self.context:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return [
            part for child, spec in zip(children, self._children, strict=True) for part in spec.flatten_up_to(child)
        ]


def LeafSpec() -> TreeSpec:
    """The structure of a leaf."""
    return TreeSpec(None, None, [])


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """True if `tree` is not a container, or `is_leaf` returns True."""
    return (is_leaf is not None and is_leaf(tree)) or _kind(tree)[1] is None


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, and the structure from which `tree_unflatten` rebuilds the tree.

    >>> from tinygrad_edu.utils._pytree import tree_flatten
    >>> tree_flatten({"a": [1, 2], "b": 3})[0]
    [1, 2, 3]
    """
    leaves: list[Any] = []

    def walk(tree: Any) -> TreeSpec:
        cls, kind = _kind(tree)
        if kind is None or (is_leaf is not None and is_leaf(tree)):
            leaves.append(tree)
            return LeafSpec()
        children, context = kind.flatten(tree)
        return TreeSpec(cls, context, [walk(child) for child in children], kind)

    spec = walk(tree)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """A tree of the structure `treespec` with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after the other."""
    return iter(tree_flatten(tree, is_leaf)[0])


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The tree with `func` applied to each leaf, and to the leaves of `rests` at the same position.

    >>> from tinygrad_edu.utils._pytree import tree_map
    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
    {'x': 11, 'y': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten([func(*args) for args in zip(leaves, *(spec.flatten_up_to(r) for r in rests), strict=True)])


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """As `tree_map`, for the side effects of `func`. Returns the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _is(kind: Any) -> Callable[[Any], bool]:
    """Whether something is of a type, of one of several, or meets a condition."""
    return (lambda x: isinstance(x, kind)) if isinstance(kind, type | tuple) else kind


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function leaves leaves of other types unchanged."""
    chosen = _is(type_or_types_or_pred)

    def wrapper(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return functools.wraps(func)(lambda x: func(x) if chosen(x) else x)

    return wrapper


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """The tree with `func` applied to each leaf of a type; the others stay."""
    chosen = _is(type_or_types_or_pred)
    return tree_map(lambda x: func(x) if chosen(x) else x, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """As `tree_map_only`, for the side effects of `func`. Returns the tree itself."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """True if `pred` is true for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """True if `pred` is true for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """True if `pred` is true for all leaves of a type."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """True if `pred` is true for some leaf of a type."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """Pairs of a path and the leaf it leads to."""

    def walk(tree: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
        kind = _kind(tree)[1]
        if kind is None or (is_leaf is not None and is_leaf(tree)):
            yield path, tree
            return
        if kind.keys is None:
            raise ValueError(
                f"Did not find a flatten_with_keys_fn for type: {type(tree)}: give one to register_pytree_node."
            )
        for key, child in zip(kind.keys(tree), kind.flatten(tree)[0], strict=True):
            yield from walk(child, (*path, key))

    return list(walk(tree, ()))


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """Pairs of a path and its leaf, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """As `tree_map`, but `func` also gets the path of each leaf, as its first argument."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(path, leaf, *more) for (path, leaf), *more in zip(found, *others, strict=True)])


def keystr(kp: Iterable[Any]) -> str:
    """A path as it is written in Python."""
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """The element at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj
