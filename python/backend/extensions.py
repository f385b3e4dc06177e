"""What the extension modules are made of, and what they need from the system.

The C sources are those of the checkout that the package lies in.  The limited API
makes one build that serves every Python from 3.11 on.

A library that is missing stops the build with one sentence that names its Debian
package: a package that quietly lacks a part is found out about much later.  Who
does not need roar.media, roar.coordinator or shards in object storage says so
(ROAR_WITHOUT=media,s3).
"""

import glob
import os
import platform
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass, field

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIB = os.path.join(os.path.dirname(PYTHON), "lib")
INCLUDE = os.path.join(os.path.dirname(PYTHON), "include")
PROTO = os.path.join(LIB, "coord", "proto")
MACHINE = platform.machine()
FFMPEG = ["libavformat >= 59.27", "libavcodec >= 59.37", "libavutil >= 57.28",
          "libswscale >= 6.7"]
LLHTTP = "/usr/share/llhttp"    # where Debian 12 has its sources
OPTIONAL = ("coordinator", "media", "s3")
# What a part is for, where no module has its name.
FOR = {"s3": "shards in object storage"}


class Missing(Exception):
    """The build cannot be done; the text is one sentence for the user."""


@dataclass
class Extension:
    name: str
    sources: list[str]
    compile_args: list[str] = field(default_factory=list)
    link_args: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)  # compiled without warnings
    messages: list[str] = field(default_factory=list)  # .proto files


def own(name, sources, base, **more):
    """An extension of its own folder, those sources and some files of lib/base."""
    return Extension(name, sorted([*glob.glob(f"{PYTHON}/{name}/*.c"), *sources,
                                   *(f"{LIB}/base/{file}.c" for file in base)]),
                     **more)


def pkg_config(what, *packages):
    """The words that pkg-config prints for these, or None where one is missing."""
    try:
        done = subprocess.run(["pkg-config", what, *packages], check=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.split()


def blake3_folder():
    """Where the system keeps BLAKE3's official C sources, the latest, or None."""
    found = glob.glob("/usr/share/cargo/registry/blake3-*/c")
    return max(found, default=None,
               key=lambda path: [int(n) for n in re.findall(r"\d+", path)])


# ---- what must be there ----

def compiler():
    return (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()


def has_compiler():
    # Python may have been built by a compiler that is not here.
    return bool(shutil.which(compiler()[0]) or shutil.which("cc"))


def has_headers():
    return os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))


def has_blake3():
    return pkg_config("--exists", "libblake3") is not None or blake3_folder()


def has_llhttp():
    return pkg_config("--exists", "libllhttp") is not None or \
        os.path.exists(f"{LLHTTP}/llhttp.c")


def has(*packages):
    return lambda: pkg_config("--exists", *packages) is not None


# (part, what it is, is it there?, Debian's packages)
NEEDS = [
    ("roar", "a C compiler", has_compiler, "gcc libc6-dev"),
    ("roar", "Python's headers", has_headers, "python3-dev"),
    ("roar", "pkg-config", lambda: shutil.which("pkg-config"), "pkg-config"),
    ("roar", "BLAKE3", has_blake3, "librust-blake3-dev"),
    ("roar", "OpenSSL", has("libcrypto"), "libssl-dev"),
    ("media", "FFmpeg 5.1", has(*FFMPEG),
     "libavformat-dev libavcodec-dev libavutil-dev libswscale-dev"),
    ("coordinator", "protobuf-c", has("libprotobuf-c"), "libprotobuf-c-dev"),
    ("coordinator", "protoc-c", lambda: shutil.which("protoc-c"),
     "protobuf-c-compiler"),
    ("roar", "jansson", has("jansson"), "libjansson-dev"),
    ("s3", "expat", has("expat"), "libexpat1-dev"),
    ("s3", "llhttp", has_llhttp, "node-llhttp"),
]


def left_out():
    """The parts that the user does not want."""
    parts = set(os.environ.get("ROAR_WITHOUT", "").replace(",", " ").split())
    unknown = sorted(parts - set(OPTIONAL))
    if unknown:
        raise Missing(f"ROAR_WITHOUT names '{unknown[0]}', which is not one of "
                      f"{', '.join(OPTIONAL)}.")
    return parts


