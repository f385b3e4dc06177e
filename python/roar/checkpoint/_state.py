"""A state as a JSON tree and a list of tensors, and back.  Nothing is pickled.

docs/checkpoint.md describes the notation.  Tensors that share memory are found by
their storages: the same tensor twice is one name twice, and a tensor that lies within
another one becomes a view of that.
"""

from __future__ import annotations

import base64
import functools
import math
import sys
from collections.abc import Callable, Hashable, Mapping
from typing import Any, cast

from ._errors import CheckpointDamaged
from ._sources import (Source, is_buffer, is_numpy, is_sharded, is_torch, source_of)

MAX_DEPTH = 64
Tree = Any      # what json.dumps() takes


def plain_text(text: str) -> bool:
    """Can every reader of JSON hold this string?"""
    if text.isascii():
        return "\0" not in text
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


_ENCODERS: tuple[tuple[Any, str], ...] = (
    (str, "_text"), (int, "_integer"), (float, "_float"), (complex, "_complex"),
    (bytes, "_bytes"), (bytearray, "_bytes"), (Mapping, "_dict"), (list, "_list"),
    (tuple, "_tuple"))


@functools.lru_cache
def _encoder_of(kind: type) -> str | None:
    return next((name for base, name in _ENCODERS if issubclass(kind, base)), None)


class Flat:
    """Trees and the tensors that they refer to; several trees share one set of names."""

    def __init__(self, rank: int = 0, world_size: int = 1) -> None:
        self.sources: dict[str, Source] = {}
        self._rank, self._world_size = rank, world_size
        self._known: dict[Any, Tree] = {}
        self._groups: dict[Any, list[tuple[dict[str, Any], Any]]] = {}

    def add(self, value: Any, root: str = "") -> Tree:
        """Flattens a value.  `root` begins the names of its tensors."""
        tree = self._node(value, (root,) if root else (), 0)
        self._settle()
        return tree

    # ---- the tree ----

    def _node(self, value: Any, path: tuple[str, ...], depth: int) -> Tree:
        if depth > MAX_DEPTH:
            raise ValueError(f"the state is nested deeper than {MAX_DEPTH} levels at "
                             f"'{'.'.join(path)[:200]}'")
        if value is None or isinstance(value, bool):
            return value
        encoder = _encoder_of(cast(Hashable, type(value)))
        if encoder is not None:
            return getattr(self, encoder)(value, path, depth)
        if is_sharded(value):
            return self._leaf(value, path)
        if is_torch(value) or is_numpy(value):
            return self._tensor(value, path)
        if is_buffer(value):
            return self._leaf(value, path)
        raise TypeError(
            f"'{'.'.join(path) or 'the state'}' is of {type(value)!r}, which a checkpoint "
            "cannot hold: use numbers, strings, bytes, lists, tuples, dicts and tensors, "
            "such as the state_dict() of the object")

    def _text(self, value: str, _path: Any, _depth: Any) -> Tree:
        text = str.__str__(value)
        if plain_text(text):
            return text
        raw = text.encode("utf-8", "surrogatepass")
        return {"$text": base64.b64encode(raw).decode()}

    def _integer(self, value: int, _path: Any, _depth: Any) -> Tree:
        number = int(value)
        return number if -1 << 63 <= number < 1 << 63 else {"$int": str(number)}

    def _float(self, value: float, _path: Any, _depth: Any) -> Tree:
        number = float(value)
        return number if math.isfinite(number) else {"$float": repr(number)}

    def _complex(self, value: complex, path: Any, depth: Any) -> Tree:
        return {"$complex": [self._float(value.real, path, depth),
                             self._float(value.imag, path, depth)]}

    def _bytes(self, value: bytes, path: tuple[str, ...], _depth: Any) -> Tree:
        name = self._name(path)
        self.sources[name] = source_of(memoryview(value), name, self._rank,
                                       self._world_size)
        return {"$bytes": name}

    def _tuple(self, value: Any, path: tuple[str, ...], depth: int) -> Tree:
        return {"$tuple": self._list(value, path, depth)}

    def _list(self, value: Any, path: tuple[str, ...], depth: int) -> Tree:
        return [self._node(x, (*path, str(i)), depth + 1) for i, x in enumerate(value)]

    def _dict(self, value: Mapping[Any, Any], path: tuple[str, ...], depth: int) -> Tree:
        if all(isinstance(k, str) and not k.startswith("$") and plain_text(k)
               for k in value):
            return {str(k): self._node(v, (*path, str(k)), depth + 1)
                    for k, v in value.items()}
        return {"$items": [[self._key(k, path), self._node(v, (*path, str(k)), depth + 1)]
                           for k, v in value.items()]}

    def _key(self, key: Any, path: tuple[str, ...]) -> Tree:
        if isinstance(key, (str, int, float, tuple)) or key is None:
            return self._node(key, path, 0)
        raise TypeError(f"a key of '{'.'.join(path)}' is of {type(key)!r}: use strings, "
                        "numbers or tuples of them")

    # ---- tensors ----

    def _name(self, path: tuple[str, ...]) -> str:
        """The keys joined by dots; a number follows where that name is taken."""
        wanted = ".".join(path) or "state"
        if not plain_text(wanted):
            wanted = wanted.encode("ascii", "backslashreplace").decode()
            wanted = wanted.replace("\0", "\\0")
        name, n = wanted, 1
        while name in self.sources or name == "__metadata__":
            n += 1
            name = f"{wanted}#{n}"
        return name

    def _leaf(self, value: Any, path: tuple[str, ...]) -> dict[str, Any]:
        name = self._name(path)
        source = source_of(value, name, self._rank, self._world_size)
        self.sources[name] = source
        leaf: dict[str, Any] = {"$tensor": name, "as": source.made_by}
        if source.program is not None:
            leaf["dtype"] = source.program
        return leaf

    def _tensor(self, value: Any, path: tuple[str, ...]) -> dict[str, Any]:
        """A leaf of a tensor that may share its storage with another one."""
        memory = _geometry(value)
        if memory is None:
            return self._leaf(value, path)
        if memory in self._known:
            return self._known[memory]
        leaf = self._leaf(value, path)
        self._known[memory] = leaf
        self._groups.setdefault(memory[0], []).append((leaf, value))
        return leaf

    def _settle(self) -> None:
        """Tensors within a larger, contiguous one of the same type become views of it."""
        for group in self._groups.values():
            if len(group) > 1:
                self._share(group)
        self._groups.clear()

    def _share(self, group: list[tuple[dict[str, Any], Any]]) -> None:
        whole = [entry for entry in group if _is_contiguous(entry[1])]
        if not whole:
            return
        base_leaf, base = max(whole, key=lambda entry: _span(entry[1]))
        for leaf, value in group:
            view = None if leaf is base_leaf else _view_of(base, value)
            if view is not None:
                del self.sources[leaf["$tensor"]]
                leaf["$tensor"] = base_leaf["$tensor"]
                leaf["view"] = view


