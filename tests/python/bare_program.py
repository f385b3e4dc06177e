"""Moves items through arenas of both kinds, without NumPy and torch."""

import sys
sys.modules["numpy"] = None
sys.modules["torch"] = None
import roar
for copy in (True, False):
    with roar.Arena(1 << 20, copy=copy) as arena:
        arena.join("both")
        memory = arena.empty(5000)
        memory[:] = b"m" * 5000
        arena.send({"a": b"x" * 9000, "b": [1, None], "c": memory})
        item = arena.receive(timeout=5)
        assert item["a"] == b"x" * 9000 and item["b"] == [1, None]
        assert item["c"] == b"m" * 5000
        assert roar.collate_into(arena)([{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
print("moved")
