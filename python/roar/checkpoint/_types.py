"""Types of elements: safetensors' names, and those of torch and NumPy.

torch and NumPy (with ml_dtypes) call a type by the same name, such as "bfloat16", so one
table serves both.  A type that safetensors lacks is stored as another one of the same
bytes, and its name is kept beside the tensor.
"""

from __future__ import annotations

import re
import sys
from typing import Any, NamedTuple

SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "I16": 2, "U16": 2,
         "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "F64": 8, "I64": 8, "U64": 8}

_STORED = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "float8_e5m2": "F8_E5M2",
    "float8_e4m3fn": "F8_E4M3", "int16": "I16", "uint16": "U16", "float16": "F16",
    "bfloat16": "BF16", "int32": "I32", "uint32": "U32", "float32": "F32",
    "float64": "F64", "int64": "I64", "uint64": "U64"}
_PROGRAM = {stored: name for name, stored in _STORED.items()}

# Stored under another name: pairs of numbers, and types of one byte.
_PAIRS = {"complex32": "F16", "complex64": "F32", "complex128": "F64"}
_OTHERS = {"float8_e4m3fnuz": "U8", "float8_e5m2fnuz": "U8", "float8_e8m0fnu": "U8",
           "float4_e2m1fn_x2": "U8"}
_TIMES = re.compile(r"(datetime|timedelta)64(\[\w+\])?")
_FORMATS = {"?": "BOOL", "B": "U8", "b": "I8", "c": "U8", "h": "I16", "H": "U16",
            "e": "F16", "i": "I32", "I": "U32", "f": "F32", "d": "F64", "q": "I64",
            "Q": "U64", "l": "I64", "L": "U64"}
_BUFFERS = {stored: form for form, stored in reversed(_FORMATS.items())}


class Kind(NamedTuple):
    """How the elements of a type are stored."""

    stored: str             # safetensors' name
    program: str | None     # the name in the program, where it says more
    pair: bool = False      # two numbers each


def kind_of(name: str) -> Kind | None:
    """The kind of a type of torch or NumPy; None: it cannot be stored."""
    if name in _STORED:
        return Kind(_STORED[name], None)
    if name in _PAIRS:
        return Kind(_PAIRS[name], name, True)
    if name in _OTHERS:
        return Kind(_OTHERS[name], name)
    if _TIMES.fullmatch(name):
        return Kind("I64", name)
    return None


def is_pair(program: str | None) -> bool:
    return program in _PAIRS


def kind_of_format(form: str) -> Kind | None:
    """The kind of a buffer's elements, from the format of the struct module."""
    stored = _FORMATS.get(form.lstrip("@=<"))
    return Kind(stored, None) if stored else None


def torch_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def torch_type(torch: Any, stored: str, program: str | None) -> Any:
    """torch's type, or None where this torch does not have it."""
    return getattr(torch, program or _PROGRAM[stored], None)


def numpy_type(numpy: Any, stored: str, program: str | None) -> Any:
    """NumPy's type, or None where it does not have it."""
    name = program or _PROGRAM[stored]
    try:
        found = numpy.dtype(name)
    except TypeError:
        try:
            import ml_dtypes  # type: ignore
        except ImportError:
            return None
        found = getattr(ml_dtypes, name, None)
        return None if found is None else numpy.dtype(found)
    return found


def buffer_format(stored: str) -> str | None:
    """What memoryview.cast() takes; None for types that the struct module lacks."""
    return _BUFFERS.get(stored)


assert sys.byteorder == "little", "roar runs on little-endian machines"
