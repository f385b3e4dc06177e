"""Digests of bytes and files.

The algorithms are blake3, sha256, sha512, md5, crc64nvme (a checksum against accidental
damage) and git-blob (what `git hash-object --no-filters` prints).  Any number of them
is computed in one pass over the content.
"""

from __future__ import annotations

import errno
import operator
import os
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, overload

try:
    import _roar_hash
except ImportError as error:
    raise ImportError(
        f"roar.hash cannot be loaded ({error}): install BLAKE3 and libcrypto "
        "(Debian: librust-blake3-dev libssl-dev) and install roar again"
    ) from error

from ._checks import whole

if TYPE_CHECKING:  # they know it; Python 3.11 does not
    from typing_extensions import Buffer  # type: ignore[attr-defined]

__all__ = ["FileHash", "hash", "hash_file", "hash_files"]

AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]
PathT = TypeVar("PathT", bound=AnyPath)
Names = list[str] | tuple[str, ...]

MAX_THREADS = 256

# What these mean for a file that was to be hashed.  EAGAIN would be a
# BlockingIOError, which it is not.
CAUSES = {
    errno.EINVAL: (errno.EINVAL, "Not a regular file"),
    errno.EAGAIN: (errno.EBUSY, "It changed each time it was read, hash it when "
                                "no process writes to it"),
}


class FileHash(NamedTuple, Generic[PathT]):
    """The result of hash_files() for one file.

    path     the path as given
    size     in bytes; 0 if the file failed
    digests  {algorithm: lower-case hex}; empty if the file failed
    error    the exception that hash_file() would raise, or None
    """

    path: PathT
    size: int
    digests: dict[str, str]
    error: OSError | None

    @property
    def digest(self) -> str:
        """The digest of the first requested algorithm, in hex.

        Raises the error of a file that failed, so that code without a check for
        errors does not miss it.
        """
        if self.error is not None:
            raise self.error
        return next(iter(self.digests.values()))


def _names(algorithms: str | Names) -> tuple[str, ...]:
    if isinstance(algorithms, str):
        return (algorithms,)
    try:
        return tuple(algorithms)
    except TypeError:
        raise TypeError(
            "algorithms is a name or a list of names, not "
            f"{type(algorithms).__name__}") from None


def _is_main() -> bool:
    """Is this the thread where Python handles signals?"""
    return threading.get_ident() == threading.main_thread().ident


def _answer(digests: dict[str, str],
            algorithms: str | Names) -> str | dict[str, str]:
    return digests[algorithms] if isinstance(algorithms, str) else digests


def _encoded(path: AnyPath) -> bytes:
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"the path {path!r} contains a NUL, which no file "
                         "name can")
    return name


def _failure(number: int, path: AnyPath) -> OSError:
    number, text = CAUSES.get(number) or (number, os.strerror(number))
    return OSError(number, text, os.fspath(path))


def _hash(names: tuple[bytes, ...], algorithms: str | Names,
          threads: int) -> list[tuple[int, int, dict[str, str]]]:
    return _roar_hash.hash_files(names, _names(algorithms), threads, _is_main())


@overload
def hash(buffer: Buffer, algorithms: str = ...) -> str: ...
@overload
def hash(buffer: Buffer, algorithms: Names) -> dict[str, str]: ...


def hash(buffer: Buffer,
         algorithms: str | Names = "blake3") -> str | dict[str, str]:
    """Returns the digest of bytes in memory, in lower-case hex.

        roar.hash(b"abc")
        roar.hash(array, ["blake3", "sha256"])["sha256"]

    `buffer` is anything with C-contiguous memory: bytes, bytearray, memoryview, a
    NumPy array, the .numpy() of a tensor.  Only the bytes count, not shape or type.
    `algorithms` is one of blake3, sha256, sha512, md5, crc64nvme and git-blob, or
    a list of them; for a list, the result is a dict {algorithm: hex}.

    The BLAKE3 of a large buffer uses all CPUs.  Other Python threads run meanwhile
    and must not change the buffer; Ctrl-C interrupts.

    Raises TypeError if `buffer` is not a buffer, BufferError if it is not
    C-contiguous, and ValueError for an unknown algorithm.
    """
    digests = _roar_hash.hash_buffer(buffer, _names(algorithms), _is_main())
    return _answer(digests, algorithms)


@overload
def hash_file(path: AnyPath, algorithms: str = ...) -> str: ...
@overload
def hash_file(path: AnyPath, algorithms: Names) -> dict[str, str]: ...


def hash_file(path: AnyPath,
              algorithms: str | Names = "blake3",
              ) -> str | dict[str, str]:
    """Returns the digest of a file's content, in lower-case hex.

        roar.hash_file("model.pt")
        roar.hash_file("model.pt", ["blake3", "sha256"])["sha256"]

    `algorithms` and the result are as for hash().  The BLAKE3 of a large file uses all
    CPUs.  Other Python threads run meanwhile, and Ctrl-C interrupts.

    Raises OSError (FileNotFoundError, PermissionError, IsADirectoryError, ...) if the
    file cannot be read, or is not a regular file, which is never opened.  Also raises
    OSError if the file changed each time it was read: a returned digest is always that
    of content which the file had.
    """
    ((number, _, digests),) = _hash((_encoded(path),), algorithms, 0)
    if number:
        raise _failure(number, path)
    return _answer(digests, algorithms)


def hash_files(paths: Iterable[PathT],
               algorithms: str | Names = "blake3", *,
               threads: int = 0) -> list[FileHash[PathT]]:
    """Returns the digests of many files, in the given order.

        for file in roar.hash_files(paths):
            if file.error:
                print(file.path, file.error)
            else:
                print(file.path, file.size, file.digest)

    A file that fails does not stop the others: its `error` is set, and its `digest`
    raises that error.  `digests` has all requested `algorithms`.  `threads` is the
    number of threads, 0 for one per CPU.  Other Python threads run meanwhile, and
    Ctrl-C interrupts.

    Raises TypeError if a path is not a path, and ValueError for a path with a NUL or
    an unknown algorithm, before the first file is read.
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise TypeError("hash_files() takes a list of paths, hash_file() takes "
                        f"one, such as {paths!r}")
    threads = whole("threads", operator.index(threads), 0, MAX_THREADS)
    all_paths = tuple(paths)
    found = _hash(tuple(map(_encoded, all_paths)), algorithms, threads)
    return [FileHash(path, size, digests,
                     _failure(number, path) if number else None)
            for path, (number, size, digests) in zip(all_paths, found)]
