#!/usr/bin/env python3
"""Turns a compiled BPF object into C tables that the loader can use as they are.

    embed.py NAME OBJECT OUTPUT

All that does not depend on the running kernel happens here, once: each program is
joined with the functions it calls, references to maps and constants become a list,
and each field of a kernel type that an instruction needs is written down by name.
What is left for run time is to find those fields in the kernel's type information
and to put the numbers in (load.c).  The types are those of image.h."""

import hashlib
import struct
import sys

R_LD_IMM64, R_CALL = 1, 10
PSEUDO_CALL, PSEUDO_FUNC = 1, 4
STT_SECTION, STT_FUNC = 3, 2
INT, PTR, ARRAY, STRUCT, UNION, ENUM, FUNC, FUNC_PROTO, VAR, DATASEC = (
    1, 2, 3, 4, 5, 6, 12, 13, 14, 15)
EXTERN = 2
TRAILER = {INT: (4, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12),
           ENUM: (0, 8), FUNC_PROTO: (0, 8), VAR: (4, 0), DATASEC: (0, 12),
           17: (4, 0), 19: (0, 12)}
FIELD_OFFSET, FIELD_EXISTS, TYPE_ID, FUNCTION_ID = 0, 2, 7, 100


class Elf:
    """Sections, symbols and relocations of a 64-bit little-endian object."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF object")
        self.data = data
        shoff, = struct.unpack_from("<Q", data, 40)
        shentsize, shnum, shstrndx = struct.unpack_from("<HHH", data, 58)
        heads = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize)
                 for i in range(shnum)]
        names = heads[shstrndx]
        self.names = [self.string(names[4], h[0]) for h in heads]
        self.bytes = [data[h[4]:h[4] + h[5]] if h[1] != 8 else b""
                      for h in heads]
        self.symbols, self.relocations = [], {}
        for head, body in zip(heads, self.bytes):
            if head[1] == 2:
                strings = heads[head[6]][4]
                for i in range(0, len(body), 24):
                    name, info, _, shndx, value, size = struct.unpack_from(
                        "<IBBHQQ", body, i)
                    self.symbols.append((self.string(strings, name), info & 15,
                                         shndx, value, size))
        for head, body in zip(heads, self.bytes):
            if head[1] == 9:
                self.relocations[head[7]] = {
                    offset: (info & 0xffffffff, info >> 32)
                    for offset, info in struct.iter_unpack("<QQ", body)}

    def string(self, base, offset):
        end = self.data.index(b"\0", base + offset)
        return self.data[base + offset:end].decode()

    def section(self, name):
        return self.names.index(name) if name in self.names else None


class Btf:
    """The object's own types."""

    def __init__(self, data):
        hdr_len, type_off, type_len, str_off, str_len = struct.unpack_from(
            "<IIIII", data, 4)
        self.data = data
        self.type_at = hdr_len + type_off
        self.strings = data[hdr_len + str_off:hdr_len + str_off + str_len]
        self.types = [None]
        at, end = self.type_at, self.type_at + type_len
        while at < end:
            name, info, size = struct.unpack_from("<III", data, at)
            kind, vlen = info >> 24 & 31, info & 0xffff
            fixed, each = TRAILER.get(kind, (0, 0))
            self.types.append((kind, self.string(name), vlen, size, at))
            at += 12 + fixed + each * vlen

    def string(self, offset):
        return self.strings[offset:self.strings.index(b"\0", offset)].decode()

    def members(self, type_id):
        """Name and type of each member."""
        _, _, vlen, _, at = self.types[type_id]
        return [(self.string(n), t) for n, t, _ in (
            struct.unpack_from("<III", self.data, at + 12 + 12 * i)
            for i in range(vlen))]

    def plain(self, type_id):
        """The type below typedefs and qualifiers."""
        while self.types[type_id][0] in (8, 9, 10, 11, 18):
            type_id = self.types[type_id][3]
        return type_id

    def size(self, type_id):
        type_id = self.plain(type_id)
        kind, _, _, size, at = self.types[type_id]
        if kind == PTR:
            return 8
        if kind == ARRAY:
            elem, _, n = struct.unpack_from("<III", self.data, at + 12)
            return n * self.size(elem)
        return size

    def array_length(self, type_id):
        return struct.unpack_from("<III", self.data,
                                  self.types[type_id][4] + 12)[2]

    def field(self, type_id, access):
        """(type name, [member names], bytes behind them) of an access string like
        "0:3:1"."""
        type_id = self.plain(type_id)
        name = self.types[type_id][1].split("___")[0]
        path, extra = [], 0
        for index in access.split(":")[1:]:
            if self.types[type_id][0] == ARRAY:
                element, _, _ = struct.unpack_from(
                    "<III", self.data, self.types[type_id][4] + 12)
                extra += int(index) * self.size(element)
                type_id = self.plain(element)
                continue
            member, type_id = self.members(type_id)[int(index)]
            type_id = self.plain(type_id)
            path.append(member)
        return name, [p for p in path if p], extra

    def for_kernel(self):
        """Without what a linker would have to fill in: variables become integers
        of one byte, the sections that list them structs of integers, and
        functions of the kernel mere pointers."""
        out = bytearray(self.data)
        number = next(i for i, t in enumerate(self.types) if t and t[0] == INT
                      and t[3] == 4)
        for kind, _, vlen, _, at in self.types[1:]:
            if kind == VAR:
                struct.pack_into("<III", out, at + 4, INT << 24, 1, 8)
            elif kind == FUNC and vlen == EXTERN:
                struct.pack_into("<II", out, at, 0, PTR << 24)
            elif kind == DATASEC:
                struct.pack_into("<III", out, at, 0, STRUCT << 24 | vlen,
                                 4 * vlen)
                for i in range(vlen):
                    struct.pack_into("<III", out, at + 12 + 12 * i, 0, number,
                                     32 * i)
        return bytes(out)


