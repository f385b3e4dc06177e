"""Builds the extensions: see pyproject.toml for all else.

The C sources are those of the checkout this folder lies in.  The limited API
makes one build that serves every Python from 3.11 on.  roar.media is built
where FFmpeg's libraries are, roar.hash() and roar.readers where BLAKE3 and
libcrypto are, roar.coordinator where protobuf-c is.
"""

import fnmatch
import glob
import os
import platform
import re
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from wheel.bdist_wheel import bdist_wheel

os.chdir(os.path.dirname(os.path.abspath(__file__)))
LIB = os.path.join("..", "lib")
MACHINE = platform.machine()
HASH_BASE = ["clock", "cpus", "fd", "map", "stamp", "thread", "vec"]
FFMPEG = ["libavformat >= 59.27", "libavcodec >= 59.37", "libavutil >= 57.28",
          "libswscale >= 6.7"]
# libssl is loaded when TLS is asked for; its headers are needed here.
PROTOBUF = ["libprotobuf-c", "openssl"]
PROTO = os.path.join(LIB, "coord", "proto")


class BuildWithStubs(build_ext):
    """Adds the type stubs, where type checkers look for those of modules that
    are a file.  An editable install has them beside the sources."""

    def build_extensions(self):
        # BLAKE3's vector code is assembly.
        self.compiler.src_extensions.append(".S")
        super().build_extensions()

    def build_extension(self, ext):
        """With what is compiled from outside the checkout: setuptools wants none of
        it among the sources, whose list goes into the package."""
        if ext.messages:
            self.make_messages(ext)
        ext.extra_objects += self.compiler.compile(
            ext.outside, self.build_temp,
            extra_preargs=[*ext.extra_compile_args, "-w"])
        super().build_extension(ext)

    def make_messages(self, ext):
        """The messages of protobuf as C, and where their headers are."""
        folder = os.path.join(self.build_temp, "proto")
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["protoc-c", f"--proto_path={PROTO}",
                        f"--c_out={folder}", *ext.messages], check=True)
        ext.extra_compile_args += ["-isystem", folder]
        ext.outside += [os.path.join(folder, os.path.basename(path).replace(
            ".proto", ".pb-c.c")) for path in ext.messages]

    def run(self):
        super().run()
        for extension in [] if self.inplace else self.extensions:
            path = self.get_ext_fullpath(extension.name)
            stubs = os.path.join(os.path.dirname(path), f"{extension.name}-stubs")
            os.makedirs(stubs, exist_ok=True)
            shutil.copy(f"{extension.name}.pyi", os.path.join(stubs, "__init__.pyi"))


class LimitedWheel(bdist_wheel):
    """Says in the wheel's name that it serves later versions."""

    def finalize_options(self):
        self.py_limited_api = "cp311"
        super().finalize_options()


def extension(name, sources, base, compile_args=(), link_args=(), outside=()):
    """One made of its own folder, those sources, some files of lib/base and some
    from outside the checkout, of which no more is kept than is used."""
    made = Extension(
        name,
        sorted([*glob.glob(f"{name}/*.c"), *sources,
                *(f"{LIB}/base/{file}.c" for file in base)]),
        include_dirs=[name, LIB, os.path.join("..", "include")],
        extra_compile_args=["-std=gnu17", "-O2", "-fvisibility=hidden",
                            "-ffunction-sections", "-D_GNU_SOURCE",
                            *compile_args],
        extra_link_args=["-pthread", "-lm", "-Wl,--gc-sections", *link_args],
        py_limited_api=True)
    made.outside = list(outside)
    made.messages = []  # of protobuf, to be turned into C
    return made