# ---- memory that tensors share ----

def _storage(value: Any) -> Any:
    if is_torch(value):
        storage = value.untyped_storage() if hasattr(value, "untyped_storage") else \
            value.storage()
        return "torch", str(value.device), storage.data_ptr()
    base = value
    while getattr(base, "base", None) is not None and is_numpy(base.base):
        base = base.base
    return "numpy", id(base)


def _strides(value: Any) -> tuple[int, ...] | None:
    """In elements; None where they are not whole, or the memory runs backwards."""
    if is_torch(value):
        return tuple(value.stride())
    size = value.itemsize
    if not value.flags.c_contiguous and any(s < 0 or s % size for s in value.strides):
        return None
    return tuple(s // size for s in value.strides)


def _address(value: Any) -> int:
    return int(value.data_ptr() if is_torch(value) else
               value.__array_interface__["data"][0])


def _geometry(value: Any) -> Any:
    """What two tensors have in common if they are the same memory; None: it is not asked
    (scalars, empty tensors, complex ones, whose storage has another type)."""
    if is_torch(value):
        if value.is_complex() or value.layout is not sys.modules["torch"].strided or \
                value.device.type == "meta" or value.numel() == 0:
            return None
    elif not isinstance(value, sys.modules["numpy"].ndarray) or \
            value.dtype.kind == "c" or value.size == 0:
        return None
    strides = _strides(value)
    if strides is None:
        return None
    return _storage(value), _address(value), value.dtype, tuple(value.shape), strides


def _span(value: Any) -> int:
    """Elements from the first to the last one in memory."""
    strides = _strides(value) or ()
    return 1 + sum((n - 1) * s for n, s in zip(value.shape, strides))


def _is_contiguous(value: Any) -> bool:
    return bool(value.is_contiguous() if is_torch(value) else value.flags.c_contiguous)


def _view_of(base: Any, value: Any) -> list[Any] | None:
    """[offset, shape, strides] of `value` in the memory of `base`, or None."""
    if base.dtype != value.dtype:
        return None
    size = base.element_size() if is_torch(base) else base.itemsize
    distance = _address(value) - _address(base)
    if distance < 0 or distance % size:
        return None
    offset = distance // size
    if offset + _span(value) > _span(base):
        return None
    return [offset, list(value.shape), list(_strides(value) or ())]


# ---- and back ----

class Unflatten:
    """Makes the value of a tree.  `tensor(leaf)` and `raw(name)` deliver the content, and
    `inner(name)` the value of a tree that is stored as text."""

    def __init__(self, tensor: Callable[[dict[str, Any]], Any],
                 raw: Callable[[str], bytes], inner: Callable[[str], Any]) -> None:
        self._special: dict[str, Callable[[dict[str, Any]], Any]] = {
            "$tensor": tensor, "$bytes": lambda node: raw(node["$bytes"]),
            "$json": lambda node: inner(node["$json"]),
            "$tuple": lambda node: tuple(self.value(x) for x in node["$tuple"]),
            "$items": lambda node: {self.value(k): self.value(v)
                                    for k, v in node["$items"]},
            "$float": lambda node: float(node["$float"]),
            "$int": lambda node: int(node["$int"]),
            "$complex": lambda node: complex(*(self.value(x) for x in node["$complex"])),
            "$text": lambda node: base64.b64decode(
                node["$text"], validate=True).decode("utf-8", "surrogatepass")}

    def value(self, node: Tree) -> Any:
        if isinstance(node, list):
            return [self.value(x) for x in node]
        if not isinstance(node, dict):
            return node
        for key in node:
            if key.startswith("$"):
                return self._known(key)(node)
        return {k: self.value(v) for k, v in node.items()}

    def _known(self, key: str) -> Callable[[dict[str, Any]], Any]:
        try:
            return self._special[key]
        except KeyError:
            raise CheckpointDamaged(
                f"the state of this checkpoint has an object {key!r}, which this version "
                "of roar does not know: update roar") from None


def leaves_of(tree: Tree) -> list[dict[str, Any]]:
    """The objects of a tree that refer to tensors, in order."""
    if isinstance(tree, list):
        return [leaf for x in tree for leaf in leaves_of(x)]
    if not isinstance(tree, dict):
        return []
    if "$tensor" in tree or "$bytes" in tree or "$json" in tree:
        return [tree]
    return [leaf for x in tree.values() for leaf in leaves_of(x)]