def check(parts_left_out):
    """Raises Missing unless everything is there."""
    absent = [need for need in NEEDS
              if need[0] not in parts_left_out and not need[2]()]
    if not absent:
        return
    things = ", ".join(dict.fromkeys(
        thing if part == "roar" else f"{thing} (for {FOR.get(part, f'roar.{part}')})"
        for part, thing, _, _ in absent))
    packages = " ".join(dict.fromkeys(packages for *_, packages in absent))
    parts = sorted({part for part, *_ in absent})
    remedy = f"on Debian, run 'apt-get install {packages}'"
    if "roar" not in parts:
        remedy += f", or build without by ROAR_WITHOUT={','.join(parts)}"
    raise Missing(f"roar cannot be built without {things}: {remedy}.")


# ---- lib/hash, chosen from as lib/hash/meson.build does ----

HASH_BASE = ["clock", "cpus", "fd", "map", "stamp", "thread", "vec"]
# To know that `roar run` records the process.
RECORDED = [f"{LIB}/event/note.c"]
RECORDED_BASE = ["proc", "str"]
# What hashing the files of a list does without.
NOT_FOR_FILES = ["dir/*", "file/leaf_tree_*", "jobs/background_job",
                 "jobs/hasher*", "jobs/idle_priority", "jobs/task_ring",
                 "read/cache_visit"]
B3_BY_KERNEL = ["blake3/b3_batch", "blake3/b3_hash", "blake3/b3_kernel"]
B3_BY_LIBRARY = ["blake3/b3_plain", "blake3/b3_public"]
# What hashing a file by one thread takes.
FOR_ONE_FILE = ["blake3/b3_*", "digest/crc64nvme", "digest/digest",
                "digest/multihash", "file/file_hash", "file/file_pass"]


def hash_files(patterns):
    """The files of lib/hash that match one of these."""
    return {path for pattern in patterns
            for path in glob.glob(f"{LIB}/hash/{pattern}.c")}


def hash_sources(only, but):
    """The files of lib/hash of these names, without some."""
    left = hash_files([*NOT_FOR_FILES, "digest/crc64nvme_*", *but])
    return [*sorted(hash_files(only) - left),
            f"{LIB}/hash/digest/crc64nvme_{MACHINE}.c"]


def blake3():
    """(sources, files of lib/hash not to take, compiler's words, linker's)"""
    if pkg_config("--exists", "libblake3") is not None:
        return ([], B3_BY_KERNEL, pkg_config("--cflags", "libblake3"),
                pkg_config("--libs", "libblake3"))
    folder = blake3_folder()
    sources = [f"{folder}/{name}.c"
               for name in ("blake3", "blake3_dispatch", "blake3_portable")]
    words = ["-isystem", folder]
    if MACHINE == "aarch64":
        sources.append(f"{folder}/blake3_neon.c")
        words.append("-DBLAKE3_USE_NEON=1")
    else:
        sources += glob.glob(f"{folder}/blake3_*_x86-64_unix.S")
    return sources, B3_BY_LIBRARY, words, []


def hash_extension(name="_roar_hash", only=("*/*",), more=(), base=()):
    """One that hashes: of files of lib/hash, and more."""
    sources, but, compile_args, link_args = blake3()
    uring = pkg_config("--libs", "liburing")
    but = [*but, "read/file_reader_uring" if uring is None else
           "read/file_reader_uring_none"]
    return own(
        name, [*hash_sources(only, but), *more], [*HASH_BASE, *base],
        compile_args=[*compile_args, *pkg_config("--cflags", "libcrypto")],
        # A thread that hashed has something of ours to release when it ends.
        # Assembly is visible from outside; so may be another BLAKE3's.
        link_args=["-Wl,-z,nodelete", "-Wl,-Bsymbolic", *link_args,
                   *pkg_config("--libs", "libcrypto"), *(uring or [])],
        foreign=sources)


# ---- the others ----

CKPT_BASE = ["error", "json", "number", "path", "pool", "proc", "quote", "str", "utf8"]
READER_BASE = ["cache_dir", "error", "number", "path", "pool", "quote", "str", "utf8"]
# What of lib/http a client needs.
HTTP_CLIENT = ["body", "head", "http_client*", "proxy", "request_target", "status",
               "url"]


