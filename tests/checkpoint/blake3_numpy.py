"""BLAKE3 by NumPy: digests, values of leaves, and the digest from these values.

Written from the specification, as a witness against the C code.  All chunks of a message are
lanes of the same operations, so 1 MiB takes about 30 ms.
"""

import functools

import numpy

CHUNK = 1024
START, END, PARENT, ROOT = 1, 2, 4, 8
IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
      0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
MIXES = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
         (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def _rotate(words, bits):
    return (words >> numpy.uint32(bits)) | (words << numpy.uint32(32 - bits))


def _mix(v, a, b, c, d, x, y):
    v[a] += v[b] + x
    v[d] = _rotate(v[d] ^ v[a], 16)
    v[c] += v[d]
    v[b] = _rotate(v[b] ^ v[c], 12)
    v[a] += v[b] + y
    v[d] = _rotate(v[d] ^ v[a], 8)
    v[c] += v[d]
    v[b] = _rotate(v[b] ^ v[c], 7)


def _compress(cv, block, counters, length, flags):
    """New chaining values (8, lanes) of blocks (16, lanes)."""
    lanes = block.shape[1]
    v = numpy.empty((16, lanes), "u4")
    v[:8] = cv
    v[8:12] = numpy.array(IV[:4], "u4")[:, None]
    v[12] = counters & 0xFFFFFFFF
    v[13] = counters >> 32
    v[14], v[15] = length, flags
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(MIXES):
            _mix(v, a, b, c, d, block[2 * i], block[2 * i + 1])
        block = block[list(ORDER)]
    return v[:8] ^ v[8:]


def _start(lanes):
    return numpy.repeat(numpy.array(IV, "u4")[:, None], lanes, axis=1)


def _full_chunks(words, first, last_flag):
    """Values (8, n) of n full chunks."""
    lanes = len(words) // (CHUNK // 4)
    blocks = words.reshape(lanes, 16, 16)
    counters = numpy.arange(first, first + lanes, dtype="u8")
    cv = _start(lanes)
    for i in range(16):
        flags = (START if i == 0 else 0) | (END | last_flag if i == 15 else 0)
        cv = _compress(cv, blocks[:, i, :].T.copy(), counters, 64, flags)
    return cv


def _short_chunk(data, number, last_flag):
    cv = _start(1)
    n_blocks = max(1, -(-len(data) // 64))
    for i in range(n_blocks):
        part = data[i * 64:i * 64 + 64]
        block = numpy.frombuffer(part.ljust(64, b"\0"), "<u4").reshape(16, 1)
        flags = (START if i == 0 else 0) | (END | last_flag if i == n_blocks - 1 else 0)
        cv = _compress(cv, block, numpy.array([number], "u8"), len(part), flags)
    return cv


def _join(values, is_root):
    """One value from those of all subtrees (8, n), which are of equal size but the last."""
    while values.shape[1] > 1:
        n = values.shape[1] // 2
        block = numpy.concatenate([values[:, 0:2 * n:2], values[:, 1:2 * n:2]])
        flags = PARENT | (ROOT if is_root and values.shape[1] == 2 else 0)
        joined = _compress(_start(n), block, numpy.zeros(n, "u8"), 64, flags)
        values = numpy.concatenate([joined, values[:, 2 * n:]], axis=1)
    return values.T.astype("<u4").tobytes()


def subtree(data, offset=0, is_root=True):
    """The value of the bytes at this offset of a message; the digest, if they are all of it."""
    return _subtree(bytes(data), offset, is_root)


@functools.lru_cache(64)    # tests read the same files again and again
def _subtree(data, offset, is_root):
    n_full = len(data) // CHUNK
    single = ROOT if is_root and len(data) <= CHUNK else 0
    first = offset // CHUNK
    parts = []
    if n_full:
        words = numpy.frombuffer(data, "<u4", n_full * CHUNK // 4)
        parts.append(_full_chunks(words, first, single))
    if len(data) % CHUNK or not data:
        parts.append(_short_chunk(data[n_full * CHUNK:], first + n_full, single))
    return _join(numpy.concatenate(parts, axis=1), is_root)


def leaf_values(data, leaf_bytes):
    """The values of all leaves of a file."""
    leaves = [data[at:at + leaf_bytes] for at in range(0, len(data), leaf_bytes)] or [b""]
    return [subtree(leaf, i * leaf_bytes, len(leaves) == 1)
            for i, leaf in enumerate(leaves)]


def root(values):
    """The digest of a file from the values of its leaves."""
    if len(values) == 1:
        return values[0]
    words = numpy.frombuffer(b"".join(values), "<u4").reshape(-1, 8).T
    return _join(words, True)
