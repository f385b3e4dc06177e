#!/usr/bin/env python3
"""Does this kernel offer what a tracer needs?

    kernel.py TRACER        exit status 0: yes; 1: no, and why is printed

Asked of the kernel itself, not of roar: a backend that does not work where this says
yes is broken, and no reason to skip a test.  Every question is put by a process
of its own, because the answer may change that."""

import ctypes
import os
import platform
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
# By machine: seccomp, bpf.
NUMBERS = {"x86_64": (317, 321), "aarch64": (277, 280)}
PR_SET_NO_NEW_PRIVS = 38
PTRACE_TRACEME = 0
SECCOMP_SET_MODE_FILTER, SECCOMP_GET_NOTIF_SIZES = 1, 3
SECCOMP_FILTER_FLAG_NEW_LISTENER = 1 << 3
SECCOMP_RET_ALLOW = 0x7fff0000
BPF_PROG_LOAD, BPF_RAW_TRACEPOINT_OPEN = 5, 17
BPF_PROG_TYPE_RAW_TRACEPOINT = 17


class Refused(Exception):
    """What the kernel said no to."""


def demand(what, result):
    if result < 0:
        number = ctypes.get_errno()
        raise Refused(f"{what}: {os.strerror(number)}")
    return result


def number_of(index):
    if platform.machine() not in NUMBERS:
        raise Refused(f"nobody knows the calls of {platform.machine()}")
    return NUMBERS[platform.machine()][index]


def ask_ptrace():
    demand("ptrace", LIBC.ptrace(PTRACE_TRACEME, 0, None, None))


class Filter(ctypes.Structure):
    """struct sock_fprog"""
    _fields_ = [("len", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def ask_hybrid():
    seccomp = number_of(0)
    sizes = ctypes.create_string_buffer(6)
    # One instruction: return SECCOMP_RET_ALLOW.
    code = ctypes.create_string_buffer(
        b"\x06\0\0\0" + SECCOMP_RET_ALLOW.to_bytes(4, sys.byteorder), 8)
    program = Filter(1, ctypes.addressof(code))
    demand("SECCOMP_GET_NOTIF_SIZES",
           LIBC.syscall(seccomp, SECCOMP_GET_NOTIF_SIZES, 0, sizes))
    demand("PR_SET_NO_NEW_PRIVS",
           LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    demand("a seccomp listener",
           LIBC.syscall(seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        ctypes.byref(program)))


def ask_preload():
    if not os.access("/dev/shm", os.W_OK):
        raise Refused("/dev/shm is not writable")


class Load(ctypes.Structure):
    """The beginning of union bpf_attr, for BPF_PROG_LOAD."""
    _fields_ = [("type", ctypes.c_uint32), ("n", ctypes.c_uint32),
                ("code", ctypes.c_uint64), ("license", ctypes.c_uint64),
                ("zero", ctypes.c_uint32 * 24)]


class Attach(ctypes.Structure):
    """The same for BPF_RAW_TRACEPOINT_OPEN."""
    _fields_ = [("name", ctypes.c_uint64), ("program", ctypes.c_uint32),
                ("zero", ctypes.c_uint32)]


def ask_ebpf():
    bpf = number_of(1)
    # r0 = 0; exit
    code = ctypes.create_string_buffer(
        b"\xb7" + bytes(7) + b"\x95" + bytes(7), 16)
    words = ctypes.create_string_buffer(b"GPL")
    load = Load(BPF_PROG_TYPE_RAW_TRACEPOINT, 2, ctypes.addressof(code),
                ctypes.addressof(words))
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        raise Refused("the kernel does not describe its types (BTF)")
    program = demand("BPF_PROG_LOAD", LIBC.syscall(
        bpf, BPF_PROG_LOAD, ctypes.byref(load), ctypes.sizeof(load)))
    name = ctypes.create_string_buffer(b"sys_enter")
    attach = Attach(ctypes.addressof(name), program)
    demand("BPF_RAW_TRACEPOINT_OPEN", LIBC.syscall(
        bpf, BPF_RAW_TRACEPOINT_OPEN, ctypes.byref(attach),
        ctypes.sizeof(attach)))


QUESTIONS = {"ptrace": ask_ptrace, "hybrid": ask_hybrid,
             "preload": ask_preload, "ebpf": ask_ebpf}


def offers(tracer, under=()):
    """Whether it does, to a process that is started by that command line."""
    return subprocess.run([*under, sys.executable, os.path.abspath(__file__),
                           tracer], stdout=subprocess.DEVNULL,
                          check=False).returncode == 0


def main():
    try:
        QUESTIONS[sys.argv[1]]()
    except Refused as reason:
        print(reason)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
