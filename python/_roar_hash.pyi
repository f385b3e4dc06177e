from typing import Any

ALGORITHMS: tuple[str, ...]

def hash_buffer(buffer: Any, algorithms: tuple[str, ...], is_main: bool,
                /) -> dict[str, str]: ...
def hash_files(paths: tuple[bytes, ...], algorithms: tuple[str, ...],
               threads: int, is_main: bool,
               /) -> list[tuple[int, int, dict[str, str]]]: ...
