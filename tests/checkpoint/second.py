"""A second implementation of the checkpoint format, from docs/checkpoint.md alone.

    write(base, step, {"w": array}, state={...})       a full checkpoint of one rank
    write_sharded(base, step, [parts of rank 0, ...])  one data file for each rank
    checkpoint = Second(base, step)                    reads and verifies everything
    checkpoint.tensor("w"), checkpoint.state()

It is plain: whole files in memory, NumPy arrays (types that NumPy lacks as unsigned
integers), no concern for speed.  With the package `safetensors` it lets that open each data file.
"""

import json
import math
import os
import re
import struct

import numpy

import blake3_numpy

try:
    import safetensors.numpy
except ImportError:
    safetensors = None

LEAF = 1 << 20
PAGE = 4096
MAGIC = b"roar-b3\0"
TYPES = {"BOOL": "?", "U8": "u1", "I8": "i1", "F8_E5M2": "u1", "F8_E4M3": "u1",
         "I16": "<i2", "U16": "<u2", "F16": "<f2", "BF16": "<u2", "I32": "<i4",
         "U32": "<u4", "F32": "<f4", "F64": "<f8", "I64": "<i8", "U64": "<u8"}
NAMES = {numpy.dtype(code): name for name, code in reversed(TYPES.items())
         if name != "BF16"}


class Refused(ValueError):
    """The checkpoint does not follow the format."""


def need(condition, *what):
    if not condition:
        raise Refused(" ".join(map(str, what)))


# ---- files ----

def stored_tree(data):
    values = blake3_numpy.leaf_values(data, LEAF)
    head = MAGIC + struct.pack("<IIQ", 1, LEAF, len(data))
    return head + b"".join(values), blake3_numpy.root(values).hex()