def ext_records(data, btf, offset_at):
    """Records of a part of .BTF.ext: {section: [tuple of words]}."""
    hdr_len, = struct.unpack_from("<I", data, 4)
    off, length = struct.unpack_from("<II", data, offset_at)
    at, end = hdr_len + off, hdr_len + off + length
    size, = struct.unpack_from("<I", data, at)
    at += 4
    out = {}
    while at < end:
        name, n = struct.unpack_from("<II", data, at)
        at += 8
        out[btf.string(name)] = [
            struct.unpack_from(f"<{size // 4}I", data, at + i * size)
            for i in range(n)]
        at += n * size
    return out


class Maps:
    """Map definitions, as the types of the variables in .maps tell them."""

    WORDS = ("type", "key_size", "value_size", "max_entries", "map_flags")

    def __init__(self, btf):
        self.btf, self.list = btf, []
        section = next(i for i, t in enumerate(btf.types)
                       if t and t[0] == DATASEC and t[1] == ".maps")
        _, _, vlen, _, at = btf.types[section]
        for i in range(vlen):
            var, _, _ = struct.unpack_from("<III", btf.data, at + 12 + 12 * i)
            _, name, _, type_id, _ = btf.types[var]
            self.list.append(self.define(name, type_id))

    def define(self, name, type_id):
        btf, d = self.btf, dict.fromkeys(self.WORDS, 0)
        d.update(name=name, key_type=0, value_type=0, inner=None)
        for member, pointer in btf.members(btf.plain(type_id)):
            if member == "values":
                element, _, _ = struct.unpack_from(
                    "<III", btf.data, btf.types[pointer][4] + 12)
                element = btf.plain(element)
                if btf.types[element][0] == PTR:
                    element = btf.types[element][3]
                d["inner"] = self.define("", element)
                d["value_size"] = 4
                continue
            target = btf.types[pointer][3]
            if member in ("key", "value"):
                d[member + "_type"] = target
                d[member + "_size"] = btf.size(target)
            else:
                d[member] = btf.array_length(target)
        return d

    def index(self, name):
        return next(i for i, m in enumerate(self.list) if m["name"] == name)


