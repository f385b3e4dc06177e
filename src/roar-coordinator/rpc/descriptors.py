#!/usr/bin/env python3
"""descriptors.py - the output of protoc as a C table (descriptors.h).

usage: descriptors.py SET OUTPUT

SET is a FileDescriptorSet.  Its few fields that matter are read here, so that
the build needs no Python package for it.
"""

import sys

# Numbers of fields in google/protobuf/descriptor.proto.
SET_FILE = 1
FILE = {"name": 1, "package": 2, "import": 3, "message": 4, "enum": 5,
        "service": 6, "extension": 7}
MESSAGE = {"name": 1, "field": 2, "nested": 3, "enum": 4, "extension": 6,
           "oneof": 8}
ENUM_VALUE = 2
SERVICE_METHOD = 2
NAME = 1


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, bytes) of each length-delimited field; others are skipped."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            _, at = varint(data, at)
        elif key & 7 == 1:
            at += 8
        elif key & 7 == 5:
            at += 4
        else:
            length, at = varint(data, at)
            yield key >> 3, data[at:at + length]
            at += length


def of(data, number):
    return [value for n, value in fields(data) if n == number]


def name_of(data):
    return of(data, NAME)[0].decode()


def enum_symbols(data, scope):
    """Values of an enum are names of the scope around it."""
    yield scope + name_of(data)
    for value in of(data, ENUM_VALUE):
        yield scope + name_of(value)


def message_symbols(data, scope):
    own = scope + name_of(data)
    yield own
    for kind in ("field", "extension", "oneof"):
        for value in of(data, MESSAGE[kind]):
            yield f"{own}.{name_of(value)}"
    for value in of(data, MESSAGE["nested"]):
        yield from message_symbols(value, own + ".")
    for value in of(data, MESSAGE["enum"]):
        yield from enum_symbols(value, own + ".")


def scope_of(file):
    package = of(file, FILE["package"])
    return package[0].decode() + "." if package else ""


def services(file):
    return [(scope_of(file) + name_of(s), s)
            for s in of(file, FILE["service"])]


def file_symbols(file):
    scope = scope_of(file)
    for value in of(file, FILE["message"]):
        yield from message_symbols(value, scope)
    for value in of(file, FILE["enum"]):
        yield from enum_symbols(value, scope)
    for name, service in services(file):
        yield name
        for method in of(service, SERVICE_METHOD):
            yield f"{name}.{name_of(method)}"


def c_bytes(data):
    lines = [", ".join(str(b) for b in data[i:i + 16])
             for i in range(0, len(data), 16)]
    return ",\n\t".join(lines)


def write(files, out):
    index = {name_of(f): i for i, f in enumerate(files)}
    out.write("/* Made by descriptors.py. */\n#include \"rpc/descriptors.h\"\n\n")
    for i, file in enumerate(files):
        imports = [index[n.decode()] for n in of(file, FILE["import"])]
        out.write(f"static const uint8_t data_{i}[] = {{\n\t"
                  f"{c_bytes(file)}\n}};\n")
        out.write(f"static const uint16_t imports_{i}[] = {{ "
                  f"{', '.join(map(str, imports + [0]))} }};\n\n")
    out.write("const struct descriptor_file descriptor_files[] = {\n")
    for i, file in enumerate(files):
        n_imports = len(of(file, FILE["import"]))
        out.write(f"\t{{ \"{name_of(file)}\", data_{i}, sizeof(data_{i}), "
                  f"imports_{i}, {n_imports} }},\n")
    out.write("};\n\nconst struct descriptor_symbol descriptor_symbols[] = {\n")
    symbols = sorted((s.encode(), i) for i, f in enumerate(files)
                     for s in file_symbols(f))
    for symbol, i in symbols:
        out.write(f"\t{{ \"{symbol.decode()}\", {i} }},\n")
    out.write("};\n\nconst char *const descriptor_services[] = {\n")
    names = sorted(name for f in files for name, _ in services(f))
    for name in names:
        out.write(f"\t\"{name}\",\n")
    out.write("};\n\n")
    for what, n in (("files", files), ("symbols", symbols),
                    ("services", names)):
        out.write(f"const size_t descriptor_n_{what} = {len(n)};\n")


def main(source, target):
    with open(source, "rb") as f:
        files = of(f.read(), SET_FILE)
    with open(target, "w", encoding="utf-8") as out:
        write(files, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