def add_s3(extension):
    """Lets a reader read from object storage."""
    foreign, words, libraries = [], [], []
    if pkg_config("--exists", "libllhttp") is None:
        foreign = [f"{LLHTTP}/{name}.c" for name in ("api", "http", "llhttp")]
        words = ["-isystem", "/usr/share/include/llhttp",
                 "-DLLHTTP_STRICT_MODE=1"]
    else:
        words = pkg_config("--cflags", "libllhttp")
        libraries = pkg_config("--libs", "libllhttp")
    extension.sources += sorted({
        *glob.glob(f"{LIB}/s3/*.c"),
        *(path for name in HTTP_CLIENT
          for path in glob.glob(f"{LIB}/http/{name}.c")),
        *net_client(),
        *(f"{LIB}/base/{name}.c" for name in ("private_file", "timer_heap"))})
    extension.foreign += foreign
    # libssl is loaded when TLS is asked for; its headers are needed here.
    extension.compile_args += ["-DHAVE_S3", *words,
                               *pkg_config("--cflags", "expat", "jansson",
                                           "openssl")]
    extension.link_args += ["-ldl", *libraries,
                            *pkg_config("--libs", "expat", "jansson")]
    return extension


def reader_extension(without):
    extension = hash_extension("_roar_reader", FOR_ONE_FILE,
                               glob.glob(f"{LIB}/reader/*.c"), READER_BASE)
    return extension if "s3" in without else add_s3(extension)


def ckpt_extension(without):
    extension = hash_extension(
        "_roar_ckpt", [*FOR_ONE_FILE, "blake3/*"],
        [*glob.glob(f"{LIB}/ckpt/*.c"), f"{LIB}/blob/blob.c",
         *glob.glob(f"{LIB}/blob/blob_disk*.c"), *glob.glob(f"{LIB}/event/note*.c"),
         f"{LIB}/event/line_field.c"],
        CKPT_BASE)
    extension.compile_args += pkg_config("--cflags", "jansson")
    extension.link_args += pkg_config("--libs", "jansson")
    objects = glob.glob(f"{LIB}/blob/blob_s3*.c")
    if "s3" in without or not objects:
        return extension
    # A wait for object storage asks there for signals.
    extension.sources += [*objects, f"{LIB}/reader/sample_source.c"]
    return add_s3(extension)


def shard_extension():
    return own("_roar_shard",
               [*glob.glob(f"{LIB}/shard/*/*.c"), *glob.glob(f"{LIB}/event/note*.c"),
                f"{LIB}/event/line_field.c",
                f"{LIB}/hash/digest/crc64nvme.c",
                f"{LIB}/hash/digest/crc64nvme_{MACHINE}.c"],
               ["clock", "error", "fd", "path", "proc", "str", "vec"])


def media_extension():
    return own("_roar_media", glob.glob(f"{LIB}/media/*.c"),
               ["error", "str", "vec"],
               compile_args=pkg_config("--cflags", *FFMPEG),
               link_args=pkg_config("--libs", *FFMPEG))


def net_client():
    """The files of lib/net a client needs: the list of Meson's build."""
    with open(f"{LIB}/net/meson.build", encoding="utf-8") as file:
        names = file.read().split("net_client_files = files(")[1].split(")")[0]
    return [f"{LIB}/net/{name}" for name in re.findall(r"[\w/]+\.c", names)]


def coord_extension():
    # libssl is loaded when TLS is asked for; its headers are needed here.
    return own("_roar_coord",
               [*glob.glob(f"{LIB}/coord/client/*.c"),
                f"{LIB}/coord/proto/methods.c",
                *net_client()],
               ["clock", "error", "map", "number", "str", "thread", "timer_heap",
                "utf8", "vec"],
               compile_args=pkg_config("--cflags", "libprotobuf-c", "openssl"),
               link_args=["-ldl", *pkg_config("--libs", "libprotobuf-c")],
               messages=sorted(glob.glob(f"{PROTO}/*.proto")))


def extensions():
    """All that are wanted.  Raises Missing where one cannot be built."""
    if MACHINE not in ("aarch64", "x86_64"):
        raise Missing(f"roar runs on aarch64 and x86_64, not on {MACHINE}.")
    without = left_out()
    check(without)
    made = [own("_roar_arena", glob.glob(f"{LIB}/arena/**/*.c", recursive=True),
                ["clock", "cpus", "fd", "path", "proc", "str"]),
            shard_extension(),
            hash_extension(more=RECORDED, base=RECORDED_BASE),
            reader_extension(without), ckpt_extension(without)]
    if "media" not in without:
        made.append(media_extension())
    if "coordinator" not in without:
        made.append(coord_extension())
    return made