def read_tree(path, size, digest):
    with open(path, "rb") as f:
        stored = f.read()
    need(stored[:8] == MAGIC and len(stored) >= 56, path, "is not a tree")
    version, leaf, of = struct.unpack_from("<IIQ", stored, 8)
    need((version, leaf, of) == (1, LEAF, size), path, "is of another file")
    values = [stored[at:at + 32] for at in range(24, len(stored), 32)]
    need(len(values) == max(1, -(-size // LEAF)), path, "has", len(values), "leaves")
    need(blake3_numpy.root(values).hex() == digest, path, "has another digest")
    return values


def logical_file(tensors):
    """(its bytes, where each tensor begins) for {name: (dtype name, array)}."""
    order = sorted(tensors, key=lambda name: (-tensors[name][1].itemsize,
                                              name.encode()))
    header = {"__metadata__": {"format": "roar", "roar_checkpoint": "1"}}
    at, begins = 0, {}
    for name in order:
        dtype, array = tensors[name]
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [at, at + array.nbytes]}
        begins[name] = at
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % PAGE)
    content = struct.pack("<Q", len(text)) + text + b"".join(
        numpy.ascontiguousarray(tensors[name][1]).tobytes() for name in order)
    return content, {name: 8 + len(text) + begin for name, begin in begins.items()}


def read_header(content, where):
    (length,) = struct.unpack_from("<Q", content)
    need(8 + length <= len(content) and (8 + length) % PAGE == 0, where, "has a bad header")
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    need(metadata.get("roar_checkpoint") == "1", where, "has no mark in its header")
    at = 0
    for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = t["data_offsets"]
        size = math.prod(t["shape"]) * numpy.dtype(TYPES[t["dtype"]]).itemsize
        need((begin, end - begin) == (at, size), where, "has a hole before", name)
        at = end
    need(8 + length + at == len(content), where, "does not end with its last tensor")
    return header, 8 + length


# ---- writing ----

def write_file(path, content):
    with open(path, "xb") as f:
        f.write(content)
        f.flush()
        os.fsync(f.fileno())


def part_name(name, shape, offset, array):
    if tuple(array.shape) == tuple(shape):
        return name
    return f"{name}@{','.join(map(str, offset))}"


def write_rank(folder, rank, world, save, boxes):
    """Writes a rank's files.  `boxes` is {name: (dtype, whole shape, offset, array)}.

    Returns its object of `files` and its parts."""
    stem = f"data-{rank:05}-of-{world:05}-{save}"
    inside = {name: part_name(name, shape, offset, array)
              for name, (_, shape, offset, array) in boxes.items()}
    content, at = logical_file({inside[name]: (dtype, array)
                                for name, (dtype, _, _, array) in boxes.items()})
    tree, digest = stored_tree(content)
    write_file(f"{folder}/{stem}.safetensors", content)
    write_file(f"{folder}/{stem}.tree", tree)
    place = f"{os.path.basename(folder)}/{stem}.safetensors"
    file = {"rank": rank, "name": f"{stem}.safetensors", "size": len(content),
            "blake3": digest, "tree": f"{stem}.tree", "leaf_bytes": LEAF,
            "data_bytes": len(content),
            "extents": [[0, max(1, -(-len(content) // LEAF)), place, 0]]}
    tensors = {name: {"dtype": dtype, "shape": list(shape), "parts": [
        {"file": rank, "offset": list(offset), "shape": list(array.shape),
         "at": at[inside[name]]}]} for name, (dtype, shape, offset, array) in boxes.items()}
    return file, tensors


def sealed(manifest):
    """The text of a manifest, with its seal as the last member."""
    text = json.dumps(manifest, ensure_ascii=False).encode()[:-1]
    return text + b',"seal":"%s"}\n' % blake3_numpy.subtree(text).hex().encode()


def unsealed(text):
    need(blake3_numpy.subtree(text[:-76]).hex().encode() == text[-67:-3] and
         text[-76:-67] == b',"seal":"' and text[-3:] == b'"}\n', "the seal is wrong")
    return json.loads(text)


def write_sharded(base, step, ranks, state=None, save="5ec0d5ec", epoch=0, **members):
    """Writes a checkpoint of several ranks; `ranks` has the boxes of each."""
    folder = f"{base}/step-{step:012}"
    os.makedirs(folder)
    files, tensors = [], {}
    for rank, boxes in enumerate(ranks):
        file, parts = write_rank(folder, rank, len(ranks), save, boxes)
        files.append(file)
        for name, tensor in parts.items():
            tensors.setdefault(name, {**tensor, "parts": []})["parts"] += tensor["parts"]
    manifest = {"roar_checkpoint": 1, "step": step, "epoch": epoch, "save": save,
                "created": "2026-11-18T05:00:00Z", "world_size": len(ranks),
                "world_epoch": 0, "fencing_token": 0, "job": None, "parent": None,
                "metrics": {}, "tags": [], "data_position": None, "rng": None,
                "state": state, "files": files, "tensors": tensors, **members}
    write_file(f"{folder}/manifest.json.{save}", sealed(manifest))
    os.link(f"{folder}/manifest.json.{save}", f"{folder}/manifest.json")
    os.unlink(f"{folder}/manifest.json.{save}")


def write(base, step, tensors, state=None, **members):
    """Writes a checkpoint of one rank: {name: array}, or (dtype name, array)."""
    boxes = {}
    for name, thing in tensors.items():
        dtype, array = thing if isinstance(thing, tuple) else (NAMES[thing.dtype], thing)
        boxes[name] = (dtype, array.shape, [0] * array.ndim, array)
    if state is None:
        state = {name: {"$tensor": name} for name in tensors}
    write_sharded(base, step, [boxes], state, **members)


# ---- reading ----

class Second:
    """A checkpoint, with all of its files read and verified."""

    def __init__(self, base, step):
        self.base, self.folder = str(base), f"{base}/step-{step:012}"
        with open(f"{self.folder}/manifest.json", "rb") as f:
            self.manifest = unsealed(f.read())
        need(self.manifest["roar_checkpoint"] == 1, "this is another version")
        need(self.manifest["step"] == step, "the manifest is of another step")
        files = self.manifest["files"]
        need(len(files) == self.manifest["world_size"], "files are missing")
        need([f["rank"] for f in files] == list(range(len(files))), "ranks are mixed up")
        self.logical = [self._logical(file) for file in files]

    def _logical(self, file):
        values = read_tree(f"{self.folder}/{plain(file['tree'])}", file["size"],
                           file["blake3"])
        content = b"".join(self._extents(file, len(values)))
        need(len(content) == file["size"], file["name"], "has another size")
        need(blake3_numpy.leaf_values(content, LEAF) == values, file["name"], "is damaged")
        if file["name"] is not None:
            data_file(f"{self.folder}/{plain(file['name'])}", file["data_bytes"])
        read_header(content, file["tree"])
        return content

    def _extents(self, file, n_leaves):
        need(file["leaf_bytes"] == LEAF, "leaves of", file["leaf_bytes"])
        expected = 0
        for first, n, place, offset in file["extents"]:
            need(first == expected and n > 0, "a gap in the extents at leaf", first)
            folder, name = place.split("/")
            need(re.fullmatch(r"step-\d{12}", folder), place)
            expected += n
            length = min(expected * LEAF, file["size"]) - first * LEAF
            with open(f"{self.base}/{folder}/{plain(name)}", "rb") as f:
                f.seek(offset)
                content = f.read(length)
            need(len(content) == length, place, "is too short")
            yield content
        need(expected == n_leaves, "the extents end at leaf", expected)

    def tensor(self, name):
        """The whole tensor; types that NumPy lacks as unsigned integers."""
        tensor = self.manifest["tensors"][name]
        dtype, shape = numpy.dtype(TYPES[tensor["dtype"]]), tensor["shape"]
        whole = numpy.empty(shape, dtype)
        written = numpy.zeros(shape, "u1")
        for part in tensor["parts"]:
            content = self.logical[part["file"]]
            count = int(numpy.prod(part["shape"], dtype="u8"))
            box = tuple(slice(o, o + n) for o, n in zip(part["offset"], part["shape"]))
            need(part["at"] + count * dtype.itemsize <= len(content), name, "is outside")
            whole[box] = numpy.frombuffer(
                content, dtype, count, part["at"]).reshape(part["shape"])
            written[box] += 1
        need((written == 1).all(), name, "is not tiled by its parts")
        return whole

    def state(self):
        return self._value(self.manifest["state"])

    def _value(self, node):
        if isinstance(node, list):
            return [self._value(x) for x in node]
        if not isinstance(node, dict):
            return node
        kind = next((k for k in node if k.startswith("$")), None)
        if kind is None:
            return {k: self._value(v) for k, v in node.items()}
        return {"$tensor": self._tensor, "$bytes": self._bytes,
                "$tuple": lambda n: tuple(self._value(x) for x in n["$tuple"]),
                "$items": lambda n: {self._value(k): self._value(v)
                                     for k, v in n["$items"]},
                "$float": lambda n: float(n["$float"]),
                "$int": lambda n: int(n["$int"]),
                "$complex": lambda n: complex(*n["$complex"])}[kind](node)

    def _tensor(self, node):
        whole = self.tensor(node["$tensor"])
        if node.get("dtype") in ("complex64", "complex128"):
            whole = whole.view(node["dtype"])[..., 0]
        if "view" not in node:
            return whole
        offset, shape, strides = node["view"]
        return numpy.lib.stride_tricks.as_strided(
            whole.reshape(-1)[offset:], shape, [s * whole.itemsize for s in strides])

    def _bytes(self, node):
        return self.tensor(node["$bytes"]).tobytes()


def data_file(path, size):
    """Every reader of safetensors must accept a data file."""
    need(os.path.getsize(path) == size, path, "has another size")
    if safetensors is None:
        return
    with open(path, "rb") as f:
        header, _ = read_header(f.read(), path)
    with safetensors.safe_open(path, framework="np") as f:
        need(f.metadata()["roar_checkpoint"] == "1", path, "has no mark")
        need(set(f.keys()) == set(header), path, "has other tensors")


def plain(name):
    need("/" not in name and name not in (".", ".."), name, "is not a file name")
    return name
