"""Loading into a state that exists: the state and the checkpoint's tree, side by side."""

from __future__ import annotations

from collections.abc import MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any

from ._errors import CheckpointError
from ._sources import Source, is_buffer, is_numpy, is_sharded, is_torch, source_of
from ._state import Tree

if TYPE_CHECKING:
    from ._load import Checkpoint


class _Filling:
    def __init__(self, checkpoint: Checkpoint, strict: bool) -> None:
        self.checkpoint, self.strict = checkpoint, strict
        self.targets: list[tuple[str, Source]] = []

    def node(self, node: Tree, target: Any, path: tuple[str, ...]) -> Any:
        """What becomes of `target`: itself, if it is filled in place."""
        if _is_memory(target):
            return self.tensor(node, target, path)
        if isinstance(target, MutableMapping):
            return self.mapping(node, target, path)
        if isinstance(target, (MutableSequence, tuple)) and \
                not isinstance(target, bytearray):
            return self.sequence(node, target, path)
        return self.checkpoint.value(node)

    def tensor(self, node: Tree, target: Any, path: tuple[str, ...]) -> Any:
        where = ".".join(path)
        if not isinstance(node, dict) or "$tensor" not in node or "view" in node:
            self.view(node, target, where)
            return target
        name = node["$tensor"]
        info = self.checkpoint.tensors[name]
        source = source_of(target, where)
        if (source.stored, source.shape, source.program) != (
                info.dtype, info.shape, node.get("dtype")):
            raise CheckpointError(
                f"'{where}' is {source.program or source.stored} {list(source.shape)} "
                f"here, and {node.get('dtype') or info.dtype} {list(info.shape)} in step "
                f"{self.checkpoint.step}: give a tensor of that type and shape")
        self.targets.append((name, source))
        return target

    def view(self, node: Tree, target: Any, where: str) -> None:
        """A view is loaded by itself and copied; its base may not be wanted."""
        if not isinstance(node, dict) or "view" not in node or is_sharded(target):
            raise CheckpointError(f"'{where}' is a tensor here, but not in step "
                                  f"{self.checkpoint.step}: give a state of the same "
                                  "structure")
        if is_torch(target):
            target.copy_(self.checkpoint.value(node, "torch"))
        else:
            target[...] = self.checkpoint.value(node, "numpy")

    def mapping(self, node: Tree, target: MutableMapping[Any, Any],
                path: tuple[str, ...]) -> Any:
        children = self.children(node, path)
        for key in list(target):
            if key in children:
                target[key] = self.node(children[key], target[key], (*path, str(key)))
            elif self.strict:
                raise CheckpointError(
                    f"step {self.checkpoint.step} of '{self.checkpoint.url}' has no "
                    f"'{'.'.join((*path, str(key)))}': give a state of the same "
                    "structure, or strict=False")
        return target

    def children(self, node: Tree, path: tuple[str, ...]) -> dict[Any, Tree]:
        if isinstance(node, dict) and "$items" in node:
            return {self.checkpoint.value(k): v for k, v in node["$items"]}
        if isinstance(node, dict) and not any(k.startswith("$") for k in node):
            return node
        raise CheckpointError(f"'{'.'.join(path)}' is a dict here, but not in step "
                              f"{self.checkpoint.step}: give a state of the same structure")

    def sequence(self, node: Tree, target: Any, path: tuple[str, ...]) -> Any:
        items = node.get("$tuple") if isinstance(node, dict) else node
        if not isinstance(items, list) or (len(items) != len(target) and len(target)):
            raise CheckpointError(
                f"'{'.'.join(path)}' is a sequence of {len(target)} here, but not in step "
                f"{self.checkpoint.step}: give a state of the same structure")
        if not len(target):
            return self.checkpoint.value(node)
        values = [self.node(one, old, (*path, str(i)))
                  for i, (one, old) in enumerate(zip(items, target))]
        if isinstance(target, tuple):
            return tuple(values)
        target[:] = values
        return target


def _is_memory(target: Any) -> bool:
    """Is it a tensor that can be filled?  Bytes and NumPy's scalars are replaced."""
    if is_numpy(target):
        return hasattr(target, "flags") and target.flags.writeable and \
            hasattr(target, "resize")
    return is_sharded(target) or is_torch(target) or is_buffer(target)


def fill(checkpoint: Checkpoint, target: Any, strict: bool) -> Any:
    """Fills `target`; see Checkpoint.into()."""
    filling = _Filling(checkpoint, strict)
    result = filling.node(checkpoint.tree, target, ())
    checkpoint._fill(filling.targets)
    return result