class Program:
    """One program with all functions it needs behind it."""

    def __init__(self, image, section):
        self.image = image
        self.section = image.elf.names[section]
        self.insns, self.map_refs, self.core, self.funcs = [], [], [], []
        self.placed, self.pending = {}, []
        name, _, _, start, size = next(
            s for s in image.elf.symbols
            if s[1] == STT_FUNC and s[2] == section)
        self.name = name
        self.add(section, start, size)
        while self.pending:
            at, target = self.pending.pop(0)
            if target not in self.placed:
                self.add(*image.function(*target))
            self.patch_call(at, self.placed[target])

    def patch_call(self, at, target):
        word = self.insns[at]
        self.insns[at] = (word & 0xffffffff |
                          (target - at - 1 & 0xffffffff) << 32)

    def add(self, section, start, size):
        """Copies a function and notes what its instructions refer to."""
        base = len(self.insns)
        self.placed[(section, start)] = base
        body = self.image.elf.bytes[section][start:start + size]
        self.insns += [w for w, in struct.iter_unpack("<Q", body)]
        relocations = self.image.elf.relocations.get(section, {})
        for i in range(size // 8):
            at = start + 8 * i
            if at in relocations:
                self.relocate(base + i, *relocations[at])
            elif self.is_call(base + i):
                imm = self.imm(base + i)
                self.pending.append(
                    (base + i, (section, at + 8 * (imm + 1))))
        name = self.image.elf.names[section]
        for offset, type_id, *_ in self.image.func_info.get(name, []):
            if start <= offset < start + size:
                self.funcs.append((base + (offset - start) // 8, type_id))
        for offset, type_id, access, kind in self.image.core.get(name, []):
            if start <= offset < start + size:
                field = self.image.field(type_id, access)
                if kind not in (FIELD_OFFSET, FIELD_EXISTS, TYPE_ID):
                    raise ValueError(f"relocation of kind {kind}")
                self.core.append((base + (offset - start) // 8, kind, field))

    def is_call(self, i):
        return (self.insns[i] & 0xff == 0x85 and
                self.insns[i] >> 12 & 15 == PSEUDO_CALL)

    def imm(self, i):
        value = self.insns[i] >> 32
        return value - (1 << 32) if value >> 31 else value

    def relocate(self, i, kind, symbol):
        name, sym_type, section, value, _ = self.image.elf.symbols[symbol]
        where = self.image.elf.names[section]
        if kind == R_CALL and section == 0:
            self.core.append((i, FUNCTION_ID, self.image.note(name, [])))
        elif kind == R_CALL:
            target = value + 8 * (self.imm(i) + 1)
            self.pending.append((i, (section, target)))
        elif kind == R_LD_IMM64 and where == ".maps":
            self.map_refs.append((i, self.image.maps.index(name), 0))
        elif kind == R_LD_IMM64 and where == ".rodata":
            self.map_refs.append((i, -1, value + self.imm(i)))
        elif kind == R_LD_IMM64 and sym_type in (STT_SECTION, STT_FUNC):
            self.insns[i] = (self.insns[i] & ~0xf000) | PSEUDO_FUNC << 12
            target = value + self.imm(i)
            self.pending.append((i, (section, target)))
        else:
            raise ValueError(f"reference to {name} in {where}")


class Image:
    """All of an object."""

    def __init__(self, data):
        self.elf = Elf(data)
        btf_data = self.elf.bytes[self.elf.section(".BTF")]
        ext = self.elf.bytes[self.elf.section(".BTF.ext")]
        self.btf = Btf(btf_data)
        self.func_info = ext_records(ext, self.btf, 8)
        self.core = ext_records(ext, self.btf, 24)
        self.maps = Maps(self.btf)
        self.fields = []
        rodata = self.elf.section(".rodata")
        self.rodata = self.elf.bytes[rodata] if rodata else b""
        self.programs = [Program(self, i)
                         for i, name in enumerate(self.elf.names)
                         if name.startswith(("tp_btf/", "raw_tp/", "fentry/",
                                             "fexit/"))]
        self.id = hashlib.sha256(data).hexdigest()[:16]

    def constant(self, name):
        """Where it is among the constants."""
        return next(s[3] for s in self.elf.symbols if s[0] == name)

    def function(self, section, start):
        return next((section, start, s[4]) for s in self.elf.symbols
                    if s[1] == STT_FUNC and s[2] == section and s[3] == start)

    def field(self, type_id, access):
        return self.note(*self.btf.field(type_id, self.btf.string(access)))

    def note(self, name, path, extra=0):
        field = (name, path, extra)
        if field not in self.fields:
            self.fields.append(field)
        return self.fields.index(field)


def quote(word):
    return f'"{word}"'


def words(values, per_line=4):
    lines = [", ".join(f"{v:#x}" for v in values[i:i + per_line])
             for i in range(0, len(values), per_line)]
    return ",\n\t".join(lines)


def write_map(m):
    return (f'{{ "{m["name"]}", {m["type"]}, {m["key_size"]}, '
            f'{m["value_size"]}, {m["max_entries"]}, {m["map_flags"]}, '
            f'{m["key_type"]}, {m["value_type"]}, '
            f'{m["inner"]["type"] if m["inner"] else 0}, '
            f'{m["inner"]["max_entries"] if m["inner"] else 0} }}')


def write_program(i, p, out):
    out.append(f"static const uint64_t insns_{i}[] = {{\n\t"
               f"{words(p.insns)}\n}};")
    refs = ",\n\t".join(f"{{ {a}, {m}, {o} }}" for a, m, o in p.map_refs)
    out.append(f"static const struct image_ref refs_{i}[] = {{\n\t{refs}\n}};")
    core = ",\n\t".join(f"{{ {a}, {k}, {f} }}" for a, k, f in p.core)
    out.append(f"static const struct image_core core_{i}[] = {{\n\t{core}\n}};")
    funcs = ",\n\t".join(f"{{ {a}, {t} }}" for a, t in sorted(p.funcs))
    out.append(f"static const struct image_func funcs_{i}[] = {{\n\t{funcs}\n}};")
    kind, target = p.section.split("/")
    return (f'{{ "{p.name}", IMAGE_{kind.upper()}, "{target}", insns_{i}, '
            f"refs_{i}, core_{i}, funcs_{i}, {len(p.insns)}, "
            f"{len(p.map_refs)}, {len(p.core)}, {len(p.funcs)} }}")


def write(name, image):
    out = ["/* Made by embed.py. */", '#include "trace/ebpf/image.h"']
    rows = [write_program(i, p, out) for i, p in enumerate(image.programs)]
    lists = {
        "struct image_program programs": rows,
        "struct image_map maps": [write_map(m) for m in image.maps.list],
        "struct image_field fields": [
            f'{{ "{t}", {{ {", ".join([quote(p) for p in path] or ["NULL"])} }}, '
            f'{extra} }}' for t, path, extra in image.fields],
    }
    for declaration, values in lists.items():
        body = ",\n\t".join(values)
        out.append(f"static const {declaration}[] = {{\n\t{body}\n}};")
    for label, data in (("types", image.btf.for_kernel()),
                        ("rodata", image.rodata or b"\0")):
        out.append(f"static const uint8_t {label}[] = {{\n\t"
                   f"{words(data, 16)}\n}};")
    out.append(f"""const struct image {name} = {{
\t.id = "{image.id}",
\t.programs = programs,
\t.n_programs = {len(image.programs)},
\t.maps = maps,
\t.n_maps = {len(image.maps.list)},
\t.fields = fields,
\t.n_fields = {len(image.fields)},
\t.types = types,
\t.types_len = sizeof(types),
\t.rodata = rodata,
\t.rodata_len = sizeof(rodata),
\t.has_own_ring = {image.constant("has_own_ring")},
}};""")
    return "\n".join(out) + "\n"


def main():
    name, source, target = sys.argv[1:]
    with open(source, "rb") as f:
        image = Image(f.read())
    with open(target, "w", encoding="utf-8") as f:
        f.write(write(name, image))


main()