def pkg_config(what, *packages):
    """The words pkg-config has for these, or None where one is missing."""
    try:
        done = subprocess.run(["pkg-config", what, *packages], check=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.split()


# ---- lib/hash, chosen from as lib/hash/meson.build does ----

# What hashing the files of a list does without.
NOT_FOR_FILES = ["cache_visit", "errand", "hasher*", "idle_priority",
                 "task_ring", "tree*", "upper_file"]
B3_BY_KERNEL = ["b3_batch", "b3_hash", "b3_kernel"]
B3_BY_LIBRARY = ["b3_plain", "b3_public"]
# What hashing a file by one thread takes.
FOR_ONE_FILE = ["b3_*", "crc64nvme*", "digest", "file_hash", "file_pass",
                "multihash"]


def hash_sources(only, but):
    """The files of lib/hash of these names, without some."""
    left = {path for pattern in [*NOT_FOR_FILES, *but]
            for path in glob.glob(f"{LIB}/hash/{pattern}.c")}
    left |= set(glob.glob(f"{LIB}/hash/crc64nvme_*.c"))
    return [path for pattern in only
            for path in fnmatch.filter(glob.glob(f"{LIB}/hash/*.c"),
                                       f"*/{pattern}.c")
            if path not in left] + [f"{LIB}/hash/crc64nvme_{MACHINE}.c"]


def blake3_folder():
    """Where the system keeps BLAKE3's official C sources, the latest, or None."""
    found = glob.glob("/usr/share/cargo/registry/blake3-*/c")
    return max(found, default=None,
               key=lambda path: [int(n) for n in re.findall(r"\d+", path)])


def blake3():
    """(sources, files of lib/hash not to take, compiler's words, linker's), or None
    where BLAKE3 is not."""
    if pkg_config("--exists", "libblake3") is not None:
        return ([], B3_BY_KERNEL, pkg_config("--cflags", "libblake3"),
                pkg_config("--libs", "libblake3"))
    folder = blake3_folder()
    if folder is None:
        return None
    sources = [f"{folder}/{name}.c"
               for name in ("blake3", "blake3_dispatch", "blake3_portable")]
    words = ["-isystem", folder]
    if MACHINE == "aarch64":
        sources.append(f"{folder}/blake3_neon.c")
        words.append("-DBLAKE3_USE_NEON=1")
    else:
        sources += glob.glob(f"{folder}/blake3_*_x86-64_unix.S")
    return sources, B3_BY_LIBRARY, words, []


def hash_extension(name="_roar_hash", only=("*",), more=(), base=()):
    """One that hashes: of files of lib/hash, and more.  None where one of its libraries
    is not, or the machine is another one."""
    found = blake3()
    crypto = pkg_config("--libs", "libcrypto")
    uring = pkg_config("--libs", "liburing")
    if found is None or crypto is None or MACHINE not in ("aarch64", "x86_64"):
        return None
    sources, but, compile_args, link_args = found
    but = [*but, "ranges_uring" if uring is None else "ranges_uring_none"]
    return extension(
        name, [*hash_sources(only, but), *more], [*HASH_BASE, *base],
        [*compile_args, *pkg_config("--cflags", "libcrypto")],
        # A thread that hashed has something of ours to release when it ends.
        # Assembly is visible from outside; so may be another BLAKE3's.
        ["-Wl,-z,nodelete", "-Wl,-Bsymbolic", *link_args, *crypto, *(uring or [])],
        sources)


def reader_extension():
    """None where lib/hash cannot be built."""
    return hash_extension("_roar_reader", FOR_ONE_FILE,
                          glob.glob(f"{LIB}/reader/*.c"),
                          ["cache_dir", "error", "path", "pool", "quote",
                           "str", "utf8"])


def shard_extension():
    """None on a machine that lib/hash has no checksum for."""
    if MACHINE not in ("aarch64", "x86_64"):
        return None
    return extension("_roar_shard",
                     [*glob.glob(f"{LIB}/shard/*.c"),
                      f"{LIB}/hash/crc64nvme.c",
                      f"{LIB}/hash/crc64nvme_{MACHINE}.c"],
                     ["clock", "error", "fd", "path", "str", "vec"])


def media_extension():
    """None where FFmpeg is not."""
    libraries = pkg_config("--libs", *FFMPEG)
    if libraries is None:
        return None
    return extension("_roar_media", glob.glob(f"{LIB}/media/*.c"),
                     ["error", "str", "vec"], pkg_config("--cflags", *FFMPEG),
                     libraries)


def coord_extension():
    """None where protobuf-c, its compiler or OpenSSL's headers are not."""
    libraries = pkg_config("--libs", PROTOBUF[0])
    words = pkg_config("--cflags", *PROTOBUF)
    if libraries is None or words is None or not shutil.which("protoc-c"):
        return None
    made = extension("_roar_coord",
                     [*glob.glob(f"{LIB}/coord/client/*.c"),
                      f"{LIB}/coord/methods.c", f"{LIB}/coord/text.c",
                      f"{LIB}/net/frames.c"],
                     ["clock", "error", "map", "str", "thread", "vec"], words,
                     ["-ldl", *libraries])
    made.messages = sorted(glob.glob(f"{PROTO}/*.proto"))
    return made


def extensions():
    yield extension("_roar", glob.glob(f"{LIB}/arena/*.c"),
                    ["clock", "cpus", "fd", "path", "proc", "str"])
    yield from filter(None, (shard_extension(), hash_extension(), reader_extension(),
                             media_extension(), coord_extension()))


setup(ext_modules=list(extensions()),
      cmdclass={"build_ext": BuildWithStubs, "bdist_wheel": LimitedWheel})
