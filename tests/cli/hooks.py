"""Prints how many hooks the pinned programs of roar have at all system calls.

Run by the tests in the mount namespace where the pins are."""

import ctypes
import glob
import os
import platform
import struct

SYS_BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
OBJ_GET, GET_INFO, LINK_BY_ID, NEXT_LINK = 7, 15, 30, 31
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, form, *values):
    """The result, negative for a failure, and what the kernel wrote."""
    attr = ctypes.create_string_buffer(struct.pack(form, *values), 128)
    return libc.syscall(SYS_BPF, command, attr, 128), attr.raw


def info(fd):
    """The first words of what the kernel tells of a program or link."""
    told = ctypes.create_string_buffer(256)
    r, _ = bpf(GET_INFO, "=IIQ", fd, 256, ctypes.addressof(told))
    os.close(fd)
    return struct.unpack_from("=III", told.raw) if r >= 0 else (0, 0, 0)


def pinned_programs():
    """Their numbers."""
    found = []
    for path in glob.glob("/sys/fs/bpf/roar/*/program-*"):
        name = ctypes.create_string_buffer(os.fsencode(path))
        fd, _ = bpf(OBJ_GET, "=Q", ctypes.addressof(name))
        assert fd >= 0, path
        found.append(info(fd)[1])
    return found


def links():
    """The program behind each link of the machine."""
    last = 0
    while True:
        r, attr = bpf(NEXT_LINK, "=II", last, 0)
        if r < 0:
            return
        last = struct.unpack_from("=II", attr)[1]
        fd, _ = bpf(LINK_BY_ID, "=I", last)
        if fd >= 0:
            yield info(fd)[2]


if __name__ == "__main__":
    programs = pinned_programs()
    print(sum(program in programs for program in links()) if programs
          else "no programs")
